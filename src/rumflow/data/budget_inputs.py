"""Checks of demand data: prices, shares, expenditure, labels. Errors name the household, the budget or the good."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Ints
from rumflow.data.labels import Item
from rumflow.errors import InputError
from rumflow.output.names import apart_from
from rumflow.text import visible

#: How far shares may be from adding up to 1.
ROUNDING = 5e-3

#: And probabilities that were smoothed.
SMOOTHED = 0.05

#: Median expenditures further from 1 than by this factor may be those of prices that were not divided by them.
FAR = 2.0

#: Names the household of a row.
Where = Callable[[int], str]


def by_number(h: int) -> str:
    """A household by its place in an array."""
    return f"household {h} (counted from 0)"


def check_prices(prices: ArrayLike, count: int | None = None) -> Array:
    """Positive prices, one row per budget; `count` is the number of budgets, where it is known."""
    table = check_table(prices, "prices", None, None)
    if len(table) == 0 or table.shape[1] < 2:
        raise InputError(f"prices: at least one budget and two goods are needed, not shape {table.shape}")
    if (table <= 0).any():
        j, k = np.argwhere(table <= 0)[0]
        raise InputError(f"prices: budget {j}, good {k} has price {table[j, k]:g}; prices must be positive")
    if count is not None and len(table) != count:
        raise InputError(f"prices: {count} rows are needed, one per budget, not {len(table)}")
    return table


def check_table(values: ArrayLike, name: str, width: int | None, rows: int | None) -> Array:
    """A finite table of the shape that is wanted."""
    try:
        table = np.ascontiguousarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: a table of numbers is needed") from None
    if table.ndim != 2 or (width is not None and table.shape[1] != width) or (rows is not None and len(table) != rows):
        wanted = f"({'budgets' if rows is None else rows}, {'goods' if width is None else width})"
        raise InputError(f"{name}: a table of shape {wanted} is needed, not {table.shape}")
    if not np.isfinite(table).all():
        h, k = np.argwhere(~np.isfinite(table))[0]
        raise InputError(f"{name}: row {h}, column {k} is {table[h, k]}; every entry must be a finite number")
    return table


def check_shares(shares: ArrayLike, goods: Sequence[str], m: int, where: Where) -> Array:
    """Expenditure shares that add up to 1."""
    table = check_table(shares, "shares", len(goods), m)
    if (table < 0).any():
        h, k = np.argwhere(table < 0)[0]
        raise InputError(f"{where(h)}: the share of {goods[k]} is {table[h, k]:g}; shares must be 0 or more")
    total = table.sum(axis=1)
    wrong = np.abs(total - 1) > ROUNDING
    if wrong.any():
        h = int(wrong.argmax())
        hint = (
            "; are these amounts? divide them by the household's total, or give quantities (quantities=, --quantities)"
        )
        if abs(total[h] - 100) < 1:
            hint = "; are they in percent? divide by 100"
        elif total[h] < 2:
            hint = ""
        raise InputError(f"{where(h)}: shares add up to {apart_from(total[h], 1)}; they must add up to 1{hint}")
    return np.asarray(table / total[:, None], np.float64)


def check_quantities(quantities: ArrayLike, goods: Sequence[str], m: int, where: Where) -> Array:
    """Quantities that are not negative."""
    table = check_table(quantities, "quantities", len(goods), m)
    if (table < 0).any():
        h, k = np.argwhere(table < 0)[0]
        raise InputError(f"{where(h)}: the quantity of {goods[k]} is {table[h, k]:g}; it must be 0 or more")
    return table


def check_expenditure(values: ArrayLike | None, m: int, where: Where) -> Array | None:
    """Positive numbers, one per household; None stays None."""
    array = _one_each(values, "expenditure", m)
    if array is not None:
        _refuse(~(np.isfinite(array) & (array > 0)), array, "expenditure", "a positive number", where)
    return array


def check_instrument(values: ArrayLike | None, spent: Array | None, degree: int, m: int, where: Where) -> Array | None:
    """Numbers, one per household whose expenditure is known and smoothed over; None stays None."""
    array = _one_each(values, "instrument", m)
    if array is None:
        return None
    if spent is None or degree == 0:
        given = "expenditure is not given" if spent is None else "degree=0 (--degree 0) gives plain frequencies"
        raise InputError(
            f"instrument (--instrument): it corrects demand that is smoothed over expenditure, but {given}; give "
            "expenditure with a degree of 1 or more, or leave the instrument out"
        )
    _refuse(~np.isfinite(array), array, "the instrument", "a finite number", where)
    return array


def _one_each(values: ArrayLike | None, name: str, m: int) -> Array | None:
    if values is None:
        return None
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: one number per household is needed") from None
    if array.ndim != 1:
        raise InputError(f"{name}: one number per household is needed, not shape {array.shape}")
    if len(array) != m:
        raise InputError(f"{name}: {m} numbers are needed, one per household, not {len(array)}")
    return array


def _refuse(wrong: NDArray[np.bool_], array: Array, name: str, wanted: str, where: Where) -> None:
    """Raise an error about the first household that is wrong."""
    if wrong.any():
        h = int(wrong.argmax())
        raise InputError(f"{where(h)}: {name} is {array[h]:g}; {wanted} is needed")


def check_clusters(cluster: ArrayLike | None, m: int) -> NDArray[Any] | None:
    """An id per household; None stays None."""
    groups = None if cluster is None else np.asarray(cluster)
    if groups is not None and groups.shape != (m,):
        raise InputError(f"cluster: one id for each of the {m} households is needed; got shape {groups.shape}")
    return groups


def check_labels(labels: Sequence[Item] | None, count: int) -> tuple[Item, ...]:
    """Different labels, one per budget."""
    names: tuple[Item, ...] = tuple(range(count)) if labels is None else tuple(_plain(label) for label in labels)
    if len(names) != count or len(set(names)) < count:
        raise InputError(f"labels: {count} different labels are needed, one per budget")
    return names


def _plain(label: Hashable) -> Item:
    return label.item() if isinstance(label, np.generic) else label


def budget_numbers(
    budget: ArrayLike, labels: Sequence[Item] | None, count: int, where: Where
) -> tuple[Ints, tuple[Item, ...]]:
    """The number of each household's budget, and the labels of the budgets."""
    names = check_labels(labels, count)
    given = np.asarray(budget)
    if given.ndim != 1 or len(given) == 0:
        raise InputError(f"budget: one budget per household is needed, not shape {given.shape}")
    different, inverse = np.unique(given, return_inverse=True)
    place: Mapping[Item, int] = {name: j for j, name in enumerate(names)}
    for value in different.tolist():
        if value not in place:
            h = int((given == value).argmax())
            known = ", ".join(map(visible, names[:8])) + (", ..." if count > 8 else "")
            raise InputError(f"{where(h)}: budget {value!r} has no prices; there are prices for {known}")
    return np.array([place[value] for value in different.tolist()], np.int64)[inverse.reshape(-1)], names


