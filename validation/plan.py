"""What there is to compute, study by study, in the order of its worth.

Rank 0 is the quick run. A full run goes on from there: the quick cells are among its own. The
last ranks are what takes hours; the report says how many trials every number rests on.
"""

from __future__ import annotations

from validation.cells import Cell
from validation.studies import (
    annealing,
    authors_program,
    consistency,
    contest,
    correlation,
    face_images,
    families,
    figures,
    glioma,
    hindsight,
    missing,
    peer_settings,
    real_sets,
    selection,
    selective,
    simulations,
    sparcl,
    sparse,
    structure,
    theory,
    uncertainty,
    variances,
)

__all__ = ["everything"]

#: Of two cells of the same rank, that which is listed here before the other is computed first.
_LISTS = (
    figures.partition_cells,
    glioma.glioma_cells,
    sparcl.sparcl_cells,
    theory.theory_cells,
    simulations.table1_cells,
    simulations.single_start_cells,
    simulations.uniform_cells,
    simulations.table2_cells,
    simulations.many_clusters_cells,
    real_sets.real_cells,
    peer_settings.setting_cells,
    variances.spread_cells,
    annealing.exponent_cells,
    annealing.polish_cells,
    annealing.eta_cells,
    annealing.start_cells,
    variances.form_cells,
    authors_program.penalty_cells,
    figures.box_cells,
    hindsight.path_cells,
    hindsight.search_cells,
    face_images.face_cells,
    authors_program.path_cells,
    selection.chosen_cells,
    selection.possible_cells,
    selection.range_cells,
    consistency.consistency_cells,
    uncertainty.population_cells,
    uncertainty.coverage_cells,
    uncertainty.pure_noise_cells,
    uncertainty.level_cells,
    selective.differences_cells,
    sparse.wide_cells,
    sparse.annealed_cells,
    contest.contest_cells,
    contest.reason_cells,
    contest.number_cells,
    correlation.refined_cells,
    correlation.noise_cells,
    structure.cloud_cells,
    structure.separated_cells,
    structure.unequal_cells,
    structure.real_cells,
    correlation.gene_cells,
    correlation.mixture_cells,
    missing.simulated_cells,
    missing.real_cells,
    missing.holes_cells,
    missing.not_random_cells,
    families.counts_cells,
    families.binary_cells,
    families.outliers_cells,
    families.subspaces_cells,
)


def everything(full: bool) -> list[Cell]:
    """All cells of a quick or a full run, the most valuable first.

    Parameters
    ----------
    full : bool
        Whether the run is as large as the paper's.
    """
    cells = [cell for cells_of in _LISTS for cell in cells_of()]
    return sorted((one for one in cells if full or one.rank == 0), key=lambda one: one.rank)
