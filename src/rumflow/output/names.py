"""Menus and rankings of many items in few words."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from rumflow.text import visible

if TYPE_CHECKING:
    from rumflow.core.arrays import Array

#: Texts longer than this are cut; those of tables, where lines are wrapped, only if they are longer than the second.
LENGTH, WRAPPED = 60, 240

#: Menus of up to this many items are listed.
LISTED = 5


def how_many(number: int, noun: str) -> str:
    """So many of something.

    >>> how_many(1, "menu"), how_many(20, "menu")
    ('1 menu', '20 menus')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def name_seconds(seconds: float) -> str:
    """Seconds with two digits that count, and no powers of ten.

    >>> name_seconds(0.0123), name_seconds(148.0), name_seconds(12_345.0)
    ('0.012 s', '150 s', '12,000 s')
    """
    rounded = float(f"{seconds:.2g}")
    return f"{rounded:,.0f} s" if rounded >= 10 else f"{rounded:.2g} s"


def name_range(values: Array) -> str:
    """From the smallest to the largest, as one number where they are equal.

    >>> import numpy as np
    >>> name_range(np.array([3.0, 120.0])), name_range(np.array([120.0, 120.0]))
    ('3 to 120', '120')
    """
    low, high = f"{values.min():g}", f"{values.max():g}"
    return low if low == high else f"{low} to {high}"


def name_menu(
    items: Sequence[Hashable],
    menu: Iterable[Hashable],
    length: int = LENGTH,
    name: Callable[[Hashable], str] = visible,
) -> str:
    """A menu in words: {tea, milk}; of more than five items "all 6 items" or "everything except tea"; a long one is cut.

    >>> name_menu("abcdefg", "abcdef"), name_menu("abcdef", "abcde"), name_menu(range(99), range(50), 20)
    ('everything except g', '{a, b, c, d, e}', '{0, 1, ... 48 more}')
    """
    members = list(menu)
    inside = set(members)
    missing = [x for x in items if x not in inside]
    if len(items) >= 5 and not missing:
        return f"all {len(items)} items"
    whole = "{" + ", ".join(map(name, members)) + "}"
    if len(members) <= LISTED and len(whole) <= min(length, LENGTH):
        return whole
    but = "everything except " + ", ".join(map(name, missing))
    shorter = len(but) < len(whole) and len(whole) > min(length, LENGTH)
    if len(items) >= 5 and len(members) > 2 and (len(missing) <= 2 or shorter) and len(but) <= length:
        return but
    return whole if len(whole) <= length else "{" + _cut(members, ", ", length - 2, name) + "}"


def list_menu(items: Sequence[Hashable], menu: Sequence[Hashable], length: int = 2 * LENGTH) -> str:
    """A menu with its items listed, as menus are that are compared with each other; a long one as `name_menu` has it.

    >>> list_menu("abcdef", "abcde"), list_menu(range(99), range(98))
    ('{a, b, c, d, e}', 'everything except 98')
    """
    whole = "{" + ", ".join(map(visible, menu)) + "}"
    return whole if len(whole) <= length else name_menu(items, menu, length)


def say_menu(items: Sequence[Hashable], menu: Sequence[Hashable]) -> str:
    """A menu in a sentence for people who know no braces.

    >>> say_menu("abc", "abc"), say_menu(range(99), range(98))
    ('a, b and c', 'everything except 98')
    """
    *first, last = map(visible, menu)
    named = list_menu(items, menu)
    if named == "{" + ", ".join([*first, last]) + "}":
        return f"{', '.join(first)} and {last}" if first else last
    return bare_menu(named)


def bare_menu(named: str) -> str:
    """The name of a menu without its braces.

    >>> bare_menu("{tea, milk}"), bare_menu("all 6 items")
    ('tea, milk', 'all 6 items')
    """
    return named[1:-1] if named.startswith("{") else named


def name_order(
    order: Sequence[Hashable],
    decided: int | None = None,
    length: int = 100,
    name: Callable[[Hashable], str] = visible,
    separator: str = " > ",
) -> str:
    """A ranking, best item first; where only the first items are `decided`, the others are not named; a long one is cut.

    >>> name_order(["tea", "milk", "water"]), name_order(range(9), 2)
    ('tea > milk > water', '0 > 1 > the others')
    """
    whole = decided is None or decided >= len(order)
    labels = list(order if whole else order[:decided])
    text = separator.join([*map(name, labels), *([] if whole else ["the others"])])
    return text if len(text) <= length else _cut(list(order), separator, length, name)


def _cut(labels: Sequence[Hashable], separator: str, length: int, name: Callable[[Hashable], str]) -> str:
    room, shown = length - len(f"... {len(labels)} more"), list[str]()
    for label in labels:
        room -= len(name(label)) + len(separator)
        if shown and room < 0:
            break
        shown.append(name(label))
    return separator.join([*shown, f"... {len(labels) - len(shown)} more"])


def apart_from(value: float, other: float) -> str:
    """A number with as many digits as it takes to see that it is not the other one.

    >>> apart_from(1.5, 1), apart_from(1 + 2e-9, 1)
    ('1.5', '1.000000002')
    """
    texts = (f"{value:.{digits}g}" for digits in range(6, 18))
    return next((text for text in texts if float(text) != other), repr(float(value)))
