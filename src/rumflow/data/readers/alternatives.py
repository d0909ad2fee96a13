"""Long tables with one row per alternative: which rows are one choice, the alternative, and 1 where it was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Ints, Mask
from rumflow.core.menus import Menus
from rumflow.data.readers.coded import Coded
from rumflow.data.readers.coders import Coder, RowCoder
from rumflow.data.readers.coding import as_flag, to_flags, to_numbers
from rumflow.data.readers.roles import Options, Roles
from rumflow.data.readers.sources import Chunk, Source
from rumflow.errors import InputError


class Collected:
    """The choices of a long table, one row each; a row is named by the first line of its observation."""

    def __init__(self, source: Source, table: dict[str, Any], positions: NDArray[np.int64], n_rows: int) -> None:
        self.name: str = source.name
        self.text: bool = source.text
        self.columns: list[str] = source.columns
        self.source: Source = source
        self.table: dict[str, Any] = table
        self.positions: Ints = positions
        self.n_rows: int = n_rows

    def where(self, position: int) -> str:
        """The first row of an observation."""
        return self.source.where(position)

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """All choices."""
        yield Chunk({name: self.table[name] for name in wanted}, self.positions)


def collect_alternatives(source: Source, roles: Roles, options: Options) -> tuple[Collected, Roles]:
    """The same choices as a table with one row per choice: the alternatives of each observation are its menu."""
    rows = _read(source, roles)
    place, owner, alternative = rows.place, rows.owner, rows.alternative
    count = np.bincount(owner, weights=rows.chosen, minlength=len(rows.names))
    if (count != 1).any() and not (options.outside_option is not None and (count <= 1).all()):
        bad = int(np.argmax((count != 1) if options.outside_option is None else (count > 1)))
        raise InputError(
            f"{source.where(int(place[np.argmax(owner == bad)]))}: observation {rows.names.label(bad)} has {count[bad]:g} chosen "
            "alternatives; exactly one must be 1"
            + (" (or name an outside_option=)" if count[bad] == 0 else f"{_remedy(roles)}")
        )
    offered, cell = Menus.from_cells(owner, alternative, len(rows.names), len(rows.labels))
    if len(offered.item) < len(owner):
        _, first = np.unique(cell, return_index=True)
        row = int(np.setdiff1d(np.arange(len(cell)), first)[0])
        raise InputError(
            f"{source.where(int(place[row]))}: observation {rows.names.label(int(owner[row]))} has alternative "
            f"{rows.labels[alternative[row]]!r} twice; list it once{_remedy(roles)}"
        )
    different, number = offered.unique()
    choices = np.full(len(rows.names), -1, np.int64)
    choices[owner[rows.chosen]] = alternative[rows.chosen]
    begin = np.full(len(rows.names), -1, np.int64)
    begin[owner[::-1]] = np.arange(len(owner))[::-1]
    table: dict[str, Any] = {
        "menu": Coded(number.astype(np.int64), different.labels(rows.labels)),
        "choice": Coded(choices, rows.labels),
    }
    inner = Roles("choices", menu="menu", choice="choice")
    for name, column in rows.carried.items():
        _refuse_different(source, rows, name, column.codes, begin)
        table[name] = Coded(column.codes[begin], column.values)
    if roles.weight is not None:
        inner.weight = roles.weight
        table[roles.weight] = to_numbers(source, roles.weight, table[roles.weight], place[begin], optional=False)
    inner.subject, inner.group = roles.subject, roles.group
    return Collected(source, table, place[begin], len(owner)), inner


@dataclass(frozen=True)
class _Rows:
    """The rows of the alternatives that were on offer."""

    names: RowCoder  # of the observations
    labels: list[Any]  # of the alternatives
    owner: Ints
    alternative: Ints
    chosen: Mask
    place: NDArray[np.int64]
    carried: dict[str, Coded]  # columns that belong to the whole observation


def _read(source: Source, roles: Roles) -> _Rows:
    observation, item, answer = RowCoder(len(roles.observation)), Coder(), Coder()
    kept = [c for c in (roles.weight, roles.subject, *roles.group) if c is not None]
    coders = {name: Coder() for name in kept}
    pieces: list[list[Any]] = []
    for chunk in source.chunks(roles.columns()):
        columns = chunk.columns
        owner = observation.encode([columns[name] for name in roles.observation])
        for name, part in zip(roles.observation, observation.parts, strict=True):
            if part.has_gaps:
                row = _first_gap(columns[name])
                raise InputError(
                    f"{source.where(int(chunk.positions[row]))}: column {name!r} is empty; it must say which rows are one choice"
                )
        offered = np.ones(len(chunk), np.bool_)
        for name in roles.available:
            offered = to_flags(source, columns[name], chunk.positions, f"column {name!r}")
        codes = [owner, item.encode(columns[str(roles.alternative)]), answer.encode(columns[str(roles.choice)])]
        codes += [coders[name].encode(columns[name]) for name in kept]
        pieces.append([offered, chunk.positions, *(part.astype(np.int32) for part in codes)])  # half the memory
    parts = [np.concatenate([piece.pop() for piece in pieces]) for _ in range(len(kept) + 5)]
    offered, place, owner, alternative, said, *more = reversed(parts)
    chosen = _chosen(source, roles, alternative, item.values, said, answer.values, place)
    if (chosen & ~offered).any():
        row = int(np.argmax(chosen & ~offered))
        raise InputError(
            f"{source.where(int(place[row]))}: alternative {item.values[alternative[row]]!r} is chosen, but column "
            f"{next(iter(roles.available))!r} says that it was not available; correct the row, or pass available=False "
            f"(--available no)"
        )
    carried = {name: Coded(codes, coders[name].values) for name, codes in zip(kept, more, strict=True)}
    if not offered.all():
        lost = np.bincount(owner[offered], minlength=len(observation)) == 0
        if lost.any():
            raise InputError(
                f"{source.where(int(place[np.argmax(lost[owner])]))}: observation "
                f"{observation.label(int(np.argmax(lost)))} has no "
                "alternative that was available"
            )
        carried = {name: Coded(column.codes[offered], column.values) for name, column in carried.items()}
        owner, alternative, chosen, place = owner[offered], alternative[offered], chosen[offered], place[offered]
    return _Rows(observation, item.values, owner, alternative, chosen, place, carried)


def _first_gap(column: Any) -> int:
    """The first row in which a value is missing or empty."""
    coder = Coder()
    codes = coder.encode(column)
    gap = np.array([value is None or value == "" for value in coder.values])
    return int(np.argmax(gap[codes]))


def _chosen(
    source: Source, roles: Roles, alternative: Ints, labels: list[Any], said: Ints, answers: list[Any], place: Ints
) -> Mask:
    """Which rows are those of the alternative taken: 1 in the choice column, or its label in every row of the observation."""
    flags = [as_flag(value) for value in answers]
    if None not in flags:
        return np.array(flags, np.bool_)[said]
    number = {str(label): k for k, label in enumerate(labels)}
    same = np.array([number.get(str(value), -1) for value in answers], np.int64)
    if (same < 0).any():
        wrong = int(np.argmax(same < 0)) if sum(flag is None for flag in flags) > 1 else flags.index(None)
        raise InputError(
            f"{source.where(int(place[np.argmax(said == wrong)]))}: {answers[wrong]!r} in column {roles.choice!r}; it "
            f"must be 1 for the "
            "alternative chosen and 0 for the others, or the alternative chosen in all rows of the observation"
        )
    chosen: Mask = same[said] == alternative
    return chosen


def _refuse_different(source: Source, rows: _Rows, name: str, codes: Ints, begin: Ints) -> None:
    """What belongs to the whole observation is the same in all of its rows."""
    differs = codes != codes[begin][rows.owner]
    if differs.any():
        row = int(np.argmax(differs))
        values = rows.carried[name].values
        raise InputError(
            f"{source.where(int(rows.place[row]))}: column {name!r} is {values[codes[row]]!r}, but "
            f"{values[codes[begin[rows.owner[row]]]]!r} in another row of observation "
            f"{rows.names.label(int(rows.owner[row]))}; it must be "
            "the same in all rows of an observation: name another column, or none"
        )


def _remedy(roles: Roles) -> str:
    return (
        f"; if {', '.join(roles.observation)} is a person with several choices, name what tells them apart, one column "
        f"or two, with "
        "observation= (--observation)"
    )
