"""The shares of all pairs as a heat map in the best order, with the majority triangles drawn on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rumflow.output.frames import optional
from rumflow.output.plot_style import BLUE, GREY, ORANGE, PLAIN, RED, find_axes, line, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Items up to which shares are written into the cells, and up to which items are named; triangles that are drawn.
_WRITTEN, _NAMED, _DRAWN = 12, 60, 3

_TRIANGLES = ("#222222", ORANGE, "#8660b5")


def plot_pairs(found: Any, ax: Axes | None = None) -> Axes:
    """Draw a `rumflow.inference.Transitivity`: row against column, the share of the row's item.

    With transitive majorities the upper right half is blue; pairs that were not compared are white. The
    three cells of a majority triangle are joined, for the three most significant ones.
    """
    pairs = found.pairs
    place = {item: k for k, item in enumerate(found.order)}
    compared = sorted({found.items[x] for x in np.unique(pairs.menus.item)}, key=place.__getitem__)
    rank = {item: k for k, item in enumerate(compared)}
    n = len(compared)
    shares = np.full((n, n), np.nan)
    a = np.array([rank[found.items[x]] for x in pairs.first])
    b = np.array([rank[found.items[x]] for x in pairs.second])
    shares[a, b], shares[b, a] = pairs.share, 1.0 - pairs.share
    side = float(np.clip(1.8 + 0.36 * n, 4.2, 8.0))
    ax = find_axes(ax, side + 1.2, side)
    colors = optional("matplotlib.colors", "plots")
    scale = colors.LinearSegmentedColormap.from_list("pairs", [RED, "#ece7dc", BLUE]).with_extremes(bad="white")
    image = ax.imshow(shares, cmap=scale, vmin=0.0, vmax=1.0, interpolation="nearest")
    written = n <= _WRITTEN
    for i, j in zip(*np.nonzero(~np.isnan(shares)), strict=True) if written else []:
        number, dark = f"{shares[i, j]:.2f}".lstrip("0"), abs(shares[i, j] - 0.5) > 0.3
        ax.text(j, i, number, ha="center", va="center", fontsize=8, color="w" if dark else "k", zorder=5)
    if n <= _NAMED:
        names = [shorten(item, 14) for item in compared]
        size = 9 if n <= 25 else 6
        ax.set_xticks(
            np.arange(n), names, rotation=90 if n > 6 or max(map(len, names)) > 6 else 0, fontsize=size, **PLAIN
        )
        ax.set_yticks(np.arange(n), names, fontsize=size, **PLAIN)
    else:
        ax.set(xlabel=f"{n} items in the best order", ylabel="the same")
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    drawn = found.triangles[:_DRAWN]
    for one, color in zip(drawn, _TRIANGLES, strict=False):
        at = [rank[item] for item in one.items]
        corners = [(at[(k + 1) % 3], at[k]) for k in range(3)]  # column: the item beaten
        ax.plot(*zip(*corners, corners[0], strict=True), color=color, linewidth=1.6, zorder=3)
        # Numbers are circled on the colour of their cells, not covered.
        faces = [scale(shares[row, column]) if written else color for column, row in corners]
        size = 480 if written else 25
        columns, rows = zip(*corners, strict=True)
        ax.scatter(columns, rows, s=size, c=faces, edgecolors=color, linewidths=1.6, zorder=4)
    if drawn:
        words = [f"{' > '.join(shorten(x, 12) for x in (*one.items, one.items[0]))}{_certainty(one)}" for one in drawn]
        keys = [line(color, text) for text, color in zip(words, _TRIANGLES, strict=False)]
        legend = ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(0.0, -0.01), frameon=False, fontsize=8)
        for text in legend.get_texts():
            text.update(PLAIN)
    figure: Any = ax.get_figure()
    bar = figure.colorbar(image, ax=ax, fraction=0.045, pad=0.03)
    bar.set_label("share of the row's item", fontsize=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, color=GREY)
    return ax


def _certainty(one: Any) -> str:
    return "" if one.adjusted is None else f"   p = {one.adjusted:.2g} corrected"
