"""Active sets that are remembered from one pass to the next.

After a small step of training the projection of a sample has nearly the same active types as before. Starting from
them, with their inverse where there is one, changes how long the solver takes and not what it returns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import count
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from rumflow.errors import InputError
from rumflow.layers.engines import Kept

_handles = count(1)
_registry: WeakValueDictionary[int, WarmStarts]


class WarmStarts:
    """The latest active set of each sample, in at most `max_bytes`; those not used for longest are dropped.

    A number, `handle`, stands for it where a compiled graph cannot hold an object. Copies and pickles start empty.
    """

    def __init__(self, max_bytes: int = 256 << 20) -> None:
        if not max_bytes > 0:
            raise InputError(f"max_bytes: a positive number is needed, not {max_bytes!r}")
        self.max_bytes = int(max_bytes)
        self.handle = next(_handles)
        self._starts: OrderedDict[int, Kept] = OrderedDict()
        self._bytes = 0
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
            self._starts.clear()
            self._bytes = 0

    def bind(self, problem: object) -> None:
        """Forget everything that was kept of another problem (number of items, weights): its factors do not fit."""
        with self._lock:
            if problem != self._problem:
                self._starts.clear()
                self._bytes = 0
                self._problem = problem

    def get(self, keys: Sequence[int]) -> list[Kept | None]:
        """What is known of these samples."""
        with self._lock:
            for key in keys:
                if key in self._starts:
                    self._starts.move_to_end(key)
            return [self._starts.get(key) for key in keys]

    def put(self, keys: Sequence[int], starts: Sequence[Kept]) -> None:
        """Remember these samples."""
        with self._lock:
            for key, start in zip(keys, starts, strict=True):
                self._bytes -= _size(self._starts.pop(key, None))
                if start[0].size:
                    self._starts[key] = start
                    self._bytes += _size(start)
            while self._bytes > self.max_bytes:
                self._bytes -= _size(self._starts.popitem(last=False)[1])


_registry = WeakValueDictionary()


def find(handle: int) -> WarmStarts | None:
    """The object behind a handle; None for 0, or if it no longer exists."""
    return _registry.get(handle)


def _size(start: Kept | None) -> int:
    return 0 if start is None else 200 + sum(part.nbytes for part in start)
