"""The kernels of the smoothed projection against dense linear algebra, compiled and as plain Python."""

import numpy as np
import pytest
import reference

from rumflow.core.paths import uniform_flow
from rumflow.core.tree import Tree, is_spanning_tree
from rumflow.solvers.interior import smoothed
from rumflow.solvers.interior.cg import diagonal_table

FORMS = {"compiled": lambda function: function, "plain": lambda function: function.py_func}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


class Case:
    """A positive flow and a positive diagonal, with the dense matrices of the problem."""

    def __init__(self, n, weighted, rng):
        self.n, self.rng = n, rng
        shape = self.shape = (n, 1 << (n - 1))
        self.weights = rng.uniform(0.3, 3.0, shape) if weighted else np.empty((0, shape[1]))
        self.w = self.weights if weighted else np.ones(shape)
        self.scaling = 10.0 ** rng.uniform(-2, 2, shape)
        self.target = rng.uniform(0.0, 0.6, shape)
        self.flow = uniform_flow(n) * rng.uniform(0.5, 1.5, shape)
        size = self.size = self.flow.size
        eye = np.eye(size).reshape(size, *shape)
        self.z = np.array([reference.superset_sums(one).ravel() for one in eye]).T
        self.q = self.z.T @ (self.w.ravel()[:, None] * self.z)
        self.matrix = self.q + np.diag(self.scaling.ravel())
        # Conservation of flow at every menu but the empty one: what leaves is what arrives.
        self.balance = np.zeros((1 << n, size))
        for mask in range(1, 1 << n):
            for x in range(n):
                if mask >> x & 1:
                    edge = x * shape[1] + reference.column(mask, x)
                    self.balance[mask, edge] += 1
                    self.balance[mask - 2**x, edge] -= 1
        _, values, vectors = np.linalg.svd(self.balance)
        self.circulations = vectors[np.sum(values > 1e-10) :].T
        self.table = diagonal_table(self.weights, n, 1)
        self.work = smoothed.make_workspace(n)
        self.work.scaling[:] = self.scaling
        parts = np.empty((3, 1 << n), np.int32)
        self.tree = Tree(np.empty(shape, np.bool_), *parts)

    def solve(self, right):
        """The zero-flow dk with <h, (Q + D) dk - right> = 0 for every zero-flow h."""
        v = self.circulations
        return v @ np.linalg.solve(v.T @ self.matrix @ v, v.T @ right.ravel())


@pytest.fixture(params=[(2, False), (3, True), (4, False), (4, True)], ids=str)
def case(request, rng):
    return Case(*request.param, rng)


def test_table_is_the_diagonal(case):
    assert case.table.ravel() == pytest.approx(np.diag(case.q), rel=1e-12)


def lightest_tree(weights, balance):
    """Kruskal: edges by weight, each that closes no circle."""
    edges, link = np.zeros(weights.size, np.bool_), list(range(len(balance)))

    def root(v):
        while link[v] != v:
            v = link[v]
        return v

    for edge in np.argsort(weights.ravel(), kind="stable"):
        a, b = (root(int(v)) for v in np.flatnonzero(balance[:, edge]))
        if a != b:
            link[a] = b
            edges[edge] = True
    return edges.reshape(weights.shape)


def test_precondition(case, form):
    form(smoothed.precondition)(case.work, case.tree, case.table, True)
    diagonal = case.scaling + np.diag(case.q).reshape(case.shape)
    assert is_spanning_tree(case.tree.edges)
    assert (case.tree.edges == lightest_tree(diagonal, case.balance)).all()
    assert case.work.inverse == pytest.approx(np.where(case.tree.edges, 0.0, 1 / diagonal))
    # With other numbers and the tree kept.
    before = case.tree.edges.copy()
    case.work.scaling[:] = 10.0 ** case.rng.uniform(-2, 2, case.shape)
    form(smoothed.precondition)(case.work, case.tree, case.table, False)
    assert (case.tree.edges == before).all()
    assert case.work.inverse == pytest.approx(np.where(before, 0.0, 1 / (case.work.scaling + case.table)))


def test_hessian(case, form):
    direction, out = case.rng.normal(size=case.shape), np.empty(case.shape)
    form(smoothed.hessian)(direction, out, case.scaling, case.weights, np.empty(direction.size))
    assert out.ravel() == pytest.approx(case.matrix @ direction.ravel(), rel=1e-11, abs=1e-11)


