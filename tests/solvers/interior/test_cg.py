"""Conjugate gradients: against dense solves, against the paper's coordinates, and where they must fail."""

import numpy as np
import pytest

from rumflow.core.lattice import Lattice
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.errors import InputError
from rumflow.solvers.interior import cg
from rumflow.solvers.interior.cg import PRECONDITIONERS, apply_hessian, build_system, diagonal_table, pcg, restart
from tests.reference.operators import (
    operator_b,
    operator_h,
    operator_k,
    preconditioner_m,
)
from tests.reference.trees import flow_divergence


def problem(n, seed=0, spread=3.0, weighted=False, observed=1.0):
    """A scaling, weights, and a right side in flow space."""
    rng = np.random.default_rng(seed)
    shape = (n, 1 << (n - 1))
    scaling = 10 ** rng.uniform(-spread, spread, shape)
    weights = rng.uniform(0.5, 2.0, shape) * (rng.random(shape) < observed) if weighted else NO_WEIGHTS
    return scaling, weights, rng.standard_normal(shape)


def dense_solution(n, scaling, weights, rhs):
    """K B xi for the paper's H xi = B^T K^T rhs."""
    lattice = Lattice(n)
    w = lattice.internal_to_cells(weights) if len(weights) else None
    h = operator_h(n, lattice.internal_to_cells(scaling), w)
    kb = operator_k(n) @ operator_b(n)
    xi = np.linalg.solve(h @ np.eye(h.shape[0]), kb.rmatvec(lattice.internal_to_cells(rhs)))
    return lattice.cells_to_internal(kb @ xi)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS)
@pytest.mark.parametrize("case", ["plain", "weighted", "incomplete"])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_agrees_with_a_dense_solve(n, preconditioner, case):
    scaling, weights, rhs = problem(n, n, 1.0, case != "plain", 0.3 if case == "incomplete" else 1.0)
    before = (scaling.copy(), rhs.copy())
    result = pcg(build_system(scaling, weights, preconditioner), rhs, Stop(1e-12))
    assert result.status == "converged"
    expected = dense_solution(n, scaling, weights, rhs)
    assert np.abs(result.flow - expected).max() <= 1e-8 * np.abs(expected).max()
    assert np.abs(flow_divergence(result.flow)).max() <= 1e-12 * np.abs(expected).max() * 10
    assert (scaling == before[0]).all()
    assert (rhs == before[1]).all()


@pytest.mark.parametrize("preconditioner", ["tree", "tree-scaled"])
def test_same_iterates_in_flow_space_and_in_the_papers_coordinates(preconditioner):
    """Textbook PCG on H with M = A_m^T diag(m) A_m, beside ours: the flows K B xi_k agree step by step."""
    n = 5
    lattice = Lattice(n)
    scaling, _, rhs = problem(n, 1, 1.0)
    system = build_system(scaling, NO_WEIGHTS, preconditioner)
    ours = []
    pcg(system, rhs, Stop(0.0), max_iterations=8, callback=lambda i, error, flow: ours.append(flow.copy()))
    cells = lattice.internal_to_cells(scaling)
    table = lattice.internal_to_cells(diagonal_table(np.empty((0, 1)), n))
    m = np.maximum(cells, 1.0) if preconditioner == "tree" else cells + table
    h, inverse = operator_h(n, cells), preconditioner_m(system.tree, m)
    kb = operator_k(n) @ operator_b(n)
    xi, r = np.zeros(h.shape[0]), kb.rmatvec(lattice.internal_to_cells(rhs))
    z = inverse @ r
    p, rz = z, r @ z
    assert len(ours) == 8  # rounding grows tenfold a step
    for flow in ours:
        image = h @ p
        step = rz / (p @ image)
        xi, r = xi + step * p, r - step * image
        z = inverse @ r
        p, rz = z + (r @ z) / rz * p, r @ z
        assert lattice.internal_to_cells(flow) == pytest.approx(kb @ xi, abs=1e-8 * np.abs(flow).max())


def test_none_and_jacobi_are_the_textbook_ones():
    """diag(H) is what Jacobi divides by."""
    n = 4
    lattice = Lattice(n)
    scaling, weights, _ = problem(n, 2, 2.0, weighted=True)
    h = operator_h(n, lattice.internal_to_cells(scaling), lattice.internal_to_cells(weights))
    diagonal = np.diag(h @ np.eye(h.shape[0]))
    for name, expected in (("jacobi", 1 / diagonal), ("none", np.ones(len(diagonal)))):
        inverse = lattice.internal_to_cells(build_system(scaling, weights, name).inverse)
        assert inverse[inverse > 0] == pytest.approx(expected)


