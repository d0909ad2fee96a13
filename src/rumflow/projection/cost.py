"""What a projection will cost, before anything is solved; and the projector that goes with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.graph import GraphTooLargeError
from rumflow.data.accept import DataLike, as_data
from rumflow.models.model import Model, refuse_ties
from rumflow.projection.inputs import ALWAYS_FITS, require_lattice_memory
from rumflow.projection.observations import Observations, observe
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.geometry import Cost, Geometry
from rumflow.solvers.lattice import plain_lattice
from rumflow.solvers.routes import (
    FEW_ITEMS,
    LATTICE_ITEMS,
    check_route,
    estimate_route,
    find_route,
    require_lattice,
)


def find_geometry(
    observations: Observations,
    model: Model,
    route: str | None = None,
    method: str = "auto",
    exact: bool = False,
    deadline: float | None = None,
) -> Geometry:
    """The geometry to project these observations on; an error rather than bounds where it must be `exact`.

    `deadline`, on `rumflow.core.compile.clock`: when a graph must be built.
    Few items, and arrays without a gap, are for the lattice; no table of menus is made for them.
    """
    if route is not None:
        check_route(model, route)
    n = len(observations.items)
    refuse_ties(model, observations.items)
    if model.all_rankings:
        at_once = route is None and (n <= FEW_ITEMS or method == "ipm" or observations.whole)
        if route == "lattice" or at_once:
            if n > LATTICE_ITEMS:
                require_lattice(n, "route='lattice'" if route == "lattice" else f"method={method!r}")
            if observations.data is not None and n > ALWAYS_FITS:
                require_lattice_memory(n, weighted=True, menus=len(observations.data.totals))
            return plain_lattice(n)
    try:
        return find_route(observations.cells, model, route, exact=exact, deadline=deadline)[1]
    except GraphTooLargeError as error:
        if not exact:
            raise
        raise error.with_advice(
            "The answer needs the whole graph: leave out menus or items, such as rare ones"
        ) from None


def find_or_stop(
    observations: Observations, model: Model, route: str | None, method: str = "auto", deadline: float | None = None
) -> tuple[Geometry, bool]:
    """The geometry, and True; after Ctrl-C one that needs no graph, which has any type at all for a fit, and False.

    Ctrl-C is raised where the model has no types without a graph.
    """
    try:
        return find_geometry(observations, model, route, method, deadline=deadline), True
    except KeyboardInterrupt:
        if not model.is_random_utility:
            raise
        return BoundedGeometry(model, observations.cells), False


def estimate_cost(data: DataLike | ArrayLike, model: Model | None = None, route: str | None = None) -> Cost:
    """Estimate what a projection of these data will cost, before anything is solved.

    Parameters
    ----------
    data : ChoiceData, BudgetData or array_like
        As for `project`.
    model : Model, optional
        As for `project`; None: random utility.
    route : {None, "lattice", "graph", "bounded", "inequalities"}, default None
        As for `project`; None chooses by cost.

    Returns
    -------
    Cost
        The route ("lattice", "graph", "bounded" or "inequalities"), nodes and arcs of the graph, bytes of memory, and seconds.
        The graph is built for this, as far as a second and 250 MB go. Where it is larger, `note` says "too many to
        estimate" and what comes in its place, the seconds are NaN, and the other numbers are what was built.

    Notes
    -----
    Seconds are those of one thread of the idle machine that the estimates were measured on (2.6 GHz), to the default
    tolerance, once what is compiled is loaded. For samples of a population they are usually within a factor of two
    (`docs/speed.md` shows both). Shares that are not a sample of anything may take half of it for eight items, and ten
    times as much for twenty. On the route "bounded" no graph is built (0 nodes), and the time that the gap takes beyond
    the first bound is not included.

    Examples
    --------
    >>> import rumflow as rf
    >>> cost = rf.estimate_cost(rf.simulate.stock_outs(60, 40, missing=0.1, seed=0))
    >>> cost.route, cost.nodes, cost.seconds < 1
    ('graph', 160, True)
    """
    observations, own = observe(as_data(data), model)
    cost = estimate_route(observations.cells, own, route)
    return cost._replace(seconds=cost.seconds * _sample_factor(cost.route, observations))


# Samples of so many choices a menu are between those that cost most and least; shares without a total count as the smaller.
_USUAL, _UNKNOWN = 100.0, 10.0


def _sample_factor(route: str, observations: Observations) -> float:
    """Larger samples are closer to the model and have more types in their fit: how many times the work of a usual one."""
    mean = 1.0 if observations.sizes is None else float(np.mean(observations.sizes))
    size = min(max(mean, 10.0), 1e4) if mean > 1 else _UNKNOWN
    return float((size / _USUAL) ** (0.28 if route == "lattice" else 0.12))
