"""Families of utilities with a parameter: risk aversion, patience, whatever the user writes.

With one parameter t the types are found exactly, but for what happens twice between two neighbours of the grid: for every menu,
where the best item changes from a to c between two points, the point where a and c are equally good is solved for. If some b is
better there, both halves are treated in the same way. Between two neighbouring thresholds of all menus together one type remains.
With several parameters the grid is a list of draws (`rumflow.models.draws`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from rumflow.check import as_floats
from rumflow.core.arrays import Array, Ints, Paths
from rumflow.core.graph_cells import Cells
from rumflow.core.linear_types import unique_rows
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.attributes import split_key
from rumflow.models.draws import best_places
from rumflow.models.families import Family, default_grid
from rumflow.models.listed import Listed, keep_to, require_few
from rumflow.models.model import Wording
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit

# Thresholds nearer than this part of the grid's length are the same; people between them would have no weight.
_SAME = 1e-10

_REMEDY = "take a smaller grid, or leave out menus"


class UtilityFamily(Listed):
    """Mixtures of people whose utilities differ in a parameter.

    Parameters
    ----------
    function : callable
        Of a parameter (a number; with several parameters a row of the grid) gives the utilities: {item: utility}, or
        {(menu, item): utility} where they differ between menus; a menu is a tuple of its items. Continuous in the parameter.
    grid : array_like
        With one parameter an ascending list: the first and the last value that people can have, and enough between them that the
        best item of a menu changes at most once between two neighbours, or by a third item. Where it changes is solved for.
        With p parameters, draws as rows (draws, p): only these are types, an inner approximation of the family.

    Raises
    ------
    InputError
        If the grid is not ascending; later, when data are given, if an item has no utility, or two items are equally good for
        more than single values of the parameter.

    Examples
    --------
    >>> UtilityFamily(lambda t: {"near": -t, "far": -1.0}, [0.0, 0.5, 2.0])
    UtilityFamily(<lambda>, grid of 3 values from 0 to 2)
    """

    name = "a family of utilities"

    def __init__(
        self, function: Callable[[Any], Mapping[Any, float]] | Mapping[str, Any], grid: ArrayLike | None = None
    ) -> None:
        if isinstance(function, Mapping):  # as `describe` writes it
            function = Family(function["family"], function["of"])
        if not callable(function):
            raise InputError(f"function: a function of the parameter is needed, not {type(function).__name__}")
        self.function = function
        self.family: Family | None = function if isinstance(function, Family) else None
        if grid is None:
            if self.family is None:
                raise InputError("grid: the values of the parameter are needed, such as numpy.linspace(0, 1, 101)")
            grid = default_grid(self.family)
        self.grid: Array = np.array(as_floats(grid, "grid"))
        self.grid.flags.writeable = False
        if self.grid.ndim not in (1, 2) or 0 in self.grid.shape or not np.isfinite(self.grid).all():
            raise InputError(f"grid: numbers in order, or draws as rows, are needed, not shape {self.grid.shape}")
        if self.grid.ndim == 1 and (len(self.grid) < 2 or (np.diff(self.grid) <= 0).any()):
            raise InputError("grid: with one parameter two values or more in ascending order are needed")
        if self.family is not None:
            self.name = self.family.words
            self.family.check_grid(self.grid)

    @classmethod
    def crra(cls, lotteries: Mapping[Any, Any], grid: ArrayLike | None = None) -> UtilityFamily:
        """Make the model of expected utility with constant relative risk aversion r, x^(1 - r) / (1 - r).

        Parameters
        ----------
        lotteries : mapping
            {item: [(probability, amount), ...]}; amounts are positive.
        grid : array_like, optional
            Values of r; None: -5 to 20.

        Returns
        -------
        UtilityFamily

        Examples
        --------
        >>> UtilityFamily.crra({"safe": [(1, 5)], "risky": [(0.5, 1), (0.5, 10)]}, [-1, 0, 1, 2])
        UtilityFamily.crra(2 items, grid of 4 values from -1 to 2)
        """
        return cls(Family("crra", lotteries), grid)

    @classmethod
    def cara(cls, lotteries: Mapping[Any, Any], grid: ArrayLike | None = None) -> UtilityFamily:
        """Make the model of expected utility with constant absolute risk aversion a, (1 - exp(-a x)) / a.

        Parameters
        ----------
        lotteries : mapping
            {item: [(probability, amount), ...]}.
        grid : array_like, optional
            Values of a; None: -20 to 20, divided by the largest amount.

        Returns
        -------
        UtilityFamily

        Examples
        --------
        >>> UtilityFamily.cara({"safe": [(1, 5)], "risky": [(0.5, 0), (0.5, 12)]}, [-1, 0, 1])
        UtilityFamily.cara(2 items, grid of 3 values from -1 to 1)
        """
        return cls(Family("cara", lotteries), grid)

    @classmethod
    def exponential(cls, streams: Mapping[Any, Any], grid: ArrayLike | None = None) -> UtilityFamily:
        """Make the model of exponential discounting, the sum of d^t times what is paid at t.

        Parameters
        ----------
        streams : mapping
            {item: [(time, amount), ...]}.
        grid : array_like, optional
            Values of d, from above 0 to 1; None: 0.001 to 1.

        Returns
        -------
        UtilityFamily

        Examples
        --------
        >>> UtilityFamily.exponential({"now": [(0, 10)], "later": [(1, 15)]}, [0.1, 0.5, 0.9])
        UtilityFamily.exponential(2 items, grid of 3 values from 0.1 to 0.9)
        """
        return cls(Family("exponential", streams), grid)

    @classmethod
    def quasi_hyperbolic(cls, streams: Mapping[Any, Any], grid: ArrayLike | None = None) -> UtilityFamily:
        """Make the model of quasi-hyperbolic discounting: what is paid later than now counts b d^t times.

        Parameters
        ----------
        streams : mapping
            {item: [(time, amount), ...]}; now is time 0.
        grid : array_like, optional
            Rows (b, d); None: 100 times 100 values between 0 and 1. Only these are types: an inner approximation.

        Returns
        -------
        UtilityFamily

        Examples
        --------
        >>> UtilityFamily.quasi_hyperbolic({"now": [(0, 10)], "later": [(1, 15)]})
        UtilityFamily.quasi_hyperbolic(2 items, grid of 10,000 draws of 2 parameters)
        """
        return cls(Family("quasi_hyperbolic", streams), grid)

    def __repr__(self) -> str:
        whose = getattr(self.function, "__name__", "function")
        start = f"({whose}, " if self.family is None else f".{self.family.name}({len(self.family.items)} items, "
        if self.grid.ndim == 2:
            return f"UtilityFamily{start}grid of {len(self.grid):,} draws of {self.grid.shape[1]} parameters)"
        return f"UtilityFamily{start}grid of {len(self.grid):,} values from {self.grid[0]:g} to {self.grid[-1]:g})"

    @property
    def known_items(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The items that have utilities."""
        return tuple(dict.fromkeys(item for _, item in map(split_key, self.function(_parameter(self.grid[0])))))

    @property
    def of_rankings(self) -> bool:  # type: ignore[override]
        """Are utilities those of items?"""
        return all(menu is None for menu, _ in map(split_key, self.function(_parameter(self.grid[0]))))

    def choices(self, cells: Cells, limit: Limit = DEFAULT_LIMIT) -> Paths:
        """(types, m): what each parameter takes."""
        utilities = _Utilities(self.function, cells)
        require_few(len(self.grid), len(cells), limit, self.name, _REMEDY)
        values = []
        for i, parameter in enumerate(self.grid):
            if i % 100 == 0:
                keep_to(limit, self.name)
            values.append(utilities.at(parameter))
        if self.grid.ndim == 2:
            return unique_rows(best_places(np.array(values), cells))
        return self._between_thresholds(cells, utilities, np.array(values), limit)

    def _between_thresholds(self, cells: Cells, utilities: _Utilities, values: Array, limit: Limit) -> Paths:
        """One type for each interval between the thresholds of all menus."""
        length = float(self.grid[-1] - self.grid[0])
        changes: list[_Change] = []
        first = np.zeros(len(cells), np.int32)
        for j, size in enumerate(cells.offered.sizes.tolist()):
            if size < 2:
                continue
            keep_to(limit, self.name)
            span = np.arange(cells.offered.start[j], cells.offered.start[j + 1])
            search = _Search(utilities, span, _SAME * length)
            points, best = search.clear(self.grid, values[:, span])
            first[j] = best[0]
            for i in np.flatnonzero(best[1:] != best[:-1]).tolist():
                changes += [_Change(t, j, c) for t, c in search.changes(points[i], points[i + 1], best[i], best[i + 1])]
        changes.sort()
        rows, row = [first.copy()], first
        last = -np.inf
        for change in changes:
            if change.where - last > _SAME * length and np.isfinite(last):
                rows.append(row.copy())
            row[change.menu] = change.place
            last = change.where
        rows.append(row.copy())
        return unique_rows(np.array(rows, np.int32))

    def describe(self) -> dict[str, Any]:
        """Its family and grid; functions of the user cannot be written."""
        if self.family is None:
            raise InputError(f"{self!r}: fits with a function of your own cannot be saved; Types.from_utilities can")
        of = [[plain_label(item), [list(pair) for pair in pairs]] for item, pairs in self.family.rows.items()]
        return {
            "name": "UtilityFamily",
            "function": {"family": self.family.name, "of": of},
            "grid": self.grid.tolist(),
        }

    def words(self) -> Wording:
        """As of people with a parameter of a ready family."""
        if self.family is None:
            return super().words()
        return Wording(self.name[0].upper() + self.name[1:], f"people with {self.name}", f"with {self.name}")


