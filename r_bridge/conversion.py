"""Values between NumPy and R, one copy each way.

Everything here runs inside the lock of `r_bridge.session`, and nothing of R leaves it: results are
NumPy copies and plain Python objects, because R's memory may go once the lock is released. rpy2's
low-level interface is used, which knows no conversion rules; so there are none to activate, and
none to lose in another thread. NumPy sees R's memory through the vectors' array interface and not
through their ``memoryview()``, which in rpy2-rinterface 3.6.5 gives back a reference to None that
it does not hold: below Python 3.12 a few thousand of them end the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["from_r", "to_r"]


def to_r(value: Any, rinterface: Any) -> Any:
    """An R object from a number, a string, a flag or an array of numbers.

    Arrays become doubles, matrices R's column-major ones; the values are written straight into
    R's memory, whatever the type and the layout of the array.
    """
    if isinstance(value, str):
        return rinterface.StrSexpVector([value])
    if isinstance(value, bool):
        return rinterface.BoolSexpVector([value])
    if isinstance(value, int):
        return rinterface.IntSexpVector([value])
    array = np.asarray(value)
    if array.ndim == 2:
        vector = rinterface.baseenv["matrix"](0.0, *array.shape)
    else:
        vector = rinterface.baseenv["numeric"](array.size)
    np.asarray(vector)[...] = array
    return vector


def from_r(value: Any, rinterface: Any) -> Any:
    """A copy of an R object as arrays, lists of strings, and dicts or lists of these.

    NULL becomes None, a list a dict if it is named. Objects without a value of their own in
    Python (functions, calls, environments) become None too.
    """
    if isinstance(value, rinterface.ListSexpVector):
        items = [from_r(item, rinterface) for item in value]
        if isinstance(value.names, rinterface.StrSexpVector):
            return dict(zip(value.names, items, strict=True))
        return items
    if isinstance(value, rinterface.StrSexpVector):
        return [str(text) for text in value]
    kinds = (rinterface.FloatSexpVector, rinterface.IntSexpVector, rinterface.BoolSexpVector)
    return np.array(value) if isinstance(value, kinds) else None
