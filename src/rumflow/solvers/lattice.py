"""Random utility on the lattice of all menus: projections, many small problems at a time.

A stack of targets z_1 .. z_B in the internal layout is projected; what the derivatives need is kept per problem: the
active rankings and what the solver left of M: its inverse for few items (`rumflow.solvers.small`), else its Cholesky factor
(`rumflow.solvers.active_set`), or the point where the interior point method stopped; `rumflow.solvers.lattice_faces` works with
them. Three steps per problem:

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

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mixture, Paths
from rumflow.core.certificate import Certificate, Certifier
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.membership import inside_tolerance
from rumflow.core.paths import (
    cheapest_below,
    decompose,
    extract_path,
    flow_from_paths,
    orders_from_paths,
    squeeze,
    uniform_flow,
)
from rumflow.core.problem import NO_WEIGHTS, Problem, Stop, is_complete, weight_range
from rumflow.core.threads import run_threads, thread_count
from rumflow.core.transforms import zeta, zeta_adjoint
from rumflow.models.model import Model
from rumflow.models.random_utility import RANDOM_UTILITY
from rumflow.solvers.active_set.solve import Workspace, make_problem
from rumflow.solvers.active_set.state import KernelProblem
from rumflow.solvers.batch.kernels import FACE, INSIDE, LEFT, PATH, Piece, Start, solve_piece
from rumflow.solvers.batch.result import LatticeFits, Part, concatenate, cut_stack, join, no_start, split
from rumflow.solvers.dispatch import BEGUN, Dispatcher, Solved
from rumflow.solvers.geometry import DEFAULT_OPTIONS, Faces, Geometry, Keep, SolveOptions
from rumflow.solvers.lattice_faces import LatticeFaces
from rumflow.solvers.resources import ONE_THREAD, Resources, Spares
from rumflow.solvers.small.workspace import (
    MOST_ITEMS,
    SmallProblem,
    SmallWorkspace,
    is_small,
    make_small,
    make_workspace,
)


def _make_spares(n: int) -> tuple[Spares[SmallWorkspace], Spares[Workspace]]:
    return Spares(partial(make_workspace, n)), Spares(partial(Workspace, n))


_SHARED = tuple(_make_spares(n) for n in range(MOST_ITEMS + 1))
#: Active rankings of few items (8: with fewer there are not so many) beyond which the smoothed projection is quicker.
_MOST_RANKINGS = 320
#: Active rankings of few items after which a solve that begins too late ends.
_BRIEF = 32
_ROUNDING = -1.0  # a floor below 0: the kernel computes what is rounding


def plain_lattice(n: int, cone: bool = False) -> LatticeGeometry:
    """The lattice of n items on which every cell counts 1; of few items one for all who ask, with its workspaces."""
    return _small_lattice(n, cone) if n <= MOST_ITEMS else LatticeGeometry(n, NO_WEIGHTS, cone)


@lru_cache(maxsize=2 * MOST_ITEMS)
def _small_lattice(n: int, cone: bool) -> LatticeGeometry:
    return LatticeGeometry(n, NO_WEIGHTS, cone)


@lru_cache(maxsize=MOST_ITEMS)
def _no_starts(n: int) -> tuple[Ints, Start]:
    """Of a single problem without a start."""
    return join(None, 1, n)


class LatticeGeometry(Geometry):
    """All menus of n items; see `rumflow.solvers.geometry.Geometry`."""

    route: str = "lattice"
    exact: bool = True
    has_all_menus: bool = True
    keep_to_start = Keep.FACES
    model: Model = RANDOM_UTILITY

    def __init__(self, n: int, weights: Array = NO_WEIGHTS, cone: bool = False) -> None:
        self.n: int = n
        self.weights: Array = weights
        self.cone: bool = cone
        self.shape = (n, 1 << (n - 1))
        self.n_nodes, self.n_arcs = 1 << n, n << (n - 1)
        self.complete: bool = not cone and is_complete(weights)
        self._tolerance = inside_tolerance(n)
        # Lattices of few items share their workspaces: fits that are kept would keep one each.
        self.small_workspaces: Spares[SmallWorkspace]
        self.workspaces: Spares[Workspace]
        self.small_workspaces, self.workspaces = _SHARED[n] if n <= MOST_ITEMS else _make_spares(n)

    def __reduce__(self) -> tuple[type[LatticeGeometry], tuple[int, Array, bool]]:
        return LatticeGeometry, (self.n, self.weights, self.cone)

    def weighted(self, weights: Array) -> LatticeGeometry:
        """The same with other weights; none at all where all are 1."""
        plain = not len(weights) or (not self.cone and weight_range(weights) == (weights.size, 1.0, 1.0))
        return plain_lattice(self.n, self.cone) if plain else LatticeGeometry(self.n, weights, self.cone)

    def blank(self, single: float) -> Array:
        """Zeros, with this number on the menus of one item."""
        rows = np.zeros(self.shape)
        rows[:, 0] = single
        return rows

    @cached_property
    def certifier(self) -> Certifier:
        """Certificates for these weights."""
        return Certifier(self.n, self.weights, self.cone, 1)

    @cached_property
    def faces(self) -> LatticeFaces:
        """The faces of projections, and the derivatives on them."""
        return LatticeFaces(self)

    @cached_property
    def kernel(self) -> KernelProblem:
        """What the weights alone say of a problem, in the form of the kernels: it has no target."""
        return make_problem(Problem(np.empty((self.n, 0)), self.weights, self.cone))

    @cached_property
    def small(self) -> SmallProblem | None:
        """The same for few items; None where there are many, or weights too far apart."""
        return make_small(self.kernel) if is_small(self.n, self.weights) else None

    def positions(self, menu: Ints, item: Ints, cells: Cells) -> Ints:
        """Where cells are in the flattened layout."""
        where: Ints = (item << (self.n - 1)) + squeeze.py_func(cells.offered.masks()[menu], item)
        return where

    def solve(
        self,
        targets: Array,
        stop: Stop,
        *,
        starts: Sequence[Start | Mixture | None] | None = None,
        options: SolveOptions = DEFAULT_OPTIONS,
        resources: Resources = ONE_THREAD,
    ) -> LatticeFits:
        """Project a stack (B, n, 2^(n-1))."""
        keep, certify, method, leave = options.keep, options.certify, options.method, options.leave_large
        size = len(targets)
        few = self.small is not None and method != "ipm"
        arrays = few or size != 1 or keep is Keep.FACES  # otherwise they are made when asked for
        fits = LatticeFits(
            geometry=self,
            targets=targets,
            rounds=np.zeros(size, np.int64),
            reasons=["interrupted"] * size,
            methods=["rankings"] * size,
            kind=np.zeros(size, np.int64),
            count=np.zeros(size, np.int64),
            numbers=np.empty((size, 5)),
            certified=np.zeros(size, np.bool_),
            keep=keep,
            given_flows=np.empty(targets.shape) if arrays else None,
            given_rhos=np.empty(targets.shape) if arrays else None,
            normalised=targets.copy() if few else None,
        )
        begin: list[Start | None] | None = None
        if starts is not None:
            same = size > 1 and len(set(map(id, starts))) == 1  # many problems often begin from one mixture
            begin = [_as_start(starts[0])] * size if same else [_as_start(own) for own in starts]
        threads = 1 if size == 1 else thread_count(resources.threads)
        timed = math.isfinite(resources.until)
        fits.pieces = _ONE_PIECE if size == 1 else cut_stack(size, threads, few, timed)
        one = resources if size == 1 else resources._replace(threads=1)
        stop = stop._replace(threshold=None)  # kernels solve to the end, which is soon
        stopped = [] if options.begin else [True]  # filled by whoever hears Ctrl-C

        every = Piece(
            _NO_ROWS if fits.given_flows is None else fits.given_flows,
            _NO_ROWS if fits.given_rhos is None else fits.given_rhos,
            fits.kind,
            fits.count,
            fits.rounds,
            np.zeros(size, np.bool_),
        )

        def task(piece: range) -> None:
            if stopped:
                return
            here = slice(piece.start, piece.stop)
            out = every if size == 1 else Piece(*(own[here] for own in every))  # type: ignore[arg-type]
            own = targets if size == 1 else targets[here]
            part = Part(fits, here, own, out, None if begin is None else begin[here], stop, certify)
            if not (self._solve_few(part, one, leave) if few else self._solve_large(part, one, method, leave)):
                stopped.append(True)
            elif resources.advance is not None:
                resources.advance(len(piece))

        try:
            if size == 1:
                task(_ONE_PIECE[0])
            else:
                run_threads(task, fits.pieces, threads)
        except KeyboardInterrupt:
            stopped.append(True)
        if stopped:
            self._give_up(fits, options.partial)
        elif size == 1 and fits.reasons[0] == "interrupted" and not options.partial:
            raise KeyboardInterrupt
        return fits

    def _give_up(self, fits: LatticeFits, partial: bool) -> None:
        """What was not begun when Ctrl-C came is the uniform mixture of all rankings."""
        if not partial:
            raise KeyboardInterrupt
        flow = uniform_flow(self.n)
        for i in range(len(fits)):
            if fits.reasons[i] != "interrupted" or i in fits.solved:
                continue
            fits.kind[i], fits.count[i], fits.rounds[i], fits.certified[i] = FACE, 0, 0, False
            fits.methods[i] = "rankings"
            fits.__dict__.pop("certificates", None)
            if fits.given_flows is None or fits.given_rhos is None:
                certificate = self.certifier(flow, fits.targets[i])
                fits.solved[i] = Solved(None, None, certificate, "rankings", 0, "interrupted", flow)
            else:
                fits.given_flows[i], fits.given_rhos[i] = flow, zeta(flow.copy(), 1)

    def tangent(
        self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool, threads: int | None = 1
    ) -> Array:
        """S times each of a stack of vectors, in place."""
        return self.faces.tangent(faces, rows, by_flow, forward=forward, threads=threads)

    def certify(self, mixture: Mixture, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of a mixture; gaps are exact here, whatever bound is known."""
        return self.certifier.mixture(mixture, target)

    def orders(self, types: Paths) -> Ints:
        """(k, n): rankings, items best first."""
        return orders_from_paths(types)

    def choices(self, types: Paths, cells: Cells) -> Ints:
        """(k, m): the column of `cells` that each ranking takes from each menu."""
        return cells.types_of_orders(orders_from_paths(types)).astype(np.int64)

    def cheapest(self, cost: Array) -> float:
        """The price of the cheapest ranking for prices of cells, which are used up."""
        return float(cheapest_below(zeta_adjoint(cost), 1)[-1])

    def cheapest_type(self, cost: Array) -> Paths:
        """The cheapest ranking, as a path."""
        prices, path = zeta_adjoint(cost), np.empty(self.n, np.int32)
        below = cheapest_below(prices, 1)
        extract_path(prices, below, below, self.n, len(below) - 1, path)
        return path

    # Points are flows.

    def middle(self) -> Array:
        """All rankings equally likely."""
        return uniform_flow(self.n)

    def point(self, fits: Any) -> Array:
        """The flow of the first fit."""
        flow: Array = fits.flow(0)
        return flow

    def point_of(self, mixture: Mixture) -> Array:
        """The flow of a mixture."""
        return flow_from_paths(*mixture)

    def blend(self, a: Array, b: Array, step: float) -> Array:
        """a + step (b - a)."""
        return a + step * (b - a)

    def rho(self, point: Array) -> Array:
        """The probabilities of a flow."""
        return zeta(point.copy())

    def mixture(self, point: Array) -> Mixture:
        """A flow as a mixture of rankings."""
        return decompose(point)

    def flow(self, point: Array) -> Array:
        """The flow itself."""
        return point

    def _solve_few(self, part: Part, resources: Resources, leave: bool) -> bool:
        """A piece of a stack of few items in one kernel, then what it left unsolved. False after Ctrl-C."""
        fits, out, stop, size = part.fits, part.out, part.stop, len(part.targets)
        keep, first = fits.keep, part.span.start
        small = self.small_workspaces.take()
        begin, start = _no_starts(self.n) if part.starts is None and size == 1 else join(part.starts, size, self.n)
        atoms = 128 * size if keep else 0
        flat = Start(
            np.empty((atoms, self.n), np.int32), np.empty(atoms), np.empty(64 * atoms if keep is Keep.FACES else 0)
        )
        used = np.zeros(2, np.int64)
        done, resume = 0, False
        assert fits.normalised is not None
        targets, floor = fits.normalised[part.span], _ROUNDING if stop.floor is None else stop.floor
        assert self.small is not None
        # Once the time is up, what has not begun gets a brief solve, whose mixture is in the model as well.
        until = resources.until
        late = math.isfinite(until) and clock() > until
        most = _BRIEF if late else _MOST_RANKINGS if leave else self.small.most
        problem = self.small if most == self.small.most else self.small._replace(most=most)
        while True:
            done = solve_piece(
                problem, self.weights, self.complete, small, targets, begin, start, stop.tol, floor,
                self._tolerance, keep > Keep.NOTHING, math.isfinite(until), out, flat, used, done, resume,
                True if keep is Keep.FACES else None,
            )  # fmt: skip
            if done == size:
                break
            # The buffers are full, the problem `done` is solved but not stored.
            resume = True
            k = int(out.count[done])
            flat = Start(
                _grown(flat.paths, int(used[0]), k),
                _grown(flat.weights, int(used[0]), k),
                _grown(flat.factor, int(used[1]), k * (k + 1) // 2),
            )
        self.small_workspaces.give_back(small)
        rankings, numbers = used.tolist()
        flat = Start(flat.paths[:rankings], flat.weights[:rankings], flat.factor[:numbers])
        unsolved = self._certify(part) if part.certify or out.stalled.any() else []
        kinds = out.kind.tolist()
        reason = "max_seconds" if late else "too_large"
        fits.reasons[part.span] = [reason if kind == LEFT else "done" for kind in kinds]
        if late:
            out.kind[out.kind == LEFT] = FACE
        if self.complete and INSIDE in kinds:
            for i, (kind, rounds) in enumerate(zip(kinds, out.rounds.tolist(), strict=True)):
                if kind == INSIDE and rounds == 0:
                    fits.methods[first + i] = "moebius"
        found = None
        for i in unsolved:
            if kinds[i] == LEFT:
                continue
            found = found if found is not None else split(out.count, flat)
            certificate = self.certifier.make(*fits.numbers[first + i].tolist())
            workspace = self.workspaces.take()
            solved = self._solve_one(part, i, workspace, resources, self._begun(part, i, certificate, found[i]))
            self.workspaces.give_back(workspace)
            if solved is None:
                fits.reasons[part.span] = ["interrupted"] * size
                return False
            part.put(i, solved)
            if keep:
                found[i] = self._kept(part, i, solved)
                out.count[i] = len(found[i].weights)
        fits.kept[first] = flat if found is None else concatenate(found, self.n)
        return True

    def _certify(self, part: Part) -> list[int]:
        """Certify a piece of few items; the problems that are not solved."""
        fits, numbers = part.fits, part.fits.numbers[part.span]
        self.certifier.stack(part.out.flows, part.targets, numbers)
        fits.certified[part.span] = True
        if len(fits) > 1:
            return np.flatnonzero(~self.certifier.are_optimal(numbers, part.stop)).tolist()
        fits.certificates = [self.certifier.make(*numbers[0].tolist())]  # quicker than arrays of one
        return [] if fits.certificates[0].is_optimal(part.stop) else [0]

    def _begun(self, part: Part, i: int, certificate: Certificate, start: Start) -> Solved:
        """What the kernel has found for problem i, as the first of the dispatcher's attempts."""
        mixture = (start.paths, start.weights) if len(start.weights) else decompose(part.out.flows[i])
        reason = "stalled" if part.out.stalled[i] else "done"
        return Solved(mixture, None, certificate, "rankings", int(part.out.rounds[i]), reason, part.out.flows[i].copy())

    def _solve_large(self, part: Part, resources: Resources, method: str, leave: bool) -> bool:
        """The same, one call from Python per problem, for problems that take long enough. False after Ctrl-C."""
        parts: list[Start] = []
        fits, keep, first = part.fits, part.fits.keep, part.span.start
        # A single problem leaves nothing behind: its arrays are freed before it is certified.
        workspace = None if fits.given_flows is None else self.workspaces.take()
        method = BEGUN if leave else method
        for i in range(len(part.targets)):
            solved = self._solve_one(part, i, workspace, resources, None, method)
            if solved is None:
                break
            part.put(i, solved)
            if solved.reason == "too_large":
                part.out.kind[i] = LEFT
            if keep and fits.given_flows is not None:
                inside = solved.method == "moebius" or part.out.kind[i] == LEFT
                parts.append(no_start(self.n) if inside else self._kept(part, i, solved, workspace))
                part.out.count[i] = len(parts[-1].weights)
        if workspace is not None:
            self.workspaces.give_back(workspace)
        fits.kept[first] = concatenate(parts, self.n)
        return solved is not None

    def _solve_one(
        self,
        part: Part,
        i: int,
        workspace: Workspace | None,
        resources: Resources,
        first: Solved | None,
        method: str = "auto",
    ) -> Solved | None:
        """One problem by the dispatcher, as if it stood alone; None after Ctrl-C, where others are waiting."""
        own = None if part.starts is None else part.starts[i]
        start = None
        if first is not None and first.mixture is not None and np.isfinite(first.mixture[1]).all():
            # The inverse lost accuracy: continue with the Cholesky factor, which is more stable.
            start = first.mixture
        elif own is not None and len(own.weights) > 0 and np.isfinite(own.weights).all():
            start = own.paths, own.weights
        certifier = self.certifier.with_threads(resources.threads)
        solved = Dispatcher(self.kernel, certifier).solve(
            part.targets[i],
            part.stop,
            method=method,
            start=start,
            first=first,
            workspace=workspace,
            resources=resources,
        )
        return None if solved.reason == "interrupted" and len(part.fits) > 1 else solved

    def _kept(self, part: Part, i: int, solved: Solved, workspace: Workspace | None = None) -> Start:
        """What is kept of problem i, which was solved in this workspace."""
        kind, faces = int(part.out.kind[i]), part.fits.keep is Keep.FACES
        if faces and (kind == PATH or (kind == INSIDE and self.complete and solved.interior is not None)):
            return no_start(self.n)  # there is a point of the central path, and inside the model nothing is needed
        mixture = decompose(solved.flow) if solved.mixture is None else solved.mixture
        if not faces:
            return Start(*mixture, np.empty(0))
        return self.faces.of_solved(mixture, solved.flow, kind, part.targets[i], workspace)


_NO_ROWS = np.empty((0, 0, 0))
_ONE_PIECE = [range(1)]


def _as_start(given: Start | Mixture | None) -> Start | None:
    return given if given is None or isinstance(given, Start) else Start(*given, np.empty(0))


def _grown(array: NDArray[Any], used: int, more: int) -> NDArray[Any]:
    new = np.empty((2 * used + more, *array.shape[1:]), array.dtype)
    new[:used] = array[:used]
    return new
