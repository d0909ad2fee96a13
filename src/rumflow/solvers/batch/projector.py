"""Projections and their derivatives for stacks of vectors, many small problems at a time without Python in between.

A stack of targets z_1 .. z_B in the internal layout is projected; what the derivatives need is kept per problem: the
active rankings and what the solver left of M: its inverse for few items (`rumflow.solvers.small`), else its Cholesky factor
(`rumflow.solvers.active_set`). Three steps per problem:

 1. *Menu sums.* RUM lies in the affine space S where the cells of each menu add up to 1, so P(z) = P(P_S z), and P_S is
    explicit: a fully observed menu gives up its surplus in the proportions 1/w. This also takes the part of the
    distance that no RUM can change out of the stopping rule.
 2. *Is it RUM?* With every cell observed, K P_S z >= 0 says that P_S z is the answer, and P_S is the derivative.
 3. *Active set*, from a start where one is given. With few items a start that brings its inverse is not inverted again.

With few items the three are one kernel for a piece of the stack; what it leaves unsolved, and everything with more items, goes to
`rumflow.solvers.dispatch`, one problem at a time. Pieces run side by side in threads; each problem is solved alone, so its
result does not depend on the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate, Certifier
from rumflow.core.lattice import Lattice
from rumflow.core.membership import inside_tolerance
from rumflow.core.paths import decompose, flow_from_paths, uniform_flow
from rumflow.core.problem import NO_WEIGHTS, Problem, Stop, is_complete
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import moebius, zeta, zeta_adjoint
from rumflow.solvers.active_set.kernels import start_from
from rumflow.solvers.active_set.solve import Workspace, make_problem
from rumflow.solvers.batch.kernels import (
    FACE,
    INSIDE,
    Keep,
    Start,
    complete_face,
    from_flow,
    load,
    solve_piece,
    tangent_piece,
    to_edges,
)
from rumflow.solvers.batch.result import BatchResult, Faces, Part, concatenate, join, no_start, split
from rumflow.solvers.dispatch import Solved, solve
from rumflow.solvers.small.solve import begin_small
from rumflow.solvers.small.workspace import SmallWorkspace, is_small, make_small, make_workspace, store_rankings
from rumflow.solvers.span import LatticeFace, span
from rumflow.solvers.tangent import face_dimension, span_face, tangent_weights

#: Stop when the gap is within this share of the objective (or is rounding).
DEFAULT_TOL = 1e-12
#: A problem whose gap is below this share of its objective is accepted without a warning.
ACCEPTED = Stop(1e-8)


class BatchProjector:
    """One projector for stacks over the same cells: `solve`, and `tangent` for the derivatives."""

    def __init__(self, n: int, weights: Array = NO_WEIGHTS, threads: int | None = None, cone: bool = False) -> None:
        self.n, self.weights, self.cone = n, weights, cone
        self.threads = thread_count(threads)
        self.complete = not cone and is_complete(weights)
        self.certifier = Certifier(n, weights, cone, 1)
        self.problem = make_problem(Problem(np.zeros((n, 1 << (n - 1))), weights, cone))
        # In the cone the menus may add up to anything: steps 1 and 2 fall away.
        self.share = np.zeros((n, 1 << (n - 1))) if cone else _share(n, weights)
        self._small = make_small(self.problem) if is_small(n, weights) else None
        self._small_workspaces: SimpleQueue[SmallWorkspace] = SimpleQueue()
        self._workspaces: SimpleQueue[Workspace] = SimpleQueue()

    def solve(
        self,
        targets: Array,
        starts: Sequence[Start | None] | None = None,
        *,
        tol: float = DEFAULT_TOL,
        keep: Keep = Keep.NOTHING,
        certify: bool = False,
        partial: bool = False,
        advance: Callable[[int], None] | None = None,
    ) -> BatchResult:
        """Project a stack (B, n, 2^(n-1)).

        certify   certify every problem; without, only those that the solver itself calls unsolved.
        partial   after Ctrl-C return what is solved, the rest as uniform rankings, instead of raising.
        advance   is told how many more problems are done.
        """
        size, n = len(targets), self.n
        result = BatchResult(
            flows=np.empty_like(targets),
            rhos=np.empty_like(targets),
            kind=np.zeros(size, np.int64),
            count=np.zeros(size, np.int64),
            rounds=np.zeros(size, np.int64),
            stalled=np.zeros(size, np.bool_),
            interrupted=np.empty(size, np.bool_),
            certificates=np.empty(size, object),  # None, until they are made
            pieces=self._pieces(size),
            kept={},
        )
        result.interrupted.fill(True)
        stopped: list[bool] = []  # filled by whoever hears Ctrl-C

        def task(piece: range) -> None:
            if stopped:
                return
            span = slice(piece.start, piece.stop)
            own = None if starts is None else starts[span]
            part = Part(result, targets, span, own, Stop(tol), keep, certify)
            if not (self._solve_few(part) if self._small is not None else self._solve_large(part)):
                stopped.append(True)
            elif advance is not None:
                advance(len(piece))

        try:
            run_threads(task, result.pieces, self.threads)
        except KeyboardInterrupt:
            stopped.append(True)
        if stopped:
            if not partial:
                raise KeyboardInterrupt
            result.flows[result.interrupted] = uniform_flow(n)
            result.rhos[result.interrupted] = zeta(uniform_flow(n), 1)
            result.kind[result.interrupted], result.count[result.interrupted] = FACE, 0
            if certify:
                for i in np.flatnonzero(result.interrupted):
                    result.certificates[i] = self.certifier(result.flows[i], targets[i])
        return result

    def warn(self, result: BatchResult) -> None:
        """Say which problems are not solved to any useful accuracy."""
        for i in np.flatnonzero(result.stalled):
            certificate = result.certificates[i]
            if certificate is not None and not certificate.is_optimal(ACCEPTED):
                warnings.warn(
                    f"sample {int(i)}: rounding stopped the projection at a certified gap of {certificate.gap:.2g} "
                    f"(objective {certificate.objective:.6g}); bring the weights closer together",
                    RuntimeWarning,
                    stacklevel=2,
                )

    def tangent(self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool) -> Array:
        """S times each of a stack of vectors, in place: see `rumflow.solvers.derivatives`.

        by_flow   what stands for the flow beside the probabilities, in place as well: gradients become changes.
        """
        none = np.empty((0, *rows.shape[1:]))

        def task(piece: range) -> None:
            span = slice(piece.start, piece.stop)
            own = Faces(faces.kind[span], faces.atoms[span], faces.paths[span], faces.factor[span])
            flows = none if by_flow is None else by_flow[span]
            if self._small is None:
                self._tangent_large(own, rows[span], flows, forward)
                return
            small, work = self._small_workspace(), np.empty(rows.shape[1:])
            arrays = (self.weights, self.share, self.complete, forward, small, work, *own, rows[span], flows)
            tangent_piece(self._small, *arrays)
            self._small_workspaces.put(small)

        run_threads(task, self._pieces(len(rows)), self.threads)
        return rows

    def _tangent_large(self, faces: Faces, rows: Array, by_flow: Array, forward: bool) -> None:
        workspace = self._workspace(int(faces.atoms.max(initial=0)))
        weights, active, work = self.weights, workspace.active, workspace.cost
        none = np.empty((0, rows.shape[2]))
        for i, g in enumerate(rows):
            inside, k = bool(faces.kind[i] == INSIDE), int(faces.atoms[i])
            own = by_flow[i] if len(by_flow) else none
            if to_edges(weights, self.share, self.complete, inside, forward, g, own, work):
                if faces.factor.shape[1]:
                    load(active, faces.paths[i, :k], faces.factor[i, : k * (k + 1) // 2])
                else:
                    start_from(self.problem, active, faces.paths[i, :k], np.ones(k))
                k = int(active.count[0])
                d = active.scratch[2]
                tangent_weights(active, g, d)
                g[:] = flow_from_paths(active.paths[:k], d[:k])
                if len(own):
                    own[:] = g
                from_flow(weights, inside, forward, g, work)
            elif len(own):
                own[:] = moebius(g.copy())
        self._workspaces.put(workspace)

    def face(self, mixture: Mixture, flow: Array, inside: bool, target: Array) -> Faces:
        """The face of one solved problem, for `tangent`."""
        if inside and self.complete:
            start = no_start(self.n)
        else:
            start = self._complete(mixture, flow, INSIDE if inside else FACE, Keep.FACES, target)
        kind = np.array([INSIDE if inside else FACE])
        return Faces(kind, np.array([len(start.weights)]), start.paths[None], start.factor[None])

    def _pieces(self, size: int) -> list[range]:
        step = max(1, min(32, size // (8 * self.threads)))
        return [range(i, min(i + step, size)) for i in range(0, size, step)]

    def _small_workspace(self) -> SmallWorkspace:
        try:
            return self._small_workspaces.get_nowait()
        except Empty:
            return make_workspace(self.n)

    def _workspace(self, count: int = 0) -> Workspace:
        try:
            workspace = self._workspaces.get_nowait()
        except Empty:
            workspace = Workspace(self.n)
        workspace.reserve(count)
        return workspace

    def _solve_few(self, part: Part) -> bool:
        """A piece of a stack of few items in one kernel, then what it left unsolved. False after Ctrl-C."""
        small, size = self._small_workspace(), len(part)
        begin, start = join(part.starts, size, self.n)
        atoms = 128 * size if part.keep else 0
        flat = Start(
            np.empty((atoms, self.n), np.int32), np.empty(atoms), np.empty(64 * atoms if part.keep is Keep.FACES else 0)
        )
        used = np.zeros(2, np.int64)
        done, resume = 0, False
        targets = part.targets.copy()
        while True:
            done = solve_piece(
                self._small, self.weights, self.complete, small, targets, begin, start, part.stop.tol,
                inside_tolerance(self.n), int(part.keep), part.flows, part.rhos, part.kind, part.count, part.rounds, flat, used,
                part.stalled, done, resume,
            )  # fmt: skip
            if done == size:
                break
            # The buffers are full, the problem `done` is solved but not stored.
            resume = True
            k = int(part.count[done])
            flat = Start(
                _grown(flat.paths, int(used[0]), k),
                _grown(flat.weights, int(used[0]), k),
                _grown(flat.factor, int(used[1]), k * (k + 1) // 2),
            )
        self._small_workspaces.put(small)
        flat = Start(flat.paths[: used[0]], flat.weights[: used[0]], flat.factor[: used[1]])
        certificates: Sequence[Certificate | None] = (
            self.certifier.stack(part.flows, part.targets) if part.certify else [None] * size
        )
        found = None
        for i in range(size):
            certificate = certificates[i]
            if certificate is None and part.stalled[i]:
                certificate = self.certifier(part.flows[i], part.targets[i])
            part.certificates[i] = certificate
            part.stalled[i] = certificate is not None and not certificate.is_optimal(part.stop)
            if part.stalled[i]:
                found = found if found is not None else split(part.count, flat)
                workspace = self._workspace()
                solved = self._solve_one(part, i, workspace)
                self._workspaces.put(workspace)
                if solved is None:
                    return False
                part.put(i, solved)
                if part.keep:
                    found[i] = self._complete(
                        _mixture(solved), solved.flow, int(part.kind[i]), part.keep, part.targets[i]
                    )
                    part.count[i] = len(found[i].weights)
        part.result.kept[part.span.start] = flat if found is None else concatenate(found, self.n)
        part.result.interrupted[part.span] = False
        return True

    def _solve_large(self, part: Part) -> bool:
        """The same, one call from Python per problem, for problems that take long enough. False after Ctrl-C."""
        parts: list[Start] = []
        workspace = self._workspace()
        for i in range(len(part)):
            solved = self._solve_one(part, i, workspace)
            if solved is None:
                self._workspaces.put(workspace)
                part.result.kept[part.span.start] = concatenate(parts, self.n)
                return False
            part.put(i, solved)
            part.result.interrupted[part.span.start + i] = False
            if part.keep:
                inside = solved.method == "moebius"
                kind = int(part.kind[i])
                parts.append(
                    no_start(self.n)
                    if inside
                    else self._complete(_mixture(solved), solved.flow, kind, part.keep, part.targets[i], workspace)
                )
                part.count[i] = len(parts[-1].weights)
        self._workspaces.put(workspace)
        part.result.kept[part.span.start] = concatenate(parts, self.n)
        return True

    def _solve_one(self, part: Part, i: int, workspace: Workspace) -> Solved | None:
        """One problem by the dispatcher, from the beginning, as if it stood alone; None after Ctrl-C."""
        own = None if part.starts is None else part.starts[i]
        start = None
        if own is not None and len(own.weights) > 0 and np.isfinite(own.weights).all():
            start = own.paths, own.weights
        solved = solve(
            Problem(part.targets[i], self.weights, self.cone),
            part.stop,
            # Derivatives need the rankings of the optimal face.
            method="rankings" if part.keep is Keep.FACES and self._small is None else "auto",
            start=start,
            certifier=self.certifier,
            workspace=workspace,
            threads=1,
        )
        return None if solved.reason == "interrupted" else solved

    def _complete(
        self, mixture: Mixture, flow: Array, kind: int, keep: Keep, target: Array, solved_in: Workspace | None = None
    ) -> Start:
        """Rankings with what the derivatives need: enough of them to span the face, and their matrix.

        solved_in   where the mixture was found, as the solver left it: there is a factor already.
        """
        if keep is not Keep.FACES:
            return Start(*mixture, np.empty(0))
        if self._small is not None:
            small = self._small_workspace()
            begin_small(self._small, small, *mixture)
            complete_face(self._small, small, target, flow, self.complete, kind == FACE)
            k = int(small.count[0])
            start = Start(np.empty((k, self.n), np.int32), np.empty(k), np.empty(k * (k + 1) // 2))
            store_rankings(small, *start)
            self._small_workspaces.put(small)
            return start
        if solved_in is not None and solved_in.holds(mixture):
            workspace = solved_in
        else:
            workspace = self._workspace(len(mixture[1]))
            start_from(self.problem, workspace.active, *mixture)
        if kind == FACE and self.complete:
            dimension = int(face_dimension(flow, workspace.below))
            while workspace.active.count[0] <= dimension and dimension + 8 > len(workspace.active.weights):
                workspace.grow()
            if workspace.active.count[0] <= dimension:
                span_face(self.problem, workspace.active, flow, dimension)
        elif kind == FACE:
            difference = zeta(flow.copy()) - np.where(self.weights > 0, target, 0.0)
            face = LatticeFace(zeta_adjoint(self.weights * difference))
            span(self.problem, workspace, face, int((self.weights > 0).sum()) + 1)
        k = int(workspace.active.count[0])
        start = Start(*workspace.mixture(), workspace.active.factor[: k * (k + 1) // 2].copy())
        if workspace is not solved_in:
            self._workspaces.put(workspace)
        return start


def _mixture(solved: Solved) -> Mixture:
    return decompose(solved.flow) if solved.mixture is None else solved.mixture


def _share(n: int, weights: Array) -> Array:
    """How P_S spreads a menu's surplus over its cells: in the proportions 1/w; 0 where the menu is not fully observed."""
    lattice = Lattice(n)
    inverse = lattice.membership.astype(float)
    if len(weights):
        w = lattice.from_internal(weights)
        np.divide(1.0, w, out=inverse, where=lattice.membership & (w > 0))
        inverse[(lattice.membership & (w == 0)).any(axis=1)] = 0.0
    total = inverse.sum(axis=1, keepdims=True)
    return lattice.to_internal(np.divide(inverse, total, out=np.zeros_like(inverse), where=total > 0))


def _grown(array: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    new = np.empty((2 * used + more, *array.shape[1:]), array.dtype)
    new[:used] = array[:used]
    return new
