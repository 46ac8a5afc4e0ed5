"""Odd but good input works, whatever its type, shape, units, seeds and names."""

import numpy as np
import pandas as pd
import pytest

import ewp
from tests.support.designs import sixty_rows, thirty_rows

X, GROUPS = thirty_rows(), sixty_rows()
NAMED = pd.DataFrame(GROUPS, columns=list("abcd"))


def truth_recovered(found):
    labels = found.labels.to_numpy()
    return len({*labels[:15]}) == 1 and len({*labels[15:]}) == 1 and labels[0] != labels[-1]


# --- data --------------------------------------------------------------------------------------


def read_only():
    copy = X.copy()
    copy.setflags(write=False)
    return copy


GOOD = {
    "float32": X.astype(np.float32),
    "integers": np.rint(10 * X).astype(int),
    "booleans beside floats": pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        flag=[True, False] * 15
    ),
    "nullable": pd.DataFrame(X).convert_dtypes(),
    "objects that are numbers": pd.DataFrame(X).astype(object),
    "lists": X.tolist(),
    "Fortran order": np.asfortranarray(X),
    "strided": np.repeat(X, 2, axis=0)[::2],
    "read-only": read_only(),
    "offset": X + 1e8,
    "constant column": np.c_[X, np.full(30, 7.3)],
    "duplicates": np.vstack([X[:15], X[:15], X[15:], X[15:]])[
        np.r_[0:15, 30:45]  # 15 rows of each cluster
    ],
}


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_odd_but_good_data_work(kind, scale):
    data = GOOD[kind]
    spread = np.asarray(data, dtype=float).var(axis=0).max()
    lam = 30.0 if scale else 30.0 * spread
    found = ewp.fit(data, 2, lam, scale=scale, random_state=0)
    assert truth_recovered(found)
    assert np.isfinite(found.centroids.to_numpy()).all()
    np.testing.assert_allclose(found.weights.sum(), 1.0)
    np.testing.assert_array_equal(np.asarray(found.predict(data)), found.labels)


@pytest.mark.parametrize("dispersion", ["within", "between"])
def test_constant_columns_get_no_weight_unless_asked(dispersion):
    data = np.c_[X, np.full(30, 7.3), np.zeros(30)]
    found = ewp.fit(data, 2, 300.0, dispersion=dispersion, random_state=0)
    assert found.weights.iloc[3:].tolist() == [0.0, 0.0]
    assert truth_recovered(found)
    asked = ewp.fit(data, 2, 300.0, prior=np.ones(5), random_state=0)
    assert asked.weights.iloc[3] == asked.weights.max()


def test_columns_of_sixteen_orders_of_magnitude_standardise():
    data = X * [1e-8, 1.0, 1e8]
    plain = ewp.fit(X, 2, 10.0, scale="standard", random_state=0)
    scaled = ewp.fit(data, 2, 10.0, scale="standard", random_state=0)
    np.testing.assert_allclose(scaled.weights, plain.weights, rtol=1e-8)
    np.testing.assert_array_equal(scaled.labels, plain.labels)
    raw = ewp.fit(data, 2, 10.0, random_state=0)
    assert np.isfinite(raw.objective)


def test_extreme_shapes():
    one = ewp.fit(X, 1, 5.0)
    assert set(one.labels) == {0}
    np.testing.assert_allclose(one.centroids.iloc[0], X.mean(axis=0))
    every = ewp.fit(X[:6], 6, 5.0, random_state=0)
    assert sorted(every.labels) == list(range(6))
    np.testing.assert_allclose(every.clusters["withinss"], 0, atol=1e-20)
    column = ewp.fit(X[:, :1], 2, 5.0, random_state=0)
    assert column.weights.tolist() == [1.0]
    assert truth_recovered(column)
    same = ewp.fit(np.ones((5, 2)), 1, 5.0)
    assert same.weights.tolist() == [0.5, 0.5]
    single = ewp.fit(X[:1], 1, 5.0)
    np.testing.assert_allclose(single.centroids.iloc[0], X[0])


def test_heavily_duplicated_rows_neither_loop_nor_fail():
    data = np.repeat(np.eye(4), 25, axis=0)
    for k in (2, 3, 4):
        found = ewp.fit(data, k, 20.0, random_state=0)
        assert np.isfinite(found.centroids.to_numpy()).all()
        assert found.converged
    assert sorted(found.clusters["size"]) == [25, 25, 25, 25]


