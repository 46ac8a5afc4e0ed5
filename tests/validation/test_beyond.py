"""What the validation adds to the paper: tables that say what their cells say."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

import ewp
from tests.support.sections import Given, frame
from validation import plan
from validation.cells import Cell
from validation.data import DESIGNS, load
from validation.same_starts import draw_starts
from validation.studies import (
    annealing,
    authors_program,
    consistency,
    correlation,
    real_sets,
    selection,
    selective,
    sparse,
    uncertainty,
)

ROOT = Path(__file__).parents[2]
CELLS = ROOT / "validation" / "report" / "cells.jsonl.gz"


def test_consistency_is_the_same_after_it_was_kept():
    X = ewp.datasets.make_simulation2(3, n=400, p=6, n_relevant=3, random_state=0).X
    found = ewp.fit(X, 3, lam=0.05 * len(X)).consistency([50, 100, 200], 4, random_state=0)
    kept = json.loads(json.dumps(consistency._plain(found), default=float))
    again = consistency.results_of(kept)
    assert str(again) == str(found)
    assert again.verdict == found.verdict
    np.testing.assert_array_equal(again.replicates.to_numpy(), found.replicates.to_numpy())
    assert (
        again.plot().get_legend_handles_labels()[1] == found.plot().get_legend_handles_labels()[1]
    )


def intervals(cell):
    """Cells in which one of two methods covers one of two weights, and tests reject the first."""
    if cell.task == "uncertainty.solution":
        if not cell.inputs["design"].startswith("Simulation"):
            return None
        return {"weights": [0.5, 0.3], "centroids": [[0.0, 0.0], [9.0, 9.0]]}
    if cell.task == "uncertainty.interval_ends" and cell.inputs["first"] == 0:
        both, one = ([0.4, 0.2], [0.6, 0.4]), ([0.4, 0.31], [0.6, 0.4])
        ends = {"auto": both, "percentile": one}
        found = [
            {"seed": 0, "method": method, "lower": low, "upper": high}
            for method, (low, high) in ends.items()
        ]
        # the clusters are the other way round, and one of the four intervals is beside
        found[0]["centroids"] = {
            "centroid": [[9.1, 9.1], [0.1, 0.1]],
            "lower": [[8.0, 9.05], [-1.0, -1.0]],
            "upper": [[10.0, 10.0], [1.0, 1.0]],
        }
        return found
    if cell.task == "uncertainty.pure_noise" and cell.inputs["first"] == 0:
        wide, point = {"lower": 1e-9, "upper": 0.999}, {"lower": 0.9, "upper": 0.999}
        return [
            {"seed": seed, "start": start, "weight": 0.99, "dissolved": 0.25, **ends}
            for seed, start, ends in (
                (0, "scratch", wide),
                (0, "estimates", point),
                (1, "scratch", wide),
                (1, "estimates", point),
            )
        ]
    if cell.task == "uncertainty.level" and cell.inputs["first"] == 0:
        relevant = uncertainty.LEVEL[cell.inputs["design"]].relevant
        own = [0.01] * relevant + [0.5] * (9 - relevant) + [0.05]
        return [{"seed": 0, "p_value": own, "careless": [0.01] * 10}]
    return None


def test_coverage_and_level_are_counted_by_feature():
    section = uncertainty.uncertainty_section(Given(intervals))
    covered = frame(section).set_index(["of", "method"])
    assert set(covered["design"]) == {"Simulation 2, k = 5, p = 20, n = 500"}  # no weights, no row
    assert covered.loc[("weights", "auto"), "coverage, %"] == "100.0"
    row = covered.loc[("centroids", "auto")]
    assert (row["coverage, %"], row["lowest of a feature"]) == ("75.0", "50.0")
    row = covered.loc[("weights", "percentile")]
    found = [row[name] for name in ("coverage, %", "lowest of a feature", "highest")]
    assert found == ["50.0", "0.0", "100.0"]
    noise = frame(section, 1).set_index("resamples fitted from")
    wide = noise["interval from below 0.05 to above 0.95, %"]
    assert wide.to_dict() == {"scratch": "100.0", "estimates": "0.0"}
    assert (noise["cluster is another one, % of resamples"] == "25.0").all()
    level = frame(section, 2).set_index("design")
    assert level.loc["Simulation 2, raw", "noise, % rejected"] == f"{100 / 7:.1f}"
    assert level.loc["Simulation 2, raw", "relevant, % rejected"] == "100.0"
    assert level.loc["no clusters, standardised", "noise, % rejected"] == "10.0"
    assert level.loc["no clusters, standardised", "relevant, % rejected"] == "–"
    assert (level["careless test, noise"] == "100.0").all()


def test_intervals_are_those_of_the_bootstrap():
    one, two, _ = uncertainty.interval_ends("overlapping, k = 3, p = 10, n = 400", 3, 1, n_boot=20)
    design = uncertainty.COVERAGE["overlapping, k = 3, p = 10, n = 400"]
    results, X = design.fit(400, np.random.default_rng([3, 1]))
    assert X.shape == (400, 10)
    found = results.bootstrap(20, random_state=3)
    for row, method in ((one, "auto"), (two, "bca")):
        table = found.weight_intervals(0.95, method).iloc[:4]
        assert row["method"] == method
        assert row["lower"] == table["lower"].tolist()
    upper = found.centroid_intervals().set_index(["cluster", "feature"])["upper"]
    wanted = upper.loc[(2, results.feature_names[3])]
    assert one["centroids"]["upper"][2][3] == pytest.approx(wanted, abs=1e-6)


def test_on_pure_noise_both_starts_are_compared():
    one, two = uncertainty.pure_noise("pure noise, k = 3, p = 6, n = 300", 0, 1, n_boot=40)
    assert (one["start"], two["start"]) == ("scratch", "estimates")
    assert one["weight"] == two["weight"] > 0.99
    assert one["upper"] - one["lower"] > two["upper"] - two["lower"]


def test_rejections_of_differences_are_counted_by_kind_of_data():
    def value(cell):
        if cell.inputs["first"] or cell.inputs["p"] == 100:
            return None
        groups = selective.DRAWS[cell.inputs["kind"]] > 0
        p = [0.01, 0.05, 0.5] if groups else [0.5, 0.04, 0.3]
        one = {"seed": 0, "p_value": p, "naive": [1e-9] * 3, "missed": True}
        other = {"seed": 1, "p_value": [0.9] * 3, "naive": [0.2] * 3, "missed": False}
        if not groups:
            return [one, other]
        known = {"oracle": 1e-9, "agreement": 1.0}
        missed = {**other, "oracle": 0.1, "agreement": 0.2}
        return [{**one, **known}, {**other, **known}, missed, missed]

    section = selective.differences_section(Given(value))
    level, power = (frame(section, i).set_index("data") for i in (0, 1))
    groups = [kind for kind in selective.DRAWS if selective.DRAWS[kind]]
    assert (len(level), len(power)) == (2 * len(selective.DRAWS) - 2 * len(groups), 2 * len(groups))
    assert (level["means, % rejected"] == "0.0").all()
    rest = ["first feature", "t test, heaviest", "better partition missed, %"]
    assert (level[rest] == "50.0").all(axis=None)
    names = ["groups found, %", "means, % rejected", "first feature", "t test, groups known"]
    assert (power[names] == "50.0").all(axis=None)
    assert section.verdict.text.endswith(
        "reject 0.0 to 50.0 % of the null hypotheses where there are no clusters, a t test of "
        "the heaviest feature 50.0 %; "
        "where groups lie 5 standard deviations apart and were found, they reject 50.0 %."
    )
    assert selective.differences_section(Given(lambda cell: None)) is None


def test_differences_are_tested_data_set_by_data_set():
    one, two = selective.differences("two groups", 5, 0, 2, n_refits=1)
    assert (one["seed"], two["seed"]) == (0, 1)
    assert len(one["p_value"]) == len(one["naive"]) == 3
    assert one["naive"][1] < 1e-9
    assert one["oracle"] < 1e-9
    assert one["agreement"] > 0.9
    (noise,) = selective.differences("normal", 5, 3, 1, n_refits=1)
    assert "oracle" not in noise
    assert not noise["missed"]


def test_a_choice_from_the_classes_is_judged_by_its_objective():
    found = selection.chosen("no noise", "", 0, "predictive")
    assert found["nmi"] > 0.98
    assert found["from_classes"] == pytest.approx(found["nmi"])
    assert abs(found["excess"]) < 1e-6


def choices(cell):
    """Two sets: on iris the range has the better score and NMI, on wine the better score only."""
    name = cell.inputs.get("name")
    if name not in ("iris", "wine") or cell.inputs.get("criterion", "predictive") != "predictive":
        return None
    if cell.task == "selection.with_range":
        nmi = {"iris": 0.9, "wine": 0.7}[name]
        return {"within": {"score": 3.0, "nmi": nmi}, "between": {"score": 1.0, "nmi": 0.0}}
    if cell.task == "selection.possible":
        return {"best": 0.95, "k-means, raw": 0.4, "k-means, standardised": 0.6}
    own = {"iris": 0.8, "wine": 0.876}[name]
    return {
        "nmi": own,
        "score": 2.0,
        "scaling": "none",
        "form": "within",
        "from_classes": 0.9,
        "excess": {"iris": -0.1, "wine": 0.1}[name],
    }


def test_choices_stand_beside_what_was_possible():
    section = selection.choosing_section(Given(choices))
    table = frame(section).set_index("data")
    assert table.loc["iris", "predictive (default)"] == "0.800"
    assert table.loc["iris", "k-means"] == "0.600"
    assert table["objective"].tolist() == ["lower", "higher"]
    assert any("iris (0.15)" in item for item in section.items if isinstance(item, str))
    # one set is won by the range, the other one lost
    assert "on 1 of 2 sets; it is on 1." in section.items[-1]


def test_the_authors_program_is_judged_by_its_best_mean():
    def value(cell):
        if cell.inputs["name"] == "iris" and cell.inputs["scaling"] == "raw":
            return {"lams": [1.0, 2.0], "tried": [[0.2, 0.9], [0.6, 0.6]]}
        return None

    (row,) = authors_program.best_of_program(Given(value)).to_dict("records")
    assert row["nmi"] == pytest.approx(0.6)
    assert row["single"] == pytest.approx(0.9)


def test_the_program_runs_from_the_same_rows():
    found = authors_program.path("iris", "as it is", "", "raw", lams=3, count=2)
    X, y, k = load("iris")
    starts = draw_starts(X, k, 2, 0)
    labels, _, _ = authors_program.authors_variant(
        X, k, found["lams"][1] * len(X), np.random.default_rng([0, 1]), start=starts[1]
    )
    assert found["tried"][1][1] == pytest.approx(normalized_mutual_info_score(y, labels), abs=1e-6)
    assert np.diff(np.log(found["lams"])) == pytest.approx(
        [np.log(found["lams"][1] / found["lams"][0])] * 2
    )


def test_criteria_are_relative_to_the_best_of_all():
    def value(cell):
        if cell.task != "sparse.annealed" or cell.inputs["name"] != "iris":
            return None
        parts = {
            title: {"bound": 1.3, "criterion": [1.0, 2.0], "nmi": [0.5, 0.7]}
            for title in sparse.ALGORITHMS
        }
        parts["annealed"]["criterion"] = [4.0, 4.0]
        return parts

    section = sparse.annealed_section(Given(value))
    row = frame(section).iloc[0]
    assert row["annealed"] == "1.0000 (2)"
    assert row["Lloyd"] == "0.3750 (0)"
    assert frame(section, 1).iloc[0]["Lloyd"] == "0.600"
    assert "in 3 of 3 cases" in section.verdict.text


def numbers(value):
    """All numbers in a value, in their order."""
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in numbers(value[key])]
    if isinstance(value, list):
        return [x for one in value for x in numbers(one)]
    return [float(value)] if isinstance(value, int | float) else []


@cache
def committed():
    """Values of the committed cells by task and inputs, whatever the data's hash."""
    lines = gzip.decompress(CELLS.read_bytes()).splitlines()
    kept = [json.loads(json.loads(line)[1]) for line in lines]
    cells = (Cell(one["task"], one["inputs"]) for one in kept)
    return {without_data(str(cell)): one["value"] for cell, one in zip(cells, kept, strict=True)}


