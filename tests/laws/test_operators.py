"""The theorems of the paper, stated with its operators and checked with dense matrices."""

from itertools import combinations

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from rumflow.core.lattice import Lattice
from rumflow.core.tree import minimum_spanning_tree, tree_from_edges
from rumflow.data.simulate import dirichlet, rankings_mixture
from tests.reference.operators import (
    cotree_cells,
    operator_am,
    operator_b,
    operator_h,
    operator_k,
    operator_l,
    operator_r,
    preconditioner_m,
    reduced_cells,
    vector_u,
)
from tests.reference.trees import flow_divergence, is_spanning_tree

SIZES = [2, 3, 4]


def dense(operator):
    matrix = operator @ np.eye(operator.shape[1])
    assert pytest.approx(operator.T @ np.eye(operator.shape[0]), abs=1e-12) == matrix.T  # the adjoint is the adjoint
    return matrix


def random_tree(n, seed=0):
    return minimum_spanning_tree(np.random.default_rng(seed).random((n, 1 << (n - 1))))


def internal(n, cells):
    return Lattice(n).cells_to_internal(cells)


@pytest.mark.parametrize("n", SIZES)
def test_shapes_and_identities(n):
    lattice = Lattice(n)
    b, r, k, z = (dense(operator) for operator in (operator_b(n), operator_r(n), operator_k(n), operator_k(n, True)))
    d = lattice.n_cells - (lattice.n_menus - 1)
    assert b.shape == (lattice.n_cells, d)
    assert len(reduced_cells(n)) == d
    assert r @ b == pytest.approx(np.eye(d))
    assert k @ z == pytest.approx(np.eye(lattice.n_cells))
    rho = dirichlet(n, seed=1)[tuple(lattice.cells.T)]
    assert b @ (r @ rho) + vector_u(n) == pytest.approx(rho)


@pytest.mark.parametrize("n", SIZES)
def test_adjoint_of_b_as_printed(n):
    """B^T rho (D, x) = rho(D, x) - rho(D, max D), so B^T u = -1."""
    lattice = Lattice(n)
    rho = np.random.default_rng(0).standard_normal(lattice.shape)
    menu, item = lattice.cells[reduced_cells(n)].T
    largest = np.array([int(m).bit_length() - 1 for m in menu], int)
    expected = rho[menu, item] - rho[menu, largest]
    assert operator_b(n).rmatvec(rho[tuple(lattice.cells.T)]) == pytest.approx(expected)
    assert operator_b(n).rmatvec(vector_u(n)) == pytest.approx(-np.ones(len(menu)))


