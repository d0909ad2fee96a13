"""Long labels, and a check that no two texts of a picture overlap."""

from itertools import combinations

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
Text = pytest.importorskip("matplotlib.text").Text
plots = pytest.importorskip("rumflow.output.plots")


LONG = [
    "Shared ride with two or more strangers",
    "Public transit (bus)",
    "Bicycle, own",
    "Walking all the way to work",
    "Driving alone in a rented car",
    "Taxi",
    "An exceedingly long label for $5",
    "Electric scooter (3+ km)",
]


def assert_texts_apart(ax):
    """No two texts of the figure cover each other, and none leaves it."""
    figure = ax.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [
        *ax.texts,
        *ax.get_xticklabels(),
        *ax.get_yticklabels(),
        ax.title,
        ax._left_title,
        ax._right_title,
        ax.xaxis.label,
        ax.yaxis.label,
    ]
    if ax.get_legend() is not None:
        texts += ax.get_legend().get_texts()
    low, high = sorted(ax.get_xlim()), sorted(ax.get_ylim())
    boxes = []
    for text in texts:
        ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
        if not text.get_visible() or not text.get_text().strip() or (text in ticks and not ax.axison):
            continue
        if text in ax.get_xticklabels() and not low[0] <= text.get_position()[0] <= low[1]:
            continue
        if text in ax.get_yticklabels() and not high[0] <= text.get_position()[1] <= high[1]:
            continue
        boxes.append((text.get_text(), Text.get_window_extent(text, renderer)))  # without arrows
    width, height = figure.canvas.get_width_height()
    for name, box in boxes:
        assert box.x0 > -2, name
        assert box.y0 > -2, name
        assert box.x1 < width + 2, name
        assert box.y1 < height + 2, name
    for (a, first), (b, second) in combinations(boxes, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 1 or down <= 1, f"{a!r} and {b!r} overlap"
