"""The method "sparcl" of `ewp.compare`, and what it says where R is missing."""

from __future__ import annotations

import numpy as np
import pytest

import ewp
from r_bridge import SparclMethod
from tests.support.r import draw, named, run_python


def test_a_comparison_with_sparcl_fails_before_it_computes(tmp_path):
    """The name alone is enough: nobody imports r_bridge here."""
    code = """
import numpy as np, ewp, sys
assert "r_bridge" not in sys.modules
import ewp.comparison.compare
ewp.comparison.compare.select_lambda = None
try:
    ewp.compare(np.arange(20.0).reshape(10, 2), 2, methods=("ewp", "sparcl"))
except RuntimeError as error:
    print(type(error).__name__, error)
"""
    done = run_python(code, PATH=str(tmp_path))
    assert done.stdout.startswith("RNotFoundError R was not found"), done.stderr


def test_the_command_compare_says_what_is_missing(tmp_path):
    table = tmp_path / "data.csv"
    table.write_text("a,b\n1,2\n3,4\n9,9\n")
    words = ["compare", str(table), "-k2", "--methods", "sparcl"]
    code = f"from ewp.cli import app; app({words!r})"
    done = run_python(code, PATH=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.startswith("ewp compare: R was not found")
    assert "Traceback" not in done.stderr


@pytest.mark.sparcl
def test_sparcl_is_a_method_of_the_comparison():
    X = named(5)
    options = {"n_trials": 3, "scale": None, "lam": 200.0, "wbound": 1.8, "random_state": 0}
    found = ewp.compare(X, 3, np.arange(45) % 3, methods=("sparcl", "sparse", "ewp"), **options)
    scores = found.scores.set_index(["method", "trial"])["nmi"]
    np.testing.assert_allclose(scores["sparcl"], scores["sparse"])
    weights = found.weights
    np.testing.assert_allclose(weights.loc["sparcl"], weights.loc["sparse"], atol=1e-8)


@pytest.mark.sparcl
def test_the_method_chooses_its_own_bound():
    X, centers, _ = draw(45, 8, 3, 5)
    labels, weights = SparclMethod(nperms=3).fit(X, 3, centers, np.random.default_rng(0))
    assert labels.shape == (45,)
    assert float((weights**2).sum()) == pytest.approx(1.0)
