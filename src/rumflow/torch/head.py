"""From logits to probabilities, menu by menu."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from torch import Tensor, nn

from rumflow.core.lattice import Lattice
from rumflow.errors import InputError
from rumflow.layers.cells import Menu, menu_masks
from rumflow.torch.checks import require_floating
from rumflow.torch.tables import HasTables


class MenuSoftmax(HasTables):
    """Softmax within each menu: p(D, x) = exp z(D, x) / sum over y in D of exp z(D, y).

    The last axis runs over the cells of all menus of n items (`Lattice(n).cells`), or of `menus`, as in `RUMLayer`.

    Parameters
    ----------
    n : int
        Number of items.
    menus : iterable of menus, optional
        Bit masks or collections of items; None for all.

    Examples
    --------
    >>> import torch
    >>> MenuSoftmax(3, menus=[(0, 1), (0, 1, 2)])(torch.zeros(5, dtype=torch.float64))
    tensor([0.5000, 0.5000, 0.3333, 0.3333, 0.3333], dtype=torch.float64)
    """

    def __init__(self, n: int, menus: Iterable[Menu] | None = None) -> None:
        super().__init__()
        masks = range(1, Lattice(n).n_menus) if menus is None else menu_masks(n, menus)
        sizes = [mask.bit_count() for mask in masks]
        self.n: int = int(n)
        self.n_cells: int = sum(sizes)
        # Menus as rows of places; those a menu does not fill read the cell n_cells, which is minus infinity.
        place = np.arange(max(sizes))
        filled = place < np.array(sizes)[:, None]
        gather = np.full(filled.shape, self.n_cells)
        gather[filled] = np.arange(self.n_cells)
        self._hold({"gather": gather, "scatter": np.flatnonzero(filled)})

    def forward(self, logits: Tensor) -> Tensor:
        """Turn logits into probabilities.

        Parameters
        ----------
        logits : Tensor of shape (..., M)
            One number per cell.

        Returns
        -------
        Tensor of shape (..., M)
        """
        require_floating("logits", logits)
        if logits.ndim == 0 or logits.shape[-1] != self.n_cells:
            raise InputError(
                f"the last axis must run over the {self.n_cells} cells; the input has shape {tuple(logits.shape)}"
            )
        padded = nn.functional.pad(logits, (0, 1), value=float("-inf"))
        menus = padded[..., self._table("gather", logits)].softmax(-1)
        return menus.flatten(-2)[..., self._table("scatter", logits)]

    def extra_repr(self) -> str:
        """Return what `print(head)` shows."""
        return f"n={self.n}, cells={self.n_cells}"
