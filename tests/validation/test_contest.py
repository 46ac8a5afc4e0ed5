"""The contest: ranks as in the literature, sets as registered, contestants without classes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from tests.support.sections import Given, frame
from validation import digest
from validation.contest import (
    chosen_numbers,
    contestants,
    ranks,
    reasons,
    registry,
    sections,
    sources,
)
from validation.contest.designs import CORRELATED, DESIGNS, WIDE, recipe
from validation.contest.reasons import REASONS, reason_of
from validation.studies import contest

# -- ranks: Demšar (2006), his Tables 5 and 6 --------------------------------------------------

NEMENYI = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}
#: Ranks of four variants of C4.5 on fourteen data sets.
PUBLISHED = pd.DataFrame(
    [
        (4, 3, 2, 1),
        (1, 2, 3, 4),
        (4, 1, 2, 3),
        (4, 1, 3, 2),
        (4, 2, 3, 1),
        (1, 2.5, 4, 2.5),
        (3, 2, 4, 1),
        (2.5, 2.5, 4, 1),
        (4, 3, 2, 1),
        (2.5, 2.5, 2.5, 2.5),
        (4, 2.5, 1, 2.5),
        (3, 2, 4, 1),
        (4, 1, 2, 3),
        (3, 1, 4, 2),
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)


@pytest.mark.parametrize("level", [0.05, 0.10])
def test_critical_values_are_those_of_the_published_table(level):
    for k, published in zip(range(2, 11), NEMENYI[level], strict=True):
        found = ranks.critical_difference(k, 1, level) / np.sqrt(k * (k + 1) / 6)
        assert found == pytest.approx(published, abs=2e-3)


def test_ranks_and_tests_of_the_published_example():
    found = ranks.mean_ranks(-PUBLISHED)
    assert found.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    test = ranks.friedman(found, len(PUBLISHED))
    assert test.chi_square == pytest.approx(9.28, abs=0.01)
    assert test.f == pytest.approx(3.69, abs=0.01)
    assert 0.01 < test.p_value < 0.05  # F(3, 39) is 2.85 at 5 %
    assert ranks.critical_difference(4, 14) == pytest.approx(1.25, abs=0.01)
    assert ranks.cliques(found, 1.25) == [("C4.5+m+cf", "C4.5")]


def test_ranks_add_up_and_no_answer_is_last():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.random((9, 5)), columns=list("abcde"))
    table.loc[3, ["b", "d"]] = np.nan
    assert ranks.mean_ranks(table).sum() == pytest.approx(15)
    assert ranks.mean_ranks(table.loc[[3]])[["b", "d"]].tolist() == [4.5, 4.5]


def test_wins_ties_and_losses_are_counted():
    table = pd.DataFrame({"own": [0.5, 0.5, 0.5, 0.5], "other": [0.4, 0.495, 0.53, 0.7]})
    assert ranks.tally(table, "own", 0.05).loc["other"].tolist() == [1, 1, 2, 1]
    gave_up = pd.DataFrame({"own": [0.0], "other": [np.nan]})
    assert ranks.tally(gave_up, "own", 0.05).loc["other", "wins"] == 1


# -- sets and designs --------------------------------------------------------------------------


def test_there_are_forty_real_sets_and_twenty_designs():
    assert len(registry.SETS) >= 40
    assert len(DESIGNS) >= 20
    assert not set(registry.SETS) & set(DESIGNS)
    assert {one.__name__ for one in (*CORRELATED, *WIDE)} <= set(DESIGNS)
    assert all(one.origin and one.classes for one in registry.SETS.values())


@pytest.mark.parametrize("name", ["iris", "wine", "wdbc", "digits", "spector", "penguins"])
def test_sets_are_tables_of_numbers_with_classes(name):
    X, y = registry.fetch(name, registry.at_hand()[name])
    sizes = {"iris": (150, 4, 3), "digits": (1797, 61, 10)}
    assert np.isfinite(X).all()
    assert len(X) == len(y) <= registry.LARGEST
    assert np.ptp(X, axis=0).min() > 0
    np.testing.assert_array_equal(np.unique(y), np.arange(y.max() + 1))
    assert sizes.get(name, (len(X), X.shape[1], y.max() + 1)) == (*X.shape, y.max() + 1)


def test_other_data_are_refused():
    with pytest.raises(ValueError, match=r"wine has the hash .* these are other data"):
        registry.fetch("wine", "0" * 16)


def test_features_are_numbers_or_have_two_values():
    table = pd.DataFrame(
        {
            "kind": ["a", "b", "a", None],
            "size": [1.0, 2.0, np.nan, 4.0],
            "sex": ["m", "f", "m", "m"],
            "town": ["x", "y", "z", "x"],
            "same": 3,
        }
    )
    found = sources.numbers_of(table, "kind")
    assert found.to_dict("list") == {"size": [1.0, 2.0], "sex": [1.0, 0.0], "class": ["a", "b"]}


@pytest.mark.parametrize("name", list(DESIGNS))
def test_designs_are_functions_of_their_seed(name):
    X, y = DESIGNS[name](1)
    again, other = DESIGNS[name](1), DESIGNS[name](2)
    np.testing.assert_array_equal(again[0], X)
    assert np.isfinite(X).all()
    assert len(np.unique(y)) > 1
    assert other[0].shape[1] == X.shape[1]
    assert not np.array_equal(other[0][:20], X[:20])


def test_designs_have_hashes_of_their_own():
    assert len({recipe(name) for name in DESIGNS}) == len(DESIGNS)


# -- contestants -------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [contestants.run_default, contestants.run_others])
def test_no_class_reaches_a_contestant(run, monkeypatch):
    X, y = DESIGNS["no_noise"](0)
    kept = []
    score = contestants._agreement
    monkeypatch.setattr(
        contestants, "_agreement", lambda y, labels: kept.append(labels) or score(y, labels)
    )
    run(X, y, 0)
    first, kept[:] = list(kept), []
    found = run(X, np.random.default_rng(0).permutation(y), 0)
    assert len(first) == len(kept) == len(found) > 1
    for one, other in zip(first, kept, strict=True):
        np.testing.assert_array_equal(one, other)


def test_cells_of_other_packages_do_not_depend_on_ewp(monkeypatch):
    cells = {cell.task: cell for cell in contest.contest_cells() if cell.inputs["name"] == "wine"}
    before = {task: cell.key for task, cell in cells.items()}
    monkeypatch.setattr("validation.cells.source_digest", lambda chooses=True: "other code")
    changed = {task for task, cell in cells.items() if cell.key != before[task]}
    assert changed == {"contest.default", "contest.own_peers"}


def test_cells_of_other_packages_fit_nothing_of_ewp():
    cells = {cell.task: cell for cell in contest.contest_cells() if cell.inputs["name"] == "wine"}
    assert set(cells["contest.others"].compute()) == set(contestants.OTHERS)
    sworn = dataclasses.replace(cells["contest.own_peers"], foreign=True)
    with pytest.raises(RuntimeError, match=r"own_peers.* was declared to be of other packages"):
        sworn.compute()


def test_another_set_is_no_other_code_for_those_that_are_there(monkeypatch):
    before = digest.task_digest("validation.studies.contest", "default")
    digest.task_digest.cache_clear()
    assert "SETS" not in {
        name for _, name in digest._needs("validation.studies.contest", _source(contest._drawn))
    }
    assert digest.task_digest("validation.studies.contest", "default") == before


def _source(function):
    import ast
    import inspect

    return ast.parse(inspect.getsource(function)).body[0]


# -- reasons -----------------------------------------------------------------------------------


def tried(own, *others):
    names = ("scaling", "form", "nmi", "from_classes", "excess")
    rows = [dict(zip(names, one, strict=True)) for one in (own, *others)]
    return {"own": rows[0], "others": rows[1:]}


@pytest.mark.parametrize(
    ("expected", "own", "others"),
    [
        ("search", ("none", "within", 0.5, 0.9, -0.1), [("none", "within", 0.9, 0.9, 0.0)]),
        ("penalty", ("none", "within", 0.5, 0.9, 0.1), [("none", "within", 0.9, 0.9, 0.0)]),
        ("scaling", ("none", "within", 0.5, 0.5, 0.0), [("standard", "within", 0.9, 0.9, 0.0)]),
        ("form", ("none", "within", 0.5, 0.5, 0.0), [("none", "between", 0.9, 0.9, 0.0)]),
        ("search", ("none", "within", 0.5, 0.5, 0.0), [("none", "between", 0.5, 0.9, -0.2)]),
        ("objective", ("none", "within", 0.5, 0.9, 0.3), [("none", "between", 0.5, 0.5, 0.0)]),
        ("model", ("none", "within", 0.5, 0.6, 0.3), [("none", "between", 0.5, 0.5, 0.0)]),
    ],
)
def test_reasons_are_looked_for_in_their_order(expected, own, others):
    assert reason_of(tried(own, *others), 0.8) == expected
    assert expected in REASONS


def test_fits_from_the_classes_stay_where_clusters_are_plain():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = 8.0 * rng.standard_normal((3, 4))[y] + rng.standard_normal((90, 4))
    found = reasons.tried(X, y, 0)
    assert found["own"]["nmi"] == found["own"]["from_classes"] == pytest.approx(1.0)
    assert found["own"]["excess"] == pytest.approx(0.0, abs=1e-9)
    assert {one["scaling"] for one in found["others"]} >= {"none", "standard"}


# -- sections ----------------------------------------------------------------------------------


def value(cell):
    """The default is the best everywhere; Ward and mclust are next."""
    if not cell.task.startswith("contest.") or cell.inputs["seed"] > 0:
        return None
    task = cell.task.partition(".")[2]
    methods = {
        "default": contestants.OURS,
        "own_peers": contestants.OWN_PEERS,
        "others": contestants.OTHERS,
        "r_packages": contestants.R_PACKAGES,
    }.get(task, ())
    high = {contestants.DEFAULT: 0.95, contestants.BESIDE: 0.97, "Ward": 0.9, "mclust": 0.9}
    return {
        name: {"nmi": high.get(name, 0.5), "ari": high.get(name, 0.5), "seconds": 1.0}
        for name in methods
    } or None


def test_sections_say_who_is_best():
    section = sections.real_section(Given(value))
    assert "best mean NMI of all contestants: reached (0.950; " in section.verdict.text
    assert "best mean rank of all contestants: reached (1.00; " in section.verdict.text
    shown = frame(section)
    ward = shown[shown["contestant"] == "Ward"].iloc[0]
    assert (ward["mean NMI"], ward["loses"], ward["by > 0.05"]) == ("0.900", "0", "0")
    assert any("No contestant is more than 0.05 ahead" in str(item) for item in section.items)
    section = sections.designs_section(Given(value))
    assert "at least 0.9 in correlated noise: reached" in section.verdict.text
    assert "p ≫ n within 5 % of sparcl: reached" in section.verdict.text


def test_where_the_default_is_behind_the_reason_is_given():
    def behind(cell):
        if cell.task == "contest.searched":
            return tried(("none", "within", 0.5, 0.5, 0.0), ("standard", "within", 0.9, 0.9, 0.0))
        found = value(cell)
        if cell.task == "contest.default" and cell.inputs["name"] == "wine":
            found[contestants.DEFAULT]["nmi"] = 0.5
        return found

    section = sections.real_section(Given(behind))
    losses = frame(section, 2)
    assert losses["data"].tolist() == ["wine"]
    assert losses[["by", "reason"]].iloc[0].tolist() == ["Ward", "scaling"]


def test_a_contestant_that_gave_up_is_told():
    def gave_up(cell):
        found = value(cell)
        if cell.task == "contest.others" and cell.inputs["name"] == "wine":
            found["spectral"] = {"nmi": None, "ari": None, "seconds": None}
        return found

    shown = frame(sections.real_section(Given(gave_up)))
    assert shown.set_index("contestant")["gave up"]["spectral"] == "1"


def test_chosen_numbers_are_compared_with_the_classes():
    def chosen(cell):
        found = {"nmi": 0.5, "ari": 0.4, "seconds": 1.0}
        if cell.task == "contest.number_of_default":
            return {contestants.DEFAULT: {**found, "k": 3}}
        if cell.task == "contest.number_of_others":
            return {"k-means, silhouette": {**found, "k": 2}}
        return None

    section = chosen_numbers.numbers_section(Given(chosen))
    if section is None:
        pytest.skip("R is needed for the other methods' numbers")
    every = frame(section, 1).set_index("data")
    assert every.loc["wine"].tolist() == ["3", "3", "2"]


def test_every_cell_of_the_contest_is_of_a_task_that_exists():
    cells = [*contest.contest_cells(), *contest.reason_cells(), *contest.number_cells()]
    assert len({str(cell) for cell in cells}) == len(cells)
    tasks = {cell.task for cell in cells}
    assert all(callable(getattr(contest, task.partition(".")[2])) for task in tasks)
    assert {cell.rank for cell in contest.number_cells()} == {3}
