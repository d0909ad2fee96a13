import numpy as np
import pytest

from rumflow.data import simulate
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from tests.reference.shops import N


@pytest.fixture(scope="module")
def large_shop():
    """300 items in no natural order, 300 menus of 285, 3,000 choices one by one."""
    counted = simulate.stock_outs(N, 300, 0.05, draws=10, seed=0)
    items = tuple(f"product {k}" for k in np.random.default_rng(0).permutation(N))
    menu, item = np.nonzero(np.nan_to_num(counted.counts))
    times = counted.counts[menu, item].astype(int)
    menu, item = np.repeat(menu, times), np.repeat(item, times)
    subject = np.concatenate([np.arange(50), np.random.default_rng(1).integers(50, size=len(menu) - 50)])
    rows = Rows(menu.astype(np.int32), item.astype(np.int16), np.ones(len(menu)), subject.astype(np.int32), None,
                tuple(range(50)))  # fmt: skip
    return ChoiceData(items, counted.membership, counted.counts, counted.totals, rows)
