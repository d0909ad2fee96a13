"""Files by their content rather than their names: text, Parquet or Excel."""

from __future__ import annotations

from pathlib import Path

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
