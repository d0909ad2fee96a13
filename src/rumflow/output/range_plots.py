"""Ranges as bars: what is certain at least and at most, with confidence intervals and single values beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rumflow.errors import InputError
from rumflow.output.plot_style import BLUE, GREY, ORANGE, PLAIN, find_axes, finish, legend_below, line, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NAME = 44  # letters of a name; longer ones are cut
_MOST_ROWS = 25  # more do not fit on a page


class Interval(NamedTuple):
    """Second ranges, drawn as thin bars; NaN where there is none."""

    low: Sequence[float]
    high: Sequence[float]
    label: str = "confidence interval"


def plot_ranges(
    names: Sequence[str],
    ends: tuple[Sequence[float], Sequence[float]],
    interval: Interval | None = None,
    marks: Mapping[str, Sequence[float]] | None = None,
    ax: Axes | None = None,
    *,
    title: str = "",
    label: str = "",
    widths: bool = False,
) -> Axes:
    """One row per name: a wide bar between its `ends`, a thin one for the interval, a dot for each mark; the first rows.

    widths   the bars are no ranges, but widths, from 0 on.
    """
    count = min(len(names), _MOST_ROWS)
    if count == 0:
        raise InputError("there are no ranges to draw")
    ax = find_axes(ax, 7.6, 1.3 + 0.34 * count)
    rows = list(range(count))
    for row in rows:
        first, last = (f"{end[row]:.4g}" for end in ends)
        text = last if widths or first == last else f"{first} to {last}"
        if interval is not None and np.isfinite(interval.low[row]):
            text += f"  ({interval.low[row]:.4g} to {interval.high[row]:.4g})"
        draw_range(ax, row, (ends[0][row], ends[1][row]), interval, text)
    handles = [] if widths else [line(BLUE, "range over all populations that fit best")]
    if interval is not None:
        handles.append(line(GREY, interval.label))
    for name, values in (marks or {}).items():
        ax.plot(values[:count], rows, color=ORANGE, marker="o", markersize=4, linewidth=0, zorder=3)
        handles.append(line(ORANGE, name))
    ax.set_yticks(rows, [shorten(name, MOST_NAME) for name in names[:count]], fontsize=8, **PLAIN)
    ax.set_ylim(count - 0.4, -0.6)
    ax.set_xlabel(label + (f" (the first {count} of {len(names)} rows)" if count < len(names) else ""))
    if handles:
        legend_below(ax, handles, 34)
    return finish(ax, title)


def draw_range(ax: Axes, row: int, ends: tuple[float, float], interval: Interval | None, text: str) -> None:
    """One row: a wide bar between the `ends`, a thin one behind it, and the numbers beside the picture."""
    if interval is not None and np.isfinite(interval.low[row]):
        ax.plot([interval.low[row], interval.high[row]], [row, row], color=GREY, linewidth=1.5, zorder=1)
    ax.plot(ends, [row, row], color=BLUE, linewidth=6, solid_capstyle="butt", zorder=2)
    ax.plot(ends, [row, row], color=BLUE, marker="|", markersize=12, linewidth=0, zorder=2)
    ax.annotate(text, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8, annotation_clip=False)
