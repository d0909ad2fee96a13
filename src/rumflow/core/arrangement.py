"""Budgets that cut each other into patches.

Budget j is {x >= 0: p_j x = 1} with prices p_j > 0. In the shares y_k = p_jk x_k of its goods it is the simplex
{y >= 0, sum y = 1}, and another budget k is a hyperplane through it:

    p_k x - 1 = a y,     a_m = (p_km - p_jm) / p_jm        (> 0: the bundle lies above budget k, < 0: below it)

A *patch* of j is a piece of this simplex of full dimension on which no sign changes. Patches are found one hyperplane after
the other: a piece is known by its corners and by which constraints each corner meets with equality, so a hyperplane cuts it
exactly where some corner lies above and some below. Two corners share an edge where no third corner meets all the constraints
that both meet. No sign vector is ever tried: the work grows with the number of patches.

*Degenerate crossings.* A corner within `TOLERANCE` (in shares) of a hyperplane lies on it: budgets that cross in one point up
to rounding do so, and make no patch between them. Budgets whose prices agree up to that are one budget.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.errors import InputError

#: How near, in shares of the budget, counts as equal.
TOLERANCE = 1e-9

#: More patches than this are not built; nor is a budget that has more than eight times its part of them.
MOST_PATCHES = 30_000


class Patches(NamedTuple):
    """The patches of all budgets, budget by budget."""

    signs: Ints  # (I, J): -1 below that budget, 0 its own, 1 above
    budget: Ints  # (I,)
    first: Ints  # (I + 1,): the corners of patch i are corners[first[i] : first[i + 1]]
    corners: Array  # (corners, K): shares of the budget


class _Piece(NamedTuple):
    corners: Array  # (v, K)
    tight: list[int]  # constraints that hold with equality at each corner, one bit each
    signs: list[int]


def merge_equal(prices: Array) -> Ints:
    """(J,): for each budget the first one that is equal to it."""
    same = np.arange(len(prices))
    for j in range(len(prices)):
        near = np.abs(prices[: j + 1] - prices[j]).max(axis=1) <= TOLERANCE * prices[j].min()
        same[j] = same[int(near.argmax())]
    return same


def find_patches(prices: Array) -> Patches:
    """The patches of these budgets, (J, K) prices, no two of them equal."""
    count, most = 0, 8 * MOST_PATCHES // len(prices)
    pieces: list[tuple[int, _Piece]] = []
    for j in range(len(prices)):
        own = _cut_budget(prices, j, min(most, MOST_PATCHES - count))
        count += len(own)
        pieces += [(j, piece) for piece in sorted(own, key=lambda piece: piece.signs)]
    return Patches(
        np.array([piece.signs for _, piece in pieces], np.int64).reshape(count, len(prices)),
        np.array([j for j, _ in pieces], np.int64),
        np.cumsum([0, *(len(piece.corners) for _, piece in pieces)]),
        np.concatenate([piece.corners for _, piece in pieces]),
    )


def _cut_budget(prices: Array, j: int, most: int) -> list[_Piece]:
    goods = prices.shape[1]
    coordinates = (1 << goods) - 1
    pieces = [_Piece(np.eye(goods), [coordinates & ~(1 << m) for m in range(goods)], [])]
    for k in range(len(prices)):
        if k == j:
            for piece in pieces:
                piece.signs.append(0)
            continue
        plane = (prices[k] - prices[j]) / prices[j]
        plane /= np.abs(plane).max()
        values = np.concatenate([piece.corners for piece in pieces]) @ plane
        ends = np.cumsum([len(piece.corners) for piece in pieces])
        after: list[_Piece] = []
        for piece, value in zip(pieces, np.split(values, ends[:-1]), strict=True):
            low, high = value.min(), value.max()
            if low < -TOLERANCE and high > TOLERANCE:
                after += _cut(piece, value, 1 << (goods + k))
            else:
                piece.signs.append(1 if high > -low else -1)
                after.append(piece)
        pieces = after
        if len(pieces) > most:
            raise InputError(
                f"{len(prices)} budgets with {goods} goods have too many patches (at most {MOST_PATCHES:,} are possible): take "
                "fewer budgets or goods"
            )
    return pieces


def _cut(piece: _Piece, value: Array, bit: int) -> list[_Piece]:
    """The parts of a piece below and above a hyperplane, given its values at the corners."""
    corners, tight, signs = piece
    side = np.where(value > TOLERANCE, 1, np.where(value < -TOLERANCE, -1, 0)).tolist()
    below, above = ([c for c, s in enumerate(side) if s == sign] for sign in (-1, 1))
    needed = corners.shape[1] - 2  # an edge of the piece meets at least so many constraints
    points: list[Array] = []
    bits: list[int] = []
    for u in below:
        for v in above:
            common = tight[u] & tight[v]
            if common.bit_count() >= needed and not any(
                t & common == common for c, t in enumerate(tight) if c not in (u, v)
            ):
                points.append((value[v] * corners[u] - value[u] * corners[v]) / (value[v] - value[u]))
                bits.append(common | bit)
    on = [c for c, s in enumerate(side) if s == 0]
    edge = [corners[c] for c in on] + points
    edge_bits = [tight[c] | bit for c in on] + bits
    return [
        _Piece(np.array([*(corners[c] for c in part), *edge]), [*(tight[c] for c in part), *edge_bits], [*signs, sign])
        for part, sign in ((below, -1), (above, 1))
    ]
