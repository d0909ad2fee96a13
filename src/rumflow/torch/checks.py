"""Errors about tensors: what they hold, and which sample is at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rumflow.errors import InputError


def require_floating(name: str, given: Any) -> None:
    """Refuse anything but a tensor of floating point numbers."""
    if not isinstance(given, Tensor) or not given.dtype.is_floating_point:
        kind = given.dtype if isinstance(given, Tensor) else type(given).__name__
        raise InputError(f"{name}: a floating point tensor of PyTorch is needed, not {kind}")


def refuse(wrong: Tensor, message: Callable[[int], str]) -> None:
    """Raise for the first sample that is wrong, where there are values to look at."""
    if torch.compiler.is_compiling() or wrong.is_meta:
        return
    try:
        some = bool(wrong.any())
    except RuntimeError:  # under vmap
        return
    if some:
        raise InputError(message(int(wrong.reshape(-1).nonzero()[0])))