@pytest.mark.parametrize("n", SIZES)
def test_b_is_the_path_of_one_ranking(n):
    """b = K u is 1 at (D, x) exactly when D = {0, ..., x}."""
    menu, item = Lattice(n).cells.T
    assert operator_k(n) @ vector_u(n) == pytest.approx((menu == (2 << item) - 1).astype(float), abs=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_kb_spans_the_zero_flows(n):
    kb = dense(operator_k(n) @ operator_b(n))
    for column in kb.T:
        assert np.abs(flow_divergence(internal(n, column))).max() <= 1e-13
    assert np.linalg.matrix_rank(kb) == kb.shape[1]
    # Every zero-flow is one, with preimage R K^-1.
    flow = dense(operator_l(random_tree(n)))
    assert kb @ (operator_r(n) @ (operator_k(n, True) @ flow)) == pytest.approx(flow, abs=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_normalised_exactly_when_the_flow_is_a_unit_flow(n):
    lattice = Lattice(n)
    unit = np.zeros(1 << n)
    unit[-1], unit[0] = 1.0, -1.0
    for rho in (dirichlet(n, seed=2), rankings_mixture(n, 3, seed=2)):
        flow = internal(n, operator_k(n) @ rho[tuple(lattice.cells.T)])
        assert flow_divergence(flow) == pytest.approx(unit, abs=1e-12)
        wrong = rho.copy()
        wrong[1, 0] += 0.1
        flow = internal(n, operator_k(n) @ wrong[tuple(lattice.cells.T)])
        assert np.abs(flow_divergence(flow) - unit).max() > 0.05


def test_am_is_invertible_exactly_when_the_complement_is_a_spanning_tree():
    """n = 3, all 792 choices; and then the determinant is 1 or -1."""
    n = 3
    lattice = Lattice(n)
    kb = dense(operator_k(n) @ operator_b(n))
    trees = 0
    for left_out in combinations(range(lattice.n_cells), lattice.n_menus - 1):
        edges = np.zeros(lattice.n_cells, bool)
        edges[list(left_out)] = True
        determinant = np.linalg.det(kb[~edges])
        certified = is_spanning_tree(internal(n, edges.astype(float)) > 0)
        assert abs(determinant) == pytest.approx(float(certified), abs=1e-9)
        trees += certified
    assert trees == 384


@pytest.mark.parametrize("seed", range(20))
def test_am_of_larger_lattices(seed):
    n = 4
    rng = np.random.default_rng(seed)
    lattice = Lattice(n)
    kb = dense(operator_k(n) @ operator_b(n))
    tree = random_tree(n, seed)
    rows = cotree_cells(tree)
    assert abs(np.linalg.det(kb[rows])) == pytest.approx(1.0)
    # Exchange one edge: a tree again or not, and the determinant knows.
    inside = np.setdiff1d(np.arange(lattice.n_cells), rows)
    swapped = np.append(np.delete(rows, rng.integers(len(rows))), rng.choice(inside))
    edges = np.ones(lattice.n_cells, bool)
    edges[swapped] = False
    certified = is_spanning_tree(internal(n, edges.astype(float)) > 0)
    assert abs(np.linalg.det(kb[swapped])) == pytest.approx(float(certified), abs=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_am_and_its_inverse(n):
    tree = random_tree(n)
    am = dense(operator_am(tree))
    assert dense(operator_am(tree, inverse=True)) @ am == pytest.approx(np.eye(len(am)), abs=1e-12)
    assert (dense(operator_k(n) @ operator_b(n))[cotree_cells(tree)] == am).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_eigenvalues_of_the_data_blocks(n):
    """One block per menu, 1 + 11^T: eigenvalues 1 (|D| - 2 times) and |D|, where the paper prints |D| + 1."""
    b = dense(operator_b(n))
    gram = b.T @ b
    menu = Lattice(n).cells[reduced_cells(n), 0]
    assert (gram[menu[:, None] != menu[None, :]] == 0).all()
    for mask in np.unique(menu):
        size = int(mask).bit_count()
        values = np.linalg.eigvalsh(gram[np.ix_(menu == mask, menu == mask)])
        assert values == pytest.approx([1.0] * (size - 2) + [float(size)])


@pytest.mark.parametrize("weighted", [False, True])
def test_h_and_m(weighted):
    n = 4
    lattice = Lattice(n)
    rng = np.random.default_rng(0)
    scaling = 10 ** rng.uniform(-2, 3, lattice.n_cells)
    w = rng.random(lattice.n_cells) * (rng.random(lattice.n_cells) < 0.5) if weighted else None
    b, k = dense(operator_b(n)), dense(operator_k(n))
    expected = b.T @ ((np.ones(lattice.n_cells) if w is None else w)[:, None] * b) + (k @ b).T @ (
        scaling[:, None] * (k @ b)
    )
    h = operator_h(n, scaling, w)
    assert isinstance(h, LinearOperator)
    assert dense(h) == pytest.approx(expected)
    tree = minimum_spanning_tree(internal(n, scaling))
    am = dense(operator_am(tree))
    m = am.T @ (np.maximum(scaling, 1.0)[cotree_cells(tree)][:, None] * am)
    assert dense(preconditioner_m(tree, np.maximum(scaling, 1.0))) @ m == pytest.approx(np.eye(len(m)), abs=1e-8)


def test_figure_of_the_paper():
    """The extension worked out in the paper: n = 3, five values given, seven found."""
    n = 3
    lattice = Lattice(n)
    # (menu, item): value. e2, e3, e4, e10, e12 are given: edges from {1}, {2}, {0,1} -> {0}, {0,1,2} -> {0,1}, {0,1,2} -> {1,2}.
    given = {(2, 1): 5.0, (4, 2): -3.0, (3, 1): 0.0, (7, 2): 2.0, (7, 0): -3.0}
    found = {(1, 0): -2.0, (5, 2): -2.0, (3, 0): 2.0, (6, 2): 3.0}
    index = {tuple(cell): i for i, cell in enumerate(lattice.cells.tolist())}
    edges = np.ones(lattice.n_cells)
    values = np.zeros(lattice.n_cells)
    for cell, value in given.items():
        edges[index[cell]] = 0.0
        values[index[cell]] = value
    tree = tree_from_edges(internal(n, edges) > 0)
    flow = operator_l(tree) @ values[cotree_cells(tree)]
    for cell, value in {**given, **found}.items():
        assert flow[index[cell]] == pytest.approx(value)
