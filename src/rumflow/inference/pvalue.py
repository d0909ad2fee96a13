"""The p-value of a bootstrap test, its verdict, and what is said where replicates or tau decide it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil

from rumflow.core.arrays import Array


class Verdict(int):
    """Whether a test rejects, as a truth value (1 or 0), with whether that depends on tau.

    Attributes
    ----------
    depends_on_tau : bool or None
        True where some of the values of tau that were tested reject and others do not; None where only one was tested.

    Examples
    --------
    >>> verdict = Verdict(False, depends_on_tau=True)
    >>> verdict, not verdict, verdict.depends_on_tau
    (False (depends on tau), True, True)
    """

    depends_on_tau: bool | None

    def __new__(cls, rejected: bool, depends_on_tau: bool | None = None) -> Verdict:
        """Make a verdict."""
        self = super().__new__(cls, bool(rejected))
        self.depends_on_tau = depends_on_tau
        return self

    def __repr__(self) -> str:
        return f"{bool(self)}{' (depends on tau)' if self.depends_on_tau else ''}"


def pvalue(statistic: float, null: Array, rounding: float = 0.0) -> float:
    """(1 + #{null >= statistic}) / (1 + B): never 0. Differences within `rounding` count as ties."""
    reached = int((null >= statistic * (1.0 - 1e-8) - rounding).sum())
    return (1 + reached) / (1 + len(null))


def replicates_needed(level: float, tests: int = 1) -> int:
    """The least number of replicates with which one of so many tests can reject after Holm's rule."""
    return ceil(tests / level - 1e-9) - 1


def too_few(n_boot: int, level: float, statistic: float = 1.0) -> str:
    """Why so many replicates cannot decide at a level, in words; empty where they can.

    A statistic of 0 is decided by no replicate at all: each of them is as large.
    """
    needed = replicates_needed(level)
    if n_boot >= needed or statistic == 0:
        return ""
    return f"{n_boot} replicates were made, and at least {needed} are needed"


def depends_on_tau(taus: Sequence[float], pvalues: Array, level: float) -> str:
    """What is said where some of the values of tau that were tested reject and others do not; the first is the test."""
    reject = pvalues <= level
    if reject.all() or not reject.any():
        return ""
    order = sorted(range(len(taus)), key=taus.__getitem__)
    said = [f"{pvalues[t]:.3g} at tau = {taus[t]:.3g}" for t in order]
    if all(pvalues[t] <= pvalues[u] for t, u in pairwise(order)):
        return (
            f"The verdict depends on tau: the p-value is {said[0]} and {said[-1]}. A smaller tau rejects more, true models as "
            "well as false ones: report both."
        )
    said[order.index(0)] += " (the test)"
    return (
        f"The verdict depends on tau, and not in one direction: the p-value is {', '.join(said[:-1])} and {said[-1]}. "
        "Report all of them."
    )
