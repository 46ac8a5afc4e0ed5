"""The figures on the page about missing values are those that were stored."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "vignettes" / "site" / "howto" / "missing_values.md").read_text()
STORED = pd.read_csv(ROOT / "validation" / "recordings" / "missing.csv", comment="#")
METHODS = (
    "complete data",
    "its centroids",
    "observed",
    "complete rows",
    "mean imputed",
    "iterative imputer",
    "k-POD",
)


REFINED = (
    "complete data",
    "refined, complete data",
    "refined, its mixture",
    "refined, observed",
    "refined, mean imputed",
    "refined, iterative imputer",
)


def stored(data, share, figure, column="value"):
    table = STORED.set_index(["data", "share", "figure"])[column]
    return table.get((data, share, figure))


def test_the_tables_are_the_stored_ones():
    lines = [line for line in PAGE.splitlines() if re.search(r"\| \d+ % \|", line)]
    assert len(lines) == 18 + 12
    for line in lines:
        data, share, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        methods = METHODS if len(cells) == len(METHODS) else REFINED
        for method, cell in zip(methods, cells, strict=True):
            value = stored(data, float(share.rstrip(" %")) / 100, method)
            assert cell == ("–" if value is None else f"{value:.3f}"), (data, share, method)


def test_what_is_said_of_refined_labels_is_in_the_table():
    sets = ("iris", "wine", "newthyroid", "seeds")
    at = {name: np.array([stored(data, 0.2, name) for data in sets]) for name in REFINED}
    observed = at["refined, observed"]
    assert observed.mean() > at["complete data"].mean()
    assert (observed > at["refined, its mixture"] - 0.02).sum() == 3
    assert (observed > at["refined, iterative imputer"]).all()
    assert (observed > at["refined, mean imputed"]).all()


def test_draws_are_as_the_page_says():
    slow = STORED["figure"].isin(["iterative imputer", "k-POD"])
    slow &= STORED["data"].str.startswith("simulation")
    assert (STORED.loc[slow, "draws"] == 4).all()
    rows = STORED["figure"].str.contains("complete rows")  # not all draws have enough of them
    assert (STORED.loc[~slow & ~rows, "draws"] == 10).all()


def test_sentences_are_the_stored_figures():
    plain = " ".join(PAGE.split())
    wrong = {name: stored("not at random", 0.4, name) for name in STORED["figure"].unique()}
    at, large = "at random", "largest values missing"
    for told in (
        f"are wrong by {wrong[f'error of means, {large}']:.2f} of their range",
        f"random by {wrong[f'error of means, {at}']:.2f}; NMI",
        f"NMI with the clusters is {wrong[large]:.2f} and {wrong[at]:.2f}",
        f"NMI is {wrong[f'two groups, {large}']:.2f}, with as many missing at random "
        f"{wrong[f'two groups, {at}']:.2f}",
    ):
        assert told in plain
    kind = "feature with 50 % missing"
    own = STORED[STORED["data"] == kind].set_index("figure")["value"]
    assert own["ratio, observed"].to_numpy() == pytest.approx(1.0, abs=0.005)
    ends = own["ratio, mean imputed"].min(), own["ratio, mean imputed"].max()
    assert f"by means {ends[0]:.2f} to {ends[1]:.2f} times" in plain
