"""The paper's figures beside ours, cells of earlier code, and what a verdict says at a glance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tests.support.sections import Given, frame
from validation.archive import Archive, Watch, is_earlier
from validation.cells import Cell, Store
from validation.compose import compose
from validation.page import parted
from validation.published import (
    EXCHANGED,
    PAPER,
    PAPER_PEERS,
    TABLE1,
    TABLE2,
    TABLE3,
    TABLE5,
    headings_for,
)
from validation.same_starts import TRIALS
from validation.studies import (
    aims,
    glioma,
    peer_settings,
    peer_tables,
    real_sets,
    simulation_tables,
    theory,
)
from validation.studies.simulations import NOISE, NUMBERS

# -- the paper's figures -----------------------------------------------------------------------


def test_every_cell_of_the_paper_is_there():
    methods = {*PAPER_PEERS, "ewp"}
    assert set(TABLE1) == set(TABLE2) == methods
    assert all(tuple(row) == NOISE for row in TABLE1.values())
    assert all(tuple(row) == NUMBERS for row in TABLE2.values())
    assert set(TABLE3) == methods
    assert len(TABLE5) == 10
    assert all(set(row) == methods for row in TABLE5.values())
    assert set(PAPER) == {*TABLE5, "GLIOMA"}
    assert PAPER["wall_robot_4"] == 0.234


def test_means_over_the_ten_sets_are_the_papers():
    means = {name: np.mean([row[name].mean for row in TABLE5.values()]) for name in TABLE5["iris"]}
    published = {"kmeans": 0.345, "power": 0.291, "wkmeans": 0.332, "sparse": 0.289, "ewp": 0.493}
    assert means == pytest.approx(published, abs=6e-4)


def test_the_papers_marks_agree_with_its_figures():
    for row in TABLE5.values():
        assert row["ewp"].mark == ""
        for name in PAPER_PEERS:
            assert row[name].mark in ("+", "≃")
            assert row[name].mean < row["ewp"].mean


def test_exchanged_columns_are_compared_with_both_methods():
    assert headings_for("power") == headings_for("wkmeans") == EXCHANGED
    assert headings_for("sparse") == ("sparse",)


# -- ours beside them --------------------------------------------------------------------------


def row(method, nmi, scaling="raw", trial=0):
    values = {"nmi": nmi, "ari": nmi, "seconds": 0.0, "form": "within", "lam": 1.0}
    return {"method": method, "scaling": scaling, "trial": trial, **values}


def test_tables_of_simulations_have_theirs_ours_and_a_verdict_in_every_column():
    def value(cell):
        if cell.task != "simulations.trial" or cell.inputs["seed"] > 0:
            return None
        if cell.inputs["part"] == "ewp":
            return [row("ewp", 0.999), row("ewp, same rows", 0.99)]
        if cell.inputs["part"] == "published":
            return [row("ewp-published", 0.90), row("published@0.1", 0.95)]
        if cell.inputs["part"] == "peers":
            return [row("kmeans", 0.38), row("wkmeans", 0.2), row("power", 0.3), row("sparse", 0.3)]
        return None

    section = simulation_tables.table1_section(Given(value))
    table = frame(section).set_index("method")
    assert table.loc["EWP, paper"].tolist()[:2] == ["0.964 (0.001)", "0.922 (0.001)"]
    assert table.loc["k-means, paper", "d = 20"] == "0.367 (0.003)"
    assert table.loc["k-means, raw", "d = 20"].startswith("0.380")
    reached = table.loc["at or above the paper's EWP"]
    assert reached.tolist() == ["default", *3 * ["best λ, default"], "best λ, default"]
    assert table.loc["peers that agree", "d = 5"] == "1 of 4"
    (first, *_) = frame(aims.aims_section(Given(value))).itertuples(index=False)
    assert first[1:] == ("lowest 0.999 (d = 5)", "reached")


def test_random_labels_of_many_small_clusters_agree_by_chance():
    assert simulation_tables.chance(1000, 100) == pytest.approx(0.50, abs=0.01)
    assert simulation_tables.chance(100_000, 10) < 0.001


def peers_at(raw, standardised):
    return pd.DataFrame(
        [
            {"name": name, **row(method, nmi, scaling, trial)}
            for name in TABLE5
            for method in PAPER_PEERS
            for scaling, nmi in (("raw", raw), ("standardised", standardised))
            for trial in range(3)
        ]
        + [
            {"name": name, **row("ewp, same rows", 0.5, "raw", t)}
            for name in TABLE5
            for t in (0, 1)
        ]
    )


def test_a_peer_agrees_at_a_scaling_or_a_setting_explains_it():
    def value(cell):
        if cell.task != "peer_settings.at_settings" or cell.inputs["scaling"] == "raw":
            return None
        settings = {"method": "sparse", "setting": 1.2, "nmi": 0.26, "low": 0.2, "high": 0.3}
        return [settings]

    table, text = peer_tables.peer_table(Given(value), peers_at(0.42, 0.9), "sparse")
    verdicts = table.frame.set_index("data")["verdict"]
    assert verdicts["wine"] == "agrees: raw"
    explained = "bound 1.2, standardised has 0.260"
    known = {cell.inputs["name"] for cell in peer_settings.setting_cells()}
    assert verdicts["iris"] == ("not explained; closest 0.260 (bound 1.2, standardised)")
    assert "movement_libras" not in known or verdicts["movement_libras"] == explained
    assert "of 10 sets" in text


def test_a_peer_with_two_columns_is_compared_with_both():
    table, text = peer_tables.peer_table(Given(lambda _: None), peers_at(0.42, 0.42), "power")
    assert {"paper, “power k-means”", "paper, “WK-means”"} <= set(table.frame)
    assert text.count("of the paper's column") == 2


def test_the_papers_case_study_has_a_row_for_every_peer():
    scores = peers_at(0.49, 0.5).query("name == 'iris'")
    table = peer_tables.table3(Given(lambda _: None), scores).frame.set_index("method")
    assert table.loc["k-means", "paper"] == "0.490 (0.040)"
    assert table.loc["k-means", "verdict"] == "agrees: raw and standardised"
    assert len(table) == len(PAPER_PEERS)


def test_real_sets_have_counts_below_their_columns():
    def value(cell):
        if cell.task == "real_sets.trials" and cell.inputs["part"] == "ewp":
            return [row("ewp", 0.99), row("ewp, same rows", 0.01)]
        return None

    last = frame(real_sets.table5_section(Given(value))).iloc[-1]
    count = len({cell.inputs["name"] for cell in real_sets.real_cells()})
    assert last["this, default"] == f"{count} of {count}"
    assert last["this, same rows"] == f"0 of {count}"
    assert glioma.glioma_section(Given(value)) is None
    shown = frame(aims.aims_section(Given(value)))
    assert shown["found"].iloc[0] == f"{count} of {count}"
    assert shown.iloc[0, 2] == ("reached" if count >= 7 else "open")


def test_settings_are_tried_on_a_small_design():
    cells = [
        cell
        for cell in peer_settings.setting_cells()
        if cell.inputs["name"] == "iris" and cell.inputs["scaling"] == "raw"
    ]
    found = peer_settings.at_settings(**{**cells[0].inputs, "count": 1})
    assert cells[0].inputs["count"] == TRIALS
    assert {one["method"] for one in found} == set(PAPER_PEERS)
    assert all(one["low"] == one["nmi"] == one["high"] for one in found)


# -- cells of earlier code ---------------------------------------------------------------------


@pytest.fixture
def stores(toy, tmp_path, monkeypatch):
    """A store of the code at hand, and an archive in which one cell more is of earlier code."""
    cells = [Cell("toy.square", {"x": x}) for x in (2, 3, 4)]
    earlier, store = Store(tmp_path / "earlier"), Store(tmp_path / "now")
    with monkeypatch.context() as before:
        before.setattr("validation.cells.source_digest", lambda chooses=True: "earlier")
        earlier.fill(cells[:2])
        earlier.pack(cells, tmp_path / "cells.gz")
    store.fill(cells[:1])
    return cells, store, Archive(store, tmp_path / "cells.gz")


def test_an_archive_has_what_a_file_kept_and_says_so(stores):
    cells, store, archive = stores
    assert [cell in store for cell in cells] == [True, False, False]
    assert [cell in archive for cell in cells] == [True, True, False]
    assert [is_earlier(archive, cell) for cell in cells] == [False, True, False]
    assert [value for _, value in archive.finished(cells)] == [{"square": 4}, {"square": 9}]
    assert not is_earlier(store, cells[1])


def test_an_archive_is_packed_with_both_kinds(stores, tmp_path):
    cells, store, archive = stores
    assert archive.pack(cells, tmp_path / "both.gz") == 2
    again = Archive(store, tmp_path / "both.gz")
    assert [is_earlier(again, cell) for cell in cells] == [False, True, False]


def test_a_watch_counts_the_cells_of_a_section(stores):
    cells, _, archive = stores
    watch = Watch(archive)
    watch.finished(cells)
    watch.finished(cells)
    assert watch.counts == {"toy.square": 2}
    assert watch.earlier == {"toy.square": 1}


def test_sections_name_their_cells():
    cells = theory.theory_cells()
    kept = {str(cell): cell.compute() for cell in (cells[0], cells[50])}

    class Few(Given):
        def __contains__(self, cell):
            return str(cell) in kept

    page = compose(Few(lambda cell: kept.get(str(cell))), full=False)
    made = [one for sections in page.parts.values() for one in sections]
    (section,) = (one for one in made if one.title.startswith("Theorems"))
    used = "`theory.descent` (1), `theory.uniform` (1)"
    assert section.cells == f"Cells in `cells.jsonl.gz`: {used}."


# -- verdicts at a glance ----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["short.", "a; " * 200, "word " * 100, "`code` and " * 60])
def test_nothing_of_a_verdict_is_lost(text):
    begin, rest = parted(text)
    assert f"{begin} {rest}".split() == text.split()
    assert len(begin) <= 200 or not rest
