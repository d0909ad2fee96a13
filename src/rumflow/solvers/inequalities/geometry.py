"""The triangle inequalities on compared pairs: exact projections for any number of items, without types.

The layout is that of `rumflow.core.graph_cells.Cells`, (menus, 2), or with ties as an outcome (menus, 3). A pair that counts is
one number x, the share of the item in the first column, or with ties two (`rumflow.core.pairs`); pairs without a weight are left
out, since the inequalities of the others never forbid all their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.certificate import Certificate
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells
from rumflow.core.pair_certificate import PairProblem, certify_pairs, move_inside, pair_problem
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles, make_pairs, share_range
from rumflow.core.patience import OutOfTimeError
from rumflow.core.problem import Stop
from rumflow.core.threads import run_threads, thread_count
from rumflow.data.labels import tie_number
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.triangle_inequalities import require_pairs
from rumflow.solvers.geometry import DEFAULT_OPTIONS, Faces, Keep, SolveOptions, TableGeometry
from rumflow.solvers.inequalities.faces import move_on_face, unpack_rows
from rumflow.solvers.inequalities.fits import InequalityFits, PairFit
from rumflow.solvers.inequalities.solve import Solved, solve_cuts
from rumflow.solvers.resources import ONE_THREAD, Resources, watch_certificate


class InequalityGeometry(TableGeometry):
    """The path inequalities on compared pairs; see `rumflow.solvers.geometry.Geometry`."""

    route: str = "inequalities"
    exact: bool = True
    cone: bool = False
    keep_to_start = Keep.NOTHING
    n_nodes = 0

    def __init__(self, model: Model, cells: Cells, *, cone: bool = False) -> None:
        if cone:
            raise InputError(f"{model.name}: there is no cone of mixtures with any total; take another convention")
        require_pairs(cells)
        self.model: Model = model
        self.cells: Cells = cells
        self._set_weights((cells.item >= 0).astype(np.float64))

    def _set_weights(self, weights: Array) -> None:
        self.weights = weights
        self.used: Ints = np.flatnonzero(weights.sum(axis=1) > 0)  # pairs that count
        self.__dict__.pop("pairs", None)
        if self.tied and (few := ((weights > 0).sum(axis=1) == 1)).any():
            raise InputError(
                f"menu {self.cells.name(int(np.argmax(few)))}: one of the outcomes a, b and tie has a weight, and two are "
                "needed: record two of them, or give the whole pair the weight 0"
            )

    @cached_property
    def tied(self) -> bool:
        """Are ties an outcome?"""
        return tie_number(self.cells.items) >= 0

    @cached_property
    def _cells_of_pairs(self) -> tuple[Ints, Ints]:
        """(menus, 2 or 3) each: items and columns of every pair, in the order of the columns, ties last."""
        offered, size = self.cells.offered, 2 + self.tied
        item, place = (
            offered.item.reshape(-1, size).astype(np.int64),
            self.cells.place.reshape(-1, size).astype(np.int64),
        )
        order = np.argsort(np.where(item == tie_number(self.cells.items), size, place), axis=1, kind="stable")
        return np.take_along_axis(item, order, axis=1), np.take_along_axis(place, order, axis=1)

    @property
    def ends(self) -> tuple[Ints, Ints]:
        """The first and the second item of each pair, in the order of their columns."""
        item, _ = self._cells_of_pairs
        return item[:, 0], item[:, 1]

    def by_pair(self, table: Array) -> Array:
        """(..., menus, 2 or 3): a table with the columns of the first item, the second and the tie."""
        columns = self._cells_of_pairs[1]
        found: Array = table[..., np.arange(len(columns))[:, None], columns]
        return found

    @cached_property
    def all_pairs(self) -> Pairs:
        """The graph of all pairs, with a weight or without."""
        return make_pairs(*self.ends, self.cells.n_items, self.tied)

    @cached_property
    def pairs(self) -> Pairs:
        """The graph of the pairs that count."""
        if len(self.used) == len(self.cells):
            return self.all_pairs
        a, b = self.ends
        return make_pairs(a[self.used], b[self.used], self.cells.n_items, self.tied)

    def problem(self, target: Array) -> PairProblem:
        """A table as shares of pairs."""
        return pair_problem(self.by_pair(target), self.by_pair(self.weights))

    @property
    def n_arcs(self) -> int:
        """Two for each pair."""
        return 2 * len(self.cells)

    def solve(
        self,
        targets: Array,
        stop: Stop,
        *,
        starts: Sequence[Any] | None = None,
        options: SolveOptions = DEFAULT_OPTIONS,
        resources: Resources = ONE_THREAD,
    ) -> InequalityFits:
        """Project a stack (B, menus, 2); a start is what `InequalityFits.starts` has."""
        size, threads = len(targets), thread_count(resources.threads)
        one = resources._replace(threads=1 if size > 1 else threads)
        even = np.full(2 * len(self.used), 1.0 / 3.0) if self.tied else np.full(len(self.used), 0.5)
        half = PairFit(even, Cycles.none(), np.empty(0))
        found = [half] * size
        made: list[Certificate | None] = [None] * size
        reasons, rounds = ["interrupted"] * size, np.zeros(size, np.int64)
        stopped = [] if options.begin else [True]  # filled by whoever hears Ctrl-C

        def task(i: int) -> None:
            if stopped:
                return
            start = None if starts is None or starts[i] is None else starts[i]
            known = None if start is None else (Cycles(start[0], start[1]), start[2])
            problem, since = self.problem(targets[i]), clock()
            solved = solve_cuts(self.pairs, problem.p, problem.h, known, one, problem.cross)
            if solved.reason == "interrupted":
                stopped.append(True)
                if not options.partial:
                    raise KeyboardInterrupt
            reasons[i], rounds[i] = solved.reason, solved.rounds
            look = watch_certificate(solved.reason, clock() - since, one.until)
            try:
                x = self._inside(solved, one.threads or 1, look)
                found[i] = PairFit(x, solved.cycles, solved.multipliers)
                if options.certify:
                    made[i] = certify_pairs(self.pairs, problem, *found[i], one.threads or 1, look)
            except OutOfTimeError:  # no search is needed to see that equal shares obey the inequalities
                found[i] = PairFit(even, solved.cycles, solved.multipliers)
                reasons[i] = "max_seconds" if solved.reason == "done" else solved.reason
            if options.certify:
                certificate = made[i] = made[i] or certify_pairs(self.pairs, problem, *found[i], one.threads or 1)
                if reasons[i] == "done" and not certificate.is_optimal(stop):
                    reasons[i] = "stalled"
            if resources.advance is not None:
                resources.advance(1)

        try:
            run_threads(task, range(size), threads)
        except KeyboardInterrupt:
            if not options.partial:
                raise
        return InequalityFits(self, targets, rounds, reasons, [self.route] * size, found, made)

    def _inside(self, solved: Solved, threads: int, look: Callable[[], None]) -> Array:
        """Shares that obey the inequalities, near those of a solve."""
        x, short = np.clip(solved.x, 0.0, 1.0), solved.short
        if short == np.inf:
            length = arc_lengths(x, self.tied)
            short = find_short_cycles(self.pairs, length, 0.0, threads, keep=False, look=look).worst
            short = max(short, float((length[::2] + length[1::2]).max(initial=1.0)) - 1.0)
        return move_inside(x, short, self.tied)

    def certify(self, mixture: PairFit, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of shares, cycles and multipliers; it needs no other bound."""
        return certify_pairs(self.pairs, self.problem(target), *mixture)

    def tangent(
        self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool, threads: int | None = 1
    ) -> Array:
        """S times each of a stack of tables; pairs without a weight do not move."""
        faces = faces.repeat(len(rows))
        problem = self.problem(self.weights)  # for the weights alone
        for i, row in enumerate(rows):
            own = self.by_pair(row)[self.used]
            gradient = own[:, :-1] - own[:, -1:]
            *counts, at, _ = faces.counts[i].tolist()
            on_face = unpack_rows(counts, faces.types[at:])
            dx = move_on_face(on_face, problem.h, problem.cross, gradient.reshape(-1)).reshape(gradient.shape)
            row[:] = 0.0
            row[self.used[:, None], self._cells_of_pairs[1][self.used]] = np.column_stack([dx, -dx.sum(axis=1)])
        return rows

    def to_table(self, x: Array) -> Array:
        """(menus, width): the shares of both items and of ties, from those of the pairs that count."""
        length = np.full((len(self.cells), 2), np.inf)
        length[self.used] = arc_lengths(x, self.tied).reshape(-1, 2)
        a, b = self.ends
        for e in np.flatnonzero(np.isinf(length[:, 0])).tolist():  # one after the other: each narrows what is left
            length[e, 0] = 0.5 * sum(share_range(self.all_pairs, length.reshape(-1), int(a[e]), int(b[e])))
            length[e, 1] = 1.0 - length[e, 0]
            if self.tied:
                left, length[e, 1] = length[e, 1], np.inf
                low, high = share_range(self.all_pairs, length.reshape(-1), int(b[e]), int(a[e]))
                length[e, 1] = 0.5 * (low + min(high, left))
        table = np.zeros(self.shape)
        columns = self._cells_of_pairs[1]
        if self.tied:
            length = np.column_stack([length, np.maximum(1.0 - length.sum(axis=1), 0.0)])
        table[np.arange(len(columns))[:, None], columns] = length
        return table

    def share_ranges(self, x: Array, a: Ints, b: Ints) -> tuple[Array, Array]:
        """The least and the largest shares of items a against b that shares x leave, each pair by itself."""
        length = arc_lengths(x, self.tied)
        ends = [share_range(self.pairs, length, int(u), int(v)) for u, v in zip(a, b, strict=True)]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])
