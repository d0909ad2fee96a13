"""The part of the page on transitivity, where all menus are pairs."""

from __future__ import annotations

from typing import Any

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import tie_number
from rumflow.inference import transitivity
from rumflow.report.svg import draw


def is_pairs(data: ChoiceData) -> bool:
    """Are these choices from pairs of three items or more?"""
    pair = 3 if tie_number(data.items) >= 0 else 2  # a pair with ties as an outcome is a menu of three
    return bool(data.n > pair and (data.offered.sizes <= pair).all() and (data.offered.sizes == pair).any())


def pairs_content(data: ChoiceData, n_boot: int, seed: int, cluster: bool | str, progress: bool) -> dict[str, Any]:
    """What the template needs: the summary, and the pairs in the best order."""
    found = transitivity(data, max(n_boot, 1), cluster=cluster, seed=seed, progress=progress)
    if found.interrupted:
        raise KeyboardInterrupt
    side = min(8.0, max(4.2, 1.8 + 0.36 * data.n))
    return {"summary": found.summary(), "picture": draw(found.plot, side, side - 0.6, "pairs")}
