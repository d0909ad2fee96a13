"""Households and the budgets they face: equal budgets merged, the rest cut into patches, every household in its patch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.check import check_whole
from rumflow.core.arrangement import Patches, find_patches, merge_equal
from rumflow.core.arrays import Array, Ints
from rumflow.data.control import ControlEstimator
from rumflow.data.counted import Rows
from rumflow.data.demand import DemandEstimator, locate
from rumflow.data.labels import Item

#: (b, I) probabilities of patches from (b, m) times that each household counts.
Estimator = Callable[[Array], Array]


class Households(NamedTuple):
    """One entry per household."""

    budget: Ints  # number of its budget
    shares: Array  # (m, K)
    log_expenditure: Array | None
    cluster: NDArray[Any] | None
    instrument: Array | None = None  # of endogenous expenditure
    patch: Ints = np.empty(0, np.int64)  # number of its patch; empty where the budgets are not cut yet

    def on(self, budgets: Ints) -> Households:
        """Those of some budgets, given in ascending order, which are numbered anew and not cut yet."""
        keep = np.isin(self.budget, budgets)
        return Households(
            np.searchsorted(budgets, self.budget[keep]),
            self.shares[keep],
            None if self.log_expenditure is None else self.log_expenditure[keep],
            None if self.cluster is None else self.cluster[keep],
            None if self.instrument is None else self.instrument[keep],
        )

    def rows(self, item: Ints) -> Rows:
        """Their choices one by one, with budgets as menus and clusters as subjects; `item` is the item of each patch."""
        chosen = item[self.patch].astype(np.int32)
        return Rows(self.budget.astype(np.int32), chosen, np.ones(len(chosen))).by_subject(self.cluster)

    def estimator(self, of_patch: Ints, degree: int, labels: Sequence[Item] | None = None) -> Estimator:
        """What computes the probabilities of patches; `of_patch` is the budget of each."""
        if self.instrument is not None and self.log_expenditure is not None:
            where = self.budget, self.patch, of_patch
            return ControlEstimator(*where, self.log_expenditure, self.instrument, degree, labels)
        return DemandEstimator(self.budget, self.patch, of_patch, self.log_expenditure, degree, labels)


class Cut(NamedTuple):
    """Budgets cut into patches, with the households in them."""

    faced: Ints  # (J,): the budgets that remain, by their number among those given
    pieces: Patches
    probabilities: Array  # (I,)
    degree: int  # by which they are smoothed
    households: Households
    notes: list[str]  # which budgets were merged or left out


def cut_budgets(names: tuple[Item, ...], prices: Array, who: Households, degree: int) -> Cut:
    """Merge equal budgets, leave out those that nobody faced, cut them, and put the households into their patches."""
    check_whole(degree, "degree", 0, 10)
    same = merge_equal(prices)
    faced = np.unique(same[who.budget])
    merged = np.flatnonzero(same != np.arange(len(same)))
    notes = [f"budget {names[j]} is equal to {names[same[j]]}: merged" for j in merged]
    empty = [str(names[j]) for j in np.setdiff1d(same, faced)]
    if empty:
        notes.append(f"nobody faced {', '.join(empty)}: left out")
    number = np.searchsorted(faced, same[who.budget]).astype(np.int64)
    pieces = find_patches(prices[faced])
    patch = locate(prices[faced], pieces, number, who.shares)
    used = 0 if who.log_expenditure is None else int(degree)
    households = who._replace(budget=number, patch=patch, log_expenditure=who.log_expenditure if used else None)
    estimate = households.estimator(pieces.budget, used, [names[j] for j in faced])
    return Cut(faced, pieces, estimate(np.ones((1, len(number))))[0], used, households, notes)
