"""Pictures of results, drawn with matplotlib: of a projection, a test, bounds, a trace.

Every function takes an Axes, or makes a figure of a fitting size, and returns the Axes. Where labels are too long for
the picture, letters stand for them, with a key.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.transforms import moebius
from rumflow.errors import InputError
from rumflow.output.names import name_order
from rumflow.output.plot_style import (
    BLUE,
    CYCLE,
    GREY,
    ORANGE,
    PLAIN,
    RED,
    Names,
    find_axes,
    finish,
    legend_below,
    letters_below,
    line,
    patch,
    shorten,
)
from rumflow.output.range_plots import Interval, draw_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: A `rumflow.Projection`, which is above this module: lattice, items, observed, rho, flow, inside, rankings, decided, misfits.
Fit = Any


def plot_fit(fit: Fit, ax: Axes | None = None, label: int = 5) -> Axes:
    """Plot observed against fitted probabilities; the `label` worst cells are numbered and named beside the picture.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> fit = rf.project(rf.simulate.dirichlet(3, seed=0))
    >>> plots.plot_fit(fit).get_xlabel()
    'observed share'
    """
    ax = find_axes(ax, 7.6, 4.2)
    menus, shares = fit.observations.menus, fit.observations.shares
    seen = ~np.isnan(shares) & (menus.sizes[menus.menu] > 1)
    observed, fitted = shares[seen], fit.fitted_cells[seen]
    if not seen.any():
        raise InputError("there is nothing to draw: no menu of two items or more was observed")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, zorder=1)
    size = 26 if len(observed) < 500 else 8
    ax.scatter(observed, fitted, s=size, color=BLUE, alpha=0.55, linewidths=0, zorder=2, label=f"{len(observed)} cells")
    worst = [] if fit.inside else fit.misfits(label)
    short, names = Names(fit.items, 44), []
    span = max(observed.max(), fitted.max()) - min(observed.min(), fitted.min())
    step = 0.03 * max(float(span), 0.05)
    placed: list[tuple[float, float]] = []
    for k, (menu, item, x, y) in enumerate(worst, 1):
        ax.scatter([x], [y], s=30, color=RED, zorder=3)
        side = 1 if x >= y else -1
        spot = (x + step * side, y - step * side)
        while any(abs(spot[0] - a) < 1.2 * step and abs(spot[1] - b) < 1.5 * step for a, b in placed):
            spot = (spot[0] + step * side, spot[1] - step * side)
        placed.append(spot)
        ax.annotate(
            str(k), (x, y), spot, color=RED, fontsize=9, ha="center", va="center", zorder=4,
            arrowprops={"arrowstyle": "-", "color": RED, "linewidth": 0.5, "shrinkA": 4, "shrinkB": 2},
        )  # fmt: skip
        names.append(f"{k}  {short.item(item)} from {short.menu(menu)}\n    {x:.3f}, fitted {y:.3f}")
    if names and short.coded:
        names += ["", *short.key()]
    low, high = min(observed.min(), fitted.min()), max(observed.max(), fitted.max())
    low, high = min([low, *(v for spot in placed for v in spot)]), max([high, *(v for spot in placed for v in spot)])
    room = 0.06 * (high - low) + 0.01
    ax.set(
        xlabel="observed share",
        ylabel="fitted probability",
        xlim=(low - room, high + room),
        ylim=(low - room, high + room),
    )
    ax.locator_params(nbins=6)
    ax.set_aspect("equal", "box", anchor="W")
    title = "Observed and fitted" if not fit.inside else "Observed shares are a random utility model"
    if names:
        ax.annotate(
            "\n".join(names),
            (1.03, 1.0),
            xycoords="axes fraction",
            va="top",
            fontsize=7.5,
            linespacing=1.35,
            annotation_clip=False,
            **PLAIN,
        )
    return finish(ax, title)


def plot_block_marschak(
    source: Fit, ax: Axes | None = None, label: int = 8, items: Sequence[Hashable] | None = None
) -> Axes:
    """Plot the Block-Marschak terms of the data by size; the negative ones, which no population of rankings has, in red.

    Parameters
    ----------
    source : Projection or array_like
        A projection of complete data, or a (2^n, n) array of probabilities.
    ax : Axes, optional
        Where to draw; None makes a figure.
    label : int, default 8
        How many terms are named.
    items : sequence, optional
        Labels of the items of an array.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> ax = plots.plot_block_marschak(rf.simulate.dirichlet(3, seed=0), items=["tea", "milk", "gin"])
    >>> ax.figure.savefig("terms.png")  # doctest: +SKIP
    """
    if hasattr(source, "observed") and hasattr(source, "items"):
        rho, items = source.observed, source.items
    else:
        rho = np.atleast_2d(np.asarray(source, float))
        items = range(rho.shape[1]) if items is None else items
    lattice = Lattice(rho.shape[1])
    rows = lattice.to_internal(rho)
    if np.isnan(rows).any():
        raise InputError("the Block-Marschak terms need every menu; these data are incomplete")
    values = lattice.from_internal(moebius(rows))
    cells = np.argwhere(lattice.membership)
    heights = values[lattice.membership]
    order = np.argsort(heights, kind="stable")
    heights = heights[order]
    ax = find_axes(ax, 7.6, 3.8)
    negative = heights < -1e-12
    where = np.arange(len(heights))
    ax.fill_between(where, heights, 0, where=~negative, step="mid", color=BLUE, alpha=0.75, linewidth=0)
    ax.bar(where[negative], heights[negative], width=1.0, color=RED)
    ax.axhline(0, color=GREY, linewidth=0.8)
    short, lines = Names(items, 60), []
    for k in range(min(label, int(negative.sum()))):
        mask, x = (int(v) for v in cells[order[k]])
        lines.append(f"{heights[k]:+.3f}  {short.item(items[x])} from {short.menu(items[y] for y in items_of(mask))}")
    head = f"{int(negative.sum())} of {len(heights)} are negative" + (
        ", the worst:" if len(lines) < negative.sum() else ":"
    )
    if not lines:
        head = f"none of {len(heights)} is negative"
    told = "\n".join([head, *lines])
    ax.text(0.02, 0.97, told, transform=ax.transAxes, va="top", fontsize=7.5, linespacing=1.4, **PLAIN)
    top = float(np.sort(heights)[-1])
    ax.set_ylim(min(float(heights[0]) * 1.15, -0.02 * top), top * (1.15 + 0.09 * (len(lines) + 1)))
    ax.set(xlabel="menus and items, in order of the term", ylabel="Block-Marschak term", xticks=[])
    if lines:
        letters_below(ax, short, 20)
    ax.margins(x=0.01)
    return finish(ax, "Block-Marschak terms of the data")


def plot_lattice(fit: Fit, ax: Axes | None = None) -> Axes:
    """Plot the lattice of menus with the fitted flow: every edge takes the best item off its menu, as wide as its share.

    Beyond five items the menus of a size are drawn as one: how often each item is the best, the second best, and so on.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> fit = rf.project(rf.simulate.dirichlet(3, seed=0))
    >>> ax = plots.plot_lattice(fit)
    >>> ax.figure.savefig("lattice.png")  # doctest: +SKIP
    """
    return _draw_lattice(fit, ax) if fit.n <= 5 else _draw_layers(fit, ax)


def _draw_lattice(fit: Fit, ax: Axes | None) -> Axes:
    n = fit.n
    ax = find_axes(ax, 7.6, 1.3 + 0.95 * n)
    short = Names(fit.items, letters=True)
    layers = [[m for m in range(1 << n) if m.bit_count() == size] for size in range(n, -1, -1)]
    layers = [sorted(layer, key=items_of) for layer in layers]
    place = {m: ((k + 0.5) / len(layer), n - row) for row, layer in enumerate(layers) for k, m in enumerate(layer)}
    for mask in range(1, 1 << n):
        for x in items_of(mask):
            flow = float(fit.flow[mask, x])
            (x0, y0), (x1, y1) = place[mask], place[mask ^ (1 << x)]
            if flow > 1e-9:
                ax.plot(
                    [x0, x1],
                    [y0, y1],
                    color=CYCLE[x],
                    linewidth=0.4 + 14 * flow,
                    alpha=0.75,
                    solid_capstyle="butt",
                    zorder=2,
                )
            else:
                ax.plot([x0, x1], [y0, y1], color=GREY, linewidth=0.3, alpha=0.35, linestyle=":", zorder=1)
    size = 7.5 if n == 5 else 9
    face = ax.get_facecolor()
    for mask, (across, level) in place.items():
        name = "".join(short.item(fit.items[k]) for k in items_of(mask)) or "∅"
        box = {"boxstyle": "round,pad=0.25", "facecolor": face, "edgecolor": GREY, "linewidth": 0.6}
        ax.text(across, level, name, ha="center", va="center", fontsize=size, bbox=box, zorder=4, **PLAIN)
    legend_below(ax, [line(CYCLE[x], text) for x, text in enumerate(short.key())])
    ax.set(ylim=(-0.35, n + 0.35), xlim=(0, 1))
    ax.axis("off")
    ax.set_title(
        "From all items to none: width is the share whose best item of the menu it is", loc="left", fontsize=10
    )
    return ax


def position_shares(fit: Fit) -> Array:
    """Return the share of people who rank item x at position p, (n, n), row p from 0 (best); fixed by the probabilities.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> fit = rf.project(rf.simulate.dirichlet(3, seed=0))
    >>> plots.position_shares(fit).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    n, flow = fit.n, fit.flow  # an error where there is none
    sizes = np.bitwise_count(np.arange(1 << n))
    return np.array([flow[sizes == n - p].sum(axis=0) for p in range(n)])


