"""Cells by menu and item: which probability is that of a sample's choice from its menu, and all of them as a table.

A menu is named by its number (its place in the layer's list; its bit mask where a layer has all menus) or by a mask of its items,
one row of bool per sample. A mask is found by a code, sum over its items x of c(x) modulo 2^64: for up to 62 items c(x) = 2^x, so
that codes differ; beyond, c(x) are random numbers, and what was found is compared with the mask.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from rumflow.core.arrays import Ints
from rumflow.core.menus import MOST_MASK_ITEMS
from rumflow.errors import InputError
from rumflow.torch.checks import refuse


class MenuCells:
    """The cells of a layer, found by menu and item.

    Parameters
    ----------
    cells : ndarray of shape (M, 2)
        Menu and item, menus one after the other, items ascending.
    n : int
        Number of items.
    all_menus : bool
        Whether the cells are those of all menus: then a menu's number is its bit mask.
    """

    def __init__(self, cells: Ints, n: int, all_menus: bool) -> None:
        self.n = n
        new = np.ones(len(cells), np.bool_)
        new[1:] = cells[1:, 0] != cells[:-1, 0]
        item = cells[:, 1].astype(np.int64)
        place = np.cumsum(new) - 1
        number = cells[:, 0].astype(np.int64) if all_menus else place
        self.n_menus: int = 1 << n if all_menus else int(place[-1]) + 1
        digits = np.int64(1) << np.arange(n, dtype=np.int64)
        if n > MOST_MASK_ITEMS:
            digits = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, n)
        code = np.add.reduceat(digits[item], np.flatnonzero(new))
        order = np.argsort(code)
        self.key: torch.Tensor = torch.from_numpy(number * n + item)  # (M,), ascending
        self.code: torch.Tensor = torch.from_numpy(code[order])  # (menus,), ascending
        self.menu: torch.Tensor = torch.from_numpy(
            number[new][order]
        )  # (menus,): the number of the menu with that code
        self.digits: torch.Tensor = torch.from_numpy(digits)

    def number(self, available: Tensor) -> Tensor:
        """Find menus by masks.

        Parameters
        ----------
        available : Tensor of bool, shape (..., n)
            The items of each menu.

        Returns
        -------
        Tensor of shape (...)
            The number of each menu.

        Raises
        ------
        InputError
            If a menu is none of the layer's.
        """
        if not isinstance(available, Tensor) or available.dtype != torch.bool or available.shape[-1:] != (self.n,):
            kind = f"{available.dtype}, {tuple(available.shape)}" if isinstance(available, Tensor) else repr(available)
            raise InputError(f"available: a tensor of bool with {self.n} items on its last axis is needed, not {kind}")
        code = (available * self.digits.to(available.device)).sum(-1)
        codes = self.code.to(available.device)
        at = torch.searchsorted(codes, code).clamp(max=codes.shape[0] - 1)
        wrong = codes[at] != code
        at = self.menu.to(available.device)[at]
        if self.n > MOST_MASK_ITEMS:
            wrong = wrong | (self._row(at)[1] != available).any(-1)
        refuse(wrong, lambda i: f"available: the menu {_items(available, i)} of sample {i} is none of the layer's")
        return at

    def _row(self, menu: Tensor) -> tuple[Tensor, Tensor]:
        """(..., n): the cells of all items of the menus, and whether there is one."""
        return self._look_up(menu[..., None] * self.n + torch.arange(self.n, device=menu.device))

    def _look_up(self, key: Tensor) -> tuple[Tensor, Tensor]:
        keys = self.key.to(key.device)
        cell = torch.searchsorted(keys, key).clamp(max=keys.shape[0] - 1)
        return cell, keys[cell] == key

    def find(self, menu: Tensor, choice: Tensor) -> Tensor:
        """Find cells.

        Parameters
        ----------
        menu : Tensor of shape (...)
            The numbers of the menus.
        choice : Tensor of shape (...)
            The numbers of the items.

        Returns
        -------
        Tensor of shape (...)

        Raises
        ------
        InputError
            If an item is not in its menu, or a menu none of the layer's.
        """
        menu, choice = menu.to(torch.int64), choice.to(menu.device, torch.int64)
        cell, there = self._look_up(menu * self.n + choice)
        wrong = ~there | (choice < 0) | (choice >= self.n)
        refuse(
            wrong,
            lambda i: (
                f"choice {i}: item {int(choice.reshape(-1)[i])} of menu {int(menu.reshape(-1)[i])} is no cell of the "
                "layer; a menu is its bit mask where the layer has all menus, else its place in the layer's list"
            ),
        )
        return cell

    def at(self, y: Tensor, menu: Tensor, choice: Tensor | None) -> Tensor:
        """(...): the probabilities of choices; (..., n), 0 on absent items, where no choice is given."""
        if choice is not None:
            return y.gather(-1, self.find(menu, choice).to(y.device)[..., None])[..., 0]
        cell, there = self._row(menu)
        return torch.where(there.to(y.device), y.gather(-1, cell.to(y.device)), 0.0)

    def to_table(self, y: Tensor) -> Tensor:
        """(..., menus, n): the probabilities by menu and item, 0 on absent items."""
        flat = y.new_zeros(*y.shape[:-1], self.n_menus * self.n).index_copy(-1, self.key.to(y.device), y)
        return flat.reshape(*y.shape[:-1], self.n_menus, self.n)


class ReadsMenus(nn.Module):
    """What a layer's probabilities say about menus: `at` and `to_table`."""

    menu_cells: MenuCells

    def at(self, y: Tensor, available: Tensor, choice: Tensor | None = None) -> Tensor:
        """Read the probabilities of each sample's own menu.

        Parameters
        ----------
        y : Tensor of shape (..., M')
            What the layer returned.
        available : Tensor of bool, shape (..., n)
            The items on the menu of each sample.
        choice : Tensor of shape (...), optional
            The item that each sample took, by number.

        Returns
        -------
        Tensor of shape (...) or (..., n)
            The probabilities of the choices; without `choice` those of all items, 0 on absent ones.

        Raises
        ------
        InputError
            If a menu is none of the layer's, or a choice not on its menu.
        """
        if available.shape[:-1] != y.shape[:-1] or (choice is not None and choice.shape != y.shape[:-1]):
            raise InputError(
                f"available and choice: a row and a number for each of {tuple(y.shape[:-1])} are needed, not "
                f"{tuple(available.shape[:-1])}" + ("" if choice is None else f" and {tuple(choice.shape)}")
            )
        return self.menu_cells.at(y, self.menu_cells.number(available), choice)

    def to_table(self, y: Tensor) -> Tensor:
        """Arrange probabilities by menu and item.

        Parameters
        ----------
        y : Tensor of shape (..., M')
            What the layer returned.

        Returns
        -------
        Tensor of shape (..., menus, n)
            0 on absent items. A layer over all menus has the row of a menu at its bit mask, as arrays of `rumflow.project`.
        """
        if y.shape[-1:] != self.menu_cells.key.shape:
            raise InputError(
                f"the last axis must run over the {len(self.menu_cells.key)} cells of the layer; the input has shape "
                f"{tuple(y.shape)}"
            )
        return self.menu_cells.to_table(y)


def _items(available: Tensor, sample: int) -> tuple[int, ...]:
    return tuple(available.reshape(-1, available.shape[-1])[sample].nonzero().reshape(-1).tolist())
