"""Runs that go down together: each ends where it ends alone, and every one of them descends.

Runs differ in starts, exponents, penalties, scalings, forms and in which rows count.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ewp.engine.array import ArrayEngine
from ewp.engine.base import RowMass
from ewp.solver.iterate import iterate, iterate_runs
from ewp.solver.schedules import Annealed, Fixed, Hard, annealing, every_second_hard
from ewp.solver.starts import draw, draw_runs
from ewp.solver.weights import FixedWeights, PowerWeights, RelativeEntropy, SparseWeights
from tests.support.strategies import never_rises

BOUNDED = settings(max_examples=25, deadline=None)
LIMITS: dict[str, Any] = {"max_iter": 500, "tol": 1e-8}
ONE = np.array([0])


class Batch(NamedTuple):
    """Runs on the rows of an engine, and what each of them is on its own."""

    engine: ArrayEngine
    theta: np.ndarray
    lams: np.ndarray
    standardise: np.ndarray
    between: np.ndarray
    s0: np.ndarray
    mass: RowMass

    @property
    def rule(self):
        """The rule of all runs, from the rows that count in each of them."""
        totals = np.array([column_squares(self.engine.X, own) for own in self.rows])
        units = np.where(self.standardise[:, None], self.mass.totals[:, None] / totals, 1.0)
        return RelativeEntropy.of_runs(self.lams, totals, np.ones_like(totals), self.between, units)

    @property
    def rows(self):
        """Weights of the rows in every run."""
        return self.mass.table[self.mass.index]

    def alone(self, b):
        """Engine, start and rule of one run, from its rows, in its own scaling."""
        kept = self.rows[b] > 0
        scale = "standard" if self.standardise[b] else None
        engine = ArrayEngine(self.engine.X[kept], self.rows[b][kept], scale=scale)
        theta = engine.to_engine_units(self.engine.to_data_units(self.theta[b]))
        rule = RelativeEntropy.make(self.lams[b], engine.squares, between=self.between[b])
        return engine, theta, rule


def column_squares(X, mass):
    return mass @ (X - np.average(X, axis=0, weights=mass)) ** 2


@st.composite
def batches(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    runs, k, p = draw(st.integers(2, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 5))
    n = draw(st.integers(4 * k, 40))
    X = rng.standard_normal((n, p)) * rng.uniform(0.2, 2, p)
    X += rng.normal(0, draw(st.sampled_from([0.0, 3.0])), (k, p))[rng.integers(0, k, n)]
    table = rng.integers(0, 3, (3, n)).astype(float)
    table[0] = rng.uniform(0.5, 2.0, n)
    table[:, rng.choice(n, k + 1, replace=False)] = 1.0
    engine = ArrayEngine(X)
    theta = np.array([engine.rows(rng.choice(n, k, replace=False)) for _ in range(runs)])
    return Batch(
        engine,
        theta + 0.01 * rng.standard_normal(theta.shape),
        n * 10.0 ** rng.uniform(-2, 1, runs),
        rng.random(runs) < 0.5,
        rng.random(runs) < 0.5,
        rng.choice([-1.0, -2.5, -9.0, -np.inf], runs),
        RowMass(table, rng.integers(0, 3, runs)),
    )


def run_together(batch, schedule):
    rule = batch.rule
    return iterate_runs(
        batch.engine, batch.theta, rule.start(), rule, schedule, mass=batch.mass, **LIMITS
    )


@given(batches())
@BOUNDED
def test_a_run_is_in_a_batch_what_it_is_alone(batch):
    rule, schedule = batch.rule, Annealed(batch.s0, 1.1, quarters=True)
    together = run_together(batch, schedule)
    for b in range(len(batch.lams)):
        one = np.array([b])
        alone = iterate_runs(
            batch.engine,
            batch.theta[one],
            rule.take(one).start(),
            rule.take(one),
            schedule.take(one),
            mass=batch.mass.take(one),
            **LIMITS,
        )
        size = np.abs([row.f_s for row in alone.run(0).trace]).max()
        assert together.objective[b] == pytest.approx(alone.objective[0], abs=1e-9 * size)
        assert together.n_iter[b] == alone.n_iter[0]
        assert together.converged[b] == alone.converged[0]
        np.testing.assert_allclose(together.weights[b], alone.weights[0], atol=1e-8)
        np.testing.assert_allclose(together.theta[b], alone.theta[0], atol=1e-7)
        one_trace, other_trace = together.run(b).trace, alone.run(0).trace
        assert [row.s for row in one_trace] == [row.s for row in other_trace]
        assert [row.phase for row in one_trace] == [row.phase for row in other_trace]


@given(batches())
@BOUNDED
def test_runs_end_alike_with_and_without_traces(batch):
    """Without traces soft runs are put first, and the answers are back in their own order."""
    schedule = Annealed(batch.s0, 1.1, quarters=True)
    rule = batch.rule
    traced = run_together(batch, schedule)
    plain = iterate_runs(
        batch.engine,
        batch.theta,
        rule.start(),
        rule,
        schedule,
        mass=batch.mass,
        trace=False,
        **LIMITS,
    )
    np.testing.assert_array_equal(plain.n_iter, traced.n_iter)
    np.testing.assert_array_equal(plain.converged, traced.converged)
    size = np.abs(traced.objective) + batch.engine.squares.sum()
    assert (np.abs(plain.objective - traced.objective) <= 1e-9 * size).all()
    np.testing.assert_allclose(plain.theta, traced.theta, atol=1e-7)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 40), st.integers(1, 4))
@BOUNDED
def test_rows_are_drawn_for_many_runs_as_for_one(seed, runs, n, trials):
    """Rows of weight zero are never drawn, whether places are counted or searched."""
    rng = np.random.default_rng(seed)
    mass = rng.random((runs, n)) * (rng.random((runs, n)) < 0.7)
    mass[:, rng.integers(n)] = 0.5
    uniform = rng.random((runs, trials))
    found = draw_runs(mass, uniform)
    alone = [draw(one, own) for one, own in zip(mass, uniform, strict=True)]
    np.testing.assert_array_equal(found, alone)
    assert (np.take_along_axis(mass, found, axis=1) > 0).all()


@given(batches())
@BOUNDED
def test_scaling_form_and_rows_of_a_run_are_those_of_an_engine_of_its_own(batch):
    """Weights of zero leave rows out, of two double them; units standardise."""
    together = run_together(batch, Annealed(batch.s0, 1.1, quarters=True))
    for b, s0 in enumerate(batch.s0):
        engine, theta, rule = batch.alone(b)
        schedule = Hard() if np.isinf(s0) else Annealed(s0, 1.1, quarters=True)
        alone = iterate(engine, theta, rule.start(), rule, schedule, **LIMITS)
        size = np.abs([row.f_s for row in alone.trace]).max()
        assert together.objective[b] == pytest.approx(alone.objective, abs=1e-9 * size)
        np.testing.assert_allclose(together.weights[b], alone.weights, atol=1e-6)
        np.testing.assert_allclose(
            batch.engine.to_data_units(together.theta[b]),
            engine.to_data_units(alone.theta),
            atol=1e-6,
        )


@given(batches())
@BOUNDED
def test_weights_that_are_whole_numbers_are_numbers_of_copies(batch):
    rule, schedule = batch.rule, Annealed(batch.s0, 1.1)
    together = run_together(batch, schedule)
    for b in np.flatnonzero(batch.mass.index > 0):
        copies = ArrayEngine(
            np.repeat(batch.engine.X, batch.rows[b].astype(int), axis=0),
            center=batch.engine.center,
        )
        one = np.array([b])
        alone = iterate_runs(
            copies,
            batch.theta[one],
            rule.take(one).start(),
            rule.take(one),
            schedule.take(one),
            **LIMITS,
        )
        size = np.abs([row.f_s for row in alone.run(0).trace]).max()
        assert together.objective[b] == pytest.approx(alone.objective[0], abs=1e-9 * size)


@given(batches(), st.sampled_from([-0.5, -1.0, -4.0, -30.0, -np.inf]))
@BOUNDED
def test_every_run_descends_at_a_fixed_exponent(batch, s):
    found = run_together(batch, Fixed(s))
    for b in range(len(batch.lams)):
        one = found.run(b)
        values = [row.f_s for row in one.trace]
        assert never_rises(values, np.abs(values).max() + batch.lams[b])
        assert one.objective == values[-1]
        assert {row.s for row in one.trace} == {s}


@given(batches(), st.booleans())
@BOUNDED
def test_every_run_descends_along_its_schedule(batch, quarters):
    found = run_together(batch, Annealed(batch.s0, 1.2, quarters=quarters))
    for b, s0 in enumerate(batch.s0):
        one = found.run(b)
        values = [row.f_s for row in one.trace]
        assert never_rises(values, np.abs(values).max() + batch.lams[b])
        assert all(row.f_inf <= row.f_s + 1e-9 * abs(row.f_s) for row in one.trace)
        exponents = [row.s for row in one.trace]
        assert exponents[0] == s0
        assert (np.diff(np.where(np.isinf(exponents), -1e300, exponents)) <= 0).all()
        assert one.objective == one.trace[-1].f_inf
        assert len(one.trace) == one.n_iter + 1
        assert one.converged


@given(batches())
@BOUNDED
def test_weights_lie_on_the_simplex_and_centroids_among_the_rows_that_count(batch):
    found = run_together(batch, Annealed(batch.s0, 1.3))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0, atol=1e-12)
    assert (found.weights >= 0).all()
    rows = batch.engine.rows(slice(None))
    for b, theta in enumerate(found.theta):
        counted = rows[batch.rows[b] > 0]
        assert (theta >= counted.min(axis=0) - 1e-9).all()
        assert (theta <= counted.max(axis=0) + 1e-9).all()


def test_a_centroid_without_rows_moves_to_the_worst_row_that_counts_in_its_run():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [50.0], [900.0]])
    engine = ArrayEngine(X)
    table = np.array([[1.0, 1, 1, 1, 0, 0], [1.0, 1, 1, 1, 1, 0], [1.0] * 6])
    start = engine.to_engine_units(np.tile([[0.0], [1e5]], (3, 1, 1)))
    rule = FixedWeights(np.ones(1))
    found = iterate_runs(
        engine, start, np.ones((3, 1)), rule, Hard(), mass=RowMass(table, np.arange(3)), **LIMITS
    )
    ends = engine.to_data_units(found.theta)[..., 0]
    np.testing.assert_allclose(ends[0], [0.1, 5.0])
    np.testing.assert_allclose(ends[1], [np.mean([0.0, 0.1, 0.2, 5.0]), 50.0])
    np.testing.assert_allclose(ends[2], [np.mean([0.0, 0.1, 0.2, 5.0, 50.0]), 900.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda totals: FixedWeights(np.full(len(totals), 1 / len(totals))),
        lambda totals: PowerWeights(2.0, totals),
        lambda totals: SparseWeights(1.5, totals),
        lambda totals: RelativeEntropy.make(30.0, totals),
    ],
)
@pytest.mark.parametrize("schedule", [Hard(), Fixed(-1.0), Annealed(-1.0, 1.1)])
def test_every_rule_and_schedule_serves_several_runs(make, schedule):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 4))
    X[:, :2] += rng.normal(0, 4, (3, 2))[rng.integers(0, 3, 60)]
    engine = ArrayEngine(X)
    rule = make(engine.squares)
    theta = np.array([engine.rows(rng.choice(60, 3, replace=False)) for _ in range(4)]) + 0.01
    weights = np.tile(rule.start(), (4, 1))
    steps = []
    together = iterate_runs(engine, theta, weights, rule, schedule, on_step=steps.append, **LIMITS)
    for b in range(4):
        alone = iterate(engine, theta[b], weights[b], rule, schedule, **LIMITS)
        one = together.run(b)
        assert one.objective == pytest.approx(alone.objective, rel=1e-9)
        assert one.n_iter == alone.n_iter
        np.testing.assert_allclose(one.weights, alone.weights, atol=1e-8)
        np.testing.assert_allclose(one.theta, alone.theta, atol=1e-7)
    # a step for every run that is not finished
    assert sum(steps) == (together.n_iter + 1).sum()
    assert (np.diff(steps) <= 0).all()


def test_runs_that_use_up_their_steps_are_told_from_those_that_end():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    engine = ArrayEngine(X)
    rule = FixedWeights(np.full(3, 1 / 3))
    fixed = iterate(engine, engine.rows(np.arange(4)), rule.start(), rule, Hard(), **LIMITS)
    theta = np.array([fixed.theta, engine.rows(np.arange(20, 24))])
    found = iterate_runs(
        engine, theta, np.tile(rule.start(), (2, 1)), rule, Hard(), max_iter=1, tol=1e-8
    )
    assert found.converged.tolist() == [True, False]
    assert found.n_iter.tolist() == [0, 1]
    assert found.objective[0] == pytest.approx(fixed.objective, rel=1e-12)


@given(st.integers(1, 9), st.integers(0, 30))
def test_every_second_start_counted_from_the_first_is_hard(runs, first):
    schedule = every_second_hard(Annealed(-3.0, 1.1, quarters=True), runs, first)
    wanted = [-np.inf if (first + b) % 2 else -3.0 for b in range(runs)]
    assert schedule.start.tolist() == wanted
    assert schedule.take(ONE).start.tolist() == wanted[:1]


def test_an_automatic_annealing_begins_at_minus_one_or_where_the_collapse_ends():
    schedule = annealing(None, 1.05, np.array([-0.5, -2.6, -np.inf]))
    assert schedule.start.tolist() == [-1.0, -2.75, -np.inf]
    assert schedule.next_exponent(schedule.start, np.ones(3)).tolist() == [-1.25, -3.0, -np.inf]
    assert schedule.next_exponent(schedule.start, np.zeros(3)).tolist() == [-np.inf] * 3
    assert annealing(None, 1.05, np.array([-np.inf])) == Hard()
    assert annealing(-np.inf, 1.05, np.array([-0.5])) == Hard()
