"""Questions that come after a fit, one file each: its computation, result, words and picture."""

from ewp.diagnostics.agreement import Agreement
from ewp.diagnostics.bootstrap import BootstrapResults
from ewp.diagnostics.consistency import ConsistencyResults
from ewp.diagnostics.feature_tests import FeatureTests
from ewp.diagnostics.mean_differences import MeanDifferences
from ewp.diagnostics.profile_table import Profile
from ewp.diagnostics.refinement import Refinement
from ewp.diagnostics.stability import StabilityResults

__all__ = ["RECORDS", "TITLES"]

#: Where results keep what was found, and the class of it.
RECORDS: dict[str, type] = {
    "bootstrap_": BootstrapResults,
    "consistency_": ConsistencyResults,
    "stability_": StabilityResults,
    "feature_tests_": FeatureTests,
    "agreement_": Agreement,
    "refinement_": Refinement,
    "profile_": Profile,
    "differences_": MeanDifferences,
}
#: Their headings on a page.
TITLES = {
    "bootstrap_": "Intervals",
    "stability_": "Stability of the clusters",
    "feature_tests_": "Tests of the features",
    "consistency_": "Consistency",
    "agreement_": "Agreement with another clustering",
    "refinement_": "Clusters refined by a mixture",
    "profile_": "Profile of the clusters",
    "differences_": "Differences between clusters",
}
