"""Fill the cells and write the report: ``python -m validation.run``, or ``make validate``.

Without ``--full`` a quick version (minutes) is written to a folder of its own. A full run may be
stopped and started again at any time; ``--minutes`` limits it, and ``--report`` writes the report
from what is finished. The finished cells are kept beside the report in one file, from which
``--resume`` goes on, on another machine too.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import matplotlib as mpl

from ewp.realdata import DATA_VARIABLE, DATASETS
from validation.cells import Store

__all__ = ["main"]

_HERE = Path(__file__).parent


def main() -> None:
    """Read the command line, fill the cells, write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="as in the paper; takes hours")
    parser.add_argument("--data", type=Path, help=f"folder of data (default: {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, help="folder of the report")
    parser.add_argument("--cache", type=Path, default=_HERE / ".cache" / "cells")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, help="begin no cell after this time")
    parser.add_argument("--resume", action="store_true", help="go on from the cells of the report")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the report")
    args = parser.parse_args()
    if args.jobs < 1:
        parser.error(f"--jobs is {args.jobs}, and must be the number of processes, 1 or more")
    if args.data is not None:
        os.environ[DATA_VARIABLE] = str(args.data)
    folder = os.environ.get(DATA_VARIABLE)
    if folder and not Path(folder).is_dir():
        parser.error(
            f"there is no folder {folder}: give one with iris.csv.gz and the other sets by --data "
            f"or {DATA_VARIABLE}, or neither, for the sets that come with other packages"
        )
    mpl.use("Agg")
    # what a method says about its own convergence is not news here
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"
    from validation import plan
    from validation.available import has_sparcl

    if absent := [name for name in DATASETS if name not in plan.available()]:
        print(
            f"not at hand, so the report leaves them out: {', '.join(absent)}; "
            "python -m ewp.download FOLDER fetches them, then --data FOLDER finds them",
            file=sys.stderr,
        )
    store = Store(args.cache)
    out = args.out or _HERE / ("report" if args.full else "report-quick")
    packed = out / "cells.jsonl.gz"
    if args.resume and packed.exists():
        print(f"{store.unpack(packed)} cells from {packed}", file=sys.stderr)
    failures: list[str] = []
    if not args.report:
        cells = [
            cell for cell in plan.everything(args.full) if has_sparcl() or not cell.needs_sparcl
        ]
        try:
            failures = store.fill(cells, n_jobs=args.jobs, minutes=args.minutes, progress=True)
        except KeyboardInterrupt:
            print("interrupted; finished cells are kept, the same command goes on", file=sys.stderr)
    from validation.compose import write

    write(store, out, full=args.full)
    store.pack(plan.everything(args.full), packed)
    print(f"report: {out / 'index.html'}")
    for failure in failures:
        print(failure, file=sys.stderr)
    if failures:
        sys.exit(f"{len(failures)} cells failed")


if __name__ == "__main__":
    main()
