"""The report put together from the finished cells, and written to a folder.

`tables.csv` beside it holds the scores of every trial of the simulations and real sets, which a
test compares with a fresh run.
"""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import ewp
from r_bridge import check
from validation import plan
from validation.archive import Watch, is_earlier
from validation.cells import Cell, Store
from validation.contest import chosen_numbers
from validation.contest import sections as contest
from validation.digest import source_digest
from validation.page import Page, Picture, Section, Table, Verdict, to_html, to_markdown
from validation.studies import (
    aims,
    annealing,
    authors_program,
    consistency,
    correlation,
    families,
    figures,
    glioma,
    hindsight,
    missing,
    real_sets,
    selection,
    selective,
    simulation_tables,
    simulations,
    sparcl,
    sparse,
    theory,
    uncertainty,
    variances,
)
from validation.summaries import scores_of

__all__ = ["restamp", "write"]

#: Name of the row of the report that holds the hash of the code, and how many of its digits.
_STAMP, _DIGITS = "hash of the modules that compute", 16
_PARTS: dict[str, tuple[Callable[[Store], Section | None], ...]] = {
    "Aims": (aims.aims_section,),
    "The paper's tables": (
        simulation_tables.table1_section,
        simulation_tables.table2_section,
        glioma.glioma_section,
        real_sets.table4_section,
        real_sets.table5_section,
    ),
    "The contest": (
        contest.real_section,
        contest.designs_section,
        chosen_numbers.numbers_section,
    ),
    "The paper's figures": (
        figures.figure1_section,
        figures.figure2_section,
        figures.boxes_section,
    ),
    "sparcl": (sparcl.agreement_section,),
    "What the paper leaves open": (
        variances.spread_section,
        hindsight.scaling_section,
        annealing.exponent_section,
        variances.forms_section,
        annealing.polish_section,
        annealing.sensitivity_section,
        authors_program.penalty_section,
        authors_program.authors_section,
        theory.theorems_section,
    ),
    "Beyond the paper": (
        selection.choosing_section,
        consistency.consistency_section,
        uncertainty.uncertainty_section,
        selective.differences_section,
        sparse.wide_section,
        sparse.annealed_section,
        correlation.correlation_section,
        missing.missing_section,
        families.families_section,
    ),
}


def _ending(store: Store, cells: list[Cell]) -> list[str | Table]:
    """Environment, seeds, and what is finished."""
    done = sum(cell in store for cell in cells)
    old = sum(is_earlier(store, cell) for cell in cells)
    stale = (
        f"**{old} of them were computed by earlier code** and are to be made anew. " if old else ""
    )
    found = check()
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "joblib")
    rows = [
        ("ewp", ewp.__version__),
        (_STAMP, source_digest()[:_DIGITS]),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in packages),
        ("R", found.r_version or "–"),
        ("sparcl", found.sparcl or "–"),
        ("system", f"{platform.system()}, {platform.machine()}"),
    ]
    return [
        f"{done} of {len(cells)} cells of the full run are finished. {stale}A cell is one trial of "
        "a simulation, the trials or a path of penalties on a real set, one draw of a study, or "
        "some data sets of a long one; it is kept under a hash of its inputs and of the code. "
        "`make validate FULL=1` goes on with the others and writes this page again; `make "
        "validate` makes a small version in minutes. Nothing here is edited by hand.",
        "Seeds: trial t of a simulation draws its data, its starting centroids and every method's "
        "random numbers from the seed t, counted from 0, and so do the data sets of the other "
        "studies. Real sets have the seed 0, and starting centroids drawn one after the other from "
        "it. NMI has the arithmetic mean of the entropies as its normaliser, as in the authors' "
        "code.",
        Table(pd.DataFrame(rows, columns=["environment", ""]), "Versions"),
    ]


def _made(make: Callable[[Store], Section | None], store: Store) -> Section | None:
    """Make a section, and note from which cells."""
    watch = Watch(store)
    section = make(cast("Store", watch))
    if section is None or not watch.counts:
        return section
    used = ", ".join(f"`{task}` ({count})" for task, count in sorted(watch.counts.items()))
    old = sum(watch.earlier.values())
    note = f"; {old} of them are of earlier code" if old else ""
    cells = f"Cells in `cells.jsonl.gz`: {used}{note}."
    if not old:
        return dataclasses.replace(section, cells=cells)
    # a verdict on old numbers has to say so where it is read, and it is mostly read in the list
    count = sum(watch.counts.values())
    text = f"{section.verdict.text} (Of earlier code: {old} of {count} cells.)"
    return dataclasses.replace(section, verdict=Verdict(section.verdict.kind, text), cells=cells)


