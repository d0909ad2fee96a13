"""The tables of an answer as files for spreadsheets and papers: what stands on the page, with its columns and in its words."""

from __future__ import annotations

import csv
import io
from html.parser import HTMLParser

from rumflow.output.files import harmless, write_text
from rumflow.output.markup import latex_text, to_latex
from rumflow.report.render import PageTable


class _Page(HTMLParser):
    """The tables of a piece of a page that can be sorted (those for experts cannot), and its leading sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[PageTable] = []
        self.leads: list[str] = []
        self._text: list[str] | None = None  # of the cell, caption or sentence that is open
        self._row: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kind = dict(attrs).get("class") or ""
        if tag == "table" and "sortable" in kind.split():
            self.tables.append(PageTable("", [], []))
            self._inside = True
        elif (self._inside and tag in ("caption", "th", "td")) or (tag == "p" and "lead" in kind.split()):
            self._text = []
        elif tag == "tr":
            self._row = []

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and tag == "tr" and self._row:
            self.tables[-1].add(*self._row)
        if self._inside and tag == "table":
            self._inside = False
        if self._text is None or tag not in ("caption", "th", "td", "p"):
            return
        text, self._text = " ".join("".join(self._text).split()), None
        if tag == "p":
            self.leads.append(text)
        elif tag == "caption":
            self.tables[-1].caption = text
        elif tag == "th":
            self.tables[-1].columns.append(text)
        else:
            self._row.append(text)


def tables_of(html: str) -> list[PageTable]:
    """The tables of an answer; where it has none, its first sentence as a table."""
    page = _Page()
    page.feed(html)
    found = [table for table in page.tables if table.rows]
    if not found:
        found = [PageTable("", ["answer"], [False])]
        for lead in page.leads[:1]:
            found[0].add(lead)
    return found


def write_tables(html: str, name: str) -> None:
    """The tables of an answer as name.csv and name.tex; where there are several, each below its caption."""
    tables, text = tables_of(html), io.StringIO()
    writer = csv.writer(text)
    for k, table in enumerate(tables):
        if len(tables) > 1:
            writer.writerows([*([[]] if k else []), [harmless(table.caption)]])
        writer.writerow(map(harmless, table.columns))
        writer.writerows([harmless(cell.text) for cell in row] for row in table.rows)
    write_text(text.getvalue(), f"{name}.csv")
    papers = []
    for table in tables:
        columns = {label: [row[k].text for row in table.rows] for k, label in enumerate(table.columns)}
        above = [latex_text(table.caption) + "\n"] if len(tables) > 1 else []
        papers.append("\n".join([*above, to_latex(columns)]))
    write_text("\n\n".join(papers) + "\n", f"{name}.tex")
