"""Tables of whole numbers that a module computes with: constants, no part of its state.

Buffers would be lost where a module is made on the meta device, or emptied (`to_empty`), and then loaded: whoever loads it fills
in what the checkpoint has, and leaves the other buffers as they happen to be. So tables are plain tensors. They go where the
module goes, and from there to the device of an input that is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn


class HasTables(nn.Module):
    """A module with constant tables."""

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[str, Tensor] = {}

    def _hold(self, tables: Mapping[str, NDArray[Any]]) -> None:
        # From arrays, not by functions that make tensors: those obey `with torch.device("meta")`.
        self._constants = {name: torch.from_numpy(np.array(table)) for name, table in tables.items()}

    def _table(self, name: str, like: Tensor) -> Tensor:
        """A table on the device of a tensor."""
        return self._constants[name].to(like.device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move the module: `to`, `cuda`, `to_empty` and others come here."""
        super()._apply(fn, recurse)
        for name, table in self._constants.items():
            device = fn(table.new_empty(0)).device
            self._constants[name] = table if device.type == "meta" else table.to(device)
        return self
