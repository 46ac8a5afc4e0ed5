"""Fill the cells and write the report: ``python -m validation.run``, or ``make validate``.

Without ``--full`` a quick version (minutes) is written to a folder of its own. A full run may be
stopped and started again at any time; ``--minutes`` limits it, and ``--report`` writes the report
from what is finished. The finished cells are kept beside the report in one file, from which
``--resume`` goes on, on another machine too. ``--only STUDY`` computes the cells of one study, and
``--kept`` takes those of earlier code into the report where there are no others, which it says.

After a change of code that is meant to change no number, ``--adopt N`` computes N of the finished
cells again and, if they are the same, keeps all under the keys of the new code. With ``--before
FOLDER``, a checkout of the code before the change, both compute them here: numbers that were
computed on another machine may differ in their last digits.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path

import matplotlib as mpl

from ewp.datasets import DATA_VARIABLE, DATASETS
from validation.cells import Store, has_sparcl

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
    parser.add_argument("--only", metavar="STUDY", help="compute the cells of one study alone")
    parser.add_argument("--report", action="store_true", help="compute nothing, write the report")
    parser.add_argument(
        "--kept", action="store_true", help="with cells of earlier code where there are no others"
    )
    parser.add_argument("--adopt", type=int, metavar="N", help="check N cells, then keep all")
    parser.add_argument("--before", type=Path, help="with --adopt: the code before the change")
    args = parser.parse_args()
    if args.adopt is not None and args.adopt < 1:
        parser.error(f"--adopt is {args.adopt}, and must be the number of cells to check")
    if args.before is not None and not (args.before / "validation" / "cells.py").exists():
        parser.error(f"--before is {args.before}, which is no checkout of the project")
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
    if folder:  # programs that are started elsewhere look for it too
        os.environ[DATA_VARIABLE] = str(Path(folder).resolve())
    mpl.use("Agg")
    # what a method says about its own convergence is not news here
    warnings.simplefilter("ignore")
    os.environ["PYTHONWARNINGS"] = "ignore"
    from validation import plan
    from validation.data import available

    if absent := [name for name in DATASETS if name not in available()]:
        print(
            f"not at hand, so the report leaves them out: {', '.join(absent)}; "
            "python -m validation.download FOLDER fetches them, then --data FOLDER finds them",
            file=sys.stderr,
        )
    store = Store(args.cache)
    full = args.full or args.adopt is not None
    out = args.out or _HERE / ("report" if full else "report-quick")
    packed = out / "cells.jsonl.gz"
    if args.adopt is not None:
        _adopt(args, store, out)
        return
    if args.resume and packed.exists():
        print(f"{store.unpack(packed)} cells from {packed}", file=sys.stderr)
    failures: list[str] = []
    if not args.report:
        cells = [
            cell
            for cell in plan.everything(args.full)
            if (has_sparcl() or not cell.needs_sparcl)
            and (args.only is None or cell.task.startswith(f"{args.only}."))
        ]
        try:
            failures = store.fill(cells, n_jobs=args.jobs, minutes=args.minutes, progress=True)
        except KeyboardInterrupt:
            print("interrupted; finished cells are kept, the same command goes on", file=sys.stderr)
    from validation.archive import Archive
    from validation.compose import write

    shown = Archive(store, packed) if args.kept else store
    write(shown, out, full=args.full)
    shown.pack(plan.everything(args.full), packed)
    print(f"report: {out / 'index.html'}")
    for failure in failures:
        print(failure, file=sys.stderr)
    if failures:
        sys.exit(f"{len(failures)} cells failed")


def _adopt(args: argparse.Namespace, store: Store, out: Path) -> None:
    """Adopt the cells of a report, or say what differs."""
    from validation import plan
    from validation.adoption import adopt
    from validation.compose import restamp

    wrong = adopt(
        out / "cells.jsonl.gz",
        plan.everything(True),
        args.adopt,
        store,
        before=args.before,
        has_sparcl=has_sparcl(),
        n_jobs=args.jobs,
    )
    for text in wrong:
        print(text, file=sys.stderr)
    if wrong:
        sys.exit(f"nothing was adopted: {len(wrong)} differences")
    restamp(out)
    print(f"adopted: {out / 'cells.jsonl.gz'}")


if __name__ == "__main__":
    main()
