"""What to ask next: menus that were never offered, by how much their answers would tell.

An answer is a set of choice probabilities on the menu. Three numbers say what it is worth:

    width    the sum over the items of (upper - lower), the sharp bounds of their probabilities. 0: the data imply the answer.
    refutes  if the answer were any probabilities at all, drawn evenly from the simplex, the chance that it lies outside the sharp
             bounds and so could not come from the population that the fit describes. Near 1 the menu is a hard test of the model;
             0: no answer can refute it. (It is at least this: an answer may be inside all bounds and impossible all the same.)
    shrinks  where a functional is given: by how much its bounds come closer on average, over answers that are possible. These
             are mixtures, with random weights drawn evenly, of the extreme populations that attain the bounds of the menu.

The three know no sampling error: an answer is what very many people would say.

*Default candidates*, none of them observed: observed menus less one item, unions and intersections of two observed menus, and all
menus of two items; in this order until there are `most`. Within each kind smaller menus go first. Those of more than 30 items are
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import combinations, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_item, check_whole
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.patience import check_patience
from rumflow.core.seeds import ZERO, Seed, entropy
from rumflow.data.accept import DataLike, as_data
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.inference.assortment_inputs import find_items, find_outside
from rumflow.inference.bounds import ask_functionals, exact_fit, item_labels
from rumflow.inference.sharp import FixedCells, LinearFunctionals, find_bounds, fixed_by, lay_out, make_programs
from rumflow.models.model import Model
from rumflow.output.names import WRAPPED, list_menu
from rumflow.output.progress import Counter, Stage
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.projection.results import Projection

_DRAWS = 4000  # of answers, for the chance to refute
_ANSWERS = 4  # possible ones, for the shrinkage
_MOST_ITEMS = 30  # of a default candidate: two programmes for each item, and more is nothing to ask anybody
_COMBINED = 200  # observed menus that are met and joined two by two
_KNOWN = 1e-9  # a menu whose bounds are together no wider has an answer that the data imply


@dataclass(frozen=True, eq=False, repr=False)
class NextMenus(Result):
    """Menus that were not observed, the most informative first.

    Attributes
    ----------
    menus : tuple of tuples
        The menus, best first.
    width : ndarray
        Sum over the items of each menu of upper - lower, the sharp bounds of their probabilities; 0: the data imply the
        answer.
    refutes : ndarray
        Chance that an answer drawn evenly from the simplex lies outside the sharp bounds, and so refutes the model.
    shrinks : ndarray or None
        By how much the bounds of the functional come closer on average; None without a functional.
    before : float or None
        The present width of the functional's bounds.
    skipped : int
        Candidates that were left out: too many, too large a graph, or interrupted.
    reason : str
        Why, in words; "" where none was left out.
    items : tuple
        All items.
    interrupted : bool
        Whether Ctrl-C came before all candidates were judged.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> rf.next_menu(data).menu
    ('b', 'c')
    """

    _named = ("before", "skipped", "reason")
    _listed = "menus"

    menus: tuple[tuple[Item, ...], ...]
    width: Array
    refutes: Array
    shrinks: Array | None
    before: float | None
    skipped: int
    reason: str
    items: tuple[Item, ...] = ()
    interrupted: bool = False

    @property
    def menu(self) -> tuple[Item, ...]:
        """The most informative menu."""
        if not self.menus:
            raise InputError("there is no menu to ask next: every candidate was observed or left out")
        return self.menus[0]

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns menu, width, refutes, and shrinks if a functional was given."""
        columns: dict[str, list[Any]] = {"menu": list(self.menus)}
        columns |= {"width": self.width.tolist(), "refutes": self.refutes.tolist()}
        return columns | ({} if self.shrinks is None else {"shrinks": self.shrinks.tolist()})

    def as_table(self, top: int = 10) -> Table:
        """Return the first menus for the terminal.

        Parameters
        ----------
        top : int, default 10
            The largest number of rows.

        Returns
        -------
        Table
        """
        shown = {name: column[:top] for name, column in self.table.items()}
        shown["menu"] = [list_menu(self.items, menu, WRAPPED) for menu in shown["menu"]]
        if not self.menus:
            reason = self.reason or "every menu that could be asked was observed."
            return Table("What to ask next: nothing", ["menu", "width", "refutes"], note=reason[0].upper() + reason[1:])
        note = "width: how open its answer is; refutes: chance that an arbitrary answer would refute the model."
        if self.before is not None:
            note += f" shrinks: expected, of the functional's bounds, which are {self.before:.4g} wide now."
        note += f" {self.reason}" if self.reason else ""
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        return Table(f"What to ask next: {len(rows)} of {len(self.menus)} unseen menus", list(shown), rows, note)

    def parts(self) -> list[str | Table]:
        """Return the table of the summary."""
        return [self.as_table()]

    def plot(self, ax: Any = None, top: int = 15) -> Any:
        """Plot the widths as bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.
        top : int, default 15
            The largest number of menus.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.range_plots import plot_ranges

        values = self.width if self.shrinks is None else self.shrinks
        label = (
            "width of its bounds, all items together"
            if self.shrinks is None
            else "expected shrinkage of the functional's bounds"
        )
        names = [format_menu(menu) for menu in self.menus[:top]]
        zero = [0.0] * len(names)
        return plot_ranges(
            names, (zero, values[:top].tolist()), ax=ax, title="What to ask next", label=label, widths=True
        )

    def __repr__(self) -> str:
        return f"NextMenus({len(self.menus)} menus, first {format_menu(self.menus[0]) if self.menus else 'none'})"


def next_menu(
    data: DataLike | ArrayLike | Projection,
    candidates: Iterable[Iterable[Item]] | None = None,
    functional: Mapping[Any, float] | None = None,
    *,
    outside_option: Item | None = None,
    most: int = 60,
    weights: str | ArrayLike | None = "auto",
    model: Model | None = None,
    route: str | None = None,
    seed: Seed = ZERO,
    rng: Seed = None,
    progress: bool = False,
) -> NextMenus:
    """Rank menus that were not observed by how informative their answers would be.

    Parameters
    ----------
    data : ChoiceData, Projection or array_like
        As for `bounds`.
    candidates : iterable of menus, optional
        Menus by label; None: observed menus less one item, unions and intersections of two, and pairs, at most `most` of
        them, of at most 30 items each.
    functional : mapping, optional
        {(menu, item): value}, see `rumflow.functionals`: order by the expected shrinkage of its bounds; None: by the width
        of the menu's bounds.
    outside_option : hashable, optional
        The item that is on every menu, such as that for buying nothing: only menus that have it are candidates.
    most : int, default 60
        The largest number of default candidates.
    weights, model, route : optional
        As for `bounds`.
    seed, rng : int or numpy.random.Generator, default 0
        Of the answers that are drawn. Two names of the same: give one.
    progress : bool, default False
        Show a line on standard error. Ctrl-C keeps the menus that are done.

    Returns
    -------
    NextMenus

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> rf.next_menu(data).menus
    (('b', 'c'), ('a', 'c'))
    """
    check_whole(most, "most", 1)
    number = entropy(seed, rng)
    data = as_data(data)
    items = item_labels(data)
    if outside_option is not None:
        check_item(outside_option, items, "outside_option")
    asked_menus = None if candidates is None else [_row(items, menu, outside_option) for menu in candidates]
    asked = None if functional is None else ask_functionals(items, [functional])
    fit = exact_fit(data, weights, model, route, progress)
    given = fixed_by(fit)
    outside = None if outside_option is None else find_outside(fit, given.menus, outside_option)
    if asked_menus is None:
        with Stage(progress, "the menus that could be asked"):
            rows, left = default_candidates(given.menus, most, outside)
    else:
        rows, left = np.array(asked_menus, np.bool_).reshape(-1, fit.n), 0
        seen = {row.tobytes() for row in given.menus[(given.seen == given.menus).all(axis=1)]}
        fresh = {row.tobytes(): row for row in rows if row.tobytes() not in seen}
        if len(rows) and not fresh:
            raise InputError("candidates: all of these menus were observed; give menus that were not")
        rows = np.array(list(fresh.values()), np.bool_).reshape(-1, fit.n)
    reason = f"{left} further candidates were left out; a larger most takes more." if left else ""
    before = None
    if asked is not None:
        lower, upper, _ = find_bounds(fit, asked, progress)
        before = float(upper[0] - lower[0])
    kept: list[Mask] = []
    found: list[tuple[float, float, float]] = []
    large, interrupted = 0, False
    try:
        with Counter(progress, len(rows), "menus") as counter:
            for row in rows:
                try:
                    found.append(worth_of_menu(fit, row, asked, before, np.random.default_rng(number)))
                    kept.append(row)
                except GraphTooLargeError:
                    large += 1
                counter.add(1)
    except KeyboardInterrupt:
        if not found:
            raise KeyboardInterrupt("interrupted before the first menu was judged: there is no result yet") from None
        left += len(rows) - len(kept) - large
        reason = f"Interrupted: {left} candidates were left out."
        interrupted = True
    if large:
        left += large
        reason += f" For {large} of them the graph of all menus is too large."
    table = np.array(found).reshape(-1, 3)
    order = np.lexsort((-table[:, 1], -table[:, 0], -table[:, 2]))
    menus = tuple(tuple(fit.items[x] for x in np.flatnonzero(kept[k])) for k in order)
    return NextMenus(
        menus,
        table[order, 0],
        table[order, 1],
        None if asked is None else table[order, 2],
        before,
        left,
        reason.strip(),
        fit.items,
        interrupted,
    )


def worth_of_menu(
    fit: Projection, row: Mask, asked: LinearFunctionals | None, before: float | None, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Width, chance to refute, and shrinkage of the functional (0 without one)."""
    places = np.flatnonzero(row)
    given = fixed_by(fit)
    if fit.model.of_rankings and len(places) * open_share(given, row) <= _KNOWN:
        return 0.0, 1.0, 0.0
    further = row[None] if asked is None else np.vstack([row[None], asked.menus])
    layout = lay_out(given, further)
    own = layout.new[0]
    wanted = layout.fixed.copy()
    wanted[own] |= row
    target = np.zeros(layout.menus.shape)
    if asked is not None:
        np.add.at(target, layout.new[1:], asked.coefficients[0])
        wanted |= target != 0
    cells = Cells(layout.menus, wanted, fit.items)
    programs = make_programs(fit, cells, layout.fixed, layout.normal)
    lower, upper = np.empty(len(places)), np.empty(len(places))
    extremes = []
    for k, x in enumerate(places):
        if k == 1 and len(places) == 2 and asked is None:  # what the first item leaves
            lower[1], upper[1] = 1.0 - upper[0], 1.0 - lower[0]
            break
        cost = np.zeros(cells.shape)
        cost[own, cells.column[own, x]] = 1.0
        if asked is None:
            low, high = programs.minimise(cost), programs.minimise(-cost)
        else:
            (low, first), (high, second) = programs.minimiser(cost), programs.minimiser(-cost)
            extremes += [first, second]
        lower[k], upper[k] = low.bound, -high.bound
    answers = rng.dirichlet(np.ones(len(places)), _DRAWS)
    outside = ((answers < lower - 1e-9) | (answers > upper + 1e-9)).any(axis=1)
    width, refutes = float(np.clip(upper - lower, 0.0, None).sum()), float(outside.mean())
    if asked is None or before is None or width <= _KNOWN:
        return width, refutes, 0.0
    cost = cells.to_table(target)
    known = layout.fixed.copy()
    known[own] |= row
    shrinks = []
    for _ in range(_ANSWERS):
        share = rng.dirichlet(np.ones(len(extremes)))
        types = np.vstack([types for types, _ in extremes])
        weights = np.concatenate([s * w for s, (_, w) in zip(share, extremes, strict=True)])
        weights /= weights.sum()
        after = make_programs(fit, cells, known, layout.normal, (types, weights))
        ends = after.minimise(cost).bound, -after.minimise(-cost).bound
        shrinks.append(before - max(ends[1] - ends[0], 0.0))
    return width, refutes, float(np.clip(np.mean(shrinks), 0.0, None))


