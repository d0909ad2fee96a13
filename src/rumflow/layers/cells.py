"""Which cells a layer reads and writes, with which weights, and on which route they are projected."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import as_floats, as_menu, check_different, check_menu, check_whole, is_whole, require_weights
from rumflow.core.arrays import Array, Ints
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.memory import cell_bytes, require_memory
from rumflow.errors import InputError
from rumflow.layers.engines import (
    Engines,
    describe_graph,
    describe_lattice,
    graph_cells,
    lattice_cells,
    own_engines,
    places_on_graph,
)
from rumflow.models.model import Model, require_model
from rumflow.models.random_utility import RandomUtility
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.routes import LATTICE_ITEMS, find_route

#: A menu as a bit mask or as its items.
Menu = int | Iterable[int]


def menu_masks(n: int, menus: Iterable[Menu]) -> list[int]:
    """The bit masks of the given menus, in their order."""
    n = check_whole(n, "n", 1)
    if isinstance(menus, str) or not isinstance(menus, Iterable):
        raise InputError(f"menus={menus!r}: a list of menus is needed, or None for all of them")
    masks = []
    for i, menu in enumerate(menus):
        if is_whole(menu):
            mask = int(menu)  # type: ignore[arg-type]
            if not 0 < mask < 1 << n:
                raise InputError(f"menus: {mask} is no menu of {n} items; masks run from 1 to {(1 << n) - 1}")
        else:
            mask = sum(1 << x for x in check_menu(menu, range(n), f"menus[{i}]").tolist())  # type: ignore[arg-type]
        masks.append(mask)
    _require_menus(masks, lambda i: f"{items_of(masks[i])} (mask {masks[i]})")
    return masks


def _require_menus(menus: Sequence[Hashable], name: Callable[[int], str]) -> None:
    if not menus:
        raise InputError("menus: at least one menu is needed, or None for all of them")
    if len(set(menus)) < len(menus):
        twice = next(i for i, menu in enumerate(menus) if menu in menus[:i])
        raise InputError(f"menus: {name(twice)} appears twice")


def label_menus(menus: Iterable[Iterable[Hashable]], items: Sequence[Hashable] | int | None) -> tuple[
    list[list[int]], tuple[Hashable, ...]
]:  # fmt: skip
    """Menus of labels as ascending item numbers, and the labels of all items."""
    if isinstance(menus, str) or not isinstance(menus, Iterable):
        raise InputError(f"menus={menus!r}: a list of menus is needed")
    given = [as_menu(menu, f"menus[{i}]") for i, menu in enumerate(menus)]
    labels: tuple[Hashable, ...]
    if items is None:
        largest = -1
        for item in (item for menu in given for item in menu):
            if not is_whole(item) or item < 0:  # type: ignore[operator]
                raise InputError(f"items: with labels such as {item!r} the items must be given, in their order")
            largest = max(largest, int(item))  # type: ignore[call-overload]
        labels = tuple(range(largest + 1))
    else:
        labels = tuple(range(items)) if isinstance(items, int | np.integer) else tuple(items)
    check_different(labels, "items")
    place = {item: x for x, item in enumerate(labels)}
    numbers = [sorted(check_menu(menu, place, f"menus[{i}]").tolist()) for i, menu in enumerate(given)]
    _require_menus([tuple(menu) for menu in numbers], lambda i: f"menu {i} {tuple(given[i])}")
    return numbers, labels


@contextmanager
def advise() -> Iterator[None]:
    """Say what else there is where the graph of a layer is too large."""
    try:
        yield
    except GraphTooLargeError as error:
        raise error.with_advice(
            "A layer needs the whole graph: give only the menus that occur, leave out rare items, or take MixtureRUM of "
            "rumflow.torch, which needs no graph and takes a menu with every sample"
        ) from None


class Cells:
    """The cells (menu, item) of the given menus: menu after menu, in each the items ascending.

    `Cells(n, menus, weights)` are those of random utility, on the lattice of all menus or, where that costs less, on the
    choice graph of the menus given; `Cells.of_model` is for any model.

    Parameters
    ----------
    n : int
        Number of items.
    menus : iterable of menus, optional
        Bit masks or collections of items; None for all.
    weights : array_like, optional
        One per cell, >= 0.
    all_menus : bool, default False
        Write all N cells.
    lattice : bool, default False
        Use the lattice of all menus, which smoothing and flows need.

    Attributes
    ----------
    cells : ndarray of shape (M, 2)
        Bit mask (for a model: number of the menu) and item of each input cell.
    output_cells : ndarray of shape (M', 2)
        The same for each output cell.

    Examples
    --------
    >>> Cells(3, menus=[(0, 1), (0, 1, 2)]).cells
    array([[3, 0],
           [3, 1],
           [7, 0],
           [7, 1],
           [7, 2]])
    """

    cells: NDArray[np.int64]
    output_cells: NDArray[np.int64]
    graph: GraphGeometry | None  # None: the lattice of all menus
    _own: tuple[Model, list[list[int]], tuple[Hashable, ...]] | None

    def __init__(
        self,
        n: int,
        menus: Iterable[Menu] | None = None,
        weights: ArrayLike | None = None,
        all_menus: bool = False,
        lattice: bool = False,
    ) -> None:
        """`all_menus`: write all N cells. `lattice`: the flow on the lattice is needed."""
        self.reads_all: bool = menus is None
        if menus is None:
            self._on_lattice(Lattice(n).n, None, weights, all_menus)
            return
        masks = menu_masks(n, menus)
        if all_menus or lattice:
            if n > LATTICE_ITEMS:
                raise InputError(
                    f"smoothing, all_menus and return_flow need the lattice of all menus, which has at most {LATTICE_ITEMS} "
                    f"items, not {n}: omit them"
                )
            self._on_lattice(int(n), masks, weights, all_menus)
        else:
            numbers = [list(items_of(mask)) for mask in masks]
            self._by_route(RandomUtility(), numbers, tuple(range(int(n))), weights)
        kind = np.int64 if n < 63 else object
        self.cells = np.array([(mask, x) for mask in masks for x in items_of(mask)], kind)
        self.output_cells = Lattice(n).cells if all_menus else self.cells

    @classmethod
    def of_model(
        cls,
        model: Model,
        menus: Iterable[Iterable[Hashable]],
        items: Sequence[Hashable] | int | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Make the cells of some menus, for any model.

        Parameters
        ----------
        model : Model
            The model.
        menus : iterable of menus
            Collections of items.
        items : sequence or int, optional
            The labels of all items in their order, or how many there are; None: 0 to the largest number in the menus.
        weights : array_like, optional
            One per cell, >= 0.

        Returns
        -------
        Cells
        """
        own = cls.__new__(cls)
        own.reads_all = False
        require_model(model)
        numbers, labels = label_menus(menus, items)
        own._by_route(model, numbers, labels, weights)
        own.cells = own.output_cells = np.array([(j, x) for j, menu in enumerate(numbers) for x in menu], np.int64)
        return own

    def _by_route(
        self, model: Model, menus: list[list[int]], items: tuple[Hashable, ...], weights: ArrayLike | None
    ) -> None:
        """Lattice or graph, whichever costs less."""
        n = len(items)
        if not model.has_types:
            raise InputError(f"model: layers need types, which {model!r} has not; take RandomUtility()")
        geometry = None
        if any(len(menu) > 1 for menu in menus):
            with advise():
                geometry = find_route(graph_cells(menus, items), model, None, exact=True)[1]
        elif n > LATTICE_ITEMS or not model.is_random_utility:
            raise InputError("menus: at least one menu of two items or more is needed")
        if geometry is None or geometry.has_all_menus:
            self._on_lattice(n, [sum(1 << x for x in menu) for menu in menus], weights, False)
            return
        self.n, self.n_menus, self.n_cells = n, len(menus), sum(map(len, menus))
        names = [(j, x) for j, menu in enumerate(menus) for x in menu]
        self._weigh(weights, lambda i: f"menu {names[i][0]}, item {items[names[i][1]]!r}", ())
        assert isinstance(geometry, GraphGeometry)
        text = describe_graph(geometry, menus)
        # A model that text cannot tell goes along with copies for other processes; others are built from the text.
        self._own = (model, menus, items) if b'{"own"' in text else None
        self.graph = geometry
        self._set(text, np.arange(self.n_cells), self.n_cells)

    def _on_lattice(self, n: int, masks: list[int] | None, weights: ArrayLike | None, all_menus: bool) -> None:
        lattice = Lattice(n)
        require_memory(
            5 * cell_bytes(n),
            f"a layer over the lattice of n = {n} items",
            "it holds all menus of its items, however few are read: take fewer items, or AxiomLayer(RandomUtility(), menus)",
        )
        self.cells = lattice_cells(lattice, masks)
        self.output_cells = lattice.cells if all_menus else self.cells
        self.n = n
        self.n_cells = len(self.cells)
        self.n_menus = lattice.n_menus - 1 if masks is None else len(masks)
        self._weigh(
            weights,
            lambda i: f"menu {items_of(self.cells[i, 0])}, item {self.cells[i, 1]}",
            (lattice.shape, lambda array: array[self.cells[:, 0], self.cells[:, 1]]),
        )
        self.graph, self._own = None, None
        inputs = _among(lattice, self.cells) if all_menus else np.arange(self.n_cells)
        self._set(describe_lattice(n, masks, all_menus), inputs, len(self.output_cells))

    @property
    def writes_all(self) -> bool:
        """Whether the cells that are written are those of all menus."""
        return self.reads_all or self.n_outputs > self.n_cells

    def inner_point(self) -> Array:
        """(M',): probabilities in the relative interior of the model; for plain random utility every item of a menu alike."""
        if self.graph is None or self.graph.model.all_rankings:
            menu = self.output_cells[:, 0]
            number = np.cumsum(np.append(True, menu[1:] != menu[:-1])) - 1
            return np.asarray(1.0 / np.bincount(number)[number], np.float64)
        menus = [self.cells[self.cells[:, 0] == j, 1].tolist() for j in range(self.n_menus)]
        places = places_on_graph(self.graph, menus, np.empty(0))[0]
        inner: Array = places.take(self.graph.inner_point()[None], places.outputs, 1.0)[0]
        return inner

    def menu_numbers(self) -> tuple[Ints, Ints, Ints]:
        """Return for each cell its menu (bit mask where all menus are read, else its number), its first cell, its size."""
        new = np.ones(self.n_cells, np.bool_)
        new[1:] = self.cells[1:, 0] != self.cells[:-1, 0]
        number = np.cumsum(new) - 1
        size = np.bincount(number)
        first = np.flatnonzero(new)
        return (self.cells[:, 0] if self.reads_all else number).astype(np.int64), first[number], size[number]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "graph": None, "engines": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._own is not None:
            model, menus, items = self._own
            self.graph = GraphGeometry(model, graph_cells(menus, items))
            self.text = describe_graph(self.graph, menus)
        self._set(self.text, self.inputs, self.n_outputs)

    def _set(self, text: bytes, inputs: Ints, outputs: int) -> None:
        self.text = text  # the problem, for `find_engine`
        self.engines: Engines = own_engines(text, self.weights.tobytes())
        self.inputs = inputs  # of what is written, the cells that are read
        self.n_outputs = outputs

    def _weigh(self, weights: ArrayLike | None, name: Callable[[int], str], other: tuple) -> None:  # type: ignore[type-arg]
        """Weights of the cells; none at all where every cell counts 1."""
        if weights is None:
            self.weights: Array = np.empty(0)
            return
        array: Array = np.array(as_floats(weights, "weights"))
        if other and array.shape == other[0]:
            array = other[1](array)
        if array.shape != (self.n_cells,):
            also = f", or an array of shape {other[0]}" if other else ""
            raise InputError(
                f"weights: one number for each of the {self.n_cells} cells is needed{also}; this has shape {array.shape}"
            )
        require_weights(array, name)
        self.weights = np.ascontiguousarray(array)


def _among(lattice: Lattice, cells: Ints) -> Ints:
    """Where cells stand in the order of `Lattice(n).cells`."""
    order = np.full(lattice.shape, -1, np.int64)
    order[lattice.cells[:, 0], lattice.cells[:, 1]] = np.arange(lattice.n_cells)
    position: Ints = order[cells[:, 0], cells[:, 1]]
    return position
