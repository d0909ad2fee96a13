"""Stacks of arrays and of data sets."""

import numpy as np

import rumflow as rf


def stack(n, count, seed=0):
    return np.array([rf.simulate.noisy_rankings(n, draws=20, seed=seed + i) for i in range(count)])


def random_data(n, m, seed, draws=40):
    return rf.simulate.random_menus(n, m, 3, draws=draws, seed=seed)


def same_menus(n, m, count):
    """Samples of several populations from the same menus."""
    first = random_data(n, m, 0)
    rng = np.random.default_rng(1)
    found = [first]
    for _ in range(count - 1):
        counts = np.full(first.counts.shape, np.nan)
        for row, inside, total in zip(counts, first.membership, first.totals, strict=True):
            row[inside] = rng.multinomial(int(total), rng.dirichlet(np.ones(inside.sum())))
        found.append(rf.ChoiceData(first.items, first.membership, counts, first.totals))
    return found