def open_share(given: FixedCells, row: Mask) -> float:
    """The share of choices from a menu that rankings with the given values may still move between its items.

    A ranking that takes an item from a larger menu takes it from this one as well, so that each item keeps at least its largest
    share of the observed menus around this one.
    """
    around = (given.menus | ~row).all(axis=1)
    kept = np.where(given.seen[around][:, row], given.values[around][:, row], 0.0).max(axis=0, initial=0.0)
    return max(1.0 - float(kept.sum()), 0.0)


def _row(items: Sequence[Item], menu: Iterable[Item], outside: Item | None) -> Mask:
    row = find_items(items, menu, "candidates", least=2)
    if outside is not None and not row[items.index(outside)]:
        raise InputError(
            f"candidates: the menu {format_menu(menu)} does not have the outside option {outside!r}, which is on every menu"
        )
    return row


def default_candidates(menus: Mask, most: int, outside: int | None = None) -> tuple[Mask, int]:
    """The default list, and how many more there are.

    Candidates are tuples of item numbers, and pairs are not listed but counted: of 5,000 items there are 12 million.
    """
    n = menus.shape[1]
    observed = [np.flatnonzero(menu) for menu in menus]
    seen = {tuple(own.tolist()) for own in observed if len(own) <= _MOST_ITEMS}
    chosen: list[tuple[int, ...]] = []
    listed = 0
    for kind in (_less_one(observed), _met_and_joined(menus[:_COMBINED], observed[:_COMBINED])):
        new = {menu for menu in kind if 2 <= len(menu) <= _MOST_ITEMS and (outside is None or outside in menu)} - seen
        listed += len(new)
        if len(chosen) < most:
            chosen += nsmallest(most - len(chosen), new, key=lambda menu: (len(menu), menu[::-1]))
        seen |= new
    allowed = n * (n - 1) // 2 if outside is None else n - 1
    known = sum(len(menu) == 2 and (outside is None or outside in menu) for menu in seen)
    pairs = (pair for pair in _pairs(n, outside) if pair not in seen)
    chosen += islice(pairs, most - len(chosen))
    rows = np.zeros((len(chosen), n), np.bool_)
    for row, menu in zip(rows, chosen, strict=True):
        row[list(menu)] = True
    return rows, listed + allowed - known - len(chosen)