def without_data(text):
    return re.sub(r"data=\w*", "", text)


SECTIONS = (
    real_sets.table5_section,
    selection.choosing_section,
    consistency.consistency_section,
    uncertainty.uncertainty_section,
    sparse.wide_section,
    sparse.annealed_section,
    correlation.correlation_section,
)


@pytest.mark.parametrize("seed", range(5))
def test_sections_are_made_from_whatever_is_finished(seed):
    rng = np.random.default_rng(seed)
    share = rng.choice([0.1, 0.3, 0.7])
    drawn = {}

    def value(cell):
        found = committed().get(without_data(str(cell)))
        return found if drawn.setdefault(str(cell), rng.random() < share) else None

    made = [section for make in SECTIONS if (section := make(Given(value))) is not None]
    texts = [item for one in made for item in one.items if isinstance(item, str)]
    assert made
    for text in [*texts, *(one.verdict.text for one in made)]:
        assert "nan" not in text.split()
        assert "of 0" not in text


def test_numbers_of_the_documentation_are_those_of_the_report():
    text = (ROOT / "vignettes" / "site" / "explanation" / "measured.md").read_text()
    store = Given(lambda cell: committed().get(without_data(str(cell))))
    shown = []
    section = consistency.consistency_section(store)
    slopes = next(item for item in section.items if isinstance(item, str))
    shown += re.findall(r"[−\d.]+ \[[^]]+\]", slopes)
    assert len(shown) == 4
    section = uncertainty.uncertainty_section(store)
    intervals, on_noise, tests = (frame(section, number) for number in range(3))
    for what, own in intervals[intervals["method"] == "auto"].groupby("of"):
        shown += [f"{value} %" for value in own["coverage, %"]]
        if what == "weights":
            ends = own["lowest of a feature"], own["highest"]
            shown += [f"{min(ends[0], key=float)} % to {max(ends[1], key=float)} %"]
    wide = on_noise["interval from below 0.05 to above 0.95, %"]
    shown += [f"{share} % of the intervals" for share in wide]
    noise = tests["noise, % rejected"]
    shown += [f"{min(noise, key=float)} % to {max(noise, key=float)} %"]
    polish = frame(annealing.polish_section(store))
    kept = polish[["from −1, no polish", "from s_c, no polish", "from s_c, polish"]]
    shown += [" | ".join(row) for row in kept.to_numpy()]
    assert [one for one in shown if one not in text] == []


