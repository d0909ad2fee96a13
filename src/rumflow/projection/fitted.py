"""What fits offer however they were found: rankings, arrays over all menus, probabilities of any menu, scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.check import check_menu
from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.lattice import Lattice
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus
from rumflow.core.patience import check_patience
from rumflow.core.transforms import zeta
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu, tie_number
from rumflow.data.menus import make_table
from rumflow.errors import InputError
from rumflow.models.rankings import choice_probabilities
from rumflow.output.names import how_many
from rumflow.output.result import Result
from rumflow.renamed import Renamed

_AT_ONCE = 10_000_000  # items of rankings that are completed between two looks at the clock


class _Rankings(NamedTuple):
    orders: NDArray[np.int64]
    weights: Array
    items: tuple[Item, ...]


class Rankings(Result, _Rankings):
    """A mixture of rankings, heaviest first. One among many that give the same probabilities when n >= 4.

    Attributes
    ----------
    orders : ndarray of shape (k, n)
        Item numbers, best first.
    weights : ndarray of shape (k,)
        Shares of the rankings.
    items : tuple
        Labels of the items.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> rankings = rf.project(data).rankings
    >>> for order, share in rankings.labelled(2):
    ...     print(" > ".join(order), round(share, 3))
    a > c > b 0.386
    b > a > c 0.357
    """

    __slots__ = ()
    _named = ("items",)
    _listed = "rankings"

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns weight and ranking, the items best first."""
        orders = self.labelled()
        return {"weight": [weight for _, weight in orders], "ranking": [order for order, _ in orders]}

    def _title(self) -> str:
        return f"A mixture of {how_many(len(self.weights), 'ranking')}"

    def labelled(self, count: int | None = None) -> list[tuple[tuple[Item, ...], float]]:
        """Return the heaviest rankings with labels, and their weights.

        Parameters
        ----------
        count : int, optional
            How many; None: all.

        Returns
        -------
        list of (tuple, float)
            The items, best first, and the weight.
        """
        return [
            (tuple(self.items[x] for x in order), float(weight))
            for order, weight in zip(self.orders[:count], self.weights[:count], strict=True)
        ]


class _Score(NamedTuple):
    loglik: float
    squared_error: float
    n_observations: float
    n_impossible: float


