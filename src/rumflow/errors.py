"""The errors that this package raises on purpose, all with one base class."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class RumflowError(Exception):
    """Base class of every error this package raises on purpose.

    Examples
    --------
    >>> import rumflow as rf
    >>> try:
    ...     rf.project([[0.5, 0.5]])
    ... except rf.RumflowError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(RumflowError, ValueError):
    """The input is at fault; the message names the menu, the item or the option, and what is accepted.

    It is a ValueError as well.

    Examples
    --------
    >>> import rumflow as rf
    >>> try:
    ...     rf.ChoiceData.from_counts({("a", "b"): {"c": 1}})
    ... except rf.InputError as error:
    ...     print(error)
    menu {a, b}: the choice 'c' is not in the menu
    """


class NotConvergedError(RumflowError, RuntimeError):
    """The solver stopped before the certificate was small enough, or Ctrl-C ended it, even in its last round.

    It is a RuntimeError as well.

    Attributes
    ----------
    fit : Projection or ProjectionBatch
        The best point so far, with its certificate.
    interrupted : bool
        Whether Ctrl-C ended it, or one of a batch.

    Examples
    --------
    >>> import rumflow as rf
    >>> try:
    ...     rf.project(rf.simulate.dirichlet(10, seed=0), max_seconds=1e-9)
    ... except rf.NotConvergedError as error:
    ...     print(error.fit.status)
    max_seconds
    """

    def __init__(self, message: str, fit: Any) -> None:
        super().__init__(message)
        self.fit = fit

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it, or one of a batch."""
        return bool(self.fit.interrupted)


@contextmanager
def ctrl_c_raises() -> Iterator[None]:
    """What Ctrl-C ended raises KeyboardInterrupt, which loops that catch errors let through."""
    try:
        yield
    except NotConvergedError as stopped:
        if stopped.interrupted:
            raise KeyboardInterrupt from None
        raise
