"""How a projection ended, in words."""

from __future__ import annotations

from enum import StrEnum

from rumflow.core.certificate import Certificate
from rumflow.core.problem import Stop


class Status(StrEnum):
    """How a projection ended.

    OPTIMAL: the gap is within the tolerance. BOUNDED: the graph is too large, and only bounds were computed. STALLED:
    rounding stopped the solver. MAX_SECONDS: the time limit came first. INTERRUPTED: stopped by Ctrl-C.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> rf.project(data).status is rf.Status.OPTIMAL
    True
    """

    OPTIMAL = "optimal"
    BOUNDED = "bounded"
    STALLED = "stalled"
    MAX_SECONDS = "max_seconds"
    INTERRUPTED = "interrupted"

    @property
    def explanation(self) -> str:
        """The cause, and what to do about it where all arguments of `project` are there."""
        return self.explain("max_seconds", "tol", "start")

    def explain(self, *options: str) -> str:
        """The cause, and what to do about it for callers of a function that has these arguments.

        Parameters
        ----------
        *options : str
            Of max_seconds, tol and start those that the function has.

        Returns
        -------
        str
        """
        tol, start = "tol" in options, "start" in options
        larger = "ask for a larger tol, or " if tol else ""
        if "max_seconds" in options:
            fewer = ("ask for a larger tol, " if tol else "") + "allow more time with max_seconds, or "
        else:
            fewer = larger
        more = ", or ask for a larger tol" if tol else ""
        if start:  # whoever has this has a tolerance, too
            more = ", ask for a larger tol, or pass the rankings so far as start"
        return {
            Status.OPTIMAL: "the certified gap is within the tolerance",
            Status.BOUNDED: "the graph of these menus is too large, and the bound computed instead leaves a gap above "
            f"the tolerance: {fewer}leave out menus or items",
            Status.STALLED: "rounding stopped the progress before the tolerance was met: "
            f"{larger}bring the weights closer together",
            # Whoever has no limit of their own is under that of somebody else.
            Status.MAX_SECONDS: f"the time limit max_seconds came first: allow more time{more}",
            Status.INTERRUPTED: "it was interrupted"
            + (": pass the rankings so far as start to continue" if start else ""),
        }[self]

    @property
    def reason(self) -> str:
        """The cause in few words, for the brackets behind a number; "" where the number is certified."""
        return {
            Status.OPTIMAL: "",
            Status.BOUNDED: "only bounds were computed",
            Status.STALLED: "stopped by rounding",
            Status.MAX_SECONDS: "stopped when time was up",
            Status.INTERRUPTED: "interrupted",
        }[self]


#: Of what Ctrl-C ended in its last round.
INTERRUPTED_AT_THE_END = "it was interrupted, at the optimum already"


def status_of(certificate: Certificate, tol: float, reason: str) -> Status:
    """Converged means certified, whatever the solver thought."""
    if certificate.is_optimal(Stop(tol)):
        return Status.OPTIMAL
    ends = {"max_seconds": Status.MAX_SECONDS, "interrupted": Status.INTERRUPTED, "bounded": Status.BOUNDED}
    return ends.get(reason, Status.STALLED)
