"""The assortment that is best in the worst case.

What a menu S earns is sum of revenue(x) rho(S, x). The data fix it for recorded menus only; for others every population that fits
as well as the nearest says something else. The robust choice is

    max over menus S of  min over RUMs rho with the fitted values on every recorded cell of  sum revenue(x) rho(S, x):

no other menu can promise more. The inner minimum is a sharp bound (`rumflow.inference.sharp`), the outer maximum is found by
branch and bound (`rumflow.inference.assortment_search`), with a certified distance to the best where time ends it. What is
certified holds up to the rounding of the linear programmes: 1e-10, at worst 1e-7, of the largest revenue.

The fit itself, one mixture of rankings among many with the same values, has a best menu, too. It promises more and may keep
less; both stand in the table with their ranges.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.seeds import Seed
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.inference.assortment_search import Found, Limits, Node, Space, WorstCases, search, search_mixture
from rumflow.inference.bounds import bound_functionals, exact_fit
from rumflow.inference.confidence import has_counts
from rumflow.inference.functionals import revenue as revenue_of
from rumflow.inference.sharp import Asked, find_bounds, given_by, independent, model_of, worst_case
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.rankings import choice_probabilities
from rumflow.output.frames import make_frame
from rumflow.output.tables import Table
from rumflow.projection.inputs import as_floats
from rumflow.projection.results import Projection

_TOL = 1e-6  # of the largest revenue: menus closer than this are equally good
_POINT_SECONDS = 10.0  # for the best menu of the fit, which only stands beside
_REASONS = {
    "max_seconds": "time was up",
    "interrupted": "the search was interrupted",
    "too large": "the graph of the recorded menus and a promising one is too large",
}
_COMPARED = 5  # past assortments that are compared by confidence intervals


@dataclass(frozen=True, eq=False, repr=False)
class BestAssortment:
    """The menu with the highest worst-case revenue, and what it is compared with."""

    menu: tuple[Item, ...]  #: with the outside option
    lower: float  #: certified: the menu earns at least this in every best-fitting population
    upper: float  #: and at most this
    gap: (
        float  #: certified: no menu has a worst case more than this above `lower`; NaN where it was chosen by intervals
    )
    outside_option: Item
    table: dict[str, list[Any]]  #: columns assortment, menu, size, lower, upper, fit, allowed (from, to)
    confidence: float | None
    nodes: int  #: of the search
    seconds: float
    reason: str  #: "" where the search was completed, else "max_seconds", "interrupted" or "too large"
    notes: tuple[str, ...] = ()
    projection: Projection | None = field(default=None, repr=False)

    def to_frame(self, backend: str = "pandas") -> Any:
        """The table as a data frame (backend "pandas", "polars", "pyarrow" or "dict")."""
        return make_frame(self.table | {"menu": [format_menu(menu) for menu in self.table["menu"]]}, backend)

    def as_table(self, top: int = 12) -> Table:
        """The first rows of the table for the terminal."""
        shown = {name: column[:top] for name, column in self.table.items() if name != "allowed"}
        shown["menu"] = [format_menu([item for item in menu if item != self.outside_option]) for menu in shown["menu"]]
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        note = (
            "lower, upper: over all populations that fit the data best, without sampling error; "
            "fit: under one of them, the fitted mixture."
        )
        if self.confidence is not None:
            note = f"from, to: {100 * self.confidence:g} % confidence. {note}"
        left = len(self.table["menu"]) - len(rows)
        note += f" {left} further past assortments earn less in the worst case." if left else ""
        return Table("Revenue of assortments", list(shown), rows, note)

    def summary(self) -> str:
        """The answer in words."""
        own = [item for item in self.menu if item != self.outside_option]
        by_intervals = bool(np.isnan(self.gap))
        title = "Best by its interval" if by_intervals else "Best in the worst case"
        lines = [
            f"{title}: {format_menu(own)} beside {self.outside_option}, "
            f"which earns {self.lower:.4g} to {self.upper:.4g}."
        ]
        if by_intervals:
            lines.append(
                f"It has the highest lower end of the {100 * (self.confidence or 0):g} % intervals among the assortments "
                "compared; nothing is certified about others."
            )
        elif self.reason:
            why = _REASONS[self.reason]
            lines.append(f"Not the last word, because {why}: another may promise up to {self.gap:.3g} more.")
        else:
            lines.append(
                f"No other assortment promises more (certified{f' to {self.gap:.1g}' if self.gap > 0 else ''})."
            )
        return "\n".join([*lines, *self.notes, self.as_table().text()])

    def plot(self, ax: Any = None) -> Any:
        """The ranges of the assortments as bars."""
        from rumflow.output.range_plots import plot_ranges

        names = [
            f"{name}: {format_menu([item for item in menu if item != self.outside_option])}"
            for name, menu in zip(self.table["assortment"], self.table["menu"], strict=True)
        ]
        marks = {"under the fit": self.table["fit"]}
        return plot_ranges(
            names,
            self.table["lower"],
            self.table["upper"],
            (self.table["from"], self.table["to"]) if "from" in self.table else None,
            marks,
            ax,
            title="What each assortment earns",
            label="revenue",
        )

    def __repr__(self) -> str:
        return f"BestAssortment(menu={self.menu!r}, lower={self.lower:.6g}, upper={self.upper:.6g}, gap={self.gap:.2g})"


def best_assortment(
    data: ChoiceData | ArrayLike | Projection,
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
    n_boot: int = 199,
    seed: Seed = 0,
    progress: bool = False,
) -> BestAssortment:
    """The menu with the highest worst-case revenue over all RUMs that have the fitted values on every recorded cell.

    data            ChoiceData, a (2^n, n) array of probabilities with NaN for what was not observed, or a Projection.
    revenue         {item: value} for every item but the outside option, or an array in the order of the items.
    outside_option  what people take who buy nothing: an item of the data, on every menu that is considered. Its revenue is 0
                    unless `revenue` says otherwise.
    max_size        most items beside the outside option.
    must            items that every menu has.
    never_together  groups of items, such as [("a", "b")]: at most one of each group.
    confidence      None, or a level such as 0.95. Then the assortments of the table (the robust one, the best of the fit, and
                    the five past ones with the highest worst case) are compared by the lower ends of their confidence
                    intervals, and the highest is the answer. Each interval holds what its assortment earns with that
                    probability, one at a time; nothing is certified about assortments that were not compared.
    max_seconds     end with the best so far and its gap; Ctrl-C does so, too.
    weights, model, route   of the projection, see `bounds`; the model must be random utility.
    n_boot, seed    of the intervals.
    progress        a line on standard error.

    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("out", "a", "b"): {"out": 50, "a": 30, "b": 20}, ("out", "a"): {"out": 60, "a": 40}})
    >>> best = rf.best_assortment(data, revenue={"a": 3, "b": 4}, outside_option="out")
    >>> best.menu, round(best.lower, 2)
    (('out', 'a', 'b'), 1.7)
    """
    begin = clock()
    if confidence is not None:
        if isinstance(confidence, str | bool) or not 0 < confidence < 1:
            raise InputError(f"confidence={confidence!r}: None or a number between 0 and 1 is needed, such as 0.95")
        if not has_counts(data):
            raise InputError(f"confidence={confidence!r}: intervals need ChoiceData with counts")
    fit = exact_fit(data, weights, model, route)
    if not isinstance(model_of(fit), RandomUtility):
        raise InputError(f"model: assortments need rankings, RandomUtility(), not {model_of(fit)!r}")
    task = _Task(fit, revenue, outside_option, max_size, must, never_together)
    deadline = np.inf if max_seconds is None else begin + _positive(max_seconds)
    report = _Line() if progress else None
    point = task.search_fit(min(deadline, clock() + _POINT_SECONDS))
    if point.reason == "interrupted":
        deadline = -np.inf
    found = task.search(point, deadline, report.show if report else None)
    if report:
        report.end()
    rows = task.rows(found, point)
    table = task.table(rows)
    reason = "interrupted" if point.reason == "interrupted" else found.reason
    gap = max(found.upper - found.value, 0.0)
    best = 0
    notes = []
    if point.reason:
        notes.append("The best assortment of the fit was not searched to its end; there may be a better one for it.")
    if confidence is not None and isinstance(data, ChoiceData) and not reason:
        compared = [k for k, row in enumerate(rows) if row.allowed][: 2 + _COMPARED]
        table["from"], table["to"] = [np.nan] * len(rows), [np.nan] * len(rows)
        functionals = {k: revenue_of(rows[k].labels(fit), task.values) for k in compared}
        options = {"confidence": confidence, "weights": weights, "model": model, "route": route, "n_boot": n_boot}
        for k in compared:  # one at a time: a graph of all menus at once may be large
            if clock() > deadline:
                reason = "max_seconds"
                break
            try:
                own = bound_functionals(data, {k: functionals[k]}, seed=seed, progress=progress, fit=fit, **options)
            except KeyboardInterrupt:
                reason = "interrupted"
                break
            assert own.confidence_lower is not None
            assert own.confidence_upper is not None
            table["from"][k], table["to"][k] = float(own.confidence_lower[0]), float(own.confidence_upper[0])
            notes += [f"{rows[k].name}: {note}" for note in own.notes if note]
        kept = [k for k in compared if not np.isnan(table["from"][k])]
        if reason:
            notes.append("The intervals were not computed to the end: the answer is the one without them.")
        elif kept:
            best = max(kept, key=lambda k: (table["from"][k], -k))
            gap = np.nan
    return BestAssortment(
        rows[best].labels(fit),
        table["lower"][best],
        table["upper"][best],
        gap,
        fit.items[task.outside],
        table,
        confidence,
        found.nodes,
        clock() - begin,
        reason,
        tuple(notes),
        fit,
    )


class _Row(NamedTuple):
    """An assortment to be shown."""

    name: str
    menu: Mask  # in the order of the items
    allowed: bool

    def labels(self, fit: Projection) -> tuple[Item, ...]:
        return tuple(fit.items[x] for x in np.flatnonzero(self.menu))


class _Task:
    """The checked input, in items by falling revenue: `order[k]` is the item at place k."""

    def __init__(
        self,
        fit: Projection,
        revenue: Mapping[Item, float] | ArrayLike,
        outside_option: Item | None,
        max_size: int | None,
        must: Iterable[Item],
        never_together: Iterable[Iterable[Item]],
    ) -> None:
        self.fit, self._given = fit, given_by(fit)
        self.outside = _outside(fit, self._given.menus, outside_option)
        self._by_item = _values(fit, revenue, self.outside)
        self.values = {item: float(value) for item, value in zip(fit.items, self._by_item, strict=True)}
        self.scale = float(np.abs(self._by_item).max())
        self._order: Ints = np.argsort(-self._by_item, kind="stable")
        self._place = np.argsort(self._order)
        apart = np.array([_mask(fit, group, "never_together") for group in never_together], np.bool_)
        apart = apart.reshape(-1, fit.n)
        if (apart[:, self.outside]).any():
            raise InputError(f"never_together: the outside option {fit.items[self.outside]!r} is on every menu")
        needed = _mask(fit, must, "must")
        needed[self.outside] = True
        size = fit.n if max_size is None else _size(max_size)
        limits = Limits(needed[self._order], size, apart[:, self._order])
        self._revenue = self._by_item[self._order]
        self._membership = np.ascontiguousarray(self._given.menus[:, self._order])
        model = model_of(fit)
        assert isinstance(model, RandomUtility)
        self._known = model.preferences(fit.items)[np.ix_(self._order, self._order)]
        self.space = Space(self._revenue, limits, self._implied(limits, max_size is not None))
        self._fixed_space = Space(self._revenue, limits, np.zeros((fit.n, fit.n), np.bool_))
        if self.space.root() is None:
            raise InputError("no assortment satisfies max_size, must and never_together together")
        rankings = fit.rankings
        self._orders, self._weights = self._place[rankings.orders], rankings.weights

    def _implied(self, limits: Limits, sized: bool) -> Mask:
        """[i, k]: a best menu that has i may as well have k."""
        n = len(self._revenue)
        if sized:
            return np.zeros((n, n), np.bool_)
        menus = self._membership.astype(np.float32)
        missing = menus.T @ (1 - menus)  # [i, k]: menus with i and without k
        known = self._known.astype(np.float32)  # [a, b]: a above b
        unlike = known.T @ (1 - known - np.eye(n, dtype=np.float32)) > 0  # [i, k]: something above i, not above k nor k
        implied = (missing == 0) & ~unlike & (self._revenue[:, None] <= self._revenue[None, :])
        implied[:, limits.apart.any(axis=0)] = False
        np.fill_diagonal(implied, False)
        return np.asarray(implied, np.bool_)

    def search(self, point: Found, deadline: float, report: Callable[[int, float, float], None] | None) -> Found:
        """The best menu in the worst case; none promises more than the best of the fit, which is one of the populations."""
        fixed = self._given.seen[:, self._order]
        cases = WorstCases(self._membership, independent(self._membership, fixed), self._known, self._revenue)
        cases.begin(self._orders, self._weights)
        highest = -np.inf

        def value(menu: Mask) -> float:
            nonlocal highest
            if menu.sum() == 1:
                return float(self._revenue[menu][0])
            own = menu[self._place]
            solution, (orders, _) = worst_case(self.fit, own, self._by_item)
            highest = max(highest, solution.value)
            cases.learn(self._place[orders])
            return solution.bound

        def bound(node: Node, beat: float) -> tuple[float, int]:
            return cases.bound(self.space, node, beat)

        start = None
        for menu, lower, _ in self.past:
            if self.space.allows(menu[self._order]) and (start is None or lower > start[1]):
                start = menu[self._order], lower
        first = point.menu[self._order]  # its worst case teaches the search what may go wrong
        found = search(self.space, bound, value, start, _TOL * self.scale, deadline, point.upper, first, report)
        if not np.isfinite(found.value):  # time was up before anything was valued
            menu = point.menu[self._order]
            found = found._replace(menu=menu, value=value(menu))
        upper = min(max(found.upper, highest), float(self._revenue.max()))
        return found._replace(menu=found.menu[self._place], upper=upper)

    def search_fit(self, deadline: float) -> Found:
        """The best menu for the fitted mixture."""
        first = self._fixed_space.root()
        assert first is not None
        menus = [first.inside, *(own for own in self._membership if self._fixed_space.allows(own))]
        earned = choice_probabilities(self._orders, self._weights, np.array(menus)) @ self._revenue
        best = int(earned.argmax())
        start = menus[best], float(earned[best])
        found = search_mixture(self._orders, self._weights, self._fixed_space, _TOL * self.scale, deadline, start)
        return found._replace(menu=found.menu[self._place])

    @cached_property
    def past(self) -> list[tuple[Mask, float, float]]:
        """The recorded menus with the outside option, in the order of the items, and their ranges; the best first."""
        menus = self._given.menus[self._given.menus[:, self.outside]]
        rows = [(menu, *self._range(menu)) for menu in menus]
        return sorted(rows, key=lambda row: -row[1])

    @cached_property
    def _earned(self) -> dict[bytes, float]:
        """What the menus earn that were recorded in full: that is known."""
        given = self._given
        full = (given.seen == given.menus).all(axis=1)
        earned = np.where(given.menus, given.values, 0.0)[full] @ self._by_item
        return {menu.tobytes(): float(value) for menu, value in zip(given.menus[full], earned, strict=True)}

    def _range(self, menu: Mask) -> tuple[float, float]:
        if menu.sum() == 1:
            return (float(self._by_item[menu][0]),) * 2
        if menu.tobytes() in self._earned:
            return (self._earned[menu.tobytes()],) * 2
        values = np.where(menu, self._by_item, 0.0)
        try:
            lower, upper, _ = find_bounds(self.fit, Asked(menu[None], values[None, None], np.zeros(1)))
        except GraphTooLargeError:  # a menu that only stands beside
            return np.nan, np.nan
        return float(lower[0]), float(upper[0])

    def rows(self, found: Found, point: Found) -> list[_Row]:
        """What to show: the robust menu, the best of the fit, and the past ones."""
        rows = [_Row("best in the worst case", found.menu, True), _Row("best of the fit", point.menu, True)]
        for k, (menu, _, _) in enumerate(self.past):
            rows.append(_Row(f"past {k + 1}", menu, self.space.allows(menu[self._order])))
        return rows

    def table(self, rows: list[_Row]) -> dict[str, list[Any]]:
        """Columns of the result's table."""
        ranges = [self._range(row.menu) for row in rows]
        menus = np.array([row.menu for row in rows])
        fitted = choice_probabilities(self.fit.rankings.orders, self._weights, menus) @ self._by_item
        return {
            "assortment": [row.name for row in rows],
            "menu": [row.labels(self.fit) for row in rows],
            "size": [int(row.menu.sum()) - 1 for row in rows],
            "lower": [low for low, _ in ranges],
            "upper": [high for _, high in ranges],
            "fit": fitted.tolist(),
            "allowed": [row.allowed for row in rows],
        }


