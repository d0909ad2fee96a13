"""Tables in the terminal, with rich and without, and long labels."""

import io
import re

import pytest

from rumflow.output.tables import Table, show
from tests.reference.commands import run


def test_version_and_plain_tables_without_rich(capsys):
    assert run(capsys, "--version")[1].startswith("rumflow ")
    table = Table("Title", ["name", "value"], [["a long name " * 20, 1.5], ["b", None]], "a note")
    lines = table.text(60).splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert lines[0] == "Title"
    assert re.search(r"name a +1\.5000$", lines[3])
    assert lines[4].startswith("  long name a long")
    assert "".join(lines).count("name") == 21  # of the heading and all of the cell
    endless = Table("Title", ["name", "value"], [["x" * 5000, 1.5]]).text(60).splitlines()
    assert len(endless) == 3 + 6
    assert endless[-1].endswith("...")


def test_whole_numbers_have_no_decimals_where_the_whole_column_has_none():
    counts = [31.0, 9.0, None, 0.0]
    table = Table(
        "",
        ["count", "share", "zeros and ones", "lists"],
        [[c, s, z, 7] for c, s, z in zip(counts, [0.5, 2.0, 1.0, 12.0], [0.0, 1.0, 1.0, 0.0], strict=True)],
    )
    assert [line.split() for line in table.text().splitlines()[3:]] == [
        ["31", "0.5000", "0.0000", "7"],
        ["9", "2.0000", "1.0000", "7"],
        ["-", "1.0000", "1.0000", "7"],
        ["0", "12", "0.0000", "7"],
    ]
    lines = Table("", ["part", "time"], [["a", "9.5 s"], ["b", "10.0 s"]]).text().splitlines()
    assert [line[-6:] for line in lines[3:]] == [" 9.5 s", "10.0 s"]


def test_tables_with_rich():
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    show([Table("A [title]", ["name", "value"], [["[b]x", 1.5]], "a note"), "A paragraph [with] brackets."], out)
    for words in ("A [title]", "[b]x", "1.5000", "a note", "A paragraph [with] brackets."):
        assert words in out.getvalue()


def test_long_labels_are_not_cut_in_tables(capsys, tmp_path):
    names = [f"room {k} with a view of the sea and two beds" for k in range(6)]
    path = tmp_path / "rooms.csv"
    menus = [names[:3], names[1:5], names]
    rows = [f"{'|'.join(menu)},{item},{5 + k}" for menu in menus for k, item in enumerate(menu)]
    path.write_text("menu,item,count\n" + "\n".join(rows) + "\n", encoding="utf-8")
    code, text, _ = run(capsys, "bounds", path, "--next", "-q")
    assert code == 0
    rows = re.split(r"\n(?=\{|everything except)", text.split("---\n")[-1].rpartition("\nwidth:")[0])
    told = [" ".join(re.sub(r" +[0-9.]+ +[0-9.]+$", "", row, flags=re.M).split()) for row in rows]
    assert len(told) == len(set(told)) == 10
    assert all(row.startswith(("{", "everything except ")) and "..." not in row for row in told)
