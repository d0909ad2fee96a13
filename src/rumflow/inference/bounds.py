"""Bounds: what the data say about menus that were never offered.

The projection fixes the probabilities of the observed cells; every RUM with these values fits as well. Over all of them,

    lower = min of <c, rho>,   upper = max of <c, rho>,      rho RUM,  rho = fitted on every observed cell,

for any linear functional c: the probability of an item on a menu, "a is ranked above b" (item a on the menu {a, b}),
a market share averaged over menus, the difference of two shares, a revenue. These bounds are *sharp*: each is attained by some
RUM that fits as well as the nearest, and nothing between them could be excluded if the fit were the truth. They know no sampling
error: where the data determine the fit, lower and upper coincide, and the truth is hardly ever between them. What holds the truth
with a given probability is the confidence interval (`rumflow.inference.confidence`), the answer where there are counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_floats, as_menu, check_item, check_number
from rumflow.core.arrays import Array, Mask
from rumflow.core.lattice import MAX_ITEMS
from rumflow.core.problem import Stop
from rumflow.core.seeds import Seed, either
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, format_menu
from rumflow.data.menus import membership_of, unique_menus
from rumflow.errors import InputError, NotConvergedError
from rumflow.inference.assortment_inputs import find_items
from rumflow.inference.bounds_result import Bounds
from rumflow.inference.budget_bounds import place_budget
from rumflow.inference.confidence import BoundsOptions, Interval
from rumflow.inference.convention import Tau
from rumflow.inference.profile import KINDS
from rumflow.inference.resample import require_replicates_for
from rumflow.inference.sharp import LinearFunctionals, find_bounds
from rumflow.models.model import Model
from rumflow.output.progress import Counter, Stage
from rumflow.projection.inputs import items_from_shape
from rumflow.projection.results import Projection
from rumflow.projection.single import project_exact


def bounds(
    data: DataLike | ArrayLike | Projection,
    menu: Iterable[Item] | None = None,
    item: Item | None = None,
    *,
    functional: Mapping[Any, float] | ArrayLike | None = None,
    weights: str | ArrayLike | None = "auto",
    confidence: float | str | None = "auto",
    n_boot: int = 199,
    tau: Tau = "auto",
    seed: Seed = None,
    rng: Seed = None,
    cluster: Any = "auto",
    threads: int | None = None,
    model: Model | None = None,
    route: str | None = None,
    progress: bool = False,
    interval: str = "profile",
) -> Bounds:
    """Compute confidence intervals, and sharp bounds, for the probabilities on any menu or for any functional.

    Parameters
    ----------
    data : ChoiceData, BudgetData, Projection or array_like
        An array has shape (2^n, n), with NaN for what was not observed.
    menu : iterable, optional
        The menu, by label. For BudgetData it is a budget that nobody faced, given by its prices (divided by its
        expenditure); its items are the patches into which the others cut it.
    item : optional
        An item of the menu; None: every item.
    functional : mapping or array_like, optional
        Instead of a menu: {(menu, item): value, ...} by label, the menus observed or not, or a (2^n, n) array c; bounds for
        sum c rho. See `rumflow.functionals`.
    weights : str or array_like, default "auto"
        Weights of the projection, see `project`. "auto": those of the test, the menu's sample size. A Projection has its
        weights already.
    confidence : float, "auto" or None, default "auto"
        The level of the intervals. "auto": 0.95 where the data have counts. None: sharp bounds only, which is faster.
    n_boot : int, default 199
        Replicates of each test.
    tau : default "auto"
        Of the test, for interval="distance" only; "auto" is twice that of `rum_test`, which these intervals need.
    seed, rng : int or numpy.random.Generator, optional
        Of the test. It is kept in the result; None draws one. Two names of the same: give one.
    cluster : {"auto"}, bool, None or array_like, default "auto"
        Of the test, see `rum_test`.
    threads : int, optional
        Number of threads.
    model, route : optional
        As for `project`.
    progress : bool, default False
        Show a line on standard error that counts the values tested.
    interval : {"profile", "distance"}, default "profile"
        How values are tested. "profile": by how much further the data are from the model with this value than from the
        model. "distance": by how far they are from the model with this value; wider, and empty where the model is rejected.

    Returns
    -------
    Bounds

    Raises
    ------
    InputError
        If neither a menu nor a functional is given, or both, or an item is unknown.
    NotConvergedError
        If the projection that the bounds start from is not accurate enough.

    Notes
    -----
    Sharp bounds are the minimum and the maximum of <c, rho> over all RUMs rho that equal the fit on every observed cell.
    The confidence interval contains the values that are not rejected by a test of "the probability (or functional) has this
    value" (test inversion, ends to 0.001 of the range). How often it holds the truth is measured, not proven; see the page "How
    far the test and the intervals can be trusted". With interval="profile" a value is rejected where at most half of
    1 - `confidence` of the replicates are as far, so that it needs twice as many of them. The interval contains the sharp
    bounds; where the model itself is rejected it is that of the best fit, and a note says so.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> result = rf.bounds(data, ["a", "c"], confidence=None)
    >>> result.lower.round(3), result.upper.round(3)
    (array([0.386, 0.257]), array([0.743, 0.614]))
    """
    options = BoundsOptions(
        weights, confidence, n_boot, tau, either(seed, rng), cluster, threads, model, route, progress, interval
    )
    data = as_data(data)
    if isinstance(data, BudgetData):
        return _new_budget(data, menu, item, functional, options)
    if (menu is None) == (functional is None):
        raise InputError("bounds: give either a menu (and an item), or a functional")
    if model is not None and isinstance(data, ChoiceData):
        menu = None if menu is None else as_menu(menu)
        data = _with_new_items(data, model, menu, functional)
    if functional is not None:
        return bound_asked(data, ask_functional(item_labels(data), functional), (), options)
    return _bound_menu(data, menu, item, options)


def _with_new_items(
    data: ChoiceData, model: Model, menu: Iterable[Item] | None, functional: Mapping[Any, float] | ArrayLike | None
) -> ChoiceData:
    """The data, with items that are asked for and that only the model knows; nobody was offered them."""
    cells = functional if isinstance(functional, Mapping) else {}
    menus = [menu or (), *(cell[0] for cell in cells if isinstance(cell, tuple) and isinstance(cell[0], tuple))]
    new = [item for item in dict.fromkeys(item for one in menus for item in one) if item not in data.items]
    new = [item for item in new if item in model.known_items]
    if not new:
        return data
    offered = replace(data.offered, n_items=data.n + len(new))
    return ChoiceData.from_cells(
        (*data.items, *new), offered, data.count, data.totals, data.rows, data.understood, data.description
    )


def _bound_menu(
    data: ChoiceData | ArrayLike | Projection, menu: Iterable[Item] | None, item: Item | None, options: BoundsOptions
) -> Bounds:
    """Bounds for the items of a menu, or for one of them."""
    labels = item_labels(data)
    members = as_menu(menu)
    row = find_items(labels, members, least=1)
    if item is not None:
        check_item(item, labels)
        if item not in members:
            raise InputError(f"item {item!r} is not in the menu {format_menu(members)}")
    places = np.array([x for x in np.flatnonzero(row) if item is None or labels[x] == item], np.int64)
    coefficients = np.zeros((len(places), 1, len(labels)))
    coefficients[np.arange(len(places)), 0, places] = 1.0
    found = bound_asked(data, _ask(row[None], coefficients), tuple(labels[x] for x in places), options)
    return replace(found, menu=members, lower=np.clip(found.lower, 0.0, 1.0), upper=np.clip(found.upper, 0.0, 1.0))


def item_labels(data: ChoiceData | ArrayLike | Projection | BudgetData) -> tuple[Item, ...]:
    """The labels of the items, before anything is fitted."""
    if isinstance(data, BudgetData):
        raise InputError("data: choices from menus are needed, not BudgetData (only `rumflow.bounds` accepts it)")
    if isinstance(data, ChoiceData | Projection):
        return data.items
    return tuple(range(items_from_shape(as_floats(data, "data").shape)))


def ask_functionals(items: Sequence[Item], functionals: Iterable[Mapping[Any, float]]) -> LinearFunctionals:
    """Functionals by label, over the menus of all of them."""
    tables = [_labelled(items, functional) for functional in functionals]
    menus, rows = unique_menus(np.vstack([found for found, _ in tables]))
    values = np.zeros((len(tables), *menus.shape))
    start = 0
    for k, (found, own) in enumerate(tables):
        values[k, rows[start : start + len(found)]] = own
        start += len(found)
    return _ask(menus, values)


def _ask(menus: Mask, coefficients: Array) -> LinearFunctionals:
    """Functionals (k, q, n) of menus (q, n); what they say of menus of one item is a constant."""
    large = menus.sum(axis=1) >= 2
    return LinearFunctionals(menus[large], coefficients[:, large], coefficients[:, ~large].sum(axis=(1, 2)))


def exact_fit(
    data: ChoiceData | ArrayLike | Projection | BudgetData,
    weights: str | ArrayLike | None = "auto",
    model: Model | None = None,
    route: str | None = None,
    progress: bool = False,
) -> Projection:
    """A fit good enough to start from: the projection of the data, or the one that is given."""
    item_labels(data)
    fit = data
    if isinstance(fit, Projection) and not (model is None and route is None and _is_default(weights)):
        raise InputError("data: a Projection already has weights, model and route; omit these, or give the data")
    if not isinstance(fit, Projection):
        chosen = BoundsOptions(weights).weights_for(data)
        with Stage(progress, "the projection"):
            fit = project_exact(data, chosen, 1e-12, model=model, route=route)  # type: ignore[arg-type]
    elif not fit.geometry.exact:
        raise InputError(
            "bounds need the graph of the menus, which is too large here (the fit has route 'bounded'); leave out menus"
        )
    if not fit.certificate.is_optimal(Stop(1e-8)):
        # A projection that was given can be made again with what `project` has; what was made here only as the caller asks.
        why = fit.status.explanation if fit is data else fit.status.explain()
        raise NotConvergedError(
            f"the projection that this starts from is not accurate enough: {why}",
            fit,
        )
    return fit


def bound_asked(
    data: ChoiceData | ArrayLike | Projection,
    asked: LinearFunctionals,
    names: tuple[Item, ...],
    options: BoundsOptions,
    fit: Projection | None = None,
) -> Bounds:
    """Bounds and intervals of what is asked, by its names, at the fit given or that of the data."""
    level, kind = options.level_for(data), KINDS[options.interval]
    if level is not None:
        require_replicates_for(level, options.n_boot, kind.share)
    fit = exact_fit(data, options.weights, options.model, options.route, options.progress) if fit is None else fit
    lower, upper, gap = find_bounds(fit, asked, options.progress)
    intervals: list[Interval] = []
    number: int | None = None
    missing = 0
    if level is not None and isinstance(data, ChoiceData):
        most = len(asked.coefficients) * kind.most_values
        with Counter(options.progress, most, "values tested at most") as counter, suppress(KeyboardInterrupt):
            test = kind(data, level, options, counter.add, asked.menus)
            number = test.seed
            for k, (row_of_c, constant) in enumerate(zip(asked.coefficients, asked.constant, strict=True)):
                if not row_of_c.any():
                    intervals.append(Interval(constant, constant))
                    continue
                restricted = test.restricted(asked.menus, row_of_c)
                found = test.interval(restricted, lower[k] - constant, upper[k] - constant)
                intervals.append(Interval(found.low + constant, found.high + constant, found.note))
        missing = len(asked.coefficients) - len(intervals)
        intervals += missing * [Interval(np.nan, np.nan, "no interval, because the run was interrupted")]
    return Bounds(
        menu=(),
        items=names,
        lower=lower,
        upper=upper,
        gap=max(gap, 0.0),
        distance=fit.distance,
        confidence=level,
        confidence_lower=np.array([i.low for i in intervals]) if intervals else None,
        confidence_upper=np.array([i.high for i in intervals]) if intervals else None,
        notes=tuple(i.note for i in intervals),
        fit=fit,
        seed=number,
        interrupted=missing > 0,
        interval_kind=options.interval if intervals else None,
    )


def _is_default(weights: str | ArrayLike | None) -> bool:
    return weights is None or (isinstance(weights, str) and weights == "auto")


def _new_budget(
    data: BudgetData, prices: Iterable[Any] | None, item: Item | None, functional: Any, options: BoundsOptions
) -> Bounds:
    """Bounds on the patches of a new budget; by default weights are those of the test."""
    if prices is None or item is not None or functional is not None:
        raise InputError("bounds on budgets: give the prices of a new budget as menu, without item and functional")
    for name in ("model", "route"):
        if getattr(options, name) is not None:
            raise InputError(f"{name}={getattr(options, name)!r}: budgets determine the model and its graph; omit it")
    if data.is_smoothed:
        if options.confidence not in ("auto", None):
            raise InputError(
                f"confidence={options.confidence!r}: smoothed demand has no choices to draw; take degree=0 for intervals"
            )
        own = None if isinstance(options.weights, str) and options.weights == "auto" else options.weights
        options = replace(options, confidence=None, weights=own)
    new = place_budget(data, np.asarray(list(prices), np.float64))
    whose = ("a new budget",)
    if len(new.patches) == 1 or not (new.choices.offered.sizes > 1).any():
        # It crosses no other, or nothing is known of those it crosses: then every patch is some rational type's.
        alone = len(new.patches) == 1
        low = np.full(len(new.patches), float(alone))
        note = "it crosses no observed budget; are these prices divided by its expenditure?" if alone else ""
        return Bounds(whose, new.patches, low, np.ones(len(low)), 0.0, np.nan, notes=(note,) * len(low))
    return replace(_bound_menu(new.choices, new.patches, None, replace(options, model=new.model)), menu=whose)


def ask_functional(items: Sequence[Item], functional: Mapping[Any, float] | ArrayLike) -> LinearFunctionals:
    """One functional, by label or as an array over all menus."""
    n = len(items)
    if isinstance(functional, Mapping):
        return ask_functionals(items, [functional])
    array = as_floats(functional, "functional")
    if n > MAX_ITEMS or array.shape != (1 << n, n):
        raise InputError(
            "functional: a mapping {(menu, item): value, ...} is needed, or an array over the menus of at most "
            f"{MAX_ITEMS} items, of shape (2^n, n) with n = {n}; this one has shape {array.shape}"
        )
    masks = np.flatnonzero((array != 0).any(axis=1))
    menus = membership_of(masks, n)
    values = np.where(menus, array[masks], 0.0)
    if not np.isfinite(values).all():
        raise InputError("functional: every coefficient must be finite")
    return _ask(menus, values[None])


def _labelled(items: Sequence[Item], functional: Mapping[Any, float]) -> tuple[Mask, Array]:
    """Menus and coefficients of a functional given by labels."""
    if not functional:
        raise InputError("functional: it is empty; give {(menu, item): value, ...}")
    menus = np.zeros((len(functional), len(items)), np.bool_)
    values = np.zeros(menus.shape)
    for k, (cell, value) in enumerate(functional.items()):
        if not isinstance(cell, tuple) or len(cell) != 2:
            raise InputError(f"functional: the key {cell!r} is not (menu, item), such as (('tea', 'milk'), 'tea')")
        members = as_menu(cell[0], "functional")
        menus[k] = find_items(items, members, "functional", least=1)
        if cell[1] not in members:
            raise InputError(f"functional: item {cell[1]!r} is not in the menu {format_menu(members)}")
        values[k, items.index(cell[1])] = check_number(value, f"functional[{cell!r}]", -np.inf, np.inf)
    found, rows = unique_menus(menus)
    sums = np.zeros(found.shape)
    np.add.at(sums, rows, values)
    return found, sums
