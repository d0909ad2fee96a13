"""Pictures of budgets: their patches, and the share of the households in each.

Two goods: budgets are lines, and patches are pieces of them. Three goods: every budget is a triangle of its own, each corner
being all expenditure on one good, cut by the other budgets.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rumflow.core.arrays import Array
from rumflow.errors import InputError
from rumflow.output.frames import optional
from rumflow.output.plot_style import CYCLE, GREY, PLAIN, find_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A `rumflow.BudgetData`, which is above this module: labels, prices, goods, pieces, probabilities, budget.
Data = Any

#: Triangles of more budgets are too small to read.
MOST_TRIANGLES = 12

_SHOWN = 0.005  # shares below this have no number


def plot_budgets(data: Data, ax: Axes | None = None, budgets: Sequence[Hashable] | None = None) -> Axes:
    """Budgets with their patches and the shares in them, for two or three goods; `budgets`: some of them, by label."""
    if data.pieces is None:
        raise InputError("plot: the prices of these patches are not known, so they cannot be drawn")
    goods = data.prices.shape[1]
    if goods > 3:
        raise InputError(f"plot: budgets of two or three goods can be drawn, not of {goods}")
    chosen = list(range(len(data.labels))) if budgets is None else [data.labels.index(label) for label in budgets]
    return _lines(data, ax, chosen) if goods == 2 else _triangles(data, ax, chosen)


def _corners(data: Data, patch: int) -> Array:
    corners: Array = data.pieces.corners[data.pieces.first[patch] : data.pieces.first[patch + 1]]
    return corners


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= _SHOWN else ""


def _lines(data: Data, ax: Axes | None, chosen: Sequence[int]) -> Axes:
    ax = find_axes(ax, 6.4, 5.6)
    for order, j in enumerate(chosen):
        colour = CYCLE[order % len(CYCLE)]
        for i in np.flatnonzero(data.budget == j):
            share = float(data.probabilities[i])
            ends = _corners(data, int(i)) / data.prices[j]
            ends = ends[np.argsort(ends[:, 0])]
            # A gap at both ends shows where patches begin.
            gap = 0.012 * (ends[1] - ends[0])
            drawn = np.array([ends[0] + gap, ends[1] - gap])
            ax.plot(*drawn.T, color=colour, lw=1.2 + 9 * share, solid_capstyle="butt", alpha=0.9)
            if _percent(share):
                middle = ends.mean(axis=0)
                ax.annotate(
                    _percent(share),
                    middle,
                    xytext=(5, 5),
                    textcoords="offset points",
                    fontsize=8,
                    color=colour,
                    bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
                )
        ax.plot([], [], color=colour, lw=3, label=shorten(data.labels[j]))
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(shorten(data.goods[0]), **PLAIN)
    ax.set_ylabel(shorten(data.goods[1]), **PLAIN)
    for text in ax.legend(title="budget", frameon=False, fontsize=8).get_texts():
        text.update(PLAIN)
    ax.set_title("Budgets, their patches, and the share of households in each", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _triangles(data: Data, ax: Axes | None, chosen: Sequence[int]) -> Axes:
    if len(chosen) > MOST_TRIANGLES:
        raise InputError(
            f"plot: {len(chosen)} budgets of three goods are too many to read; name up to {MOST_TRIANGLES} with budgets="
        )
    colours = optional("matplotlib", "plots").colormaps["Blues"]
    polygon = optional("matplotlib.patches", "plots").Polygon
    wide = min(len(chosen), 4)
    rows = -(-len(chosen) // wide)
    ax = find_axes(ax, 1.0 + 2.6 * wide, 0.6 + 2.6 * rows)
    shape = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    most = max(float(data.probabilities[np.isin(data.budget, chosen)].max()), 1e-9)
    for order, j in enumerate(chosen):
        origin = np.array([1.3 * (order % wide), -1.3 * (order // wide)])
        for i in np.flatnonzero(data.budget == j):
            share = float(data.probabilities[i])
            points = _corners(data, int(i)) @ shape
            centre = points.mean(axis=0)
            around = points[np.argsort(np.arctan2(*(points - centre).T))] + origin
            depth = 0.08 + 0.8 * share / most
            ax.add_patch(polygon(around, closed=True, fc=colours(depth), ec="white", lw=0.8))
            if _percent(share) and _room(around) > 0.006:
                x, y = centre + origin
                ax.text(
                    x,
                    y,
                    _percent(share).replace(" %", ""),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if depth > 0.55 else "black",
                )
        ax.plot(*(np.vstack([shape, shape[:1]]) + origin).T, color=GREY, lw=0.8)
        ax.text(
            origin[0] + 0.5, origin[1] + 0.97, shorten(data.labels[j]), ha="center", fontsize=9, weight="bold", **PLAIN
        )
        if order == 0:
            for corner, good, shift in zip(shape, data.goods, ((0.0, -0.08), (0.0, -0.08), (0.06, -0.02)), strict=True):
                side = "left" if shift[0] else "center"
                x, y = origin + corner + np.array(shift)
                ax.text(x, y, shorten(good, 12), ha=side, va="center", fontsize=7, color=GREY, **PLAIN)
    ax.set_xlim(-0.15, 1.3 * wide - 0.1)
    ax.set_ylim(-1.3 * (rows - 1) - 0.18, 1.1)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title("Patches of each budget and the percentage of households in them", fontsize=10)
    return ax


def _room(points: Array) -> float:
    """The area of a polygon."""
    x, y = points.T
    return float(0.5 * abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()))
