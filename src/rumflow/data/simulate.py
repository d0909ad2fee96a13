"""Choice probabilities to try things on: random families, problems with a known answer, masks of observed menus.

Every function returns a (2^n, n) array (row = menu bit mask, column = item, 0 outside the menu) and takes `seed`: an
integer or a NumPy Generator.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.compile import kernel
from rumflow.core.lattice import Lattice
from rumflow.core.memory import require_memory
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.seeds import Seed, generator
from rumflow.core.transforms import moebius_adjoint, zeta
from rumflow.errors import InputError


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
    """Replace probabilities by the frequencies of `draws` choices; one row of sorted-out uniforms per menu."""
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
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise InputError(f"draws: each menu needs a whole number of draws, at least 1, not {draws!r}")
    if draws > 1000:  # NumPy's binomials beat single choices when there are many
        array[1:] = rng.multinomial(draws, array[1:] / array[1:].sum(axis=1, keepdims=True)) / draws
        return array
    piece = max(1, (1 << 20) // draws)
    for first in range(1, len(array), piece):
        count = min(piece, len(array) - first)
        _multinomial_rows(array, draws, rng.random((count, draws)), first)
    return array


def dirichlet(n: int, seed: Seed = None) -> Array:
    """Every menu an independent Dirichlet(1) draw: no rationality at all."""
    lattice, rng = _lattice(n), generator(seed)
    array = rng.standard_exponential(lattice.shape)
    array[0] = 0.0
    _dirichlet_rows(array, 1, lattice.n_menus)
    return array


def rankings_mixture(n: int, n_rankings: int = 50, seed: Seed = None) -> Array:
    """Exact probabilities of a population: `n_rankings` random rankings with Dirichlet(1) weights."""
    lattice, rng = _lattice(n), generator(seed)
    if n_rankings < 1:
        raise InputError(f"n_rankings: at least 1 ranking is needed, not {n_rankings}")
    orders = rng.permuted(np.tile(np.arange(n), (n_rankings, 1)), axis=1)
    rows = zeta(flow_from_paths(paths_from_orders(orders), rng.dirichlet(np.ones(n_rankings))))
    return lattice.from_internal(rows)


def noisy_rankings(n: int, n_rankings: int = 50, draws: int | None = 100, seed: Seed = None) -> Array:
    """`draws` choices from each menu by a population of `n_rankings` random rankings; None: its exact probabilities."""
    rng = generator(seed)
    array = rankings_mixture(n, n_rankings, rng)
    return array if draws is None else _draw(array, draws, rng)


def mixed_logit(n: int, n_types: int = 5, draws: int | None = None, seed: Seed = None) -> Array:
    """A mixture of `n_types` logit choosers with normal utilities: inside RUM, until `draws` choices a menu are sampled."""
    lattice, rng = _lattice(n), generator(seed)
    if n_types < 1:
        raise InputError(f"n_types: at least 1 type is needed, not {n_types}")
    array = np.zeros(lattice.shape)
    for share in rng.dirichlet(np.ones(n_types)):
        strength = np.where(lattice.membership, np.exp(rng.normal(0.0, 1.0, n)), 0.0)
        strength[1:] /= strength[1:].sum(axis=1, keepdims=True)
        array += share * strength
    return array if draws is None else _draw(array, draws, rng)


class KnownProjection(NamedTuple):
    """A problem built backwards from its answer."""

    data: Array  # project this ...
    answer: Array  # ... and get this
    distance: float


def known_projection(n: int, seed: Seed = None, dimension: int | None = None, distance: float = 0.1) -> KnownProjection:
    """A point on a random face of RUM plus a normal vector of that face: its projection is the point.

    The point mixes `dimension` + 1 random rankings (default n), so it lies on a face of at most that dimension unless they
    cover the lattice. The flow is zero off their edges; a non-negative multiplier z on such edges only makes
    data = answer - K^T z, and the answer is optimal for it by the Karush-Kuhn-Tucker conditions. The entries of
    `data` add up to 1 in each menu but may leave [0, 1]: shorten `distance` where that matters.
    """
    lattice, rng = _lattice(n), generator(seed)
    count = (n if dimension is None else dimension) + 1
    if count < 1:
        raise InputError(f"dimension: must be 0 or more, not {dimension}")
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


def observed_menus(n: int, share: float, seed: Seed = None) -> NDArray[np.bool_]:
    """(2^n, n) mask of a random `share` of the menus of two items or more, whole menus, at least one of them."""
    lattice, rng = _lattice(n), generator(seed)
    if not 0 <= share <= 1:
        raise InputError(f"share: must be from 0 to 1, not {share}")
    menus = np.flatnonzero(lattice.membership.sum(axis=1) >= 2)
    if len(menus) == 0:
        return lattice.membership
    keep = np.zeros(lattice.n_menus, np.bool_)
    keep[rng.choice(menus, max(1, round(share * len(menus))), replace=False)] = True
    return lattice.membership & keep[:, None]


def observed_cells(n: int, share: float, seed: Seed = None) -> NDArray[np.bool_]:
    """(2^n, n) mask of a random `share` of the single cells of menus of two items or more, at least one of them."""
    lattice, rng = _lattice(n), generator(seed)
    if not 0 <= share <= 1:
        raise InputError(f"share: must be from 0 to 1, not {share}")
    large = lattice.membership & (lattice.membership.sum(axis=1, keepdims=True) >= 2)
    if not large.any():
        return lattice.membership
    keep: NDArray[np.bool_] = large & (rng.random(lattice.shape) < share)
    if not keep.any():
        keep[tuple(rng.choice(np.argwhere(large)))] = True
    return keep


def hide(array: Array, observed: NDArray[np.bool_]) -> Array:
    """The array with NaN on the cells of menus that are not observed."""
    inside = Lattice(array.shape[1]).membership
    return np.where(inside & ~observed, np.nan, array)
