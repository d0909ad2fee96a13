"""Which cells a layer reads and writes, and with which weights."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from rumflow.core.lattice import Lattice, items_of
from rumflow.core.memory import cell_bytes, require_memory
from rumflow.errors import InputError
from rumflow.projection.inputs import require_weights

#: A menu as a bit mask or as its items.
Menu = int | Iterable[int]


def menu_masks(lattice: Lattice, menus: Iterable[Menu] | None) -> list[int]:
    """The bit masks of the given menus, in their order; all menus, ascending, for None."""
    if menus is None:
        return list(range(1, lattice.n_menus))
    masks = []
    for menu in menus:
        if isinstance(menu, int | np.integer):
            mask = int(menu)
            if not 0 < mask < lattice.n_menus:
                raise InputError(
                    f"menus: {mask} is no menu of {lattice.n} items; masks run from 1 to {lattice.n_menus - 1}"
                )
        else:
            mask = lattice.mask(menu)
            if mask == 0:
                raise InputError("menus: a menu must hold at least one item")
        masks.append(mask)
    if not masks:
        raise InputError("menus: at least one menu is needed, or None for all of them")
    if len(set(masks)) < len(masks):
        twice = next(mask for i, mask in enumerate(masks) if mask in masks[:i])
        raise InputError(f"menus: {items_of(twice)} (mask {twice}) is there twice")
    return masks


class Cells:
    """The cells (menu, item) of the given menus: menu after menu, in each the items ascending.

    `cells` is (M, 2): mask, item. `index` says where each lies in the internal layout, `output` the same for what is
    written; `weights` has a number for all N cells in the internal layout, 0 where nothing is read, or none at all
    where every cell counts 1.
    """

    def __init__(
        self, n: int, menus: Iterable[Menu] | None, weights: ArrayLike | Tensor | None, all_menus: bool = False
    ) -> None:
        lattice = Lattice(n)
        require_memory(
            5 * cell_bytes(lattice.n),
            f"a layer over the lattice of n = {lattice.n} items",
            "the layer holds all menus of its items, however few are read: take fewer items",
        )
        self.n = lattice.n
        self.masks = menu_masks(lattice, menus)
        self.cells: NDArray[np.int64] = np.array([(mask, x) for mask in self.masks for x in items_of(mask)], np.int64)
        where = _positions(lattice, self.cells)
        self.index = torch.from_numpy(where)
        # A tensor of its own even where it is the same: a compiled graph takes no tensor twice.
        self.output = torch.from_numpy(_positions(lattice, lattice.cells)) if all_menus else self.index.clone()
        self.output_cells: NDArray[np.int64] = lattice.cells if all_menus else self.cells
        own = np.ones(len(where)) if weights is None else self._check(lattice, weights)
        # Of what is written, the cells that are read; and their weights.
        self.inputs = torch.from_numpy(_among(lattice, self.cells)) if all_menus else torch.arange(len(where))
        self.cell_weights = torch.from_numpy(own)
        if weights is None and len(where) == lattice.n_cells:
            self.weights = torch.empty(0, dtype=torch.float64)
        else:
            rows = np.zeros(lattice.n_cells)
            rows[where] = own
            self.weights = torch.from_numpy(rows)

    def _check(self, lattice: Lattice, weights: ArrayLike | Tensor) -> NDArray[np.float64]:
        array = np.asarray(weights.detach().cpu() if isinstance(weights, Tensor) else weights, np.float64)
        if array.shape == lattice.shape:
            array = array[self.cells[:, 0], self.cells[:, 1]]
        if array.shape != (len(self.cells),):
            raise InputError(
                f"weights: one number for each of the {len(self.cells)} cells is needed, or an array of shape "
                f"{lattice.shape}; this has shape {array.shape}"
            )
        require_weights(array, lambda i: f"menu {items_of(self.cells[i, 0])}, item {self.cells[i, 1]}")
        return array


def _positions(lattice: Lattice, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where cells lie in the flattened internal layout."""
    menu, item = cells.T
    column = (menu & ((1 << item) - 1)) | ((menu >> (item + 1)) << item)
    where: NDArray[np.int64] = (item << (lattice.n - 1)) + column
    return where


def _among(lattice: Lattice, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where cells stand in the order of `Lattice(n).cells`."""
    order = np.full(lattice.shape, -1, np.int64)
    order[lattice.cells[:, 0], lattice.cells[:, 1]] = np.arange(lattice.n_cells)
    position: NDArray[np.int64] = order[cells[:, 0], cells[:, 1]]
    return position
