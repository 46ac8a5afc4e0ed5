"""The bridge between Python and R: what R this machine has, and whether Python can reach it.

Importing this package needs neither R nor rpy2; both are looked for when asked.
"""

from r_bridge.environment import Environment, check

__all__ = ["Environment", "check"]
