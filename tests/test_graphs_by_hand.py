"""Choice graphs and patches of budgets by hand."""

from itertools import product

import numpy as np
import pytest

from rumflow import RandomUtility, SinglePeaked
from rumflow.core import (
    graph,
    rational_types,
)
from rumflow.core.arrangement import find_patches, merge_equal
from rumflow.core.graph_build import build_graph, label_arcs
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError

# Choice graphs ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [RandomUtility(), SinglePeaked(range(20))])
def test_prices_of_twenty_items_in_pieces(model, monkeypatch):
    monkeypatch.setattr(graph, "_THREADED", 1)
    rng = np.random.default_rng(0)
    menus = np.zeros((3, 20), bool)
    menus[0, [0, 5, 17]] = menus[1, [5, 18, 19]] = menus[2, [0, 19]] = True
    cells = Cells(menus)
    own = model.geometry(cells)
    cost = rng.integers(-9, 10, own.shape).astype(float)
    types = [tuple(row) for row in cells.types_of_orders(np.array([rng.permutation(20) for _ in range(300)])).tolist()]
    sweeps = []
    for count in (1, 2, 3):
        sweep = graph.make_sweep(own)
        price = graph.run_sweep(own, cost, sweep, count)
        real = own.head < own.n_nodes
        sweeps.append((price, sweep.price[real].tolist(), sweep.above[:-1].tolist(), sweep.below[:-1].tolist()))
    assert sweeps[0] == sweeps[1] == sweeps[2]
    if isinstance(model, RandomUtility):
        assert sweeps[0][0] == min(sum(cost[j, c] for j, c in enumerate(row)) for row in types)
    for count in (1, 2):
        down = graph.make_sweep(own)
        assert graph.run_sweep(own, cost, down, count, up=False) == sweeps[0][0]
        assert np.isinf(down.above).all()


def test_a_choice_graph_by_hand():
    """Two menus of two cells each, decided one after the other; the second way to node 1 fills the same cells."""
    arcs = [(0, 1, [0]), (0, 1, [1]), (1, 2, [2]), (1, 2, [3])]
    own = build_graph(3, arcs, (2, 2))
    assert (own.n_nodes, own.n_arcs) == (3, 4)
    assert own.first.tolist() == [0, 2, 4, 4]
    assert own.head.tolist() == [1, 1, 2, 2]
    assert own.label.tolist() == [1, 2, 3, 4]
    assert own.parent.tolist() == [0] * 5
    assert own.cell.tolist() == [0, 0, 1, 2, 3]
    arrays = [np.asarray(a).nbytes for a in own[2:]]
    assert own.n_bytes == sum(arrays) + 8 * (5 + 4) + 28 * 3
    cost = np.array([[3.0, 1.0], [2.0, 5.0]])
    price, row = graph.cheapest_type(own, cost)
    assert (price, row.tolist()) == (3.0, [1, 0])
    assert graph.inner_point(own).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert graph.cells_of_types(np.array([[1, 0], [1, 1]]), np.array([0.25, 0.5]), (2, 2)).tolist() == [
        [0, 0.75],
        [0.25, 0.5],
    ]
    found = np.full(3, -7)
    assert graph.follow_type(own, np.array([1, 1], np.int32), found) == 2
    assert found.tolist() == [1, 3, -7]
    assert graph.follow_type(own, np.array([1, 5], np.int32), found) == -1


