"""Demand from budgets: prices, what households bought, and how often they took each patch of their budget.

Budget j is {x >= 0: p_j x = 1}. Other budgets cut it into patches (`rumflow.core.arrangement`), and what matters about a
household is in which patch of its budget it is. Rules:

* Budgets whose prices are equal are merged, and their households pooled. Budgets that nobody faced are left out.
* A household exactly on the crossing of its budget with others belongs to the patch beside it that lies above most of them:
  on the crossing nothing is strictly revealed. Quantities may be 0, not negative.
* Shares that add up to 1 within 0.005 (rounding) are divided by their sum; others are an error.
* Demand is smoothed over log expenditure where expenditure is known (`rumflow.data.demand`). Expenditure is taken as
  exogenous: the control function of Kitamura and Stoye (2018), with income as an instrument for it, is not provided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_whole
from rumflow.core.arrangement import Patches, find_patches, merge_equal
from rumflow.core.arrays import Array, Ints
from rumflow.core.menus import Menus
from rumflow.data.budget_inputs import (
    Where,
    budget_numbers,
    by_number,
    check_goods,
    check_patches,
    check_positive,
    check_prices,
    check_shares,
    check_table,
    medians,
    note_on_medians,
)
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.data.demand import DemandEstimator, locate
from rumflow.data.labels import Item
from rumflow.data.readers.demand import read_demand
from rumflow.data.readers.sources import FrameSource, open_source
from rumflow.errors import InputError
from rumflow.output.frames import make_frame


class Households(NamedTuple):
    """One entry per household."""

    budget: Ints  # number of its budget
    patch: Ints  # number of its patch
    shares: Array  # (m, K)
    log_expenditure: Array | None
    cluster: NDArray[Any] | None


_NOWHERE: Ints = np.empty(0, np.int64)  # patches of households whose budgets are not cut yet


@dataclass(frozen=True, eq=False)
class BudgetData:
    """Probabilities of the patches of budgets, with the households they come from where these are known.

    Usually made by `from_shares`, `from_quantities`, `from_patches`, `from_frame` or `from_csv`.

    Attributes
    ----------
    labels : tuple
        Names of the J budgets.
    patches : ndarray of shape (I, J)
        -1: the patch lies below that budget, 0: on it, 1: above it. Ordered by budget.
    probabilities : ndarray of shape (I,)
        Share of the households of the budget in each patch.
    sizes : ndarray of shape (J,)
        Number of households.
    prices : ndarray of shape (J, K) or None
        Prices divided by expenditure, where they are known.
    goods : tuple of str
        Names of the goods.
    degree : int
        Degree of the polynomial in log expenditure; 0: plain frequencies.
    households : Households or None
        Budget, patch, shares and expenditure of every household.
    pieces : Patches or None
        The patches with their corners, where prices are known.
    understood : str
        How the tables were read, in words.
    notes : tuple of str
        What may be wrong with how they were read.

    Examples
    --------
    Two budgets that cross, and four households:

    >>> import rumflow as rf
    >>> prices = [[1, 2], [2, 1]]
    >>> data = rf.BudgetData.from_quantities(prices, [0, 0, 1, 1], [[1, 0], [0, 1], [1, 0], [0, 1]], degree=0)
    >>> data.probabilities.tolist(), data.sizes.tolist()
    ([0.5, 0.5, 0.5, 0.5], [2.0, 2.0])
    """

    labels: tuple[Item, ...]
    patches: Ints
    probabilities: Array
    sizes: Array
    prices: Array | None = None
    goods: tuple[str, ...] = ()
    degree: int = 0
    households: Households | None = field(default=None, repr=False)
    pieces: Patches | None = field(default=None, repr=False)
    understood: str = field(default="", repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def from_shares(
        cls,
        prices: ArrayLike,
        budget: ArrayLike,
        shares: ArrayLike,
        expenditure: ArrayLike | None = None,
        degree: int = 3,
        *,
        labels: Sequence[Item] | None = None,
        goods: Sequence[str] | None = None,
        cluster: ArrayLike | None = None,
        at_median: bool = False,
        where: Where = by_number,
    ) -> BudgetData:
        """Make budget data from expenditure shares.

        Parameters
        ----------
        prices : array_like of shape (J, K)
            Budget j is {x >= 0: prices[j] @ x = 1}, so divide prices by the expenditure of the budget; or at_median=True:
            prices as paid, to be divided by the median of `expenditure` in each budget.
        budget : array_like of shape (m,)
            The budget of each household, 0 to J-1, or one of `labels` (such as years).
        shares : array_like of shape (m, K)
            Share of each good in the household's expenditure.
        expenditure : array_like of shape (m,), optional
            Smooth at its median per budget, by a polynomial of `degree` in its log; None: plain frequencies.
        degree : int, default 3
            Degree of that polynomial; 0: plain frequencies.
        labels : sequence, optional
            Names of the budgets.
        goods : sequence of str, optional
            Names of the goods.
        cluster : array_like of shape (m,), optional
            Households with the same value are resampled together.
        at_median : bool, default False
            See `prices`.
        where : callable, optional
            Names the household of a row in errors.

        Returns
        -------
        BudgetData

        Raises
        ------
        InputError
            If prices, budgets or shares are not accepted; the message names the household or the budget.
        """
        table = check_prices(prices)
        named = check_goods(goods, table.shape[1])
        spent = check_positive(expenditure, "expenditure", where)
        number, names = budget_numbers(budget, labels, len(table), where)
        values = check_shares(shares, named, len(number), where)
        if spent is not None and len(spent) != len(number):
            raise InputError(f"expenditure: {len(number)} numbers are needed, one per household, not {len(spent)}")
        if at_median:
            if spent is None:
                raise InputError(
                    "at_median (--at-median): prices are divided by median expenditure, so expenditure is needed"
                )
            table = table / medians(spent, number, len(table), names)[:, None]
        notes = () if spent is None or at_median else note_on_medians(spent, number)
        log = None if spent is None else np.log(spent)
        groups = None if cluster is None else np.asarray(cluster)
        if groups is not None and groups.shape != (len(number),):
            raise InputError(
                f"cluster: one id for each of the {len(number)} households is needed; got shape {groups.shape}"
            )
        who = Households(number, _NOWHERE, values, log, groups)
        return _build(cls, names, table, named, who, degree, notes)

    @classmethod
    def from_quantities(
        cls, prices: ArrayLike, budget: ArrayLike, quantities: ArrayLike, degree: int = 3, **options: Any
    ) -> BudgetData:
        """Make budget data from quantities, bought at the prices of the household's budget.

        Each bundle is divided by its expenditure, and demand is smoothed at median expenditure.

        Parameters
        ----------
        prices, budget : array_like
            As for `from_shares`.
        quantities : array_like of shape (m, K)
            The quantity of each good.
        degree : int, default 3
            Degree of the polynomial in log expenditure; 0: plain frequencies.
        **options
            As for `from_shares`.

        Returns
        -------
        BudgetData
        """
        table = check_prices(prices)
        where, goods = options.get("where", by_number), check_goods(options.get("goods"), table.shape[1])
        number, _ = budget_numbers(budget, options.get("labels"), len(table), where)
        amounts = check_table(quantities, "quantities", table.shape[1], len(number))
        if (amounts < 0).any():
            h, k = np.argwhere(amounts < 0)[0]
            raise InputError(f"{where(h)}: the quantity of {goods[k]} is {amounts[h, k]:g}; it must be 0 or more")
        paid = amounts * table[number]
        spent = paid.sum(axis=1)
        if (spent <= 0).any():
            raise InputError(f"{where(int(np.argmin(spent)))}: nothing was bought; leave such households out")
        return cls.from_shares(table, budget, paid / spent[:, None], spent, degree, **options)

    @classmethod
    def from_patches(
        cls,
        patches: ArrayLike,
        probabilities: ArrayLike,
        sizes: float | ArrayLike,
        *,
        labels: Sequence[Item] | None = None,
        prices: ArrayLike | None = None,
        degree: int = 0,
    ) -> BudgetData:
        """Make budget data from patches that were computed elsewhere.

        Parameters
        ----------
        patches : array_like of shape (I, J)
            -1 below that budget, 0 on it, 1 above it. Patches of a budget may be in any rows; they are sorted by budget.
        probabilities : array_like of shape (I,)
            Share of the households of the budget in each patch.
        sizes : float or array_like of shape (J,)
            Number of households of each budget.
        labels : sequence, optional
            Names of the budgets.
        prices : array_like of shape (J, K), optional
            Prices, where they are known.
        degree : int, default 0
            Degree of the polynomial by which the probabilities were smoothed; 0: they are plain frequencies.

        Returns
        -------
        BudgetData
        """
        names, signs, values, counts = check_patches(patches, probabilities, sizes, labels, degree > 0)
        order = np.argsort((signs == 0).argmax(axis=1), kind="stable")
        table = None
        if prices is not None:
            table = check_prices(prices)
            if len(table) != signs.shape[1]:
                raise InputError(f"prices: {signs.shape[1]} rows are needed, one per budget, not {len(table)}")
        return cls(
            names,
            signs[order],
            values[order],
            counts,
            table,
            check_goods(None, 0 if table is None else table.shape[1]),
            degree,
        )

    @classmethod
    def from_frame(cls, frame: Any, prices: Any, **options: Any) -> BudgetData:
        """Make budget data from a frame of households, and prices in another frame or in a file.

        Parameters
        ----------
        frame : data frame or dict
            A pandas, polars or Arrow frame of households, or a dict of columns.
        prices : data frame, dict or path
            One row per budget.
        budget : str, optional
            Column of the budget, such as the year, in both tables; None finds it by name.
        shares, quantities : list of str, optional
            The columns of one or the other; None finds them by name (share..., quantity...).
        expenditure : str or False, optional
            Column of total expenditure; None finds it by name; False: plain frequencies.
        cluster : str, optional
            Column of clusters.
        price : list of str, optional
            Columns of the prices, in the order of the goods.
        degree, at_median : optional
            As for `from_shares`.

        Returns
        -------
        BudgetData
        """
        return cls._from_source(FrameSource(frame), prices, options)

    @classmethod
    def from_csv(
        cls,
        households: str | Path,
        prices: Any,
        *,
        delimiter: str | None = None,
        encoding: str = "utf-8",
        **options: Any,
    ) -> BudgetData:
        """Read budget data from a file of households and one of prices.

        Parameters
        ----------
        households : str or Path
            Delimited text, also gzip, or Parquet.
        prices : path, data frame or dict
            One row per budget.
        delimiter : str, optional
            Between columns; None finds it.
        encoding : str, default "utf-8"
            Of delimited text.
        **options
            As for `from_frame`.

        Returns
        -------
        BudgetData
        """
        return cls._from_source(open_source(households, delimiter, encoding), prices, options)

    @classmethod
    def _from_source(cls, source: Any, prices: Any, options: dict[str, Any]) -> BudgetData:
        other = prices
        if isinstance(prices, str | Path):
            other = open_source(prices, None, "utf-8")
        elif not hasattr(prices, "chunks"):
            other = FrameSource(prices, "prices")
        found = read_demand(source, other, options)
        data = cls.from_shares(
            found.prices,
            found.budget,
            found.shares,
            found.expenditure,
            found.degree,
            labels=found.labels,
            goods=found.goods,
            cluster=found.cluster,
            at_median=found.at_median,
            where=found.where,
        )
        understood = f"{found.understood}; {data.understood}"
        understood += f"\nnot used: {', '.join(found.unused)}" if found.unused else ""
        return BudgetData(**{**data.__dict__, "understood": understood})

    @property
    def budget(self) -> Ints:
        """(I,): the budget of each patch."""
        own: Ints = (self.patches == 0).argmax(axis=1)
        return own

    @cached_property
    def items(self) -> tuple[str, ...]:
        """(I,): names of the patches, such as 1975/3 for the third patch of 1975."""
        budget = self.budget
        place = np.arange(len(budget)) - np.searchsorted(budget, budget) + 1
        return tuple(f"{self.labels[j]}/{i}" for j, i in zip(budget.tolist(), place.tolist(), strict=True))

    @property
    def n_observations(self) -> float:
        """Total number of households."""
        return float(self.sizes.sum())

    @property
    def is_smoothed(self) -> bool:
        """Whether the probabilities are values of a polynomial in log expenditure, rather than frequencies."""
        return self.degree > 0

    def __repr__(self) -> str:
        how = f"smoothed with degree {self.degree}" if self.is_smoothed else "plain frequencies"
        return f"BudgetData({len(self.labels)} budgets, {len(self.patches)} patches, {self.n_observations:g} households, {how})"

    def describe(self, patch: int) -> str:
        """Describe a patch in words.

        Parameters
        ----------
        patch : int
            The number of the patch.

        Returns
        -------
        str
        """
        row = self.patches[patch]
        words = [
            f"{name} {', '.join(str(self.labels[k]) for k in np.flatnonzero(row == sign))}"
            for sign, name in ((-1, "below"), (1, "above"))
            if (row == sign).any()
        ]
        return f"{self.items[patch]} ({'; '.join(words) or 'the whole budget'})"

    @cached_property
    def choices(self) -> ChoiceData:
        """The same data as choices, with budgets as menus and their patches as items. Counts of smoothed data are fractions."""
        return self._as_choices(self.items, self.budget, self.probabilities)

    @cached_property
    def padded_choices(self) -> ChoiceData:
        """The same as `choices`, with an item that nobody takes added to every budget of one patch.

        A menu of one item leaves no choice and is left out of a projection. On the cone it has a meaning: its probability is
        the total of the mixture.
        """
        alone = np.flatnonzero(np.bincount(self.budget) == 1)
        budget = np.concatenate([self.budget, alone])
        order = np.argsort(budget, kind="stable")
        items = [*self.items, *(f"{self.labels[j]}/-" for j in alone)]
        values = np.concatenate([self.probabilities, np.zeros(len(alone))])
        return self._as_choices([items[i] for i in order], budget[order], values[order])

    def _as_choices(self, items: Sequence[str], budget: Ints, probabilities: Array) -> ChoiceData:
        menus, cell = Menus.from_cells(budget, np.arange(len(items)), len(self.labels), len(items))
        counts = np.empty(len(items))
        counts[cell] = probabilities * self.sizes[budget]
        rows = None
        own = self.households
        if own is not None and not self.is_smoothed:
            counts = np.round(counts)
            place = {item: x for x, item in enumerate(items)}
            number = np.array([place[item] for item in self.items], np.int16)
            subjects: tuple[Any, ...] = ()
            subject = None
            if own.cluster is not None:
                different, codes = np.unique(own.cluster, return_inverse=True)
                subjects, subject = tuple(different.tolist()), codes.astype(np.int32)
            rows = Rows(
                own.budget.astype(np.int32), number[own.patch], np.ones(len(own.budget)), subject, None, subjects
            )
        return ChoiceData.from_cells(tuple(items), menus, counts, self.sizes, rows, self.understood)

    def estimator(self) -> DemandEstimator:
        """Return the function that computes the probabilities from the households."""
        own = self.households
        if own is None:
            raise InputError("the households are not known: these data are probabilities of patches")
        return DemandEstimator(own.budget, own.patch, self.budget, own.log_expenditure, self.degree)

    def select(self, labels: Sequence[Item]) -> BudgetData:
        """Return the data of some of the budgets, with patches cut by these alone.

        Parameters
        ----------
        labels : sequence
            Names of the budgets.

        Returns
        -------
        BudgetData

        Raises
        ------
        InputError
            If a budget is unknown, or the households are not known.
        """
        place = {label: j for j, label in enumerate(self.labels)}
        for label in labels:
            if label not in place:
                raise InputError(f"budget {label!r} is unknown: the budgets are {', '.join(map(str, self.labels))}")
        chosen = np.array(sorted({place[label] for label in labels}), np.int64)
        if not len(chosen):
            raise InputError(f"no budget is named: the budgets are {', '.join(map(str, self.labels))}")
        names = tuple(self.labels[j] for j in chosen)
        own = self.households
        if own is not None:
            assert self.prices is not None
            keep = np.isin(own.budget, chosen)
            who = Households(
                np.searchsorted(chosen, own.budget[keep]),
                _NOWHERE,
                own.shares[keep],
                None if own.log_expenditure is None else own.log_expenditure[keep],
                None if own.cluster is None else own.cluster[keep],
            )
            return _build(BudgetData, names, self.prices[chosen], self.goods, who, self.degree, self.notes)
        keep = np.isin(self.budget, chosen)
        signs, number = np.unique(self.patches[keep][:, chosen], axis=0, return_inverse=True)
        total = np.bincount(number.reshape(-1), self.probabilities[keep], len(signs))
        prices = None if self.prices is None else self.prices[chosen]
        return BudgetData.from_patches(
            signs, np.minimum(total, 1.0), self.sizes[chosen], labels=names, prices=prices, degree=self.degree
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per patch: budget, patch, its sides, probability.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow", "dict"}, default "pandas"
            The kind of data frame.

        Returns
        -------
        data frame
        """
        columns: dict[str, list[Any]] = {
            "budget": [self.labels[j] for j in self.budget],
            "patch": list(self.items),
        }
        for k, name in enumerate(self.labels):
            columns[f"side_{name}"] = self.patches[:, k].tolist()
        columns["probability"] = self.probabilities.tolist()
        return make_frame(columns, backend)

    def plot(self, ax: Any = None, budgets: Sequence[Item] | None = None) -> Any:
        """Plot budgets with their patches and the shares in them, for two or three goods.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.
        budgets : sequence, optional
            Names of the budgets to draw; None: all.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.budget_plots import plot_budgets

        return plot_budgets(self, ax, budgets)


def _build(
    cls: type[BudgetData],
    names: tuple[Item, ...],
    prices: Array,
    goods: tuple[str, ...],
    who: Households,
    degree: int,
    warnings: tuple[str, ...],
) -> BudgetData:
    """Merge equal budgets, leave out those that nobody faced, cut them, and put the households into their patches."""
    check_whole(degree, "degree", 0, 10)
    budget, log_expenditure = who.budget, who.log_expenditure
    same = merge_equal(prices)
    faced = np.unique(same[budget])
    notes = [
        f"budget {names[j]} is equal to {names[same[j]]}: merged" for j in np.flatnonzero(same != np.arange(len(same)))
    ]
    empty = [
        str(names[j]) for j in np.flatnonzero(np.bincount(same[budget], minlength=len(prices)) == 0) if same[j] == j
    ]
    if empty:
        notes.append(f"nobody faced {', '.join(empty)}: left out")
    number = np.searchsorted(faced, same[budget]).astype(np.int64)
    kept = tuple(names[j] for j in faced)
    table = prices[faced]
    pieces = find_patches(table)
    patch = locate(table, pieces, number, who.shares)
    used = 0 if log_expenditure is None else int(degree)
    estimate = DemandEstimator(number, patch, pieces.budget, log_expenditure, used, kept)
    found = estimate(np.ones((1, len(number))))[0]
    sizes = np.bincount(number, minlength=len(faced)).astype(np.float64)
    households = Households(number, patch, who.shares, log_expenditure if used else None, who.cluster)
    how = f"smoothed at median expenditure with degree {used}" if used else "plain frequencies"
    notes.insert(
        0, f"{len(kept)} budgets of {table.shape[1]} goods, {len(found)} patches, {len(number)} households, {how}"
    )
    understood = "\n".join(["; ".join(notes), *warnings])
    return cls(kept, pieces.signs, found, sizes, table, goods, used, households, pieces, understood, warnings)
