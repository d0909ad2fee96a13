"""Random utility without a graph: column generation with an honest bound.

The active set is that of `rumflow.solvers.active_set`. Its candidates come from local search (`rumflow.solvers.bounded.prices`),
so it ends where the search finds no cheaper type, which proves nothing. Then the price of the cheapest type is bounded from
below (`rumflow.solvers.bounded.bound`). With g = w (rho - rho_hat) and any number c that no type's price is below,

    optimum >= f(rho) - (<g, rho> - c),

so every bound at every mixture on the way is a lower bound of the optimum. Another comes from projections of parts of the data
(`rumflow.solvers.bounded.split`), and on pairs the first one is the distance to the path inequalities, which every population
obeys (`rumflow.solvers.inequalities`): as a rule it is the optimum. On larger menus the first one comes from these inequalities
on the pairs within menus (`rumflow.solvers.bounded.tables`). The largest of them all counts: gap = objective - it.
Where a bound comes with a type that the search has missed, column generation goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rumflow.core.arrays import Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.compile import clock
from rumflow.core.graph import cells_of_types
from rumflow.core.graph_certificate import Residual, describe_mixture, residual_of
from rumflow.core.problem import SOLVER_FLOOR, Problem, Stop, data_size
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.solvers.active_set.solve import Goal, Workspace, make_graph_problem, solve_rankings
from rumflow.solvers.bounded.bound import Bound, Bounder
from rumflow.solvers.bounded.prices import FULL, SearchPrices
from rumflow.solvers.bounded.search import KICK, find_cheap
from rumflow.solvers.bounded.split import Split
from rumflow.solvers.bounded.tables import MOST_PAIRS, PairTables, count_pairs
from rumflow.solvers.geometry import DEFAULT_OPTIONS, SolveOptions
from rumflow.solvers.graph_fits import PartFit
from rumflow.solvers.inequalities.geometry import InequalityGeometry
from rumflow.solvers.resources import ONE_THREAD, Progress, Resources

_SEARCH_SHARE = 0.6  # of the time that is left, for the search before the next bound
_WORTH = 0.02  # a share of the time that is not worth another round


class Fitted:
    """A mixture and what it leaves of the data."""

    def __init__(self, mixture: Mixture, problem: Problem) -> None:
        self.mixture: Mixture = mixture
        self._problem = problem
        self._rho = cells_of_types(*mixture, problem.target.shape)
        self.left: Residual = residual_of(self._rho, *problem)

    def certify(self, lower: float) -> Certificate:
        """The certificate, given a lower bound of the optimum."""
        objective = self.left.objective
        return describe_mixture(self.mixture, self._rho, self._problem, objective, max(objective - lower, 0.0))


class BoundedSolver:
    """Column generation for given menus. Its arrays can be used again for the next problem."""

    def __init__(self, prices: SearchPrices, bounder: Bounder) -> None:
        self.prices: SearchPrices = prices
        self.bounder: Bounder = bounder
        self._workspace = Workspace(prices)
        cells = bounder.cells
        pairs = bool((cells.offered.sizes == 2).all())
        self._inequalities = InequalityGeometry(TriangleInequalities(), cells) if pairs else None
        self._tables = PairTables(cells) if not pairs and count_pairs(cells) <= MOST_PAIRS else None

    def solve(
        self,
        problem: Problem,
        stop: Stop,
        *,
        start: Mixture | None = None,
        resources: Resources = ONE_THREAD,
        options: SolveOptions = DEFAULT_OPTIONS,
    ) -> PartFit:
        """Project tables of cells."""
        lower, only_upper = options.lower, options.only_upper
        threads, deadline, report, _ = resources
        self.prices.restart(options.seed)
        begin, rounds, last = clock(), 0, np.inf
        floor = SOLVER_FLOOR * float(data_size(problem.target, problem.weights))

        def tell(now: Progress) -> None:
            # What the search says of the gap is no bound.
            if report is not None:
                gap = max(now.objective - lower, 0.0)
                report(Progress(rounds + now.round, now.objective, gap, now.rankings, clock() - begin))

        if not only_upper:
            lower = max(lower, self.pair_bound(problem, stop, resources))
        split = Split(self.bounder.model, self.bounder.cells, problem, options.seed, self._tables)
        while True:
            limit = deadline
            if deadline is not None and not only_upper:
                limit = clock() + _SEARCH_SHARE * max(deadline - clock(), 0.0)
            self.prices.deadline = limit
            found = solve_rankings(
                make_graph_problem(problem),
                self._workspace,
                Goal(stop.tol, floor),
                start=start,
                resources=Resources(threads, limit, tell),
            )
            rounds += found.rounds
            reason = found.reason
            here = Fitted((found.paths, found.weights), problem)
            start = here.mixture
            if reason == "interrupted" or here.certify(lower).is_optimal(stop):
                break
            if self.prices.effort is not FULL and reason != "max_seconds":
                self.prices.effort = FULL
                continue
            if only_upper:
                break
            # Better and better bounds, until one is good enough or comes with a type that the search has missed.
            settled, missed = reason != "max_seconds", False
            try:
                for bound in self._bounds(here.left, split, settled, deadline, threads):
                    if isinstance(bound, Bound):
                        missed = self._offer(bound, here.left, stop.tol) or missed
                        lower = max(lower, here.left.objective - here.left.gap(bound.value))
                    else:
                        lower = max(lower, bound)
                    tell(Progress(0, here.left.objective, 0.0, len(found.weights), 0.0))
                    if here.certify(lower).is_optimal(stop) or (missed and settled):
                        break
            except KeyboardInterrupt:
                reason = "interrupted"
                break
            if here.certify(lower).is_optimal(stop):
                break
            if deadline is not None and deadline - clock() <= _WORTH * (deadline - begin):
                reason = "max_seconds"
                break
            if settled and not (missed and here.left.objective < last):
                reason = "bounded" if reason == "done" else reason
                break
            last = here.left.objective
        return PartFit(*here.mixture, here.certify(lower), reason, rounds)

    def pair_bound(self, problem: Problem, stop: Stop, resources: Resources = ONE_THREAD) -> float:
        """The lower bound by path inequalities on pairs, of menus or within them, in up to half of the time that is left."""
        if problem.cone or (self._inequalities is None and self._tables is None):
            return 0.0
        deadline = None if resources.deadline is None else (clock() + resources.deadline) / 2
        if self._tables is not None:
            return self._tables.project(problem.target, problem.weights, deadline).bound
        assert self._inequalities is not None
        fits = self._inequalities.weighted(problem.weights).solve(
            problem.target[None], stop, resources=resources._replace(deadline=deadline, report=None, advance=None)
        )
        return max(float(fits.objective[0] - fits.gap[0]), 0.0)

    def _bounds(
        self, left: Residual, split: Split, settled: bool, deadline: float | None, threads: int | None
    ) -> Iterator[Bound | float]:
        """Bounds of the price of the cheapest type, or of the optimum; all that time allows where the search has `settled`."""
        by_price = by_split = 0.0
        for bound in self.bounder.bounds(left.cost, deadline):
            by_price = max(by_price, left.objective - left.gap(bound.value))
            yield bound
        for value in split.bounds(None if deadline is None else (clock() + deadline) / 2, threads):
            by_split = max(by_split, value)
            yield value
        if settled and by_price > by_split:  # otherwise branch and cut has too far to go
            yield from self.bounder.branch(left.cost, deadline)
        if settled and deadline is not None:
            yield from split.bounds(deadline, threads)

    def _offer(self, bound: Bound, now: Residual, tol: float) -> bool:
        """Hand the rankings of a bound to the search; is one of them cheaper than what the search has found?"""
        prices = self.prices
        orders = bound.orders.copy()
        none = np.empty((len(orders), 0, 2 * KICK))
        types, found = find_cheap(prices.board, prices.by_cell(now.cost), orders, none, 1, prices.deadline)
        prices.offer(types)
        return len(found) > 0 and now.gap(float(found.min())) > max(tol * now.objective, 0.0)
