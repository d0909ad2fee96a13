"""Files by their content rather than their names: text, Parquet or Excel."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from rumflow.data.readers.coded import Coded
from rumflow.data.readers.files import ZIP, local_file
from rumflow.data.readers.sources import ParquetSource, Source, TextSource
from rumflow.data.readers.workbook import WorkbookSource


def open_source(path: str | Path, delimiter: str | None, encoding: str) -> Source:
    """A file as a source of rows; "-" is standard input."""
    file = local_file(path)
    if file.start.startswith(b"PAR1") or Path(path).suffix.lower() in (".parquet", ".pq"):
        return ParquetSource(file)
    if file.start.startswith(ZIP):
        return WorkbookSource(file)
    return TextSource(file, delimiter, encoding)


def first_rows(source: Source, most_rows: int, most_columns: int) -> list[list[Any]]:
    """The first fields of the first rows; None where there is nothing."""
    shown = source.columns[:most_columns]
    chunk = next(source.chunks(shown), None)
    columns = [] if chunk is None else [_first(chunk.columns[name], most_rows) for name in shown]
    return [list(row) for row in zip(*columns, strict=True)]


def _first(column: Any, most: int) -> list[Any]:
    if isinstance(column, Coded):
        return [None if code < 0 else column.values[code] for code in column.codes[:most].tolist()]
    return list(islice(column, most))