def _draw_layers(fit: Fit, ax: Axes | None) -> Axes:
    n = fit.n
    ax = find_axes(ax, 7.6, 1.6 + 0.36 * n)
    shares = position_shares(fit)
    left = np.zeros(n)
    for x in range(n):
        color = CYCLE[x % len(CYCLE)]
        ax.barh(np.arange(n), shares[:, x], left=left, color=color, edgecolor="white", linewidth=0.4, height=0.78)
        for p in range(n):
            if shares[p, x] > 0.075:
                ax.text(
                    left[p] + shares[p, x] / 2,
                    p,
                    f"{shares[p, x]:.0%}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white",
                )
        left += shares[:, x]
    names = ["best", *(f"{p + 1}." for p in range(1, n - 1)), "worst"]
    ax.set(yticks=np.arange(n), yticklabels=names, xlim=(0, 1), xticks=[])
    ax.invert_yaxis()
    legend_below(ax, [patch(CYCLE[x % len(CYCLE)], shorten(fit.items[x], 28)) for x in range(n)])
    ax.spines["bottom"].set_visible(False)
    return finish(ax, "Positions of the items in the rankings: flow by size of the menu")


def plot_rankings(fit: Fit, ax: Axes | None = None, top: int = 10) -> Axes:
    """Plot the heaviest rankings of the mixture: one among many that give the same probabilities when n >= 4.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> fit = rf.project(rf.simulate.dirichlet(3, seed=0))
    >>> ax = plots.plot_rankings(fit, top=2)
    >>> len(ax.patches)
    2
    """
    rankings, decided, number = fit.heaviest(top)
    found = rankings.labelled()
    ax = find_axes(ax, 7.6, 1.1 + 0.34 * len(found))
    short = Names(fit.items, 56)
    weights = [weight for _, weight in found]
    rows = np.arange(len(found))
    ax.barh(rows, weights, color=BLUE, height=0.7)
    for row, weight in zip(rows, weights, strict=True):
        ax.text(weight, float(row), f" {weight:.1%}", va="center", fontsize=8)
    texts = [
        name_order(order, last, 60 if len(fit.items) > len(ascii_uppercase) else 110, short.item)
        for (order, _), last in zip(found, decided.tolist(), strict=True)
    ]
    letters_below(ax, short, 34)
    ax.set_yticks(rows, texts, fontsize=8, **PLAIN)
    ax.invert_yaxis()
    ax.set_xlim(0, max(weights) * 1.18)
    rest = f"{len(found)} of {number} rankings"
    ax.set_xlabel("share of people")
    return finish(ax, ("One mixture among many: " if fit.n >= 4 else "The mixture: ") + rest)


