"""What there is to compute, section by section, in the order of its worth.

Rank 0 is the quick run. A full run goes on from there: the quick cells are among its own. The
last ranks are what takes hours; the report says how many trials every number rests on.
"""

from __future__ import annotations

from validation import recordings
from validation.available import available
from validation.cells import Cell
from validation.plan_beyond import beyond
from validation.tasks.real import MENDED

__all__ = ["NOISE", "NUMBERS", "TRIALS", "available", "everything"]

TRIALS = 20
#: Noise features of Table 1, numbers of clusters of Table 2.
NOISE = (5, 10, 20, 50, 100)
NUMBERS = (20, 100, 200, 500)
REPLICATES = 100
SPREADS = (0.015, 0.03, 0.05, 0.075, 0.1, 0.15)
EXPONENTS = (-0.5, -1.0, -2.0, -4.0, -8.0, -14.0, -20.0, -24.0, -28.0, -32.0, -40.0, -60.0, -100.0)
ETAS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0)
RATIOS = (0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0)
PENALTIES = (0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
DESIGNS = ("simulation 1", "simulation 2, raw", "simulation 2, standardised")
#: Parts of trials in which no penalty is chosen.
_PLAIN = ("peers", "sparcl")
_PARTS = ("ewp", "published", "peers", "sparcl")
_QUICK_SETS = ("iris", "wine", "newthyroid", "wdbc")
_FACES = ("warpAR10P", "warpPIE10P")
_WIDE = (*_FACES, "GLIOMA")
_SLOW = ("movement_libras", "wall_robot_4")
#: Table 2 with many clusters: tasks, their inputs, and trials.
_MANY: tuple[tuple[str, dict[str, object], int], ...] = (
    ("selected", {"k": 100}, 20),
    ("selected", {"k": 200}, 6),
    ("selected", {"k": 500}, 2),
    ("bounded", {"k": 200, "method": "sparse"}, 6),
    ("bounded", {"k": 500, "method": "sparse"}, 2),
    ("bounded", {"k": 100, "method": "sparcl"}, 6),
    ("bounded", {"k": 200, "method": "sparcl"}, 2),
)


def table1() -> list[Cell]:
    """Simulation 1: fresh data in each trial."""
    return [
        Cell(
            "simulations.trial",
            {"design": "simulation 1", "size": d, "seed": seed, "part": part},
            rank=_rank1(d, seed),
            chooses=part not in _PLAIN,
            needs_sparcl=part == "sparcl",
        )
        for seed in range(TRIALS)
        for d in NOISE
        for part in _PARTS
    ]


def singles() -> list[Cell]:
    """Simulation 1 from single random rows, at the chosen penalty and at twice that."""
    return [
        Cell("single_starts.collapses", {"d": d, "seed": seed, "count": 8}, rank=3)
        for seed in range(5)
        for d in NOISE
    ]


def _rank1(d: int, seed: int) -> int:
    if d in (5, 20, 100) and seed < 2:
        return 0
    return 1 if seed == 0 else 6 if seed < 3 else 7 + seed // 5


def table2() -> list[Cell]:
    """Simulation 2: fresh data in each trial."""
    return [
        Cell(
            "simulations.trial",
            {"design": "simulation 2", "size": k, "seed": seed, "part": part},
            rank=_rank2(k, seed, part),
            chooses=part not in _PLAIN and (part != "published" or k == 20),
            needs_sparcl=part == "sparcl",
        )
        for seed in range(TRIALS)
        for k in NUMBERS
        for part in _PARTS
        if part != "sparcl" or k == 20
    ]


def _rank2(k: int, seed: int, part: str) -> int:
    """One draw at every k first, the default before the others."""
    if k == 20:
        return 0 if seed < 2 else 6 if seed < 5 else 7 + seed // 5
    if seed == 0 and part == "ewp":
        return {100: 1, 200: 1, 500: 5}[k]
    if seed == 0:
        return {100: 2, 200: 6, 500: 7}[k]
    return 7 if k == 100 and seed < 3 else 10 if k < 500 else 11 + seed


def many_clusters() -> list[Cell]:
    """What takes longest in Table 2, where it is not among the trials."""
    return [
        Cell(
            f"many_clusters.{task}",
            {**inputs, "seed": seed},
            rank=9,
            chooses=task == "selected",
            needs_sparcl=inputs.get("method") == "sparcl",
        )
        for task, inputs, trials in _MANY
        for seed in range(trials)
    ]


def real() -> list[Cell]:
    """Twenty trials on each real set."""
    return [
        Cell(
            "real.trials",
            {"name": name, "version": version, "data": data, "part": part, "count": TRIALS},
            rank=_rank_real(name, part),
            chooses=part not in _PLAIN,
            needs_sparcl=part == "sparcl",
        )
        for name, data in available().items()
        for version in ("as it is", *(("mended",) if name in MENDED else ()))
        for part in _PARTS
    ]


def _rank_real(name: str, part: str) -> int:
    if name in _QUICK_SETS:
        return 0
    if part == "sparcl" and name in (*_WIDE, "wall_robot_4"):
        return 6
    return 3 if name in _WIDE else 1


def best() -> list[Cell]:
    """Paths of penalties on each real set, for what is best in hindsight."""
    return [
        Cell(
            "real.best",
            {
                "name": name,
                "version": version,
                "data": data,
                "scaling": scaling,
                "form": form,
                "variant": variant,
                "lams": 8 if name in _FACES else 12 if name in _SLOW else 24,
                "tries": 2 if name in _FACES else TRIALS,
                "count": TRIALS,
            },
            rank=_rank_best(name, scaling, form),
            chooses=False,
        )
        for name, data in available().items()
        for version in ("as it is", *(("mended",) if name in MENDED else ()))
        for scaling, form in (
            ("raw", "within"),
            ("raw", "between"),
            ("standardised", "within"),
            ("range", "within"),
            ("range", "between"),
        )
        for variant in ("published", "default")
        # slow, and nothing to be found there
        if not (name in _WIDE and form == "between" and variant == "default")
    ]


def faces() -> list[Cell]:
    """What partitions of the face images follow."""
    return [
        Cell("faces.what_is_followed", {"name": name, "data": available()[name]}, rank=3)
        for name in _FACES
        if name in available()
    ]


def _rank_best(name: str, scaling: str, form: str) -> int:
    if name in ("iris", "wine") and scaling != "range":
        return 0
    if name in _WIDE:
        return 4 if scaling != "range" and form == "within" else 7
    return 7 if (scaling, form) == ("raw", "between") else 2


def pictures() -> list[Cell]:
    """Figures 1 and 2, and the partitions of GLIOMA."""
    cells = [
        Cell("pictures.figure1", {"k": 20, "seed": 0}, rank=0),
        Cell("pictures.figure2", {"d": 20, "seed": 0}, rank=0),
    ]
    if "GLIOMA" in available():
        data = available()["GLIOMA"]
        cells.append(Cell("real.partitions", {"name": "GLIOMA", "data": data}, rank=3))
    return cells


def boxes() -> list[Cell]:
    """Replicates of the study of feature selection."""
    return [
        Cell(
            "pictures.boxes",
            {"seed": seed, "scaling": scaling, "part": part},
            rank=0 if seed < 10 else 3 if seed < 30 else 6,
            chooses=part not in _PLAIN,
            needs_sparcl=part == "sparcl",
        )
        for seed in range(REPLICATES)
        for scaling in ("raw", "standardised")
        for part in ("native", "sparcl")
    ]


def studies() -> dict[str, list[Cell]]:
    """What the paper leaves open."""

    def draws(task: str, settings: list[dict[str, object]], count: int, quick: int) -> list[Cell]:
        return [
            Cell(
                f"studies.{task}",
                {**one, "seed": seed},
                rank=0 if seed < quick else 2,
                chooses=False,
            )
            for seed in range(count)
            for one in settings
        ]

    scalings = ("raw", "standardised")
    return {
        "spread": draws("spread", [{"sd": sd} for sd in SPREADS], 5, 1),
        "exponent": draws(
            "exponent", [{"scaling": one, "s0": s0} for one in scalings for s0 in EXPONENTS], 5, 1
        ),
        "polish": draws("polish", [{"design": one} for one in DESIGNS], 10, 2),
        "eta": draws("eta", [{"value": value} for value in ETAS], 10, 1),
        "starts": [
            Cell(
                "studies.starts",
                {"scaling": one, "start": start},
                rank=0 if start < 5 else 2,
                chooses=False,
            )
            for start in range(TRIALS)
            for one in scalings
        ],
        "forms": [
            Cell(
                "studies.forms",
                {"ratio": ratio, "seed": seed},
                rank=0 if seed < 1 and ratio in (0.5, 1.0, 2.0) else 3 if seed < 1 else 6,
            )
            for seed in range(5)
            for ratio in RATIOS
        ],
        "authors": draws("authors", [{"per_row": value} for value in PENALTIES], 3, 1),
    }


def theory() -> list[Cell]:
    """Descent, hull and uniform convergence."""
    return [
        Cell(f"theory.{task}", {"seed": seed}, rank=0, chooses=False)
        for task, count in (("descent", 50), ("uniform", 5), ("growth", 3))
        for seed in range(count)
    ]


def sparcl() -> list[Cell]:
    """Recorded outputs of sparcl beside native and live ones."""
    return [
        Cell(
            f"sparcl.{kind}",
            {"case": case},
            rank=0,
            chooses=False,
            needs_sparcl=kind == "live",
        )
        for kind in ("native", "live")
        for case in recordings.cases()
    ]


def everything(full: bool) -> list[Cell]:
    """All cells of a quick or a full run, the most valuable first."""
    cells = [
        *pictures(),
        *sparcl(),
        *theory(),
        *table1(),
        *singles(),
        *table2(),
        *many_clusters(),
        *real(),
        *(cell for part in studies().values() for cell in part),
        *boxes(),
        *best(),
        *faces(),
        *beyond(),
    ]
    return sorted((one for one in cells if full or one.rank == 0), key=lambda one: one.rank)
