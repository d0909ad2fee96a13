"""Small tables on the terminal: with `rich` where it is installed and the output is a terminal, plain text elsewhere."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TextIO

from rumflow.text import visible, visible_lines

#: Lines of a cell that is wrapped; what is longer is cut.
MOST_LINES = 6


@dataclass
class Table:
    """A title, named columns and rows of cells; numbers are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: list[list[object]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: object) -> None:
        """One more row."""
        self.rows.append(list(cells))

    def cells(self) -> list[list[str]]:
        """The rows as text. In a column of whole numbers, such as counts, none has decimals; zeros and ones may be shares."""
        whole = [_are_whole([row[j] for row in self.rows]) for j in range(len(self.columns))]
        return [[_cell(value, w) for value, w in zip(row, whole, strict=True)] for row in self.rows]

    def text(self, width: int = 120) -> str:
        """The table as plain text; where `width` is too narrow, the widest text column is wrapped."""
        cells = self.cells()
        right = [all(_is_number(row[j]) for row in self.rows) and bool(self.rows) for j in range(len(self.columns))]
        widths = [max([len(name), *(len(row[j]) for row in cells)]) for j, name in enumerate(self.columns)]
        excess = sum(widths) + 2 * len(widths) - width
        texts = [j for j in range(len(widths)) if not right[j]]
        if excess > 0 and texts:
            widest = max(texts, key=lambda j: widths[j])
            widths[widest] = max(12, widths[widest] - excess)
        lines = [visible_lines(self.title), _line(self.columns, widths, right), "  ".join("-" * w for w in widths)]
        for row in cells:
            parts = [_wrap(cell, w) for cell, w in zip(row, widths, strict=True)]
            lines += [_line(line, widths, right) for line in zip_longest(*parts, fillvalue="")]
        return "\n".join([*lines, *([visible_lines(self.note)] if self.note else [])])


def show(parts: Sequence[Table | str], stream: TextIO | None = None) -> None:
    """Print tables and paragraphs, a blank line between them."""
    out = sys.stdout if stream is None else stream
    if out.isatty() and _show_rich(parts, out):
        return
    print("\n\n".join(visible_lines(part) if isinstance(part, str) else part.text() for part in parts), file=out)


def _show_rich(parts: Sequence[Table | str], out: TextIO) -> bool:
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text
    except ImportError:
        return False
    console = Console(file=out, highlight=False)
    for k, part in enumerate(parts):
        if k:
            console.print()
        if isinstance(part, str):
            console.print(Text(visible_lines(part)), soft_wrap=True)
            continue
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
        for j, name in enumerate(part.columns):
            numeric = bool(part.rows) and all(_is_number(row[j]) for row in part.rows)
            table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
        for row in part.cells():
            table.add_row(*map(Text, row))
        console.print(Text(visible_lines(part.title), style="bold"), soft_wrap=True)
        console.print(table)
        if part.note:
            console.print(Text(visible_lines(part.note), style="dim"), soft_wrap=True)
    return True


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
    return "  ".join(padded).rstrip()


def _wrap(cell: str, width: int) -> list[str]:
    """The lines of a cell; those after the first are set in, so that rows can be told apart."""
    if len(cell) <= width:
        return [cell]
    return textwrap.wrap(
        cell, width, subsequent_indent="  ", break_on_hyphens=False, max_lines=MOST_LINES, placeholder=" ..."
    )


def _is_number(value: object) -> bool:
    with_unit = isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+(?: ?%| s)", value) is not None
    return isinstance(value, int | float) or value is None or with_unit


def _are_whole(values: Sequence[object]) -> bool:
    numbers = [value for value in values if value is not None]
    floats = [value for value in numbers if isinstance(value, float)]
    return (
        all(isinstance(value, int | float) for value in numbers)
        and all(value.is_integer() and abs(value) < 1e15 for value in floats)
        and any(abs(value) >= 2 for value in floats)
    )


def _cell(value: object, whole: bool = False) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if whole or (value.is_integer() and 10 <= abs(value) < 1e15):
            return f"{value:.0f}"
        return f"{value:.4f}" if 1e-4 <= abs(value) < 1e5 or value == 0 else f"{value:.3g}"
    return visible(value)
