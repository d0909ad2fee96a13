"""Tables to paste: LaTeX with the rules of booktabs, Markdown, HTML.

Numbers of a column have the same number of decimals, so that they are aligned where they are set to the right. Labels are
escaped: none of them is a command of LaTeX, a tag of HTML or a border of a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from math import floor, isfinite, isnan, log10
from typing import Any, NamedTuple

from rumflow.text import visible

#: Digits of the numbers in a column whose largest number is below 10; fewer decimals for larger ones.
_DECIMALS = 4
_SMALL = 10.0**-_DECIMALS  # columns without a larger number have powers of ten

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "[": r"{[}", "--": r"-{}-",
}  # fmt: skip
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))

#: Headings that are other words than the names of their columns.
HEADINGS = {"pvalue": "p-value", "p_value": "p-value", "loglik": "log-likelihood"}

_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:1.5rem auto;padding:0 1rem;max-width:58rem;overflow-wrap:anywhere}"
    "table{border-collapse:collapse}"
    "th,td{padding:.25rem .75rem;text-align:left;vertical-align:top}td.number,th.number{text-align:right;"
    "font-variant-numeric:tabular-nums}th,td.number{overflow-wrap:normal}"
    "thead th{border-bottom:1px solid}tr:last-child td{border-bottom:1px solid}"
)


class Column(NamedTuple):
    """One column as texts."""

    heading: str
    cells: list[str]
    numeric: bool


def columns_of(table: Mapping[str, Sequence[Any]]) -> list[Column]:
    """The columns of a table as texts: numbers with equal decimals, nothing where there is none; headings in words.

    >>> columns_of({"p_value": [0.25, 12.0, None], "item": ["tea", 3, True]})[0]
    Column(heading='p-value', cells=['0.250', '12.000', ''], numeric=True)
    >>> columns_of({"count": [3.0, 42.0]})[0].cells
    ['3', '42']
    """
    words = {name: HEADINGS.get(name, visible(name).replace("_", " ")) for name in table}
    return [_column(words[name], list(values)) for name, values in table.items()]


def _column(heading: str, values: list[Any]) -> Column:
    known = [value for value in values if not _nothing(value)]
    if not known or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in known):
        return Column(heading, ["" if _nothing(value) else _word(value) for value in values], False)
    if all(isinstance(value, int) for value in known):
        return Column(heading, ["" if _nothing(value) else str(value) for value in values], True)
    most = max((abs(value) for value in known if isfinite(value)), default=0.0)
    if 1 < most < 1e9 and all(value == round(value) for value in known if isfinite(value)):  # counts are held as floats
        return Column(heading, ["" if _nothing(value) else f"{value:.0f}" for value in values], True)
    decimals = max(_DECIMALS - max(floor(log10(most)), 0), 0) if most > 0 else _DECIMALS
    form = ".1e" if 0 < most < _SMALL or most >= 1e9 else f".{decimals}f"
    return Column(heading, ["" if _nothing(value) else f"{value:{form}}" for value in values], True)


def _nothing(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _word(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else visible(value)


def to_latex(table: Mapping[str, Sequence[Any]]) -> str:
    r"""A tabular to paste into a paper.

    >>> print(to_latex({"menu": ["{tea, milk}"], "p_value": [0.031]}))
    % needs \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    menu & p-value \\
    \midrule
    \{tea, milk\} & 0.0310 \\
    \bottomrule
    \end{tabular}
    """
    columns = columns_of(table)
    kinds = "".join("r" if column.numeric else "l" for column in columns)
    cells = [[_latex_number(cell) if c.numeric else latex_text(cell) for cell in c.cells] for c in columns]
    rows = [" & ".join(row) + r" \\" for row in zip(*cells, strict=True)]
    head = " & ".join(latex_text(column.heading) for column in columns) + r" \\"
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{kinds}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def latex_text(text: str) -> str:
    """A text that LaTeX prints as it is."""
    return _SPECIAL.sub(lambda found: _LATEX[found[0]], text)


def _latex_number(text: str) -> str:
    if not text or text == "0.0e+00":
        return text[:1]
    if "inf" in text:
        return rf"${text.replace('inf', '')}\infty$"
    digits, _, power = text.partition("e")
    return rf"${digits} \times 10^{{{int(power)}}}$" if power else (f"${digits}$" if digits.startswith("-") else digits)


def to_markdown(table: Mapping[str, Sequence[Any]]) -> str:
    """A table with pipes, numbers to the right.

    >>> print(to_markdown({"menu": ["a|b"], "share": [0.5]}))
    | menu | share |
    | :--- | ----: |
    | a\\|b | 0.5000 |
    """
    columns = columns_of(table)
    lines = [[_markdown(column.heading) for column in columns], ["----:" if c.numeric else ":---" for c in columns]]
    lines += [list(row) for row in zip(*([_markdown(cell) for cell in c.cells] for c in columns), strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text)


def to_html(table: Mapping[str, Sequence[Any]]) -> str:
    """A table of HTML, complete but for the page around it."""
    columns = columns_of(table)
    kinds = [' class="number"' if column.numeric else "" for column in columns]
    head = "".join(f"<th{kind}>{escape(column.heading)}</th>" for kind, column in zip(kinds, columns, strict=True))
    rows = [
        "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
        for row in zip(*(column.cells for column in columns), strict=True)
    ]
    return "\n".join(["<table>", f"<thead><tr>{head}</tr></thead>", "<tbody>", *rows, "</tbody>", "</table>"])


def to_page(body: str, title: str = "rumflow") -> str:
    """A page around some HTML."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"{body}\n</body>\n</html>\n"
    )
