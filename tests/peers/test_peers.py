"""The peers: their contract, their special cases, the objectives they publish."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

import ewp
from ewp.metrics import feature_sums
from ewp.peers import KHarmonicMeans, KMeans, PowerKMeans, SparseKMeans, WKMeans
from tests.support import reference
from tests.support.strategies import SLOW, never_rises, problems
from validation import recordings


@parametrize_with_checks(
    [
        KMeans(),
        KMeans(3, random_state=0),
        KHarmonicMeans(),
        PowerKMeans(),
        WKMeans(),
        SparseKMeans(wbound=1.2),
        SparseKMeans(3, wbound=1.2, algorithm="lloyd", random_state=0),
        SparseKMeans(3, wbound=1.2, algorithm="annealed", threshold="exact", random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# -- what they share --------------------------------------------------------------------------

PEERS = [
    KMeans(3, random_state=0),
    KHarmonicMeans(3, random_state=0),
    PowerKMeans(3, random_state=0),
    WKMeans(3, random_state=0),
    SparseKMeans(3, wbound=1.4, random_state=0),
    SparseKMeans(3, wbound=1.4, algorithm="lloyd", random_state=0),
    SparseKMeans(3, wbound=1.4, algorithm="annealed", random_state=0),
]


def peer_name(model):
    return f"{type(model).__name__} {getattr(model, 'algorithm', '')}".strip()


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    sizes = [50, 30, 20]
    X = np.repeat(rng.normal(0, 6, (3, 5)), sizes, axis=0) + rng.standard_normal((100, 5))
    return X, np.repeat([0, 1, 2], sizes)


@pytest.mark.parametrize("model", PEERS, ids=peer_name)
def test_clusters_come_largest_first_and_belong_to_their_attributes(model, blobs):
    X, labels = blobs
    model = model.fit(X)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), labels)
    metric = np.sqrt((((X[:, None] - model.cluster_centers_) ** 2) * model.metric_).sum(axis=2))
    np.testing.assert_allclose(model.transform(X), metric, rtol=1e-8)
    assert len(model.trace_) >= model.n_iter_ >= 1


@pytest.mark.parametrize("model", PEERS, ids=peer_name)
def test_the_score_of_the_training_data_is_the_objective(model, blobs):
    X, _ = blobs
    model = model.fit(X)
    sign = 1 if isinstance(model, SparseKMeans) else -1
    assert model.score(X) == pytest.approx(sign * model.objective_, rel=1e-9)
    twice = model.score(X, sample_weight=np.full(len(X), 2.0))
    assert twice == pytest.approx(2 * sign * model.objective_, rel=1e-9)


@pytest.mark.parametrize(
    "kind", [KMeans, KHarmonicMeans, PowerKMeans, WKMeans, SparseKMeans], ids=lambda c: c.__name__
)
def test_the_best_of_several_starts_is_kept(kind):
    X = np.random.default_rng(1).standard_normal((60, 2))
    options = {"wbound": 1.2} if kind is SparseKMeans else {}
    sign = -1 if kind is SparseKMeans else 1

    def reached(n_init, seed):
        model = kind(6, init="random", n_init=n_init, random_state=seed, **options)
        return sign * model.fit(X).objective_

    assert min(reached(8, seed) for seed in range(3)) <= min(reached(1, s) for s in range(3)) + 1e-9


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WKMeans(2, beta=1.0), "beta=1.0 must be finite and above 1"),
        (PowerKMeans(2, s0=1.0), "s0=1.0"),
        (PowerKMeans(2, eta=1.0), "eta=1.0"),
        (SparseKMeans(2, wbound=0.9), "wbound=0.9 must be at least 1"),
        (SparseKMeans(2, wbound="best"), "wbound='best'"),
        (SparseKMeans(2, wbound=1.5, algorithm="fast"), "algorithm='fast'"),
        (SparseKMeans(2, wbound=1.5, threshold="fine"), "threshold='fine'"),
        (KMeans(2, init="best"), "init='best'"),
        (KMeans(9), "k=9 exceeds the 8 distinct rows"),
    ],
)
def test_impossible_options_are_named(model, message):
    X = np.arange(16.0).reshape(8, 2)
    with pytest.raises(ValueError, match=message):
        model.fit(X)


# -- special cases ----------------------------------------------------------------------------


@given(problems())
@SLOW
def test_kmeans_ends_where_scikit_learns_ends(problem):
    X, start = problem
    k = len(start)
    theirs = SklearnKMeans(k, init=start, n_init=1, tol=0, max_iter=500, algorithm="lloyd").fit(X)
    ours = KMeans(k, init=start, tol=1e-12).fit(X)
    assert ours.objective_ == pytest.approx(theirs.inertia_, rel=1e-9, abs=1e-12 * X.var())
    assert recordings.same_partition(ours.labels_, theirs.labels_)
    order = [int(theirs.labels_[np.argmax(ours.labels_ == j)]) for j in range(k)]
    np.testing.assert_allclose(
        ours.cluster_centers_, theirs.cluster_centers_[order], atol=1e-9 * np.abs(X).max()
    )


@given(problems(), st.sampled_from([-1.0, -3.0, "critical"]))
@SLOW
def test_power_k_means_is_ewp_with_a_huge_penalty(problem, s0):
    X, start = problem
    k, p = len(start), X.shape[1]
    lam = 1e13 * float(X.var(axis=0).sum()) * len(X)
    options = {"scale": None, "dispersion": "within", "polish": False}
    power = PowerKMeans(k, s0="auto" if s0 == "critical" else s0, init=start).fit(X)
    first = float(power.trace_["s"][0])
    assert first == (min(-1.0, ewp.critical_exponent(X)) if s0 == "critical" else s0)
    entropy = ewp.fit(X, k, lam, s0=first, init=start, **options)
    np.testing.assert_allclose(entropy.weights, 1 / p, rtol=1e-10)
    np.testing.assert_allclose(power.cluster_centers_, entropy.centroids, atol=1e-7 * X.std())
    np.testing.assert_array_equal(power.labels_, entropy.labels)
    assert power.objective_ == pytest.approx(p * entropy.tot_withinss, rel=1e-8)


@given(problems())
@SLOW
def test_power_k_means_from_the_limit_is_k_means(problem):
    X, start = problem
    plain = KMeans(len(start), init=start).fit(X)
    limit = PowerKMeans(len(start), s0=-np.inf, init=start).fit(X)
    assert limit.objective_ == plain.objective_
    np.testing.assert_array_equal(limit.labels_, plain.labels_)


def test_power_k_means_starts_at_the_critical_exponent(blobs):
    X = (blobs[0] - blobs[0].mean(axis=0)) / blobs[0].std(axis=0)
    wide = np.hstack([X, np.random.default_rng(1).standard_normal((len(X), 40))])
    model = PowerKMeans(3, random_state=0).fit(wide)
    assert model.trace_["s"][0] == pytest.approx(ewp.critical_exponent(wide), rel=1e-9)
    assert model.trace_["s"][0] < -1


@given(problems())
@SLOW
def test_k_harmonic_means_lowers_the_sum_of_harmonic_means(problem):
    X, start = problem
    model = KHarmonicMeans(len(start), init=start, max_iter=5000).fit(X)
    assert never_rises(model.trace_["f_s"])
    assert set(model.trace_["s"]) == {-1.0}
    ones = np.ones(X.shape[1])
    total = sum(
        reference.power_mean(
            [max(reference.squared_distance(x, t, ones), 1e-300) for t in model.cluster_centers_],
            -1.0,
        )
        for x in X
    )
    assert model.objective_ == pytest.approx(total, rel=1e-6, abs=1e-9 * X.var())


# -- WK-means ---------------------------------------------------------------------------------


@given(problems(), st.sampled_from([1.1, 2.0, 8.0]))
@SLOW
def test_wk_means_lowers_its_objective_at_every_step(problem, beta):
    X, start = problem
    model = WKMeans(len(start), beta=beta, init=start).fit(X)
    assert never_rises(model.trace_["f_inf"])
    assert model.feature_weights_.sum() == pytest.approx(1.0)
    within, _ = feature_sums(X, model.labels_, len(start))
    total = float(model.metric_ @ X.var(axis=0)) * len(X)
    assert model.objective_ == pytest.approx(
        float(model.metric_ @ within), rel=1e-7, abs=1e-12 * total
    )
    np.testing.assert_allclose(model.metric_, model.feature_weights_**beta)


def test_wk_means_gives_a_constant_column_no_weight(blobs):
    X = np.column_stack([blobs[0], np.full(100, 7.0)])
    model = WKMeans(3, random_state=0).fit(X)
    assert model.feature_weights_[-1] == 0.0
    np.testing.assert_array_equal(model.labels_, blobs[1])