class _Line:
    """Progress of the search on standard error."""

    def __init__(self) -> None:
        self._last = clock()
        self._open = False

    def show(self, nodes: int, best: float, upper: float) -> None:
        """After every node."""
        if clock() - self._last > 0.2:
            self._last = clock()
            self._open = True
            sys.stderr.write(f"\rrumflow: {nodes} sets of menus, best {best:.6g}, none above {upper:.6g}   ")
            sys.stderr.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._open:
            sys.stderr.write("\n")


def _outside(fit: Projection, menus: Mask, outside_option: Item | None) -> int:
    always = [str(fit.items[x]) for x in np.flatnonzero(menus.all(axis=0))] if len(menus) else []
    hint = f" On every recorded menu: {', '.join(always)}." if always else ""
    if outside_option is None:
        raise InputError(
            "outside_option: it is needed. Name the item that stands for buying nothing; if buying nothing was not recorded, "
            f"the data say nothing about how many buy, and no assortment can be valued.{hint}"
        )
    if outside_option not in fit.items:
        raise InputError(f"outside_option={outside_option!r} is not among the items {format_menu(fit.items)}.{hint}")
    x = fit.items.index(outside_option)
    if not menus[:, x].any():
        raise InputError(f"outside_option={outside_option!r} is on no recorded menu of two items or more.{hint}")
    return x


