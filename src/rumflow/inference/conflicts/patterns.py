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

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.data.menus import labels_of
from rumflow.output.names import list_menu

#: Items that were added and are named one by one.
MOST_NAMED = 4


class Pattern(NamedTuple):
    """A name, the items with their parts in it, and a sentence."""

    name: str
    items: dict[str, Item | tuple[Item, ...]]
    text: str


def find_pattern(data: ChoiceData, menus: tuple[int, ...], coefficients: Array) -> Pattern | None:
    """The pattern of a conflict among these rows of the data, given the coefficients of its inequality; None where it is none."""
    if len(menus) == 2:
        inside = data.membership[list(menus)]
        for small, large in ((0, 1), (1, 0)):
            if (inside[small] <= inside[large]).all():
                return _nested(data, menus[small], menus[large])
        return _reversal(data, menus, coefficients) if (inside[0] & inside[1]).any() else None
    return _cycle(data, menus, coefficients)


def _nested(data: ChoiceData, small: int, large: int) -> Pattern | None:
    shares = data.frequencies
    rise = shares[large] - shares[small]
    if np.isnan(rise).all():
        return None
    x = int(np.nanargmax(rise))
    if not rise[x] > 0:
        return None
    target = data.items[x]
    added = np.flatnonzero(data.membership[large] & ~data.membership[small])
    more = _and([str(data.items[z]) for z in added]) if len(added) <= MOST_NAMED else f"{len(added)} more items"
    text = (
        f"{target} is taken by {_percent(shares[small, x])} from {_name(data, small)}, but by {_percent(shares[large, x])} "
        f"when {more} {'is' if len(added) == 1 else 'are'} on offer as well"
    )
    plain = Pattern("regularity", {"target": target}, text + ": more on offer made it more popular.")
    if len(added) > 1 or np.isnan(shares[large][data.membership[large]]).any():
        return plain
    z = int(added[0])
    extra, won = data.items[z], float(shares[large, z])
    third = _row_of(data, (x, z)) if data.membership[large].sum() == 3 else None
    if third is not None and shares[large, x] > shares[third, x]:
        text += f"; and from {_name(data, third)} it is taken by {_percent(shares[third, x])}. {target} gains whichever of the "
        text += "other two is added, as an item between two extremes does."
        return Pattern("compromise", {"target": target, "added": extra}, text)
    others = np.flatnonzero(data.membership[large] & (np.arange(data.n) != z))
    if won < shares[large, others].min():
        text += f", which is itself taken least of all ({_percent(won)}): a decoy."
        return Pattern("attraction", {"target": target, "decoy": extra}, text)
    rivals = [y for y in np.flatnonzero(data.membership[small]) if y != x and shares[large, y] <= won < -rise[y]]
    if not rivals:
        return plain
    y = int(min(rivals, key=lambda y: rise[y]))
    rival = data.items[y]
    text += f", which wins {_percent(won)} and costs {rival} more than that: {rival} falls from {_percent(shares[small, y])} "
    text += f"to {_percent(shares[large, y])}."
    return Pattern("similarity", {"target": target, "added": extra, "rival": rival}, text)


def _reversal(data: ChoiceData, menus: tuple[int, ...], coefficients: Array) -> Pattern:
    common = np.logical_and.reduce(data.membership[list(menus)], axis=0)
    chosen = [np.flatnonzero((coefficients[row] > 0) & common) for row in menus]
    names = [" or ".join(str(data.items[x]) for x in own) for own in chosen]
    labels = [labels_of(data.items, (coefficients[row] > 0) & common) for row in menus]
    text = (
        f"{names[0]} is taken from {_name(data, menus[0])} and {names[1]} from {_name(data, menus[1])}, though all of them "
        "are on both: too many people would have to change their mind."
    )
    return Pattern("reversal", {"first": labels[0], "second": labels[1]}, text)


def _cycle(data: ChoiceData, menus: tuple[int, ...], coefficients: Array) -> Pattern | None:
    inside = data.membership[list(menus)]
    if (inside.sum(axis=1) != 2).any() or not set(inside.sum(axis=0)) <= {0, 2}:
        return None
    beats: dict[int, int] = {}
    for row in menus:
        members = np.flatnonzero(data.membership[row])
        better = [int(x) for x in members if coefficients[row, x] > 0]
        if len(better) != 1 or better[0] in beats:
            return None
        beats[better[0]] = int(members.sum()) - better[0]
    order = [min(beats)]
    while beats[order[-1]] != order[0]:
        order.append(beats[order[-1]])
    if len(order) < len(menus):  # several circles
        return None
    labels = tuple(data.items[x] for x in order)
    shares = []
    for x in order:
        pair = _row_of(data, (x, beats[x]))
        assert pair is not None
        share = data.frequencies[pair]
        shares.append(float(share[x] if not np.isnan(share[x]) else 1.0 - share[beats[x]]))
    if not sum(shares) > len(order) - 1:
        return None
    steps = ", ".join(
        f"{a} over {b} by {_percent(s)}" for a, b, s in zip(labels, (*labels[1:], labels[0]), shares, strict=True)
    )
    text = f"Preferences form a cycle: {steps}. No ranking agrees with all {len(order)} of these choices."
    return Pattern("cycle", {"circle": labels}, text)


def _row_of(data: ChoiceData, items: tuple[int, ...]) -> int | None:
    wanted = np.zeros(data.n, np.bool_)
    wanted[list(items)] = True
    same = np.flatnonzero((data.membership == wanted).all(axis=1))
    return int(same[0]) if len(same) else None


def _name(data: ChoiceData, row: int) -> str:
    return list_menu(data.items, labels_of(data.items, data.membership[row]))


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
