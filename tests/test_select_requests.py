"""Selection: what may be asked of it, and what happens when it cannot be done or is stopped."""

import re

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import ewp
from ewp.datasets import make_simulation2
from ewp.selection.criteria import Predictive
from tests.support.interruptions import interrupted_from


@pytest.fixture(scope="module")
def data():
    return make_simulation2(4, n=200, p=10, random_state=0)


def test_interruption_keeps_what_is_finished(data, monkeypatch):
    X, _, _ = data
    plain = Predictive.score_replicates
    monkeypatch.setattr(Predictive, "at_once", lambda self, pairs: 1)
    monkeypatch.setattr(Predictive, "score_replicates", interrupted_from(3, plain))
    with pytest.warns(UserWarning, match="interrupted"):
        chosen = ewp.select_lambda(X, 4, n_lams=3, scale="standard", random_state=0)
    assert not chosen.complete
    assert chosen.table["replicates"].tolist() == [2, 2, 2]
    assert "interrupted" in chosen.reason


def test_too_few_rows_are_said_to_be_too_few():
    X = np.random.default_rng(0).standard_normal((8, 3))
    with pytest.warns(UserWarning, match="8 distinct rows: too few to choose a penalty for k=7"):
        found = ewp.fit(X, 7, random_state=0)
    assert "too few" in str(found.summary())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "aic"}, "criterion='aic' is unknown"),
        ({"rule": "2se"}, "rule='2se' is unknown"),
        ({"lams": []}, "lams is empty"),
        ({"lams": [1.0, -2.0]}, "lams=-2.0 must be"),
        ({"cv": 1}, "cv=1 must be at least 2"),
        ({"n_lams": 0}, "n_lams=0"),
        ({"n_lams": 2.5}, "n_lams=2.5 must be an integer"),
        ({"lams": "abc"}, "lams='abc' is not a number"),
        ({"lams": [True]}, "lams=True is not a number"),
        ({"lams": [[1.0, 2.0]]}, "lams=.* is not a number"),
        ({"lams": [np.inf]}, "lams=inf must be finite"),
        ({"lam": 3.0}, "lam=3.0 leaves nothing to select; .* as lams"),
        ({"criterion": None}, "criterion=None is no criterion"),
        ({"criterion": Predictive}, "criterion=.* is no criterion"),
        ({"criterion": "gap", "cv": KFold(3)}, "cv=KFold.* must be an integer"),
        ({"cv": None}, "cv=None; give an integer, a splitter"),
        ({"cv": "5"}, "cv='5'; give an integer, a splitter"),
        ({"cv": 5.0}, "cv=5.0 must be an integer"),
        ({"cv": GroupKFold(3)}, "gives no splits without labels and groups"),
        ({"cv": StratifiedKFold(3)}, "gives no splits without labels and groups"),
        ({"cv": []}, "cv has no splits"),
        ({"cv": [(range(100), [])]}, "split 0 of cv has no test rows"),
        ({"cv": [(range(100), [150]), ([], [1])]}, "split 1 of cv has no training rows"),
        ({"cv": [(range(100), [200])]}, "split 0 of cv has test row 200, .* 0 to 199"),
        ({"cv": [([0.5, 1.5], [3])]}, "split 0 of cv has training rows that are neither"),
        ({"cv": [([0, 1, 2, 3], [4])]}, "trains on 4 distinct rows, too few to score k=4"),
    ],
)
def test_bad_selection_options_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ewp.select_lambda(data[0], 4, **options)


def test_given_penalties_are_used(data):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, lams=[40.0, 10.0], scale="standard", random_state=0)
    assert chosen.table["lam"].tolist() == [10.0, 40.0]


def test_nothing_scored_is_nothing_to_draw():
    X = np.random.default_rng(0).standard_normal((8, 3))
    with pytest.warns(UserWarning, match="too few"):
        chosen = ewp.select_lambda(X, 7, random_state=0)
    assert "is the middle of the grid" in chosen.reason
    with pytest.raises(ValueError, match="nothing to draw"):
        chosen.plot()


def test_the_gap_needs_no_rows_to_spare():
    X = np.random.default_rng(0).standard_normal((8, 3))
    chosen = ewp.select_lambda(
        X, 7, criterion="gap", cv=2, n_lams=2, scale="standard", random_state=0
    )
    assert chosen.table["replicates"].tolist() == [2, 2]


def test_progress_counts_to_its_end(data, capsys):
    X, _, _ = data
    options = {"n_lams": 4, "scale": None, "dispersion": "within", "random_state": 0}
    chosen = ewp.select_lambda(X, 4, progress=True, **options)
    counts = re.findall(r"(\d+)/(\d+) \[", capsys.readouterr().err)
    done = int(chosen.table["replicates"].sum())
    assert done < 40  # some were given up, which the bar has to know
    assert counts[-1] == (str(done), str(done))
    ewp.select_lambda(X, 4, **options)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("lams", [None, [1.0]])
def test_columns_whose_squares_vanish_are_named(data, lams):
    X = data[0] * np.r_[1.0, 1e-160, np.ones(8)]
    with pytest.raises(ValueError, match=r"column 1 of X varies so little .* multiply it"):
        ewp.select_lambda(X, 4, lams=lams)
