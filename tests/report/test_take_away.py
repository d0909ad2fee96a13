"""The tables of a page as files."""

import csv

from rumflow.report.answers import Answer
from rumflow.report.render import PageTable
from rumflow.report.take_away import tables_of, write_tables


def table(caption, *labels):
    made = PageTable(caption, ["item", "share"], [False, True])
    for label in labels:
        made.add(label, (0.25, "25.0 %"))
    return made


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_one_table_is_the_file(tmp_path):
    html = Answer("So it is.", tables=[table("Shares", "tea & <b>milk</b>", "=1+2")]).html()
    write_tables(html + "<table><tr><td>theory</td></tr></table>", str(tmp_path / "x"))
    assert rows(tmp_path / "x.csv") == [["item", "share"], ["tea & <b>milk</b>", "25.0 %"], ["'=1+2", "25.0 %"]]
    assert r"tea \& " in (tmp_path / "x.tex").read_text(encoding="utf-8")


def test_several_tables_have_captions(tmp_path):
    html = Answer("So it is.", tables=[table("First", "a"), table("Empty"), table("Second", "b")]).html()
    write_tables(html, str(tmp_path / "x"))
    own = ["item", "share"]
    assert rows(tmp_path / "x.csv") == [["First"], own, ["a", "25.0 %"], [], ["Second"], own, ["b", "25.0 %"]]
    assert (tmp_path / "x.tex").read_text(encoding="utf-8").count(r"\begin{tabular}") == 2


def test_an_answer_without_tables_is_its_sentence():
    (only,) = tables_of(Answer("Nothing is left to ask.").html())
    assert (only.columns, [[cell.text for cell in row] for row in only.rows]) == (
        ["answer"],
        [["Nothing is left to ask."]],
    )
