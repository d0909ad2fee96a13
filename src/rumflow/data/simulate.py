"""Simulated choices: random families, problems with a known answer, masks of observed menus.

`random_menus` and `stock_outs` return choice data over some menus of any number of items; every other function a (2^n, n)
array over all menus (row = menu bit mask, column = item, 0 outside the menu). All take a `seed`, or `rng`.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.check import check_number, check_whole
from rumflow.core.arrays import Array
from rumflow.core.compile import kernel
from rumflow.core.lattice import Lattice
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.seeds import Seed, generator
from rumflow.core.transforms import moebius_adjoint, zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import MOST_ITEMS
from rumflow.data.simulate_ties import tied_pairs as tied_pairs  # noqa: PLC0414 -- public here

#: Menus are drawn by a random number per menu and item up to this many of them.
MOST_NUMBERS = 1 << 24


def _lattice(n: int) -> Lattice:
    lattice = Lattice(n)
    require_memory(24 * lattice.n_menus * lattice.n, f"simulated data for n = {lattice.n} items")
    return lattice


@kernel
def _dirichlet_rows(array, first, last):
    """Turn exponential draws into Dirichlet(1) probabilities within each menu."""
    n = array.shape[1]
    for menu in range(first, last):
        total = 0.0
        for x in range(n):
            if (menu >> x) & 1:
                total += array[menu, x]
            else:
                array[menu, x] = 0.0
        for x in range(n):
            array[menu, x] /= total


@kernel
def _multinomial_rows(array, draws, uniform, first):
    """Replace probabilities by the frequencies of `draws` choices; one row of uniform draws per menu."""
    n = array.shape[1]
    counts = np.empty(n)
    for i in range(uniform.shape[0]):
        menu = first + i
        counts[:] = 0.0
        for t in range(draws):
            rest = uniform[i, t]
            last = -1
            for x in range(n):
                if array[menu, x] > 0.0:
                    last = x
                    rest -= array[menu, x]
                    if rest < 0.0:
                        break
            counts[last] += 1.0
        for x in range(n):
            array[menu, x] = counts[x] / draws


def _draw(array: Array, draws: int, rng: np.random.Generator) -> Array:
    """Frequencies of multinomial samples from each menu's probabilities, in place."""
    if draws > 1000:  # NumPy's binomials beat single choices when there are many
        array[1:] = rng.multinomial(draws, array[1:] / array[1:].sum(axis=1, keepdims=True)) / draws
        return array
    piece = max(1, (1 << 20) // draws)
    for first in range(1, len(array), piece):
        count = min(piece, len(array) - first)
        _multinomial_rows(array, draws, rng.random((count, draws)), first)
    return array


def dirichlet(n: int, seed: Seed = None, *, rng: Seed = None) -> Array:
    """Draw every menu independently from Dirichlet(1): no rationality at all.

    Parameters
    ----------
    n : int
        Number of items.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ndarray of shape (2^n, n)

    Examples
    --------
    >>> dirichlet(3, seed=0)[7].round(2)  # the menu of all three
    array([0.07, 0.53, 0.4 ])
    """
    lattice, rng = _lattice(n), generator(seed, rng)
    array = rng.standard_exponential(lattice.shape)
    array[0] = 0.0
    _dirichlet_rows(array, 1, lattice.n_menus)
    return array


def rankings_mixture(n: int, n_rankings: int = 50, seed: Seed = None, *, rng: Seed = None) -> Array:
    """Compute the exact probabilities of a population of random rankings.

    Parameters
    ----------
    n : int
        Number of items.
    n_rankings : int, default 50
        Number of rankings, with Dirichlet(1) weights.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ndarray of shape (2^n, n)

    Examples
    --------
    >>> import rumflow as rf
    >>> rf.is_rum(rankings_mixture(4, n_rankings=5, seed=0))
    True
    """
    check_whole(n_rankings, "n_rankings", 1)
    lattice, rng = _lattice(n), generator(seed, rng)
    orders = rng.permuted(np.tile(np.arange(n), (n_rankings, 1)), axis=1)
    rows = zeta(flow_from_paths(paths_from_orders(orders), rng.dirichlet(np.ones(n_rankings))))
    return lattice.from_internal(rows)


def noisy_rankings(
    n: int, n_rankings: int = 50, draws: int | None = 100, seed: Seed = None, *, rng: Seed = None
) -> Array:
    """Draw choices from each menu by a population of random rankings.

    Parameters
    ----------
    n : int
        Number of items.
    n_rankings : int, default 50
        Number of rankings, with Dirichlet(1) weights.
    draws : int or None, default 100
        Choices from each menu; None: exact probabilities.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ndarray of shape (2^n, n)

    Examples
    --------
    >>> noisy_rankings(3, draws=10, seed=0)[7]  # the menu of all three
    array([0.2, 0. , 0.8])
    """
    _check_draws(draws)
    rng = generator(seed, rng)
    array = rankings_mixture(n, n_rankings, rng)
    return array if draws is None else _draw(array, draws, rng)


def mixed_logit(n: int, n_types: int = 5, draws: int | None = None, seed: Seed = None, *, rng: Seed = None) -> Array:
    """Compute or sample a mixture of logit choosers with normal utilities.

    Parameters
    ----------
    n : int
        Number of items.
    n_types : int, default 5
        Number of logit choosers, with Dirichlet(1) weights.
    draws : int, optional
        Choices sampled from each menu. None: exact probabilities, which are RUM.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ndarray of shape (2^n, n)

    Examples
    --------
    >>> import rumflow as rf
    >>> rf.is_rum(mixed_logit(4, seed=0)), rf.is_rum(mixed_logit(4, draws=20, seed=0))
    (True, False)
    """
    check_whole(n_types, "n_types", 1)
    _check_draws(draws)
    lattice, rng = _lattice(n), generator(seed, rng)
    array = np.zeros(lattice.shape)
    for share in rng.dirichlet(np.ones(n_types)):
        strength = np.where(lattice.membership, np.exp(rng.normal(0.0, 1.0, n)), 0.0)
        strength[1:] /= strength[1:].sum(axis=1, keepdims=True)
        array += share * strength
    return array if draws is None else _draw(array, draws, rng)


def random_menus(
    n: int,
    n_menus: int,
    size: int,
    n_rankings: int = 50,
    draws: int | None = 100,
    seed: Seed = None,
    *,
    rng: Seed = None,
) -> ChoiceData:
    """Draw choices from different random menus by a population of random rankings.

    Parameters
    ----------
    n : int
        Number of items.
    n_menus : int
        Number of menus, all different.
    size : int
        Number of items in each menu.
    n_rankings : int, default 50
        Number of rankings of the population, with Dirichlet(1) weights.
    draws : int or None, default 100
        Choices from each menu; None: exact shares, with totals of 1.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ChoiceData

    Examples
    --------
    >>> random_menus(300, 40, 10, seed=0)
    ChoiceData(300 items, 40 menus, 4000 observations)
    """
    n, n_rankings = check_whole(n, "n", 1, MOST_ITEMS), check_whole(n_rankings, "n_rankings", 1)
    size = check_whole(size, "size", 1, n, also=f": there are {n} items")
    n_menus = check_whole(
        n_menus, "n_menus", 1, comb(n, size), also=f": there are no more menus of {size} among {n} items"
    )
    _check_draws(draws)
    rng = generator(seed, rng)
    items = _different_menus(n, n_menus, size, rng)
    shares, menu = np.zeros(items.shape), np.arange(n_menus)
    for weight in rng.dirichlet(np.ones(n_rankings)):
        place = rng.permutation(n)  # of each item in the ranking
        shares[menu, place[items].argmin(axis=1)] += weight
    menus = Menus(size * np.arange(n_menus + 1), items.ravel(), n)
    if draws is None:
        return ChoiceData.from_cells(tuple(range(n)), menus, shares.ravel(), np.ones(n_menus))
    # A column of zeros beside the items: before them where the last item is in the menu, else after them. The draws are then
    # those from the rows of a table (menus, items), whose zeros take no random numbers, but whose last column does not either.
    column = np.arange(size) + (items[:, -1:] == n - 1)
    padded = np.zeros((n_menus, size + 1))
    np.put_along_axis(padded, column, shares / shares.sum(axis=1, keepdims=True), axis=1)
    counts = np.take_along_axis(rng.multinomial(draws, padded), column, axis=1).astype(np.float64)
    return ChoiceData.from_cells(tuple(range(n)), menus, counts.ravel(), counts.sum(axis=1))


def stock_outs(
    n: int,
    n_menus: int,
    missing: float = 0.1,
    n_rankings: int = 50,
    draws: int | None = 100,
    seed: Seed = None,
    *,
    rng: Seed = None,
) -> ChoiceData:
    """Draw choices from a shop in which some items are sold out.

    Parameters
    ----------
    n : int
        Number of items of the shop.
    n_menus : int
        Number of menus, all different.
    missing : float, default 0.1
        Share of the items that is missing from each menu, at least one item, at random.
    n_rankings, draws, seed, rng : optional
        As for `random_menus`.

    Returns
    -------
    ChoiceData

    Examples
    --------
    >>> stock_outs(60, 40, missing=0.1, seed=0)
    ChoiceData(60 items, 40 menus, 4000 observations)
    """
    n, missing = check_whole(n, "n", 2, MOST_ITEMS), check_number(missing, "missing", 0, 1)
    return random_menus(n, n_menus, min(n - 1, max(1, n - round(missing * n))), n_rankings, draws, seed, rng=rng)


def _different_menus(n: int, n_menus: int, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """(m, size) random menus by item number, no two the same, in order."""
    found = np.zeros((0, size), np.int32)
    while len(found) < n_menus:
        every = np.vstack([found, _draw_menus(n, n_menus, size, rng)])
        menus, _ = Menus(size * np.arange(len(every) + 1), every.ravel(), n).unique()
        found = menus.item.reshape(-1, size)
    return found[np.sort(rng.choice(len(found), n_menus, replace=False))]


def _draw_menus(n: int, n_menus: int, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """(m, size) random menus, items in ascending order: the smallest of n random numbers for each menu.

    Small menus of many items, for which this takes long, are drawn item by item, those with an item twice again.
    """
    menus = np.empty((n_menus, size), np.int32)
    if n * n_menus > MOST_NUMBERS and size * size <= n:
        left = np.arange(n_menus)
        while len(left):
            menus[left] = np.sort(rng.integers(n, size=(len(left), size), dtype=np.int32), axis=1)
            left = left[(menus[left, 1:] == menus[left, :-1]).any(axis=1)]
        return menus
    piece = max(1, (1 << 20) // n)
    for first in range(0, n_menus, piece):
        numbers = rng.random((min(piece, n_menus - first), n))
        menus[first : first + piece] = np.sort(numbers.argpartition(size - 1, axis=1)[:, :size], axis=1)
    return menus


def _check_draws(draws: int | None) -> None:
    if draws is not None:
        check_whole(draws, "draws", 1, also=", or None for exact probabilities")


class KnownProjection(NamedTuple):
    """A problem built backwards from its answer.

    Attributes
    ----------
    data : ndarray of shape (2^n, n)
        What to project.
    answer : ndarray of shape (2^n, n)
        Its projection.
    distance : float
        The distance between the two.

    Examples
    --------
    >>> known = known_projection(3, seed=0)
    >>> known.data.shape, known.answer.shape, known.distance
    ((8, 3), (8, 3), 0.1)
    """

    data: Array
    answer: Array
    distance: float


def known_projection(
    n: int, seed: Seed = None, dimension: int | None = None, distance: float = 0.1, *, rng: Seed = None
) -> KnownProjection:
    """Make data whose projection is known: a point on a random face of RUM plus a normal vector of that face.

    Parameters
    ----------
    n : int
        Number of items.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.
    dimension : int, optional
        The point mixes `dimension` + 1 random rankings, so it lies on a face of at most that dimension unless they cover
        the lattice. None: n.
    distance : float, default 0.1
        Length of the normal vector.

    Returns
    -------
    KnownProjection

    Notes
    -----
    The flow is zero off the edges of the rankings; a non-negative multiplier z on such edges only makes
    data = answer - K^T z, and the answer is optimal for it by the Karush-Kuhn-Tucker conditions. The entries of `data` add
    up to 1 in each menu but may leave [0, 1]: shorten `distance` where that matters.

    Examples
    --------
    >>> import numpy as np
    >>> import rumflow as rf
    >>> known = known_projection(4, seed=0)
    >>> bool(np.abs(rf.project_many(known.data[None]).rho[0] - known.answer).max() < 1e-9)
    True
    """
    lattice, rng = _lattice(n), generator(seed, rng)
    count = (n if dimension is None else check_whole(dimension, "dimension")) + 1
    check_number(distance, "distance", 0, np.inf, "[)")
    orders = rng.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
    flow = flow_from_paths(paths_from_orders(orders), rng.dirichlet(np.ones(count)))
    z = np.where(flow > 0, 0.0, rng.random(flow.shape) * (rng.random(flow.shape) < 0.5))
    answer = lattice.from_internal(zeta(flow))
    normal = lattice.from_internal(moebius_adjoint(z))
    # A constant within each menu is normal to RUM too: take it off, so that the data add up to 1.
    sizes = np.maximum(lattice.membership.sum(axis=1, keepdims=True), 1)
    normal -= np.where(lattice.membership, normal.sum(axis=1, keepdims=True) / sizes, 0.0)
    length = float(np.sqrt((normal**2).sum()))
    scale = distance / length if length > 0 else 0.0
    return KnownProjection(answer - scale * normal, answer, scale * length)


def observed_menus(n: int, share: float, seed: Seed = None, *, rng: Seed = None) -> NDArray[np.bool_]:
    """Choose a random share of the menus of two items or more.

    Parameters
    ----------
    n : int
        Number of items.
    share : float
        Share of the menus, 0 to 1; at least one menu is chosen.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ndarray of bool, shape (2^n, n)
        The mask of the observed cells; menus are observed as a whole.

    Examples
    --------
    >>> int(observed_menus(4, 0.5, seed=0).any(axis=1).sum())  # of 11 menus of two items or more
    6
    """
    share = check_number(share, "share", 0, 1, "[]")
    lattice, rng = _lattice(n), generator(seed, rng)
    menus = np.flatnonzero(lattice.membership.sum(axis=1) >= 2)
    if len(menus) == 0:
        return lattice.membership
    keep = np.zeros(lattice.n_menus, np.bool_)
    keep[rng.choice(menus, max(1, round(share * len(menus))), replace=False)] = True
    return lattice.membership & keep[:, None]


def observed_cells(n: int, share: float, seed: Seed = None, *, rng: Seed = None) -> NDArray[np.bool_]:
    """Choose a random share of the single cells of menus of two items or more.

    Parameters
    ----------
    n : int
        Number of items.
    share : float
        Share of the cells, 0 to 1; at least one cell is chosen.
    seed, rng : int or numpy.random.Generator, optional
        None draws one. Two names of the same: give one.

    Returns
    -------
    ndarray of bool, shape (2^n, n)
        The mask of the observed cells.

    Examples
    --------
    >>> int(observed_cells(4, 0.5, seed=0).sum())  # of 28 cells
    16
    """
    share = check_number(share, "share", 0, 1, "[]")
    lattice, rng = _lattice(n), generator(seed, rng)
    large = lattice.membership & (lattice.membership.sum(axis=1, keepdims=True) >= 2)
    if not large.any():
        return lattice.membership
    keep: NDArray[np.bool_] = large & (rng.random(lattice.shape) < share)
    if not keep.any():
        keep[tuple(rng.choice(np.argwhere(large)))] = True
    return keep


def hide(array: Array, observed: NDArray[np.bool_]) -> Array:
    """Replace cells that are not observed by NaN.

    Parameters
    ----------
    array : ndarray of shape (2^n, n)
        Probabilities over all menus.
    observed : ndarray of bool, shape (2^n, n)
        The mask of the observed cells.

    Returns
    -------
    ndarray of shape (2^n, n)

    Examples
    --------
    >>> import numpy as np
    >>> some = hide(dirichlet(4, seed=0), observed_menus(4, 0.5, seed=0))
    >>> int(np.isnan(some).any(axis=1).sum())
    9
    """
    inside = Lattice(array.shape[1]).membership
    return np.where(inside & ~observed, np.nan, array)