def test_clusters_that_no_weighted_feature_can_tell_apart_do_not_cycle():
    data = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(float)
    found = ewp.fit(data, 4, 1e-3, random_state=0)
    assert found.converged
    assert found.n_iter < 100


# --- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dispersion", ["within", "between"])
def test_the_smallest_penalty_leaves_one_feature_and_the_largest_all(dispersion):
    options = {"dispersion": dispersion, "random_state": 0}
    assert sorted(ewp.fit(1e6 * GROUPS, 2, 1e-300, **options).weights) == [0, 0, 0, 1]
    np.testing.assert_allclose(ewp.fit(GROUPS, 2, 1e300, **options).weights, 0.25)


def test_large_weights_and_priors_are_only_a_matter_of_units():
    one = ewp.fit(GROUPS, 2, 100.0, random_state=0)
    two = ewp.fit(GROUPS, 2, 1e92, sample_weight=np.full(60, 1e90), random_state=0)
    three = ewp.fit(GROUPS, 2, 100.0, prior=np.full(4, 1e308), random_state=0)
    np.testing.assert_allclose(two.weights, one.weights, rtol=1e-10)
    np.testing.assert_allclose(three.weights, one.weights, rtol=1e-10)


@pytest.mark.parametrize(
    "seed", [3, np.random.default_rng(3), np.random.RandomState(3), None, np.random.SeedSequence(3)]
)
def test_every_usual_kind_of_seed_is_taken(seed):
    assert truth_recovered(ewp.fit(X, 2, 300.0, random_state=seed))


def test_a_seed_sequence_is_left_as_it_was():
    seeds = np.random.SeedSequence(3)
    one, two = (ewp.fit(GROUPS, 2, 100.0, random_state=seeds) for _ in range(2))
    assert one.objective == two.objective
    assert seeds.n_children_spawned == 0


def test_a_generator_that_cannot_spawn_is_taken():
    legacy = np.random.Generator(np.random.RandomState(0)._bit_generator)
    assert ewp.fit(GROUPS, 2, 100.0, random_state=legacy).converged


# --- names -------------------------------------------------------------------------------------


def test_a_labelled_prior_is_matched_by_name():
    prior = pd.Series([4.0, 3.0, 2.0, 1.0], index=list("dcba"))
    by_name = ewp.fit(NAMED, 2, 100.0, prior=prior, random_state=0)
    by_place = ewp.fit(NAMED, 2, 100.0, prior=[1, 2, 3, 4], random_state=0)
    pd.testing.assert_series_equal(by_name.weights, by_place.weights)
    unlabelled = ewp.fit(NAMED, 2, 100.0, prior=pd.Series([1, 2, 3, 4]), random_state=0)
    pd.testing.assert_series_equal(unlabelled.weights, by_place.weights)
    with pytest.raises(ValueError, match="prior is labelled 'd', 'c', 'b', 'z'"):
        ewp.fit(NAMED, 2, 100.0, prior=prior.rename({"a": "z"}))


def test_labelled_centroids_are_matched_by_name():
    start = NAMED.iloc[[0, 59]]
    one = ewp.fit(NAMED, 2, 100.0, init=start[list("dcba")], random_state=0)
    two = ewp.fit(NAMED, 2, 100.0, init=start.to_numpy(), random_state=0)
    pd.testing.assert_frame_equal(one.centroids, two.centroids)


def test_names_given_by_the_user_bind_and_names_given_for_want_of_others_do_not(tmp_path):
    own = pd.DataFrame(GROUPS, columns=["x0", "x1", "x2", "x3"])
    found = ewp.fit(own, 2, 100.0, random_state=0)
    found.save(tmp_path / "fit")
    for results in (found, ewp.EWPResults.load(tmp_path / "fit")):
        # found by name, in any order
        turned = results.predict(own[["x1", "x0", "x2", "x3"]])
        np.testing.assert_array_equal(turned, results.predict(own))
        with pytest.raises(ValueError, match="x9"):
            results.predict(own.rename(columns={"x1": "x9"}))
    assert len(ewp.fit(GROUPS, 2, 100.0, random_state=0).predict(NAMED)) == 60


@pytest.mark.filterwarnings("error")
def test_column_names_of_several_levels():
    named = NAMED.set_axis(pd.MultiIndex.from_product([["u", "v"], ["p", "q"]]), axis=1)
    table = ewp.fit(named, 2, 100.0, random_state=0).augment()
    assert table.columns[-2:].tolist() == [("", ".cluster"), ("", ".distance")]
