"""What a results object says about a fit, in numbers, tables and predictions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp import EWPResults
from tests.support.designs import sixty_rows
from tests.support.results import make_results, uneven_weights

# --- numbers -----------------------------------------------------------------------------------


def test_counts_and_names_follow_the_fields():
    results = make_results(60, 5, 3, names=list("abcde"))
    assert (results.n_obs, results.n_features, results.n_clusters) == (60, 5, 3)
    assert list(results.feature_names) == list("abcde")


@pytest.mark.parametrize(
    ("weights", "effective"), [(np.ones(5), 5.0), ([1, 0, 0, 0, 0], 1.0), ([1, 1, 0, 0, 0], 2.0)]
)
def test_effective_features_is_the_exponential_of_the_entropy(weights, effective):
    assert make_results(weights=weights).effective_features == pytest.approx(effective)


def test_glance_has_brooms_columns_and_sums_of_squares_add_up():
    glance = make_results(sample_weight=uneven_weights()).glance()
    assert len(glance) == 1
    assert list(glance.columns[:4]) == ["totss", "tot.withinss", "betweenss", "iter"]
    row = glance.iloc[0]
    assert row["betweenss"] == row["totss"] - row["tot.withinss"]
    assert row["betweenss"] > 0
    assert (row["lam"], row["s0"], row["n_obs"], row["n_clusters"]) == (30.0, -1.0, 60, 3)
    assert bool(row["converged"])


def test_one_cluster_has_nothing_between():
    X = np.random.default_rng(0).normal(size=(60, 4)) * 3.0
    results = ewp.fit(X, 1, 5.0, random_state=0)
    assert results.betweenss == 0
    assert "Between / total SS:       0.0 %" in str(results)
    assert "e-" not in str(results.summary().tables[2]["explained"])


def test_betweenss_is_the_weighted_scatter_of_the_centroids():
    results = make_results(scaling="standard", sample_weight=uneven_weights())
    theta = (results.centroids.to_numpy() - results.center) / results.scale
    scatter = results.clusters["mass"].to_numpy() @ (theta**2 @ results.weights.to_numpy())
    assert results.betweenss == pytest.approx(scatter)


def test_tidy_has_a_row_a_cluster_with_brooms_columns():
    results = make_results(names=list("abcde"))
    tidy = results.tidy()
    assert list(tidy.columns) == [*"abcde", "size", "withinss", "cluster"]
    assert tidy["cluster"].tolist() == [0, 1, 2]
    assert tidy["size"].sum() == results.n_obs
    np.testing.assert_array_equal(tidy[list("abcde")], results.centroids)


def test_tidy_gives_way_to_features_of_the_same_name():
    results = make_results(names=["size", "b", "c", "d", "cluster"])
    tidy = results.tidy()
    assert list(tidy.columns[5:]) == [".size", "withinss", ".cluster"]
    np.testing.assert_array_equal(tidy["size"], results.centroids["size"])


# --- rows --------------------------------------------------------------------------------------


def test_predict_and_transform_use_the_weighted_metric():
    results = make_results(scaling="standard")
    X, theta = results.data.to_numpy(), results.centroids.to_numpy()
    scaled = (X[:, None] - theta) / results.scale
    distance = np.sqrt(scaled**2 @ results.weights.to_numpy())
    np.testing.assert_allclose(results.transform(X), distance, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(results.predict(X), distance.argmin(1))


def test_a_frame_gives_back_its_row_names_and_an_array_an_array():
    results = make_results(rows=[f"r{i}" for i in range(60)])
    new = results.data.iloc[[5, 3, 8]]
    labels, distance = results.predict(new), results.transform(new)
    assert isinstance(labels, pd.Series)
    assert labels.name == "cluster"
    assert list(labels.index) == list(distance.index) == ["r5", "r3", "r8"]
    assert list(distance.columns) == [0, 1, 2]
    assert type(results.predict(new.to_numpy())) is np.ndarray
    assert type(results.transform(new.to_numpy())) is np.ndarray


def test_predict_refuses_other_columns():
    results = make_results(names=list("abcde"))
    with pytest.raises(ValueError, match="e"):
        results.predict(results.data.rename(columns={"e": "f"}))
    with pytest.raises(ValueError, match="4"):
        results.predict(results.data.to_numpy()[:, :4])


@pytest.mark.parametrize("frame", [True, False])
def test_augment_appends_cluster_and_distance_to_a_copy_of_the_data(frame):
    results = make_results(rows=[f"r{i}" for i in range(60)], frame=frame)
    before = results.data.copy()
    augmented = results.augment()
    assert list(augmented.columns) == [*results.feature_names, ".cluster", ".distance"]
    assert list(augmented.index) == list(results.labels.index)
    np.testing.assert_array_equal(augmented[".cluster"], results.labels)
    np.testing.assert_array_equal(augmented.iloc[:, :5], before)
    np.testing.assert_array_equal(results.data, before)
    nearest = results.transform(before).min(axis=1)
    np.testing.assert_allclose(augmented[".distance"], nearest, atol=1e-12)


def test_augment_predicts_new_rows():
    results = make_results()
    new = results.data.iloc[:7] + 0.01
    augmented = results.augment(new)
    np.testing.assert_array_equal(augmented[".cluster"], results.predict(new))
    assert list(results.augment(new.to_numpy()).index) == list(range(7))


def test_augment_refuses_to_overwrite_and_needs_data():
    results = make_results()
    with pytest.raises(ValueError, match=r"\.cluster"):
        results.augment(results.augment())
    with pytest.raises(ValueError, match="pass them as X"):
        make_results(data=None).augment()


# --- pickling ----------------------------------------------------------------------------------


def test_a_pickle_leaves_the_data_behind_and_predicts_as_before():
    results = make_results(5000, 20, 3, sample_weight=uneven_weights(5000))
    X = results.data
    revived = pickle.loads(pickle.dumps(results))
    assert revived.data is None
    assert revived.sample_weight is None
    assert results.data is X
    assert len(pickle.dumps(results)) < X.to_numpy().nbytes / 5
    pd.testing.assert_series_equal(revived.predict(X), results.predict(X))
    assert str(revived) == str(results)
    assert copy.deepcopy(results).data is None


def test_a_copy_holds_the_data_and_saving_needs_a_folder(tmp_path):
    X = sixty_rows()
    found = ewp.fit(X, 2, 100.0, random_state=0)
    assert copy.copy(found).data is X
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        found.save(tmp_path / "no" / "fit")


def test_a_fit_with_any_seed_can_be_pickled():
    X = make_results().data
    for seed in (np.random, np.random.default_rng(0), np.random.RandomState(0), None, 3):
        results = ewp.fit(X, 2, 30.0, random_state=seed)
        again = pickle.loads(pickle.dumps(results))
        assert again.fit_options.random_state == results.fit_options.random_state >= 0
        assert again.call == results.call
        np.testing.assert_array_equal(again.labels, results.labels)


def test_options_are_a_copy():
    results = make_results(selection={"chosen": {"lam": 1.0}})
    results.options["n_init"] = 99
    results.options["selection"]["chosen"]["lam"] = 2.0
    assert results.options["n_init"] == 2
    assert results.selection == {"chosen": {"lam": 1.0}}


@pytest.mark.parametrize(
    "name", ["bootstrap", "stability", "consistency", "test_features", "compare_to"]
)
def test_diagnostics_are_methods_under_their_own_names(name):
    method = getattr(EWPResults, name)
    assert method.__name__ == name
    assert "Parameters" in method.__doc__
    given = {"other": np.zeros(60)} if name == "compare_to" else {}
    with pytest.raises(TypeError, match=rf"{name}\(\).*'nonsense'"):
        getattr(make_results(), name)(**given, nonsense=1)
