"""Projections and their derivatives for stacks of vectors, many small problems at a time without Python in between.

A stack of targets z_1 .. z_B in the internal layout is projected; what the derivatives need is kept per problem: the
active rankings and what the solver left of M: its inverse for few items (`rumflow.solvers.small.solve`), else its Cholesky factor
(`rumflow.solvers.active_set.kernels`). Three steps a problem:

 1. *Menu sums.* RUM lies in the affine space S where the cells of each menu add up to 1, so P(z) = P(P_S z), and P_S is
    explicit: a fully observed menu gives up its surplus in the proportions 1/w. This also takes the part of the
    distance that no RUM can change out of the stopping rule.
 2. *Inside?* With every cell observed, K P_S z >= 0 says that P_S z is the answer, and P_S is the derivative.
 3. *Active set*, from a start where one is given. With few items a start that brings its inverse is not inverted again.

Pieces of the stack run side by side in threads; each problem is solved alone, so its result does not depend on the
others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.certificate import NEARBY, SOLVER_FLOOR, certify, weighted_norm
from rumflow.core.compile import announce_compilation
from rumflow.core.lattice import Lattice
from rumflow.core.membership import inside_flow, inside_tolerance, normalise_menus
from rumflow.core.paths import flow_from_paths
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import zeta
from rumflow.solvers.active_set.kernels import improve, start_from
from rumflow.solvers.active_set.solve import Workspace, make_problem, solve_rankings
from rumflow.solvers.batch.kernels import (
    FACE,
    INSIDE,
    Start,
    from_flow,
    load,
    measure,
    pack_piece,
    pull_piece,
    solve_piece,
    to_edges,
)
from rumflow.solvers.small.workspace import Room, is_small, make_room, make_small
from rumflow.solvers.tangent import face_dimension, span_face, tangent_weights

#: Stop when the gap is within this share of the objective (or is rounding).
DEFAULT_TOL = 1e-12
#: A stalled problem counts as solved up to this share of its objective.
_ACCEPTED = 1e-8


class Faces(NamedTuple):
    """The active rankings of each problem, padded to a common length K."""

    kind: NDArray[np.int64]  # (B,): INSIDE or FACE
    atoms: NDArray[np.int64]  # (B,): rankings in use
    paths: NDArray[np.int32]  # (B, K, n)
    factor: Array  # (B, K (K + 1) / 2), factor or inverse; or (B, 0): to be computed again


class BatchResult(NamedTuple):
    """A solved stack. `starts` are there if they were asked for."""

    flows: Array  # (B, n, 2^(n-1))
    rhos: Array
    inside: NDArray[np.bool_]  # (B,): the data are RUM once their menus add up to 1
    rounds: NDArray[np.int64]  # (B,)
    stalled: NDArray[np.bool_]  # (B,)
    faces: Faces | None
    starts: list[Start] | None


class BatchProjector:
    """One projector for stacks over the same cells: `solve`, and `pull` for the derivatives."""

    def __init__(self, n: int, weights: Array | None = None, threads: int | None = None, cone: bool = False) -> None:
        self.n = n
        self.weights = weights
        self.complete = not cone and (weights is None or bool((weights > 0).all()))
        self.problem = make_problem(np.zeros((n, 1 << (n - 1))), weights, cone)
        # In the cone the menus may add up to anything: steps 1 and 2 fall away.
        self.share = np.zeros((n, 1 << (n - 1))) if cone else _share(n, weights)
        self.threads = thread_count(threads)
        self._small = make_small(self.problem) if is_small(n, weights) else None
        self._rooms: SimpleQueue[Room] = SimpleQueue()
        self._workspaces: SimpleQueue[Workspace] = SimpleQueue()

    def solve(
        self,
        targets: Array,
        starts: Sequence[Start | None] | None = None,
        *,
        tol: float = DEFAULT_TOL,
        keep: bool = False,
        keep_starts: bool = False,
        keep_factors: bool = True,
        factor_bytes: int = 1 << 30,
        warn: bool = True,
        advance: Callable[[int], None] | None = None,
    ) -> BatchResult:
        """Project a stack (B, n, 2^(n-1)); `targets` is used up. `keep`: the faces, for `pull`; `keep_starts`: for the
        next call, with or without their factors (with few items: inverses, here and below).

        Factors of more than `factor_bytes` in all are not kept but computed again. `warn` of problems that stalled;
        `advance` is told how many more problems are done.
        """
        size = len(targets)
        storing = (2 if keep or keep_factors else 1) if keep or keep_starts else 0
        flows, rhos = np.empty_like(targets), np.empty_like(targets)
        kind, count, rounds = np.zeros((3, size), np.int64)
        stalled = np.zeros(size, np.bool_)
        pieces = self._pieces(size)
        flats: dict[int, Start] = {}

        def task(piece: range) -> None:
            span = slice(piece.start, piece.stop)
            own = None if starts is None else starts[span]
            arrays = (targets[span], flows[span], rhos[span], kind[span], count[span], rounds[span], stalled[span])
            flats[piece.start] = self._solve_piece(*arrays, own, tol, storing)
            if advance is not None:
                advance(len(piece))

        done = announce_compilation(improve if self._small is None else solve_piece)
        run_threads(task, pieces, self.threads)
        done()
        if warn:
            for i in np.flatnonzero(stalled):
                self._say_stalled(int(i), flows[i], targets[i])
        faces = self._pack(kind, count, pieces, flats, factor_bytes) if keep else None
        kept = _split(count, pieces, flats, self.n) if keep_starts else None
        return BatchResult(flows, rhos, kind == INSIDE, rounds, stalled, faces, kept)

    def pull(self, faces: Faces, by_rho: Array, by_flow: Array | None = None) -> Array:
        """The gradients by the targets, given those by the probabilities and the flow; both are used up."""
        none = np.empty((0, *by_rho.shape[1:]))

        def task(piece: range) -> None:
            span = slice(piece.start, piece.stop)
            pull = self._pull_large if self._small is None else self._pull_small
            own = Faces(faces.kind[span], faces.atoms[span], faces.paths[span], faces.factor[span])
            pull(own, by_rho[span], none if by_flow is None else by_flow[span])

        run_threads(task, self._pieces(len(by_rho)), self.threads)
        return by_rho

    def _pull_small(self, faces: Faces, by_rho: Array, by_flow: Array) -> None:
        room, work = self._room(), np.empty(by_rho.shape[1:])
        arrays = (self.problem.weights, self.share, self.complete, room, work, *faces, by_rho, by_flow)
        pull_piece(self._small, *arrays)
        self._rooms.put(room)

    def _pull_large(self, faces: Faces, by_rho: Array, by_flow: Array) -> None:
        workspace = self._workspace(int(faces.atoms.max(initial=0)))
        weights, active, work = self.problem.weights, workspace.active, workspace.cost
        none = np.empty((0, by_rho.shape[2]))
        for i, g in enumerate(by_rho):
            inside, k = bool(faces.kind[i] == INSIDE), int(faces.atoms[i])
            if to_edges(weights, self.share, self.complete, inside, g, by_flow[i] if len(by_flow) else none, work):
                if faces.factor.shape[1]:
                    load(active, faces.paths[i, :k], faces.factor[i, : k * (k + 1) // 2])
                else:
                    start_from(self.problem, active, faces.paths[i, :k], np.ones(k))
                k = int(active.count[0])
                d = active.scratch[2]
                tangent_weights(active, g, d)
                g[:] = flow_from_paths(active.paths[:k], d[:k])
                from_flow(weights, inside, g, work)
        self._workspaces.put(workspace)

    def _pieces(self, size: int) -> list[range]:
        step = max(1, min(32, size // (8 * self.threads)))
        return [range(i, min(i + step, size)) for i in range(0, size, step)]

    def _room(self) -> Room:
        try:
            return self._rooms.get_nowait()
        except Empty:
            return make_room(self.n)

    def _workspace(self, count: int = 0) -> Workspace:
        try:
            workspace = self._workspaces.get_nowait()
        except Empty:
            workspace = Workspace(self.n)
        workspace.reserve(count)
        return workspace

    def _solve_piece(
        self,
        targets: Array,
        flows: Array,
        rhos: Array,
        kind: NDArray[np.int64],
        count: NDArray[np.int64],
        rounds: NDArray[np.int64],
        stalled: NDArray[np.bool_],
        starts: Sequence[Start | None] | None,
        tol: float,
        keep: int,
    ) -> Start:
        if self._small is None:
            return self._solve_large(targets, flows, rhos, kind, count, rounds, stalled, starts, tol, keep)
        room = self._room()
        begin, start = _join(starts, len(targets), self.n)
        atoms = 128 * len(targets) if keep else 0
        flat = Start(np.empty((atoms, self.n), np.int32), np.empty(atoms), np.empty(64 * atoms if keep > 1 else 0))
        used = np.zeros(2, np.int64)
        done, resume = 0, False
        while True:
            done = solve_piece(
                self._small, self.problem.weights, self.complete, room, targets, begin, start, tol,
                inside_tolerance(self.n), keep, flows, rhos, kind, count, rounds, flat, used, stalled, done, resume,
            )  # fmt: skip
            if done == len(targets):
                break
            # The buffers are full, the problem `done` is solved but not stored.
            resume = True
            k = int(count[done])
            flat = Start(
                _grown(flat.paths, int(used[0]), k),
                _grown(flat.weights, int(used[0]), k),
                _grown(flat.factor, int(used[1]), k * (k + 1) // 2),
            )
        self._rooms.put(room)
        return Start(flat.paths[: used[0]], flat.weights[: used[0]], flat.factor[: used[1]])

    def _solve_large(
        self,
        targets: Array,
        flows: Array,
        rhos: Array,
        kind: NDArray[np.int64],
        count: NDArray[np.int64],
        rounds: NDArray[np.int64],
        stalled: NDArray[np.bool_],
        starts: Sequence[Start | None] | None,
        tol: float,
        keep: int,
    ) -> Start:
        """The same where a problem takes long enough for Python not to matter, and the active set has to grow."""
        workspace = self._workspace()
        parts: list[Start] = []
        for i, target in enumerate(targets):
            if self.problem.ridge > 0.0:
                normalise_menus(target, self.problem.weights, self.n)
            if self.complete and inside_flow(target, flows[i], workspace.below, inside_tolerance(self.n)):
                rhos[i] = zeta(flows[i].copy(), 1)
                continue
            size = weighted_norm(target, self.problem.weights)
            start = None if starts is None else starts[i]
            problem = self.problem._replace(target=target)
            outcome = solve_rankings(
                problem,
                workspace,
                tol=tol,
                floor=SOLVER_FLOOR * size,
                start=None if start is None or len(start.weights) == 0 else (start.paths, start.weights),
            )
            count[i] = len(outcome.weights)
            flows[i] = outcome.flow
            objective = measure(flows[i], rhos[i], target, problem.weights)
            kind[i] = INSIDE if objective <= NEARBY * size else FACE
            rounds[i], stalled[i] = outcome.rounds, outcome.reason == "stalled"
            if keep:
                if keep > 1 and self.complete and kind[i] == FACE:
                    dimension = int(face_dimension(flows[i], workspace.below))
                    while count[i] <= dimension and dimension + 8 > len(workspace.active.weights):
                        workspace.grow()
                    if count[i] <= dimension:
                        span_face(problem, workspace.active, flows[i], dimension)
                count[i] = k = int(workspace.active.count[0])
                factor = workspace.active.factor[: k * (k + 1) // 2 if keep > 1 else 0].copy()
                parts.append(Start(*workspace.mixture(), factor))
        self._workspaces.put(workspace)
        if not parts:
            return Start(np.empty((0, self.n), np.int32), np.empty(0), np.empty(0))
        return Start(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _pack(
        self,
        kind: NDArray[np.int64],
        count: NDArray[np.int64],
        pieces: list[range],
        flats: dict[int, Start],
        factor_bytes: int,
    ) -> Faces:
        size, most = len(count), int(count.max(initial=0))
        length = most * (most + 1) // 2
        paths = np.empty((size, most, self.n), np.int32)
        factor = np.empty((size, length if 8 * size * length <= factor_bytes else 0))

        def task(piece: range) -> None:
            span = slice(piece.start, piece.stop)
            pack_piece(flats[piece.start], count[span], paths[span], factor[span])

        run_threads(task, pieces, self.threads)
        return Faces(kind, count, paths, factor)

    def _say_stalled(self, i: int, flow: Array, target: Array) -> None:
        certificate = certify(flow, target, self.weights, 1)
        if certificate.gap > max(_ACCEPTED * certificate.objective, certificate.floor):
            warnings.warn(
                f"sample {i}: rounding stopped the projection at a certified gap of {certificate.gap:.2g} "
                f"(objective {certificate.objective:.6g}); bring the weights closer together",
                RuntimeWarning,
                stacklevel=2,
            )


def _share(n: int, weights: Array | None) -> Array:
    """How P_S spreads a menu's surplus over its cells: in the proportions 1/w; 0 where the menu is not fully observed."""
    lattice = Lattice(n)
    inverse = lattice.membership.astype(float)
    if weights is not None:
        w = lattice.from_internal(weights)
        np.divide(1.0, w, out=inverse, where=lattice.membership & (w > 0))
        inverse[(lattice.membership & (w == 0)).any(axis=1)] = 0.0
    total = inverse.sum(axis=1, keepdims=True)
    return lattice.to_internal(np.divide(inverse, total, out=np.zeros_like(inverse), where=total > 0))


