"""The validation's plan, a page from one structure, and honest summaries."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import ewp
from validation import plan
from validation.page import Page, Picture, Section, Table, Verdict, to_html, to_markdown
from validation.published import Figure
from validation.same_starts import draw_starts
from validation.studies import face_images, figures, simulations
from validation.studies.authors_program import authors_variant
from validation.studies.simulation_tables import best_published, summarise, weakness
from validation.studies.theory import _outside
from validation.summaries import mark_of, mean_sd

# -- the plan ---------------------------------------------------------------------------------


def test_the_quick_run_is_the_beginning_of_the_full_one():
    quick, full = plan.everything(False), plan.everything(True)
    assert full[: len(quick)] == quick
    assert {cell.rank for cell in quick} == {0}
    assert len({str(cell) for cell in full}) == len(full)


def test_a_full_run_has_the_papers_trials():
    trials = [cell.inputs for cell in simulations.table2_cells() if cell.inputs["part"] == "ewp"]
    assert sorted({one["size"] for one in trials}) == [20, 100, 200, 500]
    assert all(sum(one["size"] == k for one in trials) == 20 for k in simulations.NUMBERS)
    assert sum(cell.inputs["part"] == "native" for cell in figures.box_cells()) == 2 * 100


# -- the page ---------------------------------------------------------------------------------


@pytest.fixture
def page():
    figure, ax = plt.subplots(figsize=(1, 1))
    ax.plot([0, 1])
    table = Table(pd.DataFrame({"method": ["a | b", "<c>"], "NMI": ["0.9 (0.1)", "–"]}), "Scores")
    section = Section(
        "Table 9: toys",
        Verdict("holds only if", "`x` is **small**, 1 < 2."),
        ["A text.", table, Picture.of("toy", "A line", figure)],
    )
    return Page("Toys", ["Read this."], {"Tables": [section]}, ["Seeds: none."])


def test_html_is_self_contained_and_escaped(page):
    text = to_html(page)
    assert re.findall(r"(?:src|href)='?\"?(?!data:|#)[a-z]+:", text) == []
    assert "data:image/png;base64," in text
    assert "&lt;c&gt;" in text
    assert "<code>x</code> is <strong>small</strong>, 1 &lt; 2." in text
    assert '<a href="#table-9-toys">' in text
    assert 'id="table-9-toys"' in text


def test_markdown_has_the_same_entries(page):
    text = to_markdown(page)
    assert "| a \\| b | 0.9 (0.1) |" in text
    assert "![A line](pictures/toy.png)" in text
    assert "**holds only if** `x` is **small**, 1 < 2." in text
    assert text.count("Table 9: toys") == 3  # in the contents, the verdicts and its heading


def test_a_verdict_has_one_of_few_kinds():
    with pytest.raises(ValueError, match="'maybe' is none of holds"):
        Verdict("maybe", "")


# -- summaries --------------------------------------------------------------------------------


def scores(method, values, scaling="raw"):
    return pd.DataFrame(
        {"method": method, "scaling": scaling, "trial": range(len(values)), "nmi": values}
    )


def test_one_trial_has_no_spread():
    assert mean_sd([0.5]) == "0.500"
    assert mean_sd([]) == "–"


def test_marks_need_six_trials_and_a_difference():
    high, low = pd.Series(np.linspace(0.9, 0.95, 6)), pd.Series(np.linspace(0.1, 0.4, 6))
    assert mark_of(low, high) == " +"
    assert mark_of(high, high) == " ≃"
    assert mark_of(low[:5], high[:5]) == ""


def test_trials_that_fail_from_single_rows_are_counted():
    found = pd.concat([scores("ewp", [1.0] * 4), scores("ewp, same rows", [1.0, 0.6, 0.995, 0.7])])
    found["size"] = 5
    assert "in 2 of 4 at d = 5 (down to 0.60)." in weakness(found, "d")
    assert "in every trial" in weakness(found[found["trial"] == 0], "d")


def test_a_penalty_chosen_on_a_sample_is_in_the_units_of_all_rows(monkeypatch):
    seen = []
    choose = ewp.select_lambda

    def spy(X, k, **options):
        seen.append((len(X), choose(X, k, n_lams=4, **options)))
        return seen[-1][1]

    monkeypatch.setattr(ewp, "select_lambda", spy)
    (row,) = simulations.selected(4, 7)
    ((n, chosen),) = seen
    assert n == 80
    assert row["lam"] / 400 == pytest.approx(chosen.lam / n, rel=1e-12)
    assert (row["method"], row["trial"]) == ("ewp-published", 7)
    (row,) = simulations.bounded(4, 7, "sparse")
    assert row["wbound"] == pytest.approx(5**0.5)
    assert (row["method"], row["scaling"], row["trial"]) == ("sparse", "standardised", 7)


def test_the_best_penalty_is_one_place_of_the_path_for_all_trials():
    path = pd.concat(
        [
            scores("published@0.1", [0.9]),
            scores("published@0.2", [0.5]),
            scores("published@0.11", [0.1]).assign(trial=1),
            scores("published@0.21", [0.8]).assign(trial=1),
        ]
    )
    assert sorted(best_published(path)["nmi"]) == [0.5, 0.8]


def test_peers_stand_at_both_scalings_beside_the_papers_figure():
    table = pd.concat(
        [
            scores("ewp", [1.0, 1.0]),
            scores("kmeans", [0.2, 0.4]),
            scores("kmeans", [0.6, 0.8], "standardised"),
        ]
    )
    column = summarise(table, {"kmeans": Figure(0.3913, 0.002)})
    assert column["k-means, paper"] == "0.391 (0.002)"
    assert column["k-means, raw"] == "0.300 (0.141)"
    assert column["k-means, standardised"] == "0.700 (0.141)"
    assert column["sparse k-means, gap, raw"] == "–"
    assert column["trials"] == "2 of 20"


def test_fewer_trials_than_the_default_are_told():
    table = pd.concat([scores("ewp", [1.0, 1.0]), scores("kmeans", [0.2])])
    assert summarise(table)["k-means, raw"] == "0.200 [1]"


# -- tasks ------------------------------------------------------------------------------------


def test_starts_are_distinct_rows_and_do_not_depend_on_their_number():
    X = np.repeat(np.arange(12.0).reshape(6, 2), 3, axis=0)
    few, many = draw_starts(X, 4, 2, 0), draw_starts(X, 4, 5, 0)
    np.testing.assert_array_equal(few, many[:2])
    assert all(len(np.unique(start, axis=0)) == 4 for start in many)


def test_the_authors_updates_with_one_cluster_are_the_mean():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 2.0, 3.0]
    _, weights, _ = authors_variant(X, 1, 100.0, np.random.default_rng(1))
    expected = np.exp(-50 * X.var(axis=0) / 100.0)
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-10)


def test_distance_from_the_hull():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert _outside(corners, np.array([0.2, 0.2])) == pytest.approx(0.0, abs=1e-12)
    assert _outside(corners, np.array([2.0, 0.0])) == pytest.approx(1.0)


def test_every_module_can_be_imported_by_the_program(tmp_path):
    folder = Path(plan.__file__).parent
    names = [
        ".".join(("validation", *path.relative_to(folder).with_suffix("").parts))
        for path in sorted(folder.rglob("*.py"))
        if "benchmarks" not in path.parts and path.stem != "__init__"
    ]
    assert "validation.studies.figures" in names
    program = "\n".join(
        (
            *(f"import {name}" for name in names),
            "import sys",
            "assert 'tests' not in sys.modules, 'the validation imports its tests'",
        )
    )
    # not from the folder of the scripts, and with nothing of pytest's on the path
    done = subprocess.run([sys.executable, "-c", program], cwd=folder.parent, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


def test_the_share_between_groups_is_an_analysis_of_variance():
    Z = np.array([[0.0, 1.0], [0.0, 3.0], [2.0, 1.0], [2.0, 3.0]])
    assert face_images.share(Z, np.array([0, 0, 1, 1])) == pytest.approx(0.5)
    assert face_images.share(Z, np.arange(4)) == pytest.approx(1.0)
    assert face_images.share(Z, np.zeros(4)) == 0.0
