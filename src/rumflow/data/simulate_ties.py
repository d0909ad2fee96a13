"""Simulated pairs with ties as an outcome: people whose rankings have ties, and two models of a single pair.

People of the kind "classes" have utilities with a Gumbel error, as those of Bradley and Terry, and put them into classes of a
width that is the same for all and an offset that is not; items of one class are equally good: a population of weak orders.
Davidson (1970) and Rao and Kupper (1967) give the shares of a pair by themselves,

    Davidson      (a, b, tie)  in proportion to  (v_a, v_b, nu sqrt(v_a v_b)),
    Rao, Kupper   a: v_a / (v_a + theta v_b),  b: v_b / (v_b + theta v_a),  tie: the rest,

with v = exp(worth); they need not be those of any population of weak orders.
"""

from __future__ import annotations

import numpy as np

from rumflow.check import check_number, check_option, check_whole
from rumflow.core.arrays import Array, Ints
from rumflow.core.menus import Menus
from rumflow.core.seeds import Seed, generator
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import TIE

KINDS = ("classes", "davidson", "rao-kupper")


def tied_pairs(
    n: int,
    n_pairs: int | None = None,
    draws: int = 20,
    kind: str = "classes",
    ties: float = 1.0,
    seed: Seed = None,
    *,
    rng: Seed = None,
) -> ChoiceData:
    """Draw choices from pairs in which a tie is an outcome.

    Parameters
    ----------
    n : int
        Number of items; their worths are standard normal.
    n_pairs : int, optional
        Number of pairs, drawn at random; None: all.
    draws : int, default 20
        Choices from each pair.
    kind : {"classes", "davidson", "rao-kupper"}, default "classes"
        "classes": people with utilities in classes of the width `ties`, a population of weak orders. The others are models of
        a pair, with nu = `ties` (Davidson) or theta = 1 + `ties` (Rao and Kupper).
    ties : float, default 1.0
        How frequent ties are; 0: there are none.
    seed, rng : int or Generator, optional
        Seed of the random numbers. Two names of the same: give one.

    Returns
    -------
    ChoiceData
        Menus {a, b, rf.TIE}.

    Examples
    --------
    >>> data = tied_pairs(30, 60, draws=5, seed=1)
    >>> data
    ChoiceData(30 items, 60 menus, 300 observations)
    >>> data.menus[0][-1]
    '(tie)'
    """
    check_whole(n, "n", 2)
    check_whole(draws, "draws", 1)
    check_option(kind, "kind", KINDS)
    check_number(ties, "ties", 0, np.inf, "[)")
    every = n * (n - 1) // 2
    m = every if n_pairs is None else check_whole(n_pairs, "n_pairs", 1, every)
    rng = generator(seed, rng)
    worth = rng.normal(size=n)
    first, second = np.triu_indices(n, 1)
    kept = np.sort(rng.choice(every, m, replace=False))
    kept = kept[np.lexsort((first[kept], second[kept]))]  # menus in the order of their bit masks
    a, b = first[kept], second[kept]
    counts = (
        _classes(rng, worth, a, b, draws, ties)
        if kind == "classes"
        else _by_pair(rng, worth, (a, b), draws, kind, ties)
    )
    item = np.column_stack([a, b, np.full(m, n)]).reshape(-1).astype(np.int32)
    menus = Menus(3 * np.arange(m + 1), item, n + 1)
    return ChoiceData.from_cells((*range(n), TIE), menus, counts.reshape(-1), np.full(m, float(draws)))


def _classes(rng: np.random.Generator, worth: Array, a: Ints, b: Ints, draws: int, width: float) -> Array:
    """(m, 3): counts of people who put utilities into classes."""
    one, two = (worth[own][:, None] + rng.gumbel(size=(len(own), draws)) for own in (a, b))
    if width > 0:
        offset = rng.random((len(a), draws))
        one, two = np.floor(one / width + offset), np.floor(two / width + offset)
    return np.stack([(one > two).sum(axis=1), (one < two).sum(axis=1), (one == two).sum(axis=1)], axis=1).astype(float)


def _by_pair(
    rng: np.random.Generator, worth: Array, pairs: tuple[Ints, Ints], draws: int, kind: str, ties: float
) -> Array:
    """(m, 3): counts by a model of a pair."""
    v, u = (np.exp(worth[own]) for own in pairs)
    if kind == "davidson":
        shares = np.stack([v, u, ties * np.sqrt(v * u)], axis=1)
        shares /= shares.sum(axis=1, keepdims=True)
    else:
        won, lost = v / (v + (1.0 + ties) * u), u / (u + (1.0 + ties) * v)
        shares = np.stack([won, lost, np.maximum(1.0 - won - lost, 0.0)], axis=1)
    return rng.multinomial(draws, shares).astype(np.float64)
