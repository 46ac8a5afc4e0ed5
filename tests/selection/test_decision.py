"""What must not change the choice: labels, units, order of rows, weights for copies, processes."""

import inspect

import numpy as np
import pandas as pd
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.selection import search as candidates_module
from ewp.selection.decision import select_candidate
from ewp.selection.options import CRITERIA


@pytest.fixture(scope="module")
def data():
    return make_simulation2(4, n=200, p=10, random_state=0)


class Untouchable:
    """Labels that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the labels were asked for {name}")


def test_no_label_reaches_the_selection(data):
    X, _, _ = data
    model = ewp.EWP(4, scale=None, dispersion="within", random_state=0)
    blind = model.fit(X, Untouchable()).results_
    again = model.fit(X).results_
    assert blind.lam == again.lam
    np.testing.assert_array_equal(blind.labels, again.labels)


def test_the_selections_have_no_place_for_labels(data):
    X, labels, _ = data
    stages = [
        ewp.lambda_path,
        select_candidate,
        candidates_module.make_candidates,
        candidates_module.score_candidates,
    ]
    stages += [made.score for made in CRITERIA.values()]
    stages += [made.replicates for made in CRITERIA.values()]
    for stage in stages:
        assert not {"y", "labels", "truth", "target"} & set(inspect.signature(stage).parameters)
    for select, k in ((ewp.select_lambda, 4), (ewp.select_k, [4])):
        with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
            select(X, k, y=labels)


def test_a_number_costs_no_selection(data, monkeypatch):
    X, _, _ = data

    def forbidden(*args, **kwargs):
        raise AssertionError("a selection was started")

    monkeypatch.setattr("ewp.selection.decision.score_candidates", forbidden)
    assert ewp.fit(X, 4, 10.0, random_state=0).lam == 10.0


def test_offsets_and_units_do_not_change_the_choice():
    X, _, _ = make_simulation2(3, n=90, p=6, random_state=0)
    options = {"scale": "standard", "n_lams": 3, "random_state": 0}
    plain = ewp.select_lambda(X, 3, **options)
    moved = ewp.select_lambda((X + 1e6) * 10.0 ** np.linspace(-8, 8, 6), 3, **options)
    np.testing.assert_allclose(moved.table["mean"], plain.table["mean"], rtol=1e-5)
    np.testing.assert_array_equal(moved.results.labels, plain.results.labels)


def test_processes_do_not_change_the_choice(data):
    X, _, _ = data
    one, two = (
        ewp.select_lambda(X, 4, n_lams=3, scale="standard", random_state=0, n_jobs=jobs)
        for jobs in (None, 2)
    )
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    assert one.results.objective == two.results.objective


def test_rows_in_any_order_and_weights_for_copies_choose_the_same(data):
    X, _, _ = data
    options = {"n_lams": 3, "scale": "standard", "random_state": 0}
    plain = ewp.select_lambda(X, 4, **options)
    order = np.random.default_rng(1).permutation(len(X))
    shuffled = ewp.select_lambda(X[order], 4, **options)
    np.testing.assert_allclose(shuffled.table["mean"], plain.table["mean"], rtol=1e-6)
    assert shuffled.lam == pytest.approx(plain.lam)
    np.testing.assert_array_equal(shuffled.results.labels, plain.results.labels.to_numpy()[order])
    count = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = ewp.select_lambda(X, 4, sample_weight=count, **options)
    copies = ewp.select_lambda(np.repeat(X, count, axis=0), 4, **options)
    assert weighted.lam == pytest.approx(copies.lam)
    np.testing.assert_allclose(weighted.table["mean"], copies.table["mean"], rtol=1e-6)


def test_weights_decide_as_their_copies_do(data):
    X, _, _ = data
    noisy = X[:120] + np.random.default_rng(0).normal(0, 0.2, (120, 10))
    count = np.full(120, 3)
    options = {"n_lams": 4, "scale": "standard", "random_state": 0}
    weighted = ewp.select_lambda(noisy, 4, sample_weight=count, **options)
    copied = ewp.select_lambda(np.repeat(noisy, count, axis=0), 4, **options)
    assert weighted.lam == pytest.approx(copied.lam)
    columns = ["mean", "se", "effective_features", "stability", "replicates"]
    np.testing.assert_allclose(weighted.table[columns], copied.table[columns], rtol=1e-5)


def test_weights_that_sum_to_one_choose_as_equal_weights_do(data):
    X, _, _ = data
    options = {"n_lams": 3, "scale": "standard", "random_state": 0}
    plain = ewp.select_lambda(X, 4, **options)
    shares = ewp.select_lambda(X, 4, sample_weight=np.full(len(X), 1 / len(X)), **options)
    assert shares.lam == pytest.approx(plain.lam / len(X))
    np.testing.assert_allclose(shares.table["mean"], plain.table["mean"], rtol=1e-6)
