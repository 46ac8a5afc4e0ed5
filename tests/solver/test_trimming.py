"""Trimmed fits: descent, bounded influence, what is left of the rows that are trimmed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import ewp
from ewp.datasets import make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.metrics import rand_index
from ewp.solver.fit import FitOptions
from ewp.solver.trimming import core_of, first_core, fit_trimmed, trimming_share

#: Rows 0 to 19 of the data are outliers.
OUT = 20


def clusters_with_outliers(seed, far=10.0, n=200, k=3):
    """Clusters in two of five features, and rows uniform in a box `far` times as wide."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    X = rng.standard_normal((n, 5))
    X[:, :2] += 8.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[labels]
    half = (X.max(axis=0) - X.min(axis=0)) / 2
    X[:OUT] = X.mean(axis=0) + far * half * rng.uniform(-1.0, 1.0, (OUT, 5))
    return X, labels


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=30),
    st.floats(0.001, 0.499),
    st.integers(0, 2**32 - 1),
)
def test_the_core_is_the_nearest_rows_and_has_its_share_of_the_weight(distance, share, seed):
    distance = np.array(distance)
    mass = np.random.default_rng(seed).integers(0, 4, len(distance)).astype(float)
    mass[0] = 1.0
    kept = core_of(distance, mass, share)
    assert not kept[mass == 0].any()
    trimmed = ~kept & (mass > 0)
    assert mass[trimmed].sum() <= share * mass.sum() * (1 + 1e-9)
    if trimmed.any():
        assert distance[trimmed].min() >= distance[kept].max()
    # one more row would be too many
    farthest = np.flatnonzero(kept & (distance == distance[kept].max()))
    assert (mass[trimmed].sum() + mass[farthest] > share * mass.sum() * (1 - 1e-9)).any()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.15, 0.3]), st.sampled_from([0.1, 1.0]))
def test_concentration_steps_descend(seed, share, penalty):
    X = np.random.default_rng(seed).standard_t(2, (60, 3))
    options = FitOptions(3, penalty * 60, n_init=2, random_state=0).settle()
    # a core that is far from the best one
    mass = np.ones(60)
    mass[: int(60 * share)] = 0.0
    found = fit_trimmed(ArrayEngine(X, mass), None, share, options, np.random.default_rng(0))
    steps = np.diff(found.objectives)
    assert (steps <= 1e-9 * np.abs(found.objectives[0])).all()
    # a fixed point: the core is that of the fit
    assert_array_equal(found.kept, core_of(found.distance, None, share))


@pytest.mark.parametrize("seed", range(3))
def test_how_far_outliers_lie_does_not_matter(seed):
    fits = []
    for far in (10.0, 1e3, 1e6):
        X, _ = clusters_with_outliers(seed, far)
        fits.append(ewp.fit(X, 3, 60.0, scale="standard", robust="trim", random_state=0))
        assert_array_equal(np.flatnonzero(fits[-1].outliers["trimmed"]), np.arange(OUT))
    for other in fits[1:]:
        assert_allclose(other.centroids, fits[0].centroids, rtol=1e-6, atol=1e-6)
        assert_allclose(other.weights, fits[0].weights, rtol=1e-6, atol=1e-9)


def test_more_outliers_than_are_trimmed_break_a_fit():
    X, labels = clusters_with_outliers(0, 1e6)
    found = ewp.fit(X, 3, 60.0, robust="trim:0.05", random_state=0)
    assert rand_index(labels[OUT:], found.labels.to_numpy()[OUT:]) < 0.5


@pytest.mark.parametrize("seed", range(2))
def test_with_everything_automatic_the_others_are_found_as_without_outliers(seed):
    X, labels, relevant = make_simulation2(k=4, n=300, p=20, random_state=seed)
    rng = np.random.default_rng(seed)
    bad = rng.choice(300, 60, replace=False)
    half = (X.max(axis=0) - X.min(axis=0)) / 2
    X[bad] = X.mean(axis=0) + 10 * half * rng.uniform(-1, 1, (60, 20))
    good = np.setdiff1d(np.arange(300), bad)
    found = ewp.fit(X, 4, robust="trim:0.2", random_state=0)
    assert rand_index(labels[good], found.labels.to_numpy()[good]) == 1.0
    assert_array_equal(np.flatnonzero(found.outliers["trimmed"]), np.sort(bad))
    assert found.weights.to_numpy()[relevant].sum() > 0.99
    assert found.outliers["outlyingness"].to_numpy()[bad].min() > 2.0


def test_nothing_trimmed_is_the_plain_fit():
    X = make_simulation2(k=3, n=150, p=6, random_state=0).X
    plain = ewp.fit(X, 3, 30.0, scale="standard", random_state=0)
    found = ewp.fit(X, 3, 30.0, scale="standard", robust="trim:0.001", random_state=0)
    assert not found.outliers["trimmed"].any()
    assert_array_equal(found.labels, plain.labels)
    # weights of one are not the same sums to the last bit as none
    assert_allclose(found.weights, plain.weights, rtol=1e-12)
    assert found.objective == pytest.approx(plain.objective, rel=1e-12)


