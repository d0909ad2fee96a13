import datetime
import zipfile

import pytest

import rumflow as rf
from rumflow.data.readers.opening import open_source

openpyxl = pytest.importorskip("openpyxl")


def book(path, *sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for k, rows in enumerate(sheets):
        sheet = made.create_sheet(f"Part {k + 1}")
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


TABLE = [
    ["menu", "item", "count"],
    ["tea;milk", "tea", 3],
    ["tea;milk", "milk", 7.5],
    [None, None, None],
    ["tea", "tea", 2],
]


def test_a_sheet_is_read_as_the_same_table_of_text(tmp_path):
    path = book(tmp_path / "sales.xlsx", [["Our sales"], [], *TABLE])
    (tmp_path / "sales.csv").write_text("\n".join(",".join(map(str, row)) for row in TABLE if row[0]), encoding="utf-8")
    found, same = (rf.ChoiceData.from_csv(tmp_path / f"sales.{ending}") for ending in ("xlsx", "csv"))
    assert found.menus == same.menus
    assert found.counts.tolist()[1] == same.counts.tolist()[1] == [7.5, 3.0]
    with pytest.raises(rf.InputError, match=r"sales\.xlsx, row 5: 'x' in column 'count' is not a number"):
        rf.ChoiceData.from_csv(book(path, [["Our sales"], [], *TABLE[:2], ["tea;milk", "milk", "x"]]))


def test_the_first_sheet_with_a_table_and_cells_of_all_kinds(tmp_path):
    day = datetime.datetime(2025, 3, 1)
    path = book(
        tmp_path / "a.xlsx", [["Notes"]], [["day", "ok", "n"], [day, True, 2.0], [day.date(), None, "1,5"]], TABLE
    )
    source = open_source(path, None, "utf-8")
    assert "sheet Part 2, the first of 2 with a table" in source.name
    columns = next(source.chunks(source.columns)).columns
    assert columns == {"day": ["2025-03-01"] * 2, "ok": ["1", ""], "n": ["2", "1,5"]}


def test_what_is_no_workbook(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as file:
        file.writestr("a.txt", "a")
    with pytest.raises(rf.InputError, match="no Excel workbook"):
        rf.ChoiceData.from_csv(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as file:
        file.writestr("xl/workbook.xml", "<")
    with pytest.raises(rf.InputError, match="not a workbook that can be read"):
        rf.ChoiceData.from_csv(tmp_path / "b.xlsx")
    with pytest.raises(rf.InputError, match="holds no table"):
        rf.ChoiceData.from_csv(book(tmp_path / "c.xlsx", [["menu", "choice"]]))
    with pytest.raises(rf.InputError, match="row 1: column 'x' appears twice"):
        rf.ChoiceData.from_csv(book(tmp_path / "d.xlsx", [["x", "x"], [1, 2]]))
    (tmp_path / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    with pytest.raises(rf.InputError, match="an old Excel file: save it as"):
        rf.ChoiceData.from_csv(tmp_path / "old.xls")
