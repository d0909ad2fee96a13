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

from rumflow.core.memory import require_memory
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, Rows, check_items
from rumflow.data.menus import labels_of
from rumflow.data.writers import pair_numbers
from rumflow.errors import InputError


def to_choix(data: ChoiceData) -> tuple[int, list[tuple[int, tuple[int, ...]]]]:
    """Number of items and the (winner, losers) list that `choix.opt_top1` and its kin take.

    >>> data = ChoiceData.from_counts({("tea", "milk"): {"tea": 2, "milk": 1}})
    >>> to_choix(data)
    (2, [(0, (1,)), (0, (1,)), (1, (0,))])
    """
    pairs: list[tuple[int, tuple[int, ...]]] = []
    for winner, losers, times in pair_numbers(data.counted()):
        pairs += [(winner, losers)] * times
    return data.n, pairs


def from_choix(n_items: int, choices: Iterable[tuple[int, Any]], items: Sequence[Item] | None = None) -> ChoiceData:
    """From choix's (winner, losers) or (winner, loser) list."""
    labels = check_items(range(n_items) if items is None else items)
    if len(labels) != n_items:
        raise InputError(f"items: {len(labels)} labels for {n_items} items")
    pairs = []
    for k, (winner, losers) in enumerate(choices):
        others = tuple(losers) if isinstance(losers, Iterable) else (losers,)
        for x in (winner, *others):
            if not 0 <= int(x) < n_items:
                raise InputError(f"choice {k}: item {x!r} is not from 0 to {n_items - 1}")
        pairs.append((labels[int(winner)], tuple(labels[int(x)] for x in others)))
    return ChoiceData.from_pairs(pairs, items=labels)


def to_xlogit(data: ChoiceData, constants: bool = True) -> dict[str, NDArray[Any]]:
    """Arguments for xlogit's `fit(X, y, varnames, alts, ids, avail=, weights=, panels=)`: item constants as variables.

    The first item is the base, without a constant. Weighted rows stay one observation with their weight. constants=False leaves
    out X and varnames, for variables of your own: with many items the constants take much memory.
    """
    rows = _rows(data)
    n, size = data.n, len(rows.menu)
    inside = data.membership[rows.menu].astype(int)
    out: dict[str, NDArray[Any]] = {}
    if constants:
        require_memory(
            8.0 * size * n * n, f"X with {n - 1} item constants for {size:,} choices (constants=False leaves it out)"
        )
        out["X"] = np.tile(np.eye(n)[:, 1:], (size, 1))
        out["varnames"] = np.array([f"is {label}" for label in data.items[1:]])
    out |= {
        "y": (np.arange(n) == rows.choice[:, None]).astype(int).ravel(),
        "alts": np.tile(np.array([str(label) for label in data.items]), size),
        "ids": np.repeat(np.arange(size), n),
        "avail": inside.ravel(),
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
    """From xlogit's long arrays; rows with `avail` 0 are not in the menu. `y` is 0/1, or the label chosen in every row."""
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
    return ChoiceData.from_frame({k: v.tolist() for k, v in table.items()}, items=items)


def to_torch_choice(data: ChoiceData) -> dict[str, NDArray[Any]]:
    """Arrays for `torch_choice.data.ChoiceDataset`, as tensors: `{k: torch.as_tensor(v) for k, v in ...}`.

    A session is a menu; `user_index` is there where the data have subjects. Weights must be whole numbers.
    """
    rows = _rows(data)
    times = _repeats(rows.weight)
    out: dict[str, NDArray[Any]] = {
        "item_index": np.repeat(rows.choice.astype(np.int64), times),
        "session_index": np.repeat(rows.menu.astype(np.int64), times),
        "item_availability": data.membership.copy(),
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
    """From the arrays (or tensors) of a ChoiceDataset; without availability every item is in every menu."""
    chosen, session = np.asarray(item_index).astype(int), np.asarray(session_index).astype(int)
    n = int(np.asarray(item_availability).shape[1]) if item_availability is not None else int(chosen.max()) + 1
    labels = check_items(range(n) if items is None else items)
    if len(labels) != n:
        raise InputError(f"items: {len(labels)} labels for {n} items")
    if len(chosen) != len(session):
        raise InputError(f"item_index has {len(chosen)} entries, session_index {len(session)}")
    offered = (
        np.ones((int(session.max()) + 1, n), bool) if item_availability is None else np.asarray(item_availability) != 0
    )
    menus = [labels_of(labels, row) for row in offered]
    table: dict[str, list[Any]] = {"menu": [menus[s] for s in session], "choice": [labels[x] for x in chosen]}
    if user_index is not None:
        table["subject"] = np.asarray(user_index).tolist()
    return ChoiceData.from_frame(table, items=labels)


def _rows(data: ChoiceData) -> Rows:
    """The rows of the data; where there are only counts, a row for each menu and item chosen, with its count as weight."""
    if data.rows is not None:
        return data.rows
    menu, item = np.nonzero(np.nan_to_num(data.counts) > 0)
    return Rows(menu.astype(np.int32), item.astype(np.int16), data.counts[menu, item])


def _repeats(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    if (weights != np.round(weights)).any():
        k = int(np.argmax(weights != np.round(weights)))
        raise InputError(
            f"row {k}: the weight {weights[k]:g} is not a whole number, so it cannot be written as single choices"
        )
    return weights.astype(np.int64)
