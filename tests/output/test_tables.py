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
    path.write_text("menu,item,count\n" + "\n".join(rows) + "\n")
    code, text, _ = run(capsys, "bounds", path, "--next", "-q")
    assert code == 0
    rows = re.split(r"\n(?=\{|everything except)", text.split("---\n")[-1].rpartition("\nwidth:")[0])
    told = [" ".join(re.sub(r" +[0-9.]+ +[0-9.]+$", "", row, flags=re.M).split()) for row in rows]
    assert len(told) == len(set(told)) == 10
    assert all(row.startswith(("{", "everything except ")) and "..." not in row for row in told)