def test_trimmed_rows_have_labels_and_no_say():
    X, _ = clusters_with_outliers(1)
    found = ewp.fit(X, 3, 60.0, scale="standard", robust="trim", random_state=0)
    kept = ~found.outliers["trimmed"].to_numpy()
    again = ewp.fit(X, 3, 60.0, scale="standard", sample_weight=kept, random_state=0)
    assert_allclose(again.centroids, found.centroids, rtol=1e-8, atol=1e-10)
    assert_array_equal(found.labels, found.predict(X))
    assert found.clusters["size"].sum() == 200
    assert found.clusters["mass"].sum() == 180
    assert found.outliers["outlyingness"][kept].max() == 1.0


def test_the_order_of_the_rows_does_not_matter():
    X, _ = clusters_with_outliers(2)
    order = np.random.default_rng(0).permutation(len(X))
    options = {"scale": "standard", "robust": "trim:0.12", "random_state": 0}
    one, two = ewp.fit(X, 3, 60.0, **options), ewp.fit(X[order], 3, 60.0, **options)
    assert_array_equal(one.outliers["trimmed"][order], two.outliers["trimmed"])
    assert_allclose(one.weights, two.weights, rtol=1e-9)


def test_weights_of_the_rows_count():
    X, _ = clusters_with_outliers(3)
    mass = np.ones(200)
    mass[50:80] = 2.0
    mass[100:110] = 0.0
    # 20 of 220: no row of weight 2 lies across the edge
    options = {"scale": "standard", "robust": "trim:0.092", "random_state": 0}
    found = ewp.fit(X, 3, 60.0, sample_weight=mass, **options)
    other = ewp.fit(np.repeat(X, mass.astype(int), axis=0), 3, 60.0, **options)
    assert_allclose(found.centroids, other.centroids, rtol=1e-8, atol=1e-8)
    assert_array_equal(found.outliers["mass"], mass)
    assert not found.outliers["trimmed"][100:110].any()


@pytest.mark.parametrize(
    ("scale", "missing"),
    [(None, "error"), ("standard", "error"), ("decorrelate", "error"), ("standard", "observed")],
)
def test_scalings_and_missing_values(scale, missing):
    X, labels = clusters_with_outliers(4)
    if missing == "observed":
        # not in the features of the clusters, whose labels a row without them cannot tell
        X[:, 2:][np.random.default_rng(0).random((len(X), 3)) < 0.1] = np.nan
    options = {"missing": missing, "scale": scale, "dispersion": "between"}
    found = ewp.fit(X, 3, 100.0, robust="trim:0.12", random_state=0, **options)
    assert found.outliers["trimmed"][:OUT].all()
    assert rand_index(labels[OUT:], found.labels.to_numpy()[OUT:]) > 0.95


def test_results_keep_what_was_trimmed(tmp_path):
    data, _ = clusters_with_outliers(5)
    X = pd.DataFrame(data, index=[f"row {i}" for i in range(200)], columns=list("abcde"))
    found = ewp.fit(X, 3, robust="trim", random_state=0)
    assert found.outliers.index.equals(X.index)
    found.save(tmp_path / "fit")
    loaded = ewp.EWPResults.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.outliers, found.outliers)
    assert str(loaded.summary()) == str(found.summary())
    assert "Rows trimmed:" in str(found.summary())
    # diagnostics go without the trimmed rows, wherever the data come from
    own, given_ = found.stability(5, random_state=0), loaded.stability(5, X=X, random_state=0)
    pd.testing.assert_frame_equal(own.clusters, given_.clusters)
    assert own.points["silhouette"].isna().to_numpy()[:OUT].all()
    assert len(found.plot_clusters().collections[0].get_offsets()) <= 200 - OUT
    again = eval(found.call, {"ewp": ewp, "X": X})
    assert_array_equal(again.labels, found.labels)
    assert_array_equal(again.weights, found.weights)
    # all rows are there again
    other = found.refit(robust=None, lam=found.lam)
    assert other.outliers is None
    assert other.clusters["mass"].sum() == 200
    assert found.refit(lam=2 * found.lam).outliers["trimmed"].sum() == OUT


def test_the_first_core_is_that_of_the_rows_that_count():
    X, _ = clusters_with_outliers(6)
    used = np.ones(5, dtype=bool)
    kept = first_core(X, None, 3, 0.1, used, np.random.default_rng(0))
    assert_array_equal(np.flatnonzero(~kept), np.arange(OUT))
    mass = np.ones(200)
    mass[:OUT] = 0.0
    kept = first_core(X, mass, 3, 0.1, used, np.random.default_rng(0))
    assert not kept[:OUT].any()
    assert kept.sum() == 180 - 18


@pytest.mark.parametrize("bad", ["trim:0.5", "trim:0", "trim:x", "mom", "", 0.1, True])
def test_what_is_no_share_is_refused(bad):
    with pytest.raises(ValueError, match="robust="):
        trimming_share(bad)


def test_what_cannot_be_trimmed_is_refused(tmp_path):
    X, _ = clusters_with_outliers(0)
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="needs rows in memory"):
        ewp.fit(tmp_path / "rows.npy", 3, 60.0, robust="trim")
    with pytest.raises(ValueError, match="compared on the same rows"):
        ewp.select_k(X, [2, 3], robust="trim")
    with pytest.raises(ValueError, match="distinct rows"):
        ewp.fit(X[:5], 5, 10.0, robust="trim:0.4")