def _grown(array: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    new = np.empty((2 * used + more, *array.shape[1:]), array.dtype)
    new[:used] = array[:used]
    return new


def _join(starts: Sequence[Start | None] | None, size: int, n: int) -> tuple[NDArray[np.int64], Start]:
    """Starts one after another, and where each begins: among the rankings and in the factors."""
    begin = np.zeros((size + 1, 2), np.int64)
    given = [] if starts is None else [(i, start) for i, start in enumerate(starts) if start is not None]
    if not given:
        return begin, Start(np.empty((0, n), np.int32), np.empty(0), np.empty(0))
    for i, start in given:
        begin[i + 1] = len(start.weights), len(start.factor)
    np.cumsum(begin, axis=0, out=begin)
    return begin, Start(*(np.concatenate([start[part] for _, start in given]) for part in range(3)))


def _split(count: NDArray[np.int64], pieces: list[range], flats: dict[int, Start], n: int) -> list[Start]:
    starts = []
    for piece in pieces:
        flat = flats[piece.start]
        at = there = 0
        for k in count[piece.start : piece.stop].tolist():
            end, stop = at + k, min(there + k * (k + 1) // 2, len(flat.factor))
            starts.append(Start(flat.paths[at:end].copy(), flat.weights[at:end].copy(), flat.factor[there:stop].copy()))
            at, there = end, stop
    return starts
