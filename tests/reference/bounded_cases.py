"""Data small enough for graphs, for projections by bounds."""

import rumflow as rf
from rumflow.models.open_menus import Limit

TINY = Limit(nodes=2)


def small_data(seed=0, n=12, m=25, size=3, draws=10):
    return rf.simulate.random_menus(n, m, size, draws=draws, seed=seed)
