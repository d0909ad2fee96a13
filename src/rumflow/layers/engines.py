"""What projects behind a layer: a lattice, exact or smoothed, or the choice graphs of a model.

An engine works on float64 arrays, a row per sample: projections with the state that derivatives need, and the symmetric operator

    T = [Z; I] P [Z^T, I]      on pairs (probabilities of the output cells, flow)

with J t = T (W t, 0) and J^T g = W (T g on the input cells). P is (Q + D)^{-1} on the tangent space as in
`rumflow.solvers.derivatives`. Where unobserved cells are filled in T is not symmetric: `forward` says which side is meant.

Compiled graphs hold numbers and tensors only, so an engine is named by the text of its problem and the bytes of its weights. It
is made when first needed, once in every process, and kept as long as there are cells of its problem (`Engines`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import clock
from rumflow.core.graph_cells import Cells as GraphCells
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.layers.hand_over import take_over
from rumflow.models.describe import make_model
from rumflow.models.model import Model
from rumflow.projection.observations import lattice_positions
from rumflow.solvers.batch.result import LatticeFits
from rumflow.solvers.geometry import Faces, Geometry, Keep, SolveOptions
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.interior.smoothed import Centre, SmoothedProjector
from rumflow.solvers.lattice import LatticeGeometry, plain_lattice
from rumflow.solvers.resources import Resources

#: What is kept of a sample to start the next projection from, arrays in some order: an active set, types, or a point of the
#: central path.
WarmStart = tuple[NDArray[Any], ...]
#: As `Faces`: a row per sample that ends with the places where its own numbers begin in the other two arrays.
State = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Answer(NamedTuple):
    """A projected stack."""

    rho: Array  # (B, M')
    flow: Array | None  # (B, N)
    state: State | None
    starts: list[WarmStart]


class Engine(Protocol):
    """A projection of stacks over the same cells, and its derivative."""

    def name(self, cell: int) -> str:
        """A cell of the input in words."""

    def distance(self, rho: Array, z: Array) -> Array:
        """The squared distances (B,) of probabilities (B, M') from what was projected."""

    def solve(
        self,
        z: Array,
        starts: Sequence[WarmStart | None] | None,
        stop: Stop,
        keep: bool,
        with_flow: bool,
        seconds: float | None = None,
    ) -> Answer:
        """Project a stack (B, M); `starts` also asks for starts of the next pass, `keep` for the state.

        A floor of `stop` is that of the gap, and lets others take over from the active set (`rumflow.layers.hand_over`). After
        so many `seconds` (of an exact projection) samples end where they are, in the model, with a warning.
        """

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of pairs, given the state; `centre`: the flow (B, N) of a smoothed projection.

        There may be several times B pairs: B for the first direction, B for the next and so on.
        """


def solve_distinct(
    engine: Engine,
    z: Array,
    starts: Sequence[WarmStart | None] | None,
    stop: Stop,
    keep: bool,
    with_flow: bool,
    seconds: float | None = None,
) -> Answer:
    """`engine.solve`, once for rows that are the same, such as several choices in one situation."""
    if len(z) == 1:
        return engine.solve(z, starts, stop, keep, with_flow, seconds)
    numbers: dict[bytes, int] = {}
    back = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in z], np.int64)
    if len(numbers) == len(z):
        return engine.solve(z, starts, stop, keep, with_flow, seconds)
    first = np.unique(back, return_index=True)[1]
    known = None if starts is None else [starts[i] for i in first]
    answer = engine.solve(z[first], known, stop, keep, with_flow, seconds)
    state = None if answer.state is None else (answer.state[0][back], *answer.state[1:])
    flow = None if answer.flow is None else answer.flow[back]
    return Answer(answer.rho[back], flow, state, [answer.starts[i] for i in back] if answer.starts else [])


@dataclass(frozen=True, eq=False)
class Places:
    """Which positions of a geometry's flattened layout a layer reads and writes; -1 for menus of one item that it lacks."""

    shape: tuple[int, int]  # of the layout
    inputs: Ints  # (M,)
    outputs: Ints  # (M',)
    every: Ints  # (N,): all cells, in order, where the layout has every menu
    weights: Array  # (M,) of the input cells, or none
    name: Callable[[int], str]  # a cell of the input in words

    def spread(self, values: Array, index: Ints) -> Array:
        """(B, M) numbers on the positions `index` to (B, *shape), 0 elsewhere."""
        size = self.shape[0] * self.shape[1]
        if index is self.every:
            return values.take(self._inverse, axis=1).reshape(-1, *self.shape)
        rows = np.zeros((len(values), size))
        here = index >= 0
        rows[:, index[here]] = values if here.all() else values[:, here]
        return rows.reshape(-1, *self.shape)

    def take(self, rows: Array, index: Ints, single: float = 0.0) -> Array:
        """The way back; `single` on menus of one item that the layout lacks."""
        flat = rows.reshape(len(rows), self.shape[0] * self.shape[1])
        if not self._lacks_some:
            return flat.take(index, axis=1)
        here = index >= 0
        values = flat.take(np.maximum(index, 0), axis=1)
        values[:, ~here] = single
        return values

    def distance(self, rho: Array, z: Array) -> Array:
        """(B,): squared distances of probabilities of the output cells from what was read."""
        seen = rho if self.outputs is self.inputs else self.take(self.spread(rho, self.outputs), self.inputs)
        squares = (seen - z) ** 2
        total: Array = squares @ self.weights if len(self.weights) else squares.sum(axis=1)
        return total

    @cached_property
    def _inverse(self) -> Ints:
        """`every` turned around: taking is quicker than scattering."""
        return np.argsort(self.every)

    @cached_property
    def _lacks_some(self) -> bool:
        return bool((self.inputs < 0).any() or (self.outputs < 0).any())


class _Reader:
    """Cells in words, and distances, as the places of a layer have them."""

    _places: Places

    def name(self, cell: int) -> str:
        """A cell of the input in words."""
        return self._places.name(cell)

    def distance(self, rho: Array, z: Array) -> Array:
        """Squared."""
        return self._places.distance(rho, z)


class ExactEngine(_Reader):
    """The projection onto a model, on the lattice of all menus or on the choice graphs of the menus that are read."""

    def __init__(self, geometry: Geometry, places: Places, threads: int) -> None:
        self._geometry, self._places, self._threads = geometry, places, threads or None

    def solve(
        self,
        z: Array,
        starts: Sequence[WarmStart | None] | None,
        stop: Stop,
        keep: bool,
        with_flow: bool,
        seconds: float | None = None,
    ) -> Answer:
        """Project a stack."""
        places, geometry = self._places, self._geometry
        least = Keep.NOTHING if starts is None else geometry.keep_to_start
        leave = stop.floor is not None and isinstance(geometry, LatticeGeometry)
        options = SolveOptions(keep=Keep.FACES if keep else least, certify=False, leave_large=leave)
        rows = places.spread(z, places.inputs)
        resources = Resources(self._threads, None if seconds is None else clock() + seconds)
        fits = geometry.solve(rows, stop, starts=starts, options=options, resources=resources)
        if isinstance(fits, LatticeFits) and "too_large" in fits.reasons:
            rho, flows, faces = take_over(fits, stop, options, resources, keep)
        else:
            rho, faces = fits.rho, fits.faces if keep else None
            flows = np.array([fits.flow(i) for i in range(len(z))]) if with_flow else np.empty(0)
        fits.warn()
        flow = places.take(flows, places.every) if with_flow else None
        new: list[WarmStart] = [] if starts is None else list(fits.starts)
        return Answer(places.take(rho, places.outputs, 1.0), flow, faces, new)

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of pairs."""
        places = self._places
        faces = Faces(*state).repeat(len(rho))
        flows = None if flow is None else places.spread(flow, places.every)
        rows = places.spread(rho, places.outputs)
        rows = self._geometry.tangent(faces, rows, flows, forward=forward, threads=self._threads)
        return places.take(rows, places.outputs), None if flows is None else places.take(flows, places.every)


class SmoothedEngine(_Reader):
    """The smoothed projection on the lattice; its state is the flow, which it always returns, and a spanning tree."""

    def __init__(self, solver: SmoothedProjector, places: Places) -> None:
        self._solver, self._places = solver, places

    def solve(
        self,
        z: Array,
        starts: Sequence[WarmStart | None] | None,
        stop: Stop,
        keep: bool,
        with_flow: bool,
        seconds: float | None = None,
    ) -> Answer:
        """Project a stack."""
        places, size = self._places, len(z)
        known = None if starts is None else [None if start is None else Centre(*start) for start in starts]
        rhos, flows, trees = self._solver.solve(places.spread(z, places.inputs), known)
        new: list[WarmStart] = []
        if starts is not None:
            new = [Centre(k.copy(), t.copy()) for k, t in zip(flows, trees, strict=True)]
        state: State | None = None
        if keep:
            state = Faces.gather(
                np.empty((size, 0), np.int64), list(trees.reshape(size, 3 << self._solver.n)), [np.empty(0)] * size
            )
        flow = places.take(flows, places.every) if with_flow else None
        return Answer(places.take(rhos, places.outputs), flow, state, new)

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of pairs."""
        places = self._places
        rows = places.spread(rho, places.outputs)
        flows = None if flow is None else places.spread(flow, places.every)
        size = 3 << self._solver.n
        trees = state[1][_repeat(state[0], len(rho))[:, :1] + np.arange(size)].reshape(-1, 3, size // 3)
        self._solver.tangent(places.spread(_repeat(centre, len(rho)), places.every), trees, rows, flows)
        return places.take(rows, places.outputs), None if flows is None else places.take(flows, places.every)


def _repeat(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """The rows again and again, up to `size`."""
    return rows if len(rows) == size else np.concatenate([rows] * (size // len(rows)))


def lattice_cells(lattice: Lattice, menus: list[int] | None) -> Ints:
    """(M, 2): mask and item of the cells of some menus, of all for None."""
    if menus is None:
        return lattice.cells
    return np.array([(mask, x) for mask in menus for x in items_of(mask)], np.int64)


_numbers = count(1)  # for models that cannot be told as text
_geometries: WeakValueDictionary[bytes, GraphGeometry] = WeakValueDictionary()


def describe_lattice(n: int, menus: list[int] | None, all_menus: bool) -> bytes:
    """The problem of a layer on the lattice, as text."""
    return json.dumps({"n": n, "menus": menus, "all_menus": all_menus}).encode()


def describe_graph(geometry: GraphGeometry, menus: list[list[int]]) -> bytes:
    """The problem of a layer on choice graphs, as text; its graphs, built already, are found by it."""
    model, items = geometry.model, geometry.cells.items
    try:
        described: dict[str, Any] = {"model": model.describe(), "items": [plain_label(item) for item in items]}
    except InputError:
        described = {"own": next(_numbers)}
    text = json.dumps({**described, "menus": menus}).encode()
    _geometries.setdefault(text, geometry)
    return text


def graph_cells(menus: Sequence[Sequence[int]], items: Sequence[Any]) -> GraphCells:
    """The cells of the menus of two items or more."""
    membership = np.zeros((len(menus), len(items)), np.bool_)
    for row, menu in zip(membership, menus, strict=True):
        row[list(menu)] = True
    return GraphCells(membership[membership.sum(axis=1) > 1], None, items)


def _on_lattice(n: int, menus: list[int] | None, all_menus: bool, weights: Array) -> tuple[Places, Array]:
    """The places of a layer on the lattice, and the weights in its layout."""
    lattice = Lattice(n)
    cells, every = lattice_cells(lattice, menus), lattice.cell_index
    index = lattice_positions(n, *cells.T)
    index = every if np.array_equal(index, every) else index
    w: Array = NO_WEIGHTS
    if len(weights) or len(index) < lattice.n_cells:
        w = np.zeros(lattice.internal_shape)
        w.reshape(-1)[index] = weights if len(weights) else 1.0

    def name(cell: int) -> str:
        menu, item = cells[cell].tolist()
        return f"menu {items_of(menu)} (mask {menu}), item {item}"

    return Places(lattice.internal_shape, index, every if all_menus else index, every, weights, name), w


def places_on_graph(geometry: GraphGeometry, menus: list[list[int]], weights: Array) -> tuple[Places, Array]:
    """The same on choice graphs, where menus of one item leave no choice."""
    sizes = np.array([len(menu) for menu in menus])
    row = np.cumsum(sizes > 1) - 1  # of each menu among those in the graphs
    menu = np.repeat(np.arange(len(menus)), sizes)
    item = np.concatenate([np.array(menu, np.int64) for menu in menus])
    several = sizes[menu] > 1
    index = np.full(len(menu), -1, np.int64)
    index[several] = geometry.positions(row[menu[several]], item[several], geometry.cells)
    w = geometry.blank(0.0)
    w.reshape(-1)[index[several]] = weights[several] if len(weights) else 1.0
    labels = geometry.cells.items

    def name(cell: int) -> str:
        own = tuple(labels[x] for x in menus[menu[cell]])
        return f"menu {menu[cell]} {own}, item {labels[item[cell]]!r}"

    return Places(geometry.shape, index, index, np.empty(0, np.int64), weights, name), w


class Engines(dict[tuple[float, int], Engine]):
    """The engines of a problem by smoothing and threads; whoever needs them holds this, and so do all with the same problem."""


_owned: WeakValueDictionary[tuple[bytes, bytes], Engines] = WeakValueDictionary()


def own_engines(text: bytes, weights: bytes) -> Engines:
    """The engines of a problem, to be held."""
    return _owned.setdefault((text, weights), Engines())


@lru_cache(maxsize=32)
def _recent(text: bytes, weights: bytes) -> Engines:
    """Of problems that nobody holds: programs that were compiled or saved."""
    return own_engines(text, weights)


def find_engine(text: bytes, weights: bytes, mu: float, threads: int) -> Engine:
    """The engine of a problem, made where there is none yet."""
    engines = _owned.get((text, weights))
    if engines is None:
        engines = _recent(text, weights)
    engine = engines.get((mu, threads))
    if engine is None:
        engine = engines[mu, threads] = _make_engine(text, weights, mu, threads)
    return engine


def _make_engine(text: bytes, weights: bytes, mu: float, threads: int) -> Engine:
    described = json.loads(text)
    given = np.frombuffer(weights)
    if "n" in described:
        n = described["n"]
        places, w = _on_lattice(n, described["menus"], described["all_menus"], given)
        if mu:
            return SmoothedEngine(SmoothedProjector(n, w, mu, threads or None), places)
        return ExactEngine(LatticeGeometry(n, w) if len(w) else plain_lattice(n), places, threads)
    geometry = _geometries.get(text)
    if geometry is None:
        if "own" in described:
            raise InputError("the model of this layer is user-defined: make the layer again in this process")
        model: Model = make_model(described["model"])
        geometry = GraphGeometry(model, graph_cells(described["menus"], described["items"]))
        _geometries[text] = geometry
    places, w = places_on_graph(geometry, described["menus"], given)
    return ExactEngine(geometry.weighted(w), places, threads)