class _Change(NamedTuple):
    """A threshold: from here on a menu's best item is another one."""

    where: float
    menu: int
    place: int


class _Utilities:
    """The utilities of what menus offer, by parameter."""

    def __init__(self, function: Callable[[Any], Mapping[Any, float]], cells: Cells) -> None:
        self._function, self._cells = function, cells
        labels = [cells.offered.labels_of(j, cells.items) for j in range(len(cells))]
        self._keys = [(frozenset(menu), item, len(menu) > 1) for menu in labels for item in menu]
        self._known: dict[float, Array] = {}

    def at(self, parameter: Any) -> Array:
        """(offered,): utilities for a parameter; 0 where there is nothing to choose."""
        if isinstance(parameter, float) and parameter in self._known:
            return self._known[parameter]
        given = self._function(_parameter(parameter))
        if not isinstance(given, Mapping):
            raise InputError(f"function: {{item: utility}} is needed for a parameter, not {type(given).__name__}")
        table = {split_key(key): value for key, value in given.items()}
        found = np.zeros(len(self._keys))
        for c, (menu, item, several) in enumerate(self._keys):
            if not several:
                continue
            value = table.get((menu, item), table.get((None, item)))
            if value is None:
                name = self._cells.name(int(self._cells.offered.menu[c]))
                raise InputError(
                    f"function: item {item!r} of menu {name} has no utility for parameter {_say(parameter)}"
                )
            found[c] = value
        if not np.isfinite(found).all():
            item = self._keys[int((~np.isfinite(found)).argmax())][1]
            raise InputError(f"function: the utility of item {item!r} is not finite for parameter {_say(parameter)}")
        if isinstance(parameter, float):
            self._known[parameter] = found
        return found

    def refuse_ties(self, one: int, two: int) -> None:
        """Say that two items of a menu are equally good."""
        names = sorted(repr(self._keys[c][1]) for c in (one, two))
        menu = self._cells.name(int(self._cells.offered.menu[one]))
        raise InputError(
            f"function: items {names[0]} and {names[1]} of menu {menu} are equally good for more than single values of the "
            "parameter, so nobody prefers one to the other; make one item of them, or take a smaller grid"
        )


