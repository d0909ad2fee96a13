"""A piece of a stack for the kernel of few items; the long list of its arguments stands here and nowhere else."""

from __future__ import annotations

import numpy as np

from rumflow.core.membership import inside_tolerance
from rumflow.core.problem import NO_WEIGHTS, Problem, is_complete
from rumflow.solvers.active_set.solve import make_problem
from rumflow.solvers.batch.kernels import Piece, Start
from rumflow.solvers.batch.result import join
from rumflow.solvers.small.workspace import make_small, make_workspace


class PieceOfStack:
    """Problems with the same weights (None: all 1), and what the kernel has found; `keep` as in `Keep`."""

    def __init__(
        self, targets, weights, keep, capacity=100, tol=1e-11, floor=-1.0, cone=False, starts=None, hold=False
    ):
        size, n = targets.shape[:2]
        self.weights = NO_WEIGHTS if weights is None else weights
        self.problem = make_problem(Problem(np.zeros(targets.shape[1:]), self.weights, cone))
        self.few, self.workspace = make_small(self.problem), make_workspace(n)
        self.complete = not cone and is_complete(self.weights)
        self.targets = targets.copy()
        self.flows, self.rhos = np.full(targets.shape, np.nan), np.full(targets.shape, np.nan)
        self.kind, self.count, self.rounds = np.full((3, size), -1)
        self.stalled = np.ones(size, np.bool_)
        self.used = np.zeros(2, np.int64)
        self.keep, self.tol, self.floor, self.hold = keep, tol, floor, hold
        self.where, self.start = join(None if starts is None else [Start(*one, np.empty(0)) for one in starts], size, n)
        self.flat = Start(np.empty((capacity, n), np.int32), np.empty(capacity), np.empty(capacity * 20))

    def run(self, solve, first=0, resume=False):
        """Where the kernel stopped."""
        out = Piece(self.flows, self.rhos, self.kind, self.count, self.rounds, self.stalled)
        return solve(
            self.few, self.weights, self.complete, self.workspace, self.targets, self.where, self.start, self.tol, self.floor,
            inside_tolerance(self.targets.shape[1]), self.keep > 0, self.hold, out, self.flat, self.used, first, resume,
            True if self.keep > 1 else None,
        )  # fmt: skip

    def rankings(self, i):
        """Paths, weights and inverse that were kept of problem i."""
        at = self.count[:i].sum()
        lengths = self.count * (self.count + 1) // 2
        there, k = lengths[:i].sum(), self.count[i]
        inverse = np.zeros((k, k))
        if self.keep > 1:
            inverse[np.tril_indices(k)] = self.flat.factor[there : there + lengths[i]]
            inverse += np.tril(inverse, -1).T
        return self.flat.paths[at : at + k], self.flat.weights[at : at + k], inverse
