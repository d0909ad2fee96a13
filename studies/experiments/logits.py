"""Mixtures of logits: random utility by construction, the baseline of the experiments with networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def mix_logits(outputs: Tensor, parts: int, offered: Tensor, menu: Tensor, item: Tensor) -> Tensor:
    """(B, parts (n + 1)) numbers, utilities and shares of the parts, to the probabilities (B, M) of some cells.

    Cells are pairs of a row of `offered` (menus, n) and an item.
    """
    n = offered.shape[1]
    utility, share = outputs.split([parts * n, parts], dim=-1)
    utility = utility.reshape(-1, parts, 1, n).masked_fill(~offered, float("-inf"))
    p = (utility.softmax(-1) * share.softmax(-1)[..., None, None]).sum(1)
    cells: Tensor = p[:, menu, item]
    return cells
