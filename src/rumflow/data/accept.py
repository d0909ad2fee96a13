"""What every function of data takes: data, and all that data can be read from.

A file is read by `ChoiceData.from_csv`, a data frame or a dict of columns by `ChoiceData.from_frame`, `{menu: {item: count}}` by
`ChoiceData.from_counts`; "datasets:NAME" is `rumflow.datasets.load("NAME")`. Lists of these, and dicts with names for them, are
several data sets. Everything else stays as it is: ChoiceData, BudgetData, fits and arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rumflow.data.budgets import BudgetData
from rumflow.data.calls import DATASET
from rumflow.data.choices import ChoiceData
from rumflow.data.datasets import load

#: ChoiceData, BudgetData, a path, a data frame, a dict of columns or of counts.
DataLike: TypeAlias = Any


def as_data(data: Any) -> Any:
    """Data read from whatever they are given as; see above.

    >>> as_data({("tea", "milk"): {"tea": 3, "milk": 1}})
    ChoiceData(2 items, 1 of 3 menus, 4 observations)
    >>> as_data({"menu": ["tea|milk", "tea|milk"], "choice": ["tea", "milk"]})
    ChoiceData(2 items, 1 of 3 menus, 2 observations)
    """
    if isinstance(data, ChoiceData | BudgetData | np.ndarray):
        return data
    if isinstance(data, str | Path):
        name = str(data)
        return load(name.removeprefix(DATASET)) if name.startswith(DATASET) else ChoiceData.from_csv(data)
    if is_frame(data):
        return ChoiceData.from_frame(data)
    if isinstance(data, Mapping):
        return _read_mapping(data)
    if isinstance(data, list | tuple) and any(isinstance(one, str | Path | Mapping) or is_frame(one) for one in data):
        return [as_data(one) for one in data]
    return data


def is_frame(data: object) -> bool:
    """Is this a data frame, or a series that has an index of several levels?"""
    # Of the class: asking a lazy frame for its columns would compute them.
    return hasattr(type(data), "columns") or getattr(getattr(data, "index", None), "nlevels", 1) > 1


def _read_mapping(data: Mapping[Any, Any]) -> Any:
    """A dict of counts by menu, of columns, or of data sets by name."""
    if not data:
        return data
    if all(not isinstance(menu, str) and isinstance(counts, Mapping) for menu, counts in data.items()):
        return ChoiceData.from_counts(data)
    if any(isinstance(one, ChoiceData | BudgetData | str | Path | Mapping) or is_frame(one) for one in data.values()):
        return {name: as_data(one) for name, one in data.items()}
    return ChoiceData.from_frame(data)
