"""The kernels of the batch solver against dense matrices and non-negative least squares, compiled and as plain Python."""

from itertools import permutations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS as NONE
from rumflow.core.problem import Problem as Projection
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Workspace, make_problem
from rumflow.solvers.batch import kernels
from rumflow.solvers.batch.kernels import FACE, INSIDE, LEFT, Start
from rumflow.solvers.batch.result import pack
from rumflow.solvers.geometry import NO_FACTOR
from rumflow.solvers.lattice import LatticeGeometry
from tests.reference import lattice as reference
from tests.reference.pieces import PieceOfStack

FORMS = {"compiled": lambda function: function, "plain": lambda function: function.py_func}


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


def cells(n):
    """Mask, item and column of every cell."""
    return [(mask, x, reference.column(mask, x)) for mask in range(1, 1 << n) for x in range(n) if mask >> x & 1]


def sums_projector(n, weights):
    """The derivative of making whole menus add up to 1, as a matrix over the flattened internal layout."""
    w = np.ones((n, 1 << (n - 1))) if weights is None else weights
    matrix = np.eye(w.size)
    for mask in range(1, 1 << n):
        members = [(x, at) for m, x, at in cells(n) if m == mask]
        if all(w[cell] > 0 for cell in members):
            inverse = np.array([1 / w[cell] for cell in members])
            flat = [np.ravel_multi_index(cell, w.shape) for cell in members]
            matrix[np.ix_(flat, flat)] -= np.outer(inverse / inverse.sum(), np.ones(len(flat)))
    return matrix


def superset_matrix(n):
    """Z as a matrix over the flattened internal layout."""
    size = n << (n - 1)
    eye = np.eye(size).reshape(size, n, 1 << (n - 1))
    return np.array([reference.superset_sums(one).ravel() for one in eye]).T


def weigh(kind, n, rng):
    if kind == "unweighted":
        return None
    weights = rng.uniform(0.3, 3.0, (n, 1 << (n - 1)))
    if kind == "incomplete":
        weights[rng.random(weights.shape) < 0.25] = 0.0
        weights[:, 0] = 1.0
    return weights


KINDS = ["unweighted", "weighted", "incomplete"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_adjoint_of_the_menu_sums(n, kind, form, rng):
    weights = weigh(kind, n, rng)
    share = LatticeGeometry(n, NONE if weights is None else weights).faces.share
    rows = rng.normal(size=share.shape)
    expected = sums_projector(n, weights).T @ rows.ravel()
    form(kernels.add_to_zero_adjoint)(rows, share, n)
    assert rows.ravel() == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 5])
def test_measure(n, kind, form, rng):
    weights = weigh(kind, n, rng)
    flow, target = rng.normal(size=(2, n, 1 << (n - 1)))
    if kind == "incomplete":
        target[weights == 0] = np.nan
    rho = np.empty_like(flow)
    found = form(kernels.measure)(flow, rho, target, NONE if weights is None else weights)
    w = np.ones_like(flow) if weights is None else weights
    assert rho == pytest.approx(reference.superset_sums(flow), abs=1e-13)
    assert found == pytest.approx(0.5 * np.sum(np.where(w > 0, w * (rho - target) ** 2, 0.0)))


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("with_flow", [False, True])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_to_edges(kind, inside, with_flow, forward, form, rng):
    n = 3
    weights = weigh(kind, n, rng)
    complete = kind != "incomplete"
    share = LatticeGeometry(n, NONE if weights is None else weights).faces.share
    g, by_flow = rng.normal(size=(2, n, 1 << (n - 1)))
    seen = np.ones(g.size, np.bool_) if weights is None else weights.ravel() > 0
    if forward:
        g *= seen.reshape(g.shape)
    work = np.full_like(g, np.nan)
    z, sums = superset_matrix(n), sums_projector(n, weights)
    w = np.ones(g.size) if weights is None else weights.ravel()
    inverse = np.divide(1.0, w, out=np.zeros_like(w), where=seen)
    flat, edges = g.ravel().copy(), by_flow.ravel().copy() if with_flow else np.zeros(g.size)
    none = np.empty((0, g.shape[1]))
    more = form(kernels.to_edges)(
        NONE if weights is None else weights, share, complete, inside, forward, g, by_flow if with_flow else none, work
    )
    assert more == (not (inside and complete))
    if inside and complete:
        assert g.ravel() == pytest.approx(inverse * (sums.T @ (flat + np.linalg.inv(z).T @ edges)), abs=1e-11)
    elif inside:
        assert work.ravel() == pytest.approx(inverse * (sums.T @ np.where(seen, flat, 0.0)), abs=1e-11)
        rest = flat if forward else np.where(seen, 0.0, flat)
        assert g.ravel() == pytest.approx(z.T @ rest + edges, abs=1e-12)
    else:
        assert g.ravel() == pytest.approx(z.T @ flat + edges, abs=1e-12)
        assert np.isnan(work).all()


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_from_flow(kind, inside, forward, form, rng):
    n = 4
    weights = weigh(kind, n, rng)
    if inside and kind == "unweighted":
        return  # then there is nothing left to do for the flow
    g, work = rng.normal(size=(2, n, 1 << (n - 1)))
    expected = reference.superset_sums(g)
    if inside:  # inside, observed cells are answered by the menu sums alone
        expected = work + (np.where(weights > 0, 0.0, expected) if forward else expected)
    form(kernels.from_flow)(NONE if weights is None else weights, inside, forward, g, work)
    assert g == pytest.approx(expected, abs=1e-13)


