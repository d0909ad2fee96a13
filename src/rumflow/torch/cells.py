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
    """The cells (menu, item) of the given menus: see `rumflow.layers.cells.Cells`.

    >>> Cells(3, menus=[(0, 1), (0, 1, 2)]).cells
    array([[3, 0],
           [3, 1],
           [7, 0],
           [7, 1],
           [7, 2]])
    """

    def _set(self, text: bytes, inputs: Ints, outputs: int) -> None:
        super()._set(text, inputs, outputs)
        self.problem = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        self.index = torch.from_numpy(inputs)
        self.weight = torch.from_numpy(self.weights)

    def _weigh(self, weights: ArrayLike | Tensor | None, name: Callable[[int], str], other: tuple) -> None:  # type: ignore[type-arg]
        if isinstance(weights, Tensor):
            if weights.requires_grad:
                raise InputError("weights: the layer has no derivative by its weights; pass weights.detach()")
            weights = weights.cpu().numpy()
        super()._weigh(weights, name, other)
