"""Questions about choices as linear functionals, for `rumflow.bounds(data, functional=...)`.

Each function returns a mapping {(menu, item): value}; functionals are summed with `combine`. Menus are given by label
and may be observed or not.

`share(menu, item)`
    how many take the item from the menu
`change(before, after, item)`
    how many more take it when the menu `before` becomes `after`
`revenue(menu, values)`
    what the menu earns on average: the sum of values[x] rho(menu, x)
`prefers(a, b)`
    how many prefer a to b; `prefers(a, b, c)`: a to b and b to c
`better_off(before, after)`
    how many get something they like better when the menu `before` becomes `after`

Chains: people who prefer a to b and b to c are those who take b from {b, c}, less those who take b from {a, b, c}. A
chain of four, a over b over c over d, is no sum of choice probabilities: two populations with the same probabilities
on every menu may differ in it, so nothing that is observed could bound it this way.

Better off: the best item of the union of D and E is either the best of D or an item of E that is not in D, and someone
is strictly better off with E than with D exactly when it is not in D.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rumflow.check import as_menu
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError

Menu = tuple[Item, ...]
Functional = dict[tuple[Menu, Item], float]


def share(menu: Iterable[Item], item: Item) -> Functional:
    """Return the probability that the item is taken from the menu.

    Parameters
    ----------
    menu : iterable
        Labels of the items of the menu.
    item : hashable
        One of them.

    Returns
    -------
    dict
        {(menu, item): value}.

    Raises
    ------
    InputError
        If the item is not in the menu.

    Examples
    --------
    >>> share(("tea", "milk"), "tea")
    {(('tea', 'milk'), 'tea'): 1.0}
    """
    members = as_menu(menu)
    if item not in members:
        raise InputError(f"item {item!r} is not in the menu {format_menu(members)}")
    return {(members, item): 1.0}


def change(before: Iterable[Item], after: Iterable[Item], item: Item) -> Functional:
    """Return how much the probability of the item rises from one menu to the other.

    Parameters
    ----------
    before, after : iterable
        The two menus. The probability is 0 on a menu without the item.
    item : hashable
        An item of at least one of them.

    Returns
    -------
    dict
        {(menu, item): value}.

    Raises
    ------
    InputError
        If the item is in neither menu.

    Examples
    --------
    >>> change(["a", "b", "c"], ["a", "b"], "a")
    {(('a', 'b'), 'a'): 1.0, (('a', 'b', 'c'), 'a'): -1.0}
    """
    first, second = as_menu(before, "before"), as_menu(after, "after")
    if item not in first and item not in second:
        raise InputError(f"item {item!r} is neither in {format_menu(first)} nor in {format_menu(second)}")
    terms = [(share(menu, item), sign) for menu, sign in ((second, 1.0), (first, -1.0)) if item in menu]
    return combine(terms)


def revenue(menu: Iterable[Item], values: Mapping[Item, float]) -> Functional:
    """Return what the menu earns on average.

    Parameters
    ----------
    menu : iterable
        Labels of the items of the menu.
    values : mapping
        {item: value}; items without a value earn 0.

    Returns
    -------
    dict
        {(menu, item): value}.

    Examples
    --------
    >>> revenue(("tea", "milk", "nothing"), {"tea": 3.5, "milk": 2.0})
    {(('tea', 'milk', 'nothing'), 'tea'): 3.5, (('tea', 'milk', 'nothing'), 'milk'): 2.0}
    """
    members = as_menu(menu)
    return {(members, item): float(values[item]) for item in members if item in values}


def prefers(a: Item, b: Item, c: Item | None = None) -> Functional:
    """Return the share of people who prefer a to b, or a to b and b to c.

    Parameters
    ----------
    a, b : hashable
        Two items.
    c : hashable, optional
        A third one.

    Returns
    -------
    dict
        {(menu, item): value}.

    Raises
    ------
    InputError
        If two of the items are the same.

    Examples
    --------
    >>> prefers("tea", "milk", "beer")
    {(('milk', 'beer'), 'milk'): 1.0, (('tea', 'milk', 'beer'), 'milk'): -1.0}
    """
    chain = (a, b) if c is None else (a, b, c)
    if len(set(chain)) < len(chain):
        raise InputError(f"prefers{chain!r}: the items must differ")
    if c is None:
        return share((a, b), a)
    return combine([(share((b, c), b), 1.0), (share((a, b, c), b), -1.0)])


def better_off(before: Iterable[Item], after: Iterable[Item]) -> Functional:
    """Return the share of people whose best item of `after` is better than their best item of `before`.

    Parameters
    ----------
    before, after : iterable
        The two menus.

    Returns
    -------
    dict
        {(menu, item): value}.

    Raises
    ------
    InputError
        If `after` has no item that is not in `before`.

    Examples
    --------
    >>> better_off(("tea", "milk"), ("tea", "beer"))
    {(('tea', 'milk', 'beer'), 'beer'): 1.0}
    """
    old, new = as_menu(before, "before"), as_menu(after, "after")
    both = (*old, *(item for item in new if item not in old))
    gained = both[len(old) :]
    if not gained:
        raise InputError(f"better_off: {format_menu(new)} has nothing that {format_menu(old)} does not have")
    return {(both, item): 1.0 for item in gained}


def combine(terms: Iterable[tuple[Mapping[tuple[Menu, Item], float], float]]) -> Functional:
    """Sum functionals, each times a number.

    Parameters
    ----------
    terms : iterable of (functional, factor)
        Such as `[(share(D, x), 1), (share(E, x), -1)]`.

    Returns
    -------
    dict
        {(menu, item): value}.

    Examples
    --------
    >>> combine([(share(["a", "b"], "a"), 1), (share(["a", "b", "c"], "a"), -1)])
    {(('a', 'b'), 'a'): 1.0, (('a', 'b', 'c'), 'a'): -1.0}
    """
    total: Functional = {}
    for functional, factor in terms:
        for cell, value in functional.items():
            total[cell] = total.get(cell, 0.0) + factor * value
    return total
