"""What the R package computes without Python: distances with weights of every cluster."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

import ewp
from ewp.datasets import make_subspaces
from tests.support.r import ROOT, require_r

SOURCES = ROOT / "r_bridge" / "rpkg" / "R"

#: The files that predict, sourced as they are, on a fit of plain data.
PROGRAM = """
folder <- commandArgs(TRUE)[1]
for (name in c("coerce", "rows", "divergences", "cluster-weights", "methods")) {
  source(file.path(commandArgs(TRUE)[2], paste0(name, ".R")))
}
read <- function(name, columns) {
  values <- readBin(file.path(folder, name), "double", 1e6)
  matrix(values, ncol = columns, byrow = TRUE)
}
p <- length(readBin(file.path(folder, "center"), "double", 1e6))
names <- paste0("v", seq_len(p))
table <- function(name) {
  found <- read(name, p)
  dimnames(found) <- list(if (name != "rows") seq_len(nrow(found)), names)
  found
}
fit <- structure(list(
  weights = table("weights"), centers = table("centers"), size = integer(nrow(table("centers"))),
  metric = list(center = drop(table("center")), scale = drop(table("scale")),
                price = as.vector(read("price", 1)))
), class = c("ewp", "kmeans"))
found <- predict.ewp(fit, table("rows"), "distance")
writeBin(as.vector(t(found)), file.path(folder, "distance"))
writeBin(as.double(predict.ewp(fit, table("rows"))), file.path(folder, "cluster"))
"""


@pytest.mark.parametrize("scale", ["standard", None])
def test_r_has_the_distances_and_predictions_of_python(scale, tmp_path):
    require_r()
    units = np.arange(1.0, 9.0)
    X = make_subspaces(3, 150, 8, 3, random_state=0).X * units
    # some between the clusters, some far from all of them
    new = np.random.default_rng(1).normal(scale=3.0, size=(200, 8)) * units
    lam = 15.0 if scale else 300.0
    results = ewp.fit(X, 3, lam=lam, scale=scale, weights="cluster", random_state=0)
    parts = {
        "weights": results.weights,
        "centers": results.centroids,
        "price": results.clusters["price"],
        "center": results.center,
        "scale": results.scale,
        "rows": new,
    }
    for name, values in parts.items():
        np.ascontiguousarray(values, dtype=float).tofile(tmp_path / name)
    program = tmp_path / "program.R"
    program.write_text(PROGRAM)
    subprocess.run(
        ["Rscript", "--vanilla", program, tmp_path, SOURCES], check=True, capture_output=True
    )
    distance = np.fromfile(tmp_path / "distance").reshape(-1, 3)
    np.testing.assert_allclose(distance, results.transform(new), rtol=1e-12)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "cluster") - 1, results.predict(new))


def test_r_asks_for_weights_in_the_words_of_python():
    words = re.search(
        r"^WEIGHTS <- c\((.*)\)$", (SOURCES / "cluster-weights.R").read_text(), re.MULTILINE
    )[1]
    with pytest.raises(ValueError, match="weights='own' is unknown") as told:
        ewp.fit(np.eye(4), 2, lam=1.0, weights="own")
    taken = re.findall(r"'(\w+)'", str(told.value))[1:]
    assert re.findall(r'"(\w+)"', words) == taken
