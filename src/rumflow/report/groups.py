"""How groups differ: the shares of the items that they choose most differently, from menus that most of them were offered."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any, NamedTuple

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.data.readers.texts import natural
from rumflow.output.names import WRAPPED, bare_menu, name_menu, say_menu
from rumflow.report.render import PageTable
from rumflow.text import visible

#: Rows of the table, and groups that have a column.
MOST_ROWS, MOST_GROUPS = 6, 6


class Difference(NamedTuple):
    """An item of a menu, and by group its share and how many chose from the menu; groups that were not offered it are missing."""

    items: tuple[Item, ...]  # all there are
    menu: tuple[Item, ...]
    item: Item
    shares: dict[Any, tuple[float, float]]
    groups: list[Any]  # the columns

    @property
    def size(self) -> float:
        """The largest share less the smallest."""
        own = [share for share, _ in self.shares.values()]
        return max(own) - min(own)


def group_differences(groups: Mapping[Any, ChoiceData]) -> list[Difference]:
    """The largest differences first; of many groups, those with the most choices. A menu counts where more than half have it."""
    largest = sorted(groups, key=lambda name: -groups[name].n_observations)[:MOST_GROUPS]
    shown = sorted(largest, key=natural)
    cells: dict[tuple[frozenset[Item], Item], tuple[tuple[Item, ...], dict[Any, tuple[float, float]]]] = {}
    for name in shown:
        data = groups[name]
        menus, totals = data.menus, data.totals.tolist()
        for j, x, share in zip(
            data.offered.menu.tolist(), data.offered.item.tolist(), data.shares.tolist(), strict=True
        ):
            if len(menus[j]) > 1 and not isnan(share):
                own = cells.setdefault((frozenset(menus[j]), data.items[x]), (menus[j], {}))[1]
                own[name] = share, totals[j]
    items = tuple(dict.fromkeys(item for data in groups.values() for item in data.items))
    found = [
        Difference(items, menu, item, own, shown)
        for (_, item), (menu, own) in cells.items()
        if len(own) > 1
        and 2 * len(own) > len(shown)
        and not (len(menu) == 2 and item == menu[1])  # the rest of the pair
    ]
    return sorted(found, key=lambda one: -round(one.size, 9))[:MOST_ROWS]  # by more than rounding


def largest_difference(found: list[Difference]) -> list[str]:
    """The first of them in a sentence."""
    if not found or found[0].size < 5e-4:
        return []
    one = found[0]
    low, high = (end(one.shares, key=lambda name: one.shares[name][0]) for end in (min, max))
    shares = " and ".join(f"{_percent(one.shares[name][0])} of {visible(name)}" for name in (high, low))
    return [f"The largest difference: {shares} took {visible(one.item)} from {say_menu(one.items, one.menu)}."]


def differences_table(found: list[Difference]) -> list[PageTable]:
    """A row for each, with a column for each group; none where the groups have no menu in common."""
    if not found:
        return []
    groups = found[0].groups
    columns = ["menu", "item", *map(visible, groups)]
    table = PageTable("How the groups differ: who took the item", columns, [False, False, *([True] * len(groups))])
    for one in found:
        own = [one.shares.get(name) for name in groups]
        cells = [(-1.0, "") if share is None else (share[0], f"{_percent(share[0])} of {share[1]:g}") for share in own]
        table.add(bare_menu(name_menu(one.items, one.menu, WRAPPED)), visible(one.item), *cells)
    return [table]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
