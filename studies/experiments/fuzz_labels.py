"""A kind of round for the fuzzer: data with odd labels through every result, in every form, and through every picture.

Words, tables and pictures must hold nothing that a terminal acts on, pictures must draw labels as they are, and files must come
back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rumflow as rf
from rumflow.output import plots

Rng = np.random.Generator

#: Whole labels, and pieces that random ones are made of.
WHOLE = [
    "$5_$9 wine",
    "$\\alpha$",
    "a\nb",
    "\x1b[31mred",
    "\ud800",
    "<script>",
    "50%",
    "#1 & co",
    "{x}",
    "a|b",
    "=1+1",
    "é",
    "שלום",
    " ",
]
PIECES = [
    *"ab$_\\{}&%#^~<>|\"'`*[]-=@+ ",
    "\n",
    "\r",
    "\t",
    "\0",
    "\x1b",
    "\x9b",
    "\u202e",
    "\u2028",
    "\udfff",
    "🍎",
    "e\u0301",
]

_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Unseen(Exception):
    """A text that a terminal would act on, or a label that a picture takes for mathematics."""


def make_labels(rng: Rng, count: int) -> list[str]:
    """Different labels, whole ones or random ones."""
    found: dict[str, None] = {}
    while len(found) < count:
        if rng.random() < 0.5:
            label = WHOLE[int(rng.integers(len(WHOLE)))]
        else:
            label = "".join(PIECES[int(k)] for k in rng.integers(len(PIECES), size=int(rng.integers(1, 12))))
        found[label] = None
    return list(found)


def make_results(rng: Rng) -> Iterator[Any]:
    """Results of data with such labels."""
    labels = make_labels(rng, 4)
    a, b, c, out = labels
    menus = [(a, b), (b, c), (a, c), (a, b, c), (a, b, c, out)]
    data = rf.ChoiceData.from_counts(
        {m: dict(zip(m, rng.integers(1, 60, len(m)).tolist(), strict=True)) for m in menus}
    )
    fit = rf.project(data)
    yield from (fit, fit.rankings, fit.score(data), rf.project_many([data, data]), rf.estimate_cost(data))
    yield from (rf.rum_test(data, 19, seed=0), rf.rum_test_many({a: data, b: data}, 19, seed=0))
    yield from (rf.fit_likelihood(data), rf.rationalizable_share(data), rf.next_menu(data, seed=0))
    yield rf.compare_models(data, {a: None, b: rf.SinglePeaked(labels)})
    yield from (rf.bounds(data, (a, out), n_boot=39, seed=0), rf.diversion(data, a, confidence=None))
    yield from (rf.explain(data, n_boot=19, halves=0, seed=0), rf.best_assortment(data, {a: 1, b: 2, c: 3}, out))


def fuzz_labels(rng: Rng, folder: Path) -> str:
    """Every result, in every form, and its picture."""
    for result in make_results(rng):
        kind = type(result).__name__
        for text in (result.summary(), repr(result), result._repr_html_()):
            if found := _UNSEEN.search(text):
                raise Unseen(f"{kind}: {found[0]!r} in {text[:200]!r}")
        json.dumps(result.to_dict(), allow_nan=False)
        for ending in ("tex", "md", "html", "json", "csv", "parquet"):
            try:
                result.write(folder / f"a.{ending}")
            except rf.InputError:  # texts that have no code
                if ending not in ("csv", "parquet"):
                    raise
        if len(json.loads((folder / "a.json").read_text(encoding="utf-8"))) != len(next(iter(result.table.values()))):
            raise Unseen(f"{kind}: rows are missing in the file")
        if hasattr(result, "plot"):
            look(result.plot(), kind)
        if isinstance(result, rf.Projection):
            for draw in (plots.plot_rankings, plots.plot_lattice):
                look(draw(result), draw.__name__)
    return "drawn and written"


def look(ax: Any, kind: str) -> None:
    """Draw a picture, whose texts must be plain."""
    from matplotlib import pyplot
    from matplotlib.text import Text

    ax.figure.canvas.draw()
    for text in ax.figure.findobj(Text):
        shown = text.get_text()
        if _UNSEEN.search(shown) or (text.get_parse_math() and "$" in shown and "mathdefault" not in shown):
            raise Unseen(f"{kind}: the picture has {shown[:200]!r}")
    pyplot.close(ax.figure)
