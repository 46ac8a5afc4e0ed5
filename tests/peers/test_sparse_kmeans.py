"""Sparse k-means as an estimator: sparcl's numbers, its criterion, the bound, annealing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from ewp.metrics import feature_sums
from ewp.peers import SparseKMeans
from ewp.peers.sparcl import usual_bounds
from tests.support.strategies import SLOW, never_rises, problems
from validation import recordings

CLOSE = {"rtol": 0.0, "atol": 1e-10}


def test_the_estimator_meets_every_recorded_fit():
    assert len(recordings.starts()) == 22
    assert sum(len(recordings.start(*s)["single"]) for s in recordings.starts()) == 106


@pytest.mark.parametrize(("case", "name"), recordings.starts())
def test_the_estimator_returns_the_recorded_fits_of_sparcl(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    for recorded in start["single"]:
        k = len(start["centers"])
        model = SparseKMeans(k, wbound=recorded["bound"], init=start["centers"]).fit(X)
        assert recordings.same_partition(model.labels_, recorded["labels"])
        np.testing.assert_allclose(model.feature_weights_, recorded["weights"], **CLOSE)
        np.testing.assert_allclose(model.trace_["criterion"], recorded["criterion"], **CLOSE)
        within, between = feature_sums(X, model.labels_, k)
        np.testing.assert_allclose(within, recorded["within"], **CLOSE)
        np.testing.assert_allclose(between, recorded["between"], **CLOSE)
        sizes = np.bincount(model.labels_)
        assert (np.diff(sizes) <= 0).all()


@given(problems(), st.floats(1, 2.5), st.sampled_from(["lloyd", "annealed"]))
@SLOW
def test_sparse_k_means_raises_its_criterion_at_every_step(problem, bound, algorithm):
    X, start = problem
    k, p = len(start), X.shape[1]
    model = SparseKMeans(
        k, wbound=bound, algorithm=algorithm, threshold="exact", s0=-5.0, init=start
    ).fit(X)
    trace = model.trace_
    scale = float(np.abs(trace["f_s"]).max() + X.var() * len(X))
    # equal weights at the start need not meet the bound
    used = trace.iloc[1:] if bound < p**0.5 else trace
    assert never_rises(used["f_s"], scale)
    hard = used[np.isinf(used["s"])]
    assert never_rises(-hard["criterion"], scale)
    w = model.feature_weights_
    assert (w >= 0).all()
    if k > 1:
        assert np.linalg.norm(w) == pytest.approx(1.0)
        assert w.sum() <= bound + 1e-9
    _, between = feature_sums(X, model.labels_, len(set(model.labels_)))
    assert model.objective_ == pytest.approx(float(w @ between), rel=1e-6, abs=1e-9 * scale)


@given(problems(), st.floats(1, 2.5))
@SLOW
def test_annealed_from_the_limit_is_lloyds_algorithm(problem, bound):
    X, start = problem
    options = {"wbound": bound, "threshold": "exact", "init": start}
    lloyd = SparseKMeans(len(start), algorithm="lloyd", **options).fit(X)
    limit = SparseKMeans(len(start), algorithm="annealed", s0=-np.inf, **options).fit(X)
    assert limit.objective_ == lloyd.objective_
    np.testing.assert_array_equal(limit.labels_, lloyd.labels_)


def test_one_cluster_has_equal_weights():
    X = np.random.default_rng(0).standard_normal((10, 4))
    for algorithm in ("hartigan-wong", "lloyd", "annealed"):
        model = SparseKMeans(1, algorithm=algorithm).fit(X)
        assert model.feature_weights_.tolist() == [0.5] * 4
        assert model.objective_ == pytest.approx(0.0, abs=1e-12)


def test_the_gap_chooses_the_bound():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    X[:, :3] += 4.0 * (np.arange(60) % 3)[:, None]
    model = SparseKMeans(3, random_state=0).fit(X)
    assert model.wbound_ == model.gap_.bestw
    np.testing.assert_array_equal(model.gap_.bounds, usual_bounds(12))
    assert model.feature_weights_[:3].sum() > 0.9 * model.feature_weights_.sum()
    exact = SparseKMeans(3, threshold="exact", random_state=0).fit(X)
    np.testing.assert_allclose(exact.gap_.gaps, model.gap_.gaps, atol=1e-3)
    assert not np.array_equal(exact.gap_.gaps, model.gap_.gaps)
    given = SparseKMeans(3, wbound=2.0, random_state=0).fit(X)
    assert given.gap_ is None
    assert given.wbound_ == 2.0


def test_annealing_frees_sparse_k_means_from_its_start():
    X = load_iris().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(0)
    starts = [X[rng.choice(len(X), 3, replace=False)] for _ in range(20)]
    reached = {
        algorithm: np.array(
            [
                SparseKMeans(3, 1.8, algorithm, threshold="exact", init=start).fit(X).objective_
                for start in starts
            ]
        )
        for algorithm in ("hartigan-wong", "lloyd", "annealed")
    }
    np.testing.assert_allclose(reached["annealed"], reached["annealed"].max(), rtol=1e-9)
    for algorithm in ("hartigan-wong", "lloyd"):
        assert reached[algorithm].max() <= reached["annealed"].max() * (1 + 1e-9)
        assert reached[algorithm].min() < 0.9 * reached["annealed"].max()
