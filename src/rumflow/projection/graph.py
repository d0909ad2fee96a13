"""`project` on choice graphs, and what a projection will cost."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import check_option
from rumflow.core.arrays import Array, Mixture
from rumflow.core.compile import clock
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.models.budgets import model_of_budgets
from rumflow.models.model import Model, require_model
from rumflow.models.random_utility import RandomUtility
from rumflow.output.progress import Reporter
from rumflow.projection.graph_results import GraphProjection
from rumflow.projection.inputs import as_floats, check_tol
from rumflow.projection.observed import Observed, cell_weights, observe
from rumflow.projection.results import Projection, Rankings, rankings_of, status_of
from rumflow.solvers.active_set.solve import Progress
from rumflow.solvers.dispatch import FEW_ITEMS, ROUTES, Cost, find_route, require_lattice
from rumflow.solvers.graphs import Effort, ModelProjector


def is_plain(model: Model | None, route: str | None) -> bool:
    """Are all rankings types, so that the lattice is possible? An InputError where model and route do not go together."""
    require_model(model)
    check_option(route, "route", (None, *ROUTES))
    plain = model is None or (isinstance(model, RandomUtility) and not model.above)
    if not plain and (route == "lattice" or (route == "bounded" and not isinstance(model, RandomUtility))):
        raise InputError(f"route={route!r}: {model!r} is projected on a graph; leave route out")
    return plain


def choose_route(
    data: ChoiceData | ArrayLike, model: Model | None, route: str | None, method: str = "auto", exact: bool = False
) -> tuple[Observed, ModelProjector] | None:
    """The graph to project on, or None for the lattice of all menus; an error rather than bounds where it must be `exact`."""
    plain = is_plain(model, route)
    if plain and route is None:
        n = data.n if isinstance(data, ChoiceData) else np.shape(data)[-1] if np.ndim(data) == 2 else 0
        small = n <= FEW_ITEMS or method == "ipm"
        if small or not (isinstance(data, ChoiceData) or np.isnan(as_floats(data, "data")).any()):
            return None
    if plain and route == "lattice":
        if isinstance(data, ChoiceData):
            require_lattice(data.n)
        return None
    observed = observe(data)
    projector = find_route(observed.cells, model or RandomUtility(), route, exact=exact)[1]
    return None if projector is None else (observed, projector)


def estimate_cost(
    data: ChoiceData | BudgetData | ArrayLike, model: Model | None = None, route: str | None = None
) -> Cost:
    """What a projection of these data will cost, before anything is solved.

    The route ("lattice", "graph" or "bounded"), nodes and arcs of the graph, bytes of memory, and seconds of one thread of the
    idle machine that the estimates were measured on (2.6 GHz), to the default tolerance, once what is compiled is loaded. For
    samples of a population they are within a factor of two, as a rule (`docs/speed.md` shows both); shares that are no sample
    of anything may take half of it for eight items, and ten times as much for twenty. On the route "bounded" there is no graph (0
    nodes), and what the gap takes beyond the first bound is not foreseen.

    >>> import rumflow as rf
    >>> cost = rf.estimate_cost(rf.simulate.stock_outs(60, 40, missing=0.1, seed=0))
    >>> cost.route, cost.nodes, cost.seconds < 1
    ('graph', 160, True)
    """
    if isinstance(data, BudgetData):
        model, data = model_of_budgets(data, model), data.choices
    is_plain(model, route)
    cost = find_route(observe(data).cells, model or RandomUtility(), route)[0]
    return cost._replace(seconds=cost.seconds * _sample_factor(cost.route, data))


# Samples of so many choices a menu are between those that cost most and least; shares without a total count as the smaller.
_USUAL, _UNKNOWN = 100.0, 10.0


def _sample_factor(route: str, data: ChoiceData | ArrayLike) -> float:
    """Larger samples are closer to the model and have more types in their fit: how many times the work of a usual one."""
    mean = float(np.mean(data.totals)) if isinstance(data, ChoiceData) else 1.0
    size = min(max(mean, 10.0), 1e4) if mean > 1 else _UNKNOWN
    return float((size / _USUAL) ** (0.28 if route == "lattice" else 0.12))


def project_graph(
    observed: Observed,
    projector: ModelProjector,
    weights: str | ArrayLike | None,
    tol: float,
    max_seconds: float | None,
    progress: bool | Callable[[Progress], None],
    start: Rankings | Projection | None,
    threads: int | None,
    seed: int = 0,
) -> GraphProjection:
    """Project the observed cells onto a model."""
    begin, tol, cells = time.perf_counter(), check_tol(tol), observed.cells
    target = cells.to_table(np.nan_to_num(observed.frequencies[observed.rows]))
    w = cells.to_table(cell_weights(observed, weights)[observed.rows])
    with Reporter(progress, tol) as report:
        found = projector.solve(
            target,
            w,
            tol=tol,
            start=None if start is None else _mixture(start, projector),
            deadline=None if max_seconds is None else clock() + max_seconds,
            report=report,
            threads=threads,
            effort=Effort(seed, _known_bound(start, projector, target, w)),
        )
    return GraphProjection(
        certificate=found.certificate,
        status=status_of(found.certificate, tol, found.reason),
        method="bounded" if projector.bounded else "graph",
        iterations=found.rounds,
        seconds=time.perf_counter() - begin,
        tol=tol,
        items=observed.items,
        inside=found.certificate.is_rum,
        observed=observed,
        projector=projector,
        target=target,
        weights=w,
        mixture=(found.types, found.weights),
        table=found.table,
    )


def _known_bound(
    start: Rankings | Projection | None, projector: ModelProjector, target: Array, weights: Array
) -> float:
    """The lower bound of the objective that an earlier fit of the same data has certified."""
    if not (isinstance(start, GraphProjection) and start.projector.cells.same(projector.cells)):
        return 0.0
    was, now = start.projector.model, projector.model
    same = was is now or (
        isinstance(was, RandomUtility) and isinstance(now, RandomUtility) and set(was.above) == set(now.above)
    )
    same = same and np.array_equal(start.target, target) and np.array_equal(start.weights, weights)
    return max(start.objective - start.gap, 0.0) if same else 0.0


def _mixture(start: Rankings | Projection, projector: ModelProjector) -> Mixture:
    """An earlier fit as types of these cells, all of them types of the model."""
    cells, model = projector.cells, projector.model
    if isinstance(start, GraphProjection) and start.projector.cells.same(cells):
        types, weights = start.mixture  # also of models whose types are no rankings
        if start.projector.model is model:
            return types, weights
    else:
        orders, shares = rankings_of(start, cells.n_items)
        types, place = np.unique(cells.types_of_orders(orders), axis=0, return_inverse=True)
        weights = np.bincount(place.reshape(-1), shares).astype(np.float64)
    types = np.ascontiguousarray(types, np.int32)
    foreign = 0 if isinstance(model, RandomUtility) and not model.above else projector.count_foreign(types)
    if foreign:
        raise InputError(f"start: {foreign} of its {len(types)} types are not possible in {model!r}")
    return types, weights
