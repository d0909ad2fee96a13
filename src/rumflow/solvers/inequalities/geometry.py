"""The triangle inequalities on compared pairs: exact projections for any number of items, without types.

The layout is that of `rumflow.core.graph_cells.Cells`, (menus, 2). A pair that counts is one number x, the share of the item in
the first column; pairs without a weight are left out, since the inequalities of the others never forbid all their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from rumflow.core.arrays import Array, Ints
from rumflow.core.certificate import Certificate
from rumflow.core.graph_cells import Cells
from rumflow.core.pair_certificate import certify_pairs, move_inside, pair_problem
from rumflow.core.pairs import Cycles, Pairs, arc_lengths, find_short_cycles, make_pairs, share_range
from rumflow.core.problem import Stop
from rumflow.core.threads import run_threads, thread_count
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.triangle_inequalities import require_pairs
from rumflow.solvers.geometry import DEFAULT_OPTIONS, Faces, Geometry, Keep, SolveOptions
from rumflow.solvers.inequalities.faces import move_on_face, unpack_rows
from rumflow.solvers.inequalities.fits import InequalityFits, PairFit
from rumflow.solvers.inequalities.solve import solve_cuts
from rumflow.solvers.resources import ONE_THREAD, Resources


class InequalityGeometry(Geometry):
    """The path inequalities on compared pairs; see `rumflow.solvers.geometry.Geometry`."""

    route, exact, has_all_menus, cone = "inequalities", True, False, False
    keep_to_start = Keep.NOTHING
    n_nodes = 0

    def __init__(self, model: Model, cells: Cells, *, cone: bool = False) -> None:
        if cone:
            raise InputError(f"{model.name}: there is no cone of mixtures with any total; take another convention")
        require_pairs(cells)
        self.model, self.cells = model, cells
        self._set_weights((cells.item >= 0).astype(np.float64))

    def _set_weights(self, weights: Array) -> None:
        self.weights = weights
        self.used: Ints = np.flatnonzero(weights.sum(axis=1) > 0)  # pairs that count
        self.__dict__.pop("pairs", None)

    def weighted(self, weights: Array) -> Self:
        """The same with other weights of cells."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._set_weights(weights)
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """(menus, 2): the shape of tables."""
        return self.cells.shape

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """The items of the first and of the second column of each pair."""
        items, place = self.cells.offered.item.reshape(-1, 2).astype(np.int64), self.cells.place.reshape(-1, 2)
        first = items[np.arange(len(items)), place.argmin(axis=1)]
        return first, items.sum(axis=1) - first

    @cached_property
    def all_pairs(self) -> Pairs:
        """The graph of all pairs, with a weight or without."""
        return make_pairs(*self.ends, self.cells.n_items)

    @cached_property
    def pairs(self) -> Pairs:
        """The graph of the pairs that count."""
        if len(self.used) == len(self.cells):
            return self.all_pairs
        a, b = self.ends
        return make_pairs(a[self.used], b[self.used], self.cells.n_items)

    @property
    def n_arcs(self) -> int:
        """Two for each pair."""
        return 2 * len(self.cells)

    def blank(self, single: float) -> Array:
        """A table of zeros: menus of one item leave no choice."""
        return np.zeros(self.shape)

    def positions(self, menu: Ints, item: Ints, cells: Cells) -> Ints:
        """Where cells are in the flattened tables; item -1 is the remainder."""
        return np.asarray(menu * self.cells.width + cells.columns(menu, item), np.int64)

    def inner_point(self) -> Array:
        """One half."""
        return np.where(self.cells.filled, 0.5, 0.0)

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
        half = PairFit(np.full(len(self.used), 0.5), Cycles.none(), np.empty(0))
        found = [half] * size
        made: list[Certificate | None] = [None] * size
        reasons, rounds = ["interrupted"] * size, np.zeros(size, np.int64)
        stopped = [] if options.begin else [True]  # filled by whoever hears Ctrl-C

        def task(i: int) -> None:
            if stopped:
                return
            start = None if starts is None or starts[i] is None else starts[i]
            known = None if start is None else (Cycles(start[0], start[1]), start[2])
            problem = pair_problem(targets[i], self.weights)
            solved = solve_cuts(self.pairs, problem.p, problem.h, known, one)
            if solved.reason == "interrupted":
                stopped.append(True)
                if not options.partial:
                    raise KeyboardInterrupt
            x, short = np.clip(solved.x, 0.0, 1.0), solved.short
            if short == np.inf:
                short = find_short_cycles(self.pairs, arc_lengths(x), 0.0, one.threads or 1, keep=False).worst
            found[i] = PairFit(move_inside(x, short), solved.cycles, solved.multipliers)
            reasons[i], rounds[i] = solved.reason, solved.rounds
            if options.certify:
                certificate = made[i] = certify_pairs(self.pairs, problem, *found[i], threads=one.threads or 1)
                if solved.reason == "done" and not certificate.is_optimal(stop):
                    reasons[i] = "stalled"
            if resources.advance is not None:
                resources.advance(1)

        try:
            run_threads(task, range(size), threads)
        except KeyboardInterrupt:
            if not options.partial:
                raise
        return InequalityFits(self, targets, rounds, reasons, [self.route] * size, found, made)

    def certify(self, mixture: PairFit, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of shares, cycles and multipliers; it needs no other bound."""
        return certify_pairs(self.pairs, pair_problem(target, self.weights), *mixture)

    def tangent(
        self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool, threads: int | None = 1
    ) -> Array:
        """S times each of a stack of tables; pairs without a weight do not move."""
        faces = faces.repeat(len(rows))
        h = self.weights[self.used].sum(axis=1)
        for i, row in enumerate(rows):
            own = row[self.used]
            dx = move_on_face(unpack_rows(faces.counts[i], faces.types[i]), h, (own[:, 0] - own[:, 1]) / h)
            row[:] = 0.0
            row[self.used, 0], row[self.used, 1] = dx, -dx
        return rows

    def to_table(self, x: Array) -> Array:
        """(menus, 2): the shares of both items, from those of the pairs that count."""
        shares = np.full(len(self.cells), np.nan)
        shares[self.used] = x
        free = np.flatnonzero(np.isnan(shares))
        if len(free):
            length = np.where(np.isnan(shares), np.inf, shares)
            length = np.stack([length, np.where(np.isnan(shares), np.inf, 1.0 - shares)], axis=1).reshape(-1)
            a, b = self.ends
            for e in free.tolist():  # one after the other: each narrows what is left for the next
                shares[e] = 0.5 * sum(share_range(self.all_pairs, length, int(a[e]), int(b[e])))
                length[2 * e], length[2 * e + 1] = shares[e], 1.0 - shares[e]
        return np.stack([shares, 1.0 - shares], axis=1)

    def share_ranges(self, x: Array, a: Ints, b: Ints) -> tuple[Array, Array]:
        """The least and the largest shares of items a against b that shares x leave, each pair by itself."""
        length = arc_lengths(x)
        ends = [share_range(self.pairs, length, int(u), int(v)) for u, v in zip(a, b, strict=True)]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])
