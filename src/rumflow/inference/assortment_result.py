"""The best assortment as a result: the menu, its range, and the table of what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

from rumflow.data.labels import Item
from rumflow.output.names import WRAPPED, name_menu
from rumflow.output.range_plots import MOST_NAME
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.projection.results import Projection
from rumflow.text import visible

REASONS = {
    "max_seconds": "time was up",
    "interrupted": "the search was interrupted",
    "too large": "the graph of the recorded menus and a promising one, or the table of who prefers what, is too large",
}

#: A search whose gap is this part of the answer was completed: what was interrupted came after it.
_COMPLETE = 1e-6

#: The answer itself is named in full, up to this many characters.
MOST_NAMED = 2000


@dataclass(frozen=True, eq=False, repr=False)
class BestAssortment(Result):
    """The menu with the highest worst-case revenue, and what it is compared with.

    Attributes
    ----------
    menu : tuple
        The menu, with the outside option.
    lower : float
        Certified: the menu earns at least this in every population considered, see `confidence`.
    upper : float
        And at most this.
    gap : float
        Certified: no menu has a worst case more than this above `lower`.
    outside_option : hashable
        What people take who buy nothing.
    table : dict of lists
        Columns assortment, menu, size, lower, upper (over the populations that fit best), fit, allowed, and with
        `confidence` from, to (over those not rejected; NaN where that was not computed).
    confidence : float or None
        None: the populations considered are those that fit best; else those that are not rejected at this level.
    nodes : int
        Nodes of the search.
    seconds : float
        Time taken.
    reason : str
        "" where all was done, else "max_seconds", "interrupted" or "too large".
    notes : tuple of str
        What the reader should know.
    projection : Projection or None
        The fit.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("out", "a", "b"): {"out": 50, "a": 30, "b": 20}, ("out", "a"): {"out": 60, "a": 40}})
    >>> best = rf.best_assortment(data, revenue={"a": 3, "b": 4}, outside_option="out")
    >>> best.outside_option, best.reason
    ('out', '')
    """

    _named = (
        "menu", "lower", "upper", "gap", "outside_option", "confidence", "nodes", "seconds", "reason", "notes",
    )  # fmt: skip
    _listed = "assortments"

    menu: tuple[Item, ...]
    lower: float
    upper: float
    gap: float
    outside_option: Item
    table: dict[str, list[Any]]
    confidence: float | None
    nodes: int
    seconds: float
    reason: str
    notes: tuple[str, ...] = ()
    projection: Projection | None = None

    def as_table(self, top: int = 12) -> Table:
        """Return the first rows of the table for the terminal.

        Parameters
        ----------
        top : int, default 12
            The largest number of rows.

        Returns
        -------
        Table
        """
        shown = {name: column[:top] for name, column in self.table.items() if name != "allowed"}
        shown["menu"] = [self._offer(menu) for menu in shown["menu"]]
        for name in ("from", "to"):  # NaN where it was not computed
            if name in shown:
                shown[name] = [None if isnan(value) else value for value in shown[name]]
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        note = (
            "lower, upper: over all populations that fit the data best, without sampling error; "
            "fit: under one of them, the fitted mixture."
        )
        if self.confidence is not None:
            some = self._without(top)
            note = f"from, to: over all populations that are not rejected at {100 * self.confidence:g} %{some}. {note}"
        left = len(self.table["menu"]) - len(rows)
        note += f" {left} further past assortments earn less in the worst case." if left else ""
        return Table("Revenue of assortments", list(shown), rows, note)

    def _without(self, top: int) -> str:
        """Why some of the first rows have no range at the level, in words."""
        kinds = {ok for ok, low in zip(self.table["allowed"][:top], self.table["from"], strict=False) if isnan(low)}
        reasons = {False: "is beyond the limits (max_size, must, never_together)", True: "is not among the first"}
        why = " or ".join(reasons[ok] for ok in sorted(kinds))
        return f'; "-": not computed, for the assortment {why}' if why else ""

    def parts(self) -> list[str | Table]:
        """Return the answer, and the table of assortments."""
        own = self._offer(self.menu, MOST_NAMED)
        earns = f"{own} beside {visible(self.outside_option)}, which earns {self.lower:.4g} to {self.upper:.4g}"
        if self.confidence is None:
            truth = "The fit is taken for the truth"
            if not self.notes:  # a level that came to nothing has a note, and so have few choices
                truth += "; confidence=0.95 (--confidence 0.95) allows for sampling error"
            lines = [f"{truth}.", f"Best in the worst case: {earns}."]
        else:
            percent = f"{100 * self.confidence:g} %"
            lines = [
                f"Best at {percent}: {earns} in every population that is not rejected. With this confidence all "
                "assortments earn what they promise, so the promise holds although the best was searched for."
            ]
        if self.reason and self.gap > _COMPLETE * abs(self.lower):
            why = REASONS[self.reason]
            lines.append(f"The search is not complete, because {why}: another may promise up to {self.gap:.3g} more.")
        else:
            lines.append(
                f"No other assortment promises more (certified{f' to {self.gap:.1g}' if self.gap > 0 else ''})."
            )
        return ["\n".join([*lines, *self.notes]), self.as_table()]

    def _offer(self, menu: tuple[Item, ...], length: int = WRAPPED) -> str:
        """An assortment without the outside option, in words."""
        every = () if self.projection is None else self.projection.items
        offered, own = ([item for item in items if item != self.outside_option] for items in (every, menu))
        return name_menu(offered, own, length)

    def plot(self, ax: Any = None) -> Any:
        """Plot the ranges of the assortments as bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.range_plots import Interval, plot_ranges

        names = self.table["assortment"]
        whole = [f"{name}: {self._offer(menu)}" for name, menu in zip(names, self.table["menu"], strict=True)]
        if max(map(len, whole)) <= MOST_NAME:  # cut, several would look the same
            names = whole
        interval = None
        if "from" in self.table:
            interval = Interval(self.table["from"], self.table["to"], "over all populations not rejected")
        marks = {"under the fit": self.table["fit"]}
        return plot_ranges(
            names,
            (self.table["lower"], self.table["upper"]),
            interval,
            marks,
            ax,
            title="What each assortment earns",
            label="revenue",
        )

    def __repr__(self) -> str:
        return f"BestAssortment(menu={self.menu!r}, lower={self.lower:.6g}, upper={self.upper:.6g}, gap={self.gap:.2g})"
