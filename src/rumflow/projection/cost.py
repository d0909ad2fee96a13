"""What a projection will cost, before anything is solved; and the projector that goes with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rumflow.core.graph import GraphTooLargeError
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.models.model import Model
from rumflow.projection.inputs import ALWAYS_FITS, require_lattice_memory
from rumflow.projection.observations import Observations, observe
from rumflow.solvers.geometry import Cost, Geometry
from rumflow.solvers.lattice import plain_lattice
from rumflow.solvers.routes import FEW_ITEMS, LATTICE_ITEMS, check_route, find_route, require_lattice


def find_geometry(
    observations: Observations, model: Model, route: str | None = None, method: str = "auto", exact: bool = False
) -> Geometry:
    """The geometry to project these observations on; an error rather than bounds where it must be `exact`.

    Few items, and arrays without a gap, are for the lattice; no table of menus is made for them.
    """
    if route is not None:
        check_route(model, route)
    n = len(observations.items)
    if model.all_rankings:
        at_once = route is None and (n <= FEW_ITEMS or method == "ipm" or observations.whole)
        if route == "lattice" or at_once:
            if n > LATTICE_ITEMS:
                require_lattice(n, "route='lattice'" if route == "lattice" else f"method={method!r}")
            if observations.data is not None and n > ALWAYS_FITS:
                require_lattice_memory(n, weighted=True, menus=len(observations.data.totals))
            return plain_lattice(n)
    try:
        return find_route(observations.cells, model, route, exact=exact)[1]
    except GraphTooLargeError as error:
        if not exact:
            raise
        text = f"{error}. The answer needs the whole graph: leave out menus or items, such as rare ones"
        raise GraphTooLargeError(text, error.nodes, error.arcs, error.bytes, error.done) from None


def estimate_cost(
    data: ChoiceData | BudgetData | ArrayLike, model: Model | None = None, route: str | None = None
) -> Cost:
    """Estimate what a projection of these data will cost, before anything is solved.

    Parameters
    ----------
    data : ChoiceData, BudgetData or array_like
        As for `project`.
    model : Model, optional
        As for `project`; None: random utility.
    route : {None, "lattice", "graph", "bounded"}, default None
        As for `project`; None chooses by cost.

    Returns
    -------
    Cost
        The route ("lattice", "graph" or "bounded"), nodes and arcs of the graph, bytes of memory, and seconds.

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
    observations, own = observe(data, model)
    cost = find_route(observations.cells, own, route)[0]
    return cost._replace(seconds=cost.seconds * _sample_factor(cost.route, observations))


# Samples of so many choices a menu are between those that cost most and least; shares without a total count as the smaller.
_USUAL, _UNKNOWN = 100.0, 10.0


def _sample_factor(route: str, observations: Observations) -> float:
    """Larger samples are closer to the model and have more types in their fit: how many times the work of a usual one."""
    mean = 1.0 if observations.sizes is None else float(np.mean(observations.sizes))
    size = min(max(mean, 10.0), 1e4) if mean > 1 else _UNKNOWN
    return float((size / _USUAL) ** (0.28 if route == "lattice" else 0.12))