def _less_one(observed: Sequence[Ints]) -> Iterator[tuple[int, ...]]:
    """Menus less one of their items; those that are too large anyway are left out."""
    for own in observed:
        check_patience()
        if len(own) <= _MOST_ITEMS + 1:
            menu = tuple(own.tolist())
            yield from (menu[:x] + menu[x + 1 :] for x in range(len(menu)))


def _met_and_joined(menus: Mask, observed: Sequence[Ints]) -> Iterator[tuple[int, ...]]:
    """Intersections and unions of two; again without those that are too large."""
    table = menus.astype(np.float32)
    common = np.rint(table @ table.T).astype(np.int64)  # items of both
    for a, b in combinations(range(len(observed)), 2):
        check_patience()
        first, second, both = observed[a], observed[b], int(common[a, b])
        if 2 <= both <= _MOST_ITEMS:
            small, other = (first, b) if len(first) <= len(second) else (second, a)
            yield tuple(small[menus[other, small]].tolist())
        if len(first) + len(second) - both <= _MOST_ITEMS:
            yield tuple(np.union1d(first, second).tolist())


def _pairs(n: int, outside: int | None) -> Iterator[tuple[int, int]]:
    """All pairs that have the outside option, in the order of their bit masks."""
    for b in range(n):
        for a in range(b) if outside is None or b == outside else (outside,) if outside < b else ():
            yield a, b
