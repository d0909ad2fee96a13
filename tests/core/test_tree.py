"""Spanning trees of the lattice of menus: against Kruskal, against dense linear algebra, and by their laws."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumflow.core import tree
from rumflow.core import tree as module
from rumflow.core.tree import minimum_spanning_tree, tree_from_edges
from tests.reference.trees import ends, extend, extend_adjoint, flow_divergence, is_spanning_tree, potentials

sizes = st.integers(1, 6)
seeds = st.integers(0, 10_000)


def incidence(n):
    """(2^n, N): +1 at the menu an edge leaves, -1 at the one it enters; edges in the order of the flattened layout."""
    matrix = np.zeros((1 << n, n << (n - 1)))
    for x in range(n):
        for m in range(1 << (n - 1)):
            high, low = ends(x, m)
            matrix[high, (x << (n - 1)) + m] = 1.0
            matrix[low, (x << (n - 1)) + m] = -1.0
    return matrix


def kruskal(weights):
    """The minimum spanning tree by sorting, ties to the lower index."""
    n, half = weights.shape
    label = list(range(1 << n))
    edges = np.zeros(weights.shape, bool)
    for e in np.argsort(weights.reshape(-1), kind="stable"):
        x, m = divmod(int(e), half)
        a, b = (label[v] for v in ends(x, m))
        if a != b:
            edges[x, m] = True
            label = [a if v == b else v for v in label]
    return edges


def assert_spanning_tree(tree):
    """Certified, and rooted at the empty menu with parents before children."""
    half = tree.edges.shape[1]
    assert tree.edges.sum() == 2 * half - 1
    assert is_spanning_tree(tree.edges)
    assert sorted(tree.order) == list(range(2 * half))
    assert tree.order[0] == 0
    assert (tree.parent[1:] < np.arange(1, 2 * half)).all()
    for i in range(1, 2 * half):
        e = int(tree.edge[i])
        high, low = ends(*divmod(e if e >= 0 else ~e, half))
        child, parent = (high, low) if e >= 0 else (low, high)
        assert (tree.order[i], tree.order[tree.parent[i]]) == (child, parent)


@given(sizes, seeds, st.booleans())
def test_is_the_minimum_spanning_tree(n, seed, ties):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, 1 << (n - 1)))
    if ties:
        weights = np.round(4 * weights)
    tree = minimum_spanning_tree(weights)
    assert_spanning_tree(tree)
    assert (tree.edges == kruskal(weights)).all()


def test_extreme_weights():
    rng = np.random.default_rng(0)
    weights = 10.0 ** rng.uniform(-300, 300, (5, 16))
    assert (minimum_spanning_tree(weights).edges == kruskal(weights)).all()


def test_certificate_rejects_what_is_not_a_spanning_tree():
    tree = minimum_spanning_tree(np.random.default_rng(1).random((4, 8)))
    missing, more, moved = tree.edges.copy(), tree.edges.copy(), tree.edges.copy()
    missing[tuple(np.argwhere(missing)[0])] = False
    more[tuple(np.argwhere(~more)[0])] = True
    assert not is_spanning_tree(missing)
    assert not is_spanning_tree(more)
    # The right number of edges, but a cycle: the four edges between {}, {0}, {1} and {0, 1}.
    moved[0, 0] = moved[0, 1] = moved[1, 0] = moved[1, 1] = True
    others = [e for e in map(tuple, np.argwhere(moved)) if e not in {(0, 0), (0, 1), (1, 0), (1, 1)}]
    for e in others[: moved.sum() - 15]:
        moved[e] = False
    assert moved.sum() == 15
    assert not is_spanning_tree(moved)


def test_certificate_on_every_choice_of_edges():
    """n = 2: the 4-cycle has exactly 4 spanning trees; n = 3, the cube, has 384."""
    for n, count in ((2, 4), (3, 384)):
        total = n << (n - 1)
        found = 0
        for chosen in combinations(range(total), (1 << n) - 1):
            edges = np.zeros(total, bool)
            edges[list(chosen)] = True
            found += is_spanning_tree(edges.reshape(n, -1))
        assert found == count


@given(sizes, seeds)
def test_extension_is_the_zero_flow_with_these_values(n, seed):
    rng = np.random.default_rng(seed)
    tree = minimum_spanning_tree(rng.random((n, 1 << (n - 1))))
    values = np.where(tree.edges, 0.0, rng.standard_normal(tree.edges.shape))
    flow = extend(tree, values.copy())
    assert (flow[~tree.edges] == values[~tree.edges]).all()
    assert np.abs(incidence(n) @ flow.reshape(-1)).max() <= 1e-13
    assert flow_divergence(flow) == pytest.approx(incidence(n) @ flow.reshape(-1), abs=1e-13)
    # Unique: the incidence matrix has full column rank on the tree.
    assert np.linalg.matrix_rank(incidence(n)[:, tree.edges.reshape(-1)]) == (1 << n) - 1


@given(sizes, seeds)
def test_adjoint_of_the_extension(n, seed):
    rng = np.random.default_rng(seed)
    tree = minimum_spanning_tree(rng.random((n, 1 << (n - 1))))
    v = np.where(tree.edges, 0.0, rng.standard_normal(tree.edges.shape))
    y = rng.standard_normal(v.shape)
    down = extend_adjoint(tree, y.copy())
    assert (down[tree.edges] == 0.0).all()
    assert (down * v).sum() == pytest.approx((y * extend(tree, v.copy())).sum(), abs=1e-11)
    # The potentials account for the tree: y - A^T p is the adjoint.
    assert (y.reshape(-1) - incidence(n).T @ potentials(tree, y)).reshape(y.shape) == pytest.approx(down, abs=1e-11)


def test_any_spanning_tree_can_be_rooted():
    edges = np.zeros((3, 4), bool)
    edges[0] = True  # all edges of item 0 ...
    edges[1, ::2] = True  # ... and of item 1 between menus without 0 ...
    edges[2, 0] = True  # ... and one of item 2
    assert_spanning_tree(tree_from_edges(edges))


@pytest.mark.parametrize("n", [1, 5, 7, 8])
def test_divergence_is_what_leaves_minus_what_arrives(n, rng):
    """Menus come in blocks of 64: from seven items on some edges lead from one block to another."""
    flow = rng.integers(0, 100, (n, 1 << (n - 1))).astype(float)
    expected = np.zeros(1 << n)
    for x in range(n):
        for m, value in enumerate(flow[x]):
            high, low = ends(x, m)
            expected[high] += value
            expected[low] -= value
    np.testing.assert_array_equal(flow_divergence(flow), expected)


@pytest.mark.parametrize("n", [7, 15])
def test_threads_do_not_change_a_bit(n):
    rng = np.random.default_rng(3)
    tree = minimum_spanning_tree(rng.random((n, 1 << (n - 1))))
    v = np.where(tree.edges, 0.0, rng.standard_normal(tree.edges.shape))
    y = rng.standard_normal(v.shape)
    assert (extend(tree, v.copy(), 1) == extend(tree, v.copy(), 3)).all()
    assert (extend_adjoint(tree, y.copy(), 1) == extend_adjoint(tree, y.copy(), 3)).all()


def test_kernels_as_plain_python():
    rng = np.random.default_rng(4)
    flow = rng.standard_normal((3, 4))
    node = np.empty(8)
    module.divergence.py_func(flow, node, 3, 0, 8)
    assert node == pytest.approx(incidence(3) @ flow.reshape(-1))
    values = flow.copy()
    module.subtract_differences.py_func(values, node, 0, 3)
    assert values.reshape(-1) == pytest.approx(flow.reshape(-1) - incidence(3).T @ node)
    edges = np.empty((3, 4), bool)
    module.spanning_edges.py_func(flow, edges, 3)
    assert (edges == kruskal(flow)).all()


def test_divergence_and_differences_in_parts_for_threads(rng, monkeypatch):
    monkeypatch.setattr(tree, "THREADED_ITEMS", 8)
    monkeypatch.setattr(tree, "_PARTS", 4)
    flow = rng.integers(0, 100, (8, 128)).astype(float)
    expected = np.zeros(256)
    for x, m in product(range(8), range(128)):
        high, low = ends(x, m)
        expected[high] += flow[x, m]
        expected[low] -= flow[x, m]
    for threads in (1, 2):
        np.testing.assert_array_equal(flow_divergence(flow, threads), expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("ties", [False, True])
def test_small_trees_are_those_of_sorted_edges(n, ties, rng, monkeypatch):
    monkeypatch.setattr(tree, "THREADED_ITEMS", 3)
    monkeypatch.setattr(tree, "_PARTS", 1)
    weights = rng.integers(0, 3 if ties else 10**9, (n, 1 << (n - 1))).astype(float)
    edges, found = kruskal(weights), minimum_spanning_tree(weights)
    np.testing.assert_array_equal(found.edges, edges)
    assert is_spanning_tree(edges)
    values = rng.integers(-9, 10, weights.shape).astype(float)
    p = potentials(found, values)
    assert p[0] == 0.0
    difference = np.array([[p[ends(x, m)[0]] - p[ends(x, m)[1]] for m in range(1 << (n - 1))] for x in range(n)])
    np.testing.assert_array_equal(difference[edges], values[edges])
    np.testing.assert_array_equal(extend_adjoint(found, values.copy(), 2), np.where(edges, 0, values - difference))
    flow = extend(found, np.where(edges, 0.0, values))
    np.testing.assert_array_equal(flow[~edges], values[~edges])
    assert not flow_divergence(flow).any()


def test_a_rooted_tree_by_hand():
    """All edges of item 0, and that of item 1 between the empty menu and {1}: 0 - 1, 0 - 2, 2 - 3."""
    found = tree.tree_from_edges(np.array([[True, True], [True, False]]))
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.parent.tolist() == [0, 0, 0, 2]
    assert found.edge.tolist() == [0, 0, 2, 1]
    upside_down = tree.tree_from_edges(np.array([[True, True], [False, True]]))
    assert upside_down.order.tolist() == [0, 1, 3, 2]
    assert upside_down.parent.tolist() == [0, 0, 1, 2]
    assert upside_down.edge.tolist() == [0, 0, 3, ~1]
