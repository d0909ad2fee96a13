"""What every projection offers: certificate, fitted probabilities, misfits, scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_menu
from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.certificate import Certificate
from rumflow.core.problem import Stop
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.errors import InputError
from rumflow.models.describe import plain_label
from rumflow.output.archive import write_archive

#: What the files of saved fits say of themselves.
SAVED_KIND, SAVED_VERSION = "rumflow fit", 1


class Status(StrEnum):
    """How a projection ended.

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
        """Cause and remedy."""
        return {
            Status.OPTIMAL: "the certified gap is within the tolerance",
            Status.BOUNDED: "the graph of these menus is too large, and the bound that was found in its place leaves a gap above "
            "the tolerance: ask for a larger tol, allow more time with max_seconds, or leave out menus or items",
            Status.STALLED: "rounding stopped the progress before the tolerance was met: ask for a larger tol, "
            "or bring the weights closer together",
            Status.MAX_SECONDS: "the time limit max_seconds came first: allow more time, ask for a larger tol, "
            "or pass the rankings found so far as start",
            Status.INTERRUPTED: "it was interrupted: pass the rankings found so far as start to go on",
        }[self]


class Rankings(NamedTuple):
    """A mixture of rankings, heaviest first. One among many that give the same probabilities when n >= 4.

    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> rankings = rf.project(data).rankings
    >>> for order, share in rankings.labelled(2):
    ...     print(" > ".join(order), round(share, 3))
    a > c > b 0.386
    b > a > c 0.357
    """

    orders: NDArray[np.int64]  # (k, n) item numbers, best first
    weights: Array  # (k,)
    items: tuple[Item, ...]

    def labelled(self, count: int | None = None) -> list[tuple[tuple[Item, ...], float]]:
        """The `count` heaviest rankings with labels, best item first, and their weights."""
        return [
            (tuple(self.items[x] for x in order), float(weight))
            for order, weight in zip(self.orders[:count], self.weights[:count], strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Projection(ABC):
    """The nearest model, with its certificate.

    On menus that were not observed the fit is what the returned mixture gives; other values fit the data as well.

    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> fit = rf.project(data)
    >>> fit.fitted.round(3)
    array([[0.386, 0.614,   nan],
           [0.386, 0.357, 0.257]])
    >>> round(fit.distance, 3), fit.gap <= 1e-9 * fit.objective
    (0.185, True)
    """

    certificate: Certificate  #: computed from what is returned and the data, not by the solver
    status: Status
    method: str  #: "rankings", "ipm", "moebius" (the data are RUM), "graph", or "bounded"
    iterations: int  #: passes over the lattice or the graph, or steps (ipm)
    seconds: float
    tol: float
    items: tuple[Item, ...]  #: the labels of the items
    inside: bool  #: the data satisfy the model themselves, up to rounding and menu sums other than 1

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def objective(self) -> float:
        """1/2 sum w (rho - rho_hat)^2."""
        return self.certificate.objective

    @property
    def distance(self) -> float:
        """sqrt(2 objective): the weighted L2 distance of the data to the model."""
        return float(np.sqrt(2 * self.objective))

    @property
    def gap(self) -> float:
        """Certified: objective - optimum <= gap."""
        return self.certificate.gap

    @property
    @abstractmethod
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""

    @property
    @abstractmethod
    def frequencies(self) -> Array:
        """(m, n): the data on the observed menus, NaN on what was not recorded."""

    @property
    @abstractmethod
    def fitted(self) -> Array:
        """(m, n): fitted probabilities of the observed menus, NaN outside them."""

    @property
    @abstractmethod
    def rankings(self) -> Rankings:
        """A mixture of rankings with these probabilities: one among many when n >= 4, with few rankings."""

    @property
    @abstractmethod
    def rho(self) -> Array:
        """(2^n, n) fitted probabilities, 0 outside the menu."""

    @property
    @abstractmethod
    def flow(self) -> Array:
        """(2^n, n) Block-Marschak polynomials of the fit, every entry >= 0."""

    @property
    @abstractmethod
    def types(self) -> Ints:
        """(k, m): the item each type of the fit takes from each observed menu; -1 for one that was not recorded."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Was every cell of every menu observed?"""

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Do some observed cells count more than others?"""

    @abstractmethod
    def violations(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float]]:
        """The Block-Marschak inequalities that the data violate, worst first: menu, item, value (complete data only)."""

    @abstractmethod
    def jvp(self, t: ArrayLike) -> Array:
        """Change of the fit when the data move by t: the Jacobian of the projection times t."""

    @abstractmethod
    def vjp(self, g: ArrayLike) -> Array:
        """Gradient by the data, given the gradient g by the fit: the transposed Jacobian times g."""

    @abstractmethod
    def to_frame(self, data: ChoiceData | None = None, menus: str = "all", backend: str = "pandas") -> Any:
        """A data frame of menus, items, observed and fitted probabilities (backend "pandas", "polars", "pyarrow" or "dict")."""

    @abstractmethod
    def probabilities(self, menu: Iterable[Item]) -> dict[Item, float]:
        """The fitted choice probabilities of one menu, observed or not, by label."""

    @property
    def menus(self) -> list[tuple[Item, ...]]:
        """The observed menus, as tuples of labels."""
        return [tuple(self.items[x] for x in np.flatnonzero(row)) for row in self.membership]

    def members(self, menu: Iterable[Item]) -> Ints:
        """The item numbers of a menu given by labels."""
        return check_menu(menu, self.items)

    def misfits(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float, float]]:
        """The observed cells furthest from the fit, worst first: menu, item, observed, fitted."""
        observed, fitted = self.frequencies, self.fitted
        difference = np.abs(np.nan_to_num(observed - fitted))
        order = np.argsort(-difference, axis=None, kind="stable")[:count]
        found = []
        for i, x in zip(*np.unravel_index(order, difference.shape), strict=True):
            if difference[i, x] == 0:
                break
            menu = tuple(self.items[y] for y in np.flatnonzero(self.membership[i]))
            found.append((menu, self.items[x], float(observed[i, x]), float(fitted[i, x])))
        return found

    @cached_property
    def decided(self) -> Ints:
        """(k,): how many items at the top of each ranking matter for an observed menu; the others could be swapped."""
        orders = self.rankings.orders
        rank = np.argsort(orders, axis=1)
        last = np.zeros(len(orders), np.int64)
        for row in self.membership[self.membership.sum(axis=1) > 1]:
            last = np.maximum(last, rank[:, row].min(axis=1))
        return np.where(last + 2 >= self.n, self.n, last + 1)

    def score(self, data: ChoiceData) -> Score:
        """How well the fit predicts other choices, also from menus that were not observed."""
        return score_choices(self.items, self.probabilities, data)

    @abstractmethod
    def _pack(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What of data, model and mixture goes into a file: words, and arrays."""

    def save(self, path: str | Path) -> None:
        """Write the fit with its data, model and certificate to one file, which `rumflow.load` reads."""
        words, arrays = self._pack()
        header = {
            "kind": SAVED_KIND,
            "version": SAVED_VERSION,
            "items": [plain_label(item) for item in self.items],
            "certificate": [float(value) for value in self.certificate],
            "status": str(self.status),
            "method": self.method,
            "iterations": int(self.iterations),
            "seconds": self.seconds,
            "tol": self.tol,
            "inside": bool(self.inside),
        }
        write_archive(path, header | words, arrays)

    def plot(self, ax: Any = None) -> Any:
        """Observed against fitted probabilities; see `rumflow.output.plots` for more pictures."""
        from rumflow.output.plots import plot_fit

        return plot_fit(self, ax)

    def __repr__(self) -> str:
        return (
            f"Projection(n={self.n}, distance={self.distance:.6g}, objective={self.objective:.6g}, "
            f"gap={self.gap:.2g}, status={self.status.value!r}, method={self.method!r}, seconds={self.seconds:.2g})"
        )


class Score(NamedTuple):
    """How well a fit predicts choices."""

    loglik: float  #: sum of count * log p; minus infinity where something chosen has probability 0
    squared_error: float  #: sum over the cells of (share - p)^2, on average over the choices
    n_observations: float
    n_impossible: float  #: choices that have probability 0 in the fit


def score_choices(
    items: Sequence[Item], predict: Callable[[tuple[Item, ...]], dict[Item, float]], data: ChoiceData
) -> Score:
    """The score of `predict(menu)`, which gives the probabilities of a menu over `items`, on other choices."""
    for x, label in enumerate(data.items):
        if label not in items and data.membership[:, x].any():
            raise InputError(f"item {label!r} is not among the items of the fit: {format_menu(items)}")
    loglik = square = impossible = 0.0
    for menu, counts, total in zip(data.menus, data.counts, data.totals, strict=True):
        fitted = predict(menu)
        for x, label in enumerate(data.items):
            if not np.isnan(counts[x]):
                p = fitted[label]
                square += total * (counts[x] / total - p) ** 2
                if counts[x] > 0 and p > 0:
                    loglik += counts[x] * float(np.log(p))
                elif counts[x] > 0:
                    impossible += counts[x]
    loglik = -np.inf if impossible else loglik
    return Score(loglik, square / data.n_observations, data.n_observations, impossible)


def rankings_of(start: Rankings | Projection, n: int) -> tuple[Ints, Array]:
    """The rankings of an earlier fit and their shares, checked."""
    given = start.rankings if isinstance(start, Projection) else start
    if not hasattr(given, "orders") or not hasattr(given, "weights"):
        raise InputError(f"start: an earlier fit or its rankings are needed, not {type(start).__name__}")
    orders, weights = np.asarray(given.orders), np.asarray(given.weights, np.float64)
    if orders.ndim != 2 or orders.shape[1] != n or len(orders) != len(weights) or len(weights) == 0:
        raise InputError(
            f"start: orders of shape (k, {n}) and k weights are needed, k >= 1; got {orders.shape}, {weights.shape}"
        )
    if not (np.sort(orders, axis=1) == np.arange(n)).all():
        raise InputError(f"start: every ranking must hold each of the items 0 to {n - 1} once")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError("start: the weights must be 0 or more, and not all 0")
    keep = weights > 0
    return orders[keep].astype(np.int64), weights[keep] / weights.sum()


def status_of(certificate: Certificate, tol: float, reason: str) -> Status:
    """Converged means certified, whatever the solver thought."""
    if certificate.is_optimal(Stop(tol)):
        return Status.OPTIMAL
    ends = {"max_seconds": Status.MAX_SECONDS, "interrupted": Status.INTERRUPTED, "bounded": Status.BOUNDED}
    return ends.get(reason, Status.STALLED)
