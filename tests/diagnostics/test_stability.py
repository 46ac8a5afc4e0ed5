"""Which clusters survive resampling, by the definition that R's fpc implements."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

import ewp
from ewp.datasets import make_simulation2
from ewp.diagnostics import refit as refitting
from ewp.diagnostics import stability as module
from ewp.diagnostics.stability import StabilityResults
from ewp.metrics import jaccard
from ewp.results.results import EWPResults
from tests.support.interruptions import interrupted_from
from validation import recordings


@pytest.fixture(scope="module")
def data():
    X = make_simulation2(3, n=90, p=5, n_relevant=3, random_state=1).X
    return pd.DataFrame(X, index=[f"r{i}" for i in range(90)], columns=list("abcde"))


@pytest.fixture(scope="module")
def results(data):
    return ewp.fit(data, 3, lam=4.5, random_state=0)


@pytest.fixture(scope="module")
def found(results):
    return results.stability(12, random_state=0)


# --- fpc ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["boot", "subset"])
def test_similarities_are_those_of_fpc(scheme):
    """Every resample that fpc 2.2-10 drew and clustered (by k-means) was recorded by fpc.R."""
    recorded = recordings.fpc()[scheme]
    original = np.array(recorded["partition"], dtype=int)
    k = original.max() + 1
    similarity = []
    for resample in recorded["resamples"]:
        rows, partition = (np.array(resample[name], dtype=int) for name in ("rows", "partition"))
        similarity.append(jaccard(original[rows], partition, k))
    np.testing.assert_allclose(similarity, recorded["jaccard"], rtol=1e-15)
    nothing = np.zeros((12, len(original)), dtype=int)
    labels = pd.Series(original)
    found = StabilityResults(
        np.array(similarity), labels, nothing, np.full(len(labels), np.nan), "bootstrap", True
    )
    np.testing.assert_allclose(found.clusters["jaccard"], recorded["mean"], rtol=1e-14)
    np.testing.assert_array_equal(found.clusters["dissolved"], recorded["dissolved"])
    np.testing.assert_array_equal(found.clusters["recovered"], recorded["recovered"])


# --- a fit -------------------------------------------------------------------------------------


def test_clear_clusters_are_stable(found, results):
    clusters = found.clusters
    assert (clusters["jaccard"] == 1).all()
    assert (clusters["recovered"] == 12).all()
    np.testing.assert_array_equal(clusters["size"], results.clusters["size"])
    assert (found.points["stays"] == 1).all()
    assert (found.points["together"] == 1).all()
    assert (found.points["next"] == -1).all()
    assert list(found.points.index[:2]) == ["r0", "r1"]
    assert "All clusters are stable" in str(found)
    assert results.stability_ is found


@pytest.fixture(scope="module")
def shaky():
    X = np.random.default_rng(1).normal(size=(60, 3))
    results = ewp.fit(X, 4, lam=600.0, random_state=0)
    return results.stability(15, scheme="subset", share=0.6, random_state=0)


def test_clusters_that_are_not_there_are_not_stable(shaky):
    assert (shaky.clusters["jaccard"] < 0.75).all()
    assert shaky.points["stays"].mean() < 0.9
    assert shaky.points["next"].max() >= 0


def test_points_and_pairs_are_what_the_draws_say(shaky):
    own = shaky.labels.to_numpy()
    pairs = shaky.co_membership()
    together = np.mean([drawn[:, None] == drawn for drawn in shaky.draws], axis=0)
    np.testing.assert_allclose(pairs, together)
    np.testing.assert_array_equal(np.diag(pairs), 1.0)
    np.testing.assert_allclose(shaky.points["stays"], (shaky.draws == own).mean(axis=0))
    for i in (0, 17, 42):
        mates = np.flatnonzero((own == own[i]) & (np.arange(60) != i))
        assert shaky.points["together"].iloc[i] == pytest.approx(together[i, mates].mean())
    np.testing.assert_allclose(shaky.co_membership([3, 5]), together[np.ix_([3, 5], [3, 5])])


@pytest.mark.parametrize("rows", [["a"], [60], 3, [0.5]])
def test_rows_that_are_not_there_are_refused(shaky, rows):
    with pytest.raises(ValueError, match="rows="):
        shaky.co_membership(rows)


def test_rows_may_be_chosen_by_a_mask(shaky):
    mask = shaky.labels.to_numpy() == 0
    assert shaky.co_membership(mask).shape == (mask.sum(), mask.sum())


def test_too_many_pairs_are_refused(shaky):
    with pytest.raises(ValueError, match="choose at most 5000 rows"):
        shaky.co_membership(np.zeros(5001, dtype=int))


def test_rows_with_copies_and_weights_can_be_resampled(data):
    X = np.repeat(np.round(data.to_numpy()[:30, :3], 1), 3, axis=0)
    weight = np.random.default_rng(0).uniform(0, 2, 90)
    weight[:5] = 0
    results = ewp.fit(X, 3, lam=4.0, sample_weight=weight, random_state=0)
    assert np.isfinite(results.stability(4, random_state=0).jaccard).all()


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results):
    one, two = (results.stability(4, random_state=4, n_jobs=n_jobs) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.jaccard, two.jaccard)
    np.testing.assert_array_equal(one.draws, two.draws)


def test_an_interruption_keeps_what_is_finished(results, monkeypatch):
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 1)
    monkeypatch.setattr(module, "_replicates", interrupted_from(4, module._replicates))
    with pytest.warns(UserWarning, match="3 of 9 resamples are finished"):
        found = results.stability(9, random_state=0)
    assert (found.n_boot, found.complete) == (3, False)
    assert "INTERRUPTED" in str(found)


def test_results_survive_a_file(shaky, data, tmp_path):
    results = ewp.fit(data, 3, lam=4.5, random_state=0)
    found = results.stability(4, random_state=0)
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.stability_.points, found.points)
    assert str(loaded.stability_) == str(found)
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.stability()


@pytest.mark.parametrize("k", [3, 100])
def test_the_picture_has_a_mean_for_every_cluster(k):
    rng = np.random.default_rng(0)
    similarity = rng.uniform(size=(10, k))
    labels = pd.Series(rng.integers(k, size=500))
    draws = rng.integers(k, size=(10, 500))
    found = StabilityResults(similarity, labels, draws, np.zeros(500), "subset", True)
    ax = found.plot()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), similarity.mean(axis=0))
    ax.figure.canvas.draw()
    assert len(str(found).splitlines()) < 45
    plt.close("all")