COMMITTED = {
    "selection.possible": {"name": "no noise", "seed": 0},
    "uncertainty.solution": {"design": "overlapping, k = 3, p = 10, n = 400"},
    "uncertainty.level": {"design": "Simulation 2, raw", "first": 0},
    "sparse.annealed": {"name": "feature selection", "bound": "middle"},
    "correlation.partitions": {"design": "factor noise", "correlated": True, "seed": 0},
}


@pytest.mark.parametrize("task", list(COMMITTED))
def test_committed_cells_are_what_the_code_computes(task):
    (cell,) = [
        cell
        for cell in plan.everything(True)
        if cell.task == task and COMMITTED[task].items() <= cell.inputs.items()
    ]
    old, new = (
        np.array(numbers(committed()[without_data(str(cell))])),
        np.array(numbers(cell.compute())),
    )
    assert len(old) == len(new) > 1
    # a row, or a start, may go elsewhere on another machine
    assert np.median(np.abs(new - old)) <= 1e-6
    assert new.mean() == pytest.approx(old.mean(), rel=0.02, abs=0.02)


def test_designs_have_their_classes():
    for name, draw in DESIGNS.items():
        X, y = draw(1)
        assert len(X) == len(y)
        assert np.isfinite(X).all()
        assert len(np.unique(y)) > 1, name
