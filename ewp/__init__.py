"""Entropy Weighted Power k-means: clustering that learns which features matter.

`fit` returns a results object for statisticians, `EWP` is the scikit-learn estimator. Everything
public is importable from here; plots, summaries and the rest load what they need when used.
"""

from ewp import datasets, peers
from ewp.comparison import compare
from ewp.exponent import critical_exponent
from ewp.model import EWP, fit
from ewp.path import lambda_path
from ewp.results import EWPResults
from ewp.selection import select_k, select_lambda

__version__ = "0.1.0"

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
