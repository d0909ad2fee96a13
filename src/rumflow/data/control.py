"""Demand at median expenditure where expenditure is endogenous: the control function of Kitamura and Stoye (2018).

Tastes may move expenditure as well as demand. With an instrument z that moves expenditure but not tastes, demand is that of
households with the same rank e of their expenditure given z. For the N households of a budget, with log expenditure w:

    e_h = fit at z_h of the regression of 1{w <= w_h} on 1, z, .., z^d         (an estimate of F(w_h | z_h))
    a_i = coefficients of the regression of 1{h takes i} on w^p e^q, p + q <= d
    pi_i = integral over e from 0 to 1 of the fitted value at the median of w,  clipped to [0, 1]

where e is first brought into [0, 1]: with v = N^(-1/3), values beyond [-v, 1 + v] become 0 and 1, and those within v of 0 and
of 1 go there smoothly, (e + v)^2 / (4 v) and 1 - (1 - e + v)^2 / (4 v). Every bootstrap replicate estimates e again; the
median stays that of the data.

Regressors enter as t = (w - median) / (standard deviation) and u = 2 e - 1, whose products span the same functions, and are
made orthonormal on the data. At the median t = 0, and the integral of u^q / 2 over [-1, 1] is 1 / (q + 1) for even q, 0 for odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.data.demand import solve_each
from rumflow.data.labels import Item
from rumflow.errors import InputError

# A column that is this close to a combination of others, relative to its length, counts as one.
_DEPENDENT = 1e-9


class _Budget(NamedTuple):
    """What stays the same in all replicates; households in ascending order of expenditure."""

    who: Ints  # (N,): their numbers
    last: Ints  # (N,): the place of the last one with the same expenditure
    t: Array  # (N,): log expenditure from its median, in standard deviations
    r: Array  # (N, d + 1): powers of the instrument, orthonormal
    patches: Ints  # numbers of the patches of this budget
    taken: Array  # (N, patches): 1 where the household takes the patch


class ControlEstimator:
    """Probabilities of patches from how often each household counts, corrected for endogenous expenditure."""

    def __init__(
        self,
        budget: Ints,
        patch: Ints,
        of_patch: Ints,
        log_expenditure: Array,
        instrument: Array,
        degree: int,
        labels: Sequence[Item] | None = None,
    ) -> None:
        p, q = np.indices((degree + 1, degree + 1)).reshape(2, -1)
        self._p, self._q = p[p + q <= degree], q[p + q <= degree]
        integral = np.where((self._p == 0) & (self._q % 2 == 0), 1.0 / (self._q + 1), 0.0)
        self._count = len(of_patch)
        self._budgets, self._bases, self._targets = [], [], []
        for j in range(int(of_patch.max()) + 1):
            name = f"budget {j if labels is None else labels[j]}"
            own = np.flatnonzero(budget == j)
            own = own[np.argsort(log_expenditure[own], kind="stable")]
            w = log_expenditure[own]
            r, _ = _orthonormal(
                _standard(instrument[own], instrument[own].mean())[:, None] ** np.arange(degree + 1),
                f"{name}: {len(np.unique(instrument[own]))} different values of the instrument do not determine a polynomial "
                f"of degree {degree}: take a smaller degree, or leave the instrument out",
            )
            patches = np.flatnonzero(of_patch == j)
            one = _Budget(
                own,
                np.searchsorted(w, w, side="right") - 1,
                _standard(w, np.median(w)),
                r,
                patches,
                (patch[own, None] == patches).astype(np.float64),
            )
            _, basis = _orthonormal(
                self._regressors(one, np.ones((1, len(own))))[0],
                f"{name}: the expenditure and instrument of {len(own)} households do not determine a polynomial of degree "
                f"{degree} in expenditure and its rank: take a smaller degree, or leave the instrument out",
            )
            self._budgets.append(one)
            self._bases.append(basis)
            self._targets.append(integral @ basis)

    def __call__(self, times: Array) -> Array:
        """(b, I) probabilities for (b, m) times; NaN on the patches of budgets whose households all count 0 times."""
        found = np.full((len(times), self._count), np.nan)
        for one, basis, target in zip(self._budgets, self._bases, self._targets, strict=True):
            mine = times[:, one.who]
            there = mine.sum(axis=1) > 0
            mine = mine[there]
            s = self._regressors(one, mine) @ basis
            gram = np.swapaxes(s * mine[..., None], 1, 2) @ s
            solved = solve_each(gram, np.broadcast_to(target[:, None], (len(mine), len(target), 1)))
            weight = mine * (s @ solved)[..., 0]
            # One product per replicate, whose bits do not depend on how many there are.
            found[np.ix_(there, one.patches)] = np.clip((weight[:, None] @ one.taken)[:, 0], 0.0, 1.0)
        return found

    def _regressors(self, one: _Budget, times: Array) -> Array:
        """(b, N, terms): t^p u^q, with the rank u = 2 e - 1 estimated from households that count so many times."""
        size = times.sum(axis=1)
        counted = times[..., None] * one.r
        below = np.cumsum(counted, axis=1)[:, one.last]
        unit = np.eye(one.r.shape[1])
        inverse = solve_each(np.swapaxes(counted, 1, 2) @ one.r, np.broadcast_to(unit, (len(times), *unit.shape)))
        e = np.einsum("bnk,bnk->bn", one.r @ inverse, below)
        u = 2.0 * into_unit_interval(e, (size ** (-1 / 3))[:, None]) - 1.0
        powers = np.stack([np.ones_like(u)] + [u] * int(self._q.max())).cumprod(axis=0)
        return np.stack([one.t**p * powers[q] for p, q in zip(self._p, self._q, strict=True)], axis=-1)


def into_unit_interval(e: Array, v: Array) -> Array:
    """Estimated probabilities brought into [0, 1], smoothly within v of its ends."""
    e = np.clip(e, -v, 1.0 + v)
    return np.where(e > 1.0 - v, 1.0 - (1.0 - e + v) ** 2 / (4.0 * v), np.where(e > v, e, (e + v) ** 2 / (4.0 * v)))


def _standard(values: Array, centre: float | np.floating[Any]) -> Array:
    """Values from a centre, in standard deviations; 0 where all are equal."""
    spread = values.std()
    return (values - centre) / spread if spread > 0 else np.zeros(len(values))


def _orthonormal(columns: Array, otherwise: str) -> tuple[Array, Array]:
    """Orthogonal columns of mean square 1 with the same span, and the matrix that makes them; an error where they depend."""
    rows, count = columns.shape
    length = np.sqrt((columns**2).sum(axis=0))
    if rows < count or (length == 0).any():
        raise InputError(otherwise)
    triangle = np.linalg.qr(columns / length, mode="r")
    if (np.abs(np.diag(triangle)) <= _DEPENDENT).any():
        raise InputError(otherwise)
    basis = np.linalg.inv(triangle) / length[:, None] * np.sqrt(rows)
    return columns @ basis, basis
