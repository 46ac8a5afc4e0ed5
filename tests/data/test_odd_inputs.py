"""What must not matter to a fit, and odd inputs that get an answer or a clear error."""

import copy
import threading

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import ThreadpoolController

import ewp
from ewp.blas import one_blas_thread
from ewp.datasets import make_simulation2
from ewp.engine import ArrayEngine

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)) + 5 * (np.arange(60) < 30)[:, None]
NAMED = pd.DataFrame(X, columns=list("abcd"))


# --- what must not matter ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    # 1500 rows are searched whole by the polish, 3000 would be sampled
    return make_simulation2(5, n=1500, p=20, random_state=0)[0]


def test_a_row_of_weight_two_is_that_row_twice_whatever_the_polish_samples(many):
    twice = ewp.fit(np.vstack([many, many]), 5, 75.0, random_state=1)
    weighted = ewp.fit(many, 5, 75.0, sample_weight=np.full(1500, 2.0), random_state=1)
    assert twice.objective == pytest.approx(weighted.objective, rel=1e-12)
    np.testing.assert_allclose(twice.centroids, weighted.centroids, atol=1e-12)
    np.testing.assert_array_equal(twice.labels[:1500], weighted.labels)


def test_rows_of_weight_zero_do_not_matter(many):
    kept = np.arange(1500) % 3 > 0
    strange = many.copy()
    strange[~kept] *= 1e6
    one = ewp.fit(strange, 5, 50.0, sample_weight=kept.astype(float), random_state=1)
    two = ewp.fit(many[kept], 5, 50.0, random_state=1)
    np.testing.assert_allclose(one.centroids, two.centroids, atol=1e-12)
    np.testing.assert_array_equal(one.labels[kept], two.labels)


@pytest.mark.parametrize("seed", range(5))
def test_polished_fits_follow_permutations_of_rows_and_columns(many, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(1500), rng.permutation(20)
    one = ewp.fit(many, 5, 75.0, random_state=seed)
    two = ewp.fit(many[np.ix_(rows, columns)], 5, 75.0, random_state=seed)
    np.testing.assert_allclose(two.weights, one.weights.iloc[columns], atol=1e-12)
    np.testing.assert_allclose(two.centroids, one.centroids.iloc[:, columns], atol=1e-12)
    np.testing.assert_array_equal(two.labels, one.labels.iloc[rows])


def test_an_outlier_does_not_blur_the_canonical_order():
    rng = np.random.default_rng(0)
    data = np.vstack([rng.standard_normal((200, 3)), np.full((1, 3), 1e9)])
    order, distinct = ArrayEngine(data).canonical
    assert distinct.all()
    shuffled = rng.permutation(201)
    again = ArrayEngine(data[shuffled]).order
    np.testing.assert_array_equal(data[order], data[shuffled][again])


def test_equal_rows_are_known_as_such():
    data = np.repeat(np.random.default_rng(0).integers(0, 2, (40, 6)), 3, axis=0).astype(float)
    _, distinct = ArrayEngine(data).canonical
    assert distinct.sum() == len(np.unique(data, axis=0))


def test_cluster_zero_is_the_largest_also_beside_empty_ones():
    for seed in range(20):
        data = np.random.default_rng(seed).integers(0, 2, (60, 3)).astype(float)
        sizes = ewp.fit(data, 4, 1e-3, random_state=seed).clusters["size"]
        assert sizes.is_monotonic_decreasing


def test_threads_of_blas_are_restored_after_overlapping_fits():
    def threads():
        return [library["num_threads"] for library in ThreadpoolController().info()]

    before = threads()
    inside, done = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            done.wait()

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait()
    blas = [info for info in ThreadpoolController().info() if info["user_api"] == "blas"]
    assert all(info["num_threads"] == 1 for info in blas)
    done.set()
    thread.join()
    assert threads() == before


def test_a_seed_sequence_is_left_as_it_was():
    seeds = np.random.SeedSequence(3)
    one, two = (ewp.fit(X, 2, 100.0, random_state=seeds) for _ in range(2))
    assert one.objective == two.objective
    assert seeds.n_children_spawned == 0


def test_a_generator_that_cannot_spawn_is_taken():
    legacy = np.random.Generator(np.random.RandomState(0)._bit_generator)
    assert ewp.fit(X, 2, 100.0, random_state=legacy).converged


# --- labelled options --------------------------------------------------------------------------


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
    own = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    found = ewp.fit(own, 2, 100.0, random_state=0)
    found.save(tmp_path / "fit")
    for results in (found, ewp.EWPResults.load(tmp_path / "fit")):
        with pytest.raises(ValueError, match="in another order"):
            results.predict(own[["x1", "x0", "x2", "x3"]])
    assert len(ewp.fit(X, 2, 100.0, random_state=0).predict(NAMED)) == 60


# --- odd inputs --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (X, {"s0": -0.01}, "s0=-0.01 must be -0.1 or less"),
        (X, {"scale": np.ones(3)}, "scale=array"),
        (X, {"n_jobs": "2"}, "n_jobs='2'"),
        (X, {"n_jobs": 0}, "n_jobs=0"),
        (X, {"polish": "no"}, "polish='no' must be True or False"),
        (X, {"init": np.full((2, 4), 1e200)}, "init has values above"),
        (X, {"sample_weight": np.full(60, 1e308)}, "divide the weights by a constant"),
        (1e-165 * X, {}, "multiply X by a constant"),
        (np.ma.masked_greater(X, 5), {}, "masked values"),
        (pd.DataFrame(X, columns=list("aabb")), {}, "not unique: 'a', 'b'"),
        (pd.DataFrame(), {}, "X is empty"),
    ],
)
def test_odd_inputs_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ewp.fit(data, 2, 1.0, **options)


@pytest.mark.parametrize("dispersion", ["within", "between"])
def test_the_smallest_penalty_leaves_one_feature_and_the_largest_all(dispersion):
    options = {"dispersion": dispersion, "random_state": 0}
    assert sorted(ewp.fit(1e6 * X, 2, 1e-300, **options).weights) == [0, 0, 0, 1]
    np.testing.assert_allclose(ewp.fit(X, 2, 1e300, **options).weights, 0.25)


def test_rows_that_are_all_equal_have_no_critical_exponent():
    assert ewp.critical_exponent(np.ones((5, 300))) == -np.inf
    assert ewp.fit(np.ones((5, 300)), 1, 1.0).objective == pytest.approx(-np.log(300))


def test_large_weights_and_priors_are_only_a_matter_of_units():
    one = ewp.fit(X, 2, 100.0, random_state=0)
    two = ewp.fit(X, 2, 1e92, sample_weight=np.full(60, 1e90), random_state=0)
    three = ewp.fit(X, 2, 100.0, prior=np.full(4, 1e308), random_state=0)
    np.testing.assert_allclose(two.weights, one.weights, rtol=1e-10)
    np.testing.assert_allclose(three.weights, one.weights, rtol=1e-10)


def test_a_copy_holds_the_data_and_saving_needs_a_folder(tmp_path):
    found = ewp.fit(X, 2, 100.0, random_state=0)
    assert copy.copy(found).data is X
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        found.save(tmp_path / "no" / "fit")


@pytest.mark.filterwarnings("error")
def test_column_names_of_several_levels():
    named = NAMED.set_axis(pd.MultiIndex.from_product([["u", "v"], ["p", "q"]]), axis=1)
    table = ewp.fit(named, 2, 100.0, random_state=0).augment()
    assert table.columns[-2:].tolist() == [("", ".cluster"), ("", ".distance")]
