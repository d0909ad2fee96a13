"""Choices given as Python objects: a mapping of menus to counts, or pairs of winner and losers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rumflow.check import check_menu
from rumflow.core.menus import Menus
from rumflow.data.counted import Counted
from rumflow.data.labels import LARGEST_TOTAL, TIE, Item, check_items, format_menu
from rumflow.errors import InputError


def from_mapping(counts: Mapping[Any, Mapping[Any, float]], items: Sequence[Item] | None) -> Counted:
    """From `{("tea", "milk"): {"tea": 31, "milk": 9}, ...}`; an item of the menu without a count was never chosen."""
    if not isinstance(counts, Mapping):
        raise InputError(f"counts: a mapping of menus to choices is needed, not {type(counts).__name__}")
    given: list[tuple[Item, ...]] = []
    for menu in counts:
        if isinstance(menu, str | bytes) or not isinstance(menu, Iterable):
            raise InputError(f"menu {menu!r}: give each menu as a tuple of items, such as ('tea', 'milk')")
        given.append(tuple(menu))
    if not given:
        raise InputError("there are no data: at least one menu must be observed")
    if items is None:
        found = dict.fromkeys(x for menu in given for x in menu)
        items = [x for x in found if x != TIE] + [TIE] * (TIE in found)
    labels = check_items(items)
    position = {label: x for x, label in enumerate(labels)}
    sizes: list[int] = []
    item: list[int] = []
    count: list[float] = []
    for members, chosen in zip(given, counts.values(), strict=True):
        cells = _cells(members, chosen, position)
        sizes.append(len(cells))
        item.extend(cells)
        count.extend(cells.values())
    number = np.repeat(np.arange(len(given)), sizes)
    menus, cell = Menus.from_cells(number, np.array(item, np.int64), len(given), len(labels))
    values = np.empty(len(cell))
    values[cell] = count
    _refuse_equal(menus, given)
    return Counted(labels, menus, values, menus.sums(values))


def _cells(menu: tuple[Item, ...], chosen: Any, position: dict[Item, int]) -> dict[int, float]:
    """The counts of a menu by item number."""
    cells: dict[int, float] = {}
    for item in menu:
        cells[position.get(item, -1)] = 0.0
    if -1 in cells or not 0 < len(cells) == len(menu):  # something is wrong: say what
        check_menu(menu, position, f"menu {format_menu(menu)}")
    if not isinstance(chosen, Mapping):
        raise InputError(f"menu {format_menu(menu)}: give its choices as a mapping of item to count, not {chosen!r}")
    for item, count in chosen.items():
        x = position.get(item, -1)
        if x not in cells:
            raise InputError(f"menu {format_menu(menu)}: the choice {item!r} is not in the menu")
        cells[x] = _check_count(count, menu, item)
    if not any(cells.values()):
        raise InputError(f"menu {format_menu(menu)} has no choices: leave out menus that were not observed")
    return cells


def _refuse_equal(menus: Menus, given: list[tuple[Item, ...]]) -> None:
    _, first = np.unique(menus.keys(), return_index=True)
    if len(first) < len(given):
        name = format_menu(given[int(np.setdiff1d(np.arange(len(given)), first)[0])])
        raise InputError(f"menu {name} appears twice (perhaps in another order): add its counts up first")


def _check_count(count: object, menu: tuple[Item, ...], item: Item) -> float:
    try:
        value = float(count)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"menu {format_menu(menu)}, item {item!r}: the count {count!r} is not a number") from None
    if not 0 <= value <= LARGEST_TOTAL:
        raise InputError(
            f"menu {format_menu(menu)}, item {item!r}: the count is {value:g}; counts must be from 0 to 2^53 = "
            f"{LARGEST_TOTAL:.0f}"
        )
    return value


def table_of_pairs(choices: Iterable[tuple[Item, Any]]) -> dict[str, list[Any]]:
    """Columns of winners and losers from (winner, losers) pairs; losers may be one item or several."""
    table: dict[str, list[Any]] = {"winner": [], "losers": []}
    for k, pair in enumerate(choices):
        try:
            winner, rest = pair
        except (TypeError, ValueError):
            raise InputError(f"pair {k}: {pair!r} is not (winner, losers)") from None
        single = isinstance(rest, str | bytes) or not isinstance(rest, Iterable)
        table["winner"].append(winner)
        table["losers"].append((rest,) if single else tuple(rest))
    if not table["winner"]:
        raise InputError("there are no data: at least one (winner, losers) pair is needed")
    return table
