"""Types and their weights on groups of menus that combine freely, where the likelihood takes in one type after another.

The likelihood is the sum of those of the groups, and so is the gap. Each group has weights of its own, so that counts of 1e12 in
one do not hide those of 100 in another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.inference.mixture_weights import most_likely_weights
from rumflow.solvers.graph_fits import couple

_SHARPER = 0.1  # weights are found to this part of what the dearest type costs too much: later types change them again


class TypeGroup:
    """The types of a group of menus, no two of them the same there, and their weights.

    types     (k, ...): rows in the form of the geometry
    takes     (k, menus): the numbers of the cells that they take
    counts    of all cells
    total     number of choices in the group
    accuracy  how much more than `total` a type may cost in the end
    """

    def __init__(self, types: Paths, takes: Ints, weights: Array, counts: Array, total: float, accuracy: float) -> None:
        self.takes, first, place = np.unique(takes, axis=0, return_index=True, return_inverse=True)
        self.types: Paths = types[first]
        self.weights: Array = np.zeros(len(first))
        np.add.at(self.weights, place.reshape(-1), weights)
        self._counts = counts
        self._total = total
        self._accuracy = accuracy
        self._reached = np.inf  # the accuracy of the weights

    def add_to(self, rho: Array) -> None:
        """Add the probabilities of the cells."""
        np.add.at(rho, self.takes, self.weights[:, None])

    def add(self, new: Paths, takes: Ints) -> bool:
        """Take in a type that was chosen by someone; False where it is there already."""
        if (self.takes == takes).all(axis=1).any():
            return False
        # A first share: what was chosen has a probability of count / N at least, or who takes it would cost more than N.
        counts = self._counts[takes]
        share = 0.5 * float(counts[counts > 0].min()) / self._total
        self.types, self.takes = np.vstack([self.types, new[None]]), np.vstack([self.takes, takes[None]])
        self.weights = np.append((1 - share) * self.weights, share)
        return True

    def improve(self, new: Paths, takes: Ints, prices: Array) -> bool:
        """Take in the dearest type and find the weights again; False where that was done already."""
        excess = float(prices[takes].sum()) - self._total
        least = 0.5 * self._accuracy
        if excess <= self._accuracy or not (self.add(new, takes) or self._reached > least):
            return False
        self._reached = max(_SHARPER * excess, least)
        self.weights = most_likely_weights(self.takes, self._counts, self.weights, self._reached, excess)
        return True


def join_groups(groups: Sequence[TypeGroup], menus: Sequence[Ints]) -> Mixture:
    """One mixture over all menus. Shares are paired from the smallest on, as sums of small ones keep their digits."""
    if len(groups) == 1:
        return groups[0].types, groups[0].weights
    orders = [np.argsort(one.weights, kind="stable") for one in groups]
    return couple([(one.types[own], one.weights[own]) for one, own in zip(groups, orders, strict=True)], menus)[0]
