"""Choices derived from rankings: from each menu a ranking takes its best item.

Every ranking is asked about the same menus, whatever it is, and so the choices of a population of rankings are random utility by
definition. The rank-ordered logit *explodes* a ranking instead: its second place is read as a choice from what the first one left
over. The menu without `a` is then put to those who like `a` best and to nobody else, and what they choose from it is not what the
population would. That is right for the logit, where the two are the same, and is refused here.

The best item of a menu may be tied: items that share a place, and items that were not ranked and are below all that were. A menu
is derived where no ranking ties its best items. Beyond that, "half" gives tied items equal parts of the choice, as if ties were
broken by lot, which is random utility again; "drop" leaves those rankings out of that menu, which depends on tastes; "outcome"
makes the tie of a pair an outcome of its own (`rumflow.data.ties`).

All choices of a ranking are one subject's: they are not independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_menu, check_option
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus, add_up
from rumflow.data.counted import Counted, Rows
from rumflow.data.labels import TIE, Item, check_items, format_menu
from rumflow.data.ties import TIES, settle
from rumflow.data.understood import Understood
from rumflow.errors import InputError
from rumflow.output.names import how_many

UNRANKED = ("below", "not offered")
FORMS = ("orders", "ranks")

#: Up to here all menus can be listed.
MOST_FOR_ALL = 20

NOT_OFFERED = -1

_EXPLODED = ("exploded", "explode", "rank-ordered", "sequential", "stages")
_ROW_BYTES = 80  # of a row while it is made


class Orders(NamedTuple):
    """Rankings of the same items: `place[r, x]` is the place of item x in ranking r, 0 for the best.

    Tied items share a place; items that were not ranked have the place n, or `NOT_OFFERED`.
    """

    items: tuple[Item, ...]
    place: NDArray[np.int32]


class _Derived(NamedTuple):
    """Choices from one menu: who chose what, and which part of a choice it is."""

    ranking: Ints
    item: Ints
    part: Array


def derive_choices(orders: Orders, menus: Any, ties: str | None, times: Ints, weights: Array) -> Counted:
    """Choices from the menus by each ranking, `times[r]` subjects with the weight `weights[r]` each."""
    check_option(ties, "ties", (None, *TIES))
    wanted, given = _list_menus(menus, orders.items)
    pairs = all(len(menu) == 2 for menu in wanted)
    if ties == "outcome" and not pairs:
        large = format_menu(orders.items[x] for x in next(menu for menu in wanted if len(menu) > 2))
        raise InputError(f"ties='outcome': menu {large} is larger than a pair; accepted are pairs only, or ties='half'")
    outcome = pairs and ties in ("outcome", "half")  # half wins are made of outcomes
    require_memory(
        _ROW_BYTES * float(times.sum()) * len(wanted),
        f"the choices of {times.sum():,} rankings from {len(wanted):,} menus",
        "give a shorter list as menus=",
    )
    found: list[_Derived] = []
    kept: list[NDArray[np.int64]] = []
    left_out: list[NDArray[np.int64]] = []
    dropped = 0
    for menu in wanted:
        made, tied = _choose(orders, menu, "outcome" if outcome else ties)
        if tied.any() and ties is None:
            if given:
                raise _tied(orders, menu, int(np.argmax(tied)))
            left_out.append(menu)
        elif len(made.ranking):
            found.append(made)
            kept.append(menu)
            dropped += int(times[tied].sum()) if ties == "drop" else 0
    if not found:
        if left_out:
            raise _tied(orders, left_out[0], int(np.argmax(_choose(orders, left_out[0], None)[1])))
        raise InputError("menus: no ranking is about all items of one of these menus, so no choice can be derived")
    if outcome:
        n = len(orders.items)
        data = _add_up((*orders.items, TIE), [np.append(menu, n) for menu in kept], found, times, weights)
        data = settle(data, ties or "outcome")
    else:
        data = _add_up(orders.items, kept, found, times, weights)
    size = (
        f"{len(orders.items)} items {format_menu(orders.items)}, {len(kept):,} menus, {data.n_observations:g} choices"
    )
    notes, warnings = _notes(orders, ties, left_out), _warnings(dropped)
    return replace(
        data, understood=Understood("", _layout(orders, times), notes=(*notes, size), warnings=tuple(warnings))
    )


def _choose(orders: Orders, menu: NDArray[np.int64], ties: str | None) -> tuple[_Derived, Mask]:
    """Choices from one menu, and which rankings tie its best items; ties="outcome": these take the item after the last."""
    place = orders.place[:, menu]
    offered = (place != NOT_OFFERED).all(axis=1)
    best = (place == place.min(axis=1, keepdims=True)) & offered[:, None]
    number = best.sum(axis=1)
    tied: Mask = number > 1
    if ties == "outcome":
        best = np.column_stack([best & ~tied[:, None], tied])
        menu, number = np.append(menu, len(orders.items)), np.ones_like(number)
    elif ties != "half":
        best[tied] = False
    ranking, column = np.nonzero(best)
    return _Derived(ranking, menu[column], 1.0 / number[ranking]), tied


def _add_up(
    items: tuple[Item, ...], menus: list[NDArray[np.int64]], found: list[_Derived], times: Ints, weights: Array
) -> Counted:
    offered, _ = Menus.from_cells(
        np.repeat(np.arange(len(menus)), [len(menu) for menu in menus]),
        np.concatenate([np.sort(menu) for menu in menus]),
        len(menus),
        len(items),
    )
    menu = np.repeat(np.arange(len(menus)), [len(made.ranking) for made in found])
    ranking, item, part = (np.concatenate(column) for column in zip(*found, strict=True))
    # A ranking that was given several times is that of several subjects: first[r], first[r] + 1, ...
    first = np.cumsum(times) - times
    copies = times[ranking]
    row = np.repeat(np.arange(len(ranking)), copies)
    copy = np.arange(len(row)) - np.repeat(np.cumsum(copies) - copies, copies)
    weight = (part * weights[ranking])[row]
    rows = Rows(
        menu[row].astype(np.int32),
        item[row].astype(np.int32),
        weight,
        (first[ranking[row]] + copy).astype(np.int32),
        subjects=tuple(range(1, int(times.sum()) + 1)),
    )
    counts = add_up(offered.cells_of(rows.menu, rows.choice), weight, len(offered.item))
    return Counted(items, offered, counts, offered.sums(counts), rows)


def _list_menus(menus: Any, items: tuple[Item, ...]) -> tuple[list[NDArray[np.int64]], bool]:
    """The menus by item number, and whether they were listed one by one."""
    n = len(items)
    if isinstance(menus, str):
        if menus in _EXPLODED:
            raise InputError(
                f"menus={menus!r}: a ranking must not be read as choices of the first place, then of the second from what is "
                "left, and so on: who is asked about which menu would depend on tastes, and populations of rankings would be "
                "rejected; accepted are 'pairs', 'all' and a list of menus, about which every ranking is asked"
            )
        check_option(menus, "menus", ("pairs", "all"), "a list of menus, such as [('tea', 'milk')]")
        if menus == "all" and n > MOST_FOR_ALL:
            raise InputError(
                f"menus='all': {n} items have too many menus; at most {MOST_FOR_ALL} items are possible: give 'pairs' or a list"
            )
        sizes = range(2, 3 if menus == "pairs" else n + 1)
        chosen = chain.from_iterable(combinations(range(n), size) for size in sizes)
        return [np.array(menu, np.int64) for menu in chosen], False
    if not isinstance(menus, Iterable):
        raise InputError(f"menus={menus!r}: accepted are 'pairs', 'all' and a list of menus, such as [('tea', 'milk')]")
    place = {label: x for x, label in enumerate(items)}
    listed = [np.sort(check_menu(menu, place, f"menus[{k}]", 2)) for k, menu in enumerate(menus)]
    different = {tuple(menu.tolist()): menu for menu in listed}
    if not different:
        raise InputError("menus: the list is empty; at least one menu of two items is needed")
    return list(different.values()), True


def _tied(orders: Orders, menu: NDArray[np.int64], ranking: int) -> InputError:
    place = orders.place[ranking, menu]
    names = [str(orders.items[x]) for x in menu[place == place.min()].tolist()]
    why = "does not rank" if place.min() == len(orders.items) else "ties"
    return InputError(
        f"ranking {ranking} {why} {' and '.join(names[:4])}, the best of menu {format_menu(orders.items[x] for x in menu)}, so "
        "it does not say what it would choose there; give ties='half' (tied items get equal parts of the choice, as if by lot), "
        "ties='outcome' (for pairs: an outcome of its own) or ties='drop' (such rankings are left out of the menu, which depends "
        "on tastes), or other menus"
    )


def _layout(orders: Orders, times: Ints) -> str:
    number = how_many(int(times.sum()), "ranking")
    return f"{number}, each one subject: from each menu the best item is chosen; the first is {format_order(orders, 0)}"


def _warnings(dropped: int) -> Iterator[str]:
    if dropped:
        yield (
            f"{dropped:,} choices are left out because the best items of the menu tie; who is left out depends on tastes, so a "
            "rejection may come from that (ties='half' is free of it)"
        )


def _notes(orders: Orders, ties: str | None, left_out: Sequence[NDArray[np.int64]]) -> Iterator[str]:
    n = len(orders.items)
    below = int((orders.place == n).any(axis=1).sum())
    if below:
        yield (
            f"{how_many(below, 'order')} leave{'s' * (below == 1)} items out: these are below all that are ranked "
            "(unranked='not offered': they were not shown)"
        )
    if (orders.place == NOT_OFFERED).any():
        yield "items that are not in a ranking were not shown: it is asked only about menus of items that it has"
    if left_out:
        names = ", ".join(format_menu(orders.items[x] for x in menu) for menu in left_out[:3])
        yield (
            f"{len(left_out):,} menus are left out because some ranking ties their best items: {names}"
            f"{', ...' if len(left_out) > 3 else ''} (ties='half' derives them)"
        )
    if ties == "half":
        yield "items that tie for the best of a menu get equal parts of the choice, as if ties were broken by lot"
    if ties == "outcome":
        yield f"a tie of the two items of a pair is an outcome of its own, {TIE}"


def format_order(orders: Orders, ranking: int) -> str:
    """A ranking in words: `a > b = c > d`; the end of a long one is left out."""
    place = orders.place[ranking]
    ranked = sorted({int(p) for p in place.tolist()} - {NOT_OFFERED, len(orders.items)})
    texts = [" = ".join(str(orders.items[x]) for x in np.flatnonzero(place == p).tolist()) for p in ranked]
    return " > ".join(texts[:6]) + (" > ..." if len(texts) > 6 else "")


# Reading


def read_orders(orders: Any, items: Sequence[Item] | None, form: str = "orders", unranked: str = "below") -> Orders:
    """Rankings as lists of labels, best first, or as tables of ranks."""
    check_option(form, "form", FORMS)
    check_option(unranked, "unranked", UNRANKED)
    if isinstance(orders, str | bytes) or not hasattr(orders, "__len__"):
        raise InputError(
            f"orders: a list of rankings is needed, each a list of labels with the best first, not {type(orders).__name__}"
        )
    if len(orders) == 0:
        raise InputError("orders: there are no rankings; at least one is needed")
    labels, place = _from_ranks(orders, items) if form == "ranks" else _from_lists(orders, items)
    place[place < 0] = NOT_OFFERED if unranked == "not offered" else len(labels)
    return Orders(labels, place)


def _from_lists(orders: Any, items: Sequence[Item] | None) -> tuple[tuple[Item, ...], NDArray[np.int32]]:
    """Labels and places, -1 where not ranked."""
    if hasattr(orders, "to_numpy"):
        orders = orders.to_numpy()
    rankings = [
        _groups(order, r) for r, order in enumerate(orders.tolist() if isinstance(orders, np.ndarray) else orders)
    ]
    seen = dict.fromkeys(label for groups in rankings for group in groups for label in group)
    labels = check_items(_sorted(seen) if items is None else items)
    number = {label: x for x, label in enumerate(labels)}
    place = np.full((len(rankings), len(labels)), -1, np.int32)
    for r, groups in enumerate(rankings):
        for p, group in enumerate(groups):
            for label in group:
                x = number.get(label, -1)
                if x < 0:
                    raise InputError(f"ranking {r}: item {label!r} is not among the items given: {format_menu(labels)}")
                if place[r, x] >= 0:
                    raise InputError(f"ranking {r}: item {label!r} appears twice")
                place[r, x] = p
    return labels, place


def _groups(order: Any, r: int) -> list[list[Item]]:
    """A ranking as groups of tied labels, best first; None and NaN fill up short ones."""
    if isinstance(order, str | bytes) or not isinstance(order, Iterable):
        raise InputError(f"ranking {r}: {order!r} is not a list of labels, such as ['tea', 'milk'] with the best first")
    groups = []
    for entry in order:
        group = list(entry) if isinstance(entry, set | frozenset | list) else [entry]
        if kept := [label for label in group if label is not None and label == label]:  # noqa: PLR0124 -- NaN
            groups.append(kept)
    if not groups:
        raise InputError(f"ranking {r} is empty; at least one item must be ranked")
    return groups


def _sorted(labels: Iterable[Item]) -> list[Item]:
    """Labels in order, where they have one."""
    found = list(labels)
    try:
        return sorted(found)  # type: ignore[type-var]
    except TypeError:
        return sorted(found, key=str)


def _from_ranks(ranks: Any, items: Sequence[Item] | None) -> tuple[tuple[Item, ...], NDArray[np.int32]]:
    """From a table with a row for each ranking, a column for each item and the rank of the item, 1 for the best."""
    columns = getattr(ranks, "columns", None)
    try:
        table = np.asarray(ranks, np.float64)
    except (TypeError, ValueError):
        raise InputError("form='ranks': a table of numbers is needed, the rank of each item, 1 for the best") from None
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputError(f"form='ranks': a table (rankings, items) is needed, not one of shape {table.shape}")
    named = items if items is not None else columns if columns is not None else range(table.shape[1])
    labels = check_items(named)
    if len(labels) != table.shape[1]:
        raise InputError(f"items: {len(labels)} labels for {table.shape[1]} columns of ranks")
    if (bad := (table < 0) | np.isinf(table)).any():
        r, x = np.argwhere(bad)[0].tolist()
        raise InputError(
            f"ranking {r}, item {labels[x]!r}: the rank {table[r, x]:g} must be 1 for the best, 2, ...; 0 or NaN: not ranked"
        )
    ranked = ~np.isnan(table) & (table > 0)
    if (empty := ~ranked.any(axis=1)).any():
        raise InputError(f"ranking {int(np.argmax(empty))} is empty; at least one item must be ranked")
    place = np.full(table.shape, -1, np.int32)
    for r in range(len(table)):
        place[r, ranked[r]] = np.unique(table[r, ranked[r]], return_inverse=True)[1]
    return labels, place


def read_numbers(values: ArrayLike | None, name: str, size: int, whole: bool) -> Array:
    """A positive number for each ranking; None: 1."""
    if values is None:
        return np.ones(size)
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: a number for each ranking is needed") from None
    if numbers.shape != (size,):
        raise InputError(f"{name}: one number for each of the {size} rankings is needed, not shape {numbers.shape}")
    bad = ~((numbers > 0) & (numbers < np.inf)) | (whole & (numbers != np.round(numbers)))
    if bad.any():
        r = int(np.argmax(bad))
        accepted = "whole numbers from 1 on" if whole else "positive numbers"
        raise InputError(f"{name}: ranking {r} has {numbers[r]:g}; {accepted} are accepted")
    return numbers
