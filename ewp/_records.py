"""How a results file holds frames, names and the records of the diagnostics.

Numbers go among the file's arrays, everything else into its JSON header. A record is a dataclass
whose fields are packed by what they are. Reading knows which records there are and what their
fields are called, so a file can neither name code nor add to it.
"""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "RECORDS",
    "Arrays",
    "pack_frame",
    "pack_index",
    "pack_record",
    "plain",
    "unpack_frame",
    "unpack_index",
    "unpack_record",
]

Arrays = dict[str, np.ndarray]

#: Fields of the results object that hold records, and where their classes are.
RECORDS = {
    "bootstrap_": ("ewp.bootstrap_results", "BootstrapResults"),
    "consistency_": ("ewp.consistency", "ConsistencyResults"),
    "stability_": ("ewp.stability", "StabilityResults"),
    "feature_tests_": ("ewp.feature_tests", "FeatureTests"),
    "agreement_": ("ewp.agreement", "Agreement"),
}


def pack_record(record: Any, key: str, arrays: Arrays) -> dict[str, Any]:
    """Put a record's numbers among the arrays and describe the rest."""
    packed: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value, name = getattr(record, field.name), f"{key}.{field.name}"
        part: dict[str, Any]
        if isinstance(value, pd.Series):
            arrays[name] = value.to_numpy()
            part = {
                "series": plain(value.name),
                "index": pack_index(value.index, f"{name}.i", arrays),
            }
        elif isinstance(value, pd.DataFrame) and len(set(value.dtypes)) == 1:
            arrays[name] = value.to_numpy()
            part = {
                "index": pack_index(value.index, f"{name}.i", arrays),
                "columns": pack_index(value.columns, f"{name}.c", arrays),
            }
        elif isinstance(value, pd.DataFrame):
            part = {"frame": pack_frame(value, name, arrays)}
        elif isinstance(value, np.ndarray):
            arrays[name] = value
            part = {"array": True}
        else:
            part = {"value": value}
        packed[field.name] = part
    return packed


def unpack_record(name: str, packed: dict[str, Any], arrays: Arrays) -> Any:
    """Rebuild the record that belongs to a field of the results object."""
    module, kind = RECORDS[name]
    record = getattr(import_module(module), kind)
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        part, key = packed[field.name], f"{name}.{field.name}"
        value: Any
        if "series" in part:
            index = unpack_index(part["index"], f"{key}.i", arrays)
            value = pd.Series(arrays[key], index=index, name=part["series"])
        elif "columns" in part:
            index = unpack_index(part["index"], f"{key}.i", arrays)
            columns = unpack_index(part["columns"], f"{key}.c", arrays)
            value = pd.DataFrame(arrays[key], index=index, columns=columns)
        elif "frame" in part:
            value = unpack_frame(part["frame"], key, arrays)
        else:
            value = arrays[key] if "array" in part else part["value"]
        fields[field.name] = value
    return record(**fields)


def pack_frame(frame: pd.DataFrame, key: str, arrays: Arrays) -> dict[str, Any]:
    """Put the numeric columns among the arrays and describe the rest."""
    columns: list[Any] = []
    for position, name in enumerate(frame.columns):
        values = frame[name].to_numpy()
        if values.dtype.kind in "biuf":
            arrays[f"{key}.{position}"] = values
            columns.append({"name": name})
        else:
            columns.append({"name": name, "values": [str(value) for value in values]})
    return {"columns": columns, "index": pack_index(frame.index, f"{key}.index", arrays)}


def unpack_frame(packed: dict[str, Any], key: str, arrays: Arrays) -> pd.DataFrame:
    """Rebuild a frame."""
    columns = {
        column["name"]: column["values"] if "values" in column else arrays[f"{key}.{position}"]
        for position, column in enumerate(packed["columns"])
    }
    return pd.DataFrame(columns, index=unpack_index(packed["index"], f"{key}.index", arrays))


def pack_index(index: pd.Index, key: str, arrays: Arrays) -> dict[str, Any]:
    """Describe an index: numbers keep their type, texts are listed, all else becomes text."""
    packed: dict[str, Any] = {"name": None if index.name is None else plain(index.name)}
    if isinstance(index, pd.RangeIndex):
        packed["range"] = [index.start, index.stop, index.step]
    elif isinstance(index.dtype, np.dtype) and index.dtype.kind in "iuf":
        arrays[key] = index.to_numpy()
    else:
        packed["names"] = [plain(name) for name in index]
    return packed


def unpack_index(packed: dict[str, Any], key: str, arrays: Arrays) -> pd.Index:
    """Rebuild an index."""
    if "range" in packed:
        start, stop, step = packed["range"]
        return pd.RangeIndex(start, stop, step, name=packed["name"])
    return pd.Index(packed["names"] if "names" in packed else arrays[key], name=packed["name"])


def plain(name: Any) -> Any:
    """Reduce a name to what JSON can hold: numbers and texts stay, the rest becomes text."""
    if isinstance(name, np.generic):
        name = name.item()
    return name if isinstance(name, str | int | float) else str(name)
