"""A simpler population near a fit: types that the sample cannot tell from none are left out.

A fitted population is a mixture of types with shares s > 0, and noise gives a share to types that nobody is of. Each of them
takes the fit off facets that the truth is on, and the fewer facets a centre is on, the smaller are the distances of samples
drawn from it (`rumflow.inference.replicate`). The smaller mixture is looked for greedily. Let V be the choices of the types,
m the number of choices behind each cell, and q a change of the shares with sum 0. What it costs is the squared distance of
the mixture from the fit, in the units of sampling noise,

    q' G q,     G = V diag(m) V'.

The cheapest change that takes type j away altogether has q = -s_j H e_j / H_jj and costs s_j^2 / H_jj, where H is the inverse of
G on changes with sum 0 (the upper left block of the inverse of G bordered by ones): the square of the share in units of its
standard error, up to a factor that all types have in common. The type with the least of it
goes (or one whose share has become negative), H loses a row and a column, H - H e_j e_j' H / H_jj, and so on: costs add up
exactly, and the last mixture without negative shares that costs no more than allowed is taken. Of more than `MOST_TYPES` only
those with the least shares may change: H would take longer than the replicates.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture
from rumflow.projection.projector import Projector

MOST_TYPES = 1000
_PIECE = 1 << 22  # numbers of V at a time
_RIDGE = 1e-10  # of G: types that agree on what was recorded cost nothing


def thin_mixture(projector: Projector, mixture: Mixture, sizes: Array, allowed: float) -> tuple[Array, Mixture]:
    """A mixture of some of the types, no further than `allowed` from the whole; and its probabilities of the cells (C,).

    sizes   (C,): the choices behind each cell.
    """
    types, shares = mixture
    chosen = projector.choices_of(types)
    least = np.sort(np.argsort(shares, kind="stable")[:MOST_TYPES])
    stays, found = drop_types(_gram(projector, chosen[least], sizes), shares[least], allowed)
    thinned, here = shares.astype(np.float64), np.ones(len(shares), np.bool_)
    here[least] = False
    here[least[stays]], thinned[least[stays]] = True, found
    kept = np.flatnonzero(here)
    fitted = np.zeros(len(sizes))
    for k in kept:
        fitted += thinned[k] * projector.takes(chosen[k : k + 1])[0]
    return fitted, (types[kept], thinned[kept])


def drop_types(gram: Array, shares: Array, allowed: float) -> tuple[Ints, Array]:
    """The numbers of the types that stay, and their shares; gram: G."""
    count, trace = len(shares), float(np.trace(gram)) or 1.0  # 0 where tau is 1: no type matters then
    bordered = np.full((count + 1, count + 1), trace)
    bordered[:count, :count] = gram + _RIDGE * trace * np.eye(count)
    bordered[count, count] = 0.0
    inverse = np.linalg.inv(bordered)[:count, :count]
    here = np.ones(count, np.bool_)
    now = shares.astype(np.float64)
    kept, found = np.flatnonzero(here), now.copy()
    while here.sum() > 1:
        spread = inverse.diagonal()
        free = here & (spread > 0)
        cost = np.where(free, now**2 / np.where(free, spread, 1.0), np.inf)
        j = int(np.where(here, now, np.inf).argmin())
        if now[j] >= 0:
            j = int(cost.argmin())
        allowed -= cost[j]
        if not allowed >= 0:
            break
        column = inverse[:, j] / spread[j]
        now -= now[j] * column
        inverse -= np.outer(column, inverse[j])
        here[j], now[j] = False, 0.0
        if (now[here] >= 0).all():
            kept, found = np.flatnonzero(here), now[here]
    return kept, found * (shares.sum() / found.sum())  # up to rounding as it is


def _gram(projector: Projector, chosen: Ints, sizes: Array) -> Array:
    """G, cells by pieces."""
    gram = np.zeros((len(chosen), len(chosen)))
    step = max(_PIECE // len(chosen), 1)
    for first in range(0, len(sizes), step):
        piece = slice(first, first + step)
        takes = projector.takes(chosen, piece)
        gram += (takes * sizes[piece]) @ takes.T
    return gram
