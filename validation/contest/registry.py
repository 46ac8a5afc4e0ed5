"""The real sets of the contest, by name: where each comes from and what its classes are.

They were listed before any of them was run: sets of rows by features whose classes are groups that
were not made from the features. Left out are sets that are here already under another name, drawn
by a program, or made of words. Of sets with more than 2,000 rows as many are drawn at random, all
but the paper's. No class reaches a contestant but for their number.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from ewp.datasets import DATASETS
from validation.contest.sources import (
    Reader,
    keel,
    of_folder,
    of_paper,
    penguins,
    r_table,
    sklearn_digits,
    statsmodels_table,
)
from validation.data import FURTHER

__all__ = ["LARGEST", "SETS", "RealSet", "at_hand", "fetch"]

#: Rows that are drawn of a larger set, and the seed with which.
LARGEST = 2000
_SEED = 0


@dataclass(frozen=True)
class RealSet:
    """A real set.

    Attributes
    ----------
    origin : str
        Package or collection that it comes with.
    classes : str
        What the classes are.
    read : callable
        Its reader.
    whole : bool
        Whether all rows are taken, however many.
    """

    origin: str
    classes: str
    read: Reader
    whole: bool = False


_PAPER = {
    "iris": "species",
    "automobile": "risk",
    "mammographic": "malignant or not",
    "newthyroid": "thyroid function",
    "wine": "cultivar",
    "wdbc": "malignant or not",
    "movement_libras": "movement of a hand",
    "wall_robot_4": "movement of a robot",
    "warpAR10P": "person",
    "warpPIE10P": "person",
    "GLIOMA": "kind of tumour",
}
_FURTHER = {
    "coffee": "variety",
    "olive3": "region",
    "olive9": "area",
    "wine27": "cultivar",
    "SRBCT": "kind of tumour",
    "leukemia": "kind of leukemia",
    "colon": "tumour or not",
    "lymphoma": "kind of lymphoma",
    "prostate": "tumour or not",
    "seeds": "variety",
    "ecoli": "place in the cell",
    "yeast": "place in the cell",
    "dermatology": "disease",
}
_KEEL = {
    "australian": "credit granted or not",
    "bands": "band or not",
    "bupa": "disorder of the liver or not",
    "contraceptive": "method",
    "heart": "disease or not",
    "housevotes": "party",
    "ionosphere": "good echo or not",
    "letter": "letter",
    "penbased": "digit",
    "phoneme": "nasal or oral",
    "pima": "diabetes or not",
    "saheart": "disease or not",
    "satimage": "kind of soil",
    "segment": "what the image shows",
    "sonar": "rock or metal",
    "spambase": "spam or not",
    "tae": "grade of teaching",
    "texture": "texture",
    "vehicle": "kind of vehicle",
    "vowel": "vowel",
    "wisconsin": "malignant or not",
}
#: Columns of KEEL's files that are no measures: who spoke, and for which part of a study.
_NO_FEATURES = {"vowel": ("x1", "x2", "x3")}


def _crabs(table: pd.DataFrame) -> pd.Series[str]:
    return table["sp"] + table["sex"]


_R = {
    "crabs": RealSet(
        "R: MASS",
        "species and sex",
        r_table("MASS", "crabs", _crabs, only=("FL", "RW", "CL", "CW", "BD")),
    ),
    "glass": RealSet("R: MASS", "kind of glass", r_table("MASS", "fgl", "type")),
    "diabetes": RealSet("R: heplots", "diagnosis", r_table("heplots", "Diabetes", "group")),
    "skulls": RealSet("R: heplots", "epoch", r_table("heplots", "Skulls", "epoch")),
    "pottery": RealSet(
        "R: heplots", "region", r_table("heplots", "Pottery2", "Region", leave_out=("Kiln",))
    ),
    "neurocog": RealSet(
        "R: heplots", "diagnosis", r_table("heplots", "NeuroCog", "Dx", leave_out=("Age", "Sex"))
    ),
    "socialcog": RealSet("R: heplots", "diagnosis", r_table("heplots", "SocialCog", "Dx")),
    "bigfive": RealSet(
        "R: heplots",
        "origin of students",
        r_table("heplots", "Iwasaki_Big_Five", "Group", leave_out=("ID",)),
    ),
    "possum": RealSet(
        "R: DAAG",
        "population",
        r_table("DAAG", "possum", "Pop", leave_out=("case", "site", "sex", "age")),
    ),
    "leafshape": RealSet(
        "R: DAAG",
        "architecture of the plant",
        r_table("DAAG", "leafshape", "arch", only=("bladelen", "petiole", "bladewid", "arch")),
    ),
    "athletes": RealSet("R: DAAG", "sex", r_table("DAAG", "ais", "sex")),
    "cuckoos": RealSet(
        "R: DAAG", "host species", r_table("DAAG", "cuckoos", "species", leave_out=("id",))
    ),
    "hawks": RealSet(
        "R: Stat2Data",
        "species",
        r_table(
            "Stat2Data",
            "Hawks",
            "Species",
            only=("Species", "Wing", "Weight", "Culmen", "Hallux", "Tail"),
        ),
    ),
    "bodies": RealSet(
        "R: openintro", "sex", r_table("openintro", "bdims", "sex", leave_out=("age",))
    ),
    "cells": RealSet(
        "R: modeldata",
        "well segmented or not",
        r_table("modeldata", "cells", "class", leave_out=("case",)),
    ),
    "leaves": RealSet("R: modeldata", "species", r_table("modeldata", "leaf_id_flavia", "species")),
    "oils": RealSet("R: modeldata", "kind of oil", r_table("modeldata", "oils", "class")),
    "speech": RealSet(
        "R: modeldata",
        "Parkinson's disease or not",
        r_table("modeldata", "pd_speech", "class", leave_out=("gender",)),
    ),
    "scat": RealSet(
        "R: modeldata", "species", r_table("modeldata", "scat", "Species", leave_out=("Year",))
    ),
    "liver": RealSet(
        "R: modeldata",
        "injury of the liver",
        r_table("modeldata", "hepatic_injury_qsar", "class"),
    ),
    "alzheimer": RealSet(
        "R: modeldata", "impaired or not", r_table("modeldata", "ad_data", "Class")
    ),
    "stroke": RealSet(
        "R: modeldata", "stroke or not", r_table("modeldata", "ischemic_stroke", "stroke")
    ),
    "nci60": RealSet("R: ISLR", "kind of cancer", r_table("ISLR", "NCI60", "labs", least=3)),
    "tissues": RealSet("R: dslabs", "tissue", r_table("dslabs", "tissue_gene_expression", "y")),
}

SETS: dict[str, RealSet] = {
    **{name: RealSet("the paper", what, of_paper(name), True) for name, what in _PAPER.items()},
    **{name: RealSet("further files", what, of_folder(name)) for name, what in _FURTHER.items()},
    "digits": RealSet("scikit-learn", "digit", sklearn_digits),
    "anes96": RealSet("statsmodels", "vote", statsmodels_table("anes96", "vote", ("popul", "PID"))),
    "spector": RealSet("statsmodels", "grade", statsmodels_table("spector", "GRADE")),
    "penguins": RealSet("palmerpenguins", "species", penguins),
    **_R,
    **{
        name: RealSet("KEEL", what, keel(name, _NO_FEATURES.get(name, ())))
        for name, what in _KEEL.items()
    },
}
assert set(_PAPER) == set(DATASETS)
assert set(_FURTHER) == set(FURTHER)


@cache
def _drawn(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes, at most `LARGEST` rows of them."""
    table = SETS[name].read()
    if len(table) > LARGEST and not SETS[name].whole:
        rows = np.random.default_rng(_SEED).choice(len(table), LARGEST, replace=False)
        table = table.iloc[np.sort(rows)]
    X = table.drop(columns="class").to_numpy(dtype=float)
    y = np.unique(table["class"].to_numpy(), return_inverse=True)[1]
    return np.ascontiguousarray(X), y


def _hash(name: str) -> str:
    X, y = _drawn(name)
    return hashlib.sha256(X.tobytes() + y.astype(np.int64).tobytes()).hexdigest()[:16]


def fetch(name: str, data: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes of a set, which must be the one that is meant.

    Parameters
    ----------
    name : str
    data : str
        Hash of the set.
    """
    if _hash(name) != data:
        raise ValueError(f"{name} has the hash {_hash(name)}, not {data}: these are other data")
    X, y = _drawn(name)
    return X.copy(), y.copy()


@cache
def at_hand() -> dict[str, str]:
    """Sets that can be read here, with the hashes of their data."""
    found = {}
    for name in SETS:
        try:
            found[name] = _hash(name)
        except FileNotFoundError:
            continue
    return found
