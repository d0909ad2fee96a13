"""The kernels of the tangent space against dense linear algebra over all rankings, compiled and as plain Python."""

from itertools import permutations

import numpy as np
import pytest

from rumflow.core.compile import leaf
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS
from rumflow.core.problem import Problem as Projection
from rumflow.solvers import tangent
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Workspace, make_problem
from rumflow.solvers.small.solve import begin_small
from rumflow.solvers.small.workspace import make_small, make_workspace
from tests.reference import lattice as reference

FORMS = {"compiled": lambda function: function, "plain": lambda function: function.py_func}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


@leaf
def run_span_small(problem, workspace, flow, dimension):
    tangent.span_small(problem, workspace, flow, dimension)


@leaf
def run_tangent_small(problem, workspace, cost):
    tangent.tangent_small(problem, workspace, cost)


class Face:
    """The smallest face that holds a mixture of rankings, by enumeration."""

    def __init__(self, n, k, weighted, rng):
        self.n = n
        self.paths = np.array([reference.path_of(order) for order in permutations(range(n))])
        self.rho = np.array([reference.ranking_rows(order).ravel() for order in permutations(range(n))])
        self.own = rng.choice(len(self.paths), min(k, len(self.paths)), replace=False)
        self.lam = rng.dirichlet(np.ones(len(self.own)))
        self.flow = flow_from_paths(self.paths[self.own], self.lam)
        on_face = [i for i, path in enumerate(self.paths) if (self.flow[np.arange(n), path] > 0).all()]
        self.rankings = set(on_face)
        self.dimension = int(np.linalg.matrix_rank(self.rho[on_face] - self.rho[on_face[0]], tol=1e-9))
        self.weights = rng.uniform(0.5, 2.0, self.flow.shape) if weighted else None
        self.w = np.ones(self.rho.shape[1]) if self.weights is None else self.weights.ravel()
        self.problem = make_problem(
            Projection(np.zeros_like(self.flow), NO_WEIGHTS if self.weights is None else self.weights)
        )

    def numbers(self, paths):
        return [int(np.flatnonzero((self.paths == path).all(axis=1))[0]) for path in paths]

    def derivative(self, numbers):
        """The function t -> S t, S = V (V^T W V)^+ V^T with V the differences of these rankings."""
        spread = (self.rho[numbers[1:]] - self.rho[numbers[0]]).T
        inverse = np.linalg.pinv(spread.T @ (self.w[:, None] * spread), rcond=1e-10)
        return lambda t: spread @ (inverse @ (spread.T @ t))


@pytest.fixture(params=[(3, 2, False), (4, 3, True), (4, 6, False), (4, 24, False), (5, 4, True), (5, 9, False)])
def face(request, rng):
    return Face(*request.param, rng)


def test_face_dimension(face, form):
    assert form(tangent.face_dimension)(face.flow, np.empty(1 << face.n)) == face.dimension


def test_path_through(face, form):
    for item, at in np.argwhere(face.flow > 0):
        menu = next(m for m in range(1 << face.n) if m >> item & 1 and reference.column(m, int(item)) == at)
        path = np.full(face.n, -1, np.int32)
        form(tangent.path_through)(face.flow, menu, int(item), path)
        assert path[item] == at
        assert face.numbers([path])[0] in face.rankings


def test_span_face(face, form):
    """Rankings of weight 0 join until there are as many as the face has dimensions, plus one."""
    workspace = Workspace(face.n, 160)
    active = workspace.active
    start_from(face.problem, active, face.paths[face.own], face.lam)
    before = int(active.count[0])
    form(tangent.span_face)(face.problem, active, face.flow, face.dimension)
    k = int(active.count[0])
    numbers = face.numbers(active.paths[:k])
    assert k == face.dimension + 1
    assert set(numbers) <= face.rankings
    assert np.linalg.matrix_rank(face.rho[numbers[1:]] - face.rho[numbers[0]], tol=1e-9) == face.dimension
    assert not active.weights[before:k].any()
    assert active.weights[:before].sum() == pytest.approx(1.0)


def test_tangent_weights(face, form, rng):
    active = Workspace(face.n, 160).active
    start_from(face.problem, active, face.paths[face.own], face.lam)
    k = int(active.count[0])
    numbers = face.numbers(active.paths[:k])
    t = rng.normal(size=face.flow.shape)
    d = np.empty(len(active.weights))
    form(tangent.tangent_weights)(active, reference.subset_sums(t), d)
    assert d[:k].sum() == pytest.approx(0.0, abs=1e-10)
    moved = face.rho[numbers].T @ d[:k]
    assert moved == pytest.approx(face.derivative(numbers)(t.ravel()), abs=1e-9)


@pytest.mark.parametrize("how", ["compiled", "plain"])
def test_few_items(face, how, rng):
    """The same face and the same derivative from the kernels for few items."""
    few, workspace = make_small(face.problem), make_workspace(face.n)
    begin_small(few, workspace, face.paths[face.own], face.lam)
    (run_span_small if how == "compiled" else tangent.span_small.py_func)(few, workspace, face.flow, face.dimension)
    k = int(workspace.count[0])
    numbers = face.numbers(workspace.columns[:k, : face.n].astype(np.int32))
    assert k == face.dimension + 1
    assert set(numbers) <= face.rankings
    t = rng.normal(size=face.flow.shape)
    cost = reference.subset_sums(t)
    run = run_tangent_small if how == "compiled" else tangent.tangent_small.py_func
    run(few, workspace, cost)
    assert workspace.weights[:k].sum() == pytest.approx(0.0, abs=1e-10)
    moved = face.rho[numbers].T @ workspace.weights[:k]
    assert moved == pytest.approx(face.derivative(numbers)(t.ravel()), abs=1e-9)