def compose(store: Store, full: bool) -> Page:
    """Make all sections for which there are cells."""
    parts = {}
    for name, makers in _PARTS.items():
        sections = [section for make in makers if (section := _made(make, store)) is not None]
        if sections:
            parts[name] = sections
    lead = [
        "Entropy Weighted Power k-means (Chakraborty, Paul, Das and Xu, AISTATS 2020), tried again "
        "from scratch: the paper's tables and figures with the published algorithm, with this "
        "package, and with their peers, among them the R package sparcl. Each section opens with a "
        "verdict: **holds**, **holds only if**, **does not hold**; **new** is what the paper does "
        "not contain.",
        "Scores compare a partition with known classes: NMI, normalised mutual information, and "
        "ARI, the adjusted Rand index, are 1 for the same partition; for labels drawn at random "
        "ARI is 0 on average, NMI is above 0 and near 0.5 with few rows a cluster. Brackets behind "
        "a mean hold the standard deviation (sd) between trials, draws or starts, as a table "
        "says. A penalty “a row” is λ / n. Features are raw, standardised, divided by their range, "
        "or decorrelated. In the within form, the paper's, weight goes to features with a small "
        "dispersion within clusters, in the between form to those with a large one between "
        "clusters.",
        "“EWP as published” is Algorithm 1 (s0 = −1, η = 1.05, no polish), iterated to its limit. "
        "“This package's default” is `ewp.EWP(k)`: critical exponent, polish, and λ, scaling and "
        "form chosen without labels. What is best “in hindsight” has seen the labels and is no "
        "method.",
    ]
    every = plan.everything(True)
    if old := sum(is_earlier(store, cell) for cell in every):
        lead.append(
            f"**Of {sum(cell in store for cell in every)} finished cells {old} were computed by "
            "earlier code** and may differ from those of the code as it is, and from each other: "
            "the same fit can have another NMI in two sections. Every verdict that rests on such "
            "cells says so."
        )
    if not full:
        lead.append("**This is the quick version: few trials, small k.**")
    return Page(
        "Does it hold? Entropy weighted power k-means, validated",
        lead,
        parts,
        _ending(store, every),
    )


def write(store: Store, out: Path, *, full: bool) -> None:
    """Write ``index.html``, ``README.md``, the pictures and the scores of all trials.

    Parameters
    ----------
    store : Store
    out : Path
        Folder, made if it is missing.
    full : bool
        Whether this is a full run's report.
    """
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10})
    np.seterr(all="ignore")
    page = compose(store, full)
    folder = out / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.png"):
        stale.unlink()
    for sections in page.parts.values():
        for section in sections:
            for item in section.items:
                if isinstance(item, Picture):
                    (folder / f"{item.name}.png").write_bytes(item.data)
    (out / "index.html").write_text(to_html(page), encoding="utf-8")
    (out / "README.md").write_text(to_markdown(page), encoding="utf-8")
    trials(store).to_csv(out / "tables.csv", index=False)


def restamp(out: Path) -> None:
    """Put the hash of the present code into a report whose cells it has adopted.

    Parameters
    ----------
    out : Path
        Folder of the report.
    """
    stamp = re.compile(rf"({_STAMP}[^\n]*?)\b[0-9a-f]{{{_DIGITS}}}\b")
    for path in (out / "index.html", out / "README.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(stamp.sub(rf"\g<1>{source_digest()[:_DIGITS]}", text), encoding="utf-8")


def trials(store: Store) -> pd.DataFrame:
    """Scores of every trial of Tables 1, 2 and 5."""
    columns = ["data", "size", "method", "scaling", "trial", "nmi", "ari"]
    simulated = scores_of(store, [*simulations.table1_cells(), *simulations.table2_cells()])
    found = [simulated.rename(columns={"design": "data"})] if len(simulated) else []
    sets = scores_of(store, real_sets.real_cells())
    if len(sets):
        found.append(sets.assign(data=sets["name"] + ", " + sets["version"], size=0))
    if not found:
        return pd.DataFrame(columns=columns)
    return pd.concat(found)[columns].sort_values(columns[:5], kind="stable")
