"""Data with given labels."""

import numpy as np

from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows


def make(items, form, subjects=(7, 3, 11), seed=0):
    """Counts, or rows with subjects, over random menus of these items."""
    rng = np.random.default_rng(seed)
    n, m = len(items), 8
    membership = np.unique(rng.random((m, n)) < 0.6, axis=0)[:, ::-1]
    membership = membership[membership.any(axis=1)]
    menu = np.repeat(np.arange(len(membership)), 4).astype(np.int32)
    choice = np.array([rng.choice(np.flatnonzero(membership[k])) for k in menu], np.int16)
    counts = np.where(membership, 0.0, np.nan)
    np.add.at(counts, (menu, choice), 1.0)
    rows = None
    if form == "rows":
        order = np.concatenate([np.arange(len(subjects)), rng.integers(len(subjects), size=len(menu))])[: len(menu)]
        rows = Rows(menu, choice, np.ones(len(menu)), order.astype(np.int32), None, tuple(subjects))
    order = np.lexsort(membership.T)
    number = np.argsort(order).astype(np.int32)
    if rows is not None:
        rows = rows._replace(menu=number[rows.menu])
    return ChoiceData(tuple(items), membership[order], counts[order], np.nansum(counts, axis=1)[order], rows)
