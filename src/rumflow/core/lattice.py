"""The lattice of menus: sizes, indexing, and the three forms of a function on its cells.

Items are 0..n-1; a menu is a bit mask (bit x set: x is offered); a *cell* is a pair (menu, item of that menu), and there
are N = n 2^(n-1) of them. A number per cell is held in one of three forms:

* array     (2^n, n): row = menu, column = item, 0 outside the menu. What users see.
* cells     (..., N): the cells in order, menu ascending, then item ascending. What a layer sees.
* internal  (n, 2^(n-1)): row = item x, column = menu with bit x squeezed out. What the kernels see.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, SupportsInt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_menu, check_whole
from rumflow.core.arrays import Array
from rumflow.core.compile import leaf
from rumflow.core.memory import require_memory
from rumflow.core.paths import squeeze
from rumflow.core.threads import run_threads, thread_count
from rumflow.errors import InputError

MAX_ITEMS = 30  # columns of the internal layout are int32

_PIECE = 1 << 14  # menus that a thread converts at a time


@leaf
def _array_to_rows(array, rows, first, last):
    for menu in range(first, last):
        for x in range(rows.shape[0]):
            if (menu >> x) & 1:
                rows[x, squeeze(menu, x)] = array[menu, x]


@leaf
def _rows_to_array(rows, array, first, last):
    for menu in range(first, last):
        for x in range(rows.shape[0]):
            array[menu, x] = rows[x, squeeze(menu, x)] if (menu >> x) & 1 else 0.0


# The tables of the last few lattices are kept: small problems come in thousands.


@lru_cache(maxsize=4)
def _membership(n: int) -> NDArray[np.bool_]:
    require_memory((n << n) * 9.0, f"the table of menus of {n} items")
    return _fixed((np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.bool_))


@lru_cache(maxsize=4)
def _cells(n: int) -> NDArray[np.int64]:
    require_memory(32.0 * (n << (n - 1)), f"the list of cells of {n} items")
    return _fixed(np.argwhere(_membership(n)))


@lru_cache(maxsize=4)
def _cell_index(n: int) -> NDArray[np.int64]:
    menu, item = _cells(n).T
    return _fixed((item << (n - 1)) + squeeze.py_func(menu, item))


def _fixed(table: NDArray[Any]) -> NDArray[Any]:
    table.flags.writeable = False
    return table


class Lattice:
    """All menus over n items.

    Parameters
    ----------
    n : int
        Number of items, 1 to 30.

    Attributes
    ----------
    n : int
        Number of items.
    n_menus : int
        Number of menus with the empty one, 2^n.
    n_cells : int
        Number of cells (menu, item of that menu), N = n 2^(n-1).
    shape : tuple
        (2^n, n), the shape of an array over all menus.
    internal_shape : tuple
        (n, 2^(n-1)), the shape that the kernels use.

    Examples
    --------
    >>> Lattice(2).cells.tolist()
    [[1, 0], [2, 1], [3, 0], [3, 1]]
    """

    def __init__(self, n: int) -> None:
        self.n: int = check_whole(n, "n", 1, MAX_ITEMS)
        self.n_menus: int = 1 << self.n
        self.n_cells: int = self.n << (self.n - 1)
        self.shape: tuple[int, int] = (self.n_menus, self.n)
        self.internal_shape: tuple[int, int] = (self.n, 1 << (self.n - 1))

    def __repr__(self) -> str:
        return f"Lattice(n={self.n})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lattice) and other.n == self.n

    def __hash__(self) -> int:
        return hash((Lattice, self.n))

    @property
    def membership(self) -> NDArray[np.bool_]:
        """(2^n, n): whether the item is in the menu. Read-only."""
        return _membership(self.n)

    @property
    def cells(self) -> NDArray[np.int64]:
        """(N, 2): menu mask and item of every cell, in order. Read-only."""
        return _cells(self.n)

    @property
    def cell_index(self) -> NDArray[np.int64]:
        """(N,): position of each cell in the flattened internal layout. Read-only."""
        return _cell_index(self.n)

    def mask(self, items: Iterable[int]) -> int:
        """Return the bit mask of a menu given as item numbers.

        Parameters
        ----------
        items : iterable of int
            The items of the menu.

        Returns
        -------
        int
            Bit x is set where item x is in the menu.

        Raises
        ------
        InputError
            If an item is unknown or appears twice.

        Examples
        --------
        >>> Lattice(3).mask([0, 2])
        5
        """
        return sum(1 << x for x in check_menu(items, range(self.n), least=0).tolist())

    def to_internal(self, array: ArrayLike, threads: int | None = None) -> Array:
        """Convert a (2^n, n) array to the internal layout; values outside the menus are ignored.

        Parameters
        ----------
        array : array_like of shape (2^n, n)
            Values by menu and item.
        threads : int, optional
            Number of threads; None: the default.

        Returns
        -------
        ndarray of shape (n, 2^(n-1))

        Raises
        ------
        InputError
            If the shape is another one.
        """
        source = np.ascontiguousarray(array, np.float64)
        if source.shape != self.shape:
            raise InputError(f"an array over the menus of {self.n} items has shape {self.shape}, not {source.shape}")
        rows = np.empty(self.internal_shape)
        self._convert(_array_to_rows, source, rows, threads)
        return rows

    def from_internal(self, rows: Array, threads: int | None = None) -> Array:
        """Convert the internal layout to a (2^n, n) array, 0 outside the menus.

        Parameters
        ----------
        rows : ndarray of shape (n, 2^(n-1))
            Values in the internal layout.
        threads : int, optional
            Number of threads; None: the default.

        Returns
        -------
        ndarray of shape (2^n, n)
        """
        array = np.empty(self.shape)
        self._convert(_rows_to_array, rows, array, threads)
        return array

    def _convert(self, convert: Any, source: Array, target: Array, threads: int | None) -> None:
        end = self.n_menus
        if end <= _PIECE:
            convert(source, target, 0, end)
        else:
            run_threads(
                lambda i: convert(source, target, i, min(i + _PIECE, end)), range(0, end, _PIECE), thread_count(threads)
            )

    def cells_to_internal(self, cells: ArrayLike) -> Array:
        """Convert cells to the internal layout.

        Parameters
        ----------
        cells : array_like of shape (..., N)
            Values by cell.

        Returns
        -------
        ndarray of shape (..., n, 2^(n-1))

        Raises
        ------
        InputError
            If the last axis does not have N entries.
        """
        source = np.asarray(cells, np.float64)
        if source.shape[-1:] != (self.n_cells,):
            raise InputError(f"{self.n} items have N = {self.n_cells} cells; the last axis has {source.shape[-1:]}")
        rows = np.empty((*source.shape[:-1], self.n_cells))
        rows[..., self.cell_index] = source
        return rows.reshape(*source.shape[:-1], *self.internal_shape)

    def internal_to_cells(self, rows: Array) -> Array:
        """Convert the internal layout to cells.

        Parameters
        ----------
        rows : ndarray of shape (..., n, 2^(n-1))
            Values in the internal layout.

        Returns
        -------
        ndarray of shape (..., N)
        """
        cells: Array = rows.reshape(*rows.shape[:-2], self.n_cells)[..., self.cell_index]
        return cells


def items_of(mask: SupportsInt) -> tuple[int, ...]:
    """The items of a menu given as a bit mask, ascending."""
    bits = int(mask)
    return tuple(x for x in range(bits.bit_length()) if bits >> x & 1)
