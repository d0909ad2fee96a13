"""Names of earlier versions: they answer for one more minor version, with a warning that says what to write instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Say what to write instead, where the caller of the caller wrote the old name."""
    warnings.warn(
        f"{old} is called {new} now; the old name will go in the next minor version",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


class Renamed:
    """An attribute under its old name: `new` is what to write, `get` finds it."""

    def __init__(self, new: str, get: Callable[[Any], Any]) -> None:
        self._new, self._get = new, get

    def __set_name__(self, owner: type, name: str) -> None:
        self._old: str = name

    def __get__(self, fit: Any, owner: type | None = None) -> Any:
        if fit is None:
            return self
        warn_renamed(f"fit.{self._old}", self._new)
        return self._get(fit)
