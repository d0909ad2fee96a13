"""What can go wrong."""

from __future__ import annotations

from typing import Any


class RumflowError(Exception):
    """Base class of every error this package raises on purpose."""


class InputError(RumflowError, ValueError):
    """The input is at fault; the message names the menu, the item or the option, and what is accepted."""


class NotConvergedError(RumflowError, RuntimeError):
    """The solver stopped before the certificate was small enough; `fit` holds the best point so far."""

    def __init__(self, message: str, fit: Any) -> None:
        super().__init__(message)
        self.fit = fit
