"""Lattice, graph, bounds or inequalities: the only place that chooses, and what a projection will cost."""

from __future__ import annotations

from collections import OrderedDict
from math import nan
from threading import Lock
from typing import NamedTuple

from rumflow.core.compile import clock
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.core.memory import projection_bytes
from rumflow.errors import InputError
from rumflow.models.model import Model, refuse_ties
from rumflow.models.open_menus import DEFAULT_LIMIT, Limit
from rumflow.solvers.active_set.on_lattice import pool_size
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.geometry import Cost, Geometry
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.inequalities.geometry import InequalityGeometry
from rumflow.solvers.lattice import plain_lattice
from rumflow.solvers.small.workspace import MOST_ITEMS

ROUTES = ("lattice", "graph", "bounded", "inequalities")

#: Up to so many items the lattice answers before a graph is built.
FEW_ITEMS = MOST_ITEMS

# A graph is built for up to this share of the time that the lattice would take, with so much memory at least. A graph of many
# menus has this number of nodes a menu, or many more.
_BUILD_SHARE, _LEAST_BYTES, _NODES_A_MENU = 0.25, 2**28, 16
_WORD_SECONDS = 1e-8  # measured: to look at 64 menus for an arc that is built

#: What an estimate may take.
ESTIMATE_SECONDS, ESTIMATE_BYTES = 1.0, 250e6

#: The lattice of more items does not fit in the memory of usual machines.
LATTICE_ITEMS = 24

_LATE = 1.0  # seconds that nobody minds after a deadline


def check_route(model: Model, route: str | None) -> None:
    """Raise where there is no such route, or none for this model."""
    if route is None:
        return
    if route not in ROUTES:
        raise InputError(f"route={route!r}: accepted are None, {', '.join(map(repr, ROUTES))}")
    possible = {
        "lattice": model.all_rankings,
        "graph": model.has_types,
        "bounded": model.is_random_utility,
        "inequalities": not model.has_types,
    }
    if not possible[route]:
        if route == "inequalities":
            raise InputError(
                f"route={route!r}: it is that of TriangleInequalities(), not of {model.name}; leave route out"
            )
        where = "a graph" if model.has_types else "inequalities"
        raise InputError(f"route={route!r}: the model, {model.name}, is projected on {where}; leave route out")


def require_lattice(n: int, option: str = "route='lattice'") -> None:
    """Raise where the lattice has too many items; `option` is what asks for it."""
    if n > LATTICE_ITEMS:
        raise InputError(
            f"{option}: at most {LATTICE_ITEMS} items are possible, not {n}; omit {option.split('=', maxsplit=1)[0]}"
        )


class Plan(NamedTuple):
    """What is known of the route before a graph is built."""

    limit: Limit | None  # how far the graph is built; None: not at all
    other: str | None  # the route where there is no graph, or it is larger; None: that is an error


def plan_route(cells: Cells, model: Model, route: str | None, exact: bool, remainders: bool) -> Plan:
    """Whether a graph is built for these cells, how far, and what comes in its place."""
    check_route(model, route)
    refuse_ties(model, cells.items)
    if route == "bounded":
        if exact:
            raise InputError("route='bounded' gives only bounds, but this call needs an exact fit; omit route")
        return Plan(None, "bounded")
    n, menus = cells.n_items, len(cells)
    if route == "lattice":
        require_lattice(n)
    if not (model.all_rankings and not remainders and n <= LATTICE_ITEMS) or route == "graph":
        bounds = model.is_random_utility and not exact and route is None
        return Plan(DEFAULT_LIMIT, "bounded" if bounds else None)
    # With so many menus the graph would have nearly all edges of the lattice, one by one.
    dense = (cells.all_recorded and menus == 2**n - 1 - n) or 16 * menus > 1 << n
    if route == "lattice" or dense or n <= FEW_ITEMS:
        return Plan(None, "lattice")
    # A node has up to n arcs, and a bit for every menu: a graph of many menus takes longer to build than the lattice to solve.
    worth, node = _BUILD_SHARE * _lattice_seconds(n, menus), _WORD_SECONDS * n * (8 + menus / 64)
    if _NODES_A_MENU * menus * node > max(worth, ESTIMATE_SECONDS):
        return Plan(None, "lattice")
    most = max(_LEAST_BYTES, lattice_cost(cells).bytes)
    nodes = min(1 << (n - 1), DEFAULT_LIMIT.nodes, max(_NODES_A_MENU * menus, int(worth / node)))
    return Plan(DEFAULT_LIMIT._replace(nodes=nodes, bytes=min(most, DEFAULT_LIMIT.most_bytes)), "lattice")


