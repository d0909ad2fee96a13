"""Pages from templates, and the tables in them."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from rumflow.output.frames import optional
from rumflow.output.markup import to_page
from rumflow.text import visible
from rumflow.version import __version__

#: What is folded away, and what is around a table that may be wider than the screen: the keyboard reaches it.
THEORY = "For those who know the theory"
SCROLLED = '<div class="table" tabindex="0" role="group" aria-label="table">'


@dataclass
class _Cell:
    text: str
    value: float | str = ""


@dataclass
class PageTable:
    """A table of the page; numbers are given as (value, text)."""

    caption: str
    columns: list[str]
    numeric: list[bool]
    rows: list[list[_Cell]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """A row."""
        made = []
        for cell in cells:
            if isinstance(cell, tuple):
                made.append(_Cell(str(cell[1]), float(cell[0])))
            elif isinstance(cell, float | int):
                made.append(_Cell(f"{cell:z.3f}" if isinstance(cell, float) else f"{cell:,}", float(cell)))
            else:
                made.append(_Cell(str(cell)))
        self.rows.append(made)


def signed(number: float) -> str:
    """A difference with its sign; 0 has none.

    >>> signed(0.25), signed(-0.0001)
    ('+0.250', '0.000')
    """
    text = f"{number:+.3f}"
    return text if float(text) else text[1:]


def render(template: str, content: Mapping[str, Any]) -> str:
    """A page, or a piece of one, by a template of this folder."""
    text = {name: read_text(name) for name in ("macros.html.j2", template, "style.css", "script.js")}
    environment = optional("jinja2", "report").Environment(autoescape=True, trim_blocks=False)
    page: str = environment.from_string(text["macros.html.j2"] + text[template]).render(
        **content,
        css=text["style.css"],
        js=text["script.js"],
        scrolled=SCROLLED,
        theory_title=THEORY,
        version=__version__,
        software=f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.system()} {platform.machine()}",
    )
    return page


def numbered_labels(items: Iterable[object]) -> list[str]:
    """Labels with numbers in them that must not be written as local readers expect numbers."""
    return [visible(label) for label in items if re.search(r"\d[.,]\d", str(label))]


def answer_page(title: str, body: str, labels: Sequence[str]) -> str:
    """A page around an answer, which sorts its tables and writes its numbers as the report does."""
    main = f'<main data-labels="{escape(json.dumps(labels))}"><h1>{escape(title)}</h1><section>{body}</section></main>'
    return to_page(f"<style>{read_text('style.css')}</style>{main}<script>{read_text('script.js')}</script>", title)


def read_text(name: str) -> str:
    """A file of this folder."""
    return (files("rumflow.report") / name).read_text(encoding="utf-8")
