"""What projects behind a layer: a lattice, exact or smoothed, or the choice graphs of a model.

An engine works on float64 arrays, a row per sample: projections with the state that derivatives need, and the symmetric operator

    T = [Z; I] P [Z^T, I]      on pairs (probabilities of the output cells, flow)

with J t = T (W t, 0) and J^T g = W (T g on the input cells). P is (Q + D)^{-1} on the tangent space as in
`rumflow.solvers.derivatives`. Where unobserved cells are filled in T is not symmetric: `forward` says which side is meant.

Compiled graphs hold numbers and tensors only, so an engine is named by the text of its problem and the bytes of its weights. It
is made when first needed, once in every process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints
from rumflow.core.graph_cells import Cells as GraphCells
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.problem import NO_WEIGHTS
from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.models.describe import make_model
from rumflow.models.model import Model
from rumflow.solvers.batch.kernels import Keep, Start
from rumflow.solvers.batch.on_graph import GraphBatch, GraphFaces
from rumflow.solvers.batch.projector import BatchProjector
from rumflow.solvers.batch.result import Faces
from rumflow.solvers.graphs import ModelProjector
from rumflow.solvers.interior.smoothed import Centre, SmoothedProjector


class Types(tuple[NDArray[Any], ...]):
    """Types to begin from and their weights, for one graph after the other."""


#: What is kept of a sample: an active set, a point of the central path, or types.
Kept = Start | Centre | Types
#: Three arrays with a row per sample.
State = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


class Answer(NamedTuple):
    """A projected stack."""

    rho: Array  # (B, M')
    flow: Array | None  # (B, N)
    state: State | None
    starts: list[Kept]


class Engine(Protocol):
    """A projection of stacks over the same cells, and its derivative."""

    def name(self, cell: int) -> str:
        """A cell of the input in words."""

    def distance(self, rho: Array, z: Array) -> Array:
        """The squared distances (B,) of probabilities (B, M') from what was projected."""

    def solve(self, z: Array, starts: Sequence[Kept | None] | None, tol: float, keep: bool, with_flow: bool) -> Answer:
        """Project a stack (B, M); `starts` also asks for starts of the next pass, `keep` for the state."""

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of pairs, given the state; `centre`: the flow (B, N) of a smoothed projection.

        There may be several times B pairs: B for the first direction, B for the next and so on.
        """


def solve_distinct(
    engine: Engine, z: Array, starts: Sequence[Kept | None] | None, tol: float, keep: bool, with_flow: bool
) -> Answer:
    """`engine.solve`, once for rows that are the same, such as several choices in one situation."""
    numbers: dict[bytes, int] = {}
    back = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in z], np.int64)
    if len(numbers) == len(z):
        return engine.solve(z, starts, tol, keep, with_flow)
    first = np.unique(back, return_index=True)[1]
    known = None if starts is None else [starts[i] for i in first]
    answer = engine.solve(z[first], known, tol, keep, with_flow)
    state = None if answer.state is None else (answer.state[0][back], answer.state[1][back], answer.state[2][back])
    flow = None if answer.flow is None else answer.flow[back]
    return Answer(answer.rho[back], flow, state, [answer.starts[i] for i in back] if answer.starts else [])


class _OnLattice:
    """Which cells of the lattice are read and written."""

    def __init__(self, n: int, menus: list[int] | None, all_menus: bool, weights: Array) -> None:
        self.lattice = Lattice(n)
        self.all = self.lattice.cell_index
        self._place: Ints = np.argsort(self.all)  # of every number of the lattice among all cells
        cells = lattice_cells(self.lattice, menus)
        index = lattice_positions(self.lattice, cells)
        self.index = self.all if np.array_equal(index, self.all) else index
        self.output = self.all if all_menus else self.index
        self._cells, self._own = cells, weights
        self.weights = NO_WEIGHTS
        if len(weights) or len(self.index) < self.lattice.n_cells:
            rows = np.zeros(self.lattice.n_cells)
            rows[self.index] = weights if len(weights) else 1.0
            self.weights = rows.reshape(self.lattice.internal_shape)

    def name(self, cell: int) -> str:
        """A cell of the input in words."""
        menu, item = self._cells[cell].tolist()
        return f"menu {items_of(menu)} (mask {menu}), item {item}"

    def distance(self, rho: Array, z: Array) -> Array:
        """Squared, by the cells that are read."""
        seen = rho if self.output is self.index else self.take(self.spread(rho, self.output), self.index)
        return _square(seen - z, self._own)

    def spread(self, values: Array, index: Ints) -> Array:
        """(B, M) numbers on the cells `index` to a stack (B, n, 2^(n-1)), 0 elsewhere."""
        if index is self.all:
            rows = values.take(self._place, axis=1)
        else:
            rows = np.zeros((len(values), self.lattice.n_cells))
            rows[:, index] = values
        return rows.reshape(-1, *self.lattice.internal_shape)

    def take(self, rows: Array, index: Ints) -> Array:
        """The way back."""
        return rows.reshape(len(rows), self.lattice.n_cells).take(index, axis=1)


class ExactLattice(_OnLattice):
    """The projection onto random utility on the lattice of all menus."""

    def __init__(self, n: int, menus: list[int] | None, all_menus: bool, weights: Array, threads: int) -> None:
        super().__init__(n, menus, all_menus, weights)
        self._solver = BatchProjector(n, self.weights, threads or None)

    def solve(self, z: Array, starts: Sequence[Kept | None] | None, tol: float, keep: bool, with_flow: bool) -> Answer:
        """Project a stack."""
        known = None if starts is None else [start if isinstance(start, Start) else None for start in starts]
        kept = Keep.FACES if keep or starts is not None else Keep.NOTHING
        result = self._solver.solve(self.spread(z, self.index), known, tol=tol, keep=kept)
        self._solver.warn(result)
        state: State | None = None
        if keep:
            faces = result.faces(self._solver.threads)
            size, most, n = faces.paths.shape
            state = np.stack([faces.kind, faces.atoms], axis=1), faces.paths.reshape(size, most * n), faces.factor
        flow = self.take(result.flows, self.all) if with_flow else None
        new: list[Kept] = [] if starts is None else [*result.starts()]
        return Answer(self.take(result.rhos, self.output), flow, state, new)

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of pairs."""
        meta, paths, factor = (_repeat(part, len(rho)) for part in state)
        n = self.lattice.n
        kind, atoms = np.ascontiguousarray(meta.T)
        faces = Faces(kind, atoms, paths.reshape(len(rho), paths.shape[1] // n, n), factor)
        rows = self.spread(rho, self.output)
        flows = None if flow is None else self.spread(flow, self.all)
        self._solver.tangent(faces, rows, flows, forward=forward)
        return self.take(rows, self.output), None if flows is None else self.take(flows, self.all)


class SmoothedLattice(_OnLattice):
    """The smoothed projection; its state is the flow, which it always returns, and a spanning tree."""

    def __init__(
        self, n: int, menus: list[int] | None, all_menus: bool, weights: Array, mu: float, threads: int
    ) -> None:
        super().__init__(n, menus, all_menus, weights)
        self._solver = SmoothedProjector(n, self.weights, mu, threads or None)

    def solve(self, z: Array, starts: Sequence[Kept | None] | None, tol: float, keep: bool, with_flow: bool) -> Answer:
        """Project a stack."""
        known = None if starts is None else [start if isinstance(start, Centre) else None for start in starts]
        rhos, flows, trees = self._solver.solve(self.spread(z, self.index), known)
        size = len(z)
        new: list[Kept] = []
        if starts is not None:
            new = [Centre(k.copy(), t.copy()) for k, t in zip(flows, trees, strict=True)]
        state: State | None = None
        if keep:
            state = np.empty((size, 0), np.int64), trees.reshape(size, 3 << self.lattice.n), np.empty((size, 0))
        flow = self.take(flows, self.all) if with_flow else None
        return Answer(self.take(rhos, self.output), flow, state, new)

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of pairs."""
        rows = self.spread(rho, self.output)
        flows = None if flow is None else self.spread(flow, self.all)
        trees = _repeat(state[1], len(rho)).reshape(len(rho), 3, self.lattice.n_menus)
        self._solver.tangent(self.spread(_repeat(centre, len(rho)), self.all), trees, rows, flows)
        return self.take(rows, self.output), None if flows is None else self.take(flows, self.all)


class OnGraph:
    """The projection onto a model on the choice graphs of the menus that are read; menus of one item leave no choice."""

    def __init__(self, projector: ModelProjector, menus: list[list[int]], weights: Array, threads: int) -> None:
        cells = projector.cells
        self._menus, self._labels = menus, cells.items
        sizes = np.array([len(menu) for menu in menus])
        row = np.cumsum(sizes > 1) - 1  # of each menu among those in the graphs
        self._menu = np.repeat(np.arange(len(menus)), sizes)
        self._item = np.concatenate([np.array(menu, np.int64) for menu in menus])
        self._chosen = np.flatnonzero(sizes[self._menu] > 1)  # the cells that are in the graphs
        self._row = row[self._menu[self._chosen]]
        self._column = cells.column[self._row, self._item[self._chosen]]
        self._shape = cells.shape
        self._own = weights
        own = weights if len(weights) else np.ones(len(self._menu))
        self._batch = GraphBatch(projector, self._tables(own[None])[0], threads or None)

    def name(self, cell: int) -> str:
        """A cell of the input in words."""
        menu = self._menus[self._menu[cell]]
        labels = tuple(self._labels[x] for x in menu)
        return f"menu {self._menu[cell]} {labels}, item {self._labels[self._item[cell]]!r}"

    def distance(self, rho: Array, z: Array) -> Array:
        """Squared."""
        return _square(rho - z, self._own)

    def _tables(self, values: Array) -> Array:
        tables = np.zeros((len(values), *self._shape))
        tables[:, self._row, self._column] = values[:, self._chosen]
        return tables

    def _cells(self, tables: Array, single: float) -> Array:
        values = np.full((len(tables), len(self._menu)), single)
        values[:, self._chosen] = tables[:, self._row, self._column]
        return values

    def solve(self, z: Array, starts: Sequence[Kept | None] | None, tol: float, keep: bool, with_flow: bool) -> Answer:
        """Project a stack."""
        known = None
        if starts is not None:
            pairs = [start if isinstance(start, Types) else () for start in starts]
            known = [list(zip(own[::2], own[1::2], strict=True)) or None for own in pairs]
        result = self._batch.solve(self._tables(z), known, tol=tol, keep=keep)
        new: list[Kept] = []
        if starts is not None:
            new = [Types(tuple(array for mixture in own for array in mixture)) for own in result.mixtures]
        state = tuple(self._batch.pack(result.faces)) if keep else None
        return Answer(self._cells(result.tables, 1.0), None, state, new)  # type: ignore[arg-type]

    def tangent(
        self, rho: Array, flow: Array | None, state: State, centre: Array, forward: bool
    ) -> tuple[Array, Array | None]:
        """T times a stack of vectors; there is no flow."""
        faces = self._batch.unpack(GraphFaces(*state))
        return self._cells(self._batch.tangent(faces * (len(rho) // len(faces)), self._tables(rho)), 0.0), None


def _square(difference: Array, weights: Array) -> Array:
    squares = difference * difference
    total: Array = squares @ weights if len(weights) else squares.sum(axis=1)
    return total


def _repeat(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """The rows again and again, up to `size`."""
    return rows if len(rows) == size else np.concatenate([rows] * (size // len(rows)))


def lattice_cells(lattice: Lattice, menus: list[int] | None) -> Ints:
    """(M, 2): mask and item of the cells of some menus, of all for None."""
    if menus is None:
        return lattice.cells
    return np.array([(mask, x) for mask in menus for x in items_of(mask)], np.int64)


def lattice_positions(lattice: Lattice, cells: Ints) -> Ints:
    """Where cells lie in the flattened internal layout."""
    menu, item = cells.T
    column = (menu & ((1 << item) - 1)) | ((menu >> (item + 1)) << item)
    where: Ints = (item << (lattice.n - 1)) + column
    return where


_numbers = count(1)  # for models that cannot be told as text
_projectors: WeakValueDictionary[bytes, ModelProjector] = WeakValueDictionary()


def describe_lattice(n: int, menus: list[int] | None, all_menus: bool) -> bytes:
    """The problem of a layer on the lattice, as text."""
    return json.dumps({"n": n, "menus": menus, "all_menus": all_menus}).encode()


def describe_graph(projector: ModelProjector, menus: list[list[int]]) -> bytes:
    """The problem of a layer on choice graphs, as text; its graphs, built already, are found by it."""
    model, items = projector.model, projector.cells.items
    try:
        told: dict[str, Any] = {"model": model.describe(), "items": [plain_label(item) for item in items]}
    except InputError:
        told = {"own": next(_numbers)}
    text = json.dumps({**told, "menus": menus}).encode()
    _projectors.setdefault(text, projector)
    return text


def graph_cells(menus: Sequence[Sequence[int]], items: Sequence[Any]) -> GraphCells:
    """The cells of the menus of two items or more."""
    membership = np.zeros((len(menus), len(items)), np.bool_)
    for row, menu in zip(membership, menus, strict=True):
        row[list(menu)] = True
    return GraphCells(membership[membership.sum(axis=1) > 1], None, items)


@lru_cache(maxsize=32)
def find_engine(text: bytes, weights: bytes, mu: float, threads: int) -> Engine:
    """The engine of a problem, made where there is none yet."""
    told = json.loads(text)
    w = np.frombuffer(weights)
    if "n" in told:
        cells = told["n"], told["menus"], told["all_menus"], w
        return SmoothedLattice(*cells, mu, threads) if mu else ExactLattice(*cells, threads)
    projector = _projectors.get(text)
    if projector is None:
        if "own" in told:
            raise InputError("the model of this layer is one of your own: make the layer again in this process")
        model: Model = make_model(told["model"])
        projector = ModelProjector(model, graph_cells(told["menus"], told["items"]))
        _projectors[text] = projector
    return OnGraph(projector, told["menus"], w, threads)
