"""Rates at which errors fall with the rows, and distances along the annealing."""

from __future__ import annotations

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.diagnostics.convergence import _judge, along_s, convergence_rate, effective_size
from ewp.engine.array import ArrayEngine

# --- slopes ------------------------------------------------------------------------------------


def test_a_power_law_is_recovered_on_the_scale_of_effective_sizes():
    sizes = [100, 200, 400, 800]
    for population in (True, False):
        errors = 3.0 * effective_size(sizes, 1000, population) ** -0.5
        slope, lower, upper, _ = convergence_rate(
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
    slope, lower, upper, _ = convergence_rate(sizes, errors, 10_000, population=False, level=0.95)
    assert _judge(slope, lower, upper) == "not seen"


def test_no_error_at_all_is_exact():
    slope, *rest = convergence_rate([10, 20], np.zeros((3, 2)), 50, population=True, level=0.95)
    assert slope == -np.inf
    assert np.isnan(rest).all()
    assert _judge(slope, *rest[:2]) == "exact"


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
        _, lower, upper, _ = convergence_rate(
            sizes, np.array(errors), n, population=population, level=0.95
        )
        covered.append(lower <= -0.5 <= upper)
    assert 0.9 <= np.mean(covered) <= 0.99


# --- along s -----------------------------------------------------------------------------------


N = 3200


@pytest.fixture(scope="module")
def simulation():
    return make_simulation2(3, n=N, p=8, n_relevant=6, random_state=1)


@pytest.fixture(scope="module")
def results(simulation):
    return ewp.fit(simulation.X, 3, lam=0.05 * N, random_state=0)


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
    step_function = ArrayEngine.step_function

    def recording(self):
        statistics = step_function(self)

        def record(theta, weights, s, mass=None):
            seen.append((theta.copy(), weights.copy()))
            return statistics(theta, weights, s, mass)

        return record

    monkeypatch.setattr(ArrayEngine, "step_function", recording)
    results = ewp.fit(simulation.X, 3, lam=0.05 * N, random_state=0, n_init=1, polish=False)
    path = along_s(results)
    seen = seen[: len(path)]  # what follows the iterations sorts the clusters
    theta, weights = seen[-1]
    precision = 1 / results.spread**2 / 8
    for (at, w), bound_w, bound in zip(seen, path["weights"], path["centroids"], strict=True):
        assert np.abs(w - weights).sum() <= bound_w + 1e-9
        assert np.sqrt((((at - theta) ** 2) @ precision).sum()) <= bound + 1e-9
