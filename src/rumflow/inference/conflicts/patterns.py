"""The classic pattern that a conflict is, where it is one. Each name is given only where its definition holds of the shares.

Two menus, D inside E, and an item x of D that is taken more often from E than from D:

    regularity   nothing more is known.
    compromise   D = {x, y} and E = {x, y, z}; {x, z} was offered too, and x is taken more often from E than from it as well: x
                 gains whichever of the other two is added, as an item between two extremes does (Simonson 1989).
    attraction   E is D and one item z more, the decoy, which is taken less often from E than every other item: it is there to
                 make x look good (Huber, Payne and Puto 1982).
    similarity   E is D and one item z more, which is taken from E at least as often as some y of D other than x, and y has lost
                 more than z has won: z stands in for y, and x gains from their quarrel (Tversky 1972).

Other sets:

    reversal     two menus, neither inside the other, that share items.
    cycle        pairs {a, b}, {b, c}, ..., {k, a}, at least three, each item once the better and once the worse one, whose shares
                 of the better ones add up to more than the number of pairs less one.

The first that holds in the order compromise, attraction, similarity, regularity is named. Whether items are alike, dominated
or between others is not in the data: the names describe what happened to the shares, not why. Compromise and similarity in their
usual, weaker sense (a shift of relative shares) are no conflict with random utility.
"""

from __future__ import annotations

from math import isnan
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.inference.conflicts.subsets import by_item
from rumflow.output.names import list_menu
from rumflow.text import visible

#: Items that were added and are named one by one.
MOST_NAMED = 4


class Pattern(NamedTuple):
    """A name, the items with their parts in it, and a sentence."""

    name: str
    items: dict[str, Item | tuple[Item, ...]]
    text: str


def find_pattern(data: ChoiceData, menus: tuple[int, ...], coefficients: Array) -> Pattern | None:
    """The pattern of a conflict among these menus of the data, given the coefficients (cells,) of its inequality; None: none."""
    if len(menus) == 2:
        first, second = (set(data.offered.items_of(menu).tolist()) for menu in menus)
        if first <= second or second <= first:
            return _nested(data, *(menus if first <= second else menus[::-1]))
        return _reversal(data, menus, coefficients, first & second) if first & second else None
    return _cycle(data, menus, coefficients)


def _nested(data: ChoiceData, small: int, large: int) -> Pattern | None:
    before, after = by_item(data, data.shares, small), by_item(data, data.shares, large)
    rise = {x: after[x] - share for x, share in before.items() if not isnan(after[x] - share)}
    x = max(rise, key=rise.__getitem__, default=-1)
    if not rise or not rise[x] > 0:
        return None
    target = data.items[x]
    added = [z for z in after if z not in before]
    more = _and([visible(data.items[z]) for z in added]) if len(added) <= MOST_NAMED else f"{len(added)} more items"
    text = (
        f"{visible(target)} is taken by {_percent(before[x])} from {_name(data, small)}, but by {_percent(after[x])} "
        f"when {more} {'is' if len(added) == 1 else 'are'} on offer as well"
    )
    plain = Pattern("regularity", {"target": target}, text + ": more on offer made it more popular.")
    if len(added) > 1 or any(map(isnan, after.values())):
        return plain
    z = added[0]
    extra, won = data.items[z], after[z]
    third = _pair_of(data, x, z) if len(after) == 3 else None
    if third is not None and after[x] > (alone := by_item(data, data.shares, third)[x]):
        text += f"; and from {_name(data, third)} it is taken by {_percent(alone)}. {visible(target)} gains whichever of the "
        text += "other two is added, as an item between two extremes does."
        return Pattern("compromise", {"target": target, "added": extra}, text)
    if all(won < after[y] for y in before):
        text += f", which is itself taken least of all ({_percent(won)}): a decoy."
        return Pattern("attraction", {"target": target, "decoy": extra}, text)
    rivals = [y for y in rise if y != x and after[y] <= won < -rise[y]]
    if not rivals:
        return plain
    y = min(rivals, key=rise.__getitem__)
    rival = visible(data.items[y])
    text += f", which wins {_percent(won)} and costs {rival} more than that: {rival} falls from {_percent(before[y])} "
    text += f"to {_percent(after[y])}."
    return Pattern("similarity", {"target": target, "added": extra, "rival": data.items[y]}, text)


def _reversal(data: ChoiceData, menus: tuple[int, ...], coefficients: Array, common: set[int]) -> Pattern:
    first, second = (
        tuple(data.items[x] for x, c in by_item(data, coefficients, menu).items() if c > 0 and x in common)
        for menu in menus
    )
    names = [" or ".join(map(visible, labels)) for labels in (first, second)]
    text = (
        f"{names[0]} is taken from {_name(data, menus[0])} and {names[1]} from {_name(data, menus[1])}, though all of them "
        "are on both: too many people would have to change their mind."
    )
    return Pattern("reversal", {"first": first, "second": second}, text)


def _cycle(data: ChoiceData, menus: tuple[int, ...], coefficients: Array) -> Pattern | None:
    beats: dict[int, int] = {}
    shares: dict[int, float] = {}
    for menu in menus:
        own, taken = by_item(data, coefficients, menu), by_item(data, data.shares, menu)
        better = [x for x, c in own.items() if c > 0]
        if len(own) != 2 or len(better) != 1 or better[0] in beats:
            return None
        x, y = better[0], sum(own) - better[0]
        beats[x], shares[x] = y, taken[x] if not isnan(taken[x]) else 1.0 - taken[y]
    order = [min(beats)]
    while (after := beats.get(order[-1])) is not None and after not in order:
        order.append(after)
    if after != order[0] or len(order) < len(menus):  # a way that ends, or several circles
        return None
    if not sum(shares[x] for x in order) > len(order) - 1:
        return None
    labels = tuple(data.items[x] for x in order)
    steps = ", ".join(
        f"{visible(a)} over {visible(b)} by {_percent(shares[x])}"
        for x, a, b in zip(order, labels, (*labels[1:], labels[0]), strict=True)
    )
    text = f"Preferences form a cycle: {steps}. No ranking agrees with all {len(order)} of these choices."
    return Pattern("cycle", {"circle": labels}, text)


def _pair_of(data: ChoiceData, a: int, b: int) -> int | None:
    """The menu of two items, where it was offered."""
    menus = data.offered
    found = np.flatnonzero((menus.count((menus.item == a) | (menus.item == b)) == 2) & (menus.sizes == 2))
    return int(found[0]) if len(found) else None


def _name(data: ChoiceData, menu: int) -> str:
    return list_menu(data.items, data.offered.labels_of(menu, data.items))


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
