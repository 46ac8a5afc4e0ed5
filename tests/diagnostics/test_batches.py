"""Resamples that are fitted in common passes: neither batches nor processes show in what is found.

Runs of one batch share matrix products, whose last digits may depend on how many there are:
estimates from batches of other sizes agree to last digits, partitions exactly. Processes do the
same batches and agree to the last bit.
"""

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.diagnostics import refit as refitting
from ewp.diagnostics import resampling as bootstrap_module
from ewp.diagnostics import stability as stability_module
from ewp.diagnostics.refit import Resample, fitted_data, in_batches, partitions
from ewp.diagnostics.resampling import distinct_solutions, fit_from_scratch, refit
from tests.support.interruptions import interrupted_from

DRAWS = ["weight_draws", "centroid_shifts", "weight_jackknife", "centroid_jackknife"]


@pytest.fixture(scope="module", params=[3, 9])
def results(request):
    """With few clusters polishes share their passes, with many partitions are searched."""
    X = make_simulation2(request.param, n=150, p=5, n_relevant=3, random_state=1).X
    return ewp.fit(X, request.param, lam=8.0, random_state=0, n_init=3)


def bootstrap(results, **options):
    return results.bootstrap(11, n_jackknife=4, random_state=0, **options)


def stability(results, **options):
    return results.stability(11, random_state=0, **options)


def assert_same_draws(found, wanted, atol=1e-9):
    for name in DRAWS:
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=atol)


@pytest.mark.parametrize("size", [1, 4])
def test_the_size_of_a_batch_changes_last_digits_only(results, monkeypatch, size):
    wanted, stable = bootstrap(results), stability(results)
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", size)
    assert_same_draws(bootstrap(results), wanted)
    np.testing.assert_array_equal(stability(results).draws, stable.draws)
    np.testing.assert_array_equal(stability(results).jaccard, stable.jaccard)


def test_a_batch_that_hardly_fits_into_memory_is_one_resample(results, monkeypatch):
    wanted = bootstrap(results)
    monkeypatch.setattr(refitting, "_BATCH_ENTRIES", 1)
    source = fitted_data(results)
    resamples = [Resample(np.arange(3), np.ones(3), seed) for seed in range(4)]
    assert [len(batch) for batch in in_batches(source, resamples)] == [1] * 4
    assert_same_draws(bootstrap(results), wanted)


def test_batches_are_cut_by_entries_and_keep_the_order(results, monkeypatch):
    source = fitted_data(results)
    k, p = source.centroids.shape
    resamples = [Resample(np.arange(3), np.ones(3), seed) for seed in range(11)]
    for entries, size in ((4, 4), (200, 100)):
        monkeypatch.setattr(refitting, "_BATCH_ENTRIES", entries * (150 + 8 * k * p))
        batches = list(in_batches(source, iter(resamples)))
        assert len(batches[0]) == min(size, 11)
        assert [one.seed for batch in batches for one in batch] == list(range(11))


def test_processes_change_no_digit(results, monkeypatch):
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 4)
    assert_same_draws(bootstrap(results, n_jobs=2), bootstrap(results), atol=0.0)
    one, two = stability(results), stability(results, n_jobs=2)
    np.testing.assert_array_equal(two.draws, one.draws)
    np.testing.assert_array_equal(two.jaccard, one.jaccard)


def test_a_resample_does_not_depend_on_those_beside_it(results):
    source = fitted_data(results)
    rng = np.random.default_rng(0)
    resamples = []
    for seed in range(5):
        rows, counts = np.unique(rng.choice(150, 150), return_counts=True)
        resamples.append(Resample(rows, counts.astype(float), seed))
    begin = distinct_solutions(source, fit_from_scratch(source, resamples))
    together = refit(source, begin, resamples) + fit_from_scratch(source, resamples)
    alone = [refit(source, begin, [one])[0] for one in resamples]
    alone += [fit_from_scratch(source, [one])[0] for one in resamples]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.centroids, other.centroids, rtol=0, atol=1e-9)
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-9)
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
    options = source.options.lighter()
    np.testing.assert_array_equal(
        partitions(source, resamples, options),
        np.concatenate([partitions(source, [one], options) for one in resamples]),
    )


@pytest.mark.parametrize("batch", [2, 3])
def test_an_interrupted_bootstrap_keeps_whole_batches(results, monkeypatch, batch):
    whole = bootstrap(results)
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", batch)
    monkeypatch.setattr(bootstrap_module, "refit", interrupted_from(4, bootstrap_module.refit))
    with pytest.warns(UserWarning, match=f"{3 * batch} of 15 resamples are finished"):
        found = bootstrap(results)
    assert (found.n_boot, found.complete) == (3 * batch, False)
    np.testing.assert_allclose(found.weight_draws, whole.weight_draws[: 3 * batch], atol=1e-9)


def test_an_interruption_of_the_fits_from_scratch_keeps_those(results, monkeypatch):
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 2)
    scratch = interrupted_from(3, bootstrap_module.fit_from_scratch)
    monkeypatch.setattr(bootstrap_module, "fit_from_scratch", scratch)
    with pytest.warns(UserWarning, match="4 of 11 resamples are finished"):
        found = bootstrap(results)
    assert (found.n_boot, found.complete) == (4, False)
    assert found.similarity.shape == (4, results.n_clusters)


def test_an_interrupted_stability_keeps_whole_batches(results, monkeypatch):
    whole = stability(results)
    monkeypatch.setattr(refitting, "_LARGEST_BATCH", 4)
    interrupted = interrupted_from(3, stability_module.partitions)
    monkeypatch.setattr(stability_module, "partitions", interrupted)
    with pytest.warns(UserWarning, match="8 of 11 resamples are finished"):
        found = stability(results)
    assert (found.n_boot, found.complete) == (8, False)
    np.testing.assert_array_equal(found.draws, whole.draws[:8])


def test_nothing_finished_is_nothing_to_keep(results, monkeypatch):
    for name in ("fit_from_scratch", "refit"):
        plain = getattr(bootstrap_module, name)
        monkeypatch.setattr(bootstrap_module, name, interrupted_from(1, plain))
        with pytest.raises(KeyboardInterrupt):
            bootstrap(results)
        monkeypatch.setattr(bootstrap_module, name, plain)