def test_sums_over_lanes(case, form):
    """Items side by side: the transposed rows, multiplied by Z, Z^T and Z^T Z."""
    rows = case.rng.normal(size=case.shape)
    for matrix, transform in (
        (case.z, lambda lanes: form(smoothed.sum_lanes)(lanes, case.n, False)),
        (case.z.T, lambda lanes: form(smoothed.sum_lanes)(lanes, case.n, True)),
        (case.z.T @ case.z, lambda lanes: form(smoothed.gram_lanes)(lanes, case.n)),
    ):
        lanes = rows.T.ravel().copy()
        transform(lanes)
        assert lanes.reshape(-1, case.n).T.ravel() == pytest.approx(matrix @ rows.ravel(), rel=1e-12, abs=1e-12)
    square = form(smoothed.weighted_square)(case.scaling.ravel(), rows.ravel())
    assert square == pytest.approx((case.scaling * rows**2).sum())


def test_gradient(case, form):
    cost = np.empty(case.shape)
    form(smoothed.gradient)(case.flow, case.target, case.weights, cost)
    residual = case.w.ravel() * (case.z @ case.flow.ravel() - case.target.ravel())
    assert cost.ravel() == pytest.approx(case.z.T @ residual, abs=1e-12)


@pytest.mark.parametrize("size", [0.05, 3.0])
def test_move(case, form, size):
    """Short steps are taken whole, long ones up to 0.995 of the way to the boundary."""
    aim = 1e-3
    flow, lam = case.flow.copy(), 2 * aim / case.flow * case.rng.uniform(0.5, 1.5, case.shape)
    step = size * flow * case.rng.uniform(-1, 1, case.shape)
    other = aim / flow - lam - lam / flow * step
    longest = [
        1.0 if (-change / now).max() <= 0.995 else 0.995 / (-change / now).max()
        for now, change in ((flow, step), (lam, other))
    ]
    new_flow, new_lam = flow + longest[0] * step, lam + longest[1] * other
    mean, by_flow, relative = form(smoothed.move)(flow, lam, step, aim)
    assert by_flow == pytest.approx(longest[0])
    assert relative == pytest.approx(np.abs(step / case.flow).max())
    assert flow == pytest.approx(new_flow)
    assert lam == pytest.approx(new_lam)
    assert mean == pytest.approx((new_flow * new_lam).mean())
    assert flow.min() > 0
    assert lam.min() > 0


def test_conjugate_gradients(case, form):
    right = case.rng.normal(size=case.shape)
    smoothed.precondition(case.work, case.tree, case.table, True)
    case.work.residual[:] = right
    count = form(smoothed.conjugate_gradients)(case.work, case.weights, case.tree, 1e-12, 40 * case.size)
    assert 1 <= count <= 2 * case.circulations.shape[1] + 5  # in exact arithmetic as many as there are dimensions
    assert case.work.solution.ravel() == pytest.approx(case.solve(right), abs=1e-9)
    assert case.balance @ case.work.solution.ravel() == pytest.approx(np.zeros(1 << case.n), abs=1e-11)
    # Stopped early it says how far it came.
    case.work.residual[:] = right
    assert form(smoothed.conjugate_gradients)(case.work, case.weights, case.tree, 1e-12, 1) == 1


@pytest.mark.parametrize("mu", [1e-1, 1e-4])
def test_follow_reaches_the_point_of_the_path(case, form, mu):
    """There the gradient less mu / k is orthogonal to every zero-flow."""
    flow = uniform_flow(case.n)
    found = form(smoothed.follow_path)(
        case.target, case.weights, case.table, mu, flow, case.tree, False, case.work, 100
    )
    assert found
    assert flow.min() > 0
    gradient = case.z.T @ (case.w.ravel() * (case.z @ flow.ravel() - case.target.ravel()))
    assert case.circulations.T @ (gradient - mu / flow.ravel()) == pytest.approx(0.0, abs=1e-6)
    arriving = case.balance @ flow.ravel()
    assert arriving == pytest.approx([-1.0, *[0.0] * ((1 << case.n) - 2), 1.0], abs=1e-9)
