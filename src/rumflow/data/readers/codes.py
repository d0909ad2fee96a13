"""Choices given as codes of availability columns: which code is which column, and whether that is certain.

A code fits a column if the column is 1 wherever the code was chosen. Codes are read as numbers of the columns, from 0 or from 1;
the order of the columns is certain where the caller gave it, or where no other order fits the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rumflow.data.labels import Item
from rumflow.errors import InputError


class Codes(NamedTuple):
    """What is known about the codes of a table."""

    name: str  # of the table
    choice: str  # the column of the codes
    columns: list[str]  # of availability
    labels: list[Item]  # of the columns
    chosen: dict[int, list[tuple[int, ...]]]  # by code, the columns that were 1 in each of its rows
    where: Callable[[int], str]  # by code, a row

    def fitting(self, code: int) -> set[int]:
        """The columns that are 1 wherever the code was chosen."""
        every = set(range(len(self.columns)))
        return every.intersection(*map(set, self.chosen[code])) if self.chosen.get(code) else every

    def misfits(self, base: int) -> list[int]:
        """The codes whose column, counted from the base, was not always available."""
        return [c for c in sorted(self.chosen) if 0 <= c - base < len(self.columns) and c - base not in self.fitting(c)]

    def beyond(self, base: int) -> list[int]:
        """The codes that are no number of a column."""
        return [c for c in sorted(self.chosen) if not 0 <= c - base < len(self.columns)]


def read_codes(codes: Codes, bases: Sequence[int], ordered: bool) -> dict[int, Item]:
    """The label of each code; an error that asks where more than one reading fits, or none does."""
    fits = [base for base in bases if not codes.beyond(base) and not codes.misfits(base)]
    if len(fits) > 1:
        raise InputError(
            f"{codes.name}: the choices in {codes.choice!r} are numbers of the availability columns, counted from 0 or from 1, "
            "and both fit; say base=0 or base=1 (--base)"
        )
    if not fits:
        raise InputError(_explain(codes, bases, ordered))
    base = fits[0]
    if not ordered and (other := _another_order(codes, base)) is not None:
        raise InputError(
            f"{codes.name}: the choices in {codes.choice!r} are codes; by the order of the columns "
            f"{_mapping(base, codes.labels)}, but other orders fit as well, such as "
            f"{_mapping(base, [codes.labels[x] for x in other])}: "
            f"name the columns in the order of the codes, {_naming([codes.columns[x] for x in range(len(other))])}"
        )
    return {k + base: label for k, label in enumerate(codes.labels)}


def _another_order(codes: Codes, base: int) -> list[int] | None:
    """Another assignment of the columns to the codes that fits all rows; None where there is none.

    Every such assignment turns the columns of some codes round a circle: each of them fits its neighbour's column.
    """
    n = len(codes.columns)
    steps = [sorted(codes.fitting(k + base) - {k}) for k in range(n)]
    state = [0] * n  # 1: on the way, 2: in no circle
    for start in range(n):
        if state[start]:
            continue
        path, left = [start], [iter(steps[start])]
        state[start] = 1
        while path:
            following = next(left[-1], None)
            if following is None:
                state[path.pop()] = 2
                left.pop()
            elif state[following] == 1:
                circle = path[path.index(following) :]
                order = list(range(n))
                for k, code in enumerate(circle):
                    order[code] = circle[(k + 1) % len(circle)]
                return order
            elif state[following] == 0:
                state[following] = 1
                path.append(following)
                left.append(iter(steps[following]))
    return None


def _some_order(codes: Codes, base: int) -> list[int] | None:
    """An assignment of the columns to the codes that fits all rows, found by augmenting paths; None where there is none."""
    n = len(codes.columns)
    owner: dict[int, int] = {}

    def place(code: int, seen: set[int]) -> bool:
        for column in sorted(codes.fitting(code + base), key=lambda x: (x in owner, x != code)):
            if column not in seen:
                seen.add(column)
                if column not in owner or place(owner[column], seen):
                    owner[column] = code
                    return True
        return False

    if n > 200 or not all(place(code, set()) for code in range(n)):
        return None
    order = {code: column for column, code in owner.items()}
    return [order[k] for k in range(n)]


def _explain(codes: Codes, bases: Sequence[int], ordered: bool) -> str:
    """Why the codes are no numbers of columns, and what to do."""
    base = min(bases, key=lambda b: (len(codes.beyond(b)), len(codes.misfits(b)), -b))
    n, beyond, misfits = len(codes.columns), codes.beyond(base), codes.misfits(base)
    first = (beyond or misfits)[0]
    text = f"{codes.where(first)}: the choices in {codes.choice!r} are codes"
    if beyond:
        shown = ", ".join(map(str, beyond[:6]))
        text += (
            f", and {shown} {'are' if len(beyond) > 1 else 'is'} beyond the {n} columns (counted from {base}: {base} to "
            f"{base + n - 1}); where "
            f"no choice was recorded, pass missing={beyond[0] if len(beyond) == 1 else beyond[:6]}"
        )
    if misfits:
        code = misfits[0]
        text += (
            f"{'. Then' if beyond else ':'} {code} would be {codes.labels[code - base]}, which was not available "
            f"everywhere it was chosen "
            f"({codes.where(code)})"
        )
        order = None if ordered else _some_order(codes, base)
        text += "; correct the rows" if ordered else ""
        if not ordered:
            columns = [codes.columns[x] for x in order] if order else codes.columns
            text += f": name the columns in the order of the codes, {_naming(columns)}"
    return text


def _mapping(base: int, labels: Sequence[Item]) -> str:
    shown = ", ".join(f"{k + base} = {label}" for k, label in enumerate(labels[:8]))
    return shown + (", ..." if len(labels) > 8 else "")


def _naming(columns: Sequence[str]) -> str:
    more = ", ..." if len(columns) > 8 else ""
    return f"such as available=[{', '.join(map(repr, columns[:8]))}{more}] (--available)"