class Score(Result, _Score):
    """How well a fit predicts choices.

    Attributes
    ----------
    loglik : float
        Sum of count * log p; minus infinity where something chosen has probability 0.
    squared_error : float
        Sum over the cells of (share - p)^2, on average over the choices.
    n_observations : float
        Number of choices.
    n_impossible : float
        Choices that have probability 0 in the fit.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    >>> score = rf.project(data).score(data)
    >>> round(float(score.loglik), 3), score.n_observations
    (-22.493, 40.0)
    """

    __slots__ = ()

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row: loglik, squared_error, n_observations, n_impossible."""
        return {name: [value] for name, value in self._asdict().items()}

    def _title(self) -> str:
        return "How well the fit predicts these choices"


class Fitted(Result, ABC):
    """A fit of a model to choices from menus, by distance or by likelihood.

    On menus that were not observed its probabilities are what the returned mixture gives; other values fit the data as well.
    """

    projector: ClassVar[Renamed] = Renamed("fit.geometry", lambda fit: fit.geometry)
    lattice: ClassVar[Renamed] = Renamed("rf.Lattice(fit.n)", lambda fit: Lattice(fit.n))

    @property
    @abstractmethod
    def items(self) -> tuple[Item, ...]:
        """The labels of the items."""

    @property
    @abstractmethod
    def geometry(self) -> Any:
        """The model on the observed menus."""

    @property
    @abstractmethod
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""

    @property
    @abstractmethod
    def _offered(self) -> Menus:
        """The observed menus, as lists of items."""

    @property
    @abstractmethod
    def fitted_cells(self) -> Array:
        """`fitted` without what is outside the menus: one number per cell, menu after menu, in each the items in their order."""

    @cached_property
    def fitted(self) -> Array:
        """(m, n): fitted probabilities of the observed menus, NaN outside them; on a graph only of recorded cells."""
        return make_table(self._offered, self.fitted_cells, np.nan)

    @property
    @abstractmethod
    def mixture(self) -> Mixture:
        """Types in the form of the geometry, and their weights. One mixture among many with these probabilities."""

    @property
    @abstractmethod
    def _flow(self) -> Array:
        """The fit as a flow on the lattice, (n, 2^(n-1)); an InputError where there is none."""

    def _rho(self) -> Array:
        """Probabilities of all menus in the layout of the lattice; an InputError where there is no flow."""
        return zeta(self._flow.copy())

    @cached_property
    def rankings(self) -> Rankings:
        """A mixture of rankings with these probabilities, heaviest first. One among many when n >= 4.

        The order of items between which no observed menu decides is not identified; `rumflow.models.rankings` says how it is
        chosen.
        """
        types, weights = self.mixture
        heaviest = np.argsort(-weights, kind="stable")
        # Of thousands of types and 100,000 items: memory is asked for first, and the clock looked at.
        k, n = len(types), len(self.items)
        require_memory(8.0 * k * n, f"the table of {k:,} rankings of {n:,} items")
        step = max(1, _AT_ONCE // n)
        if k <= step:
            return Rankings(self.geometry.orders(types[heaviest]), weights[heaviest], self.items)
        orders = np.empty((k, n), np.int64)
        for begin in range(0, k, step):
            check_patience()
            orders[begin : begin + step] = self.geometry.orders(types[heaviest[begin : begin + step]])
        return Rankings(orders, weights[heaviest], self.items)

    @cached_property
    def rho(self) -> Array:
        """(2^n, n): fitted probabilities, 0 outside the menu.

        A projection of data that are RUM already has the data themselves. On a graph only for random utility with at most 22
        items.
        """
        rows = self._rho()
        return Lattice(len(rows)).from_internal(rows)

    @cached_property
    def flow(self) -> Array:
        """(2^n, n): Block-Marschak polynomials of the fit, every entry >= 0; available where `rho` is."""
        rows = self._flow
        return Lattice(len(rows)).from_internal(rows)

    def members(self, menu: Iterable[Item]) -> Ints:
        """Return the item numbers of a menu given by labels.

        Parameters
        ----------
        menu : iterable
            Labels of its items. Where ties are an outcome a pair may be given without it.

        Returns
        -------
        ndarray of int

        Raises
        ------
        InputError
            If an item is unknown or appears twice.
        """
        members = check_menu(menu, self.items)
        tie = tie_number(self.items)
        return np.append(members, tie) if tie >= 0 and len(members) == 2 and tie not in members else members

    def menu_mask(self, menu: Iterable[Item]) -> int:
        """Return the bit mask of a menu given by labels.

        Parameters
        ----------
        menu : iterable
            Labels of its items.

        Returns
        -------
        int

        Raises
        ------
        InputError
            If an item is unknown or appears twice.
        """
        return sum(1 << int(x) for x in self.members(menu))

    def probabilities(self, menu: Iterable[Item]) -> dict[Item, float]:
        """Return the fitted choice probabilities of one menu, observed or not, by label.

        Parameters
        ----------
        menu : iterable
            Labels of its items.

        Returns
        -------
        dict
            {item: probability}.

        Raises
        ------
        InputError
            If an item is unknown or appears twice.
        """
        members = np.sort(self.members(menu))
        known = self._of_menu(members)
        return {self.items[x]: float(known[x]) for x in members}

    def _of_menu(self, members: Ints) -> Array:
        """(n,): those of a menu that the layout has, or that was observed; else what the rankings give."""
        if self.geometry.has_all_menus:
            return np.asarray(self.rho[(np.int64(1) << members).sum()])
        found, i = np.zeros(len(self.items)), self._number_of_menu.get(members.astype(np.int32).tobytes())
        if i is not None:
            start = self._offered.start
            found[members] = self.fitted_cells[start[i] : start[i + 1]]
        elif len(members) == 1:
            found[members] = 1.0
        elif not self.geometry.model.has_types:
            raise InputError(
                f"menu {format_menu(self.items[x] for x in members)} was not observed, and {self.geometry.model.name} have no "
                "types that would say more than a range: ask for it by rf.bounds(fit, menu), which is for pairs"
            )
        if found[members].any() and not np.isnan(found[members]).any():
            return found
        row = np.zeros((1, len(self.items)), np.bool_)
        row[0, members] = True
        return np.asarray(choice_probabilities(self.rankings.orders, self.rankings.weights, row)[0])

    @cached_property
    def _number_of_menu(self) -> dict[bytes, int]:
        """The observed menus by their items."""
        return {self._offered.items_of(i).tobytes(): i for i in range(len(self._offered))}

    def score(self, data: ChoiceData) -> Score:
        """Score how well the fit predicts other choices, also from menus that were not observed.

        Parameters
        ----------
        data : ChoiceData
            The other choices.

        Returns
        -------
        Score
            Log-likelihood, squared error, number of choices, and number of choices that have probability 0 in the fit.
        """
        known, start = set(self.items), data.offered.start.tolist()
        for x in np.unique(data.offered.item).tolist():
            if data.items[x] not in known:
                raise InputError(f"item {data.items[x]!r} is not among the items of the fit: {format_menu(self.items)}")
        loglik = square = impossible = 0.0
        for j, (menu, total) in enumerate(zip(data.menus, data.totals.tolist(), strict=True)):
            fitted = self.probabilities(menu)
            for label, count in zip(menu, data.count[start[j] : start[j + 1]].tolist(), strict=True):
                if not np.isnan(count):
                    p = fitted[label]
                    square += total * (count / total - p) ** 2
                    if count > 0 and p > 0:
                        loglik += count * float(np.log(p))
                    elif count > 0:
                        impossible += count
        return Score(-np.inf if impossible else loglik, square / data.n_observations, data.n_observations, impossible)
