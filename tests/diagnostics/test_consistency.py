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
from ewp import consistency as module
from ewp.datasets import make_simulation2
from ewp.engine import ArrayEngine
from ewp.matching import centroid_order, match_labels
from ewp.rates import along_s, effective_size, rate
from ewp.results import EWPResults

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
    assert "-1/2 is inside" in " ".join(str(found).split())


def test_errors_against_the_full_fit_fall_too(results):
    found = results.consistency([50, 100, 200, 400, 800], n_rep=10, random_state=1)
    assert found.reference == "full fit"
    assert found.verdict == "seen"
    assert results.consistency_ is found
    assert (found.table["ari"] == 1).all()


def test_two_clusters_too_many_are_reported():
    X = make_simulation2(2, n=800, p=4, n_relevant=2, random_state=0).X
    results = ewp.fit(X, 4, lam=0.05 * 800, random_state=0)
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


# --- slopes ------------------------------------------------------------------------------------


def test_a_power_law_is_recovered_on_the_scale_of_effective_sizes():
    sizes = [100, 200, 400, 800]
    for population in (True, False):
        errors = 3.0 * effective_size(sizes, 1000, population) ** -0.5
        slope, lower, upper, _ = rate(
            sizes, np.tile(errors, (4, 1)), 1000, population=population, level=0.95
        )
        np.testing.assert_allclose([slope, lower, upper], -0.5, atol=1e-12)


def test_half_of_the_rows_differ_from_all_as_a_sample_of_all_from_the_population():
    assert effective_size([500], 1000, False)[0] == pytest.approx(1000)
    assert effective_size([500], 1000, True)[0] == 500


def test_replicates_that_hit_upon_the_full_fit_do_not_hide_the_others():
    """Errors that do not fall, but for a quarter of the fits, which have nearly none by chance."""
    rng = np.random.default_rng(0)
    sizes = [100, 200, 400, 800]
    errors = np.where(rng.random((10, 4)) < 0.25, 1e-4, rng.uniform(0.9, 1.1, (10, 4)))
    slope, lower, upper, _ = rate(sizes, errors, 10_000, population=False, level=0.95)
    assert module._judge(slope, lower, upper) == "not seen"


def test_no_error_at_all_is_exact():
    slope, *rest = rate([10, 20], np.zeros((3, 2)), 50, population=True, level=0.95)
    assert slope == -np.inf
    assert np.isnan(rest).all()
    assert module._judge(slope, *rest[:2]) == "exact"


@pytest.mark.parametrize("population", [True, False])
def test_intervals_of_slopes_cover_although_replicates_share_rows(population):
    """Means of five columns, whose error falls like n^(-1/2), over nested subsamples."""
    rng = np.random.default_rng(0)
    n, sizes = 512, [16, 32, 64, 128, 256, 512] if population else [16, 32, 64, 128, 256]
    covered = []
    for _ in range(150):
        X = rng.standard_normal((n, 5))
        target = np.zeros(5) if population else X.mean(axis=0)
        errors = []
        for _ in range(10):
            order = rng.permutation(n)
            errors.append([np.linalg.norm(X[order[:m]].mean(axis=0) - target) for m in sizes])
        _, lower, upper, _ = rate(sizes, np.array(errors), n, population=population, level=0.95)
        covered.append(lower <= -0.5 <= upper)
    assert 0.9 <= np.mean(covered) <= 0.99


# --- along s -----------------------------------------------------------------------------------


def test_the_gap_stays_below_its_uniform_bound_and_ends_at_zero(results):
    path = along_s(results)
    assert (path["gap"] >= -1e-9).all()
    assert (path["gap"] <= path["gap_bound"] + 1e-9).all()
    for name in ("gap", "excess", "effective_features", "weights", "centroids"):
        assert abs(path[name].iloc[-1]) < 1e-9
    for name in ("excess", "weights", "centroids"):
        assert (np.diff(path[name]) <= 1e-9).all()


@pytest.mark.parametrize("form", [{"prior": [2.0, 2, 2, 2, 2, 2, 0, 2]}, {"dispersion": "between"}])
def test_the_bound_knows_the_penalty_or_is_missing(simulation, form):
    path = along_s(ewp.fit(simulation.X, 3, lam=0.05 * N, random_state=0, **form))
    if "prior" in form:
        assert (path["gap"] <= path["gap_bound"] + 1e-9).all()
        assert path["gap_bound"].iloc[0] < 10 * path["gap"].iloc[0]
    else:
        assert path["gap_bound"].isna().all()


def test_what_is_still_to_go_bounds_the_distance_from_the_limit(simulation, monkeypatch):
    seen = []
    statistics = ArrayEngine.statistics

    def record(self, theta, weights, s):
        seen.append((theta.copy(), weights.copy()))
        return statistics(self, theta, weights, s)

    monkeypatch.setattr(ArrayEngine, "statistics", record)
    results = ewp.fit(simulation.X, 3, lam=0.05 * N, random_state=0, polish=False)
    path = along_s(results)
    seen = seen[: len(path)]  # what follows the iterations sorts the clusters
    theta, weights = seen[-1]
    precision = 1 / results.spread**2 / 8
    for (at, w), bound_w, bound in zip(seen, path["weights"], path["centroids"], strict=True):
        assert np.abs(w - weights).sum() <= bound_w + 1e-9
        assert np.sqrt((((at - theta) ** 2) @ precision).sum()) <= bound + 1e-9


# --- matching ----------------------------------------------------------------------------------


def test_centroids_are_matched_one_to_one():
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(7, 3))
    order = rng.permutation(7)
    found = centroid_order(reference[order] + 1e-6, reference, np.ones(3))
    np.testing.assert_array_equal(order[found], np.arange(7))


def test_labels_are_renumbered_to_agree():
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=100)
    renamed = np.array([3, 1, 4, 0, 2])[labels]
    np.testing.assert_array_equal(match_labels(renamed, labels, 5)[renamed], labels)


# --- running -----------------------------------------------------------------------------------


def test_the_outcome_does_not_depend_on_the_number_of_processes(results):
    one, two = (
        results.consistency([50, 100], 3, random_state=4, n_jobs=n_jobs).replicates
        for n_jobs in (None, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_an_interruption_keeps_what_is_finished(results, monkeypatch):
    replicate, calls = module._replicate, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return replicate(*arguments)

    monkeypatch.setattr(module, "_replicate", interrupted)
    with pytest.warns(UserWarning, match="2 of 5 replicates are finished"):
        found = results.consistency([50, 100], 5, random_state=0)
    assert not found.complete
    assert found.replicates["replicate"].nunique() == 2
    assert "INTERRUPTED" in str(found)
    calls[:] = [1, 1]  # the first replicate of the next run is interrupted
    with pytest.raises(KeyboardInterrupt):
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