def test_labels_are_shared_by_arcs_that_begin_alike():
    label, parent, cell = label_arcs(np.array([0, 2, 4, 4, 5]), np.array([3, 5, 3, 6, 4]), 8)
    assert label.tolist() == [3, 4, 0, 2]
    assert parent.tolist() == [0, 0, 0, 1, 1]
    assert cell.tolist() == [0, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("nodes", "arcs", "words"),
    [
        (1, [], "at least 2 nodes, the first and the last, not 1"),
        (2, [(0, 2, [0])], r"arc 0: node 2 is not among 0 .. 1"),
        (2, [(-1, 1, [0])], r"arc 0: node -1 is not among 0 .. 1"),
        (2, [(0, 1, [4])], r"cell 4 is not among 0 .. 3"),
        (2, [(0, 1, [-1])], r"cell -1 is not among 0 .. 3"),
        (2, [(0, 1, [0, 1])], "arc 0 from node 0 to 1 decides menu 0 twice"),
        (2, [(0, 1, [2, 3])], "arc 0 from node 0 to 1 decides menu 1 twice"),
        (3, [(0, 1, [0]), (1, 2, [1, 2])], "arc 1 from node 1 to 2 decides menu 0, which a way to node 1 has decided"),
        (3, [(0, 1, [0]), (0, 1, [2]), (1, 2, [])], r"one way to node 1 decides menu 1, another does not \(arc 1"),
        (2, [(0, 1, [0])], "no path decides menu 1:"),
        (2, [(0, 1, [2])], "no path decides menu 0:"),
        (3, [(0, 2, [0, 2]), (1, 2, [])], "node 1 cannot be reached from node 0"),
        (3, [(0, 2, [0, 2]), (0, 1, [])], "node 1 leads nowhere: no way to node 2"),
        (4, [(0, 1, []), (1, 2, []), (2, 1, []), (2, 3, [0, 2])], "cycle: (1 -> 2 -> 1|2 -> 1 -> 2)"),
    ],
)
def test_what_is_wrong_with_arcs(nodes, arcs, words):
    with pytest.raises(InputError, match=words):
        build_graph(nodes, arcs, (2, 2))


def test_cells_in_words_and_in_part():
    many = Cells(np.ones((1, 7), bool), items="abcdefg")
    assert many.name(0) == "0 {a, b, c, d, e, f, ... 7 items}"
    few = Cells(np.ones((2, 6), bool), items="abcdef")
    assert few.name(1) == "1 {a, b, c, d, e, f}"
    assert few.n_items == 6
    menus = [[True, True, False], [True, True, True]]
    recorded = [[True, False, False], [True, True, True]]
    cells = Cells(menus, recorded, "abc")
    assert cells.count.tolist() == [2, 3]
    assert cells.remainder.tolist() == [1, -1]
    assert cells.item.tolist() == [[0, -1, -2], [0, 1, 2]]
    assert cells.types_of_orders(np.array([[1, 0, 2], [2, 0, 1]])).tolist() == [[1, 1], [0, 2]]
    assert cells.same(Cells(menus, recorded, "abc"))
    assert not cells.same(Cells(menus, recorded, "abd"))
    assert not cells.same(Cells(menus, None, "abc"))
    assert not cells.same(Cells([[True, True, True], menus[1]], recorded, "abc"))
    first = cells.part(np.array([0]))
    assert (first.membership.tolist(), first.recorded.tolist(), first.items) == (
        menus[:1],
        recorded[:1],
        ("a", "b", "c"),
    )
    with pytest.raises(InputError, match=r"table is needed, not shape \(0, 3\)"):
        Cells(np.empty((0, 3), bool))


# Budgets ----------------------------------------------------------------------------------------------------------------------


def test_two_budgets_of_two_goods_by_hand():
    """x + 2 y = 1 and 2 x + y = 1 cross at (1/3, 1/3): each has a patch below the other, and one above."""
    found = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert found.budget.tolist() == [0, 0, 1, 1]
    assert found.signs.tolist() == [[0, -1], [0, 1], [-1, 0], [1, 0]]
    assert found.first.tolist() == [0, 2, 4, 6, 8]
    shares = [
        {tuple(np.round(c, 9)) for c in found.corners[a:b]} for a, b in zip(found.first, found.first[1:], strict=False)
    ]
    third = round(1 / 3, 9), round(2 / 3, 9)
    assert shares == [{(0.0, 1.0), third}, {(1.0, 0.0), third}, {(1.0, 0.0), third[::-1]}, {(0.0, 1.0), third[::-1]}]
    one = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]), [1])
    assert (one.budget.tolist(), one.signs.tolist()) == ([1, 1], [[-1, 0], [1, 0]])
    apart = find_patches(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert apart.signs.tolist() == [[0, 1], [-1, 0]]


def test_patches_of_random_budgets_are_the_signs_that_occur(rng):
    """Of random bundles on the budgets every sign vector is a patch, and every patch has a bundle: the mean of its corners."""
    prices = rng.uniform(0.5, 2.0, (4, 3))
    found = find_patches(prices)
    for j in range(4):
        own = found.signs[found.budget == j]
        y = rng.dirichlet(np.ones(3), 4000)
        drawn = np.sign(y / prices[j] @ prices.T - 1).astype(int)
        drawn[:, j] = 0
        assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in own.tolist()}
    for i, (j, signs) in enumerate(zip(found.budget, found.signs, strict=True)):
        corners = found.corners[found.first[i] : found.first[i + 1]]
        assert corners.sum(axis=1) == pytest.approx(1.0)
        assert len(corners) >= 3
        above = corners.mean(axis=0) / prices[j] @ prices.T - 1
        assert [0 if k == j else int(np.sign(v)) for k, v in enumerate(above)] == signs.tolist()