def plot_null(result: Any, ax: Axes | None = None, tau: float | None = None) -> Axes:
    """Plot the bootstrap distribution of the statistic if the choices were rational, and the statistic of the data.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> data = {("tea", "milk"): {"tea": 31, "milk": 9}, ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20}}
    >>> plots.plot_null(rf.rum_test(data, n_boot=19, seed=1)).get_xlabel()
    'statistic'
    """
    taus = [float(t) for t in result.taus]
    k = 0 if tau is None else int(np.argmin(np.abs(np.array(taus) - tau)))
    null = np.asarray(result.null_distributions[k], float)
    statistic, pvalue = float(result.statistic), float(result.pvalues[k])
    ax = find_axes(ax, 7.6, 3.4)
    most = max(float(null.max()), statistic, 1e-12)
    bins = np.linspace(0, most * 1.03, 41).tolist()
    counts, _, bars = ax.hist(null, bins=bins, color=BLUE, alpha=0.75)
    for bar, start in zip(bars, bins, strict=False):  # type: ignore[arg-type]
        if start >= statistic:
            bar.set_facecolor(ORANGE)
    height = float(np.max(counts))
    ax.axvline(statistic, color=RED, linewidth=2)
    right = statistic < 0.6 * most
    ax.annotate(
        f"data: {statistic:.4g}\np = {pvalue:.3g}", (statistic, height * 1.18), (6 if right else -6, 0),
        textcoords="offset points", ha="left" if right else "right", va="top", color=RED, fontsize=9,
    )  # fmt: skip
    ax.set(xlabel="statistic", ylabel="replicates", ylim=(0, height * 1.22), xlim=(0, most * 1.03))
    return finish(ax, f"If the choices were rational: {len(null)} replicates, τ = {taus[k]:.3g}")