def find_route(
    cells: Cells,
    model: Model,
    route: str | None,
    cone: bool = False,
    exact: bool = False,
    remainders: bool = False,
    deadline: float | None = None,
) -> tuple[Cost, Geometry]:
    """Lattice, graph or bounds for these cells, by cost: whichever has fewer arcs.

    An arc of the graph takes less time than an edge of the lattice, on which incomplete data need weights; and the graph is built
    only as far as it is worth it. The lattice ends at 24 items. Where it is impossible and the graph is too large, there are
    bounds for random utility, unless the answer must be `exact`: then that is an error. `remainders`: what was not recorded of
    a menu counts as a cell, which the lattice does not have. `deadline`, on `rumflow.core.compile.clock`: where there is another
    route, half of the time is for the graph; the other is not the lattice where that would take longer than what is left.
    """
    if not model.has_types:
        check_route(model, route)
        return _inequalities(cells, model, cone)
    limit, other = plan_route(cells, model, route, exact, remainders)
    if limit is not None:
        if deadline is not None:
            limit = limit._replace(deadline=deadline if other is None else (clock() + deadline) / 2)
        try:
            graph = _build(cells, model, cone, limit)
            return graph_cost(graph), graph
        except GraphTooLargeError as error:
            if other is None or (error.late and exact):
                raise
            left = max(0.0 if deadline is None else deadline - clock(), _LATE)
            if error.late and other == "lattice" and lattice_cost(cells).seconds > left:
                other = "bounded"  # the lattice would take longer still
    if other == "lattice":
        return lattice_cost(cells), plain_lattice(cells.n_items, cone)
    return _bounded(cells, model, cone)


def estimate_route(cells: Cells, model: Model, route: str | None) -> Cost:
    """The cost of a projection, within the time and the memory of an estimate."""
    if not model.has_types:
        check_route(model, route)
        return _inequalities(cells, model, False)[0]
    limit, other = plan_route(cells, model, route, False, False)
    if limit is not None:
        capped = limit._replace(deadline=clock() + ESTIMATE_SECONDS, bytes=min(limit.most_bytes, ESTIMATE_BYTES))
        try:
            return graph_cost(_build(cells, model, False, capped))
        except GraphTooLargeError as error:
            full = (capped.bytes or 0.0) < error.bytes <= limit.most_bytes
            if error.nodes <= limit.nodes and (error.late or full):
                ways = {"lattice": "the lattice is taken", "bounded": "bounds are computed (route 'bounded')"}
                then = f"; where it is too large {ways[other]}" if other else ""
                note = f"too many to estimate: the graph of these menus has more than {error.nodes:,} nodes{then}"
                return Cost("graph", error.nodes, error.arcs, error.bytes, nan, note)
            if other is None:
                raise
    return lattice_cost(cells) if other == "lattice" else _bounded(cells, model, False)[0]


def graph_cost(graph: GraphGeometry) -> Cost:
    """Of a projection on graphs that are built."""
    types = _graph_types(graph.cells, graph.n_places)
    memory = graph.n_bytes + 16 * types**2  # with the inner products of the types, and their factor
    return Cost("graph", graph.n_nodes, graph.n_arcs, int(memory), _graph_seconds(graph.n_places, types))


