"""The study of counts, answers, gross errors and weights of every cluster."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.sections import Given, frame
from validation.studies import families


def value(cell):
    """Figures that reach every aim but one."""
    if cell.task == "families.counts":
        names = families._COUNT_METHODS
        found = dict.fromkeys(names, 0.2) | {"poisson, sizes": 1.0 - 0.02 * cell.inputs["extra"]}
        return found | {"weight of relevant genes": 0.5}
    if cell.task == "families.binary":
        return dict.fromkeys(families._BINARY_METHODS, 0.97) | {"k-means": 0.98}
    if cell.task == "families.outliers":
        return {"without errors": 1.0, "trimmed": 0.99, "not trimmed": 0.3}
    own = cell.inputs["design"].startswith("own")
    names = families._SUBSPACE_METHODS
    return dict(zip(names, (0.8 if own else 0.9, 0.99 if own else 0.9, 0.9), strict=True)) | {
        "chosen rightly": 1.0
    }


def test_the_section_says_what_its_cells_say():
    section = families.families_section(Given(value))
    assert section.verdict.text == (
        "7 of 8 aims are reached; missed: "
        "yes or no: at least k-means (at worst -0.010 in the mean)."
    )
    aims = frame(section).set_index("aim")
    assert aims.loc["counts: poisson with sizes at least 0.95", "found"] == "lowest 0.980"
    assert aims.loc["yes or no: at least k-means", "reached"] == "**missed**"
    counts = frame(section, 1)
    assert len(counts) == len(families.EXTRA)
    assert counts["poisson, sizes"].iloc[-1].startswith("0.980")
    assert len(frame(section, 4)) == len(families.SUBSPACES)


def test_there_is_no_section_without_cells():
    assert families.families_section(Given(lambda cell: None)) is None


def test_counts_are_drawn_as_they_are_said_to_be():
    X, labels, means, sizes = families.count_design(0.0, 0)
    assert X.shape == (300, 500)
    assert means.shape == (3, 500)
    assert sizes.max() / sizes.min() == pytest.approx(10.0, rel=0.1)
    assert (means[:, 50:] == means[0, 50:]).all()
    assert (means[1:, :50] != means[0, :50]).all()
    expected = sizes[:, None] * means[labels]
    z = (X - expected).sum() / np.sqrt(expected.sum())
    assert abs(z) < 4.0
