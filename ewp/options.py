"""The options of `ewp.EWP`, checked: from what a user wrote to the recipe of a fit."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from ewp.candidates import Family
from ewp.checks import check_choice, check_flag, check_integer, check_jobs, check_number
from ewp.choice import families
from ewp.fitting import Recipe
from ewp.inputs import aligned, check_prior
from ewp.polish import FULL, NONE
from ewp.starts import check_init

__all__ = ["check_exponent", "check_options"]


#: Closer to zero the power mean gives rows next to a centroid nearly all influence, and rounding
#: errors of their distances show in the objective.
_SOFTEST = -0.1


def check_exponent(s0: Any) -> float | None:
    """Check the option `s0`: None for "auto", else a number, perhaps ``-inf``."""
    if isinstance(s0, str):
        check_choice("s0", s0, ("auto",))
        return None
    if s0 == -math.inf:
        return -math.inf
    number = check_number("s0", s0, below=0)
    if number > _SOFTEST:
        raise ValueError(f"s0={s0!r} must be {_SOFTEST:g} or less; the paper's choice is -1")
    return number


def check_options(
    model: Any, p: int, columns: pd.Index | None = None
) -> tuple[Recipe, list[Family]]:
    """Check an estimator's options for data with p features, perhaps with names.

    Returns
    -------
    recipe : Recipe
        The options of a fit; its penalty is NaN if `lam` is "auto".
    families : list of Family
        The scalings with forms that are open if `lam` is "auto", none otherwise.
    """
    k = check_integer("n_clusters", model.n_clusters, least=1)
    scale = check_choice("scale", model.scale, ("auto", "standard", None))
    dispersion = check_choice("dispersion", model.dispersion, ("auto", "within", "between"))
    open_families: list[Family] = []
    lam = math.nan
    if isinstance(model.lam, str):
        check_choice("lam", model.lam, ("auto",))
        open_families = families(scale, dispersion)
    else:
        lam = check_number("lam", model.lam, above=0)
    check_jobs(model.n_jobs)
    check_flag("progress", model.progress)
    recipe = Recipe(
        n_clusters=k,
        lam=lam,
        s0=check_exponent(model.s0),
        eta=check_number("eta", model.eta, above=1),
        init=check_init(aligned("init", model.init, columns), k, p),
        n_init=check_integer("n_init", model.n_init, least=1),
        standardise=scale == "standard",
        between=dispersion == "between",
        prior=check_prior(aligned("prior", model.prior, columns), p),
        polish=FULL if check_flag("polish", model.polish) else NONE,
        max_iter=check_integer("max_iter", model.max_iter, least=1),
        tol=check_number("tol", model.tol, above=0),
    )
    return recipe, open_families