def _values(fit: Projection, revenue: Mapping[Item, float] | ArrayLike, outside: int) -> Array:
    if isinstance(revenue, Mapping):
        for item, value in revenue.items():
            if item not in fit.items:
                raise InputError(f"revenue: item {item!r} is unknown: the items are {format_menu(fit.items)}")
            if not isinstance(value, int | float | np.number):
                raise InputError(f"revenue of {item!r}: {value!r} is not a number")
        missing = [item for x, item in enumerate(fit.items) if item not in revenue and x != outside]
        if missing:
            raise InputError(f"revenue: there is none for {format_menu(missing)}; give {{item: value}} for every item")
        found = np.array([float(revenue.get(item, 0.0)) for item in fit.items])
    else:
        found = as_floats(revenue, "revenue")
        if found.shape != (fit.n,):
            raise InputError(f"revenue: {fit.n} numbers are needed, one per item, not shape {found.shape}")
    if not np.isfinite(found).all():
        raise InputError(f"revenue of {fit.items[int(np.argmin(np.isfinite(found)))]!r}: a finite number is needed")
    return found


def _mask(fit: Projection, group: Iterable[Item], option: str) -> Mask:
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise InputError(f"{option}: {group!r} is not a list of items")
    row = np.zeros(fit.n, np.bool_)
    for item in group:
        if item not in fit.items:
            raise InputError(f"{option}: item {item!r} is unknown: the items are {format_menu(fit.items)}")
        row[fit.items.index(item)] = True
    return row


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InputError(f"max_size={value!r}: a whole number, 0 or more, is needed")
    return int(value)


def _positive(seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InputError(f"max_seconds={seconds!r}: a positive number of seconds is needed, or None")
    return float(seconds)
