"""Small numbers for the values of columns, chunk by chunk, in order of first appearance.

Whole numbers that come in arrays (`Wholes`) are looked up in a sorted array, which takes 16 bytes for each and no loop; all else
in a dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.data.readers.coded import Coded, Wholes
from rumflow.errors import InputError

Codes = NDArray[np.int64]


class Coder:
    """Numbers for the different values of a column, in order of first appearance."""

    def __init__(self) -> None:
        self._index: dict[Any, int] = {}
        self._wholes: _WholeCoder | None = (
            None  # as long as all values came as whole numbers; the dictionary is empty then
        )

    def __len__(self) -> int:
        return len(self._index) if self._wholes is None else len(self._wholes.sorted)

    @property
    def values(self) -> list[Any]:
        """The different values."""
        return list(self._index if self._wholes is None else self._wholes.values())

    @property
    def has_gaps(self) -> bool:
        """Was some value missing or empty?"""
        return None in self._index or "" in self._index

    def encode(self, column: Any) -> Codes:
        """The numbers of a chunk's values; missing values are the value None."""
        if isinstance(column, Coded):
            return self._encode_coded(column)
        if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
            different, inverse = np.unique(column, return_inverse=True)
            return self._encode_coded(Coded(inverse.reshape(-1), _as_values(different)))
        index = self._by_value()
        if set(map(type, column)) <= {str, int}:
            for value in dict.fromkeys(column):
                self._one(value)
            return np.fromiter(map(index.__getitem__, column), np.int64, len(column))
        return np.fromiter((self._one(v) for v in column), np.int64, len(column))

    def _encode_coded(self, column: Coded) -> Codes:
        used = np.flatnonzero(np.bincount(column.codes + 1, minlength=len(column.values) + 1)) - 1
        table = np.zeros(len(column.values) + 1, np.int64)  # the last entry is code -1: missing
        if isinstance(column.values, Wholes) and not self._index and len(used) and used[0] >= 0:
            self._wholes = self._wholes or _WholeCoder(column.values.text)
            table[used] = self._wholes.encode(column.values.numbers[used])
            return table[column.codes]
        index, values = self._by_value(), column.values
        values = list(values) if isinstance(values, Wholes) else values
        for code in used.tolist():
            value = None if code < 0 else values[code]
            plain = type(value) is str or type(value) is int  # as they come from Arrow
            table[code] = index.setdefault(value, len(index)) if plain else self._one(value)
        return table[column.codes]

    def _by_value(self) -> dict[Any, int]:
        """The dictionary, from here on."""
        if self._wholes is not None:
            self._index = {value: k for k, value in enumerate(self._wholes.values())}
            self._wholes = None
        return self._index

    def _one(self, value: Any) -> int:
        key = clean_value(value)
        return self._index.setdefault(key, len(self._index))


class _WholeCoder:
    """Numbers for different whole numbers."""

    def __init__(self, text: bool) -> None:
        self.text = text
        self.sorted = np.empty(0, np.int64)
        self.number = np.empty(0, np.int64)  # of each of them

    def encode(self, given: Codes) -> Codes:
        """The numbers of whole numbers that differ from each other."""
        place = np.searchsorted(self.sorted, given)
        known = place < len(self.sorted)
        known[known] = self.sorted[place[known]] == given[known]
        found = np.empty(len(given), np.int64)
        found[known] = self.number[place[known]]
        new = np.flatnonzero(~known)
        found[new] = len(self.sorted) + np.arange(len(new))
        new = new[np.argsort(given[new])]
        self.sorted = np.insert(self.sorted, place[new], given[new])
        self.number = np.insert(self.number, place[new], found[new])
        return found

    def values(self) -> Wholes:
        """The different values, in order of their numbers."""
        numbers = np.empty(len(self.sorted), np.int64)
        numbers[self.number] = self.sorted
        return Wholes(numbers, self.text)


def _as_values(different: NDArray[Any]) -> Sequence[Any]:
    """The different values of an array of numbers."""
    if different.dtype.kind == "i" or (different.dtype.kind == "u" and (different < 1 << 63).all()):
        return Wholes(different.astype(np.int64), text=False)
    listed: list[Any] = different.tolist()
    return listed


class RowCoder:
    """Numbers for the different values of one column, or of several columns together, in order of first appearance."""

    def __init__(self, width: int) -> None:
        self.parts: list[Coder] = [Coder() for _ in range(width)]
        self.joins: list[Coder] = [
            Coder() for _ in range(width - 1)
        ]  # each of a pair: the number so far, and that in the next column

    def __len__(self) -> int:
        return len((self.joins or self.parts)[-1])

    def encode(self, columns: Sequence[Any]) -> Codes:
        """The numbers of a chunk's rows."""
        first, *rest = (part.encode(column) for part, column in zip(self.parts, columns, strict=True))
        for join, more in zip(self.joins, rest, strict=True):
            first = join.encode((first << 31) | more)
        return first

    def values(self, code: int) -> list[Any]:
        """The values of the columns under a number."""
        found = []
        for join, part in zip(reversed(self.joins), reversed(self.parts), strict=False):
            code, last = divmod(join.values[code], 1 << 31)
            found.append(part.values[last])
        return [self.parts[0].values[code], *reversed(found)]

    def label(self, code: int) -> str:
        """The same, for a message."""
        return ", ".join(map(repr, self.values(code)))


def clean_value(value: Any) -> Any:
    """A value that can be a key: numbers as Python numbers, lists as tuples, NaN as None."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return None if np.isnan(value) else int(value) if value.is_integer() else value
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(value) if set(map(type, value)) <= {str} else tuple(clean_value(v) for v in value)
    if isinstance(value, set | frozenset):
        return frozenset(clean_value(v) for v in value)
    if type(value).__name__ in ("NAType", "NaTType", "MaskedConstant"):
        return None
    if isinstance(value, int) and value.bit_length() > 64:
        raise InputError(f"a whole number of {value.bit_length():,} bits cannot be a label: write it as text")
    try:
        hash(value)
    except TypeError:
        raise InputError(
            f"a {type(value).__name__} ({str(value)[:40]}) is neither a label nor a menu: labels are texts or numbers, menus "
            "are texts or lists"
        ) from None
    return value
