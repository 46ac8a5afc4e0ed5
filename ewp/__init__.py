"""Entropy Weighted Power k-means: clustering that learns which features matter.

`fit` returns a results object for statisticians, `EWP` is the scikit-learn estimator. Everything
public is importable from here; plots, summaries and the rest load what they need when used.
"""

from ewp import datasets, peers
from ewp.common import __version__ as __version__
from ewp.comparison.compare import compare
from ewp.estimator import EWP, fit
from ewp.results.results import EWPResults
from ewp.select import select_k, select_lambda
from ewp.selection.grid import lambda_path
from ewp.solver.critical_exponent import critical_exponent

__all__ = [
    "EWP",
    "EWPResults",
    "compare",
    "critical_exponent",
    "datasets",
    "fit",
    "lambda_path",
    "peers",
    "select_k",
    "select_lambda",
]
