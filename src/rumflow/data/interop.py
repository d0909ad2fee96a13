"""Conversions to and from the data structures of choix, xlogit and torch-choice; none of them needs to be installed.

choix         (winner, losers) pairs of item numbers, or (winner, loser) pairs
xlogit        long format: every observation has a row for every alternative, with availability, 0/1 choice, weights and panels
torch-choice  item_index, session_index, user_index and item_availability of a ChoiceDataset; a session is a menu
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Ints
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus, add_up
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.data.labels import Item, label_items
from rumflow.data.menus import make_table
from rumflow.data.writers import to_pairs
from rumflow.errors import InputError


def to_choix(data: ChoiceData) -> tuple[int, list[tuple[Any, tuple[Any, ...]]]]:
    """Return the number of items and the (winner, losers) list that `choix.opt_top1` and similar functions take.

    Parameters
    ----------
    data : ChoiceData
        Counts must be whole numbers.

    Returns
    -------
    tuple
        Number of items, list of (winner, losers) by item number.

    Examples
    --------
    >>> data = ChoiceData.from_counts({("tea", "milk"): {"tea": 2, "milk": 1}})
    >>> to_choix(data)
    (2, [(0, (1,)), (0, (1,)), (1, (0,))])
    """
    return data.n, to_pairs(data, range(data.n))


def from_choix(n_items: int, choices: Iterable[tuple[int, Any]], items: Sequence[Item] | None = None) -> ChoiceData:
    """Make choice data from choix's (winner, losers) or (winner, loser) list.

    Parameters
    ----------
    n_items : int
        Number of items.
    choices : iterable of (winner, losers)
        By item number; losers may be one item or several.
    items : sequence, optional
        Labels of the items; None: their numbers.

    Returns
    -------
    ChoiceData

    Examples
    --------
    >>> from_choix(2, [(0, (1,)), (0, 1), (1, (0,))], items=["tea", "milk"]).counts.tolist()
    [[2.0, 1.0]]
    """
    labels = label_items(items, n_items)
    winners: list[int] = []
    losers: list[int] = []
    sizes: list[int] = []
    for winner, rest in choices:
        others = tuple(rest) if isinstance(rest, Iterable) else (rest,)
        winners.append(winner)
        losers.extend(others)
        sizes.append(len(others))
    if not winners:
        raise InputError("there are no data: at least one (winner, losers) pair is needed")
    chosen, other = np.array(winners, np.int64), np.array(losers, np.int64)
    row = np.repeat(np.arange(len(chosen)), sizes)
    for who, k in ((chosen, np.arange(len(chosen))), (other, row)):
        if (bad := (who < 0) | (who >= n_items)).any():
            at = int(np.argmax(bad))
            raise InputError(f"choice {k[at]}: item {who[at]} is not from 0 to {n_items - 1}")
    menu = np.concatenate([row, np.arange(len(chosen))])
    menus, _ = Menus.from_cells(menu, np.concatenate([other, chosen]), len(chosen), n_items)
    twice = menus.sizes <= sizes
    if twice.any():
        raise InputError(f"choice {int(np.argmax(twice))}: an item appears twice among the winner and the losers")
    return _count(labels, menus, np.arange(len(chosen)), chosen)


def to_xlogit(data: ChoiceData, constants: bool = True) -> dict[str, NDArray[Any]]:
    """Return arguments for xlogit's `fit(X, y, varnames, alts, ids, avail=, weights=, panels=)`.

    Item constants are the variables; the first item is the base, without a constant. A weighted row is one observation with
    its weight.

    Parameters
    ----------
    data : ChoiceData
        The choices.
    constants : bool, default True
        False leaves out X and varnames, for variables of your own: with many items the constants take much memory.

    Returns
    -------
    dict of ndarray

    Examples
    --------
    >>> data = ChoiceData.from_pairs([("tea", ["milk"]), ("milk", ["tea"])])
    >>> arrays = to_xlogit(data)
    >>> arrays["y"].tolist(), arrays["alts"].tolist(), arrays["ids"].tolist()
    ([0, 1, 1, 0], ['milk', 'tea', 'milk', 'tea'], [0, 0, 1, 1])
    """
    rows = _rows(data)
    n, size = data.n, len(rows.menu)
    require_memory(48.0 * size * n, f"a row for each of {n:,} alternatives of {size:,} choices")
    chosen = np.zeros(size * n, np.int64)
    chosen[n * np.arange(size) + rows.choice] = 1
    out: dict[str, NDArray[Any]] = {}
    if constants:
        require_memory(
            8.0 * size * n * n, f"X with {n - 1} item constants for {size:,} choices (constants=False leaves it out)"
        )
        out["X"] = np.tile(np.eye(n)[:, 1:], (size, 1))
        out["varnames"] = np.array([f"is {label}" for label in data.items[1:]])
    out |= {
        "y": chosen,
        "alts": np.tile(np.array([str(label) for label in data.items]), size),
        "ids": np.repeat(np.arange(size), n),
        "avail": data.offered.take(rows.menu)[0].to_table(1, 0).ravel(),
        "weights": np.repeat(rows.weight, n),
    }
    if rows.subject is not None:
        out["panels"] = np.repeat(rows.subject, n)
    return out


def from_xlogit(
    y: ArrayLike,
    alts: ArrayLike,
    ids: ArrayLike,
    avail: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    panels: ArrayLike | None = None,
    items: Sequence[Item] | None = None,
) -> ChoiceData:
    """Make choice data from xlogit's long arrays.

    Parameters
    ----------
    y : array_like
        0/1, or the label chosen in every row.
    alts : array_like
        The item of each row.
    ids : array_like
        The observation of each row.
    avail : array_like, optional
        Rows with 0 are not in the menu.
    weights : array_like, optional
        The weight of each row.
    panels : array_like, optional
        The subject of each row.
    items : sequence, optional
        The items in the order to use.

    Returns
    -------
    ChoiceData

    Examples
    --------
    >>> from_xlogit([1, 0, 0, 1], ["tea", "milk", "tea", "milk"], [0, 0, 1, 1], items=["tea", "milk"]).counts.tolist()
    [[1.0, 1.0]]
    """
    arrays = {"y": np.asarray(y), "alts": np.asarray(alts), "ids": np.asarray(ids)}
    for name, value in (("avail", avail), ("weights", weights), ("panels", panels)):
        if value is not None:
            arrays[name] = np.asarray(value)
    lengths = {name: len(a) for name, a in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise InputError("the arrays have different lengths: " + ", ".join(f"{k} {v}" for k, v in lengths.items()))
    chosen = arrays["y"]
    if not set(np.unique(chosen).tolist()) <= {0, 1}:
        chosen = (chosen == arrays["alts"]).astype(int)
    keep = arrays["avail"] != 0 if "avail" in arrays else np.ones(len(chosen), bool)
    if (lost := (chosen == 1) & ~keep).any():
        raise InputError(f"row {int(np.argmax(lost))}: the alternative chosen is not available")
    table = {"id": arrays["ids"][keep], "alt": arrays["alts"][keep], "choice": chosen[keep]}
    if "weights" in arrays:
        table["weight"] = arrays["weights"][keep]
    if "panels" in arrays:
        table["subject"] = arrays["panels"][keep]
    frame = {k: v if v.dtype.kind in "biuf" else v.tolist() for k, v in table.items()}
    more = {name: name for name in ("weight", "subject") if name in frame}
    return ChoiceData.from_frame(frame, observation="id", alternative="alt", choice="choice", items=items, **more)


def to_torch_choice(data: ChoiceData) -> dict[str, NDArray[Any]]:
    """Return arrays for `torch_choice.data.ChoiceDataset`, to be turned into tensors by `torch.as_tensor`.

    A session is a menu. `user_index` is included where the data have subjects.

    Parameters
    ----------
    data : ChoiceData
        Weights must be whole numbers.

    Returns
    -------
    dict of ndarray

    Examples
    --------
    >>> data = ChoiceData.from_pairs([("tea", ["milk"]), ("milk", ["tea"])])
    >>> {name: array.tolist() for name, array in to_torch_choice(data).items()}
    {'item_index': [1, 0], 'session_index': [0, 0], 'item_availability': [[True, True]]}
    """
    rows = _rows(data)
    times = _repeats(rows.weight)
    out: dict[str, NDArray[Any]] = {
        "item_index": np.repeat(rows.choice.astype(np.int64), times),
        "session_index": np.repeat(rows.menu.astype(np.int64), times),
        "item_availability": make_table(data.offered, True, False),
    }
    if rows.subject is not None:
        out["user_index"] = np.repeat(rows.subject.astype(np.int64), times)
    return out


def from_torch_choice(
    item_index: ArrayLike,
    session_index: ArrayLike,
    item_availability: ArrayLike | None = None,
    user_index: ArrayLike | None = None,
    items: Sequence[Item] | None = None,
) -> ChoiceData:
    """Make choice data from the arrays (or tensors) of a ChoiceDataset.

    Parameters
    ----------
    item_index : array_like
        The item of each choice.
    session_index : array_like
        The session of each choice.
    item_availability : array_like, optional
        Items by session; None: every item is in every menu.
    user_index : array_like, optional
        The subject of each choice.
    items : sequence, optional
        Labels of the items; None: their numbers.

    Returns
    -------
    ChoiceData

    Examples
    --------
    >>> from_torch_choice([0, 1], [0, 0], items=["tea", "milk"]).counts.tolist()
    [[1.0, 1.0]]
    """
    chosen, session = np.asarray(item_index).astype(int), np.asarray(session_index).astype(int)
    n = int(np.asarray(item_availability).shape[1]) if item_availability is not None else int(chosen.max()) + 1
    labels = label_items(items, n)
    if len(chosen) != len(session):
        raise InputError(f"item_index has {len(chosen)} entries, session_index {len(session)}")
    # Without availability every session has the same menu.
    offered = np.ones((1, n), np.bool_) if item_availability is None else np.asarray(item_availability) != 0
    sessions = int(session.max()) + 1 if item_availability is None else len(offered)
    for name, index, end in (("item_index", chosen, n), ("session_index", session, sessions)):
        if (bad := (index < 0) | (index >= end)).any():
            at = int(np.argmax(bad))
            raise InputError(f"{name}[{at}] = {index[at]} is not from 0 to {end - 1}")
    if item_availability is None:
        session = np.zeros_like(session)
    if (outside := ~offered[session, chosen]).any():
        at = int(np.argmax(outside))
        raise InputError(f"choice {at}: item {labels[chosen[at]]!r} is not available in session {session[at]}")
    user = None if user_index is None else np.asarray(user_index)
    return _count(labels, Menus.from_table(offered)[0], session, chosen, user)


def _count(
    labels: tuple[Item, ...], offered: Menus, menu: Ints, chosen: Ints, user: NDArray[Any] | None = None
) -> ChoiceData:
    """Data from the menus offered, and the menu and the item of each choice."""
    used, menu = np.unique(menu, return_inverse=True)
    menus, number = offered.take(used)[0].unique()
    menu = number[menu]
    counts = add_up(menus.cells_of(menu, chosen), np.ones(len(chosen)), len(menus.item))
    rows = Rows(menu.astype(np.int32), chosen.astype(np.int32), np.ones(len(chosen))).by_subject(user)
    return ChoiceData.from_cells(labels, menus, counts, menus.sums(counts), rows)


def _rows(data: ChoiceData) -> Rows:
    """The rows of the data; where there are only counts, a row for each menu and item chosen, with its count as weight."""
    if data.rows is not None:
        return data.rows
    menu, item, count = data.cells
    chosen = count > 0
    return Rows(menu[chosen].astype(np.int32), item[chosen].astype(np.int32), count[chosen])


def _repeats(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    if (weights != np.round(weights)).any():
        k = int(np.argmax(weights != np.round(weights)))
        raise InputError(
            f"row {k}: the weight {weights[k]:g} is not a whole number, so it cannot be written as single choices"
        )
    return weights.astype(np.int64)