def spend(quantities: Array, prices: Array, where: Where) -> tuple[Array, Array]:
    """Expenditure shares and expenditure of each household, from what it bought at the prices of its budget."""
    paid = quantities * prices
    spent = paid.sum(axis=1)
    if (spent <= 0).any():
        raise InputError(f"{where(int(np.argmin(spent)))}: nothing was bought; leave such households out")
    return paid / spent[:, None], spent


def divide_by_medians(prices: Array, spent: Array | None, number: Ints) -> Array:
    """Prices divided by the median expenditure of each budget; those that nobody faced stay."""
    if spent is None:
        raise InputError("at_median (--at-median): prices are divided by median expenditure, so expenditure is needed")
    medians = np.ones(len(prices))
    for j in np.unique(number):
        medians[j] = np.median(spent[number == j])
    return prices / medians[:, None]


def note_on_medians(spent: Array, number: Ints) -> tuple[str, ...]:
    """What to say where expenditures are far from 1 although prices are taken as divided by them."""
    found = np.array([np.median(spent[number == j]) for j in np.unique(number)])
    low, high = (f"{value:.3g}" for value in (found.min(), found.max()))
    if found.min() >= 1 / FAR and found.max() <= FAR:
        return ()
    return (
        f"Median expenditure is {low if low == high else f'{low} to {high}'}, but prices are taken as already divided by it; "
        "if they are not, at_median=True (--at-median) divides them.",
    )


def check_goods(goods: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """Names, one per column of prices."""
    names = tuple(f"good {k + 1}" for k in range(count)) if goods is None else tuple(map(str, goods))
    if len(names) != count:
        raise InputError(f"goods: {count} names are needed, one per column of prices, not {len(names)}")
    return names


def check_patches(
    patches: ArrayLike,
    probabilities: ArrayLike,
    sizes: float | ArrayLike,
    labels: Sequence[Item] | None,
    smoothed: bool,
) -> tuple[tuple[Item, ...], Ints, Array, Array]:
    """Labels of the budgets, patches as a table of signs, their probabilities, and the households of each budget."""
    signs = np.asarray(patches)
    if signs.ndim != 2 or not np.isin(signs, (-1, 0, 1)).all() or not ((signs == 0).sum(axis=1) == 1).all():
        raise InputError(
            "patches: a table is needed with one row per patch and one column per budget: -1 below, 1 above, 0 on it"
        )
    signs = signs.astype(np.int64)
    names = check_labels(labels, signs.shape[1])
    budget = (signs == 0).argmax(axis=1)
    values = np.asarray(probabilities, np.float64)
    if values.shape != (len(signs),) or not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"probabilities: one number from 0 to 1 for each of the {len(signs)} patches is needed")
    given = np.asarray(sizes, np.float64)
    if given.shape not in ((), (signs.shape[1],)):
        raise InputError(
            f"sizes: one number for each of the {signs.shape[1]} budgets is needed, not shape {given.shape}"
        )
    counts = np.broadcast_to(given, (signs.shape[1],)).copy()
    if not (np.isfinite(counts) & (counts > 0)).all():
        raise InputError("sizes: the numbers of households must be positive")
    if len(np.unique(signs, axis=0)) < len(signs):
        raise InputError("patches: two rows are equal; each patch must appear once")
    total = np.bincount(budget, values, signs.shape[1])
    for j, name in enumerate(names):
        if not (budget == j).any():
            raise InputError(f"patches: budget {name} has none; every budget needs at least one")
        if abs(total[j] - 1) > (SMOOTHED if smoothed else ROUNDING):
            raise InputError(
                f"probabilities: those of budget {name} add up to {apart_from(total[j], 1)}; they must add up to 1"
            )
    return names, signs, values, counts
