"""Pictures as SVG text for a page: no file, no global state, colours that follow light and dark."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

from rumflow.output.frames import optional

# Colours that no picture uses: they stand for the page's text and card colours.
TEXT, CARD = "#010203", "#fdfcfb"


def draw(plot: Callable[[Any], object], width: float, height: float, prefix: str) -> str:
    """The SVG of a plot on one Axes; ids begin with `prefix`, so that several fit in one page."""
    matplotlib = optional("matplotlib", "report")
    figures = optional("matplotlib.figure", "report")
    settings = {
        "svg.fonttype": "path", "svg.hashsalt": "rumflow", "font.family": ["DejaVu Sans"], "text.color": TEXT,
        "axes.labelcolor": TEXT, "axes.edgecolor": TEXT, "xtick.color": TEXT, "ytick.color": TEXT, "axes.facecolor": CARD,
    }  # fmt: skip
    with matplotlib.rc_context(settings):
        figure = figures.Figure(figsize=(width, height), layout="constrained")
        figure.set_facecolor("none")
        plot(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(
            buffer,
            format="svg",
            bbox_inches="tight",
            pad_inches=0.04,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    return text.replace(TEXT, "currentColor").replace(CARD, "var(--card)").replace("<svg", '<svg aria-hidden="true"', 1)