def test_equal_budgets_and_crossings_up_to_rounding(monkeypatch):
    near, far = [1.0 + 0.9e-9, 2.0], [1.0 + 1.1e-9, 2.0]
    assert merge_equal(np.array([[1.0, 2.0], [2.0, 1.0], near, [2.0, 1.0]])).tolist() == [0, 1, 0, 1]
    assert merge_equal(np.array([[1.0, 2.0], [2.0, 1.0], far, far])).tolist() == [0, 1, 2, 2]
    # A third budget through the crossing of two others makes no patch between them.
    through = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.5 + 1e-10]])
    assert [int((find_patches(through).budget == j).sum()) for j in range(3)] == [2, 2, 2]
    beside = np.array([[1.0, 2.0], [2.0, 1.0], [1.5, 1.6]])
    assert [int((find_patches(beside).budget == j).sum()) for j in range(3)] == [3, 3, 3]
    monkeypatch.setattr("rumflow.core.arrangement.MOST_PATCHES", 8)
    with pytest.raises(InputError, match=r"3 budgets with 2 goods have too many patches \(at most 8 are"):
        find_patches(beside)
    monkeypatch.setattr("rumflow.core.arrangement.MOST_PATCHES", 9)
    assert len(find_patches(beside).budget) == 9


def brute_force_types(signs, budget):
    """All choices of a patch from every budget without a cycle: how many, and the share that takes each patch."""
    n = signs.shape[1]
    number, taken = 0, np.zeros(len(signs))
    for chosen in product(*(np.flatnonzero(budget == j).tolist() for j in range(n))):
        ahead = {j: {k for k in range(n) if signs[chosen[j], k] < 0} for j in range(n)}
        left = set(range(n))
        while free := [j for j in left if not ahead[j] & left]:
            left -= set(free)
        if not left:
            number += 1
            taken[list(chosen)] += 1
    return number, taken / max(number, 1)


@pytest.mark.parametrize("seed", range(4))
def test_rational_types_are_counted(seed):
    prices = np.random.default_rng(seed).uniform(0.5, 2.0, (4, 3))
    found = find_patches(prices)
    number, mean = brute_force_types(found.signs, found.budget)
    counted = rational_types.count_types(found.signs, found.budget)
    assert counted.number == number
    assert counted.mean == pytest.approx(mean, abs=1e-15)


def test_groups_of_budgets_and_their_limits(monkeypatch):
    two = find_patches(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert [group.tolist() for group in rational_types.link_budgets(two.signs, two.budget)] == [[0, 1]]
    apart = find_patches(np.array([[1.0, 1.0], [2.0, 2.0]]))
    assert [group.tolist() for group in rational_types.link_budgets(apart.signs, apart.budget)] == [[0], [1]]
    assert rational_types.sets_below(np.array([[0, -1, -1], [1, 0, -1], [1, 1, 0]])).tolist() == [6, 4, 0]
    # 1 + 2 + 2 + 1 terms: at the start one patch of either budget is allowed.
    assert rational_types.count_types(two.signs, two.budget).number == 3
    assert rational_types.count_types(two.signs, two.budget, 9).number == 3
    with pytest.raises(InputError, match="2 budgets that cross each other have too many orders"):
        rational_types.count_types(two.signs, two.budget, 8)
    with pytest.raises(InputError, match="no type takes a patch from every budget without a cycle"):
        rational_types.count_types(np.array([[0, -1], [-1, 0]]), np.array([0, 1]))
    monkeypatch.setattr(rational_types, "MOST_LINKED", 2)
    assert rational_types.count_types(two.signs, two.budget).number == 3
    monkeypatch.setattr(rational_types, "MOST_LINKED", 1)
    with pytest.raises(InputError, match="2 budgets cross each other, directly or through others; at most 1"):
        rational_types.count_types(two.signs, two.budget)
