"""The study of missing values: what its section says is what its cells say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.sections import Given, frame
from validation import recordings
from validation.studies import missing

LOSS = {"complete data": 0.0, "its centroids": 0.2, "observed": 0.2, "mean imputed": 1.0}


def value(cell):
    """Figures that fall with the share of what is missing."""
    share = cell.inputs["share"]
    if cell.task == "missing.holes":
        return {"ratio, observed": 1.0, "ratio, mean imputed": 1.0 - share}
    if cell.task == "missing.not_random":
        names = ("largest values missing", "at random")
        figures = ("{}", "error of means, {}", "two groups, {}")
        return {one.format(name): 0.9 - share for name in names for one in figures}
    found = {name: 0.9 - loss * share for name, loss in LOSS.items()}
    if cell.task == "missing.real":
        refined = {f"refined, {name}": 0.95 - loss * share for name, loss in LOSS.items()}
        found |= refined | {"refined, its mixture": 0.95, "refined, iterative imputer": 0.5}
        found["iterative imputer"] = 0.65
    return found


def test_the_section_says_what_its_cells_say(monkeypatch):
    sets = dict.fromkeys(missing.REAL, "0")
    monkeypatch.setattr(missing, "available", lambda: sets)
    monkeypatch.setattr(missing, "further", dict)
    section = missing.missing_section(Given(value))
    assert section.verdict.kind == "new"
    told = section.verdict.text
    assert "0.860 on simulation 2 (complete data 0.900, imputed by means 0.700)" in told
    assert "0.860, 0.040 less than on complete data; 0.040 is lost even with the" in told
    assert "Imputed by means it is 0.700, by regressions 0.650." in told
    assert "Refined by mixtures it is 0.910 (complete data 0.950, imputed by reg" in told
    fits, mixtures = frame(section), frame(section, 1)
    assert len(fits) == (2 + len(missing.REAL)) * len(missing.SHARES)
    row = fits.set_index(["data", "missing"]).loc[("iris", "20 %")]
    assert row["observed"].startswith("0.860")
    assert row["complete rows"] == "–"
    assert row["k-POD"] == f"{recordings.k_pod('iris', 0.2):.3f}"
    assert len(mixtures) == len(missing.REAL) * len(missing.SHARES)
    assert mixtures["its mixture"].str.startswith("0.950").all()
    assert any("because they are large" in item for item in section.items if isinstance(item, str))


def test_there_is_no_section_without_cells():
    assert missing.missing_section(Given(lambda cell: None)) is None


def test_k_pod_is_recorded_for_all_designs():
    for name in (*missing.REAL, "simulation 2, raw", "simulation 2, standardised"):
        for share in missing.SHARES:
            assert 0.0 <= recordings.k_pod(name, share) <= 1.0
    assert recordings.k_pod("olive9", 0.2) is None


def test_a_refined_cell_has_all_its_figures():
    found = missing.standard_fits(*_small(), 2, 0.1, 0)
    assert {f"refined, {name}" for name in missing.REFINED} <= set(found)
    assert found["refined, complete data"] == pytest.approx(1.0, abs=0.1)


def _small():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    return rng.normal(size=(90, 3)) + 4.0 * y[:, None], y