def lattice_cost(cells: Cells) -> Cost:
    """Of a projection on the lattice."""
    n, menus = cells.n_items, len(cells)
    whole = cells.all_recorded and menus == 2**n - 1 - n
    needed = projection_bytes(n, not whole, pool_size(n))
    return Cost("lattice", 1 << n, n << (n - 1), needed, _lattice_seconds(n, menus))


# The graphs that were built last are kept: what follows an estimate, or a fit, is often about the same menus.
_MOST_KEPT, _MOST_BYTES = 4, 200_000_000
_kept: OrderedDict[tuple[object, ...], GraphGeometry] = OrderedDict()
_keeping = Lock()


def _build(cells: Cells, model: Model, cone: bool, limit: Limit) -> GraphGeometry:
    """The graphs of a model; those of the same cells that were built before, where they were kept."""
    key = (cells.key, model, cone)
    with _keeping:
        known = _kept.get(key)
        if known is not None and known.n_nodes <= limit.nodes:
            _kept.move_to_end(key)
            return known
    graph = GraphGeometry(model, cells, cone=cone, limit=limit)
    if graph.n_bytes <= _MOST_BYTES:
        with _keeping:
            _kept[key] = graph
            while len(_kept) > _MOST_KEPT or sum(one.n_bytes for one in _kept.values()) > _MOST_BYTES:
                _kept.popitem(last=False)
    return graph


# Seconds of one thread for samples of 100 choices a menu, to the default tolerance, as measured by the study of scaling.


def _lattice_seconds(n: int, menus: int) -> float:
    """Sweeps over the edges, fewer of them where menus are missing; for few items the work of the active set."""
    edges = n << (n - 1)
    if n <= FEW_ITEMS:
        return float(3.2e-5 + 2e-8 * edges**1.6)
    return 4e-5 + (1.75e-6 if 2 * menus > 1 << n else 1.1e-6) * edges


def _graph_types(cells: Cells, places: int) -> float:
    """How many types a fit has, as was measured: more where few menus that differ much have few ways through the graph.

    Then hardly anything but the shares themselves limits what fits them, as with menus each of which holds the one before.
    """
    free = max(float((cells.count - 1).sum()), 1.0)
    closed = max(1 - float(cells.count.mean()) / cells.n_items, 0.0)  # the part of the items that is not on a menu
    own = 2 * free**0.6 * (free / max(places, 1.0)) ** 0.2 * (cells.n_items / len(cells)) ** 0.38 * (2 * closed) ** 0.45
    return float(max(10 * places**0.28, min(own, free + 1)))


def _graph_seconds(places: int, types: float) -> float:
    """Sweeps over the places of arcs, and the active set: inner products of its types, and a factor of them."""
    return float(7e-4 + 5e-8 * places + 1.4e-7 * types**2 + 5e-10 * types**3)


def _inequalities(cells: Cells, model: Model, cone: bool) -> tuple[Cost, Geometry]:
    geometry = InequalityGeometry(model, cells, cone=cone)
    # A search for every item in each of some rounds, and the cycles found, of which there are more where more were compared.
    m, n = len(cells), cells.n_items
    seconds = 1e-3 + 6e-6 * m + 2e-8 * m * (m / n) ** 1.5
    return Cost("inequalities", 0, geometry.n_arcs, 200 * geometry.n_arcs, seconds), geometry


def _bounded(cells: Cells, model: Model, cone: bool) -> tuple[Cost, Geometry]:
    geometry = BoundedGeometry(model, cells, cone=cone)
    # Rounds of search and steps of the active set, which has up to as many types as there are free cells; where the first
    # bounds leave a gap the others come on top. Pairs take a part of it: their inequalities are nearly all, and quick.
    free = int((cells.count - 1).sum())
    larger = min(max(float(cells.count.mean()) - 2, 0.06), 1.0)
    seconds = larger * (0.2 + 2.4e-5 * free**2)
    return Cost("bounded", 0, 0, geometry.n_bytes, seconds), geometry
