"""What was counted under the numbers of values; columns of 0 and 1, and of counts and weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from rumflow.check import check_number
from rumflow.core.arrays import Array, Mask
from rumflow.data.labels import LARGEST_TOTAL
from rumflow.data.readers.coded import Coded
from rumflow.data.readers.coders import Coder, Codes
from rumflow.data.readers.sources import Source
from rumflow.errors import InputError

#: Numbers with a comma before their decimals, and what may be whole numbers with points between thousands.
DECIMAL = re.compile(r"[0-9]+,[0-9]+")
THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(\.[0-9]{3})+")

#: Numbers with marks between thousands, whatever they are, and decimals.
MARKED = re.compile(r"[1-9][0-9]{0,2}(?:[ .,'\u2019\u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?")

TRUE, FALSE = {"1", "true", "yes", "y", "t", "1.0"}, {"0", "false", "no", "n", "f", "0.0"}


class KeyCounter:
    """The different rows of a few coded columns: their number, where each came first, and their summed weights."""

    def __init__(self) -> None:
        self._index: dict[int, int] = {}
        self._keys: list[tuple[int, int, int]] = []
        self.first: list[int] = []
        self.weight = np.zeros(0)
        self.unknown = np.zeros(0)  # how many rows had no weight
        self.rows = np.zeros(0)

    def add(self, codes: Sequence[Codes], weights: Array | None, positions: Codes) -> Codes:
        """Count a chunk; the key number of each of its rows."""
        joined = codes[0]
        for more in codes[1:]:
            joined = (joined << 21) | more
        different, first, inverse = np.unique(joined, return_index=True, return_inverse=True)
        order = np.argsort(first)
        begin = first[order]
        numbers = np.empty(len(different), np.int64)
        parts = [code[begin].tolist() for code in codes]
        values = zip(different[order].tolist(), *parts, positions[begin].tolist(), strict=True)
        for j, (key, a, b, c, position) in zip(order.tolist(), values, strict=True):
            known = self._index.setdefault(key, len(self._keys))
            if known == len(self._keys):
                self._keys.append((a, b, c))
                self.first.append(position)
            numbers[j] = known
        keys = numbers[inverse]
        size = len(self._keys)
        if size > len(self.weight):
            self.weight = np.pad(self.weight, (0, size - len(self.weight)))
            self.unknown = np.pad(self.unknown, (0, size - len(self.unknown)))
            self.rows = np.pad(self.rows, (0, size - len(self.rows)))
        number = np.bincount(keys, minlength=size)
        self.rows += number
        if weights is None:
            self.weight += number
        else:
            missing = np.isnan(weights)
            self.weight += np.bincount(keys, weights=np.where(missing, 0.0, weights), minlength=size)
            self.unknown += np.bincount(keys[missing], minlength=size)
        return keys

    @property
    def keys(self) -> Codes:
        """(K, 3) the codes of each key."""
        return np.array(self._keys, np.int64).reshape(-1, 3)


def as_flag(value: object) -> int | None:
    """0, 1 or None where the value is neither."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    if isinstance(value, int | float | np.number):
        return int(value) if value in (0, 1) else None
    text = str(value).strip().lower()
    return 1 if text in TRUE else 0 if text in FALSE else None


def to_flags(source: Source, column: Any, positions: Codes, name: str, wanted: str = "0 or 1") -> Mask:
    """A column of 0 and 1 as truth values."""
    coder = Coder()
    codes = coder.encode(column)
    flags = [as_flag(value) for value in coder.values]
    if None in flags:
        wrong = flags.index(None)
        row = int(np.argmax(codes == wrong))
        raise InputError(f"{source.where(int(positions[row]))}: {coder.values[wrong]!r} in {name}; it must be {wanted}")
    return np.array(flags, np.bool_)[codes]


