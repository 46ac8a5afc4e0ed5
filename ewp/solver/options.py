"""Options of a fit as users state them, checked and brought into the order of the data's columns.

What the options are is in `ewp.solver.fit` (`FitOptions`); past this module they are in range, and
nothing is checked again.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from ewp.common.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_jobs,
    check_number,
    check_progress,
)
from ewp.data.arguments import check_init, check_prior
from ewp.data.decorrelation import given_shrinkage, is_decorrelated
from ewp.data.frames import align_to_columns
from ewp.engine.columns import PLAIN, aligned_offset, check_domains, check_offset, column_families
from ewp.solver.critical_exponent import check_exponent
from ewp.solver.fit import FitOptions
from ewp.solver.trimming import trimming_share

__all__ = ["align_options", "check_options", "check_scale"]


def align_options(options: FitOptions, columns: pd.Index | None, rows: Any = None) -> FitOptions:
    """Bring what has an entry per feature into the order of the columns, without its names.

    What has an entry per row is brought into the order of these rows, if they are given.
    """

    def aligned(name: str) -> Any:
        value = align_to_columns(name, getattr(options, name), columns)
        return np.asarray(value) if isinstance(value, pd.Series | pd.DataFrame) else value

    return dataclasses.replace(
        options,
        init=aligned("init"),
        prior=aligned("prior"),
        divergence=aligned("divergence"),
        offset=options.offset if rows is None else aligned_offset(options.offset, rows),
    )


def check_options(options: FitOptions, columns: pd.Index, n: int) -> FitOptions:
    """Check the options of a fit.

    Parameters
    ----------
    options : FitOptions
        As the user stated them, in the order of the columns.
    columns : pandas.Index
        Names of the features.
    n : int
        Number of rows.

    Returns
    -------
    FitOptions
        Checked, with arrays for `init` and `prior`, families of columns for `divergence`, and
        settled if `lam` is a number.
    """
    p = len(columns)
    k = check_integer("n_clusters", options.n_clusters, least=1)
    check_scale(options.scale)
    check_choice("dispersion", options.dispersion, ("auto", "within", "between"))
    check_choice("weights", options.weights, ("common", "cluster", "auto"))
    lam = options.lam
    if isinstance(lam, str):
        check_choice("lam", lam, ("auto",))
    else:
        lam = check_number("lam", lam, above=0)
    trimming_share(options.robust)
    check_jobs(options.n_jobs)
    check_progress(options.progress)
    names = _families(options, columns)
    init = check_init(options.init, k, p)
    if names is not None and not isinstance(init, str):
        check_domains(
            init, names, columns, "centroids to start from have to be such values: mend init"
        )
    checked = dataclasses.replace(
        options,
        n_clusters=k,
        lam=lam,
        eta=check_number("eta", options.eta, above=1),
        n_init=check_starts(options.n_init),
        polish=check_flag("polish", options.polish),
        max_iter=check_integer("max_iter", options.max_iter, least=1),
        tol=check_number("tol", options.tol, above=0),
        s0="auto" if (first := check_exponent(options.s0)) is None else first,
        init=init,
        prior=check_prior(options.prior, p),
        dtype=check_dtype(options.dtype),
        divergence=PLAIN if names is None else names,
        offset=check_offset(options.offset, names, n),
    )
    return checked if isinstance(lam, str) else checked.settle()


def _families(options: FitOptions, columns: pd.Index) -> tuple[str, ...] | None:
    """Families of the columns, which go with what other options ask."""
    names = column_families(options.divergence, columns)
    if names is not None:
        one = isinstance(options.divergence, str)
        given = f"divergence={options.divergence!r}" if one else "divergences by column"
        for name, value, why in (
            ("missing", options.missing == "observed", "such fits need complete rows"),
            ("robust", options.robust is not None, "such fits cannot be trimmed"),
            ("dtype", options.dtype is not None, "such fits are in double precision"),
            ("scale", is_decorrelated(options.scale), "such columns cannot be decorrelated"),
        ):
            if value:
                raise ValueError(
                    f"{name}={getattr(options, name)!r} does not go with {given}: {why}; leave "
                    "one of them out"
                )
    return names


def check_scale(scale: Any) -> None:
    """Check a scaling of the features."""
    if is_decorrelated(scale):
        given_shrinkage(scale)
    else:
        check_choice("scale", scale, ("auto", "standard", None, "decorrelate"))


def check_dtype(dtype: Any) -> str | None:
    """Check a type of floats and return its name; None stays None."""
    if dtype is None:
        return None
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = ""
    if name not in ("float32", "float64"):
        raise ValueError(
            f'dtype={dtype!r} is no type in which rows are computed: give "float64", "float32", '
            "or None for that of the data"
        )
    return name


def check_starts(n_init: Any) -> int | str:
    """Check a number of starts, which may be "auto"."""
    if isinstance(n_init, str):
        if n_init != "auto":
            raise ValueError(f'n_init={n_init!r} must be a positive whole number or "auto"')
        return n_init
    return check_integer("n_init", n_init, least=1)
