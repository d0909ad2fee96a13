"""Demand from budgets: prices, what households bought, and how often they took each patch of their budget.

Budget j is {x >= 0: p_j x = 1}. Other budgets cut it into patches (`rumflow.core.arrangement`), and what matters about a
household is in which patch of its budget it is. Rules:

* Budgets whose prices are equal are merged, and their households pooled. Budgets that nobody faced are left out.
* A household exactly on the crossing of its budget with others belongs to the patch beside it that lies above most of them:
  on the crossing nothing is strictly revealed. Quantities may be 0, not negative.
* Shares that add up to 1 within 0.005 (rounding) are divided by their sum; others are an error.
* Demand is smoothed over log expenditure where expenditure is known (`rumflow.data.demand`). Expenditure is taken as
  exogenous, unless there is an instrument for it (`rumflow.data.control`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.arrays import Array
from rumflow.data.budget_inputs import (
    Where,
    budget_numbers,
    by_number,
    check_clusters,
    check_expenditure,
    check_goods,
    check_instrument,
    check_patches,
    check_prices,
    check_quantities,
    check_shares,
    divide_by_medians,
    note_on_medians,
    spend,
)
from rumflow.data.households import Estimator, Households, cut_budgets
from rumflow.data.labels import Item
from rumflow.data.patch_shares import PatchShares
from rumflow.data.readers.demand import read_demand
from rumflow.data.readers.opening import open_source
from rumflow.data.readers.sources import FrameSource, Source
from rumflow.data.understood import Understood
from rumflow.errors import InputError
from rumflow.text import visible


@dataclass(frozen=True, eq=False, repr=False)
class BudgetData(PatchShares):
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
        Budget, patch, shares, expenditure and instrument of every household.
    pieces : Patches or None
        The patches with their corners, where prices are known.
    understood : Understood
        How the tables were read: roles of the columns, unused columns, notes.
    notes : tuple of str
        What may be wrong with how they were read.
    description : Description or None
        What the data set is, with citation and licence, for those of `rumflow.datasets`.

    Examples
    --------
    Two budgets that cross, and four households:

    >>> import rumflow as rf
    >>> prices = [[1, 2], [2, 1]]
    >>> data = rf.BudgetData.from_quantities(prices, [0, 0, 1, 1], [[1, 0], [0, 1], [1, 0], [0, 1]], degree=0)
    >>> data.probabilities.tolist(), data.sizes.tolist()
    ([0.5, 0.5, 0.5, 0.5], [2.0, 2.0])
    """

    @classmethod
    def from_shares(
        cls,
        prices: ArrayLike,
        budget: ArrayLike,
        shares: ArrayLike,
        expenditure: ArrayLike | None = None,
        degree: int = 3,
        *,
        instrument: ArrayLike | None = None,
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
        instrument : array_like of shape (m,), optional
            What moves expenditure but not tastes, such as a wage: expenditure is endogenous, and demand is corrected by the
            control function of Kitamura and Stoye (2018), of the same degree. None: expenditure is exogenous.
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
        number, names = budget_numbers(budget, labels, len(table), where)
        spent = check_expenditure(expenditure, len(number), where)
        moved = check_instrument(instrument, spent, degree, len(number), where)
        values = check_shares(shares, named, len(number), where)
        if at_median:
            table = divide_by_medians(table, spent, number)
        notes = () if spent is None or at_median else note_on_medians(spent, number)
        log = None if spent is None else np.log(spent)
        groups = check_clusters(cluster, len(number))
        return cls._cut(names, table, named, Households(number, values, log, groups, moved), degree, notes)

    @classmethod
    def _cut(
        cls,
        names: tuple[Item, ...],
        prices: Array,
        goods: tuple[str, ...],
        who: Households,
        degree: int,
        warnings: tuple[str, ...],
    ) -> BudgetData:
        """Data of these households, on the budgets that they face."""
        found = cut_budgets(names, prices, who, degree)
        labels, table = tuple(names[j] for j in found.faced), prices[found.faced]
        sizes = np.bincount(found.households.budget, minlength=len(labels)).astype(np.float64)
        how = f"smoothed at median expenditure with degree {found.degree}" if found.degree else "plain frequencies"
        if who.instrument is not None:
            how += ", corrected for endogenous expenditure"
        size = f"{len(labels)} budgets of {len(goods)} goods, {len(found.probabilities)} patches, {len(who.budget)} households"
        understood = Understood(notes=(f"{size}, {how}", *found.notes), warnings=warnings)
        return cls(
            labels,
            found.pieces.signs,
            found.probabilities,
            sizes,
            table,
            goods,
            found.degree,
            found.households,
            found.pieces,
            understood,
            warnings,
        )

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
        amounts = check_quantities(quantities, goods, len(number), where)
        shares, spent = spend(amounts, table[number], where)
        return cls.from_shares(table, budget, shares, spent, degree, **options)

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
        table = None if prices is None else check_prices(prices, signs.shape[1])
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
        instrument : str, optional
            Column of the instrument for endogenous expenditure.
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
    def _from_source(cls, source: Source, prices: Any, options: dict[str, Any]) -> BudgetData:
        found = read_demand(source, prices, options)
        data = cls.from_shares(**found.arguments)
        said = data.understood
        return replace(data, understood=replace(found.understood, notes=said.notes, warnings=said.warnings))

    def __repr__(self) -> str:
        how = f"smoothed with degree {self.degree}" if self.is_smoothed else "plain frequencies"
        how += " and an instrument" if self.is_instrumented else ""
        return f"BudgetData({len(self.labels)} budgets, {len(self.patches)} patches, {self.n_observations:g} households, {how})"

    def estimator(self) -> Estimator:
        """Return the function that computes the probabilities from the households."""
        if self.households is None:
            raise InputError("the households are not known: these data are probabilities of patches")
        return self.households.estimator(self.budget, self.degree)

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
                raise InputError(f"budget {label!r} is unknown: the budgets are {', '.join(map(visible, self.labels))}")
        chosen = np.array(sorted({place[label] for label in labels}), np.int64)
        if not len(chosen):
            raise InputError(f"no budget is named: the budgets are {', '.join(map(visible, self.labels))}")
        names = tuple(self.labels[j] for j in chosen)
        prices = None if self.prices is None else self.prices[chosen]
        if self.households is not None:
            assert prices is not None
            who = self.households.on(chosen)
            return BudgetData._cut(names, prices, self.goods, who, self.degree, self.notes)
        keep = np.isin(self.budget, chosen)
        signs, number = np.unique(self.patches[keep][:, chosen], axis=0, return_inverse=True)
        total = np.bincount(number.reshape(-1), self.probabilities[keep], len(signs))
        return BudgetData.from_patches(
            signs, np.minimum(total, 1.0), self.sizes[chosen], labels=names, prices=prices, degree=self.degree
        )

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
