"""What every result can become: words, a table, plain values, a page, a file.

A result says once what it is made of: `table`, its rows as columns by name; `_named`, the attributes that stand beside them; and
`parts`, the paragraphs and tables that people read. All forms follow from these.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rumflow.check import format_menu
from rumflow.output.files import plain, write_table
from rumflow.output.frames import make_frame
from rumflow.output.markup import to_html
from rumflow.output.tables import Table
from rumflow.text import visible, visible_lines

#: Rows of a table that is shown as it is.
MOST_ROWS = 20


class Result:
    """What results of the package share.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = {("tea", "milk"): {"tea": 31, "milk": 9}, ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20}}
    >>> share = rf.rationalizable_share(data)
    >>> print(share.summary().splitlines()[0])
    At most 85.0% of these choices can be those of one random utility model
    >>> list(share.to_frame("dict"))
    ['menu', 'item', 'observed', 'rational']
    """

    __slots__ = ()

    #: Attributes that `to_dict` has beside the rows, and its name for the rows.
    _named: ClassVar[tuple[str, ...]] = ()
    _listed: ClassVar[str] = "table"

    if TYPE_CHECKING:

        @property
        def table(self) -> dict[str, list[Any]]:
            """The rows of the result, as columns by name."""

    def parts(self) -> Sequence[str | Table]:
        """Return the paragraphs and tables of the summary."""
        table = as_texts(self.table)
        rows = [list(row) for row in zip(*table.values(), strict=True)]
        more = f"{len(rows) - MOST_ROWS:,} more rows in to_frame()." if len(rows) > MOST_ROWS else ""
        return [Table(self._title(), [name.replace("_", " ") for name in table], rows[:MOST_ROWS], more)]

    def _title(self) -> str:
        """What stands above the table where it is all there is to show."""
        return repr(self)

    def summary(self) -> str:
        """Return the result in words."""
        return "\n\n".join(part if isinstance(part, str) else part.text() for part in self.parts())

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the table as a data frame, menus as texts.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow", "dict"}, default "pandas"
            The kind of data frame.

        Returns
        -------
        data frame
        """
        return make_frame(as_texts(self.table), backend)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, texts and numbers, for JSON; None for numbers that JSON does not have."""
        found: dict[str, Any] = {name: plain(getattr(self, name)) for name in self._named}
        return found | {self._listed: plain(records_of(self.table))}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, in the form that the ending of its name says.

        Parameters
        ----------
        path : str or path
            The file, which ends in .csv, .parquet, .json, .tex, .html, .md or .xlsx.
        """
        write_table(as_texts(self.table), Path(path))

    def _repr_html_(self) -> str:
        return "\n".join(html_of(part) for part in self.parts())


def records_of(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Columns as one mapping per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


_TEXTS: dict[str, Callable[[Any], str]] = {
    "menu": format_menu,
    "ranking": lambda order: " > ".join(map(visible, order)),
    "conflicts": lambda numbers: ", ".join(map(str, numbers)),
}


def as_texts(table: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """The table with menus, rankings and lists of numbers as texts."""
    return {
        name: [_TEXTS[name](value) if name in _TEXTS and isinstance(value, tuple | list) else value for value in column]
        for name, column in table.items()
    }


def html_of(part: str | Table) -> str:
    """A paragraph or a table as HTML."""
    if isinstance(part, str):
        return f'<pre style="white-space: pre-wrap">{escape(visible_lines(part))}</pre>'
    columns = {name: [row[j] for row in part.rows] for j, name in enumerate(part.columns)}
    title, note = (escape(visible_lines(text)) for text in (part.title, part.note))
    pieces = [f"<p><b>{title}</b></p>" if title else "", to_html(columns), f"<p>{note}</p>" if note else ""]
    return "\n".join(piece for piece in pieces if piece)
