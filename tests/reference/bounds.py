"""What bounds are compared with: choices of all rankings, incomplete data, projections with a functional given."""

from itertools import permutations

import numpy as np

import rumflow as rf
from rumflow.data.menus import membership_of
from rumflow.inference.restricted import Restricted

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def choices(n):
    """(N, n!): does the ranking choose the cell?"""
    orders = list(permutations(range(n)))
    return np.array(
        [[float(next(y for y in o if mask >> y & 1) == x) for o in orders] for mask, x in rf.Lattice(n).cells]
    )


def incomplete(n, seed, share=0.5, rational=True):
    array = rf.simulate.noisy_rankings(n, 4, 30, seed=seed) if rational else rf.simulate.dirichlet(n, seed=seed)
    return rf.simulate.hide(array, rf.simulate.observed_menus(n, share, seed))


CELL = {(0b101, 0): 1.0}


def restrict(sample, functional, n):
    masks = sorted({mask for mask, _ in functional})
    c = np.zeros((len(masks), n))
    for (mask, x), value in functional.items():
        c[masks.index(mask), x] = value
    return Restricted(sample, membership_of(masks, n), c)


def few_menus(n, count, seed, draws=100, rational=False):
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, count, replace=False))
    membership = membership_of(masks, n)
    counts = np.full(membership.shape, np.nan)
    for row, inside in zip(counts, membership, strict=True):
        row[inside] = rng.multinomial(
            draws, np.full(inside.sum(), 1 / inside.sum()) if rational else rng.dirichlet(np.ones(inside.sum()))
        )
    return rf.ChoiceData(tuple("abcdefghij"[:n]), membership, counts, np.full(count, float(draws)))
