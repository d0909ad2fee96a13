"""Simulated classics: what is wrong with them, or that nothing is, is known; the same numbers every time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.description import Description
from rumflow.data.simulate import stock_outs

OWN = "Simulated by rumflow with a fixed seed; under the licence of rumflow."
CITE = "rumflow (the version is rumflow.__version__)"


def _draw(shares: dict[tuple[str, ...], tuple[float, ...]], size: int, seed: int) -> ChoiceData:
    """So many choices from each menu."""
    rng = np.random.default_rng(seed)
    drawn = {menu: rng.multinomial(size, chances).tolist() for menu, chances in shares.items()}
    return ChoiceData.from_counts({menu: dict(zip(menu, counts, strict=True)) for menu, counts in drawn.items()})


def _decoy() -> ChoiceData:
    shares = {("target", "rival"): (0.45, 0.55), ("target", "rival", "decoy"): (0.62, 0.35, 0.03)}
    return _draw(shares, 300, 1)


def _cycle() -> ChoiceData:
    return _draw({("a", "b"): (0.75, 0.25), ("b", "c"): (0.75, 0.25), ("a", "c"): (0.25, 0.75)}, 200, 2)


def _stock_outs() -> ChoiceData:
    return stock_outs(12, 30, missing=0.25, draws=100, seed=3)


def _households() -> BudgetData:
    """Cobb-Douglas households: each spends its own shares, whatever prices are."""
    rng = np.random.default_rng(4)
    prices = np.array([[1.0, 1.0, 1.0], [1.4, 0.9, 0.8], [0.8, 1.3, 0.9], [0.9, 0.8, 1.4]])
    budget = np.repeat(np.arange(4), 250)
    return BudgetData.from_shares(
        prices, budget, rng.dirichlet([2.0, 3.0, 4.0], len(budget)), goods=["food", "rent", "other"]
    )


def _description(name: str, title: str, text: str) -> Description:
    return Description(name, title, text, CITE, OWN)


SETS: dict[str, tuple[Callable[[], ChoiceData | BudgetData], Description]] = {
    "decoy": (
        _decoy,
        _description(
            "decoy",
            "A decoy that helps a target",
            "300 choices from {target, rival}, where the target has a chance of 45 %, and 300 with a decoy beside them, where it "
            "has 62 %. An item that is added cannot make another one more popular in random utility.",
        ),
    ),
    "cycle": (
        _cycle,
        _description(
            "cycle",
            "A cycle of three items",
            "200 choices from each pair of a, b and c: a beats b, b beats c and c beats a with a chance of 75 %. In random "
            "utility these three chances add up to at most 2.",
        ),
    ),
    "stock_outs": (
        _stock_outs,
        _description(
            "stock_outs",
            "A shop in which some items are sold out",
            "A population of 50 rankings buys from 30 assortments of 9 of 12 items, 100 times from each: random utility holds.",
        ),
    ),
    "households": (
        _households,
        _description(
            "households",
            "Households at four prices",
            "250 households at each of four prices of three goods, with Cobb-Douglas preferences that differ between households: "
            "rational demand.",
        ),
    ),
}
