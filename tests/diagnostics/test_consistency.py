"""Estimates that settle are seen to settle, and others are not."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

import ewp
from ewp.datasets import make_simulation2
from ewp.diagnostics import consistency as module
from ewp.metrics import centroid_order
from ewp.results.results import EWPResults
from tests.support.interruptions import interrupted_from

N = 3200
SIZES = [25, 50, 100, 200, 400, 800, 1600, N]
# by symmetry the relevant features have equal weights in the population
POPULATION = np.r_[np.ones(6), np.zeros(2)] / 6


@pytest.fixture(scope="module")
def simulation():
    return make_simulation2(3, n=N, p=8, n_relevant=6, random_state=1)


@pytest.fixture(scope="module")
def results(simulation):
    return ewp.fit(simulation.X, 3, lam=0.05 * N, random_state=0)


@pytest.fixture(scope="module")
def found(results, simulation):
    reference = simulation.centers, POPULATION
    return results.consistency(SIZES, 12, reference=reference, random_state=0)


# --- the theorem -------------------------------------------------------------------------------


def test_errors_against_the_population_fall_at_the_rate_of_the_theorem(found):
    assert found.reference == "population"
    assert found.replicates["n"].max() == N
    for name in ("weights", "centroids"):
        slope = found.slopes.loc[name]
        assert slope["lower"] <= -0.5 <= slope["upper"]
    assert found.verdict == "seen"
    assert "Consistency is seen" in str(found)
    assert "which contains the theorem's -1/2" in " ".join(str(found).split())


def test_errors_against_the_full_fit_fall_too(results):
    found = results.consistency([50, 100, 200, 400, 800], n_rep=10, random_state=1)
    assert found.reference == "full fit"
    assert found.verdict == "seen"
    assert results.consistency_ is found
    assert (found.table["ari"] == 1).all()


def test_estimates_that_do_not_settle_are_reported():
    # three clusters of a round cloud may lie in any direction
    X = np.random.default_rng(0).standard_normal((800, 2))
    results = ewp.fit(X, 3, lam=5.0 * 800, random_state=0)
    found = results.consistency([50, 100, 200, 400], n_rep=8, random_state=0)
    assert found.verdict == "not seen"
    assert "CONSISTENCY IS NOT SEEN" in str(found)


def test_a_sample_of_everything_has_the_full_fits_error(results, simulation, found):
    everything = found.replicates[found.replicates["n"] == N]
    w = POPULATION
    np.testing.assert_allclose(everything["weights"], np.abs(results.weights - w).sum(), rtol=1e-6)
    theta = results.centroids.to_numpy()
    gap = theta[centroid_order(theta, simulation.centers, w)] - simulation.centers
    np.testing.assert_allclose(everything["centroids"], np.sqrt((gap**2 @ w).mean()), rtol=1e-6)
    np.testing.assert_allclose(everything["objective_per_row"], results.objective / N)
    assert (everything["ari"] == 1).all()


def test_the_order_of_the_references_clusters_does_not_matter(results, simulation):
    w = np.full(8, 1 / 8)
    runs = [
        results.consistency([50, 100], 2, reference=(centers, w), random_state=0).replicates
        for centers in (simulation.centers, simulation.centers[[2, 0, 1]])
    ]
    np.testing.assert_allclose(runs[0].astype(float), runs[1].astype(float), rtol=1e-12)


def test_a_fit_can_be_the_reference(results):
    found = results.consistency([100, N], 1, reference=results, random_state=0)
    assert found.replicates["centroids"].iloc[1] < 1e-9
    assert np.isnan(found.slopes.loc["centroids", "se"])
    assert found.verdict == "undecided"


def test_features_of_the_reference_are_matched_by_name(simulation):
    X = pd.DataFrame(simulation.X[:200], columns=list("abcdefgh"))
    results = ewp.fit(X, 3, lam=10.0, random_state=0)
    order = list("hgfedcba")
    other = ewp.fit(X[order], 3, lam=10.0, random_state=0)
    for reference in (other, (other.centroids, other.weights)):
        found = results.consistency([100, 200], 1, reference=reference, random_state=0)
        assert found.replicates["weights"].iloc[1] < 1e-9
        assert found.replicates["centroids"].iloc[1] < 1e-9
    with pytest.raises(ValueError, match="reference weights is labelled"):
        results.consistency(reference=(simulation.centers, other.weights.rename({"a": "z"})))


def test_subsamples_have_as_many_different_rows_as_clusters():
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], [60, 2, 2], axis=0)
    results = ewp.fit(X, 3, lam=30.0, random_state=0)
    found = results.consistency([8, 16, 32], 5, random_state=0)
    assert len(found.replicates) == 15


def test_few_rows_get_smaller_subsamples():
    X = make_simulation2(3, n=50, p=6, random_state=1).X
    found = ewp.fit(X, 3, lam=2.0, random_state=0).consistency(n_rep=2, random_state=0)
    assert found.table.index.tolist() == [8, 12, 17, 25]


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results):
    one, two = (
        results.consistency([50, 100], 3, random_state=4, n_jobs=n_jobs).replicates
        for n_jobs in (None, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_an_interruption_keeps_what_is_finished(results, monkeypatch):
    monkeypatch.setattr(module, "_replicate", interrupted_from(3, module._replicate))
    with pytest.warns(UserWarning, match="2 of 5 replicates are finished"):
        found = results.consistency([50, 100], 5, random_state=0)
    assert not found.complete
    assert found.replicates["replicate"].nunique() == 2
    assert "INTERRUPTED" in str(found)
    with pytest.raises(KeyboardInterrupt):  # with nothing finished
        results.consistency([50, 100], 5, random_state=0)


def test_results_survive_a_file(found, results, tmp_path):
    results.consistency_ = found
    results.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    assert str(loaded.consistency_) == str(found)
    assert loaded.consistency_.verdict == found.verdict
    np.testing.assert_array_equal(loaded.consistency_.along_s, found.along_s)
    with pytest.raises(ValueError, match="pass them as X"):
        loaded.consistency()


def test_requests_that_make_no_sense_are_refused(results):
    with pytest.raises(ValueError, match="less than the 3200 of the full fit"):
        results.consistency([800, N])
    with pytest.raises(ValueError, match="two or more numbers"):
        results.consistency([800])
    with pytest.raises(ValueError, match="such as"):
        results.consistency(800)
    with pytest.raises(ValueError, match="the reference is a int"):
        results.consistency(reference=3)
    with pytest.raises(ValueError, match="weights must be finite and not negative"):
        results.consistency(reference=(results.centroids, -results.weights))
    with pytest.raises(ValueError, match=r"centroids of shape \(2, 8\)"):
        results.consistency(reference=(np.zeros((2, 8)), np.ones(8)))
    X = make_simulation2(3, n=30, p=6, random_state=1).X
    with pytest.raises(ValueError, match="too few for subsamples of three sizes"):
        ewp.fit(X, 3, lam=2.0).consistency()


def test_pictures_show_means_slopes_and_the_annealing(found):
    ax = found.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(f"slope {found.slopes.loc['weights', 'slope']:.2f}" in text for text in labels)
    assert "slope $-1/2$" in labels
    assert len(ax.figure.axes) == 2
    below = found.plot_along_s()
    gap = found.along_s["gap"][np.isfinite(found.along_s["s"])]
    drawn = {line.get_label(): line.get_ydata() for line in below.lines}
    name = r"$f_s - f_{-\infty}$ (relative to its largest)"
    np.testing.assert_allclose(drawn[name], gap / found.along_s["gap"].max())
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    plt.close("all")


def test_a_single_annealing_step_is_no_path_to_speak_of():
    iris = load_iris(as_frame=True).data
    results = ewp.fit(iris, 3, 50.0, scale="standard", random_state=0)
    found = results.consistency(n_rep=2, random_state=0)
    assert np.isfinite(found.along_s["s"]).sum() == 1
    assert "Along s" not in str(found)
