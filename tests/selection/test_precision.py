"""What a selection multiplies in single precision, and what it does not."""

import numpy as np
import pytest

import ewp
from ewp.datasets import make_simulation2
from ewp.engine.array import ArrayEngine
from ewp.engine.precision import DOUBLE, SINGLE
from ewp.selection import parts
from ewp.selection.parts import CommonRows
from ewp.solver.fit import FitOptions


def fitted_on(X, k, **options):
    rows = CommonRows(X, None)
    made = FitOptions(n_clusters=k, **options).settle(1.0, scale=None)
    return rows._spaces[None]._fitted_on(made)


def test_rows_are_multiplied_in_single_precision_where_products_take_the_time():
    X = np.random.default_rng(0).standard_normal((400, 30))
    assert fitted_on(X, 3).dtype == DOUBLE
    assert fitted_on(X, 50).dtype == SINGLE
    assert fitted_on(X, 50, dtype="float64").dtype == DOUBLE
    assert fitted_on(1e25 * X, 50).dtype == DOUBLE


def test_both_engines_have_the_same_rows_and_order():
    X = np.random.default_rng(0).normal(1e3, 1, (50, 3))
    engine = ArrayEngine(X, scale="standard")
    single = engine.in_single()
    assert single.dtype == SINGLE
    assert single.in_single() is single
    np.testing.assert_allclose(single.prepared, engine.prepared, atol=1e-6)
    np.testing.assert_array_equal(single.order, engine.order)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_choice_is_that_of_double_precision(monkeypatch, seed):
    X, labels, _ = make_simulation2(8, n=400, p=40, random_state=seed)
    double = ewp.fit(X, 8, random_state=0)
    monkeypatch.setattr(parts, "_FEW_PRODUCTS", 0.0)
    single = ewp.fit(X, 8, random_state=0)
    assert single.lam == pytest.approx(double.lam)
    assert (single.scaling, single.dispersion) == (double.scaling, double.dispersion)
    assert ewp.metrics.rand_index(single.labels.to_numpy(), labels) == pytest.approx(1.0)
