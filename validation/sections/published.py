"""What the paper reports for EWP, to stand beside what is found here."""

from __future__ import annotations

__all__ = ["PAPER"]

#: Normalised mutual information of EWP in the paper, by data set.
PAPER = {
    "simulation 1, d = 5": "0.91-0.96",
    "simulation 1, d = 20": "0.91-0.96",
    "simulation 1, d = 100": "0.91-0.96",
    "simulation 2, k = 20": "0.98-0.99",
    "iris": "0.849",
    "automobile": "0.311",
    "mammographic": "0.405",
    "newthyroid": "0.532",
    "wine": "0.747",
    "wdbc": "0.656",
    "movement_libras": "0.575",
    "warpAR10P": "0.350",
    "warpPIE10P": "0.276",
    "GLIOMA": "0.594",
}
