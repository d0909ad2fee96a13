"""Linear programmes over all rankings."""

from itertools import permutations

import numpy as np
from scipy.optimize import linprog

import rumflow as rf
from tests.reference.assortments import choices_of


def random_data(n, seed, count=4):
    """Shares of some menus over the first n letters, from random rankings."""
    rng = np.random.default_rng(seed)
    membership = rng.random((count, n)) < 0.6
    membership[:, :2] = True
    membership = np.unique(membership, axis=0)
    weights = rng.dirichlet(np.ones(9))
    taken = choices_of(np.array([rng.permutation(n) for _ in range(9)]), membership)
    labels = "abcdefgh"[:n]
    counts = {}
    for j, row in enumerate(membership):
        shares = np.bincount(taken[:, j], weights, n)
        counts[tuple(labels[x] for x in np.flatnonzero(row))] = {labels[x]: shares[x] for x in np.flatnonzero(row)}
    return rf.ChoiceData.from_counts(counts, items=list(labels))


class Enumeration:
    """All rankings of the items of a fit, and mixtures of them with the fitted values."""

    def __init__(self, data):
        self.fit = rf.project(data, tol=1e-12)
        self.items = list(self.fit.items)
        self.orders = np.array(list(permutations(range(len(self.items)))))
        rows = self.fit.membership.sum(axis=1) >= 2
        menu, item = np.nonzero(self.fit.membership[rows])
        taken = choices_of(self.orders, self.fit.membership[rows])
        self.matrix = np.vstack([(taken[:, menu] == item).T, np.ones(len(self.orders))]).astype(float)
        self.given = np.append(self.fit.fitted[rows][menu, item], 1.0)

    def value(self, functional):
        """What each ranking contributes to a functional."""
        total = np.zeros(len(self.orders))
        for (menu, item), value in functional.items():
            row = np.isin(self.items, menu)
            total += value * (choices_of(self.orders, row[None])[:, 0] == self.items.index(item))
        return total

    def range(self, cost):
        ends = [linprog(s * cost, A_eq=self.matrix, b_eq=self.given) for s in (1, -1)]
        return ends[0].fun, -ends[1].fun

    def ratio(self, part, whole):
        """Charnes and Cooper: part / whole over the mixtures, scaled so that the whole is 1."""
        ends = []
        scaled = np.hstack([self.matrix, -self.given[:, None]])
        for s in (1, -1):
            equal = np.vstack([scaled, np.append(whole, 0.0)])
            target = np.append(np.zeros(len(scaled)), 1.0)
            ends.append(s * linprog(np.append(s * part, 0.0), A_eq=equal, b_eq=target).fun)
        return tuple(ends)
