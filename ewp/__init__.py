"""Entropy Weighted Power k-means: clustering that learns which features matter.

`fit` returns a results object for statisticians, `EWP` is the scikit-learn estimator. Everything
public is importable from here; plots, summaries and the rest load what they need when used. The
modules themselves are loaded when the first name is asked for, so that the command line can answer
an interrupt that comes before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ewp.common import __version__ as __version__

if TYPE_CHECKING:
    from ewp import datasets, peers
    from ewp.comparison.compare import compare
    from ewp.data.outliers import OutlierWarning
    from ewp.data.scales import ScaleWarning
    from ewp.display.evidence import NoClustersWarning
    from ewp.estimator import EWP, fit
    from ewp.results.results import EWPResults
    from ewp.select import select_k, select_lambda
    from ewp.selection.grid import lambda_path
    from ewp.solver.critical_exponent import critical_exponent

__all__ = [
    "EWP",
    "EWPResults",
    "NoClustersWarning",
    "OutlierWarning",
    "ScaleWarning",
    "compare",
    "critical_exponent",
    "datasets",
    "fit",
    "lambda_path",
    "peers",
    "select_k",
    "select_lambda",
]

_HOMES = {
    "EWP": "estimator",
    "EWPResults": "results.results",
    "NoClustersWarning": "display.evidence",
    "OutlierWarning": "data.outliers",
    "ScaleWarning": "data.scales",
    "compare": "comparison.compare",
    "critical_exponent": "solver.critical_exponent",
    "fit": "estimator",
    "lambda_path": "selection.grid",
    "select_k": "select",
    "select_lambda": "select",
}


def __getattr__(name: str) -> Any:
    """Load the package when a name of it is asked for that is not there yet."""
    if not name.startswith("__"):
        for home in ("datasets", "peers", *_HOMES.values()):
            import_module(f"ewp.{home}")
        for public, home in _HOMES.items():
            globals()[public] = getattr(import_module(f"ewp.{home}"), public)
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'ewp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
