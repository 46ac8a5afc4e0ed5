"""Saving and loading results: one small file of arrays and JSON, without pickle.

The file is a NumPy ``.npz`` archive. Its member ``header`` holds a JSON text (as bytes) with the
format's version, the names and the scalars; the other members are numeric arrays. Neither can
carry code, and loading refuses anything else. The data are not stored: centroids, weights, means
and divisors are all that prediction needs. What the diagnostics found is stored beside, in blocks
that are there only if it was computed; a record is a dataclass whose fields are packed by what they
are, and reading knows which records there are and what their fields are called.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from ewp.common.files import written_aside
from ewp.common.types import FittedResults
from ewp.data.decorrelation import Decorrelation, is_decorrelated
from ewp.diagnostics import RECORDS
from ewp.engine.columns import PLAIN, FittedFamilies
from ewp.engine.divergence import ColumnDivergence
from ewp.engine.families import FAMILIES
from ewp.solver.fit import FitOptions

__all__ = ["FORMAT_VERSION", "read", "write"]

#: Raised when a change of the format cannot be read by older versions of the package.
FORMAT_VERSION = 4
#: What older versions read as well: all files but those of fits to decorrelated features, of fits
#: to data with missing values, and of fits with other divergences than squared differences or with
#: weights for every cluster.
_PLAIN_VERSION, _DECORRELATED_VERSION, _OBSERVED_VERSION = 1, 2, 3
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
#: The scalars that are options of the fit.
_OF_OPTIONS = ("lam", "eta", "scaling", "dispersion")
#: Numbers of a fit, the least they may be, and the largest size.
_LEAST = {
    "weights": 0.0,
    "prior": 0.0,
    "scale": np.nextafter(0, 1),
    "center": -np.inf,
    "centroids": -np.inf,
    "labels": 0.0,
    "clusters": 0.0,
    "totss": 0.0,
}
_LARGEST = 1e250
#: What the arrays of a file may take in memory.
_MOST_BYTES = 2**30
#: Array of the starting centroids, where these were given.
_INIT = "init"
#: Frame of where the starts ended, which files of before do not have.
_STARTS = "starts"
#: Frame of how far out the rows are, of trimmed fits.
_OUTLIERS = "outliers"
#: How to have the fit again, which files of before do not tell.
_ORIGIN = ("call", "calls", "versions", "data_sha256")
_FRAMES = ("objective_trace", "clusters")
_COLUMN_VECTORS = ("center", "scale", "prior", "spread", "observed", "within")
#: Those that not all fits have.
_OPTIONAL = ("spread", "observed", "within")
#: Parts of the map to uncorrelated columns, where features were decorrelated.
_DECORRELATION = ("center", "scale", "axes", "roots", "shrinkage")
#: Vectors of the divergences of the columns, where these are not squared differences; sizes of the
#: rows, and the total of a row of size one, where there are some.
_DIVERGENCE = ("mean", "units", "lowest", "highest")
_TOTAL, _SIZES, _REFERENCE = "family_total", "family_sizes", "reference"
#: A float that JSON cannot express is written as {"float": "inf"}.
_FLOAT = "float"


def write(results: FittedResults, path: str | os.PathLike[str]) -> None:
    """Write results to a file, replacing an existing one only when all is written.

    Parameters
    ----------
    results : EWPResults
    path : path-like
        Used exactly as given: no suffix is added.
    """
    with written_aside(path) as file:
        dump(results, file)


def _version(results: FittedResults) -> int:
    """Return the format that describes the results."""
    if results.families is not None or results.by_cluster:
        return FORMAT_VERSION
    if results.observed is not None:
        return _OBSERVED_VERSION
    return _PLAIN_VERSION if results.decorrelation is None else _DECORRELATED_VERSION


def dump(results: FittedResults, file: IO[bytes]) -> None:
    """Write results into an open file."""
    arrays: Arrays = {
        "weights": results.weights.to_numpy(),
        "centroids": results.centroids.to_numpy(),
        "labels": results.labels.to_numpy(),
    }
    header: dict[str, Any] = {
        "kind": _KIND,
        "format_version": _version(results),
        "scalars": {name: kind(getattr(results, name)) for name, kind in _SCALARS.items()},
        "options": results.options,
        "origin": {name: getattr(results, name) for name in _ORIGIN},
        "features": pack_index(results.feature_names, "features", arrays),
        "cluster_names": pack_index(results.centroids.index, "cluster_names", arrays),
        "rows": pack_index(results.labels.index, "rows", arrays),
    }
    for name in _FRAMES:
        header[name] = pack_frame(getattr(results, name), name, arrays)
    if results.starts is not None:
        header[_STARTS] = pack_frame(results.starts, _STARTS, arrays)
        header["n_starts"] = results.n_starts
    if results.outliers is not None:
        header[_OUTLIERS] = pack_frame(results.outliers, _OUTLIERS, arrays)
    for name in _COLUMN_VECTORS:
        if getattr(results, name) is not None:
            arrays[name] = np.asarray(getattr(results, name))
    header["diagnostics"] = {
        name: pack_record(getattr(results, name), name, arrays)
        for name in RECORDS
        if getattr(results, name) is not None
    }
    if (made := results.decorrelation) is not None:
        for name in _DECORRELATION:
            arrays[f"decorrelation_{name}"] = np.asarray(getattr(made, name))
    if (families := results.families) is not None:
        for name in _DIVERGENCE:
            arrays[f"family_{name}"] = getattr(families.divergence, name)
        arrays[_TOTAL] = families.total
        header[_REFERENCE] = families.reference
        if families.sizes is not None:
            arrays[_SIZES] = families.sizes
    if not isinstance(results.fit_options.init, str):
        arrays[_INIT] = results.fit_options.init
    text = json.dumps(_encode(header), allow_nan=False)
    arrays["header"] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


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
            members = _Members(archive)
            header = _decode(json.loads(members["header"].tobytes().decode()))
            if header["kind"] != _KIND:
                raise ValueError(f"it holds {header['kind']!r}")
            version = int(header["format_version"])
            fields = _unpack(header, members) if version <= FORMAT_VERSION else {}
    except Exception as error:  # a damaged or forged archive may provoke any of a dozen kinds
        raise ValueError(f"{shown} does not hold EWP results, or is damaged: {error}") from error
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{shown} has format {version}, this version of ewp reads up to format "
            f"{FORMAT_VERSION}: upgrade ewp"
        )
    return fields


class _Members(Mapping[str, np.ndarray]):
    """Members of an archive, each unpacked when it is asked for, all together within bounds."""

    def __init__(self, archive: Any) -> None:
        self._archive = archive
        self._left = _MOST_BYTES

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._archive.files:
            raise KeyError(name)
        self._left -= self._archive.zip.getinfo(f"{name}.npy").file_size
        if self._left < 0:
            raise ValueError(f"its arrays take more than {_MOST_BYTES >> 20} MB")
        member: np.ndarray = self._archive[name]
        return member

    def __iter__(self) -> Iterator[str]:
        return iter(self._archive.files)

    def __len__(self) -> int:
        return len(self._archive.files)


def _check_numbers(fields: dict[str, Any]) -> None:
    """Check that the numbers of a fit are real, finite and of a size that can be computed with."""
    for name, least in _LEAST.items():
        values = np.asarray(fields[name])
        if values.dtype.kind not in "iuf":
            raise ValueError(f"{name} must be real numbers, but are {values.dtype}")
        if not (np.isfinite(values).all() and (values >= least).all()):
            raise ValueError(f"{name} must be finite and at least {least:g}")
        if np.abs(values).max(initial=0.0) > _LARGEST:
            raise ValueError(f"{name} has values beyond {_LARGEST:g}")
    if (share := fields["observed"]) is not None and not ((share > 0) & (share <= 1)).all():
        raise ValueError("observed shares must be above 0 and at most 1")
    known = share is not None or fields["families"] is not None
    if known != (fields["within"] is not None):
        raise ValueError("sums of squares are there where they do not follow from the centroids")
    if known and not (np.isfinite(fields["within"]) & (fields["within"] >= 0)).all():
        raise ValueError("sums of squares must be finite and not negative")
    if not np.isclose(fields["weights"].to_numpy().sum(axis=-1), 1.0).all():
        raise ValueError("the weights do not sum to 1")
    if not fields["clusters"]["mass"].sum() > 0:
        raise ValueError("the clusters have no mass")


def _unpack_weights(
    weights: np.ndarray, features: pd.Index, clusters: pd.Index
) -> pd.Series | pd.DataFrame:
    if weights.ndim == 2:
        return pd.DataFrame(weights, index=clusters, columns=features)
    return pd.Series(weights, index=features, name="weight")


def _unpack(header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    features = unpack_index(header["features"], "features", arrays)
    clusters = unpack_index(header["cluster_names"], "cluster_names", arrays)
    rows = unpack_index(header["rows"], "rows", arrays)
    fields: dict[str, Any] = {
        "weights": _unpack_weights(arrays["weights"], features, clusters),
        "centroids": pd.DataFrame(arrays["centroids"], index=clusters, columns=features),
        "labels": pd.Series(arrays["labels"], index=rows, name="cluster"),
    }
    scalars = {name: kind(header["scalars"][name]) for name, kind in _SCALARS.items()}
    fields |= {name: value for name, value in scalars.items() if name not in _OF_OPTIONS}
    for name in _FRAMES:
        fields[name] = unpack_frame(header[name], name, arrays)
    if _STARTS in header:
        fields[_STARTS] = unpack_frame(header[_STARTS], _STARTS, arrays)
        fields["n_starts"] = int(header["n_starts"])
    else:
        fields["n_starts"] = int(header["options"].get("n_init", 1))
    if _OUTLIERS in header:
        fields[_OUTLIERS] = _unpack_outliers(header[_OUTLIERS], arrays, len(rows))
    for name in _COLUMN_VECTORS:
        fields[name] = arrays.get(name) if name in _OPTIONAL else arrays[name]
        if fields[name] is not None and fields[name].shape != (len(features),):
            raise ValueError(f"{name} has shape {fields[name].shape}, not ({len(features)},)")
    fields["decorrelation"] = _unpack_decorrelation(scalars["scaling"], arrays, len(features))
    options = dict(header["options"])
    fields["families"] = _unpack_families(header, arrays, options, len(rows), len(features))
    _check_numbers(fields)
    fields["named_features"] = bool(options.pop("named_features", True))
    fields["selection"] = options.pop("selection", None)
    fields["fit_options"] = _unpack_options(options, scalars, fields, arrays.get(_INIT))
    diagnostics = header.get("diagnostics", {})
    for name in RECORDS.keys() & diagnostics.keys():
        if _is_outdated(name, diagnostics[name]):
            warnings.warn(
                f"{name} is left out: an earlier version of ewp made it by another procedure; "
                "ask again with the data as X",
                stacklevel=4,
            )
        else:
            fields[name] = unpack_record(name, diagnostics[name], arrays)
    _unpack_origin(header.get("origin", {}), fields)
    if len(fields["clusters"]) != len(clusters) or not fields["labels"].isin(clusters).all():
        raise ValueError("the clusters described are not those of the labels and centroids")
    return fields


def _unpack_decorrelation(
    scaling: str, arrays: Mapping[str, np.ndarray], p: int
) -> Decorrelation | None:
    """Return the map to uncorrelated columns, for a fit that has one."""
    if not is_decorrelated(scaling):
        return None
    parts = {name: arrays[f"decorrelation_{name}"] for name in _DECORRELATION}
    rank = parts["roots"].shape[-1:]
    shapes = {"center": (p,), "scale": (p,), "axes": (p, *rank), "roots": rank}
    for name, part in parts.items():
        if part.shape != shapes.get(name, ()) or part.dtype.kind != "f":
            raise ValueError(f"decorrelation_{name} does not fit {p} features")
        if not np.isfinite(part).all() or np.abs(part).max(initial=0.0) > _LARGEST:
            raise ValueError(f"decorrelation_{name} must be finite")
    if not all((parts[name] > 0).all() for name in ("scale", "roots", "shrinkage")):
        raise ValueError("the divisors of the decorrelation must be positive")
    shrinkage = float(parts.pop("shrinkage"))
    return Decorrelation(**parts, shrinkage=shrinkage)


def _unpack_families(
    header: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    options: dict[str, Any],
    n: int,
    p: int,
) -> FittedFamilies | None:
    """Return the divergences of the columns, for a fit that has some, and settle its options."""
    given = options.get("divergence", PLAIN)
    if given == PLAIN:
        return None
    names = (given,) * p if isinstance(given, str) else tuple(str(name) for name in given)
    if len(names) != p or not set(names) <= FAMILIES.keys():
        raise ValueError("the divergences do not fit the features")
    parts: dict[str, Any] = {name: arrays[f"family_{name}"] for name in _DIVERGENCE}
    total, sizes = arrays[_TOTAL], arrays.get(_SIZES)
    for name, part in (*parts.items(), ("total", total)):
        if part.shape != (p,) or part.dtype.kind != "f" or np.isnan(part).any():
            raise ValueError(f"family_{name} does not fit {p} features")
    units, mean = parts["units"], parts["mean"]
    if not (np.isfinite(units) & (units > 0)).all():
        raise ValueError("units of divergences must be positive")
    if not (np.isfinite(total) & (total >= 0)).all():
        raise ValueError("dispersions must be finite and not negative")
    ends = np.array([(FAMILIES[name].lower, FAMILIES[name].upper) for name in names]).T
    within = [ends[0], parts["lowest"], parts["highest"], ends[1]]
    unlike = np.isfinite(within[1:3]) != np.isfinite(ends)
    if unlike.any() or any((low > high).any() for low, high in pairwise(within)):
        raise ValueError("the ends of the divergences are not in their domains")
    if not (np.isfinite(mean) & (mean >= ends[0]) & (mean <= ends[1])).all():
        raise ValueError("the means are not in the domains of the divergences")
    if sizes is not None and not all(FAMILIES[name].has_sizes for name in names):
        raise ValueError("these divergences have no sizes of rows")
    if sizes is not None and (sizes.shape != (n,) or not (np.isfinite(sizes) & (sizes > 0)).all()):
        raise ValueError("sizes must be positive numbers, one a row")
    options["divergence"] = names
    reference = None if header[_REFERENCE] is None else float(header[_REFERENCE])
    offset = options.get("offset")
    stated = {None: (False, False), "array": (True, False), "size": (True, True)}
    if stated.get(offset) != (sizes is not None, reference is not None):
        raise ValueError(f"offset={offset!r} does not fit the sizes of the rows")
    if reference is not None and not (math.isfinite(reference) and reference > 0):
        raise ValueError("the total of a row of size one must be positive")
    if offset == "array":
        options["offset"] = sizes
    return FittedFamilies(ColumnDivergence(names, **parts), total, reference, sizes)


def _unpack_outliers(stored: Any, arrays: Mapping[str, np.ndarray], n: int) -> pd.DataFrame:
    """Return how far out the rows are."""
    found = unpack_frame(stored, _OUTLIERS, arrays)
    if list(found.columns) != ["mass", "distance", "outlyingness", "trimmed"] or len(found) != n:
        raise ValueError("outliers does not fit the rows")
    if found["trimmed"].dtype != bool or not (found.drop(columns="trimmed") >= 0).all(axis=None):
        raise ValueError("outliers must be distances, weights and marks")
    return found


def _unpack_origin(stored: dict[str, Any], fields: dict[str, Any]) -> None:
    """Put in how the fit was made, and how its diagnostics were asked for."""
    if not stored:
        return
    call, calls, known, sha256 = (stored[name] for name in _ORIGIN)
    fields["call"] = str(call)
    fields["calls"] = {str(name): str(text) for name, text in calls.items() if name in fields}
    fields["versions"] = {str(name): str(version) for name, version in known.items()}
    fields["data_sha256"] = None if sha256 is None else str(sha256)
    for name, text in fields["calls"].items():
        fields[name].call = text


def _unpack_options(
    stored: dict[str, Any], scalars: dict[str, Any], fields: dict[str, Any], init: Any
) -> FitOptions:
    """Put the options of the fit together; the defaults stand for what a file does not hold."""
    theta = fields["centroids"].to_numpy(dtype=float)
    if stored.get(_INIT) == "array":
        # earlier versions did not keep the centroids that a fit started from
        stored[_INIT] = theta if init is None else init
    known = {field.name for field in dataclasses.fields(FitOptions)}
    stated = {name: value for name, value in stored.items() if name in known}
    return FitOptions(
        **stated
        | {
            "n_clusters": len(theta),
            "lam": scalars["lam"],
            "eta": scalars["eta"],
            "scale": None if scalars["scaling"] == "none" else scalars["scaling"],
            "dispersion": scalars["dispersion"],
            "prior": fields["prior"],
        }
    )


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


Arrays = dict[str, np.ndarray]


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


def _is_outdated(name: str, packed: dict[str, Any]) -> bool:
    """Whether a stored record has fields that such records no longer have."""
    known = {field.name for field in dataclasses.fields(RECORDS[name])}
    return bool(packed.keys() - known)


def unpack_record(name: str, packed: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Rebuild the record that belongs to a field of the results object."""
    record = RECORDS[name]
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        # files of before do not have what came later, which has a default
        if field.name not in packed and field.default is not dataclasses.MISSING:
            continue
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


def unpack_frame(
    packed: dict[str, Any], key: str, arrays: Mapping[str, np.ndarray]
) -> pd.DataFrame:
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


def unpack_index(packed: dict[str, Any], key: str, arrays: Mapping[str, np.ndarray]) -> pd.Index:
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
