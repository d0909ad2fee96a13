"""Excel workbooks as tables: the first sheet that holds one, its values as the texts that a CSV file would hold."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time
from typing import Any

from rumflow.data.packed import unpacks_to_more
from rumflow.data.readers.files import LocalFile
from rumflow.data.readers.sources import FrameSource, check_names
from rumflow.errors import InputError
from rumflow.output.frames import optional

#: What every workbook (.xlsx, .xlsm) holds, and how many bytes at most are unpacked.
_CONTENT, MOST_BYTES = "xl/workbook.xml", 4_000_000_000


class WorkbookSource(FrameSource):
    """A sheet, all of it in memory: Excel has at most a million rows.

    The header is the first row with two cells or more, so that a title may stand above the table; empty rows are left out.
    """

    def __init__(self, file: LocalFile) -> None:
        rows, sheet, others = _first_table(file)
        header = [_text(value) for value in rows[0][1]]
        while not header[-1]:
            header.pop()
        check_names(header, f"{file.name}, row {rows[0][0]}")
        self._numbers = [number for number, _ in rows[1:]]
        cells = [[_text(value) for value in row[: len(header)]] for _, row in rows[1:]]
        columns = {name: [row[k] if k < len(row) else "" for row in cells] for k, name in enumerate(header)}
        shown = f"{file.name} (sheet {sheet}, the first of {others + 1} with a table)" if others else file.name
        super().__init__(columns, shown, text=True)

    def where(self, position: int) -> str:
        """`sales.xlsx, row 17`: the row as Excel numbers it."""
        return f"{self.name}, row {self._numbers[position]}"


def _first_table(file: LocalFile) -> tuple[list[tuple[int, tuple[Any, ...]]], str, int]:
    """The filled rows with their numbers, the header first; the name of the sheet, and how many others hold a table."""
    if not _is_workbook(file):
        raise InputError(f"{file.name} is a zip file, but no Excel workbook: save the table as CSV or .xlsx")
    if unpacks_to_more(file.path, MOST_BYTES):
        raise InputError(f"{file.name} holds more than {MOST_BYTES / 1e9:.0f} GB of packed tables; save one as CSV")
    try:
        book = optional("openpyxl", "excel").load_workbook(file.path, read_only=True, data_only=True)
        tables = []
        for sheet in book.worksheets:
            filled = [(k, row) for k, row in enumerate(sheet.iter_rows(values_only=True), 1) if _width(row)]
            head = next((j for j, (_, row) in enumerate(filled) if _width(row) > 1), len(filled))
            if len(filled) > head + 1:
                tables.append((filled[head:], sheet.title))
        book.close()
    except (OSError, ValueError, KeyError, TypeError, SyntaxError, zipfile.BadZipFile) as fault:  # whatever is damaged
        raise InputError(
            f"{file.name} is not a workbook that can be read: {str(fault)[:120]}; save it as CSV"
        ) from None
    if not tables:
        raise InputError(
            f"{file.name} holds no table: a header with two columns or more, and at least one row, are needed"
        )
    return *tables[0], len(tables) - 1


def _is_workbook(file: LocalFile) -> bool:
    if not zipfile.is_zipfile(file.path):
        return False
    with zipfile.ZipFile(file.path) as content:
        return _CONTENT in content.namelist()


def _width(row: tuple[Any, ...]) -> int:
    return sum(value not in (None, "") for value in row)


def _text(value: Any) -> str:
    """A cell as a CSV file would hold it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date | time) else str(value).strip()
