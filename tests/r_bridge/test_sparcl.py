"""The real sparcl: its recorded outputs, native sparse k-means beside it, threads, results."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.peers.sparcl import sparse_path
from r_bridge import RWarning, sparcl
from r_bridge.errors import RCallError
from tests.support.r import draw, named
from validation import recordings

pytestmark = pytest.mark.sparcl
EXACT = {"rtol": 0.0, "atol": 1e-12}


def assert_same(fit, recorded):
    assert fit.bound == recorded["bound"]
    assert fit.labels.tolist() == recorded["labels"]
    for name in ("weights", "criterion", "within", "between"):
        np.testing.assert_allclose(getattr(fit, name), recorded[name], **EXACT, err_msg=name)


# -- what sparcl was recorded to return ---------------------------------------------------------


@pytest.mark.parametrize(("case", "name"), recordings.starts())
def test_recorded_fits_are_returned(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    for recorded in start["single"]:
        found = sparcl.kmeans_sparse_cluster(X, centers=start["centers"], wbounds=recorded["bound"])
        assert_same(found[0].to_native(), recorded)
    bounds = [recorded["bound"] for recorded in start["path"]]
    found = sparcl.kmeans_sparse_cluster(X, centers=start["centers"], wbounds=bounds)
    for fit, recorded in zip(found.to_native(), start["path"], strict=True):
        assert_same(fit, recorded)


@pytest.mark.parametrize(("case", "name"), recordings.gaps(finished=True))
def test_recorded_gaps_are_returned(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    recorded = start["gap"]
    found = sparcl.permute(
        X, centers=start["centers"], wbounds=recorded["bounds"], nperms=5, seed=1
    ).to_native()
    for field in ("tots", "permtots", "gaps", "sdgaps", "nnonzerows", "bestw"):
        np.testing.assert_allclose(getattr(found, field), recorded[field], **EXACT)


@pytest.mark.parametrize(("case", "name", "i"), recordings.fits("stopped"))
def test_where_sparcl_stopped_it_stops_with_a_cure(case, name, i):
    X, start = recordings.data(case), recordings.start(case, name)
    bound = start["stopped"][i]["bound"]
    with pytest.raises(RCallError, match="give a larger bound"):
        sparcl.kmeans_sparse_cluster(X, centers=start["centers"], wbounds=bound)


@pytest.mark.parametrize(("case", "name"), recordings.gaps(finished=False))
def test_where_the_gap_stopped_it_stops_with_its_message(case, name):
    X, start = recordings.data(case), recordings.start(case, name)
    recorded = start["gap"]
    with pytest.raises(RCallError) as caught:
        sparcl.permute(X, centers=start["centers"], wbounds=recorded["bounds"], nperms=5, seed=1)
    assert caught.value.r_message == recorded["error"]


# -- native and live ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "p", "k"), [(30, 5, 2), (60, 20, 3), (100, 12, 5), (40, 150, 3), (200, 30, 4)]
)
def test_native_and_live_agree_on_fresh_data(n, p, k):
    for seed in range(20):
        X, centers, bounds = draw(n, p, k, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RWarning)
            live = sparcl.kmeans_sparse_cluster(X, centers=centers, wbounds=bounds).to_native()
        for found, native in zip(live, sparse_path(X, centers, bounds), strict=True):
            assert recordings.same_partition(found.labels, native.labels)
            np.testing.assert_allclose(found.weights, native.weights, rtol=0, atol=1e-8)
            np.testing.assert_allclose(found.criterion, native.criterion, rtol=1e-8)


def test_a_thousand_calls_from_eight_threads_are_right():
    problems = [draw(30, 6, 2, seed) for seed in range(10)]
    wanted = [sparse_path(X, centers, bounds[:1])[0].weights for X, centers, bounds in problems]

    def distance(i: int) -> float:
        X, centers, bounds = problems[i % 10]
        found = sparcl.kmeans_sparse_cluster(X, centers=centers, wbounds=bounds[:1])
        return float(np.abs(found[0].weights - wanted[i % 10]).max())

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(distance, range(1000))) < 1e-8


# -- results ------------------------------------------------------------------------------------


def test_a_path_carries_the_names_of_the_data(capfd):
    X = named()
    found = sparcl.kmeans_sparse_cluster(X, 3, wbounds=[1.5, 2.0, 2.5], nstart=3, seed=1)
    assert len(found) == 3
    assert found.weights.index.equals(X.columns)
    assert found.labels.index.equals(X.index)
    assert found.weights.columns.tolist() == found.bounds.tolist() == [1.5, 2.0, 2.5]
    for fit in found:
        assert float((fit.weights**2).sum()) == pytest.approx(1.0)
        assert fit.between.index.equals(X.columns)
        centred = ((X - X.mean()) ** 2).sum()
        pd.testing.assert_series_equal(fit.within + fit.between, centred, check_names=False)
        assert fit.criterion.iloc[-1] == pytest.approx(fit.weights @ fit.between)
        assert fit.weighted_wcss == pytest.approx(fit.weights @ fit.within)
        assert fit.wcss == pytest.approx(fit.within.sum())
        assert fit.converged == (len(fit.criterion) < 6)
    table = found.table()
    assert table["features"].tolist() == [len(fit.selected()) for fit in found]
    assert repr(found).startswith("Sparse k-means by sparcl: 45 rows, 8 features; seed 1\n")
    assert "wbound 1.5: 3 clusters" in repr(found[0])
    assert capfd.readouterr() == ("", "")


def test_a_seed_repeats_random_starts():
    X = named()
    first = sparcl.kmeans_sparse_cluster(X, 3, wbounds=1.8, nstart=2)
    again = sparcl.kmeans_sparse_cluster(X, 3, wbounds=1.8, nstart=2, seed=first.seed)
    pd.testing.assert_frame_equal(first.weights, again.weights)


def test_the_gap_is_a_table_over_the_bounds():
    found = sparcl.permute(named(), 3, nperms=4, nvals=3, seed=1)
    assert found.table.shape == (3, 4)
    assert found.permuted.shape == (3, 4)
    assert found.bestw == found.table["gap"].idxmax()
    assert f"4 permutations: best wbound {found.bestw:.4g}\n" in str(found)
    gaps = np.log(found.table["criterion"]) - np.log(found.permuted).mean(axis=1)
    np.testing.assert_allclose(found.table["gap"], gaps, atol=1e-12)


def test_a_fit_of_sparcl_can_be_compared_with():
    X = pd.DataFrame(draw(60, 8, 3, 0)[0], columns=list("abcdefgh"))
    found = sparcl.kmeans_sparse_cluster(X, 3, wbounds=[1.8], seed=1)
    results = ewp.fit(X, 3, lam=60.0, random_state=0)
    agreement = results.compare_to(found, names=("EWP", "sparcl"))
    weights = found[0].weights / found[0].weights.sum()
    np.testing.assert_allclose(agreement.weights["other"], weights)
    assert agreement.ari == results.compare_to(found[0].labels).ari