def plot_bounds(bounds: Any, ax: Axes | None = None, title: str = "") -> Axes:
    """Plot lowest and highest probabilities: the result of `rumflow.bounds`, or {item or (menu, item): (lower, upper)}.

    A thin line is the confidence interval, where the result has one.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> plots.plot_bounds({"tea": (0.2, 0.5), "milk": (0.5, 0.8)}).get_xlabel()
    'probability'
    """
    interval = None
    if not isinstance(bounds, Mapping):
        if bounds.confidence_lower is not None and bounds.confidence_upper is not None:
            label = f"{100 * bounds.confidence:g} % interval"
            interval = Interval(bounds.confidence_lower, bounds.confidence_upper, label)
        bounds = {(bounds.menu, item): bounds[item] for item in bounds.items}
    if not bounds:
        raise InputError("there are no bounds to draw")
    cells = [k if _is_cell(k) else (None, k) for k in bounds]
    menus = {menu for menu, _ in cells}
    ax = find_axes(ax, 7.6, 1.2 + (0.34 if len(menus) == 1 else 0.5) * len(bounds))
    everything = list(dict.fromkeys(x for menu, item in cells for x in (*(menu or ()), item)))
    short = Names(everything, 44)
    rows = np.arange(len(bounds)).tolist()
    for row, (low, high) in zip(rows, bounds.values(), strict=True):
        text = f"{low:.3f}" if high - low < 5e-4 else f"{low:.3f} to {high:.3f}"
        draw_range(ax, row, (low, high), interval, text)
    names = [shorten(x, 36) + ("" if len(menus) == 1 else f"\nfrom {short.menu(menu or ())}") for menu, x in cells]
    ax.set_yticks(rows, names, fontsize=8, **PLAIN)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="probability", ylim=(len(bounds) - 0.4, -0.6))
    if len(menus) > 1 and short.coded:
        letters_below(ax, short, 34)
    elif interval is not None:
        legend_below(ax, [line(BLUE, "over all models that fit best"), line(GREY, interval.label)], 34)
    return finish(ax, title or "Lowest to highest probability under random utility", "right", 10)


def plot_models(comparison: Any, ax: Axes | None = None) -> Axes:
    """Plot distances of the data to several models (`rumflow.compare_models`), as bars in the order given.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> data = {("tea", "milk"): {"tea": 31, "milk": 9}, ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20}}
    >>> models = {"any ranking": rf.RandomUtility(), "tea above milk": rf.RandomUtility([("tea", "milk")])}
    >>> plots.plot_models(rf.compare_models(data, models)).get_xlabel()
    'distance of the data'
    """
    table = comparison.table
    rows = np.arange(len(table["model"]))
    ax = find_axes(ax, 7.6, 1.3 + 0.4 * len(rows))
    ax.barh(rows, table["distance"], color=BLUE, height=0.62)
    most = max(*table["distance"], 1e-12)
    tested = table.get("pvalue", [None] * len(rows))
    for row, distance, pvalue, status in zip(rows, table["distance"], tested, table["status"], strict=True):
        what = f" {distance:.4g}" + ("" if pvalue is None else f"  (p = {pvalue:.3g})")
        what += "" if status == "optimal" else f"  {status}"
        ax.text(distance, float(row), what, va="center", fontsize=8)
    ax.set_yticks(rows, [shorten(name, 36) for name in table["model"]], fontsize=9, **PLAIN)
    ax.invert_yaxis()
    ax.set(xlim=(0, most * 1.3), xlabel="distance of the data")
    return finish(ax, "How far the data are from each model")


def plot_trace(trace: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Plot the convergence: relative gap against time, from the reports of `project(..., progress=trace.append)`.

    Examples
    --------
    >>> import rumflow as rf
    >>> from rumflow.output import plots
    >>> trace = []
    >>> fit = rf.project(rf.simulate.dirichlet(9, seed=0), progress=trace.append)
    >>> plots.plot_trace(trace).get_ylabel()
    'gap / objective'
    """
    if not trace:
        raise InputError("the trace is empty: pass progress=trace.append to project(), with trace = []")
    ax = find_axes(ax, 7.6, 3.2)
    seconds = [float(now.seconds) for now in trace]
    gaps = [max(float(now.gap) / max(float(now.objective), 1e-300), 1e-17) for now in trace]
    ax.semilogy(seconds, gaps, color=BLUE, marker="o", markersize=3)
    ax.set(xlabel="seconds", ylabel="gap / objective")
    ax.grid(True, axis="y", linewidth=0.3)
    return finish(ax, f"Convergence: {len(trace)} rounds")


def _is_cell(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], tuple)
