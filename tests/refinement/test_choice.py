"""Which mixture and start are taken, and when a partition stays as it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from ewp.refinement.choice import choose_mixture, paired_gain, possible_models
from ewp.refinement.scatter import COVARIANCES

TAILS = (np.inf, 5.0)


def chosen(rows, starts, k, **options):
    n, p = rows.shape
    models = possible_models(n, p, k, COVARIANCES, TAILS)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return choose_mixture(rows, np.ones(n), np.zeros(p), starts, models, k, **options), rows


def test_a_gain_is_a_mean_with_its_standard_error():
    rng = np.random.default_rng(0)
    one, two, copies = rng.normal(size=30), rng.normal(size=30), rng.integers(1, 4, 30)
    repeated = np.repeat(one - two, copies)
    gain = paired_gain(one, two, copies.astype(float))
    assert gain.mean == pytest.approx(repeated.mean())
    assert gain.se == pytest.approx(stats.sem(repeated))
    assert paired_gain(one + 5, two, np.ones(30)).clear
    assert not paired_gain(one, one, np.ones(30)).clear


def test_matrices_need_more_rows_than_features():
    def kinds(n, p, k):
        return [model.covariance for model in possible_models(n, p, k, COVARIANCES, (5.0,))]

    assert kinds(100, 10, 3) == list(COVARIANCES)
    assert kinds(100, 40, 3) == ["spherical", "diagonal", "tied"]
    assert kinds(100, 150, 3) == ["spherical", "diagonal"]
    assert kinds(10_000, 150, 3) == ["spherical", "diagonal"]


def strips(seed=0, n=150):
    """Two long parallel clusters, and the partition across them that k-means makes."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    rows = np.c_[rng.normal(0, 6, n), rng.normal(0, 0.5, n) + 4 * truth]
    return rows, truth, (rows[:, 0] > 0).astype(int)


def test_another_partition_takes_over_where_it_predicts_clearly_better():
    rows, truth, across = strips()
    first, _ = chosen(rows, {"EWP": across, "other": truth}, 2)
    assert first.gain.clear
    assert first.chosen.iterated
    alone, place = chosen(rows, {"EWP": truth, "other": across}, 2)
    assert alone.chosen.start == "EWP"
    assert (alone.chosen.mixture.joint(place).argmax(axis=0) == truth).mean() > 0.99


def test_what_ends_in_the_same_optimum_is_scored_once():
    rows, truth, _ = strips()
    alone, _ = chosen(rows, {"EWP": truth}, 2)
    twice, _ = chosen(rows, {"EWP": truth, "same": 1 - truth}, 2)
    assert len(twice.candidates) == len(alone.candidates)
    assert twice.gain == alone.gain


def test_a_partition_is_kept_where_every_refined_one_would_lose_a_cluster():
    """Rows of one place: EM would put all of them into one cluster."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 2))
    labels = np.zeros(40, dtype=int)
    labels[:2] = 1
    choice, place = chosen(rows, {"EWP": labels}, 2)
    found = choice.chosen.mixture.joint(place).argmax(axis=0)
    assert len(np.unique(found)) == 2 or not choice.chosen.iterated


@pytest.mark.parametrize("proportions", ["free", "equal"])
def test_proportions_are_as_asked_for(proportions):
    rows, truth, _ = strips()
    choice, _ = chosen(rows, {"EWP": truth}, 2, proportions=proportions)
    assert {one.model.equal for one in choice.candidates} == {proportions == "equal"}


def test_equal_proportions_are_not_taken_where_clusters_differ_in_size():
    rng = np.random.default_rng(5)
    labels = (np.arange(300) < 20).astype(int)
    rows = rng.normal(size=(300, 2)) + 3.0 * labels[:, None]
    choice, _ = chosen(rows, {"EWP": labels}, 2)
    assert not choice.chosen.model.equal
    assert np.exp(choice.chosen.mixture.log_share).min() < 0.15


def test_held_out_scores_do_not_depend_on_the_order_of_rows():
    rows, truth, _ = strips(1)
    order = np.random.default_rng(0).permutation(len(rows))
    one, _ = chosen(rows, {"EWP": truth}, 2)
    two, _ = chosen(rows[order], {"EWP": truth[order]}, 2)
    assert one.chosen.model == two.chosen.model
    np.testing.assert_allclose(one.chosen.score[order], two.chosen.score, rtol=1e-7)