def to_numbers(source: Source, name: str, column: Any, positions: Codes, *, optional: bool) -> Array:
    """A column of weights or counts: finite and 0 or more; NaN where missing, if that is allowed."""
    if source.text and getattr(source, "delimiter", None) in (";", "\t"):
        _refuse_thousands(source, name, column, positions)
    if isinstance(column, Coded):
        table = np.array([np.nan if v is None else v for v in [*column.values, None]], dtype=object)
        known = _floats(table)
        values: Any = (table if known is None else known)[column.codes]
    else:
        values = column
    numbers = _floats(values)
    if numbers is None and source.text and getattr(source, "delimiter", "") != ",":
        numbers = _floats(_pointed(source, name, values, positions))
    if numbers is None:
        for value, position in zip(values, positions, strict=True):
            if _floats([value]) is None:
                marked = MARKED.fullmatch(str(value).strip()) is not None
                remedy = "write it without marks between thousands" if marked else "write 0 or more"
                raise InputError(
                    f"{source.where(int(position))}: {value!r} in column {name!r} is not a number; {remedy}"
                    + (", with a point for decimals" if "," in str(value) else "")
                )
        raise InputError(f"{source.name}: column {name!r} does not hold numbers")
    bad = (numbers > LARGEST_TOTAL) | (numbers < 0) | (np.isnan(numbers) & (not optional))
    if bad.any():
        k = int(np.argmax(bad))
        what = "missing" if np.isnan(numbers[k]) else f"{numbers[k]:g}"
        raise InputError(
            f"{source.where(int(positions[k]))}: column {name!r} is {what}; it must be a number from 0 to 2^53 = "
            f"{LARGEST_TOTAL:.0f}"
        )
    return numbers


def _refuse_thousands(source: Source, name: str, column: Any, positions: Codes) -> None:
    """1.000 may be a thousand where semicolons separate the fields: ask, unless another number shows what the point is."""
    texts = [
        str(v).strip() for v in (column.values if isinstance(column, Coded) else dict.fromkeys(column)) if v is not None
    ]
    pointed = [text for text in texts if "." in text]
    if pointed and all(THOUSANDS.fullmatch(text) for text in pointed):
        coder = Coder()
        codes = coder.encode(column)
        row = next(k for k, code in enumerate(codes.tolist()) if str(coder.values[code]).strip() in pointed)
        text = str(coder.values[codes[row]]).strip()
        begin = f"{source.where(int(positions[row]))}: {text!r} in column {name!r}"
        if text.count(".") > 1:
            raise InputError(f"{begin} is not a number; write it without points")
        raise InputError(
            f"{begin} could be {text.replace('.', '')} or {float(text):g}, since files with semicolons or tabs often have "
            "points between thousands; write it without the point, or with other decimals (1.50)"
        )


def _pointed(source: Source, name: str, values: Any, positions: Codes) -> list[Any]:
    """Numbers with a comma before their decimals, as spreadsheets of many countries write them, with a point; not 1,000."""
    texts = [str(value).strip() if isinstance(value, str) else value for value in values]
    commas = [k for k, text in enumerate(texts) if isinstance(text, str) and "," in text]
    if commas and all(THOUSANDS.fullmatch(texts[k].replace(",", ".")) for k in commas):
        raise InputError(
            f"{source.where(int(positions[commas[0]]))}: {texts[commas[0]]!r} in column {name!r}: is the comma before decimals, "
            "or between thousands? Write it without the comma, or with other decimals (1,50)"
        )
    return [text.replace(",", ".") if isinstance(text, str) and DECIMAL.fullmatch(text) else text for text in texts]


def typed_number(value: object, where: str) -> float:
    """A number as people type it, with a point or a comma before its decimals.

    >>> typed_number("2,19", "tea"), typed_number(" 3.5", "milk")
    (2.19, 3.5)
    """
    text = str(value).replace("\u2212", "-").replace(" ", "")
    if "," in text and THOUSANDS.fullmatch(text.lstrip("+-").replace(",", ".")):
        raise InputError(
            f"{where}: {value!r:.20} may be thousands or decimals; write it with a point, or without a comma"
        )
    if not re.fullmatch(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", text, re.ASCII | re.IGNORECASE):
        raise InputError(f"{where}: {value!r:.20} is not a number; write it as 2.19 or 2,19")
    return check_number(float(text.replace(",", ".")), where, -inf, inf)


def _floats(values: Any) -> Array | None:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return np.array([np.nan if v is None or str(v).strip() in ("", "NA", "<NA>") else float(v) for v in values])
    except (TypeError, ValueError, OverflowError):
        return None
