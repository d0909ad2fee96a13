"""The pictures of the four pages of theory, drawn from the worked example when the site is built."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

import rumflow as rf

BLUE, RED, GREY, ORANGE, GREEN = "#2f6fb0", "#c8402f", "#8a8f98", "#d98c1f", "#3f9b63"
COLOURS = {"tea": GREEN, "coffee": BLUE, "juice": ORANGE}
BOX = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": GREY}


def _axes(width, height):
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.axis("off")
    return ax


def _name(items):
    return "{" + ", ".join(items) + "}" if items else "nothing left"


def draw_lattice(items, numbers=None, path=()):
    """All menus, the full one at the top; numbers on the edges (menu as a bit mask, item), and the path of one ranking."""
    n = len(items)
    ax = _axes(7.6, 4.6)
    layers = [[m for m in range(1 << n) if m.bit_count() == size] for size in range(n, -1, -1)]
    place = {m: ((k + 0.5) / len(layer), n - row) for row, layer in enumerate(layers) for k, m in enumerate(layer)}
    passed, mask = set(), (1 << n) - 1
    for item in path:
        x = items.index(item)
        passed.add((mask, x))
        mask ^= 1 << x
    for mask in range(1, 1 << n):
        for x in (x for x in range(n) if mask >> x & 1):
            (x0, y0), (x1, y1) = place[mask], place[mask ^ (1 << x)]
            value = None if numbers is None else float(numbers[mask, x])
            bad = value is not None and value < -1e-9
            wide = 4.0 if (mask, x) in passed or bad else 1.3
            faint = 0.35 if path and (mask, x) not in passed else 1.0
            ax.plot([x0, x1], [y0, y1], color=RED if bad else COLOURS[items[x]], linewidth=wide, alpha=faint, zorder=1)
            if value is not None:
                near = 0.36 if (mask.bit_count() + x) % 2 else 0.64  # so that numbers of edges that cross stay apart
                at = (x0 + near * (x1 - x0), y0 + near * (y1 - y0))
                ax.text(*at, f"{value:.2f}", ha="center", va="center", fontsize=9, color=RED if bad else "black")
                ax.texts[-1].set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    for mask, at in place.items():
        label = _name([item for x, item in enumerate(items) if mask >> x & 1])
        ax.text(*at, label, ha="center", va="center", fontsize=10, bbox=BOX, zorder=3)
    for item in items:
        ax.plot([], [], color=COLOURS[item], linewidth=3, label=f"{item} is struck out")
    ax.legend(loc="lower left", frameon=False, fontsize=9)
    ax.set(xlim=(0, 1), ylim=(-0.25, n + 0.25))
    return ax


def _shares(array):
    """Tea from {tea, coffee} and tea from all three: the two shares that are in conflict."""
    return float(array[3, 0]), float(array[7, 0])


def _corner_axes(width=6.2, height=5.0):
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(xlabel="share of tea from {tea, coffee}", ylabel="share of tea from {tea, coffee, juice}")
    ax.set_aspect("equal")
    return ax


def draw_projection(data, fit):
    """The two shares in conflict: all populations, the data outside, the fit on the border."""
    ax = _corner_axes()
    ax.fill([0, 1, 1], [0, 0, 1], color=BLUE, alpha=0.12, label="random utility models")
    corners = {"coffee over tea": (0, 0), "juice, then tea": (1, 0), "tea first": (1, 1)}
    for label, (x, y) in corners.items():
        ax.plot(x, y, "o", color=BLUE)
        side = "left" if x == 0 else "right"
        ax.annotate(label, (x, y), (24 if x == 0 else -10, 8), textcoords="offset points", fontsize=9, ha=side)
    ax.plot([0, 1], [0, 1], color=BLUE, linewidth=1.5)
    x, y = _shares(data.to_array())
    a, b = _shares(fit.rho)
    ax.annotate("", (a, b), (x, y), arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.8})
    ax.plot(x, y, "o", color=RED, label=f"the data: {x:.2f} and {y:.2f}")
    ax.plot(a, b, "D", color="black", label=f"the nearest model: both {a:.3f}")
    inset = ax.inset_axes((0.02, 0.52, 0.42, 0.42))
    inset.fill([0, 1, 1], [0, 0, 1], color=BLUE, alpha=0.12)
    inset.plot([0, 1], [0, 1], color=BLUE, linewidth=1.5)
    inset.annotate("", (a, b), (x, y), arrowprops={"arrowstyle": "->", "color": RED, "lw": 1.8})
    inset.plot(x, y, "o", color=RED)
    inset.plot(a, b, "D", color="black")
    inset.set(xlim=(0.33, 0.41), ylim=(0.34, 0.42), xticks=[], yticks=[], aspect="equal")
    ax.indicate_inset_zoom(inset, edgecolor=GREY)
    ax.legend(loc="center right", frameon=False, fontsize=9, bbox_to_anchor=(0.97, 0.2))
    return ax


def draw_open_menus(menus, order=("tea", "coffee", "juice")):
    """The graph of open menus: what is still undecided while a ranking is read from its best item down."""
    start = frozenset(menus)
    level, arcs, todo = {start: 0}, [], [start]
    while todo:
        node = todo.pop(0)
        for item in order:
            decided = {menu for menu in node if item in menu}
            if decided:
                target = node - decided
                arcs.append((node, target, item))
                if target not in level:
                    todo.append(target)
                level[target] = max(level.get(target, 0), level[node] + 1)
    depth = max(level.values())
    ax = _axes(7.6, 3.6)
    layers = {row: [node for node in level if level[node] == row] for row in range(depth + 1)}
    place = {
        node: ((k + 0.5) / len(layer), depth - row) for row, layer in layers.items() for k, node in enumerate(layer)
    }
    for source, target in dict.fromkeys(arc[:2] for arc in arcs):
        between = [item for one, other, item in arcs if (one, other) == (source, target)]
        (x0, y0), (x1, y1) = place[source], place[target]
        for number, item in enumerate(between):
            side = 2 * number - len(between) + 1  # arcs side by side: one bends to the left, one to the right
            style = {"arrowstyle": "-|>", "color": COLOURS[item], "lw": 2, "shrinkA": 16, "shrinkB": 16}
            ax.annotate("", (x1, y1), (x0, y0), arrowprops=style | {"connectionstyle": f"arc3,rad={0.22 * side}"})
            across, down = 0.055 * side * (y1 - y0), 0.16 * side * np.sign(x1 - x0)
            ax.text((x0 + x1) / 2 + across, (y0 + y1) / 2 + down, item, color=COLOURS[item], fontsize=10, ha="center")
            ax.texts[-1].set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1})
    for node, at in place.items():
        label = " and ".join(_name(menu) for menu in sorted(node, key=len)) if node else "all decided"
        label = "all open" if node == start else label if not node else f"open: {label}"
        ax.text(*at, label, ha="center", va="center", fontsize=10, bbox=BOX, zorder=3)
    ax.set(xlim=(0, 1), ylim=(-0.3, depth + 0.3))
    return ax


def draw_tightened(data, tau, draws=150, seed=0):
    """The model, the model tightened by tau, the point of it nearest to the data, and samples drawn there."""
    observed = data.to_array()
    menus = np.arange(8)
    inside = (menus[:, None] >> np.arange(3) & 1).astype(bool)
    r = np.where(inside, 1 / np.maximum(inside.sum(axis=1, keepdims=True), 1), 0.0)
    moved = np.where(inside, (observed - tau * r) / (1 - tau), 0.0)
    centre = tau * r + (1 - tau) * rf.project(moved).rho
    ax = _corner_axes(6.2, 5.0)
    ax.fill([0, 1, 1], [0, 0, 1], color=BLUE, alpha=0.10, label="random utility models, R")
    middle = np.array(_shares(r))
    corners = tau * middle + (1 - tau) * np.array([[0, 0], [1, 0], [1, 1]])
    ax.fill(*corners.T, color=BLUE, alpha=0.22, label=f"tightened by tau = {tau:.2f}")
    rng = np.random.default_rng(seed)
    samples = [
        [rng.multinomial(200, centre[mask][inside[mask]] / centre[mask].sum())[0] / 200 for mask in (3, 7)]
        for _ in range(draws)
    ]
    ax.plot(*np.array(samples).T, ".", color=GREY, alpha=0.6, markersize=4, label="samples of 200 choices a menu")
    ax.plot(*middle, "s", color=BLUE, label="all rankings alike, r")
    ax.plot(*_shares(observed), "o", color=RED, label="the data")
    ax.plot(*_shares(centre), "D", color="black", label="where samples are drawn")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="upper left", frameon=False, fontsize=9)
    return ax
