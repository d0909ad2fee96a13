"""The p-value of a bootstrap test, and its verdict."""

from __future__ import annotations

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
