"""Menus and labels as written in texts: separators, lists, whole numbers, natural order."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from rumflow.data.labels import TIE, Item
from rumflow.output.names import how_many

SEPARATORS = (",", ";", "|", "/", "+", "&", "-", " ")
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,18}")

#: Characters that are invisible and belong to no script: nearly always there by mistake.
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")

JOINERS = "\u200c\u200d"  # these change the letters or pictures beside them


def split_text(text: str, separator: str) -> list[str]:
    """The items of a menu written as text."""
    stripped = text.strip()
    if separator == "":
        return list(stripped)
    if len(stripped) > 1 and stripped[0] + stripped[-1] in ("{}", "()", "[]"):
        stripped = stripped[1:-1]
    parts = [part.strip() for part in stripped.split(separator)]
    return [p[1:-1] if len(p) > 1 and p[0] == p[-1] and p[0] in "'\"" else p for p in parts if p]


def parse_list(text: str) -> tuple[Any, ...] | None:
    """A menu written as a JSON or Python list, set or tuple; None where it is not one."""
    if len(text) < 2 or text[0] + text[-1] not in ("[]", "()", "{}"):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(value, list | tuple | set | frozenset) and all(
            isinstance(v, str) or (isinstance(v, int) and v.bit_length() <= 64) for v in value
        ):
            return tuple(sorted(value, key=str) if isinstance(value, set | frozenset) else value)
    return None


def find_separator(menus: Sequence[str], choices: set[str]) -> str | None:
    """The first separator that cuts the menus so that every choice is an item and some menu holds two or more."""
    if not menus or not choices:
        return None
    parsed = [parse_list(menu.strip()) for menu in menus]
    if all(p is not None for p in parsed):
        return "[]" if choices <= {str(x) for p in parsed if p for x in p} else None
    for separator in SEPARATORS:
        members = [split_text(menu, separator) for menu in menus]
        if choices <= {x for m in members for x in m} and max(map(len, members)) > 1:
            return separator
    if all(len(c) == 1 for c in choices) and choices <= set("".join(menus)) and max(map(len, menus)) > 1:
        return "" if all(len(set(m)) == len(m) for m in menus) else None
    return None


def missing(value: Any) -> bool:
    """Is there nothing in this field?"""
    return value is None or (isinstance(value, str) and value.strip().lower() in ("", "na", "nan"))


def empty_words(values: Iterable[Any]) -> list[str]:
    """Those of the values that are words, such as NA, but say that there is nothing in the field."""
    return [value.strip() for value in values if isinstance(value, str) and value.strip() and missing(value)]


def note_on_empty(words: Iterable[str], columns: Sequence[str], rows: int) -> str:
    """What to say of such words in the columns of the places of a menu.

    >>> note_on_empty({"NA"}, ["a", "b"], 2)
    "NA in 'a', 'b' counts as empty (2 rows); to keep it as an item, rename it"
    """
    named, places = " and ".join(sorted(words)), ", ".join(map(repr, columns))
    return f"{named} in {places} counts as empty ({how_many(rows, 'row')}); to keep it as an item, rename it"


def whole(value: Any) -> int | None:
    """The value as a whole number, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = str(value).strip()
    return int(text) if WHOLE.fullmatch(text) else None


def numbers_if_whole(values: Sequence[Any]) -> list[Any]:
    """Texts as whole numbers where all of them are, so that numbers written to a text file come back as numbers.

    The outcome of a tie stays as it is.
    """
    texts = [v for v in values if v != TIE]
    if all(isinstance(v, str) and WHOLE.fullmatch(v) and abs(int(v)) < 2**63 for v in texts):
        return [v if v == TIE else int(v) for v in values]
    return list(values)


def clean_label(label: str) -> str:
    """A label in lower case, with single blanks, composed accents, and without invisible characters."""
    composed = unicodedata.normalize("NFC", label)
    visible = (c for c in composed if c in JOINERS or unicodedata.category(c) != "Cf")
    return " ".join("".join(visible).split()).casefold()


def spelling(label: str) -> str:
    """What is left of a label when blanks, too, are taken away: labels with the same spelling look alike."""
    return clean_label(label).replace(" ", "")


def natural(label: Item) -> tuple[Any, ...]:
    """Sorts numbers by size, texts by their numbers and letters; the outcome of a tie comes last."""
    if label == TIE:
        return (2, 0, ())
    if isinstance(label, int | float):
        return (0, label, ())
    parts = re.split(r"([0-9]+)", str(label))
    # Digits by value: without leading zeros the longer number is the larger one, however long they are.
    return (1, 0, tuple((0, len(p.lstrip("0")), p.lstrip("0")) if k % 2 else (1, 0, p) for k, p in enumerate(parts)))


def short(labels: Sequence[Item]) -> str:
    """The first few labels, for a message."""
    shown = [str(x)[:24] for x in labels[:6]]
    return "{" + ", ".join(shown) + (", ..." if len(labels) > 6 else "") + "}"
