"""Active sets that are remembered from one pass to the next.

After a small step of training the projection of a sample has nearly the same active types as before. Starting from
them, with their inverse where there is one, changes how long the solver takes and not what it returns.

A start helps where the data have moved by much less than their distance from the model. Measured for 6 to 10 items: 0.4 to 0.6
of the time without one after a step of a tenth of that distance, 0.5 to 0.9 after a third of it, and 1.0 to 1.6 times as long
from another sample. So each is kept with a *sketch* of its data, a few random sums of them from which differences are estimated
(Johnson and Lindenstrauss), and used only within a third. By their sketches samples are found again also where nobody
says which is which.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from rumflow.check import check_whole
from rumflow.core.arrays import Array, Ints
from rumflow.layers.engines import WarmStart

_handles = count(1)
_registry: WeakValueDictionary[int, WarmStarts]

#: Sums in a sketch, the largest step (as a share of the distance), and how many samples without numbers are searched through.
_SUMS, _STEP, _MOST = 16, 0.3, 4096


class WarmStarts:
    """The latest active set of each sample; those not used for longest are dropped.

    A number, `handle`, represents the object where a compiled graph cannot hold it. Copies and pickles start empty.

    Parameters
    ----------
    max_bytes : int, default 256 MB
        Memory to use at most.

    Examples
    --------
    >>> import torch
    >>> from rumflow.torch import project_cells
    >>> starts = WarmStarts()
    >>> z = torch.linspace(-3, 3, 24, dtype=torch.float64).sin().reshape(2, 12)
    >>> y = project_cells(z, 3, index=torch.arange(2), warm=starts)
    >>> len(starts)
    2
    """

    def __init__(self, max_bytes: int = 256 << 20) -> None:
        self.max_bytes: int = check_whole(max_bytes, "max_bytes", 1)
        self.handle: int = next(_handles)
        self._starts: OrderedDict[int, WarmStart] = OrderedDict()
        self._place: dict[int, int] = {}  # of each sample in the arrays below
        self._free: list[int] = []
        self._sketch, self._reach, self._key = np.empty((0, _SUMS)), np.empty(0), np.empty(0, np.int64)
        self._sums = np.empty((0, _SUMS))
        self._bytes = self._unnamed = 0
        self._problem: object = None
        self._lock = Lock()
        _registry[self.handle] = self

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def bytes(self) -> int:
        """Memory in use."""
        return self._bytes

    def __reduce__(self) -> tuple[type[WarmStarts], tuple[int]]:
        return WarmStarts, (self.max_bytes,)

    def __deepcopy__(self, memo: dict[int, Any]) -> WarmStarts:
        return WarmStarts(self.max_bytes)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            for key in list(self._starts):
                self._drop(key)

    def bind(self, problem: object, cells: int, weights: Array) -> None:
        """Forget everything that was kept for another problem (number of items, weights): its factors do not fit."""
        with self._lock:
            if problem != self._problem:
                for key in list(self._starts):
                    self._drop(key)
                self._problem = problem
                signs = np.random.default_rng(0).choice([-1.0, 1.0], (cells, _SUMS)) / np.sqrt(_SUMS)
                self._sums = signs * np.sqrt(weights)[:, None] if len(weights) else signs

    def find(self, rows: Array, keys: Sequence[int] | None) -> tuple[list[int], list[WarmStart | None], Array]:
        """Return the keys of these samples, the starts that are known and near enough, and their sketches.

        Without `keys`, a sample is the nearest of those known, or a new one.
        """
        with self._lock, np.errstate(over="ignore", invalid="ignore"):
            sketch: Array = rows @ self._sums
            names = self._recognise(sketch) if keys is None else list(keys)
            starts: list[WarmStart | None] = []
            for own, key in zip(sketch, names, strict=True):
                at = self._place.get(key)
                near = at is not None and ((own - self._sketch[at]) ** 2).sum() <= self._reach[at]
                starts.append(self._starts[key] if near else None)
                if at is not None:
                    self._starts.move_to_end(key)
            return names, starts, sketch

    def _recognise(self, sketch: Array) -> list[int]:
        """For each sample the nearest one within reach, which none but the first may have; else a new name."""
        known = (sketch**2).sum(axis=1)[:, None] + (self._sketch**2).sum(axis=1) - 2.0 * sketch @ self._sketch.T
        known[~(known <= self._reach)] = np.inf
        nearest: Ints = known.argmin(axis=1) if known.shape[1] else np.zeros(len(sketch), np.int64)
        names: list[int] = []
        taken = set[int]()
        for i, at in enumerate(nearest.tolist()):
            if known.shape[1] and np.isfinite(known[i, at]) and at not in taken:
                taken.add(at)
                names.append(int(self._key[at]))
            else:
                self._unnamed -= 1  # names given by users are 0 or more
                names.append(self._unnamed)
        return names

    def put(self, keys: Sequence[int], starts: Sequence[WarmStart], sketch: Array, square: Array) -> None:
        """Remember these samples, given their squared distances from their projections."""
        with self._lock, np.errstate(over="ignore"):
            for key, start, own, distance in zip(keys, starts, sketch, square, strict=True):
                if key in self._starts:
                    self._drop(key)
                if not start[0].size:
                    continue
                at = self._reserve()
                self._sketch[at], self._reach[at], self._key[at] = own, _STEP**2 * distance, key
                self._place[key], self._starts[key] = at, start
                self._bytes += _size(start)
            while self._bytes > self.max_bytes or (self._unnamed and len(self._starts) > _MOST):
                self._drop(next(iter(self._starts)))

    def _drop(self, key: int) -> None:
        at = self._place.pop(key)
        self._bytes -= _size(self._starts.pop(key))
        self._sketch[at], self._reach[at] = 0.0, -1.0
        self._free.append(at)

    def _reserve(self) -> int:
        """A free place."""
        if not self._free:
            size = len(self._reach)
            more = max(64, size)
            self._sketch = np.concatenate([self._sketch, np.zeros((more, _SUMS))])
            self._reach = np.concatenate([self._reach, np.full(more, -1.0)])
            self._key = np.concatenate([self._key, np.zeros(more, np.int64)])
            self._free = list(range(size + more - 1, size - 1, -1))
        return self._free.pop()


_registry = WeakValueDictionary()


def find(handle: int) -> WarmStarts | None:
    """The object behind a handle; None for 0, or if it no longer exists."""
    return _registry.get(handle)


def _size(start: WarmStart) -> int:
    return 400 + sum(part.nbytes for part in start)
