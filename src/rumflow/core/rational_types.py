"""Rational types on budgets: which budgets are linked, how many types there are, and their mean.

A type takes one patch from every budget. Where its patch on j lies below budget k, what it takes on k is revealed preferred;
a type is *rational* where these relations have no cycle, that is where the budgets can be ordered so that k comes before j
whenever the patch of j lies below k. below(i) is the set of budgets that patch i lies below, as a whole number with one bit
per budget.

*Groups.* A cycle stays among budgets that can be reached from each other through "some patch of j lies below k". Types on
different such groups combine freely.

*Counting.* Orders are not types: one type may have many orders. Let c_j(U) be the number of patches of j with below(i) in U.
By inclusion and exclusion over the budgets T that could come last,

    a(empty) = 1,    a(S) = sum over non-empty T in S of  (-1)^(|T|+1)  a(S minus T)  prod over j in T of c_j(S minus T)

is the number of rational types on S, in whole numbers; only sets S that some order reaches have a(S) > 0. The number of types
that take patch i of j is the derivative of a(all) by the multiplicity of i: with b(U) = d a(all) / d a(U), one pass back, it
is the sum of d a(all) / d c_j(U) over the U that hold below(i).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from rumflow.core.arrays import Array, Ints
from rumflow.errors import InputError

#: Terms of the formula above which types are not counted: about a minute.
MOST_TERMS = 20_000_000


#: Budgets of a group: sets of them are 64-bit words.
MOST_LINKED = 64


class TypeCount(NamedTuple):
    """How many rational types there are, and the share of them that takes each patch."""

    number: int
    mean: Array  # (I,)


def link_budgets(signs: Ints, budget: Ints) -> list[Ints]:
    """The budgets in groups between which no cycle leads."""
    n = signs.shape[1]
    patch, other = np.nonzero(signs < 0)
    graph = csr_matrix((np.ones(len(patch)), (budget[patch], other)), shape=(n, n))
    count, group = connected_components(graph, directed=True, connection="strong")
    found = [np.flatnonzero(group == g) for g in range(count)]
    return sorted(found, key=lambda budgets: int(budgets[0]))


def sets_below(signs: Ints) -> NDArray[np.uint64]:
    """(I,): below(i) as a 64-bit word; an InputError where there are too many budgets."""
    if signs.shape[1] > MOST_LINKED:
        raise InputError(
            f"{signs.shape[1]} budgets cross each other, directly or through others; at most {MOST_LINKED} can be treated "
            "together: take fewer"
        )
    bits = np.uint64(1) << np.arange(signs.shape[1], dtype=np.uint64)
    below: NDArray[np.uint64] = np.where(signs < 0, bits, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return below


def count_types(signs: Ints, budget: Ints, most_terms: int = MOST_TERMS) -> TypeCount:
    """The number and the mean of all rational types; an InputError where counting them takes more than so many terms."""
    number, mean = 1, np.zeros(len(signs))
    for group in link_budgets(signs, budget):
        own = np.flatnonzero(np.isin(budget, group))
        total, taken = _count_group(signs[own][:, group], np.searchsorted(group, budget[own]), most_terms)
        if total == 0:
            raise InputError(
                "no type takes a patch from every budget without a cycle: are the patches those of budgets?"
            )
        number *= total
        mean[own] = [times / total for times in taken]  # of whole numbers, which may be larger than any float
    return TypeCount(number, mean)


def _count_group(signs: Ints, budget: Ints, most_terms: int) -> tuple[int, list[int]]:
    """The types of one group, and how many of them take each patch."""
    n, below = signs.shape[1], sets_below(signs)
    ways: dict[int, int] = {0: 1}  # a(S)
    levels: list[list[int]] = [[0], *([] for _ in range(n))]
    steps: dict[int, list[tuple[int, int]]] = {}  # the budgets that may come next, and c_j
    terms = 0
    for level in levels:
        for done in level:
            counts = np.bincount(budget[(below & ~np.uint64(done)) == 0], minlength=n).tolist()
            steps[done] = [(j, count) for j, count in enumerate(counts) if count and not done >> j & 1]
            terms += 1 << len(steps[done])
            if terms > most_terms:
                raise InputError(
                    f"{n} budgets that cross each other have too many orders for their rational types to be counted "
                    f"(more than {most_terms:,} terms): take fewer budgets"
                )
            for added, product in _subsets(steps[done]):
                then = done | added
                if then not in ways:
                    ways[then] = 0
                    levels[then.bit_count()].append(then)
                ways[then] += product * ways[done]
    everything = (1 << n) - 1
    taken = np.zeros(len(budget), object)  # whole numbers of any size
    rate: dict[int, int] = {everything: 1}  # b(U)
    for level in reversed(levels[:-1]):
        for done in level:
            values = [0, *(product * rate[done | added] for added, product in _subsets(steps[done]))]
            allowed = (below & ~np.uint64(done)) == 0
            for j, count in reversed(steps[done]):
                # Subsets with j are the second half; afterwards j makes no difference.
                half = len(values) // 2
                times = ways[done] * sum(values[half:]) // count
                if times:
                    taken[allowed & (budget == j)] += times
                values = [without + having for without, having in zip(values[:half], values[half:], strict=True)]
            rate[done] = values[0]
    return ways.get(everything, 0), taken.tolist()


def _subsets(choices: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """All non-empty subsets of budgets as bits, with (-1)^(|T|+1) times the product of their counts."""
    found = [(0, -1)]
    for j, count in choices:
        found += [(added | 1 << j, -product * count) for added, product in found]
    return found[1:]