def test_diagonal_table():
    n = 4
    rng = np.random.default_rng(0)
    weights = rng.random((n, 8))
    lattice = Lattice(n)
    z = operator_k(n, inverse=True) @ np.eye(lattice.n_cells)
    expected = np.diag(z.T @ (lattice.internal_to_cells(weights)[:, None] * z))
    assert lattice.internal_to_cells(diagonal_table(weights, n)) == pytest.approx(expected)
    sizes = np.bitwise_count(lattice.cells[:, 0].astype(np.uint32))
    assert lattice.internal_to_cells(diagonal_table(np.empty((0, 8)), n)) == pytest.approx(2.0 ** (sizes - 1.0))


@pytest.mark.parametrize("bits", [0, 1, 2, 3, 4, 7, 12, 13, 14, 15])
def test_gram_row_is_zeta_and_its_adjoint(bits):
    row = np.random.default_rng(bits).standard_normal(1 << bits)
    expected = row.copy()
    cg.transform_row(expected, bits, 1.0, False)
    cg.transform_row(expected, bits, 1.0, True)
    cg.gram_row(row, bits)
    assert np.abs(row - expected).max() <= 1e-14 * np.abs(expected).max() * max(bits, 1)


def test_result_says_what_is_true():
    """The error returned is that of the residual computed afresh, also after many steps on a badly scaled system."""
    scaling, _, rhs = problem(7, 3, 6.0)
    system = build_system(scaling)
    result = pcg(system, rhs, Stop(1e-9))
    assert result.status == "converged"
    assert result.error <= 1.01 * result.goal
    image = np.empty_like(rhs)
    apply_hessian(system, result.flow, image)
    again = pcg(system, rhs - image, Stop(0.0), max_iterations=0)
    assert again.error == pytest.approx(result.error, rel=1e-6)


def test_impossible_accuracy_is_not_claimed():
    scaling, _, rhs = problem(6, 4, 7.0)
    result = pcg(build_system(scaling), rhs, Stop(1e-30), max_iterations=3000)
    assert result.status in ("stalled", "max_iterations")
    assert result.error > result.goal


def test_limits_and_failures():
    scaling, _, rhs = problem(5)
    system = build_system(scaling)
    short = pcg(system, rhs, Stop(1e-12), max_iterations=3)
    assert (short.status, short.iterations) == ("max_iterations", 3)
    assert pcg(system, rhs, Stop(1e-12), deadline=0.0).status == "deadline"
    assert pcg(system, np.full_like(rhs, np.nan)).status == "breakdown"
    negative = system._replace(scaling=-1e3 * scaling)
    assert pcg(negative, rhs).status == "breakdown"
    zero = pcg(system, np.zeros_like(rhs))
    assert (zero.status, zero.iterations) == ("converged", 0)
    assert not zero.flow.any()
    with pytest.raises(InputError, match="tree-scaled"):
        build_system(scaling, NO_WEIGHTS, "ilu")


def test_potentials_on_the_right_side_do_not_matter():
    scaling, _, rhs = problem(5, 6, 1.0)
    p = np.random.default_rng(0).standard_normal(32)
    shifted = rhs.copy()
    cg.subtract_differences(shifted, p, 0, 5)
    system = build_system(scaling)
    one, two = pcg(system, rhs, Stop(1e-11)), pcg(system, shifted, Stop(1e-11))
    assert two.flow == pytest.approx(one.flow, abs=1e-9 * np.abs(one.flow).max())


def test_warm_start():
    scaling, _, rhs = problem(6, 7)
    system = build_system(scaling)
    change = 0.01 * np.random.default_rng(1).standard_normal(rhs.shape)
    first = pcg(system, rhs, Stop(1e-8))
    cold = pcg(system, rhs + change, Stop(1e-8))
    warm = pcg(system, rhs + change, Stop(1e-8), start=restart(system, first, change))
    assert warm.status == "converged"
    assert warm.iterations < cold.iterations
    assert warm.flow == pytest.approx(cold.flow, abs=1e-6 * np.abs(cold.flow).max())


def test_iteration_budget_on_a_frozen_barrier():
    """n = 8, D = 1e6 on 80 % of the edges: the trees need few iterations, Jacobi and none many."""
    rng = np.random.default_rng(0)
    scaling = np.where(rng.random((8, 128)) < 0.8, 1e6, 1e-2)
    rhs = rng.standard_normal(scaling.shape)
    used = {
        name: pcg(build_system(scaling, NO_WEIGHTS, name), rhs, Stop(1e-8), max_iterations=2000).iterations
        for name in PRECONDITIONERS
    }
    assert used["tree-scaled"] <= 120
    assert used["tree"] <= 250
    assert min(used["none"], used["jacobi"]) >= 2 * used["tree"]


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_change_a_bit(weighted):
    scaling, weights, rhs = problem(15, 8, weighted=weighted)
    one, two = (
        pcg(build_system(scaling, weights, threads=threads), rhs, Stop(0.0), max_iterations=4) for threads in (1, 2)
    )
    assert (one.flow == two.flow).all()
    assert one.error == two.error
