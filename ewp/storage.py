"""Saving and loading results: one small file of arrays and JSON, without pickle.

The file is a NumPy ``.npz`` archive. Its member ``header`` holds a JSON text (as bytes) with the
format's version, the names and the scalars; the other members are numeric arrays. Neither can
carry code, and loading refuses anything else. The data are not stored: centroids, weights, means
and divisors are all that prediction needs. What the diagnostics found is stored beside, in blocks
that are there only if it was computed; readers that do not know them pass them over.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ewp._records import (
    RECORDS,
    Arrays,
    pack_frame,
    pack_index,
    pack_record,
    plain,
    unpack_frame,
    unpack_index,
    unpack_record,
)

if TYPE_CHECKING:
    from ewp.results import EWPResults

__all__ = ["FORMAT_VERSION", "read", "write"]

#: Raised when a change of the format cannot be read by older versions of the package.
FORMAT_VERSION = 1
_KIND = "ewp results"
_SCALARS = {
    "objective": float,
    "lam": float,
    "s0": float,
    "eta": float,
    "converged": bool,
    "n_iter": int,
    "totss": float,
    "scaling": str,
    "dispersion": str,
    "critical_exponent": float,
}
_FRAMES = ("objective_trace", "clusters")
_COLUMN_VECTORS = ("center", "scale", "prior", "spread")
#: A float that JSON cannot express is written as {"float": "inf"}.
_FLOAT = "float"


def write(results: EWPResults, path: str | os.PathLike[str]) -> None:
    """Write results to a file, replacing an existing one only when all is written.

    Parameters
    ----------
    results : EWPResults
    path : path-like
        Used exactly as given: no suffix is added.
    """
    arrays: Arrays = {
        "weights": results.weights.to_numpy(),
        "centroids": results.centroids.to_numpy(),
        "labels": results.labels.to_numpy(),
    }
    header: dict[str, Any] = {
        "kind": _KIND,
        "format_version": FORMAT_VERSION,
        "scalars": {name: kind(getattr(results, name)) for name, kind in _SCALARS.items()},
        "options": results.options,
        "features": pack_index(results.feature_names, "features", arrays),
        "cluster_names": pack_index(results.centroids.index, "cluster_names", arrays),
        "rows": pack_index(results.labels.index, "rows", arrays),
    }
    for name in _FRAMES:
        header[name] = pack_frame(getattr(results, name), name, arrays)
    for name in _COLUMN_VECTORS:
        if getattr(results, name) is not None:
            arrays[name] = np.asarray(getattr(results, name))
    header["diagnostics"] = {
        name: pack_record(getattr(results, name), name, arrays)
        for name in RECORDS
        if getattr(results, name) is not None
    }
    text = json.dumps(_encode(header), allow_nan=False)
    arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)

    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r}; make it first")
    partial = target.with_name(f".ewp-{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file written by :func:`write`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    dict
        The fields of an :class:`ewp.EWPResults`.

    Raises
    ------
    ValueError
        If there is no such file, or it does not hold EWP results, is damaged, or needs a newer
        version of the package.
    """
    shown = repr(os.fspath(path))
    if not Path(path).is_file():
        raise ValueError(f"there is no file {shown}")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{shown} does not hold EWP results: it is not an .npz archive")
    try:
        with np.load(path, allow_pickle=False) as archive:
            header = _decode(json.loads(archive["header"].tobytes().decode()))
            if header["kind"] != _KIND:
                raise ValueError(f"it holds {header['kind']!r}")
            version = int(header["format_version"])
            fields = _unpack(header, dict(archive)) if version <= FORMAT_VERSION else {}
    except Exception as error:  # a damaged or forged archive may provoke any of a dozen kinds
        raise ValueError(f"{shown} does not hold EWP results, or is damaged: {error}") from error
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{shown} has format {version}, this version of ewp reads up to format "
            f"{FORMAT_VERSION}: upgrade ewp"
        )
    return fields


def _unpack(header: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    features = unpack_index(header["features"], "features", arrays)
    clusters = unpack_index(header["cluster_names"], "cluster_names", arrays)
    rows = unpack_index(header["rows"], "rows", arrays)
    fields: dict[str, Any] = {
        "weights": pd.Series(arrays["weights"], index=features, name="weight"),
        "centroids": pd.DataFrame(arrays["centroids"], index=clusters, columns=features),
        "labels": pd.Series(arrays["labels"], index=rows, name="cluster"),
        "options": dict(header["options"]),
    }
    for name, kind in _SCALARS.items():
        fields[name] = kind(header["scalars"][name])
    for name in _FRAMES:
        fields[name] = unpack_frame(header[name], name, arrays)
    for name in _COLUMN_VECTORS:
        fields[name] = arrays.get(name) if name == "spread" else arrays[name]
        if fields[name] is not None and fields[name].shape != (len(features),):
            raise ValueError(f"{name} has shape {fields[name].shape}, not ({len(features)},)")
    for name, least in (("weights", 0.0), ("prior", 0.0), ("scale", np.nextafter(0, 1))):
        values = np.asarray(fields[name])
        if not (np.isfinite(values).all() and (values >= least).all()):
            raise ValueError(f"{name} must be finite and at least {least:g}")
    diagnostics = header.get("diagnostics", {})
    for name in RECORDS.keys() & diagnostics.keys():
        fields[name] = unpack_record(name, diagnostics[name], arrays)
    if len(fields["clusters"]) != len(clusters) or not fields["labels"].isin(clusters).all():
        raise ValueError("the clusters described are not those of the labels and centroids")
    return fields


def _encode(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | np.ndarray):
        return [_encode(item) for item in value]
    if value is None:
        return None
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        if list(value) == [_FLOAT] and isinstance(value[_FLOAT], str):
            return float(value[_FLOAT])
        return {key: _decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decode(item) for item in value]
    return value
