"""Some menus of a few items, with choices."""

import numpy as np

import rumflow as rf


def some_menus(rng, n, m, share=0.5):
    """Different random menus, some of one item."""
    member = rng.random((m, n)) < share
    member[np.arange(m), rng.integers(n, size=m)] = True
    member[0] = np.arange(n) == 2
    return np.unique(member, axis=0)


def some_data(rng, n, m, partly=False, labels=None):
    """Random counts from random menus; of some menus only a part was recorded."""
    member = some_menus(rng, n, m)
    share = rng.exponential(size=member.shape) * member
    counts = np.array([rng.multinomial(rng.integers(5, 60), row / row.sum()) for row in share], float)
    totals = counts.sum(axis=1)
    counts[~member] = np.nan
    if partly:
        counts[member & (rng.random(member.shape) < 0.3) & (member.sum(axis=1, keepdims=True) > 1)] = np.nan
        keep = (~np.isnan(counts)).any(axis=1)
        member, counts, totals = member[keep], counts[keep], totals[keep]
    return rf.ChoiceData(tuple(range(n)) if labels is None else labels, member, counts, totals)
