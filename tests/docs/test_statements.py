"""What texts say of the method is so, and what was said once and is not so has gone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import ewp
from ewp.datasets import make_simulation2

ROOT = Path(__file__).parents[2]
FOLDERS = ("ewp", "r_bridge", "vignettes")
KINDS = {".py", ".md", ".rst", ".R", ".Rd", ".html"}
TEXTS = [
    ROOT / "README.md",
    *(
        path
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in KINDS and "_build" not in path.parts
    ),
]
#: Statements that are not so, or not in the words of a statistician.
GONE = {
    "weights underflow, and are printed as 0": r"never exactly (zero|0)|never become (zero|0)",
    "the largest penalty has the lowest objective": r"favours? (a )?small(er)? penalt",
    "figures are per row": r"(nats|log-density|gain|gained) a row\b",
    "the null is no claim": r"differs? significantly from (ewp|EWP)\b",
}


@pytest.fixture(scope="module")
def iris():
    X = load_iris(as_frame=True).data
    return X, ewp.fit(X, 3, random_state=0)


@pytest.mark.parametrize("pattern", GONE.values(), ids=GONE)
def test_what_is_not_so_is_said_nowhere(pattern):
    said = {
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in TEXTS
        for found in re.finditer(pattern, " ".join(path.read_text(encoding="utf-8").split()))
    }
    assert said == set()


def test_weights_may_underflow_and_are_then_printed_as_zero():
    X = make_simulation2(3, n=90, p=5, n_relevant=2, random_state=0).X
    results = ewp.fit(X, 3, lam=1e-3, scale=None, dispersion="within", random_state=0)
    assert (results.weights == 0).any()
    name = results.weights.index[results.weights == 0][0]
    assert results.summary().tables[2].loc[str(name), "weight"] == "0"


def test_columns_are_matched_by_name_in_any_order(iris):
    X, results = iris
    other = X[X.columns[::-1]]
    pd.testing.assert_series_equal(results.predict(other), results.predict(X))
    pd.testing.assert_frame_equal(results.transform(other), results.transform(X))
    with pytest.raises(ValueError, match="petal width"):
        results.predict(X.drop(columns="petal width (cm)"))


def test_the_objective_falls_as_the_penalty_grows_and_the_score_does_not_follow_it():
    X = make_simulation2(3, n=120, p=6, n_relevant=2, random_state=0).X
    lams = [2.0, 20.0, 2000.0, 2e5]
    models = [ewp.EWP(3, lam=lam, scale=None, random_state=0).fit(X) for lam in lams]
    objectives = [model.results_.objective for model in models]
    assert objectives == sorted(objectives, reverse=True)
    scores = [model.score(X) for model in models]
    assert np.argmax(scores) < len(lams) - 1


def test_the_standard_error_of_a_choice_is_named_as_that_of_a_difference(iris):
    X, results = iris
    assert "standard errors of the difference to the best" in " ".join(str(results).split())
    chosen = ewp.select_lambda(X, 3, rule="1se", n_lams=3, cv=3, random_state=0)
    assert "1 standard error of the difference to the best" in chosen.reason


def test_the_summary_explains_what_it_prints(iris):
    _, results = iris
    text = " ".join(str(results).split())
    agreeing = results.starts["starts"].iloc[0]
    assert f"Starts that agree: {agreeing} of {results.n_starts}" in text
    assert re.search(r"Seed: +0\b", text)
    for term in (
        "Gain over 1 cluster: held-out log-density per observation",
        "in nats (natural logarithm)",
        "the rows that are scored have no part in the choice of the penalty",
        "f_-inf: weighted squared distances",
        "withinss: the sum of these distances",
        "Effective features: exponential of the entropy",
        "Above the critical exponent all centroids converge",
        "explained: share of the feature's variance",
    ):
        assert term in text


def test_one_start_has_nothing_to_agree_with(iris):
    X, _ = iris
    single = ewp.fit(X, 3, lam=10.0, scale="standard", n_init=1, random_state=0)
    assert "agree" not in str(single.summary().tables[0].to_string())
