"""What there is to compute beside the paper's tables, figures and open questions.

The authors' program on real data, choosing penalties without labels, consistency, intervals and
tests, and sparse k-means on its home ground.
"""

from __future__ import annotations

from validation.available import available
from validation.cells import Cell
from validation.tasks.designs import DESIGNS
from validation.tasks.real import MENDED
from validation.tasks.uncertainty import COVERAGE, LEVEL

__all__ = [
    "CRITERIA",
    "annealed",
    "beyond",
    "consistency",
    "coverage",
    "level",
    "populations",
    "possible",
    "program",
    "selection",
    "wide",
    "with_range",
]

CRITERIA = ("predictive", "stability", "gap")
DRAWS = 3
#: Data sets, in cells of several.
DATA_SETS = 200
_A_CELL = 10
#: Designs and sets on which a selection takes more than some seconds.
_SLOW = (
    "simulation 1, d = 20",
    "simulation 1, d = 100",
    "simulation 2, k = 20",
    "simulation 2, k = 20, standardised",
    "p >> n, relevant features of larger variance",
    "warpAR10P",
    "warpPIE10P",
    "GLIOMA",
)
#: Sets on which the authors' program is slow: fewer penalties and starts.
_BRIEFLY = ("movement_libras", "wall_robot_4", "warpAR10P", "warpPIE10P")
#: Stability and gap are not run where there are this many clusters and more than a few features.
_MANY_CLUSTERS = ("simulation 1, d = 20", "simulation 1, d = 100")


def program() -> list[Cell]:
    """The authors' program on each real set, along penalties."""
    return [
        Cell(
            "program.path",
            {
                "name": name,
                "version": version,
                "data": data,
                "scaling": scaling,
                "lams": 16 if name in _BRIEFLY else 32,
                "count": 4 if name in _BRIEFLY else 20,
            },
            rank=0 if name in ("iris", "wine") else 3,
            chooses=False,
        )
        for name, data in available().items()
        for version in ("as it is", *(("mended",) if name in MENDED else ()))
        for scaling in ("raw", "standardised", "range")
    ]


def _sets() -> list[dict[str, object]]:
    """Draws of the simulated designs and, once each, the real sets."""
    simulated = [
        {"name": name, "data": "", "seed": seed} for seed in range(DRAWS) for name in DESIGNS
    ]
    real = [{"name": name, "data": data, "seed": 0} for name, data in available().items()]
    return [*simulated, *real]


def _rank_selection(inputs: dict[str, object]) -> int:
    return 3 if inputs["seed"] or inputs["name"] in _SLOW else 0


def selection() -> list[Cell]:
    """Penalties chosen without labels."""
    return [
        Cell("selection.chosen", {**one, "criterion": criterion}, rank=_rank_selection(one))
        for one in _sets()
        for criterion in CRITERIA
        if criterion == "predictive" or one["name"] not in _MANY_CLUSTERS
    ]


def possible() -> list[Cell]:
    """What another penalty would have reached, and k-means."""
    return [
        Cell("selection.possible", one, rank=_rank_selection(one), chooses=False) for one in _sets()
    ]


def with_range() -> list[Cell]:
    """The choice on real features that are divided by their ranges."""
    return [
        Cell(
            "selection.with_range",
            {"name": name, "data": data},
            rank=3 if name in _SLOW else 0,
        )
        for name, data in available().items()
    ]


def consistency() -> list[Cell]:
    """Errors against the population, and with too many clusters."""
    return [
        Cell("consistency.too_many_clusters", {"replicates": 20}, rank=0, chooses=False),
        *(
            Cell(
                "consistency.against_population",
                {"seed": seed, "replicates": 20},
                rank=0 if seed == 0 else 3,
                chooses=False,
            )
            for seed in range(21)
        ),
    ]


def populations() -> list[Cell]:
    """Weights that intervals should cover."""
    return [
        Cell("uncertainty.population", {"design": design, "n": 500_000}, rank=0, chooses=False)
        for design in COVERAGE
    ]


def _data_sets(task: str, designs: dict[str, object], **inputs: object) -> list[Cell]:
    return [
        Cell(
            f"uncertainty.{task}",
            {"design": design, "first": first, "count": _A_CELL, **inputs},
            rank=0 if first == 0 else 3,
            chooses=False,
        )
        for first in range(0, DATA_SETS, _A_CELL)
        for design in designs
    ]


def coverage() -> list[Cell]:
    """Bootstrap intervals."""
    return _data_sets("coverage", dict(COVERAGE), n_boot=200)


def level() -> list[Cell]:
    """Tests of features."""
    return _data_sets("level", dict(LEVEL), n_perm=199)


def wide() -> list[Cell]:
    """Sparse k-means' home ground."""
    return [
        Cell(
            "sparse.wide_design",
            {"seed": seed, "scaling": scaling, "trials": 10},
            rank=0 if seed == 0 else 3,
        )
        for seed in range(10)
        for scaling in ("raw", "standardised")
    ]


def annealed() -> list[Cell]:
    """Sparse k-means by four algorithms."""
    sets = {name: available()[name] for name in ("iris", "wine", "wdbc") if name in available()}
    return [
        Cell(
            "sparse.annealed",
            {"name": name, "data": data, "bound": bound, "starts": 20},
            rank=0,
            chooses=False,
        )
        for name, data in {**sets, "feature selection": ""}.items()
        for bound in ("tight", "middle", "loose")
    ]


def beyond() -> list[Cell]:
    """All of them."""
    return [
        *program(),
        *selection(),
        *possible(),
        *with_range(),
        *consistency(),
        *populations(),
        *coverage(),
        *level(),
        *wide(),
        *annealed(),
    ]
