"""Paths of penalties on real data: what is best in hindsight, and the curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from ewp.drawing import PALETTE, despine
from validation import plan, plan_beyond
from validation.cells import Store
from validation.page import Picture
from validation.sections.published import PAPER

__all__ = ["authors_program", "curves", "hindsight"]


def hindsight(store: Store) -> pd.DataFrame:
    """One row for each path of penalties: its best mean, at which penalty, and how it was made."""
    rows = []
    for cell, value in store.finished(plan.best()):
        rows.append(
            {
                **{key: cell.inputs[key] for key in ("name", "version", "scaling", "form")},
                "variant": cell.inputs["variant"],
                "per_row": value["lams"][value["at"]],
                "nmi": float(np.mean(value["final"])),
                "sd": float(np.std(value["final"], ddof=1)),
                "single": max(max(one) for one in value["tried"]),
            }
        )
    columns = ("name", "version", "scaling", "form", "variant", "per_row", "nmi", "sd", "single")
    return pd.DataFrame(rows, columns=list(columns))


def authors_program(store: Store) -> pd.DataFrame:
    """One row for each path of the authors' program: its best mean, and its best single start."""
    rows = [
        {
            **{key: cell.inputs[key] for key in ("name", "version", "scaling")},
            "form": "within",
            "nmi": max(float(np.mean(one)) for one in value["tried"]),
            "single": max(max(one) for one in value["tried"]),
        }
        for cell, value in store.finished(plan_beyond.program())
    ]
    return pd.DataFrame(rows, columns=["name", "version", "scaling", "form", "nmi", "single"])


def curves(store: Store) -> Picture:
    """NMI along the paths of the published algorithm, a panel a set."""
    kept = [
        (cell.inputs, value)
        for cell, value in store.finished(plan.best())
        if cell.inputs["version"] == "as it is" and cell.inputs["form"] == "within"
    ]
    names = list(dict.fromkeys(inputs["name"] for inputs, _ in kept))
    wide = 4
    figure, axes = plt.subplots(
        -(-len(names) // wide), wide, figsize=(11, 2.3 * -(-len(names) // wide)), squeeze=False
    )
    figure.set_layout_engine("constrained")
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    colours = dict(zip(("raw", "standardised", "range"), PALETTE, strict=False))
    for ax, name in zip(axes.flat, names, strict=False):
        for inputs, value in kept:
            if inputs["name"] != name:
                continue
            order = np.argsort(value["lams"])
            along = np.linspace(0, 1, len(order))
            means = np.array([np.mean(value["tried"][i]) for i in order])
            style = "-" if inputs["variant"] == "default" else ":"
            ax.plot(along, means, style, color=colours[inputs["scaling"]], lw=1.4)
        if name in PAPER:
            ax.axhline(PAPER[name], color="#333333", lw=0.9, ls=(0, (4, 3)))
        ax.set_title(name)
        ax.set_xticks([0, 1], ["one feature", "equal"])
        ax.set_ylim(0, None)
        despine(ax)
    for ax in axes[:, 0]:
        ax.set_ylabel("NMI")
    handles = [plt.Line2D([], [], color=colour, label=name) for name, colour in colours.items()]
    handles += [
        plt.Line2D([], [], color="#555555", ls="-", label="this package"),
        plt.Line2D([], [], color="#555555", ls=":", label="as published"),
        plt.Line2D([], [], color="#333333", ls=(0, (4, 3)), lw=0.9, label="EWP in the paper"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=6, frameon=False)
    caption = (
        "NMI along the penalty, from one feature takes all to equal weights (within form, mean "
        "over 20 random starts, two for the face images)."
    )
    return Picture.of("penalties", caption, figure)
