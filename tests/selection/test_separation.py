"""Whether clusters are separated, and numbers of clusters that are not."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import ewp
from ewp.data.splits import Fold
from ewp.display.evidence import SEPARATED, Evidence, Separation
from ewp.selection.base import Score
from ewp.selection.criteria import HeldOut
from ewp.selection.number import competing_numbers
from ewp.selection.separation import least_separated


def folds(rows, count=5, copies=None, seed=0):
    side = np.random.default_rng(seed).permutation(len(rows)) % count
    parts = [Fold(np.flatnonzero(side != i), np.flatnonzero(side == i)) for i in range(count)]
    return [HeldOut(fold, rows, copies) for fold in parts]


def judged(rows, partitions, copies=None):
    replicates = folds(rows, len(partitions), copies)
    return least_separated(replicates, [Score(0.0, 1.0, labels=one) for one in partitions])


def two_clusters(distance, n=4000, seed=0):
    labels = np.arange(n) % 2
    rows = np.random.default_rng(seed).standard_normal((n, 2))
    rows[:, 0] += distance * labels
    return rows, labels


@pytest.mark.parametrize("distance", [2.65, 4.0, 6.0])
def test_two_normal_clusters_gain_what_the_integral_says(distance):
    def density(x):
        return 0.5 * (norm.pdf(x) + norm.pdf(x - distance))

    entropy = quad(lambda x: -density(x) * np.log(density(x)), -9.0, distance + 9.0, limit=200)[0]
    variance = 1.0 + distance**2 / 4
    expected = 0.5 * np.log(2 * np.pi * np.e * variance) - entropy
    rows, labels = two_clusters(distance)
    found = judged(rows, [labels] * 5)
    assert found.gain == pytest.approx(expected, abs=max(3 * found.error, 0.02))
    if distance == 2.65:
        assert expected == pytest.approx(SEPARATED, rel=0.02)
        assert density(distance / 2) / density(0.0) == pytest.approx(0.81, abs=0.005)


def test_the_threshold_is_half_of_what_halves_of_a_box_gain():
    assert pytest.approx(Evidence(0.0, 0.0, 2).of_box / 2) == SEPARATED
    assert not Separation(0.03, 0.0).clear
    assert Separation(0.04, 1.0).clear


@pytest.mark.parametrize("tails", ["normal", "t"])
def test_halves_of_a_cluster_are_not_separated(tails):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((300, 3)) if tails == "normal" else rng.standard_t(3, (300, 3))
    rows[200:] += 9.0
    labels = np.where(rows[:, 0] > 5.0, 2, 1 * (rows[:, 0] > 0.0))
    found = judged(rows, [labels] * 5)
    assert not found.clear
    assert judged(rows, [np.minimum(labels, 1)] * 5).gain < SEPARATED
    assert judged(rows, [1 * (labels == 2)] * 5).clear


def test_replicates_that_halve_different_clusters_do_not_hide_it():
    rng = np.random.default_rng(2)
    labels = np.arange(300) % 3
    rows = rng.standard_normal((300, 3)) + 8.0 * np.eye(3)[labels]
    assert judged(rows, [labels] * 5).clear
    # every replicate cuts another cluster
    cut = [
        np.where((labels == i % 3) & (rows[:, 1] > rows[:, 1][labels == i % 3].mean()), 3, labels)
        for i in range(5)
    ]
    assert not judged(rows, cut).clear


def test_numbers_of_clusters_and_units_do_not_matter():
    rng = np.random.default_rng(3)
    labels = np.arange(240) % 4
    rows = rng.standard_normal((240, 3)) + 4.0 * rng.standard_normal((4, 3))[labels]
    found = judged(rows, [labels] * 5)
    renamed = [rng.permutation(4)[labels] for _ in range(5)]
    assert judged(rows, renamed) == pytest.approx(found)
    assert judged(rows * [1.0, 1e3, 1e-3] + 7.0, [labels] * 5) == pytest.approx(found)


def test_a_row_of_weight_two_is_two_rows():
    rows, labels = two_clusters(4.0, n=120)
    replicates = folds(rows)
    copies = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
    again = np.repeat(np.arange(120), copies.astype(int))
    repeated = [
        HeldOut(
            Fold(*(np.flatnonzero(np.isin(again, part)) for part in one.fold)), rows[again], None
        )
        for one in replicates
    ]
    weighted = [one._replace(copies=copies) for one in replicates]
    one = least_separated(weighted, [Score(0.0, 1.0, labels=labels)] * 5)
    two = least_separated(repeated, [Score(0.0, 1.0, labels=labels[again])] * 5)
    assert one.gain == pytest.approx(two.gain, rel=1e-6)


def test_one_cluster_that_holds_all_training_rows_separates_nothing():
    rows, _ = two_clusters(6.0, n=40)
    alone = np.where(np.arange(40) == 39, 1, 0)
    fold = HeldOut(Fold(np.arange(30), np.arange(30, 40)), rows, None)
    found = least_separated([fold], [Score(0.0, 1.0, labels=alone)])
    assert found == (0.0, 0.0)


@pytest.fixture(scope="module")
def chosen():
    """Three ellipsoids whose axes point elsewhere: more of a common shape describe them better."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 60)
    rows = rng.standard_normal((180, 3)) * [[3.0, 0.4, 0.4]]
    rows = np.array([np.roll(row, shift) for row, shift in zip(rows, labels, strict=True)])
    centres = np.array([[0.0, 0.0, 0.0], [0.0, 8.0, 8.0], [9.0, 9.0, 0.0]])
    return ewp.select_k(rows + centres[labels], range(1, 7), n_lams=2, random_state=0)


