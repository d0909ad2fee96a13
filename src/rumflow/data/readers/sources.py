"""Where tables come from: text files, Parquet files and data frames, all as chunks of columns.

A source has a name, the names of its columns and `chunks(columns)`, which yields the rows piece by piece, so that a file need
not fit in memory. `where(row)` names a row for an error message: the line of a text file, the row of anything else.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rumflow.data.readers.coded import Wholes, from_arrow
from rumflow.data.readers.files import GZIP, Lines, LocalFile, let_go, local_file
from rumflow.data.readers.indexed import counted_values, with_index
from rumflow.errors import InputError
from rumflow.output.frames import optional

CHUNK = 100_000
MOST_EMPTY = 1_000_000  # lines in a row
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@dataclass(frozen=True)
class Chunk:
    """Some rows: for each column wanted its values (a sequence, an array or a `Coded`), and where each row stands."""

    columns: dict[str, Any]
    positions: NDArray[np.int64]  # line numbers, or row numbers

    def __len__(self) -> int:
        return len(self.positions)


class Source(Protocol):
    """A table that can be read in chunks, more than once."""

    name: str
    columns: list[str]
    text: bool  # values are texts, types are guessed

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """The rows, piece by piece, with the columns wanted."""

    def where(self, position: int) -> str:
        """A row, for a message."""


class TextSource:
    """A delimited text file (CSV, TSV; also gzip)."""

    text = True

    def __init__(self, path: str | Path | LocalFile, delimiter: str | None = None, encoding: str = "utf-8") -> None:
        self.file: LocalFile = path if isinstance(path, LocalFile) else local_file(path)
        self.name: str = self.file.name
        self.encoding: str = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
        self._refuse_binary()
        self.skipped = 0  # empty lines before the header
        with self._open() as file:
            first = self._header_line(file)
        self.plain: bool = self.skipped == 0 and first.count('"') % 2 == 0
        self.delimiter: str = self._delimiter(first) if delimiter is None else delimiter
        self.columns: list[str] = [name.strip() for name in self._parse(first)]
        self._check_columns(first)

    def where(self, position: int) -> str:
        """`choices.csv, line 17`: the line of a row, for which the file is read again."""
        with self._open() as file:
            reader = csv.reader(file, delimiter=self.delimiter, skipinitialspace=True)
            next(islice((row for row in reader if row), position + 1, None), None)
            return self._at(reader.line_num)

    def _at(self, line: int) -> str:
        return f"{self.name}, line {line}"

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """The rows: by Arrow where it is installed and reads what `csv` reads, from there on row by row."""
        done = 0
        for chunk in self._by_arrow(wanted):
            yield chunk
            done += len(chunk)
        yield from self._by_row(wanted, done)

    def _by_arrow(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """Chunks until something is wrong, or not as `csv` would read it: that is for the other reader, which names the line."""
        usable = self.plain and self.encoding == "utf-8-sig" and len(self.delimiter.encode()) == 1 and len(wanted) > 0
        if not usable or importlib.util.find_spec("pyarrow") is None:
            return
        arrow, reader = optional("pyarrow", "data"), optional("pyarrow.csv", "data")
        kinds = dict.fromkeys(self.columns, arrow.string())
        options = {  # some 32 blocks are read ahead
            "read_options": reader.ReadOptions(
                use_threads=False, block_size=1 << 18, column_names=self.columns, skip_rows=1
            ),
            "parse_options": reader.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": reader.ConvertOptions(
                column_types=kinds, include_columns=list(wanted), strings_can_be_null=False
            ),
        }
        done, last = 0, False
        with self._bytes() as stream, let_go(stream):
            try:
                batches = reader.open_csv(arrow.PythonFile(stream, mode="r"), **options)
                held = arrow.Table.from_batches([], batches.schema)
                while not last:
                    while held.num_rows < CHUNK and not last:
                        batch = next(batches, None)
                        last = batch is None
                        held = held if batch is None else arrow.concat_tables([held, arrow.Table.from_batches([batch])])
                    while held.num_rows >= CHUNK or (last and held.num_rows):
                        piece, held = held.slice(0, CHUNK), held.slice(CHUNK)
                        columns = {name: from_arrow(piece.column(name).combine_chunks()) for name in wanted}
                        texts = (column.values for column in columns.values() if not isinstance(column.values, Wholes))
                        if any(value.startswith(" ") for values in texts for value in values):
                            return
                        yield Chunk(columns, np.arange(done, done + piece.num_rows))
                        done += piece.num_rows
            except (arrow.ArrowException, OSError, ValueError, EOFError, zlib.error):
                return
            finally:
                batches = None  # what read ahead ends

    def _by_row(self, wanted: Sequence[str], done: int) -> Iterator[Chunk]:
        """The rows after the first ones, checked to have as many fields as the header."""
        index = [self.columns.index(name) for name in wanted]
        width = len(self.columns)
        with self._open() as file:
            reader = csv.reader(file, delimiter=self.delimiter, skipinitialspace=True)
            numbered = self._filled(reader)
            try:
                next(islice(numbered, done, None), None)
                while piece := list(islice(numbered, CHUNK)):
                    rows = [row for row, _ in piece]
                    if set(map(len, rows)) != {width}:
                        self._report_width(piece, width)
                    columns = list(zip(*rows, strict=True))
                    values = {name: columns[i] for name, i in zip(wanted, index, strict=True)}
                    yield Chunk(values, np.arange(done, done + len(piece)))
                    done += len(piece)
            except UnicodeDecodeError as error:
                raise self._decode_error(error) from None
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InputError(f"{self._at(reader.line_num)}: the gzip file is cut or damaged ({error})") from None
            except csv.Error as error:
                raise InputError(
                    f"{self._at(reader.line_num)}: {error}; check for a quotation mark that is never closed "
                    f"(a field has at most {csv.field_size_limit():,} characters)"
                ) from None

    def _filled(self, reader: Any) -> Iterator[tuple[list[str], int]]:
        """The rows that are not empty, with their line numbers; an error where nothing but empty lines seems to follow."""
        empty = 0
        for row in reader:
            if row:
                empty = 0
                yield row, reader.line_num
            elif (empty := empty + 1) > MOST_EMPTY:
                raise InputError(
                    f"{self._at(reader.line_num)}: more than {MOST_EMPTY:,} empty lines in a row; remove them"
                )

    def _report_width(self, piece: list[tuple[list[str], int]], width: int) -> None:
        row, line = next((row, line) for row, line in piece if len(row) != width)
        raise InputError(
            f"{self._at(line)}: {len(row)} field{'s' * (len(row) != 1)}, but the header has {width} "
            f"({', '.join(self.columns[:8])}{', ...' if width > 8 else ''}); fields are separated by "
            f"{DELIMITERS.get(self.delimiter, repr(self.delimiter))}: put quotation marks around a menu that holds one, "
            "or name another delimiter"
        )

    def _open(self) -> IO[str]:
        try:
            return io.TextIOWrapper(self._bytes(), encoding=self.encoding, newline="")
        except (LookupError, ValueError):
            raise InputError(f"encoding={self.encoding!r} is unknown; try 'utf-8', 'latin-1' or 'utf-16'") from None

    def _bytes(self) -> io.BufferedReader:
        opener: Any = gzip.open if self.file.start.startswith(GZIP) else open
        return io.BufferedReader(Lines(opener(self.file.path, "rb"), self.name), 1 << 16)

    def _refuse_binary(self) -> None:
        start = self.file.start
        if not start.strip():
            raise InputError(f"{self.name} is empty; a header line and at least one row are needed")
        kinds = {
            b"\xd0\xcf\x11\xe0": "an old Excel file: save it as .xlsx or CSV",
            b"PAR1": "a Parquet file: read it with from_parquet",
        }
        for magic, kind in kinds.items():
            if start.startswith(magic):
                raise InputError(f"{self.name} is {kind}")
        if start[:2] in (b"\xff\xfe", b"\xfe\xff") and "16" not in self.encoding:
            raise InputError(f"{self.name} is UTF-16 text, line 1: pass encoding='utf-16' (--encoding utf-16)")
        if b"\x00" in start and "16" not in self.encoding and "32" not in self.encoding and not start.startswith(GZIP):
            raise InputError(
                f"{self.name}, line {start[: start.index(0)].count(10) + 1}: this is not a text file (it holds zero bytes); "
                "CSV and Parquet are read"
            )

    def _header_line(self, file: IO[str]) -> str:
        try:
            for line in islice(file, 1000):
                if not line.strip():
                    self.skipped += 1
                else:
                    if len(line) > 100_000:
                        raise InputError(
                            f"{self.name}, line 1: the header has {len(line):,} characters; is this a table?"
                        )
                    return line
        except (UnicodeDecodeError, UnicodeError) as error:
            raise self._decode_error(error) from None
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{self.name}: it cannot be read as gzip ({error})") from None
        raise InputError(f"{self.name} is empty; a header line and at least one row are needed")

    def _decode_error(self, error: UnicodeError) -> InputError:
        """Name the line that is not in the encoding."""
        line, found = 1, ""
        try:
            with self._bytes() as raw:
                for line, content in enumerate(raw, 1):  # noqa: B007
                    try:
                        content.decode(self.encoding)
                    except UnicodeDecodeError as wrong:
                        found = f" (byte 0x{content[wrong.start]:02x})"
                        break
        except (EOFError, zlib.error, gzip.BadGzipFile) as damage:
            return InputError(f"{self._at(line)}: the gzip file is cut or damaged ({damage})")
        return InputError(
            f"{self._at(line)}: not {self.encoding.removesuffix('-sig')} text{found}; save the file as UTF-8, or pass "
            "encoding='latin-1' (--encoding latin-1)"
        )

    def _parse(self, line: str) -> list[str]:
        return next(csv.reader([line], delimiter=self.delimiter, skipinitialspace=True))

    def _delimiter(self, line: str) -> str:
        """The delimiter that cuts the header into the most fields."""
        counts = {d: len(next(csv.reader([line], delimiter=d))) for d in DELIMITERS}
        best = max(counts, key=lambda d: counts[d])
        if counts[best] == 1:
            raise InputError(
                f"{self.name}, line 1: only one column, {line.strip()[:60]!r}; fields may be separated by comma, "
                "semicolon, tab or bar, or pass delimiter= (--delimiter)"
            )
        return best

    def _check_columns(self, line: str) -> None:
        check_names(self.columns, f"{self.name}, line 1")
        if all(_is_number(name) for name in self._parse(line) if name):
            raise InputError(
                f"{self.name}, line 1: the header holds only numbers ({line.strip()[:40]}); add a line with the column names"
            )


def check_names(columns: list[str], where: str) -> None:
    """An error unless every column has a name of its own; the first and the last one are given one where they have none."""
    for k, name in enumerate(columns):
        if not name:
            if k == len(columns) - 1 or k == 0:
                columns[k] = f"column {k + 1}"  # an index column, or a delimiter at the end of every line
                continue
            raise InputError(f"{where}: column {k + 1} has no name; give every column a name")
        if name in columns[:k]:
            raise InputError(f"{where}: column {name!r} appears twice; rename one of them")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class ParquetSource:
    """A Parquet file, read in batches of rows and only the columns that are needed."""

    text = False

    def __init__(self, path: str | Path | LocalFile) -> None:
        parquet = optional("pyarrow.parquet", "data")
        self.file: LocalFile = path if isinstance(path, LocalFile) else local_file(path)
        self.name: str = self.file.name
        try:
            self._file = parquet.ParquetFile(self.file.path, memory_map=True)
        except Exception as error:
            raise InputError(
                f"{self.name} is not a Parquet file that can be read: {str(error).splitlines()[0][:120]}"
            ) from None
        self.columns: list[str] = [str(name) for name in self._file.schema_arrow.names]
        if self._file.metadata.num_rows == 0:
            raise InputError(f"{self.name} has no rows; at least one is needed")

    def where(self, position: int) -> str:
        """`choices.parquet, row 17`."""
        return f"{self.name}, row {position}"

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """Batches; texts, lists and whole numbers come as codes."""
        begin = 0
        try:
            for batch in self._file.iter_batches(batch_size=1 << 18, columns=list(wanted), use_threads=False):
                columns = {name: from_arrow(batch.column(i)) for i, name in enumerate(batch.schema.names)}
                yield Chunk(columns, np.arange(begin, begin + batch.num_rows))
                begin += batch.num_rows
        except InputError:
            raise
        except (OSError, ValueError) as error:
            raise InputError(f"{self.where(begin)}: the file is damaged: {str(error).splitlines()[0][:120]}") from None


class FrameSource:
    """A data frame (pandas, polars, Arrow: through narwhals) or a mapping of column names to values."""

    def __init__(self, frame: Any, name: str = "the data frame", text: bool = False) -> None:
        self.name: str = name
        self.text: bool = text
        self.counts = counted_values(frame)
        if isinstance(frame, Mapping):
            self._columns: dict[str, Any] = {str(key): _sequence(name, key, value) for key, value in frame.items()}
        else:
            narwhals = optional("narwhals", "data")
            try:
                wrapped = narwhals.from_native(with_index(frame))
            except TypeError:
                raise InputError(
                    f"a {type(frame).__name__} is not a table: give a pandas, polars or Arrow frame, or a dict of columns"
                ) from None
            if hasattr(wrapped, "collect"):
                wrapped = wrapped.collect()
            self._columns = {}
            for key in wrapped.columns:
                series = wrapped[key]
                numeric = series.dtype.is_float() and not series.is_null().any()
                self._columns[str(key)] = series.to_numpy() if numeric else _in_arrow(series)
            if len(self._columns) != len(wrapped.columns):
                raise InputError(f"{name}: two columns have the same name; rename one of them")
        self.columns: list[str] = list(self._columns)
        lengths = {len(values) for values in self._columns.values()}
        if len(lengths) > 1:
            raise InputError(f"{name}: the columns have different lengths, {sorted(lengths)}")
        if not lengths or lengths == {0}:
            raise InputError(f"{name} has no rows; at least one is needed")
        self._length = lengths.pop()

    def where(self, position: int) -> str:
        """`the data frame, row 17`."""
        return f"{self.name}, row {position}"

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """Pieces of the frame."""
        for begin in range(0, self._length, CHUNK):
            end = min(begin + CHUNK, self._length)
            yield Chunk({name: _piece(self._columns[name], begin, end) for name in wanted}, np.arange(begin, end))


def _in_arrow(series: Any) -> Any:
    """A column of texts, whole numbers or truth values in Arrow, where it is installed; a list of the values otherwise."""
    if importlib.util.find_spec("pyarrow") is None:
        return series.to_list()
    arrow, types = optional("pyarrow", "data"), optional("pyarrow.types", "data")
    try:
        array = series.to_arrow()
    except (arrow.ArrowException, TypeError, ValueError, OverflowError):  # values of several kinds
        return series.to_list()
    array = array.combine_chunks() if isinstance(array, arrow.ChunkedArray) else array
    kind = array.type
    known = types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_boolean(kind)
    return array if known else series.to_list()


def _piece(column: Any, begin: int, end: int) -> Any:
    return from_arrow(column.slice(begin, end - begin)) if hasattr(column, "dictionary_encode") else column[begin:end]


def _sequence(name: str, key: object, values: Any) -> Any:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise InputError(f"{name}, column {key!r}: a list or an array of values is needed")
    if hasattr(values, "filled"):  # a masked array: None where it is masked
        return values.tolist()
    return values if isinstance(values, list | tuple | np.ndarray) else list(values)
