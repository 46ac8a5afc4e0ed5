"""Tables as the command line reads them: which columns count, and what is wrong with them.

A `TableReader` goes through a file once, in blocks of rows, so that its size does not matter. It
settles the columns from the header, checks every block, and counts what is missing over the whole
file; all complaints name the columns, an example, and the option that would help. Bytes are opened
in `ewp.cli.streams`, the words of the complaints are in `ewp.cli.messages`.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from ewp.cli import messages as complaints
from ewp.cli.options import ReadOptions
from ewp.cli.streams import InputError, Joined, ShortLines, open_stream
from ewp.data.rows import FileRows
from ewp.data.sources import open_rows

__all__ = ["TableReader"]

#: Tables up to these sizes are held in memory; larger ones go to a temporary file on their way.
MOST_ROWS, MOST_CELLS = 2**15, 2**24
_BLOCK_CELLS = 2**20
#: Characters that a line may have.
_LONGEST_LINE = 2**25


class TableReader:
    """A table that is read once.

    Parameters
    ----------
    path : str
        A file, or ``-`` for standard input.
    reading : ReadOptions
    progress : bool
        Show a bar on stderr.
    truth : str, optional
        Column of known classes.
    only : list of str, optional
        The features of a model: these columns are read, in this order, and no others.

    Attributes
    ----------
    features : list of str
        Names of the columns that count.
    notes : list of str
        What the user should know about how the file was understood.
    n : int
        Number of rows so far that count.
    of_model : bool
        Whether the columns are those of a model, so that none can be left out.
    """

    features: list[str]

    def __init__(
        self,
        path: str,
        reading: ReadOptions,
        *,
        progress: bool = False,
        truth: str | None = None,
        only: list[str] | None = None,
        missing: str | None = None,
    ) -> None:
        self.path = path
        self.reading = reading
        self.stream, content, parquet = open_stream(
            path, encoding=reading.encoding, progress=progress
        )
        self._content = content  # closes the stream when it goes
        self.name = self.stream.name
        self.truth = truth
        self.of_model = only is not None
        self.missing = missing
        self.notes: list[str] = []
        self.n = 0
        self._seen = 0
        self._rows: list[Any] = []
        self._classes: list[Any] = []
        self.first_line = 2 if reading.header else 1
        self.decimal = reading.decimal
        self._stored_index: set[str] = set()
        if parquet:
            names, self._chunks = self._open_parquet(content)
        else:
            names, self._chunks = self._open_text(content)
        self._choose(names, only)
        self._missing = np.zeros(len(self.features), dtype=np.int64)
        self._missing_rows = 0

    @property
    def sha256(self) -> str:
        """Hash of the file, once it was read."""
        return self.stream.sha256

    @property
    def rows(self) -> pd.Index:
        """Names of the rows that were read, or their numbers in the file, counted from 0."""
        if self._id is None and self._seen == self.n:
            return pd.RangeIndex(self.n, name="row")
        return pd.Index(list(itertools.chain(*self._rows)), name=self.reading.id or "row")

    @property
    def classes(self) -> list[str]:
        """Known classes of the rows that were read."""
        return list(itertools.chain(*self._classes))

    def load(self, *, whole: bool = False) -> pd.DataFrame | FileRows:
        """Return the table or, if it is large, its rows in a temporary file.

        Parameters
        ----------
        whole : bool, default False
            Return the table whatever its size.
        """
        blocks = self.blocks()
        kept: list[pd.DataFrame] = []
        for block in blocks:
            kept.append(block)
            large = self.n > MOST_ROWS or self.n * len(self.features) > MOST_CELLS
            if large and not whole:
                return open_rows(lambda: itertools.chain(kept, blocks), self.missing or "error")
        return pd.concat(kept, ignore_index=True).set_axis(self.rows, axis=0)

    def blocks(self) -> Iterator[pd.DataFrame]:
        """Yield checked blocks of rows; complain at the end about what is missing."""
        for chunk in self._chunks:
            if self._seen == 0 and self._nameless(chunk):
                self.notes.append(
                    "the first column has no name and is taken for row names; "
                    "give it a name to use it"
                )
            block = self._numbers(chunk)
            missing = np.isnan(block)
            if np.isinf(block).any():
                raise complaints.infinite_values(self, block)
            whole = ~missing.any(axis=1)
            self._missing += missing.sum(axis=0)
            self._missing_rows += int((~whole).sum())
            numbers = np.arange(self._seen, self._seen + len(block))
            self._seen += len(block)
            if self.reading.dropna:
                block, numbers = block[whole], numbers[whole]
            kept = whole if self.reading.dropna else np.ones(len(whole), dtype=bool)
            if self._id is not None:
                self._rows.append(chunk[self._id].fillna("").astype(str)[kept])
            elif self.reading.dropna:
                self._rows.append(numbers)
            if self._truth is not None:
                self._classes.append(self._known(chunk[self._truth][kept]))
            self.n += len(block)
            if len(block) and (self._may_be_missing or not self._missing_rows):
                yield pd.DataFrame(block, columns=pd.Index(self.features), copy=False)
        self.stream.readall()  # of Parquet only parts were looked at
        self.stream.close()
        if self._missing_rows and not self._may_be_missing:
            raise complaints.missing_values(self, self._missing, self._missing_rows, self._seen)
        if not self.n:
            raise InputError(
                f"{self.name} has a header, but no rows"
                if not self._seen
                else f"every row of {self.name} has a missing value; "
                + ("fill them in first" if self.of_model else "leave out columns with --drop")
            )

    @property
    def _may_be_missing(self) -> bool:
        """Whether missing values are dealt with: by leaving out their rows, or in the fit."""
        return self.reading.dropna or self.missing == "observed"

    def _known(self, column: pd.Series) -> list[str]:
        if column.isna().any():
            raise InputError(
                f"the column of classes {self.truth!r} has missing values; leave out "
                "their rows first, or do without --truth"
            )
        return [str(value) for value in column]

    def _nameless(self, chunk: pd.DataFrame) -> bool:
        return self._id == 0 and self.reading.id is None and len(chunk) > 0

    def _numbers(self, chunk: pd.DataFrame) -> np.ndarray:
        """Return the features of a chunk as numbers; what is text is complained about."""
        texts: dict[str, complaints.TextColumn] = {}
        columns = []
        for name, position in zip(self.features, self._positions, strict=True):
            column = chunk[position]
            if not pd.api.types.is_numeric_dtype(column.dtype):
                number = self._to_numbers(column)
                wrong = (number.isna() & column.notna()).to_numpy()
                if wrong.any():
                    line = self.first_line + self._seen + int(np.flatnonzero(wrong)[0])
                    values = list(dict.fromkeys(column[wrong].astype(str)))
                    texts[name] = complaints.TextColumn(values, line, bool(number.notna().any()))
                column = number
            columns.append(column)
        if texts:
            raise complaints.not_numeric(self, texts)
        block = np.empty((len(chunk), len(columns)))
        for i, column in enumerate(columns):
            block[:, i] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return block

    def _to_numbers(self, column: pd.Series) -> pd.Series:
        """Numbers of a column of mixed entries; dates are none, nor is what has another sign."""
        if column.dtype.kind in "mM" or isinstance(column.dtype, pd.PeriodDtype):
            return pd.Series(np.nan, index=column.index)
        if self.decimal != ".":
            text = column.astype("string").where(column.notna())
            other = text.str.contains(".", regex=False, na=False)
            column = text.str.replace(self.decimal, ".", regex=False).mask(other, "not a number")
        return pd.to_numeric(column, errors="coerce")

    def _choose(self, names: list[str], only: list[str] | None) -> None:
        """Settle which columns count, from the header."""
        reading = self.reading
        unnamed = names[0] == "" and len(names) > 1
        self._id = 0 if unnamed else None
        named = [name or f"column {i + 1}" for i, name in enumerate(names)]
        counts = Counter(named)
        if reading.id is not None:
            self._id = complaints.position(self, "--id", reading.id, named)
        self._truth = (
            None if self.truth is None else complaints.position(self, "--truth", self.truth, named)
        )
        wanted = complaints.resolve(self, "--columns", reading.columns or [], named)
        dropped = complaints.resolve(self, "--drop", reading.drop or [], named)
        if only is not None:
            places = {name: i for i, name in reversed(list(enumerate(named)))}
            absent = [name for name in only if name not in places]
            if absent:
                raise complaints.not_of_the_model(self, absent, named)
            repeated = [name for name in only if counts[name] > 1]
            if repeated:
                raise complaints.repeated_columns(self, repeated)
            lost = [name for name in only if name in dropped or (wanted and name not in wanted)]
            if lost:
                raise complaints.needed_by_the_model(lost)
            self.features, self._positions = only, [places[name] for name in only]
            return
        taken = {self._id, self._truth}
        if not wanted:
            taken |= {i for i, name in enumerate(named) if name in self._stored_index}
        chosen = [
            i
            for i, name in enumerate(named)
            if i not in taken and name not in dropped and (not wanted or name in wanted)
        ]
        self.features = [named[i] for i in chosen]
        self._positions = chosen
        if not chosen:
            raise InputError(
                f"no columns of {self.name} are left; it has {complaints.listed(named)}"
            )
        counts = Counter(self.features)
        repeated = [name for name in counts if counts[name] > 1]
        if repeated:
            raise complaints.repeated_columns(self, repeated)
        if len(named) == 1:
            complaints.wrong_delimiter(self, named[0], self._delimiter)
        if reading.header and all(re.fullmatch(r"-?\d+\.\d+", name) for name in self.features):
            self.notes.append(
                "the names in the header are all numbers; if the first line is data already, "
                "give --no-header"
            )

    @property
    def _delimiter(self) -> str:
        if self.reading.delimiter is not None:
            return self.reading.delimiter.replace("\\t", "\t")
        stem = Path(self.path.removesuffix(".gz"))
        return "\t" if stem.suffix.lower() in (".tsv", ".tab") else ","

    def _open_text(self, content: BinaryIO) -> tuple[list[str], Iterator[pd.DataFrame]]:
        delimiter = self._delimiter
        if len(delimiter) != 1:
            raise InputError(f"--delimiter {delimiter!r} must be one character; a tab is '\\t'")
        encoding = self.reading.encoding or "utf-8-sig"
        try:
            text = io.TextIOWrapper(content, encoding=encoding, newline="")
        except LookupError as error:
            raise InputError(f"--encoding {encoding!r} is unknown; try latin-1") from error
        self._text = text  # and so does this
        short = ShortLines(text, self.name, _LONGEST_LINE)
        lines = csv.reader(short, delimiter=delimiter)
        with complaints.explain_read_errors(self):
            first = next((line for line in lines if line), None)
        if first is None:
            raise InputError(f"{self.name} is empty; it should have a header and one line per row")
        if self.reading.header and not any(name.strip() for name in first):
            raise InputError(
                f"the header of {self.name} has no names; name the columns, or give --no-header"
            )
        self.first_line = lines.line_num + (1 if self.reading.header else 0)
        if self.reading.header:
            return [name.strip() for name in first], self._parse(short, len(first))
        line = io.StringIO(newline="")
        csv.writer(line, delimiter=delimiter).writerow(first)
        whole = Joined(line.getvalue(), short)
        return [f"x{i}" for i in range(len(first))], self._parse(whole, len(first))

    def _parse(self, text: Any, p: int) -> Iterator[pd.DataFrame]:
        kinds = {} if self._truth in (None, self._id) else {self._truth: str}
        # a row may be called NA or null
        as_they_are = {} if self._id is None else {self._id: lambda text: [text]}
        parser: Any = None
        while True:
            with complaints.explain_read_errors(self), warnings.catch_warnings():
                # a first row longer than the header would be cut
                warnings.simplefilter("error", pd.errors.ParserWarning)
                try:
                    parser = parser or pd.read_csv(
                        text,
                        sep=self._delimiter,
                        header=None,
                        names=list(range(p)),
                        index_col=False,
                        dtype=kinds,
                        converters=as_they_are,
                        decimal=self.reading.decimal,
                        na_values=self.reading.na or [],
                        skipinitialspace=True,
                        low_memory=False,
                        chunksize=max(_BLOCK_CELLS // p, 1),
                    )
                    chunk = next(parser)
                except (pd.errors.EmptyDataError, StopIteration):
                    return
            if self._id is not None:
                names = [cell[0] for cell in chunk[self._id]]
                chunk[self._id] = pd.Series(names, index=chunk.index, dtype=object)
            yield chunk

    def _open_parquet(self, content: BinaryIO) -> tuple[list[str], Iterator[pd.DataFrame]]:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise InputError(
                f"{self.name} is a Parquet file, which needs pyarrow: pip install pyarrow"
            ) from error
        with complaints.explain_read_errors(self):
            file = ParquetFile(io.BytesIO(content.read()) if self.path == "-" else self.path)
        names = [str(name) for name in file.schema_arrow.names]
        stored = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        self._stored_index = {name for name in stored if isinstance(name, str)} & set(names)
        if self._stored_index and not self.reading.columns:
            self.notes.append(
                f"left out, for pandas stored it as the index: "
                f"{complaints.listed(sorted(self._stored_index))}; name it with --columns to use it"
            )

        def chunks() -> Iterator[pd.DataFrame]:
            size = max(_BLOCK_CELLS // max(len(names), 1), 1)
            with complaints.explain_read_errors(self), file:
                for batch in file.iter_batches(size):
                    frame = batch.to_pandas(ignore_metadata=True)
                    yield frame.set_axis(range(len(names)), axis=1)

        return names, chunks()
