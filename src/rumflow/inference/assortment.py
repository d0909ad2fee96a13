"""The assortment that is best in the worst case.

What a menu S earns is sum of revenue(x) rho(S, x). The data fix it for recorded menus only; for others every population that fits
as well as the nearest says something else. The robust choice is

    max over menus S of  min over populations rho of  sum revenue(x) rho(S, x):

no other menu can promise more. The populations are all members of the model with the fitted values on every recorded cell, or,
with `confidence`, all that are not rejected at a level (`rumflow.inference.plausible`). The inner minimum is a linear programme
(`rumflow.inference.populations`), the outer maximum is found by branch and bound (`rumflow.inference.assortment_search`), with a
certified distance to the best where time ends it. What is certified holds up to the rounding of the linear programmes: 1e-10, at
worst 1e-7, of the largest revenue.

The fit itself, one mixture of rankings among many with the same values, has a best menu, too. It promises more and may keep
less; all of them are in the table with their ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_level, check_replicates, check_seconds, check_whole
from rumflow.core.compile import clock
from rumflow.core.patience import limited
from rumflow.core.seeds import ZERO, Seed, either
from rumflow.data.accept import DataLike, as_data
from rumflow.data.choices import ChoiceData
from rumflow.data.design import note_on_few
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.inference.assortment_inputs import check_revenue, find_items
from rumflow.inference.assortment_result import REASONS, BestAssortment
from rumflow.inference.assortment_search import STOPS, Found, reason_of
from rumflow.inference.assortment_task import Row, SearchLine, Task
from rumflow.inference.bounds import exact_fit, item_labels
from rumflow.inference.confidence import BoundsOptions, has_counts
from rumflow.inference.notes import ASSUMPTION
from rumflow.inference.plausible import find_band
from rumflow.inference.populations import Fitted, NotRejected
from rumflow.inference.resample import require_replicates_for
from rumflow.models.model import Model
from rumflow.projection.results import Projection

_FIT_SECONDS = 1.0  # that the projection is given, however short the limit: without it there is no answer
_POINT_SECONDS = 10.0  # for the best menu of the fit, which only stands beside
_LEVEL = 0.95  # at which a model is called rejected where no level is asked for
_COMPARED = 5  # past assortments whose ranges at the level are computed


def best_assortment(
    data: DataLike | ArrayLike | Projection,
    revenue: Mapping[Item, float] | ArrayLike,
    outside_option: Item | None = None,
    max_size: int | None = None,
    must: Iterable[Item] = (),
    never_together: Iterable[Iterable[Item]] = (),
    *,
    confidence: float | None = None,
    weights: str | ArrayLike | None = "auto",
    model: Model | None = None,
    route: str | None = None,
    max_seconds: float | None = None,
    n_boot: int = 999,
    cluster: Any = "auto",
    seed: Seed = ZERO,
    rng: Seed = None,
    progress: bool = False,
) -> BestAssortment:
    """Find the menu with the highest worst-case revenue.

    The worst case is over all RUMs that have the fitted values on every recorded cell.

    Parameters
    ----------
    data : ChoiceData, Projection or array_like
        An array has shape (2^n, n), with NaN for what was not observed.
    revenue : mapping or array_like
        {item: value} for every item but the outside option, or an array in the order of the items.
    outside_option : hashable
        What people take who buy nothing: an item of the data, on every menu that is considered. Its revenue is 0 unless
        `revenue` says otherwise.
    max_size : int, optional
        The largest number of items apart from the outside option.
    must : iterable, default ()
        Items that every menu has.
    never_together : iterable of groups, default ()
        Groups of items, such as [("a", "b")]: at most one of each group.
    confidence : float, optional
        None, or a level such as 0.95: the worst case is then over all RUMs that are not rejected at this level; see Notes.
    weights, model, route : optional
        Of the projection, see `bounds`; the types of the model must be rankings (`Model.of_rankings`).
    max_seconds : float, optional
        Stop with the best so far and its gap, as Ctrl-C does. Without a projection there is nothing yet: one that is not done
        by then raises a NotConvergedError.
    n_boot : int, default 999
        Samples drawn for the level.
    cluster : {"auto"}, bool, None or array_like, default "auto"
        For the level: True, or one id per row, draws whole subjects; "auto" where they are known and made several choices.
    seed, rng : int or numpy.random.Generator, default 0
        For the level. Two names of the same: give one.
    progress : bool, default False
        Show a line on standard error.

    Returns
    -------
    BestAssortment

    Raises
    ------
    InputError
        If the outside option or a revenue is missing, or no menu satisfies the conditions.

    Notes
    -----
    With `confidence` a RUM is rejected by the largest deviation, in standard errors, of a recorded share or of the share of
    choices that earn as much or more. The RUMs that are not rejected include the truth with that probability, and then
    every menu earns at least its lower bound: the bound of the best menu holds although the menu was searched for.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("out", "a", "b"): {"out": 50, "a": 30, "b": 20}, ("out", "a"): {"out": 60, "a": 40}})
    >>> best = rf.best_assortment(data, revenue={"a": 3, "b": 4}, outside_option="out")
    >>> best.menu, round(best.lower, 2)
    (('out', 'a', 'b'), 1.7)
    """
    begin = clock()
    data = as_data(data)
    if confidence is not None:
        require_replicates_for(check_level(confidence, "confidence", also=", or None"), check_replicates(n_boot))
        if not has_counts(data):
            raise InputError(f"confidence={confidence!r}: a level needs ChoiceData with counts")
    elif not (cluster is None or cluster is False or (isinstance(cluster, str) and cluster == "auto")):
        raise InputError("cluster: subjects matter for a level only; give confidence=, such as 0.95, too")
    seconds = check_seconds(max_seconds)
    check_replicates(n_boot)
    seed = either(seed, rng)
    items = item_labels(data)
    check_revenue(items, revenue, outside_option)
    apart = [find_items(items, group, "never_together") for group in never_together]
    needed = find_items(items, must, "must")
    max_size = None if max_size is None else check_whole(max_size, "max_size")
    deadline = np.inf if seconds is None else begin + seconds
    with limited(max(deadline, begin + _FIT_SECONDS)):
        fit = exact_fit(data, weights, model, route, progress)
    if not fit.model.of_rankings:
        raise InputError(
            "model: assortments need rankings, as RandomUtility(), SinglePeaked(axis) and models by attributes of items have "
            f"them, not {fit.model!r}"
        )
    notes = []
    level: _Level | None = None
    with SearchLine(progress) as line:
        with limited(deadline):
            task = Task(fit, revenue, outside_option, max_size, needed, apart)
        point = task.search_fit(min(deadline, clock() + _POINT_SECONDS))
        if point.reason:
            notes.append(
                "The best assortment of the fit was not searched to its end; there may be a better one for it."
            )
        if point.reason == "interrupted":
            deadline = -np.inf
        with limited(deadline):
            found = _search(task, point, deadline, line)
            if point.reason == "interrupted":
                found = found._replace(reason=point.reason)
            rows = task.rows(found.menu, point.menu)
            if confidence is not None and isinstance(data, ChoiceData):
                level = _Level(task, confidence, rows, found)
                asked = BoundsOptions(
                    "counts", confidence, n_boot, seed=seed, cluster=cluster, model=model, route=route
                )
                level.search(data, deadline, line, asked)
                notes += [level.note] if level.note else []
                found, rows = level.found, level.rows
            elif isinstance(data, ChoiceData) and has_counts(data) and not (found.reason or fit.inside):
                asked = BoundsOptions("counts", _LEVEL, n_boot, seed=seed, model=model, route=route)
                unchecked, checked = _rejected(data, task, asked)
                notes += checked
                if unchecked == "interrupted":  # the answer is there; what is left is not begun
                    found = found._replace(reason=unchecked)
    if confidence is None and isinstance(data, ChoiceData):
        notes += filter(None, [note_on_few(data)])
    with limited(-np.inf if found.reason == "interrupted" else deadline):
        table = task.table(rows)
    if np.isnan(table["lower"][0]) and not (level is not None and level.ends):  # there was no time to find it again
        table["lower"][0] = found.value
    low, high = "lower", "upper"
    if level is not None and level.ends:
        low, high = "from", "to"
        table["from"], table["to"] = (list(ends) for ends in zip(*level.ends, strict=True))
    return BestAssortment(
        menu=rows[0].labels(fit),
        lower=table[low][0],
        upper=table[high][0],
        gap=max(found.upper - found.value, 0.0),
        outside_option=fit.items[task.outside],
        table=table,
        confidence=None if low == "lower" else confidence,
        nodes=found.nodes,
        seconds=clock() - begin,
        reason=found.reason,
        notes=tuple(notes),
        projection=fit,
    )


def _search(task: Task, point: Found, deadline: float, line: SearchLine) -> Found:
    """The best menu over the populations equal to the fit: none promises more than the best of the fit, which is one of them."""
    start = next(((row, lower) for row, lower, _ in task.past if task.allows(row) and np.isfinite(lower)), None)
    # What goes wrong with the best of the fit teaches the search.
    return task.search(Fitted(task.fit), start, [point.menu], point.upper, deadline, line.show)


def _rejected(data: ChoiceData, task: Task, options: BoundsOptions) -> tuple[str, list[str]]:
    """What to say where no level is asked for, but every population is rejected at the usual one, or why that is not known."""
    try:
        populations = NotRejected(task.fit, find_band(data, task.given.menus, task.given.seen, task.values, options))
    except STOPS as stop:
        reason = reason_of(stop)
        return reason, [
            f"Whether the data reject every population at {100 * _LEVEL:g} % is not known: {REASONS[reason]}."
        ]
    if not populations.empty:
        return "", []
    far = f"{populations.nearest.bound:.3g} times as far off as chance explains"
    words = f"every population is rejected at {100 * _LEVEL:g} %, the nearest is {far}"
    return "", [f"Do not rely on it: {words}. {ASSUMPTION}"]


class _Level:
    """The search over the populations that are not rejected; where it comes to nothing, the answer without it stands."""

    def __init__(self, task: Task, confidence: float, rows: list[Row], found: Found) -> None:
        self._task, self._confidence = task, float(confidence)
        self.rows, self.found = rows, found
        self.ends: list[tuple[float, float]] = []
        self.note = ""

    def search(self, data: ChoiceData, deadline: float, line: SearchLine, options: BoundsOptions) -> None:
        """Find the best menu, and the ranges of those it is compared with."""
        percent = f"{100 * self._confidence:g} %"
        reason = self.found.reason
        try:
            if not reason:
                reason = self._find(data, deadline, line, options)
        except STOPS as stop:
            reason = reason_of(stop)
        if reason == "rejected":
            self.note = f"Every population is rejected at {percent}, so the model itself is: {self.note}."
        elif not self.ends:
            self.note = f"Nothing is said about {percent}, for the search ended before: ranges are over best-fitting populations."
            self.found = self.found._replace(reason=reason)

    def _find(self, data: ChoiceData, deadline: float, line: SearchLine, options: BoundsOptions) -> str:
        task, fit = self._task, self._task.fit
        band = find_band(data, task.given.menus, task.given.seen, task.values, options)
        populations = NotRejected(fit, band)
        if populations.empty:
            self.note = f"the nearest is {populations.nearest.bound:.3g} times as far off as chance explains"
            return "rejected"
        # Where the fit is not rejected, nothing promises more than over the populations equal to it.
        ceiling = self.found.upper if band.holds(np.where(task.given.menus, task.given.values, 0.0)) else np.inf
        compared = [k for k, row in enumerate(self.rows) if row.allowed][: 2 + _COMPARED]
        menus = [self.rows[k].menu for k in compared]
        found = task.search(populations, None, menus, ceiling, deadline, line.show)
        deadline = -np.inf if found.reason == "interrupted" else deadline
        with limited(deadline):
            least, most = task.range(populations, found.menu)
        own = found.value if np.isnan(least) else least, most
        best = Row(f"best at {100 * self._confidence:g} %", found.menu, True)
        self.found, self.rows, self.ends = found, [best, *self.rows], [own, *([(np.nan, np.nan)] * len(self.rows))]
        for k, menu in zip(compared, menus, strict=True):  # these only stand beside
            if clock() <= deadline:
                self.ends[1 + k] = task.range(populations, menu)
        return found.reason
