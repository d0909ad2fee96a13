"""What the first rows of a table tell about its columns: their different values, and which of them tell rows apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rumflow.core.arrays import Ints
from rumflow.data.readers.coded import Coded
from rumflow.data.readers.coders import Coder, clean_value
from rumflow.data.readers.coding import as_flag
from rumflow.data.readers.sources import Chunk
from rumflow.errors import InputError


class Sample:
    """The first rows of a table; columns are looked at when they are asked about."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._values: dict[str, list[Any]] = {}
        self._codes: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self.chunk)

    def values(self, column: str) -> list[Any]:
        """The different values, missing ones left out."""
        if column not in self._values:
            self._values[column] = _distinct(self.chunk.columns[column])
        return self._values[column]

    def codes(self, column: str) -> Ints:
        """A number for each row: equal where the values are."""
        if column not in self._codes:
            try:
                self._codes[column] = Coder().encode(self.chunk.columns[column])
            except InputError:  # a value that is neither a label nor a menu: reported where the column is used
                self._codes[column] = np.arange(len(self))
        return self._codes[column]

    def joined(self, columns: Sequence[str]) -> Ints:
        """A number for each row: equal where the values of all these columns are."""
        joined = np.zeros(len(self), np.int64)
        for column in columns:
            codes = self.codes(column)
            joined = np.unique(joined * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].astype(
                np.int64
            )
        return joined

    def different(self, columns: Sequence[str]) -> bool:
        """Are all rows different in these columns?"""
        return int(self.joined(columns).max(initial=-1)) + 1 == len(self)

    def flags(self, column: str) -> bool:
        """Does the column hold 0 and 1 only?"""
        return all(as_flag(v) is not None for v in self.values(column))

    def numeric(self, column: str) -> bool:
        """Does the column hold numbers only?"""
        return all(is_number(v) for v in self.values(column))

    def amounts(self, column: str) -> list[float]:
        """The different numbers in the column; none where some value is no number from 0."""
        if not self.numeric(column):
            return []
        numbers = [float(str(v)) for v in self.values(column) if str(v).strip() not in ("", "NA", "nan")]
        return numbers if all(0 <= v < float("inf") for v in numbers) else []

    def whole(self, column: str) -> bool:
        """Does the column hold whole numbers from 0?"""
        numbers = self.amounts(column)
        return bool(numbers) and all(v.is_integer() for v in numbers)

    def row_numbers(self, column: str) -> bool:
        """Does the column count the rows: 0, 1, 2, ... or 1, 2, 3, ...?"""
        values = _by_code(self, column)
        if len(values) != len(self) or len(self) < 2 or not self.numeric(column):
            return False
        numbers = [str(values[code]) for code in self.codes(column).tolist()]
        first = 0 if numbers[0] in ("0", "0.0") else 1
        return all(is_number(v) and float(v or "nan") == k for k, v in enumerate(numbers, first))

    def observations(self, columns: Sequence[str], alternative: str, choice: str) -> bool:
        """Do these columns tell choices apart: each alternative once, at most one taken, several rows a choice?

        A choice column of labels names the alternative taken in every row of the choice.
        """
        owner = self.joined(columns)
        count = int(owner.max(initial=-1)) + 1
        if count == len(self) or count == 0 or not self.different([*columns, alternative]):
            return False
        if self.flags(choice):
            chosen = np.array([as_flag(v) == 1 for v in _by_code(self, choice)], np.bool_)[self.codes(choice)]
            return bool((np.bincount(owner, weights=chosen, minlength=count) <= 1).all())
        known = {str(v) for v in self.values(alternative)}
        once = len(np.unique(self.joined([*columns, choice]))) == count
        return once and {str(v) for v in self.values(choice)} <= known

    def one_each(self, column: str, choice: str) -> bool:
        """Is the choice 1 in exactly one row of each value of the column, each of several rows? (The last may be cut off.)"""
        owner = self.codes(column)
        chosen = np.array([as_flag(v) == 1 for v in _by_code(self, choice)], np.bool_)[self.codes(choice)]
        rows, ones = np.bincount(owner), np.bincount(owner, weights=chosen)
        whole = np.arange(len(rows)) != owner[-1]
        return bool(whole.any() and (rows[whole] > 1).all() and (ones[whole] == 1).all())

    def repeated(self, column: str, owner: Ints) -> bool:
        """Do the values of this column come back in several choices, as those of persons do?"""
        pairs = np.unique(np.stack([self.codes(column), owner]), axis=1)
        different, choices = len(np.unique(pairs[0])), pairs.shape[1]
        return different >= 2 and 3 * different <= 2 * choices


def _by_code(sample: Sample, column: str) -> list[Any]:
    coder = Coder()
    coder.encode(sample.chunk.columns[column])
    return coder.values


def _distinct(column: Any) -> list[Any]:
    """The different values of a column of the sample, missing ones left out."""
    if isinstance(column, Coded):
        return [v for v in column.values if v is not None and v != ""]
    some: Any = column[:20000]
    if isinstance(some, np.ndarray) and some.dtype.kind in "biuf":
        some = np.unique(some)
    elif set(map(type, some)) <= {str, int}:
        some = dict.fromkeys(some)
    seen: dict[Any, None] = {}
    for value in some:
        try:
            key = value if isinstance(value, str) else clean_value(value)
        except InputError:  # reported where the column is used
            key = type(value).__name__
        if key is not None and key != "":
            seen.setdefault(key)
    return list(seen)


def is_number(value: object) -> bool:
    """Can it be read as a number, or is there nothing?"""
    try:
        float(str(value))
    except ValueError:
        return str(value).strip() in ("", "NA", "nan")
    return True
