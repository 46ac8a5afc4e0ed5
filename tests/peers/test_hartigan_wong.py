"""Hartigan and Wong's k-means: R's results, the sequential algorithm's decisions, local optima."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ewp.peers import as136 as assignment
from ewp.peers import as136 as transfers
from ewp.peers.hartigan_wong import EmptyClusterError, hartigan_wong
from validation import recordings


def as136(X, centers, max_iter):
    """Algorithm AS 136 as printed: loops, rows counted from 1, every distance summed in order."""
    X, C = X.tolist(), centers.tolist()
    n, k = len(X), len(C)
    rows, clusters = range(1, n + 1), range(k)

    def squares(x, c):
        total = 0.0
        for a, b in zip(x, c, strict=True):
            total += (a - b) * (a - b)
        return total

    ic1, ic2 = {}, {}
    for i in rows:
        d = [squares(X[i - 1], c) for c in C]
        one, two = (0, 1) if d[0] <= d[1] else (1, 0)
        for j in range(2, k):
            if d[j] < d[one]:
                one, two = j, one
            elif d[j] < d[two]:
                two = j
        ic1[i], ic2[i] = one, two
    nc = [0] * k
    C = [[0.0] * len(X[0]) for _ in clusters]
    for i in rows:
        nc[ic1[i]] += 1
        C[ic1[i]] = [c + x for c, x in zip(C[ic1[i]], X[i - 1], strict=True)]
    if 0 in nc:
        raise EmptyClusterError
    C = [[c / nc[j] for c in C[j]] for j in clusters]
    an1 = [m / (m - 1.0) if m > 1 else 1e30 for m in nc]
    an2 = [m / (m + 1.0) for m in nc]
    itran, ncp, live, D = [1] * k, [-1] * k, [0] * k, {}

    def transfer(i, a, b):
        m, r = float(nc[a]), float(nc[b])
        C[a] = [(c * m - x) / (m - 1.0) for c, x in zip(C[a], X[i - 1], strict=True)]
        C[b] = [(c * r + x) / (r + 1.0) for c, x in zip(C[b], X[i - 1], strict=True)]
        nc[a], nc[b] = nc[a] - 1, nc[b] + 1
        an2[a], an1[a] = (m - 1.0) / m, (m - 1.0) / (m - 2.0) if m > 2.0 else 1e30
        an1[b], an2[b] = (r + 1.0) / r, (r + 1.0) / (r + 2.0)
        ic1[i], ic2[i] = b, a

    index = 0
    for iteration in range(1, max_iter + 1):
        for j in clusters:
            if itran[j]:
                live[j] = n + 1
        for i in rows:
            index += 1
            a = ic1[i]
            if nc[a] != 1:
                if ncp[a] != 0:
                    D[i] = squares(X[i - 1], C[a]) * an1[a]
                b = start = ic2[i]
                r2 = squares(X[i - 1], C[b]) * an2[b]
                for j in clusters:
                    if (i >= live[a] and i >= live[j]) or j in (a, start):
                        continue
                    d = squares(X[i - 1], C[j])
                    if d < r2 / an2[j]:
                        r2, b = d * an2[j], j
                if r2 >= D[i]:
                    ic2[i] = b
                else:
                    index = 0
                    live[a] = live[b] = n + i
                    ncp[a] = ncp[b] = i
                    transfer(i, a, b)
            if index == n:
                return [ic1[i] for i in rows], iteration, True
        itran = [0] * k
        live = [j - n for j in live]

        since = 0
        for step in itertools.count(1):
            if step >= 50 * n:
                return [ic1[i] for i in rows], iteration, False
            i = (step - 1) % n + 1
            since += 1
            a, b = ic1[i], ic2[i]
            if nc[a] != 1:
                if step <= ncp[a]:
                    D[i] = squares(X[i - 1], C[a]) * an1[a]
                if (step < ncp[a] or step < ncp[b]) and squares(X[i - 1], C[b]) < D[i] / an2[b]:
                    since = index = 0
                    itran[a] = itran[b] = 1
                    ncp[a] = ncp[b] = step + n
                    transfer(i, a, b)
            if since == n:
                break
        if k == 2:
            return [ic1[i] for i in rows], iteration, True
        ncp = [0] * k
    return [ic1[i] for i in rows], max_iter, False


@st.composite
def problems(draw, largest=40):
    """Data and starting rows: continuous, on a coarse grid (ties), or far from the origin."""
    n, p = draw(st.integers(2, largest)), draw(st.integers(1, 5))
    k = draw(st.integers(2, min(n, 7)))
    numbers = draw(
        st.sampled_from(
            [
                st.integers(0, 2).map(float),
                st.integers(0, 20).map(lambda v: v / 10 + 1000),
                st.floats(-10, 10, allow_subnormal=False),
            ]
        )
    )
    X = draw(arrays(np.float64, (n, p), elements=numbers))
    rows = np.unique(X, axis=0, return_index=True)[1]
    assume(len(rows) >= k)
    chosen = draw(st.permutations(rows.tolist()))[:k]
    return X, X[chosen]


def random_problem(seed, n, p, k, grid=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + rng.normal(size=(k, p))[rng.integers(k, size=n)]
    if grid is not None:
        X = np.round(X / grid) * grid
    return X, X[np.unique(X, axis=0, return_index=True)[1][:k]]


def total_within(X, labels):
    return sum(((X[labels == j] - X[labels == j].mean(axis=0)) ** 2).sum() for j in set(labels))


@pytest.mark.parametrize("max_iter", [10, 100])
@pytest.mark.parametrize(("case", "name"), recordings.starts())
def test_recorded_r_kmeans_is_reproduced(case, name, max_iter):
    start = recordings.start(case, name)
    recorded = start["kmeans"][str(max_iter)]
    fit = hartigan_wong(recordings.data(case), start["centers"], max_iter)
    assert fit.labels.tolist() == recorded["labels"]
    assert fit.n_iter == recorded["n_iter"]
    np.testing.assert_allclose(fit.centers, recorded["centers"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fit.withinss, recorded["withinss"], rtol=1e-10, atol=1e-12)


@given(problems(), st.sampled_from([1, 2, 10, 50]))
@settings(max_examples=300, deadline=None)
def test_every_decision_is_the_sequential_algorithms(problem, max_iter):
    X, centers = problem
    try:
        labels, n_iter, converged = as136(X, centers, max_iter)
    except EmptyClusterError:
        with pytest.raises(EmptyClusterError):
            hartigan_wong(X, centers, max_iter)
        return
    fit = hartigan_wong(X, centers, max_iter)
    assert (fit.labels.tolist(), fit.n_iter, fit.converged) == (labels, n_iter, converged)


@pytest.mark.parametrize("grid", [None, 0.5, 2.0])
@pytest.mark.parametrize(("n", "p", "k"), [(300, 3, 4), (400, 12, 9), (150, 40, 2)])
def test_long_runs_take_the_sequential_algorithms_way(n, p, k, grid):
    X, centers = random_problem(n, n, p, k, grid)
    fit = hartigan_wong(X, centers)
    assert (fit.labels.tolist(), fit.n_iter, fit.converged) == as136(X, centers, 10)


@pytest.mark.parametrize("few", [1, 7, 1000])
def test_the_number_of_rows_looked_at_together_does_not_matter(few, monkeypatch):
    X, centers = random_problem(3, 500, 6, 5, grid=0.25)
    expected = hartigan_wong(X, centers).labels
    for module in (assignment, transfers):
        monkeypatch.setattr(module, "FEW_ROWS", few)
    monkeypatch.setattr(assignment, "SERIAL_GEMV", 10)
    monkeypatch.setattr(assignment, "SERIAL_GEMM", 10)
    np.testing.assert_array_equal(hartigan_wong(X, centers).labels, expected)


@given(problems())
@settings(deadline=None)
def test_within_sum_of_squares_never_rises_from_iteration_to_iteration(problem):
    X, centers = problem
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assume(len(set(nearest)) == len(centers))
    totals = [total_within(X, nearest)]
    totals += [hartigan_wong(X, centers, m).withinss.sum() for m in range(1, 7)]
    assert (np.diff(totals) <= 1e-9 * (1 + totals[0])).all()


@given(problems(largest=25))
@settings(deadline=None)
def test_no_single_transfer_improves_a_converged_fit(problem):
    X, centers = problem
    fit = hartigan_wong(X, centers, max_iter=100, empty="relocate")
    assume(fit.converged)
    best = total_within(X, fit.labels)
    for i, own in enumerate(fit.labels):
        if fit.sizes[own] > 1:
            for other in set(range(len(centers))) - {own}:
                moved = fit.labels.copy()
                moved[i] = other
                assert total_within(X, moved) >= best - 1e-9 * (1 + best)


@given(problems())
@settings(deadline=None)
def test_results_belong_together(problem):
    X, centers = problem
    fit = hartigan_wong(X, centers, empty="relocate")
    np.testing.assert_array_equal(fit.sizes, np.bincount(fit.labels, minlength=len(centers)))
    assert fit.sizes.min() > 0
    np.testing.assert_allclose(fit.withinss.sum(), total_within(X, fit.labels), atol=1e-8)
    for j, center in enumerate(fit.centers):
        np.testing.assert_allclose(center, X[fit.labels == j].mean(axis=0), atol=1e-9)


def test_a_fixed_point_of_lloyds_algorithm_can_be_left():
    X = np.array([[0.0], [2.0], [3.5]])
    means = np.array([[1.0], [3.5]])
    assert ((X - means.T) ** 2).argmin(axis=1).tolist() == [0, 0, 1]
    fit = hartigan_wong(X, means)
    assert fit.labels.tolist() == [0, 1, 1]
    assert fit.withinss.sum() == 1.125 < total_within(X, np.array([0, 0, 1]))


def test_stopping_at_max_iter_is_reported():
    X, centers = random_problem(0, 300, 4, 6)
    assert not hartigan_wong(X, centers, max_iter=1).converged
    assert hartigan_wong(X, centers, max_iter=100).converged


def test_inputs_are_left_alone():
    X, centers = random_problem(1, 80, 3, 4)
    before = X.copy(), centers.copy()
    hartigan_wong(X, centers)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(centers, before[1])


def test_fortran_order_and_integers_give_the_same():
    X, centers = random_problem(2, 80, 3, 4, grid=1.0)
    expected = hartigan_wong(X, centers).labels
    np.testing.assert_array_equal(hartigan_wong(np.asfortranarray(X), centers).labels, expected)
    np.testing.assert_array_equal(hartigan_wong(X.astype(int), centers).labels, expected)


def test_one_cluster_is_the_mean():
    X = np.array([[1.0, 2.0], [3.0, 6.0]])
    fit = hartigan_wong(X, np.zeros((1, 2)))
    assert fit.centers.tolist() == [[2.0, 4.0]]
    assert fit.withinss.tolist() == [10.0]
    assert fit.converged


def test_as_many_clusters_as_rows_fit_perfectly():
    X = np.array([[3.0], [1.0], [2.0]])
    fit = hartigan_wong(X, X[[2, 0, 1]])
    assert fit.labels.tolist() == [1, 2, 0]
    assert fit.withinss.tolist() == [0.0, 0.0, 0.0]


def test_empty_cluster_is_an_error_that_names_the_centre():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(EmptyClusterError, match="starting centre 2"):
        hartigan_wong(X, np.array([[0.0], [3.0], [50.0]]))


def test_identical_starting_centres_are_an_error():
    X = np.arange(6.0)[:, None]
    with pytest.raises(EmptyClusterError, match="not distinct"):
        hartigan_wong(X, np.array([[1.0], [4.0], [1.0]]))


def test_relocation_starts_the_empty_cluster_at_the_worst_fitted_row():
    X = np.array([[0.0], [1.0], [2.0], [30.0]])
    fit = hartigan_wong(X, np.array([[1.0], [1.0], [-90.0]]), empty="relocate")
    assert fit.labels[3] == 1
    assert fit.sizes.min() > 0


def test_relocation_copes_with_fewer_distinct_rows_than_clusters():
    X = np.array([[1.0], [1.0], [1.0], [2.0]])
    fit = hartigan_wong(X, X[:3], empty="relocate")
    assert fit.sizes.min() > 0
    assert fit.withinss.sum() == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("X", "centers", "options", "message"),
    [
        (np.zeros((2, 1)), np.arange(3.0)[:, None], {}, "k=3 centers"),
        (np.zeros((2, 2)), np.zeros((1, 3)), {}, "do not fit"),
        (np.zeros(4), np.zeros((1, 1)), {}, "do not fit"),
        (np.array([[np.nan], [1.0]]), np.zeros((1, 1)), {}, "NaN"),
        (np.zeros((2, 1)), np.zeros((1, 1)), {"max_iter": 0}, "max_iter=0"),
        (np.zeros((2, 1)), np.zeros((1, 1)), {"empty": "drop"}, "empty='drop'"),
    ],
)
def test_unusable_input_is_named(X, centers, options, message):
    with pytest.raises(ValueError, match=message):
        hartigan_wong(X, centers, **options)