def test_load(form, rng):
    """Rankings with a known factor: what `tangent_weights` reads is there."""
    n = 5
    problem = make_problem(Projection(np.zeros((n, 1 << (n - 1)))))
    one, two = Workspace(n, 40).active, Workspace(n, 40).active
    paths = np.array([reference.path_of(rng.permutation(n)) for _ in range(9)])
    start_from(problem, one, paths, np.ones(9))
    k = int(one.count[0])
    form(kernels.load)(two, one.paths[:k].copy(), one.factor[: k * (k + 1) // 2].copy())
    assert two.count[0] == k
    assert (two.paths[:k] == one.paths[:k]).all()
    assert (two.factor[: k * (k + 1) // 2] == one.factor[: k * (k + 1) // 2]).all()
    assert two.carried[0, :k] == pytest.approx(one.carried[0, :k])


def stack(n, rng, weights=None):
    """Data far from RUM, data inside, noisy data; and with every cell observed data that are inside but for their menu sums."""
    arrays = [
        rf.simulate.dirichlet(n, rng),
        rf.simulate.rankings_mixture(n, 7, rng),
        rf.simulate.noisy_rankings(n, seed=rng),
    ]
    targets = np.array([reference.to_rows(array) for array in arrays])
    w = np.ones_like(targets[1]) if weights is None else weights
    return np.concatenate([targets, (targets[1] + 0.01 / w)[None]]) if (w > 0).all() else targets


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [3, 4])
def test_solve_piece(n, kind, form, rng):
    weights = weigh(kind, n, rng)
    targets = stack(n, rng, weights)
    piece = PieceOfStack(targets, weights, keep=2)
    assert piece.run(form(kernels.solve_piece)) == len(targets)
    assert not piece.stalled.any()
    lattice = rf.Lattice(n)
    w = np.ones(targets.shape[1:]) if weights is None else weights
    columns = [reference.ranking_rows(order).ravel() for order in permutations(range(n))]
    every = np.array([reference.path_of(order) for order in permutations(range(n))])
    for i, target in enumerate(targets):
        array = lattice.from_internal(target)
        best, objective = reference.projection(array, lattice.from_internal(w) if weights is not None else None)
        seen = w > 0
        found = 0.5 * np.sum(np.where(seen, w * (piece.rhos[i] - target) ** 2, 0.0))
        assert found == pytest.approx(objective, abs=1e-10)
        assert piece.rhos[i][seen] == pytest.approx(reference.to_rows(best)[seen], abs=1e-6)
        assert piece.rhos[i] == pytest.approx(reference.superset_sums(piece.flows[i]), abs=1e-13)
        assert piece.flows[i].min() >= 0
        paths, lam, inverse = piece.rankings(i)
        assert (piece.kind[i] == INSIDE) == (i in (1, 3) or found <= 1e-20)
        if len(paths) == 0:
            assert piece.kind[i] == INSIDE
            assert kind != "incomplete"
            continue
        assert flow_from_paths(paths, lam) == pytest.approx(piece.flows[i], abs=1e-14)
        rho = np.array([columns[int(np.flatnonzero((every == path).all(axis=1))[0])] for path in paths])
        matrix = rho * w.ravel() @ rho.T + piece.problem.ridge
        assert inverse @ matrix == pytest.approx(np.eye(len(paths)), abs=1e-7)


def test_solve_piece_goes_on_where_the_buffers_were_full(form, rng):
    targets = stack(4, rng)
    whole = PieceOfStack(targets, None, keep=2)
    whole.run(form(kernels.solve_piece))
    needed = int(whole.count[0])
    small = PieceOfStack(targets, None, keep=2, capacity=needed + 1)
    stopped = small.run(form(kernels.solve_piece))
    assert 0 < stopped < len(targets)
    old = small.flat
    small.flat = Start(*(np.concatenate([part, np.empty((400, *part.shape[1:]), part.dtype)]) for part in old))
    assert small.run(form(kernels.solve_piece), stopped, True) == len(targets)
    assert (small.flows == whole.flows).all()
    assert (small.count == whole.count).all()
    for i in range(len(targets)):
        for one, two in zip(small.rankings(i), whole.rankings(i), strict=True):
            assert (one == two).all()


def test_solve_piece_keeps_what_it_is_asked_to(form, rng):
    targets = stack(4, rng)
    for keep in (0, 1):
        piece = PieceOfStack(targets, None, keep=keep)
        piece.run(form(kernels.solve_piece))
        assert piece.used.tolist() == [piece.count.sum() if keep else 0, 0]


@pytest.mark.parametrize("hold", [False, True])
def test_rankings_of_what_is_left(hold, form, rng):
    """A problem whose active set may not grow ends with a mixture, which is kept where that is asked for."""
    piece = PieceOfStack(stack(4, rng), None, keep=2, hold=hold)
    piece.few = piece.few._replace(most=1)
    piece.run(form(kernels.solve_piece))
    left = piece.kind == LEFT
    assert left.any()
    assert (piece.count[left] > 1).all() if hold else not piece.count[left].any()
    assert (piece.flows >= 0).all()
    if hold:
        i = int(np.flatnonzero(left)[0])
        paths, weights, _ = piece.rankings(i)
        assert flow_from_paths(paths, weights) == pytest.approx(piece.flows[i], abs=1e-12)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_a_piece(kind, kept, form, rng):
    """J^T g against central differences of the reference solution, with and without the inverse at hand."""
    n = 4
    weights = weigh(kind, n, rng)
    targets = stack(n, rng, weights)
    piece = PieceOfStack(targets, weights, keep=2)
    piece.run(kernels.solve_piece)
    faces = pack(piece.kind, piece.count, [piece.flat], n)
    if not kept:
        faces.counts[:, 3] = NO_FACTOR
    g = rng.normal(size=targets.shape)
    if weights is not None:
        g *= weights > 0
    found = g.copy()
    share = LatticeGeometry(n, NONE if weights is None else weights).faces.share
    form(kernels.tangent_piece)(
        piece.few, piece.weights, share, piece.complete, False, piece.workspace, np.empty(targets.shape[1:]), *faces,
        found, np.empty((0, *targets.shape[1:])),
    )  # fmt: skip
    if weights is not None:
        found *= weights  # J^T g = W S g
    step = 1e-5
    for i in range(len(targets)):
        if kind == "incomplete" and piece.kind[i] == INSIDE:
            continue  # on the rim of what fits exactly there is no derivative
        t = rng.normal(size=targets.shape[1:])
        if weights is not None:
            t *= weights > 0
        ends = [PieceOfStack((targets[i] + h * t)[None], weights, keep=0, tol=1e-13) for h in (step, -step)]
        for end in ends:
            end.run(kernels.solve_piece)
        if piece.kind[i] == INSIDE and not all(end.kind[0] == INSIDE for end in ends):
            continue  # the data lie on the boundary
        slope = (ends[0].rhos[0] - ends[1].rhos[0]) / (2 * step)
        assert np.sum(found[i] * t) == pytest.approx(np.sum(g[i] * slope), abs=1e-4)
    assert (piece.kind == FACE).any()
