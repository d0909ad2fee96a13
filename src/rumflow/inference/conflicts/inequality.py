"""The inequality behind a conflict, in coefficients and in words.

With c = w (share - fit) every type t of the model has <c, t> <= max over types, and the shares are beyond that. Adding a number
to all coefficients of a menu adds it on both sides, for everybody takes one item from each menu: the smallest coefficient of
every menu is made 0. Where the others are then small whole numbers up to scale, they become these. The right-hand side is
computed afresh, as the dearest path of the choice graph of these menus: the inequality holds for every population of the model
whatever the solver did.

On complete data the slack of any such inequality is a sum of Block-Marschak terms K rho with weights >= 0:

    bound - <c, rho> = sum over (D, x) of  m(D, x) (K rho)(D, x),     m(D, x) = up(D) - (Z' c)(D, x) - up(D \\ x) >= 0,

with up(D) the dearest way down from D. It is negative only where some term is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rumflow.core.arrays import Array, Mask
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.menus import Menus
from rumflow.core.paths import cheapest_below, squeeze
from rumflow.core.transforms import moebius, zeta_adjoint
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.data.menus import labels_of
from rumflow.inference.conflicts.subsets import drop_unused
from rumflow.models.model import Model
from rumflow.models.random_utility import RandomUtility
from rumflow.output.names import list_menu
from rumflow.solvers.graph import GraphGeometry
from rumflow.text import visible

#: The terms of up to this many menus are listed in words.
MOST_TERMS = 8

_LARGEST = 12  # whole coefficients are looked for up to this
_WHOLE = 2e-3  # and found within this

Term = tuple[tuple[Item, ...], Item, float]


@dataclass(frozen=True)
class Inequality:
    """Coefficients times shares add up to at most `bound` in every population of the model; in the data to `value`."""

    coefficients: dict[tuple[tuple[Item, ...], Item], float]  #: by (menu, item); every other cell has 0
    bound: float
    value: float
    error: float | None  #: standard error of `value`; None for exact shares
    terms: tuple[tuple[str, float], ...]  #: what counts of each menu, in words, and its part of `value`
    text: str

    @property
    def excess(self) -> float:
        """By how much the data are beyond the bound."""
        return self.value - self.bound


def make_inequality(
    data: ChoiceData, kept: Mask, normal: Array, model: Model | None, sampled: bool
) -> tuple[Inequality, Array]:
    """The inequality with a given normal on the cells kept (cells,), and its coefficients, one for each cell.

    model   for the menus of these cells alone; None: random utility.
    """
    rows = np.unique(data.offered.menu[kept])
    menus, cells = data.offered.take(rows)
    inside, total = np.asarray(menus.to_table(np.True_, False), np.bool_), data.totals[rows]
    used = np.asarray(menus.to_table(kept[cells], False), np.bool_)
    raw = np.asarray(menus.to_table(np.where(kept, normal, 0.0)[cells], 0.0), np.float64)
    raw = np.where(inside, raw - np.where(inside, raw, np.inf).min(axis=1, keepdims=True), 0.0)
    known = np.asarray(menus.to_table(np.where(kept, data.shares, 0.0)[cells], 0.0), np.float64)
    left = np.maximum(1.0 - known.sum(axis=1), 0.0)
    for c in (tidy(raw), raw / raw.max()):  # a distance of nearly 0 may not survive the rounding
        bound = highest(menus, c[inside], data.items, model)
        # What is not kept of a menu has one coefficient, and the rest of the choices.
        rest = np.where(inside & ~used, c, 0.0).max(axis=1)
        mean = (c * known).sum(axis=1) + rest * left
        value = float(mean.sum())
        if value > bound:
            break
    error = None
    choices = [choice_in_words(data, row, own) for row, own in zip(inside, c, strict=True)]
    terms = tuple((text, float(own)) for text, own in zip(choices, mean, strict=True) if text)
    if sampled:
        # One choice more, divided evenly over the menu: a share of 0 or 1 is not known for sure.
        size = inside.sum(axis=1)
        square = (c**2 * known).sum(axis=1) + rest**2 * left
        square = (total * square + (c**2).sum(axis=1) / size) / (total + 1.0)
        mean = (total * mean + c.sum(axis=1) / size) / (total + 1.0)
        error = float(np.sqrt((np.maximum(square - mean**2, 0.0) / total).sum()))
    labels = menus.labels(data.items)
    coefficients = {
        (menu, data.items[x]): float(own[x]) for menu, own in zip(labels, c, strict=True) for x in np.flatnonzero(own)
    }
    full = np.zeros(len(kept))
    full[cells] = c[inside]
    plain = set(np.unique(c[inside])) <= {0.0, 1.0}
    words = (RandomUtility() if model is None else model).words()
    text = inequality_in_words(terms, plain, bound, value, words.chooser)
    return Inequality(coefficients, bound, value, error, terms, text), full


def highest(menus: Menus, c: Array, items: tuple[Item, ...], model: Model | None) -> float:
    """The largest sum of coefficients, one for each cell, that a type of the model can take from these menus."""
    if model is None:
        menus, used = drop_unused(menus)
        items = tuple(items[x] for x in used)
    cells = Cells.of_menus(menus, None, items)
    geometry = GraphGeometry(RandomUtility() if model is None else model, cells)
    return 0.0 - geometry.cheapest(cells.to_table(menus.to_table(-c, 0.0)))


def tidy(c: Array) -> Array:
    """Whole numbers where the coefficients are such up to scale, else the largest is 1 and they have three digits."""
    scaled = c / c.max()
    for largest in range(1, _LARGEST + 1):
        whole = np.round(scaled * largest)
        if np.abs(scaled * largest - whole).max() <= _WHOLE * largest:
            found: Array = whole
            return found
    rounded: Array = np.round(scaled, 3)
    return rounded


def inequality_in_words(
    terms: tuple[tuple[str, float], ...], plain: bool, bound: float, value: float, chooser: str
) -> str:
    """The inequality as a sentence, from what counts of each menu; `plain`: all coefficients are 0 or 1."""
    listed = "; ".join(text for text, _ in terms[:MOST_TERMS])
    if len(terms) > MOST_TERMS:
        listed += f"; and {len(terms) - MOST_TERMS} more"
    if plain and len(terms) == 1:
        return f"Nobody {chooser} takes {listed}, so that its share is at most {bound:g}; it is {value:.4g}."
    if plain:
        return (
            f"Of these {len(terms)} choices nobody {chooser} makes more than {bound:g}: {listed}. Their shares can "
            f"therefore add up to at most {bound:g}; they add up to {value:.4g}."
        )
    return (
        f"Add up: {listed}. Nobody {chooser} comes to more than {bound:.4g}, nor does any population of them; "
        f"the data come to {value:.4g}."
    )


def choice_in_words(data: ChoiceData, inside: Mask, c: Array) -> str:
    """What counts of one menu."""
    menu = labels_of(data.items, inside)
    name = list_menu(data.items, menu)
    texts = []
    for level in sorted(set(c[inside]) - {0.0}):
        own = [visible(data.items[x]) for x in np.flatnonzero(inside & (c == level))]
        others = [visible(data.items[x]) for x in np.flatnonzero(inside & (c != level))]
        what = " or ".join(own)
        if len(own) > 1 and len(others) < len(own):
            what = "anything but " + " or ".join(others)
        texts.append(f"{what} from {name}" if level == 1 else f"{level:g} x ({what} from {name})")
    return " and ".join(texts)


def block_marschak_terms(data: ChoiceData) -> tuple[Lattice, Array]:
    """The Block-Marschak polynomials of complete data, one per cell of the lattice."""
    lattice = Lattice(data.n)
    table = np.zeros((lattice.n_menus, data.n))
    table[1 << np.arange(data.n), np.arange(data.n)] = 1.0
    table[data.masks[data.offered.menu], data.offered.item] = np.nan_to_num(data.shares)
    return lattice, lattice.internal_to_cells(moebius(lattice.to_internal(table)))


def negative_terms(data: ChoiceData, below: float) -> list[Term]:
    """The Block-Marschak terms of complete data that are negative, worst first: menu, item, value."""
    lattice, terms = block_marschak_terms(data)
    worst = np.argsort(terms, kind="stable")
    return [_term(data, lattice, int(k), float(terms[k])) for k in worst[: int((terms < -below).sum())]]


def slack_terms(
    data: ChoiceData, coefficients: Array, below: float
) -> list[tuple[tuple[Item, ...], Item, float, float]]:
    """The negative terms in the slack of an inequality on complete data, heaviest first: menu, item, multiplier, value."""
    lattice, terms = block_marschak_terms(data)
    weight = multipliers(data, coefficients)
    part = weight * np.where(terms < -below, terms, 0.0)
    worst = np.argsort(part, kind="stable")[: int((part < 0).sum())]
    return [(*_term(data, lattice, int(k), float(weight[k])), float(terms[k])) for k in worst]


def multipliers(data: ChoiceData, coefficients: Array) -> Array:
    """m(D, x) of the module's docstring, one per cell of the lattice, for a coefficient of each cell of complete data."""
    lattice = Lattice(data.n)
    table = np.zeros((lattice.n_menus, data.n))
    table[data.masks[data.offered.menu], data.offered.item] = coefficients
    cost = zeta_adjoint(lattice.to_internal(-table))
    below = cheapest_below(cost)
    mask, item = lattice.cells.T
    weight = cost[item, squeeze.py_func(mask, item)] + below[mask ^ (np.int64(1) << item)] - below[mask]
    found: Array = np.where(weight > 1e-9, weight, 0.0)
    return found


def _term(data: ChoiceData, lattice: Lattice, cell: int, value: float) -> Term:
    mask, item = lattice.cells[cell].tolist()
    return tuple(data.items[x] for x in items_of(mask)), data.items[item], value
