"""Columns as numbers into their different values, and how they come out of Arrow.

Ids of persons and of observations are mostly whole numbers, and there may be millions of them. Those stay in an array
(`Wholes`), of which one value at a time becomes a text or a number of Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Ints
from rumflow.output.frames import optional


@dataclass(frozen=True)
class Coded:
    """A column as numbers into a list of values; -1 where missing."""

    codes: NDArray[np.int64]
    values: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Wholes(Sequence[Any]):
    """Different whole numbers, as the texts that a file holds or as numbers."""

    numbers: Ints
    text: bool

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        numbers = self.numbers.tolist()
        return map(str, numbers) if self.text else iter(numbers)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Wholes(self.numbers[place], self.text)
        number = int(self.numbers[place])
        return str(number) if self.text else number


def from_arrow(array: Any) -> Any:
    """An Arrow array as codes (texts, whole numbers, dictionaries), a NumPy array (floats) or a list (anything else)."""
    types = optional("pyarrow.types", "data")
    kind = array.type
    if types.is_floating(kind):
        return _numbers(array, np.nan)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_boolean(kind):
        array = array.dictionary_encode()
    if types.is_dictionary(array.type):
        codes = _numbers(array.indices, -1).astype(np.int64)
        return Coded(codes, array.dictionary.to_pylist() if types.is_dictionary(kind) else _different(array.dictionary))
    if (
        (types.is_list(kind) or types.is_large_list(kind))
        and array.null_count == 0
        and not types.is_nested(kind.value_type)
    ):
        return _coded_lists(array)
    return array.to_pylist()


def _numbers(array: Any, missing: float) -> NDArray[Any]:
    """The numbers of an Arrow array. Its own `to_numpy` would import pandas, where that is installed: four tenths of a second."""
    kind = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, kind)
    numbers = np.frombuffer(array.buffers()[1], kind, len(array), array.offset * kind.itemsize)
    if not array.null_count:
        return numbers
    valid = _numbers(array.is_valid().cast("uint8"), 0)
    return np.where(valid == 1, numbers.astype(np.int64) if kind.kind in "iu" else numbers, missing)


def _coded_lists(array: Any) -> Any:
    """A column of lists as numbers into the different lists: few menus fill many rows."""
    flat = array.values.dictionary_encode()
    if flat.null_count:
        return array.to_pylist()
    content, labels = _numbers(flat.indices, -1), flat.dictionary.to_pylist()
    index: dict[bytes, int] = {}
    bounds = _numbers(array.offsets, -1).tolist()
    codes = [index.setdefault(content[a:b].tobytes(), len(index)) for a, b in pairwise(bounds)]
    lists = [tuple(labels[k] for k in np.frombuffer(key, content.dtype).tolist()) for key in index]
    return Coded(np.array(codes, np.int64), lists)


def _different(values: Any) -> Sequence[Any]:
    """The different values of a column: whole numbers in an array, where all of them are and are written as Python does."""
    arrow, types = optional("pyarrow", "data"), optional("pyarrow.types", "data")
    text = not types.is_integer(values.type)
    if values.null_count or types.is_boolean(values.type):
        listed: list[Any] = values.to_pylist()
        return listed
    try:
        numbers = values.cast(arrow.int64())
    except arrow.ArrowException:
        numbers = None
    if numbers is None or (text and not numbers.cast(values.type).equals(values)):  # 007 is no number
        listed = values.to_pylist()
        return listed
    return Wholes(_numbers(numbers, -1), text)
