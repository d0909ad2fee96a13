"""A lower bound of the optimum from projections of groups of menus.

The projection of some of the menus alone is a problem with a small graph, and exact. Let several *cuts* each divide all menus
into such groups, and share out the data: for K cuts and tables t_1 .. t_K whose mean is the data,

    f(rho) = 1/K sum over k of 1/2 ||rho - t_k||_w^2  -  1/K sum over k of 1/2 ||t_k - rho_hat||_w^2,

and as rho is in the model of every group, with rho_k the projection of t_k group by group,

    optimum >= 1/K sum over k of 1/2 ||rho_k - t_k||_w^2  -  1/K sum over k of 1/2 ||t_k - rho_hat||_w^2      for any such tables.

On menus of more than two items one of the K is no cut, but what the path inequalities on the pairs within menus allow
(`rumflow.solvers.bounded.tables`), which joins menus that no group has together.

The right-hand side is concave and smooth in the tables, with gradient w (mean of the rho_k - rho_k) / K for t_k, and accelerated
ascent (Nesterov) is near its maximum after some ten rounds: the distance to the set of tables that every group of every cut
accepts. Each projection counts with what is certified of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture
from rumflow.core.compile import clock
from rumflow.core.graph import Graph, cells_of_types
from rumflow.core.graph_cells import Cells
from rumflow.core.graph_certificate import certify_types
from rumflow.core.menus import Menus
from rumflow.core.patience import check_interrupt
from rumflow.core.problem import Problem, Stop
from rumflow.core.threads import run_threads, thread_count
from rumflow.models.model import Model
from rumflow.models.open_menus import Limit
from rumflow.solvers.bounded.groups import largest_group
from rumflow.solvers.bounded.tables import PairTables
from rumflow.solvers.graph import solve_graph

#: Nodes a graph of a group may have: more cuts are worth more than larger groups.
SPLIT_LIMIT = Limit(nodes=2_000)

_CUTS = 4  # at first; twice as many when they have nothing more to give
_MOST_CUTS = 64
_TOL = 1e-3  # relative gap of the projections
_LEAST_GAIN = 1e-3  # relative; rounds that gain less are the last with these cuts


class _Group(NamedTuple):
    menus: Ints
    part: Cells
    graph: Graph


class Split:
    """The bound for given data; it goes on where it was left."""

    def __init__(
        self, model: Model, cells: Cells, problem: Problem, seed: int, pairs: PairTables | None = None
    ) -> None:
        self._model, self._cells, self._problem = model, cells, problem
        self._rng = np.random.default_rng([seed, 1])
        self._cuts: list[list[_Group]] = []
        self._pairs = None if problem.cone else pairs
        self._tables = np.empty((0, *cells.shape))  # that of the pairs first, where there is one
        self._starts: dict[tuple[int, int], Mixture] = {}
        self._seconds = 0.0  # that a round takes
        self._menus = np.flatnonzero((problem.weights > 0).any(axis=1))

    def bounds(self, deadline: float | None, threads: int | None) -> Iterator[float]:
        """Better and better lower bounds of the optimum; without a deadline, those of the first cuts."""
        while len(self._cuts) < _MOST_CUTS:
            for _ in range(max(len(self._cuts), _CUTS)):
                cut = self._cut(deadline)
                if cut is None:
                    return
                self._cuts.append(cut)
            new = len(self._cuts) + (self._pairs is not None) - len(self._tables)
            self._tables = np.concatenate([self._tables, np.repeat(self._problem.target[None], new, axis=0)])
            self._seconds *= 2
            yield from self._ascend(deadline, thread_count(threads))
            if deadline is None or clock() > deadline:
                return

    def _ascend(self, deadline: float | None, threads: int) -> Iterator[float]:
        """Rounds of ascent with the cuts there are, until they gain little."""
        here = before = self._tables
        momentum, best = 1.0, -np.inf
        while deadline is None or clock() + self._seconds <= deadline:
            begin = clock()
            projected = self._project(here, threads, deadline)
            if projected is None:
                return
            value, fitted = projected
            self._seconds = clock() - begin
            yield value
            gain = value - best
            if gain > 0:
                best, self._tables = value, here
            if gain <= _LEAST_GAIN * abs(best):
                return
            after = here + fitted.mean(axis=0) - fitted
            after += self._problem.target - after.mean(axis=0)  # rounding
            ahead = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            here = after + (momentum - 1.0) / ahead * (after - before)
            before, momentum = after, ahead

    def _project(self, tables: Array, threads: int, deadline: float | None) -> tuple[float, Array] | None:
        """The bound for these tables, and their projections group by group; None where the time was over."""
        count, first = len(tables), len(tables) - len(self._cuts)
        target, weights, cone = self._problem
        fitted = tables.copy()  # menus without weight stay as they are
        values = [np.zeros(len(groups)) for groups in self._cuts]
        late: list[bool] = []
        whole = 0.0
        if self._pairs is not None:
            whole, fitted[0] = self._pairs.project(tables[0], weights, deadline)

        def task(place: tuple[int, int]) -> None:
            check_interrupt()
            if late or (deadline is not None and clock() > deadline):
                late.append(True)
                return
            k, i = place
            menus, part, graph = self._cuts[k][i]
            problem = Problem(part.cut(tables[first + k], menus), part.cut(weights, menus), cone)
            found = solve_graph(graph, problem, Stop(_TOL), start=self._starts.get(place))
            if found.reason == "interrupted":
                raise KeyboardInterrupt
            mixture = found.paths, found.weights
            self._starts[place] = mixture
            certificate = certify_types(graph, mixture, problem)
            values[k][i] = max(certificate.objective - certificate.gap, 0.0)
            fitted[first + k][menus, : part.width] = cells_of_types(*mixture, graph.shape)

        places = [(k, i) for k, groups in enumerate(self._cuts) for i in range(len(groups))]
        run_threads(task, places, threads)
        if late:
            return None
        away = 0.5 * float((weights * (tables - target) ** 2).sum())
        return (whole + float(sum(one.sum() for one in values)) - away) / count, fitted

    def _cut(self, deadline: float | None) -> list[_Group] | None:
        """All menus in groups, each grown from a random menu by the menus that bring the fewest new items.

        None where the time was over before.
        """
        rest = self._rng.permutation(self._menus)
        groups: list[_Group] = []
        guess, limit = len(rest), SPLIT_LIMIT._replace(deadline=deadline)
        while len(rest):
            # Without known preferences a graph has a node for every menu, or more.
            most = limit.nodes if self._model.all_rankings else len(rest)
            order = rest[_by_overlap(self._cells.offered.take(rest)[0], most, limit)]
            group = largest_group(self._model, self._cells, order, limit, guess) if len(order) else None
            if group is None:
                return None
            guess, graph, part = group
            groups.append(_Group(order[:guess], part, graph))
            rest = rest[~np.isin(rest, order[:guess])]
        return groups


def _by_overlap(menus: Menus, most: int, limit: Limit) -> Ints:
    """An order of at most so many menus: the first, then always the one with the fewest items that are new.

    None of them where the time was over before.
    """
    first, at_menu, _ = menus.of_items
    seen = np.zeros(menus.n_items, np.bool_)
    news = menus.sizes.copy()
    order = np.empty(min(most, len(menus)), np.int64)
    at = 0
    for i in range(len(order)):
        if limit.late():
            return order[:0]
        order[i] = at
        own = menus.items_of(at)
        for x in own[~seen[own]]:
            news[at_menu[first[x] : first[x + 1]]] -= 1
        seen[own] = True
        news[at] = len(menus.item) + 1  # taken
        at = int(news.argmin())
    return order
