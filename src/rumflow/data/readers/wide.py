"""Tables with a column of counts for each item, such as sales by week: an empty field means that the item was not on offer.

They are read where the columns are named (`count=["tea", "milk", "juice"]`), and rewritten as counts by menu and item. Beside a
column of totals, such as visitors, what is left of the total is the outside option's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rumflow.data.readers.coding import to_numbers
from rumflow.data.readers.places import Rewritten, as_code, as_list
from rumflow.data.readers.roles import Options
from rumflow.data.readers.sources import Chunk, Source
from rumflow.data.understood import Understood
from rumflow.errors import InputError

LAYOUT = "one row per sample, one column per item with how often it was chosen; an empty field means not on offer"


def read_wide(source: Source, options: Options, columns: Sequence[str]) -> tuple[Source, Options]:
    """The same counts with a row for each item of each menu, and the options that read them."""
    for role in (
        "menu",
        "choice",
        "alternative",
        "observation",
        "available",
        "losers",
        "weight",
        "menu_id",
        "status_quo",
    ):
        if getattr(options, role) not in (None, False):
            raise InputError(
                f"{source.name}: {role}= does not go with several columns of counts (count=); leave it out"
            )
    for name in [*columns, *_apart(options), *([options.total] if isinstance(options.total, str) else [])]:
        if name not in source.columns:
            raise InputError(f"{source.name}: there is no column {name!r}; there are {', '.join(source.columns[:12])}")
    if isinstance(options.total, str) and options.outside_option is None:
        raise InputError(
            f"{source.name}: total={options.total!r}: who is left of the total took something else; name it with outside_option= "
            "(--outside-option), such as 'nothing'"
        )
    table = _Sums(source, options, columns)
    for chunk in source.chunks(source.columns):
        table.add(chunk)
    return table.finish()


def _apart(options: Options) -> list[str]:
    """The columns that keep samples apart: subject and groups."""
    groups = options.group if isinstance(options.group, list) else [options.group]
    return [name for name in [options.subject, *groups] if isinstance(name, str)]


class _Sums:
    """Counts by menu, subject and group, added up."""

    def __init__(self, source: Source, options: Options, columns: Sequence[str]) -> None:
        self.source, self.options, self.columns = source, options, list(columns)
        self.apart = _apart(options)
        self.sums: dict[tuple[Any, ...], list[float]] = {}
        self.first: dict[tuple[Any, ...], int] = {}
        self.n_rows = 0

    def add(self, chunk: Chunk) -> None:
        """Read a piece of the table."""
        codes = self.options.missing_codes
        self.n_rows += len(chunk)
        counts = np.empty((len(chunk), len(self.columns)))
        for k, name in enumerate(self.columns):
            column = [None if as_code(v) in codes else v for v in as_list(chunk.columns[name])]
            counts[:, k] = to_numbers(self.source, name, column, chunk.positions, optional=True)
        owners = list(zip(*(as_list(chunk.columns[name]) for name in self.apart), strict=True)) or [()] * len(chunk)
        rest = self._rest(chunk, counts)
        for row, left, owner, position in zip(counts, rest, owners, chunk.positions.tolist(), strict=True):
            offered = np.flatnonzero(~np.isnan(row)).tolist()
            if not offered:
                continue  # a row without sales, such as a heading
            key = (tuple(offered), owner)
            self.first.setdefault(key, position)
            sums = self.sums.setdefault(key, [0.0] * (len(offered) + 1))
            for k, value in enumerate([*row[offered].tolist(), left]):
                sums[k] += value

    def _rest(self, chunk: Chunk, counts: Any) -> list[float]:
        """What is left of the totals in each row."""
        total = self.options.total
        if not isinstance(total, str):
            return [0.0] * len(chunk)
        numbers = to_numbers(self.source, total, chunk.columns[total], chunk.positions, optional=False)
        rest = numbers - np.nansum(counts, axis=1)
        if (rest < 0).any():
            row = int(np.argmax(rest < 0))
            raise InputError(
                f"{self.source.where(int(chunk.positions[row]))}: the counts add up to {numbers[row] - rest[row]:g}, more than "
                f"the {numbers[row]:g} in column {total!r}"
            )
        return [float(value) for value in rest]

    def finish(self) -> tuple[Source, Options]:
        """The table that was made."""
        if not self.sums:
            raise InputError(f"{self.source.name}: the columns {', '.join(self.columns)} hold no counts")
        menu, item, count = (f"{', '.join(self.columns)}: {what}" for what in ("on offer", "item", "count"))
        rows = []
        for (offered, owner), sums in self.sums.items():
            labels = tuple(self.columns[x] for x in offered)
            own = zip(labels, sums, strict=False)
            rest = [(str(self.options.outside_option), sums[-1])] if isinstance(self.options.total, str) else []
            rows += [(labels, label, value, self.first[offered, owner], owner) for label, value in [*own, *rest]]
        table: dict[str, Any] = {menu: [r[0] for r in rows], item: [r[1] for r in rows], count: [r[2] for r in rows]}
        table |= {name: [r[4][k] for r in rows] for k, name in enumerate(self.apart)}
        inner = replace(self.options, menu=menu, alternative=item, count=count, total=False, missing=None, base="label")
        return Rewritten(table, self.source, [r[3] for r in rows], self.n_rows), inner


def describe_wide(
    understood: Understood, options: Options, source: Source, columns: Sequence[str], full: bool
) -> Understood:
    """How the table was read, in terms of its own columns; `full`: no field was empty."""
    roles: dict[str, str | tuple[str, ...]] = {"count": tuple(columns)}
    roles |= {"total": options.total} if isinstance(options.total, str) else {}
    roles |= {role: own for role, own in understood.roles.items() if role in ("subject", "group")}
    used = {*columns, *_apart(options), options.total}
    doubt = (
        "No field is empty, so every item was on offer in every row. Where 0 means that an item was not on offer, say "
        "missing='0' (--missing 0)."
    )
    return replace(
        understood,
        layout=LAYOUT,
        roles=roles,
        unused=tuple(name for name in source.columns if name not in used),
        warnings=(*understood.warnings, *([doubt] if full else [])),
    )