class _Search(NamedTuple):
    """Thresholds of one menu."""

    utilities: _Utilities
    span: Ints  # its places in what is offered
    same: float  # parameters nearer than this are the same

    def clear(self, grid: Array, values: Array) -> tuple[list[float], Ints]:
        """Points of the grid with one best item, and which; ties at neighbours are refused."""
        order = np.argsort(-values, axis=1, kind="stable")[:, :2]
        top = np.take_along_axis(values, order, axis=1)
        tied = top[:, 0] - top[:, 1] <= 1e-13 * np.abs(values).max(axis=1)
        twice = np.flatnonzero(tied[1:] & tied[:-1])
        if len(twice):
            self.utilities.refuse_ties(*(self.span[order[twice[0]]]).tolist())
        return grid[~tied].tolist(), order[~tied, 0]

    def changes(self, low: float, high: float, one: int, two: int) -> Iterable[tuple[float, int]]:
        """Where the best changes from `one` at `low` to `two` at `high`, and to what."""

        def ahead(t: float) -> float:
            values = self.utilities.at(float(t))
            return float(values[self.span[one]] - values[self.span[two]])

        root = float(brentq(ahead, low, high, xtol=1e-14 * max(1.0, abs(low), abs(high)), rtol=1e-14))
        values = self.utilities.at(root)[self.span]
        third = int(values.argmax())
        better = values[third] - max(values[one], values[two]) > 1e-12 * np.abs(values).max()
        if third in (one, two) or not better or min(root - low, high - root) <= self.same:
            return [(root, two)]
        return [*self.changes(low, root, one, third), *self.changes(root, high, third, two)]


def _parameter(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def _say(parameter: Any) -> str:
    return ", ".join(f"{value:g}" for value in np.atleast_1d(parameter))
