"""Linear programmes over ranges of shares, against enumeration."""

from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.solvers import linear_programs
from rumflow.solvers.range_programs import RangePrograms, Ranges
from tests.reference.assortments import choices_of


@pytest.mark.parametrize("by_columns", [False, True])
def test_programmes_against_enumeration(by_columns, monkeypatch):
    if by_columns:
        monkeypatch.setattr(linear_programs, "FLOW_ARCS", 0)
    rng = np.random.default_rng(0)
    membership = np.array([[1, 1, 1, 0], [1, 1, 0, 1], [0, 1, 1, 1], [1, 0, 0, 1]], bool)
    cells = Cells(membership)
    graph = rf.RandomUtility().geometry(cells)
    orders = np.array(list(permutations(range(4))))
    taken = choices_of(orders, membership)
    menu, item = np.nonzero(membership)
    matrix = (taken[:, menu] == item).T.astype(float)
    column = cells.column[menu, item].astype(np.int64)
    for _ in range(15):
        sums = (rng.random((6, len(menu))) < 0.3).astype(float)
        centre = sums @ matrix @ rng.dirichlet(np.full(24, 0.1))
        centre += rng.normal(0, rng.choice([0.0, 0.2]), 6)
        ranges = Ranges(linear_programs.sparse.csr_matrix(sums), centre, rng.uniform(0.01, 0.2, 6))
        programs = RangePrograms(graph, menu, column, cells.types_of_orders(orders[:1]), ranges)
        near, (types, weights) = programs.nearest()
        limits = {"A_ub": np.vstack([sums @ matrix, -sums @ matrix]), "A_eq": np.ones((1, 24)), "b_eq": [1.0]}
        room = np.append(centre, -centre) + np.tile(ranges.room, 2)
        cost = rng.normal(size=(4, 4))
        expected = linprog(cost[menu, item] @ matrix, b_ub=room, **limits)
        assert (near.bound > 1) == (expected.status == 2)
        assert weights.sum() == pytest.approx(1.0)
        assert near.bound <= near.value + 1e-9
        if expected.status == 0:
            assert near.value <= 1 + 1e-9
            own = (types[:, menu] == column).T @ weights
            assert (np.abs(sums @ own - centre) <= near.value * ranges.room + 1e-7).all()
            solution, (found, share) = programs.minimiser(cells.to_table(cost))
            assert (solution.value, solution.bound) == pytest.approx((expected.fun,) * 2, abs=1e-6)
            reached = (found[:, menu] == column).T @ share
            assert cost[menu, item] @ reached == pytest.approx(expected.fun, abs=1e-6)
            assert (np.abs(sums @ reached - centre) <= ranges.room + 1e-7).all()
