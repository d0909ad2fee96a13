"""The cells of a layer, with the tensors that its operators take."""

from __future__ import annotations

from collections.abc import Callable

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from rumflow.core.arrays import Ints
from rumflow.errors import InputError
from rumflow.layers import cells


class Cells(cells.Cells):
    """The cells (menu, item) of the given menus: menu after menu, in each the items ascending.

    Parameters
    ----------
    n : int
        Number of items of random utility; `Cells.of_model` is for other models.
    menus : iterable of menus, optional
        Bit masks or collections of items; None for all.
    weights : array_like or Tensor, optional
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

    def _set(self, text: bytes, inputs: Ints, outputs: int) -> None:
        super()._set(text, inputs, outputs)
        self.problem: torch.Tensor = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        self.index: torch.Tensor = torch.from_numpy(inputs)
        # None and not empty: programs with arrays of no numbers cannot be saved and loaded again.
        self.weight: torch.Tensor | None = torch.from_numpy(self.weights) if len(self.weights) else None

    def _weigh(self, weights: ArrayLike | Tensor | None, name: Callable[[int], str], other: tuple) -> None:  # type: ignore[type-arg]
        if isinstance(weights, Tensor):
            if weights.requires_grad:
                raise InputError("weights: the layer has no derivative by its weights; pass weights.detach()")
            weights = weights.cpu().numpy()
        super()._weigh(weights, name, other)
