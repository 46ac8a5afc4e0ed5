"""Many starts: more of them never end higher, none depends on those after it, and they add up."""

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

import ewp
from ewp.engine.array import ArrayEngine
from ewp.results.results import EWPResults
from ewp.solver import multistart as module
from ewp.solver.fit import FitOptions, WarmStart, fit_engine
from ewp.solver.multistart import StartPlan
from tests.support.designs import sixty_rows
from tests.support.results import assert_identical

#: Enough of them for several blocks of ten, one of them begun.
STARTS = 23


def overlapping(seed, n=90, p=4, k=3, spread=1.2):
    """Gaussians that overlap: single starts end in different optima."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + rng.normal(0, spread, (k, p))[rng.integers(0, k, n)]


def noise(n=100, p=6):
    return np.random.default_rng(1).standard_normal((n, p))


def problems():
    rounded = np.round(overlapping(3), 1)
    return {
        "few clusters": (overlapping(0), 3, 20.0, {}),
        "standardised": (overlapping(1, p=6), 5, 15.0, {"scale": "standard"}),
        "between": (overlapping(2), 4, 30.0, {"dispersion": "between"}),
        "rounded": (rounded, 4, 10.0, {}),
        "weighted": (overlapping(4), 3, 20.0, {"sample_weight": np.arange(90) % 3}),
        "many clusters": (overlapping(5, n=120), 9, 10.0, {}),
        "noise, many clusters": (noise(), 12, 10.0, {}),
        "random starts": (overlapping(6), 4, 20.0, {"init": "random"}),
        "published annealing": (overlapping(7, n=60), 3, 20.0, {"s0": -1.0, "eta": 1.2}),
        "without polish": (noise(), 8, 10.0, {"polish": False}),
    }


def record(name, n_init, seed=0):
    """Where the starts of a fit ended."""
    X, k, lam, options = problems()[name]
    given_options = {key: value for key, value in options.items() if key != "sample_weight"}
    settled = FitOptions(k, lam, n_init=n_init, **given_options).settle()
    weight = options.get("sample_weight")
    engine = ArrayEngine(
        X,
        None if weight is None else weight.astype(float),
        scale="standard" if settled.standardise else None,
    )
    return fit_engine(engine, settled, np.random.default_rng(seed))


@pytest.fixture(scope="module", params=problems())
def name(request):
    return request.param


@pytest.fixture(scope="module")
def whole(name):
    return record(name, STARTS)


@pytest.mark.parametrize("n_init", [1, 2, 3, 9, 10, 11, 20])
def test_the_first_starts_of_many_are_those_of_few(name, whole, n_init):
    few = record(name, n_init)
    np.testing.assert_allclose(few.starts.objective, whole.starts.objective[:n_init], rtol=1e-9)
    np.testing.assert_array_equal(few.starts.polished, whole.starts.polished[:n_init])
    lowest = whole.starts.objective[:n_init].min()
    assert few.solution.objective == pytest.approx(lowest, rel=2e-9)


@pytest.mark.parametrize("data", ["few clusters", "between", "noise, many clusters"])
@pytest.mark.parametrize("seed", range(3))
def test_more_starts_never_end_higher(data, seed):
    X, k, lam, options = problems()[data]
    ends = [
        ewp.fit(X, k, lam, random_state=seed, n_init=n_init, **options).objective
        for n_init in (1, 2, 4, 7, 10, 13, 20, 30)
    ]
    assert (np.diff(ends) <= 2e-9 * np.abs(ends[:-1])).all()


def test_every_second_start_begins_at_the_limit_in_all_blocks(monkeypatch):
    begun = []
    plain = module.iterate_runs

    def recorded(engine, theta, weights, rule, schedule, **limits):
        begun.extend(np.broadcast_to(schedule.start, len(theta)).tolist())
        return plain(engine, theta, weights, rule, schedule, **limits)

    monkeypatch.setattr(module, "iterate_runs", recorded)
    monkeypatch.setattr(module, "_BLOCK", 3)  # blocks begin with starts of either kind
    X, k, lam, _ = problems()["few clusters"]
    ewp.fit(X, k, lam, n_init=8, random_state=0)
    assert begun == [-1.0, -np.inf] * 4
    begun.clear()
    ewp.fit(X, k, lam, n_init=4, polish=False, random_state=0)
    assert begun == [-1.0] * 4  # nothing would make up for what the limit misses


@pytest.mark.parametrize("size", [1, 4])
def test_the_size_of_a_block_of_starts_changes_last_digits_only(name, whole, size, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", size)
    found = record(name, STARTS)
    np.testing.assert_allclose(found.starts.objective, whole.starts.objective, rtol=1e-9)
    np.testing.assert_array_equal(found.starts.polished, whole.starts.polished)
    np.testing.assert_array_equal(found.starts.counts, whole.starts.counts)


def test_starts_add_up(whole, name):
    starts = whole.starts
    assert len(starts.objective) == len(starts.polished) == STARTS
    assert len(starts.optima) == len(starts.counts) == len(starts.agreement) <= 5
    assert starts.optima[0] == whole.solution.objective
    assert (np.diff(starts.optima) > 0).all()
    assert starts.counts.sum() <= STARTS
    assert (starts.counts >= 1).all()  # no partition was known before
    # the lowest optima are described: what is not counted lies above them
    assert (starts.objective <= starts.optima[-1]).sum() <= starts.counts.sum()
    assert starts.agreement[0] == 1.0
    assert (starts.agreement[1:] <= 1.0).all()
    assert starts.polished.any() == (name != "without polish")


def test_the_table_of_the_results_says_the_same(name, whole):
    X, k, lam, options = problems()[name]
    found = ewp.fit(X, k, lam, n_init=STARTS, random_state=0, **options)
    table, total = found.starts, float(np.sum(options.get("sample_weight", np.ones(len(X)))))
    assert list(table.columns) == ["objective", "gap_per_row", "starts", "ari"]
    assert found.n_starts == STARTS
    assert table["objective"].iloc[0] == found.objective
    np.testing.assert_allclose(table["objective"], whole.starts.optima, rtol=1e-9)
    np.testing.assert_array_equal(table["starts"], whole.starts.counts)
    np.testing.assert_allclose(
        table["gap_per_row"] * total, table["objective"] - found.objective, atol=1e-9
    )
    assert table["ari"].iloc[0] == 1.0


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([1, 4, "auto"]))
@example(1, 4, 1)  # two proposals of the polish end in one partition, in two orders of its clusters
@example(1, 2, 4)  # the start that is taken lies above its equals by a rounding error
@settings(max_examples=15, deadline=None)
def test_rows_and_columns_may_come_in_any_order(seed, k, n_init):
    X = overlapping(seed, n=40, k=k)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(40), rng.permutation(4)
    one = ewp.fit(X, k, 10.0, n_init=n_init, random_state=0)
    two = ewp.fit(X[np.ix_(rows, columns)], k, 10.0, n_init=n_init, random_state=0)
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    np.testing.assert_array_equal(two.labels, one.labels.iloc[rows])
    np.testing.assert_allclose(two.weights, one.weights.iloc[columns], atol=1e-8)
    assert two.n_starts == one.n_starts
    np.testing.assert_array_equal(two.starts["starts"], one.starts["starts"])


@pytest.mark.parametrize("data", ["few clusters", "many clusters"])
def test_starts_do_not_depend_on_the_number_of_processes(data, monkeypatch):
    monkeypatch.setattr("ewp.engine.array._WORTHWHILE", 0.0)  # processes even for small data
    X, k, lam, options = problems()[data]
    one, two = (
        ewp.fit(X, k, lam, n_init=7, random_state=0, n_jobs=jobs, **options) for jobs in (1, 2)
    )
    assert_identical(two, one)
    np.testing.assert_array_equal(two.starts, one.starts)


def test_from_given_centroids_there_is_one_start():
    X = overlapping(0)
    one, many, auto = (
        ewp.fit(X, 3, 20.0, init=X[:3], n_init=n_init, random_state=0) for n_init in (1, 30, "auto")
    )
    for found in (one, many, auto):
        assert found.n_starts == 1
        assert found.starts["starts"].tolist() == [1]
        assert "Best objective found" not in str(found)
    assert_identical(many, one)
    assert_identical(auto, one)


@pytest.mark.parametrize("lam", [1e4, 1e10])
def test_a_penalty_that_dwarfs_the_distances_does_not_hide_them(lam):
    """Equal weights, so that k-means is what is left: starts and polish still go down in it."""
    X = np.random.default_rng(0).standard_normal((200, 5))
    theirs = KMeans(5, n_init=20, random_state=0).fit(X).inertia_ / 5
    found = ewp.fit(X, 5, lam, n_init=20, random_state=0)
    assert found.clusters["withinss"].sum() <= 1.01 * theirs


# --- as many as it takes -----------------------------------------------------------------------


def test_automatic_starts_end_early_where_they_agree_and_go_on_where_they_do_not():
    clear = ewp.fit(sixty_rows(), 2, 100.0, random_state=0)
    hard = ewp.fit(noise(), 7, 10.0, random_state=0)
    assert clear.n_starts == 10
    assert clear.starts["starts"].iloc[0] >= 5
    assert hard.n_starts > 20
    assert hard.starts["starts"].iloc[0] < 4
    assert ewp.fit(sixty_rows(), 1, 100.0, random_state=0).n_starts == 1


def test_automatic_starts_are_the_first_of_so_many():
    X, k, lam, options = problems()["few clusters"]
    auto = ewp.fit(X, k, lam, random_state=0, **options)
    same = ewp.fit(X, k, lam, random_state=0, n_init=auto.n_starts, **options)
    assert_identical(auto, same)
    np.testing.assert_array_equal(auto.starts, same.starts)


def test_the_larger_the_data_the_fewer_the_automatic_starts():
    engines = [ArrayEngine(np.zeros((n, 5))) for n in (10, 1_000, 20_000, 100_000, 200_000)]
    plans = [StartPlan.of("auto", engine, 4) for engine in engines]
    most = [plan.most for plan in plans]
    assert most == sorted(most, reverse=True)
    assert most[0] == 100
    assert most[-1] == 1
    assert all(plan.fewest <= plan.most for plan in plans)
    assert StartPlan.of(7, engines[-1], 4)[:3] == (7, 7, 8)
    assert StartPlan.of(7, engines[0], 9, recombines=True).children == 0
    children = [StartPlan.of("auto", engine, 9, recombines=True).children for engine in engines]
    assert children == sorted(children, reverse=True)
    assert children[0] > 0 == children[-1]
    assert StartPlan.of("auto", engines[0], 1).most == 1


@pytest.mark.parametrize(
    ("n_init", "message"),
    [
        ("best", "n_init='best' must be a positive whole number or \"auto\""),
        (0, "n_init=0"),
        (-3, "n_init=-3"),
        (1.5, r"n_init=1\.5"),
        (True, "n_init=True"),
        (None, "n_init=None"),
        ([3], r"n_init=\[3\]"),
    ],
)
def test_a_wrong_number_of_starts_is_told(n_init, message):
    with pytest.raises(ValueError, match=message):
        ewp.fit(overlapping(0), 3, 20.0, n_init=n_init)


# --- what is known and what is said ------------------------------------------------------------


def test_a_partition_known_before_is_tried_and_not_counted():
    X = overlapping(0)
    options = FitOptions(3, 20.0, n_init=1, polish=False).settle()
    engine = ArrayEngine(X)
    lowest = min(
        (fit_engine(engine, options, np.random.default_rng(seed)) for seed in range(30)),
        key=lambda fit: fit.solution.objective,
    )
    means = np.array([X[lowest.labels == j].mean(axis=0) for j in range(3)])
    known = WarmStart(means, ((X - means[lowest.labels]) ** 2).sum(axis=0))
    for seed in range(10):
        alone = fit_engine(engine, options, np.random.default_rng(seed))
        helped = fit_engine(engine, options, np.random.default_rng(seed), known=[known])
        best = min(alone.solution.objective, lowest.solution.objective)
        assert helped.solution.objective == pytest.approx(best, rel=1e-9)
        np.testing.assert_array_equal(helped.starts.objective, alone.starts.objective)
        found = alone.solution.objective <= best + 1e-9 * abs(best)
        assert helped.starts.counts[0] == int(found)
        assert helped.starts.counts.sum() == 1


def test_a_start_is_polished_if_it_is_among_the_lowest_so_far_and_new():
    run = [5.0, 7.0, 6.0, 8.0, 4.0, 4.0 + 1e-6, 6.5, 1.0]
    begun, polished = [], []
    for objective in run:
        end = module.Solution(np.zeros((1, 1)), np.ones(1), objective)
        polished.append(module._is_promising(end, begun, polished, 1e-3))
        begun.append(objective)
    assert polished == [True, True, True, False, True, False, False, True]


@pytest.fixture(scope="module")
def several():
    X, k, lam, options = problems()["few clusters"]
    return ewp.fit(X, k, lam, n_init=STARTS, random_state=0, **options)


def test_starts_survive_a_file(several, tmp_path):
    several.save(tmp_path / "fit")
    loaded = EWPResults.load(tmp_path / "fit")
    np.testing.assert_array_equal(loaded.starts, several.starts)
    assert list(loaded.starts.columns) == list(several.starts.columns)
    assert loaded.n_starts == several.n_starts == STARTS
    assert str(loaded) == str(several)


@pytest.mark.parametrize(
    ("counts", "made", "said", "unsaid"),
    [
        (
            [0, 3],
            5,
            "None of 5 starts found the best objective: it comes from the fit before this one.",
            "found by",
        ),
        ([1, 3], 5, "Best objective found by 1 of 5 starts. Another start may find", "Adjusted"),
        (
            [4, 1],
            5,
            "found by 4 of 5 starts. Adjusted Rand index with the next best partition: 0.25",
            "Another",
        ),
        ([5], 5, "Best objective found by 5 of 5 starts.", "Adjusted"),
        ([1], 1, "Starts", "Best objective"),
    ],
)
def test_the_summary_says_how_many_starts_agree(several, counts, made, said, unsaid):
    table = several.starts.iloc[[0] * len(counts)].assign(starts=counts)
    table["ari"] = [1.0, 0.25][: len(counts)]
    told = " ".join(str(dataclasses.replace(several, starts=table, n_starts=made)).split())
    assert said in told
    assert unsaid not in told
