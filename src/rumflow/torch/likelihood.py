"""The likelihood of single choices under a layer, finite and with a gradient everywhere.

A projection is 0 in many cells, and stays 0 when z moves a little: -log y is infinite there and its gradient says nothing. So a
small share of the raw numbers is mixed in, r = z with menus that add up to 1, bent so that it stays below 1:

    a = (1 - mix) y + mix s(r),    s(r) = r up to 1/2, then 1 - 1 / (4 r)
    loss = -log a,   below `floor` along its tangent

Where y is 0 the raw number still moves towards the choice, until the projection leaves 0.

In small runs (five items, simulated choices, three seeds; the truth has a held-out loss of 0.495) it hardly mattered
after a softmax: 0.566 with mix = 0.02 and with 0.1, 0.568 with equal shares instead of the raw numbers. On raw outputs it did:
0.593 with 0.02, 0.620 with 0.1, 0.616 with equal shares. Smoothing was better there, 0.575, at three times the cost; a smoothed
layer has no zeros, so mix = 0 is right for it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rumflow.check import check_number
from rumflow.errors import InputError
from rumflow.torch.function import inside
from rumflow.torch.layer import AxiomLayer
from rumflow.torch.menus import MenuCells


class ChoiceLikelihood(nn.Module):
    """Mean negative log-likelihood of observed choices: `ChoiceLikelihood(layer)(z, menu, choice)`.

    Parameters
    ----------
    layer : AxiomLayer
        The layer whose probabilities are used.
    mix : float, default 0.02
        Share of the raw numbers that is mixed in, from 0 up to 1.
    floor : float, default 1e-3
        Below this value the logarithm is continued as a straight line.

    Notes
    -----
    A projection is 0 in many cells, and stays 0 when z moves a little: -log y is infinite there and has no useful gradient.
    So a small share of the raw numbers is mixed in. With r = z scaled so that menus add up to 1::

        a = (1 - mix) y + mix s(r),    s(r) = r up to 1/2, then 1 - 1 / (4 r)
        loss = -log a,   below `floor` along its tangent

    Examples
    --------
    >>> import torch
    >>> from rumflow.torch import RUMLayer
    >>> loss = ChoiceLikelihood(RUMLayer(3, menus=[(0, 1), (0, 1, 2)]))
    >>> z = torch.tensor([[0.2, 0.8, 0.5, 0.3, 0.2]] * 2, dtype=torch.float64)
    >>> round(float(loss(z, menu=torch.tensor([0, 1]), choice=torch.tensor([1, 0]))), 3)
    0.75
    """

    def __init__(self, layer: AxiomLayer, mix: float = 0.02, floor: float = 1e-3) -> None:
        super().__init__()
        if not isinstance(layer, AxiomLayer):
            raise InputError(f"layer: an AxiomLayer or RUMLayer is needed, not {type(layer).__name__}")
        self.layer: AxiomLayer = layer
        self.mix: float = check_number(mix, "mix", 0, 1, "[)")
        self.floor: float = check_number(floor, "floor", 0, 1)
        _, first, size = layer._cells.menu_numbers()
        self._read = MenuCells(layer.cells, layer.n, layer._cells.reads_all)
        self._first, self._size = torch.from_numpy(first), torch.from_numpy(size)  # of the menu of each cell

    def forward(
        self,
        z: Tensor,
        menu: Tensor | None = None,
        choice: Tensor | None = None,
        index: Tensor | None = None,
        *,
        available: Tensor | None = None,
    ) -> Tensor:
        """Compute the mean over all choices.

        Parameters
        ----------
        z : Tensor of shape (..., M)
            As for the layer, one row per choice.
        menu : Tensor of shape (...)
            The menu of each choice: a bit mask for a `RUMLayer` over all menus, else its number in the layer's list.
        choice : Tensor of shape (...)
            The item that was taken, by number.
        index : Tensor, optional
            Sample numbers, as for the layer.
        available : Tensor of bool, shape (..., n)
            The items on the menu of each choice, in place of `menu`.

        Returns
        -------
        Tensor
            A scalar, in the precision and on the device of z.
        """
        cell = self._find(z, menu, choice, available)
        out = self.layer(z) if index is None else self.layer(z, index)
        y = inside(out[0] if isinstance(out, tuple) else out, torch.float64)
        cells = self.layer._cells
        if cells.n_outputs > cells.n_cells:
            y = y[..., cells.index]
        device, dtype = z.device, z.dtype
        z = inside(z, torch.float64)
        own = cell[..., None]
        sums = nn.functional.pad(z.cumsum(-1), (1, 0))
        first, size = self._first.to(own.device)[own], self._size.to(own.device)[own]
        surplus = sums.gather(-1, first + size) - sums.gather(-1, first) - 1.0
        raw = z.gather(-1, own) - surplus / size
        raw = torch.where(raw > 0.5, 1.0 - 0.25 / raw.clamp(min=0.5), raw)
        a = ((1.0 - self.mix) * y.gather(-1, own) + self.mix * raw)[..., 0]
        above = a.clamp(min=self.floor)
        loss: Tensor = ((above - a) / self.floor - above.log()).mean()
        return loss.to(device, dtype)

    def _find(self, z: Tensor, menu: Tensor | None, choice: Tensor | None, available: Tensor | None) -> Tensor:
        """The cell of each choice."""
        if (menu is None) == (available is None):
            raise InputError(
                "menu, available: one of the two is needed, the number of each menu or a mask of its items"
            )
        menu = menu if available is None else self._read.number(available)
        if not isinstance(menu, Tensor) or not isinstance(choice, Tensor):
            name, given = ("choice", choice) if isinstance(menu, Tensor) else ("menu", menu)
            raise InputError(f"{name}: a tensor of whole numbers is needed, not {type(given).__name__}")
        if menu.shape != z.shape[:-1] or choice.shape != z.shape[:-1]:
            raise InputError(
                f"menu and choice: one number for each of {tuple(z.shape[:-1])} is needed, not {tuple(menu.shape)} and "
                f"{tuple(choice.shape)}"
            )
        return inside(self._read.find(menu, choice), torch.int64)

    def extra_repr(self) -> str:
        """Return what `print(likelihood)` shows."""
        return f"mix={self.mix:g}, floor={self.floor:g}"
