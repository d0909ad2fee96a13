"""The kernels of the smoothed projection against dense linear algebra, compiled and as plain Python."""

import numpy as np
import pytest

from rumflow.core.paths import uniform_flow
from rumflow.core.tree import Tree
from rumflow.solvers.interior import lanes, smoothed, smoothed_path
from rumflow.solvers.interior.cg import diagonal_table
from rumflow.solvers.interior.smoothed import Centre, SmoothedProjector
from tests.reference import lattice as reference
from tests.reference.trees import is_spanning_tree

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
        self.work = smoothed_path.make_workspace(n)
        self.work.scaling[:] = self.scaling
        parts = np.empty((3, 1 << n), np.int32)
        self.tree = Tree(self.work.edges, *parts)

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
    form(smoothed_path.precondition)(case.work, case.tree, case.table, True)
    diagonal = case.scaling + np.diag(case.q).reshape(case.shape)
    assert is_spanning_tree(case.tree.edges)
    assert (case.tree.edges == lightest_tree(diagonal, case.balance)).all()
    assert case.work.inverse == pytest.approx(np.where(case.tree.edges, 0.0, 1 / diagonal))
    # With other numbers and the tree kept.
    before = case.tree.edges.copy()
    case.work.scaling[:] = 10.0 ** case.rng.uniform(-2, 2, case.shape)
    form(smoothed_path.precondition)(case.work, case.tree, case.table, False)
    assert (case.tree.edges == before).all()
    assert case.work.inverse == pytest.approx(np.where(before, 0.0, 1 / (case.work.scaling + case.table)))


WIDTH = 3


def spread(values):
    """A stack of one array per lane, side by side."""
    return np.stack(values, axis=-1).reshape(*values[0].shape[:-1], -1)


def load_case(case, form, dtype, width=WIDTH):
    """Lanes with a scaling, a tree and a right side each; the systems as (matrix, right side)."""
    own = lanes.make_lanes(case.n, case.weights, width, dtype)
    systems = []
    for lane in range(width):
        scaling, right = 10.0 ** case.rng.uniform(-2, 2, case.shape), case.rng.normal(size=case.shape)
        case.work.scaling[:] = scaling
        smoothed_path.precondition(case.work, case.tree, case.table, True)
        case.work.residual[:] = right
        form(smoothed_path.restrict)(case.work, case.tree)
        form(lanes.load_tree)(own, lane, case.tree)
        rz = form(lanes.load)(own, lane, case.work.scaling, case.work.inverse, case.work.residual)
        off = ~case.tree.edges
        assert rz == pytest.approx((case.work.residual[off] ** 2 / (scaling + case.table)[off]).sum())
        tree = Tree(case.tree.edges.copy(), *(part.copy() for part in case.tree[1:]))
        systems.append((case.q + np.diag(scaling.ravel()), right, tree))
    return own, systems


def test_hessian(case, form):
    own, systems = load_case(case, form, np.float64)
    vectors = [case.rng.normal(size=case.shape) for _ in systems]
    own.direction[:] = spread(vectors)
    form(lanes.apply_hessian)(own, WIDTH)
    images = [(matrix @ v.ravel()).reshape(case.shape) for (matrix, *_), v in zip(systems, vectors, strict=True)]
    assert own.image == pytest.approx(spread(images), rel=1e-11, abs=1e-11)
    assert own.each == pytest.approx([(v * image).sum() for v, image in zip(vectors, images, strict=True)])


def test_rows_of_lanes(case, form):
    """Z, Z^T and Z^T Z of every lane, repeated numbers, and sums."""
    values = [case.rng.normal(size=case.shape) for _ in range(WIDTH)]
    for matrix, transform in (
        (case.z, lambda row: form(lanes.sum_row)(row, WIDTH, False)),
        (case.z.T, lambda row: form(lanes.sum_row)(row, WIDTH, True)),
        (case.z.T @ case.z, lambda row: form(lanes.gram_row)(row, WIDTH)),
    ):
        rows = spread(values)
        for row in rows:
            transform(row)
        expected = spread([(matrix @ v.ravel()).reshape(case.shape) for v in values])
        assert rows == pytest.approx(expected, rel=1e-12, abs=1e-12)
    each, row = np.empty(WIDTH), spread(values)[0]
    form(lanes.fold)(row, each)
    assert each == pytest.approx([v[0].sum() for v in values])
    form(lanes.repeat)(each, row)
    assert (row.reshape(-1, WIDTH) == each).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_conjugate_gradients(case, form, dtype):
    own, systems = load_case(case, form, dtype)
    dimensions = case.circulations.shape[1]
    for _ in range(2 * dimensions + 5):  # in exact arithmetic as many as there are dimensions
        form(lanes.iterate)(own)
    error = 1e-9 if dtype is np.float64 else 2e-4
    for lane, (matrix, right, tree) in enumerate(systems):
        form(lanes.take_solution)(own, lane, case.work.step)
        form(smoothed_path.extend)(case.work, tree)
        v = case.circulations
        exact = v @ np.linalg.solve(v.T @ matrix @ v, v.T @ right.ravel())
        assert case.work.step.ravel() == pytest.approx(exact, abs=error * np.abs(exact).max())
        assert case.balance @ case.work.step.ravel() == pytest.approx(np.zeros(1 << case.n), abs=1e-11)


