"""Which model a page is about: random utility, or where ties are an outcome weak orders, or the triangle inequalities."""

from __future__ import annotations

from typing import NamedTuple

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import tie_number
from rumflow.data.ties import check_ties
from rumflow.models.model import Model
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.models.weak_orders import MOST_ITEMS, WeakOrders, largest_block


class PageModel(NamedTuple):
    """A model in the words of a page."""

    model: Model | None  # None: all rankings
    noun: str  # how far from a ...?
    plural: str
    short: str  # a small p-value speaks against ...
    definition: str


RANDOM_UTILITY = PageModel(
    None,
    "random utility model",
    "random utility models",
    "random utility",
    "A random utility model is a population in which everybody has a ranking of the items and takes the best one on offer.",
)
WEAK_ORDERS = PageModel(
    WeakOrders(),
    "population with weak orders",
    "populations with weak orders",
    "weak orders",
    "In a population with weak orders everybody ranks the items, some of which may be equally good, takes the better one of a "
    "pair, and calls it a tie where both are equally good.",
)
TRIANGLE_INEQUALITIES = PageModel(
    TriangleInequalities(),
    "population that obeys the triangle inequalities",
    "populations that obey the triangle inequalities",
    "the triangle inequalities",
    "The share of people who like a better than b is at most that of a over c and that of c over b together, if everybody ranks "
    f"the items, with or without ties. (Weak orders say a little more, and are looked at where up to {MOST_ITEMS} items are "
    "compared with each other.)",
)


def model_of_page(data: ChoiceData) -> PageModel:
    """All rankings; with ties as an outcome weak orders of few items, and the triangle inequalities beyond."""
    tie = tie_number(data.items)
    if tie < 0:
        return RANDOM_UTILITY
    check_ties(data.items, data.offered)
    return WEAK_ORDERS if largest_block(data.offered, tie) <= MOST_ITEMS else TRIANGLE_INEQUALITIES
