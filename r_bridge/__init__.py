"""The bridge between Python and R: the real sparcl beside EWP, in one program.

`sparcl` and `stats` hold R's functions, `compare_with_sparcl` the comparison, `check` says what is
installed and what is not. Importing this package needs neither R nor rpy2; R starts with the first
call that needs it.
"""

from r_bridge import sparcl, stats
from r_bridge.compare import SparclComparison, compare_with_sparcl
from r_bridge.doctor import Environment, check, install_sparcl
from r_bridge.errors import RBridgeError, RWarning
from r_bridge.method import SparclMethod

__all__ = [
    "Environment",
    "RBridgeError",
    "RWarning",
    "SparclComparison",
    "SparclMethod",
    "check",
    "compare_with_sparcl",
    "install_sparcl",
    "sparcl",
    "stats",
]