def test_lanes_do_not_depend_on_each_other(case):
    """The same bits beside other systems, beside none, and next to a lane at rest."""
    own, systems = load_case(case, FORMS["compiled"], np.float32)
    alone = lanes.make_lanes(case.n, case.weights, 1, np.float32)
    lanes.load_tree(alone, 0, systems[1][2])
    picked = [part[:, 1::WIDTH].astype(np.float64) for part in (own.scaling, own.inverse, own.residual)]
    lanes.load(alone, 0, *map(np.ascontiguousarray, picked))
    alone.rz[0] = own.rz[1]  # summed before rounding to single precision
    for step in range(6):
        if step == 2:
            lanes.rest(own, 0)
        lanes.iterate(own)
        lanes.iterate(alone)
    assert (own.solution[:, 1::WIDTH] == alone.solution).all()
    assert own.rz[1] == alone.rz[0]
    assert own.rz[0] == 0.0


def test_gradient(case, form):
    cost = np.empty(case.shape)
    form(smoothed_path.gradient)(case.flow, case.target, case.weights, cost)
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
    mean, by_flow, relative = form(smoothed_path.move)(flow, lam, step, aim)
    assert by_flow == pytest.approx(longest[0])
    assert relative == pytest.approx(np.abs(step / case.flow).max())
    assert flow == pytest.approx(new_flow)
    assert lam == pytest.approx(new_lam)
    assert mean == pytest.approx((new_flow * new_lam).mean())
    assert flow.min() > 0
    assert lam.min() > 0


@pytest.mark.parametrize("mu", [1e-1, 1e-4])
def test_points_of_the_path(case, mu):
    """There the gradient less mu / k is orthogonal to every zero-flow. Seven samples, of which one begins at its answer."""
    projector = SmoothedProjector(case.n, case.weights, mu, 1)
    targets = case.rng.uniform(0.0, 0.6, (7, *case.shape))
    rhos, flows, trees = projector.solve(targets)
    again = projector.solve(targets, [None, Centre(flows[1], trees[1]), *[None] * 5])[1]
    for target, rho, flow, other in zip(targets, rhos, flows, again, strict=True):
        assert flow.min() > 0
        assert rho.ravel() == pytest.approx(case.z @ flow.ravel(), abs=1e-12)
        gradient = case.z.T @ (case.w.ravel() * (rho.ravel() - target.ravel()))
        assert case.circulations.T @ (gradient - mu / flow.ravel()) == pytest.approx(0.0, abs=1e-9 / flow.min())
        arriving = case.balance @ flow.ravel()
        assert arriving == pytest.approx([-1.0, *[0.0] * ((1 << case.n) - 2), 1.0], abs=1e-9)
        assert other == pytest.approx(flow, rel=1e-8)


def test_tangents(case):
    projector = SmoothedProjector(case.n, case.weights, 1e-2, 1)
    _, flows, trees = projector.solve(case.rng.uniform(0.0, 0.6, (5, *case.shape)))
    g, h = case.rng.normal(size=(2, 5, *case.shape))
    rows, by_flow = g.copy(), h.copy()
    projector.tangent(flows, trees, rows, by_flow)
    v = case.circulations
    for i, flow in enumerate(flows):
        matrix = case.q + np.diag(1e-2 / flow.ravel() ** 2)
        exact = v @ np.linalg.solve(v.T @ matrix @ v, v.T @ (case.z.T @ g[i].ravel() + h[i].ravel()))
        assert by_flow[i].ravel() == pytest.approx(exact, abs=1e-9)
        assert rows[i].ravel() == pytest.approx(case.z @ exact, abs=1e-9)


def test_single_precision_that_fails_is_followed_by_double(case, monkeypatch):
    """The same points where the first attempt gives up at once."""
    projector = SmoothedProjector(case.n, case.weights, 1e-3, 1)
    targets = case.rng.uniform(0.0, 0.6, (3, *case.shape))
    expected = projector.solve(targets)[1]
    attempts = []

    def fail(*args):
        attempts.append(args[6].rz.dtype)
        if args[6].rz.dtype == np.float32:
            args[9][:] = np.nan  # flows of no use
        else:
            smoothed_path.centre_piece(*args)

    monkeypatch.setattr(smoothed, "centre_piece", fail)
    assert projector.solve(targets)[1] == pytest.approx(expected, rel=1e-8)
    assert attempts == [np.float32, np.float64]


def test_pieces_and_threads_do_not_matter(case):
    projector = SmoothedProjector(case.n, case.weights, 1e-3, 1)
    targets = case.rng.uniform(0.0, 0.6, (9, *case.shape))
    flows = projector.solve(targets)[1]
    assert (SmoothedProjector(case.n, case.weights, 1e-3, 2).solve(targets)[1] == flows).all()
    assert (projector.solve(targets[4:5])[1][0] == flows[4]).all()
