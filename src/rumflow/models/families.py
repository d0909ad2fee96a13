"""Families of utilities that are used again and again: risk aversion over lotteries, patience over streams of payments.

Utilities of lotteries are given as certainty equivalents: the same choices, in the unit of the amounts, and no overflow where
people are very risk averse. With amounts x and probabilities p,

    constant relative risk aversion r    (sum p x^(1 - r))^(1 / (1 - r)),   exp(sum p log x) at r = 1,
    constant absolute risk aversion a    -log(sum p exp(-a x)) / a,         sum p x at a = 0,
    exponential discounting d            sum of d^t x_t,
    quasi-hyperbolic discounting b, d    x_0 + b times the sum of d^t x_t over t > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rumflow.check import check_number
from rumflow.core.arrays import Array
from rumflow.errors import InputError

Pairs = tuple[tuple[float, float], ...]


class Kind(NamedTuple):
    """What a family is made of."""

    words: str
    form: str  # of an item
    value: Callable[[Any, Array, Array], float]  # of a parameter and the two columns of the pairs
    grid: Callable[[float], Array]  # the default, from the largest amount
    range: tuple[float, float]  # of every parameter
    parameters: int = 1


class Family:
    """A function of a parameter that gives the utilities of lotteries or streams."""

    def __init__(self, name: str, of: Mapping[Any, Any] | Iterable[Any]) -> None:
        self.name: str = name
        self.kind: Kind = _KINDS[name]
        self.rows: dict[Hashable, Pairs] = {item: self._pairs(item, given) for item, given in dict(of).items()}
        self.items: tuple[Hashable, ...] = tuple(self.rows)
        if not self.items:
            raise InputError(f"{name}: {{item: {self.kind.form}}} is needed, and there is no item")
        self._columns = {item: np.array(rows).T for item, rows in self.rows.items()}

    @property
    def words(self) -> str:
        """The name of the model."""
        return self.kind.words

    @property
    def largest(self) -> float:
        """The largest amount, without its sign."""
        return max(abs(pair[1]) for rows in self.rows.values() for pair in rows) or 1.0

    def __call__(self, parameter: Any) -> dict[Hashable, float]:
        """Return the utilities for a parameter."""
        return {item: float(self.kind.value(parameter, *columns)) for item, columns in self._columns.items()}

    def check_grid(self, grid: Array) -> None:
        """Raise where the parameters are not those of the family."""
        low, high = self.kind.range
        width = 1 if grid.ndim == 1 else grid.shape[1]
        if width != self.kind.parameters or (grid.ndim == 2) != (self.kind.parameters > 1):
            form = "one parameter" if self.kind.parameters == 1 else f"rows of {self.kind.parameters} parameters"
            raise InputError(f"grid: {self.kind.words} has {form}, not shape {grid.shape}")
        if (grid <= low).any() or (grid > high).any():
            raise InputError(f"grid: parameters of {self.kind.words} are above {low:g} and at most {high:g}")

    def _pairs(self, item: Hashable, given: Any) -> Pairs:
        name = f"{self.name}: item {item!r}"
        rows = list(given.items()) if isinstance(given, Mapping) else given
        if isinstance(rows, str) or not isinstance(rows, Iterable):
            raise InputError(f"{name}: {self.kind.form} is needed, not {given!r}")
        found: list[tuple[float, float]] = []
        for row in rows:
            if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 2:
                raise InputError(f"{name}: {self.kind.form} is needed, and {row!r} is not a pair")
            first = check_number(row[0], name, 0, np.inf, "[)")
            found.append((first, check_number(row[1], name, -np.inf, np.inf)))
        if not found:
            raise InputError(f"{name}: {self.kind.form} is needed, and there is nothing")
        if self.name in ("crra", "cara") and abs(sum(p for p, _ in found) - 1) > 1e-9:
            raise InputError(f"{name}: the probabilities add up to {sum(p for p, _ in found):g}, not to 1")
        if self.name == "crra" and min(x for _, x in found) <= 0:
            raise InputError(f"{name}: amounts must be positive, not {min(x for _, x in found):g}; cara takes any")
        return tuple(found)


def default_grid(family: Family) -> Array:
    """The parameters where the user gives none."""
    return family.kind.grid(family.largest)


def _mean_exp(p: Array, values: Array) -> float:
    """log(sum p exp(values)), without overflow."""
    most = float(values[p > 0].max())
    return most + float(np.log(p @ np.exp(np.minimum(values - most, 0.0))))


def _crra(r: float, p: Array, x: Array) -> float:
    curve = 1.0 - r
    if abs(curve) < 1e-8:
        return float(np.exp(p @ np.log(x)))
    return float(np.exp(_mean_exp(p, curve * np.log(x)) / curve))


def _cara(a: float, p: Array, x: Array) -> float:
    if abs(a) * np.abs(x).max() < 1e-8:
        return float(p @ x)
    return -_mean_exp(p, -a * x) / a


def _exponential(d: float, t: Array, x: Array) -> float:
    return float(x @ d**t)


def _quasi_hyperbolic(parameters: Array, t: Array, x: Array) -> float:
    b, d = parameters
    return float(x @ np.where(t > 0, b * d**t, 1.0))


def _plane(largest: float) -> Array:
    values = (np.arange(100) + 0.5) / 100
    return np.stack(np.meshgrid(values, values, indexing="ij"), axis=-1).reshape(-1, 2)


_KINDS = {
    "crra": Kind(
        "expected utility with constant relative risk aversion",
        "[(probability, amount), ...]",
        _crra,
        lambda largest: np.linspace(-5, 20, 501),
        (-np.inf, np.inf),
    ),
    "cara": Kind(
        "expected utility with constant absolute risk aversion",
        "[(probability, amount), ...]",
        _cara,
        lambda largest: np.linspace(-20, 20, 401) / largest,
        (-np.inf, np.inf),
    ),
    "exponential": Kind(
        "exponential discounting",
        "[(time, amount), ...]",
        _exponential,
        lambda largest: np.linspace(0.001, 1.0, 501),
        (0.0, 1.0),
    ),
    "quasi_hyperbolic": Kind(
        "quasi-hyperbolic discounting", "[(time, amount), ...]", _quasi_hyperbolic, _plane, (0.0, 1.0), 2
    ),
}
