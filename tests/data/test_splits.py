"""Folds: which rows are held out together, and splits of the user's own."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit

import ewp
from ewp.data.canonical import distinct_groups
from ewp.data.splits import folds, given_folds, of_positive_weight
from ewp.datasets import make_simulation2
from ewp.selection.criteria import Predictive


def test_equal_rows_stay_together_and_weights_count_as_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 2)).astype(float)
    for fold in folds(X, None, 4, np.random.default_rng(1)):
        train, test = {*map(tuple, X[fold.train])}, {*map(tuple, X[fold.test])}
        assert not train & test
        assert len(fold.train) + len(fold.test) == 60
    values, count = np.unique(X, axis=0, return_counts=True)
    plain = [{*map(tuple, X[f.test])} for f in folds(X, None, 4, np.random.default_rng(1))]
    weighted = [
        {*map(tuple, values[f.test])}
        for f in folds(values, count.astype(float), 4, np.random.default_rng(1))
    ]
    assert plain == weighted
    assert distinct_groups(X, None)[1] == len(values)


def test_folds_of_the_users_own_are_row_numbers():
    X = np.arange(12.0).reshape(6, 2)
    mask = np.array([True, True, True, True, False, False])
    (fold,) = given_folds(X, [(mask, [4, 5])])
    assert fold.train.tolist() == [0, 1, 2, 3]
    assert fold.test.tolist() == [4, 5]
    # rows of weight zero are dropped, the others keep their meaning under new numbers
    weight = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 3.0])
    (kept,) = of_positive_weight([fold], weight)
    used = X[weight > 0]
    assert used[kept.train].tolist() == X[[0, 2, 3]].tolist()
    assert used[kept.test].tolist() == X[[5]].tolist()
    with pytest.raises(ValueError, match="split 0 of cv has no test rows of positive weight"):
        of_positive_weight([fold], np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0]))


# --- splits of the user's own, in a selection --------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return make_simulation2(4, n=200, p=10, random_state=0)


@pytest.mark.parametrize(
    "cv",
    [
        KFold(3, shuffle=True, random_state=0),
        ShuffleSplit(2, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        PredefinedSplit(np.arange(200) % 4 - 1),
    ],
)
def test_splitters_of_scikit_learn_are_taken(data, cv):
    X, _, _ = data
    chosen = ewp.select_lambda(X, 4, cv=cv, n_lams=3, scale="standard", random_state=0)
    assert chosen.table["replicates"].max() == cv.get_n_splits(X)


def test_splits_themselves_are_taken(data):
    X, _, _ = data
    splitter = KFold(3, shuffle=True, random_state=0)
    options = {"n_lams": 2, "scale": "standard", "random_state": 0}
    asked = ewp.select_lambda(X, 4, cv=splitter, **options)
    for cv in (splitter.split(X), list(splitter.split(X))):
        given = ewp.select_lambda(X, 4, cv=cv, **options)
        pd.testing.assert_frame_equal(given.table, asked.table, check_exact=True)
    own = ewp.select_lambda(X, 4, criterion=Predictive(splitter), **options)
    pd.testing.assert_frame_equal(own.table, asked.table, check_exact=True)


def test_groups_stay_together_when_their_splits_are_given(data):
    X, _, _ = data
    groups = np.repeat(np.arange(6), [20, 20, 20, 20, 20, 100])
    splits = list(GroupKFold(3).split(X, groups=groups))
    chosen = ewp.select_lambda(X, 4, cv=splits, n_lams=2, scale="standard", random_state=0)
    assert chosen.table["replicates"].tolist() == [3, 3]


def test_splits_mean_the_same_rows_with_weights_of_zero(data):
    X, _, _ = data
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    used = weight > 0
    of_row = np.arange(len(X)) % 3
    options = {"n_lams": 2, "scale": "standard", "random_state": 0}
    whole = ewp.select_lambda(X, 4, cv=PredefinedSplit(of_row), sample_weight=weight, **options)
    part = ewp.select_lambda(
        X[used], 4, cv=PredefinedSplit(of_row[used]), sample_weight=weight[used], **options
    )
    np.testing.assert_allclose(whole.table["mean"], part.table["mean"], rtol=1e-9)


def test_one_split_has_no_standard_error_and_says_none(data):
    X, _, _ = data
    chosen = ewp.select_lambda(
        X, 4, cv=[(range(150), range(150, 200))], n_lams=2, scale="standard", random_state=0
    )
    assert chosen.table["se"].isna().all()
    assert "nan" not in chosen.reason