def test_clusters_of_different_shapes_are_counted_once(chosen):
    table = chosen.table.set_index("k")
    assert chosen.k == 3
    # the density alone asks for more
    assert table["mean"].idxmax() > 3
    assert table.loc[3, "lead"] == 0.0
    assert np.isnan(table.loc[1, "separation"])
    assert (table.loc[[2, 3], "separation"] > SEPARATED).all()
    assert table.loc[table["mean"].idxmax(), "separation"] < SEPARATED
    text = " ".join(str(chosen.summary()).split())
    assert "separation: log-density that held-out rows of two clusters gain" in text
    lines = chosen.plot().lines
    (hollow,) = [line for line in lines if line.get_label() == "clusters not separated"]
    drawn = table.index[table["separation"] <= SEPARATED].tolist()
    assert hollow.get_xdata().tolist() == drawn
    # above the filled points of the curve
    assert all(hollow.get_zorder() > line.get_zorder() for line in lines if line is not hollow)


def outcome(gain, separation):
    """What `competing_numbers` looks at."""
    found = None if separation is None else Separation(separation, 0.01)
    evidence = None if gain is None else Evidence(gain, 0.01, 2)
    return SimpleNamespace(nested=[0], evidence=evidence, separation=found)


def test_which_numbers_compete():
    one = outcome(None, None)
    # another number's evidence is enough
    several = {1: one, 2: outcome(0.08, 0.05), 3: outcome(0.5, -0.1), 4: outcome(0.5, 0.2)}
    assert competing_numbers(several) == ([1, 2, 4], "")
    none = {1: one, 2: outcome(0.08, 0.05), 3: outcome(0.07, 0.2)}
    assert competing_numbers(none)[0] == [1]
    assert "no evidence for more than one cluster" in competing_numbers(none)[1]
    curved = {1: one, 2: outcome(0.5, 0.01), 3: outcome(0.5, 0.02)}
    alone, words = competing_numbers(curved)
    assert alone == [1]
    assert words == "at any other number there are clusters that are not separated"
    curved.pop(1)
    assert competing_numbers(curved)[0] == [3]
    assert "at no number all clusters are separated" in competing_numbers(curved)[1]
    other_criterion = {k: outcome(None, None) for k in (1, 2, 3)}
    assert competing_numbers(other_criterion) == ([1, 2, 3], "")
