"""Samples of choices: complete, incomplete, and recorded in part."""

from itertools import combinations

import numpy as np

import rumflow as rf
from rumflow.data.menus import membership_of

SUBSETS = [menu for size in range(6) for menu in combinations(range(1, 6), size)]


def draw_data(rho, sizes, seed, menus=None):
    """ChoiceData with `sizes` choices from each menu (of at least two items)."""
    rng = np.random.default_rng(seed)
    n = rho.shape[1]
    table = np.full(rho.shape, np.nan)
    for mask in range(1, 1 << n):
        if mask.bit_count() >= 2 and (menus is None or mask in menus):
            items = [x for x in range(n) if mask >> x & 1]
            table[mask, items] = rng.multinomial(sizes, rho[mask, items] / rho[mask, items].sum())
    return rf.ChoiceData.from_matrix(table)


def incomplete(n, seed, draws=60, share=0.2, partly=0.0):
    """Noisy choices from some of the menus; some cells of some menus unrecorded."""
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, max(3, int(share * min(len(masks), 120))), replace=False))
    membership = (masks[:, None] >> np.arange(n) & 1).astype(bool)
    counts = np.full(membership.shape, np.nan)
    for row, inside in zip(counts, membership, strict=True):
        row[inside] = rng.multinomial(draws, rng.dirichlet(np.ones(inside.sum())))
        if rng.random() < partly:
            row[rng.choice(np.flatnonzero(inside))] = np.nan
    return rf.ChoiceData(tuple("abcdefghijklm"[:n]), membership, counts, np.full(len(masks), float(draws)))


def make_data(seed, n=4, choices=20):
    rng = np.random.default_rng(seed)
    rho = rf.simulate.rankings_mixture(n, 5, seed=seed)
    table = np.full(rho.shape, np.nan)
    for mask in range(3, 1 << n):
        items = [x for x in range(n) if mask >> x & 1]
        if len(items) >= 2:
            table[mask, items] = rng.multinomial(choices, rho[mask, items] / rho[mask, items].sum())
    return rf.ChoiceData.from_matrix(table)


def partly_recorded(n, seed, size=200, partly=0.6):
    """Choices from some menus of n items that are no random utility, with cells left out; at least one cell a menu is kept."""
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, min(7, len(masks)), replace=False))
    inside = membership_of(masks, n)
    shares = np.where(inside, rng.exponential(size=inside.shape), 0.0)
    sizes = np.full(len(masks), float(size))
    counts = np.where(inside, rng.multinomial(size, shares / shares.sum(axis=1, keepdims=True)), np.nan)
    for row, menu in zip(counts, inside, strict=True):
        if rng.random() < partly:
            lost = rng.choice(np.flatnonzero(menu), rng.integers(1, menu.sum()), replace=False)
            row[lost] = np.nan
    return rf.ChoiceData(tuple("abcd"[:n]), inside, counts, sizes)
