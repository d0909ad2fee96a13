"""What a file unpacks to, and that workbooks which would fill the memory are refused."""

import gzip
import zipfile

import pytest

import rumflow as rf
from rumflow.data.packed import unpacks_to_more
from rumflow.data.readers import workbook


def test_how_much_is_packed(tmp_path):
    path = tmp_path / "x"
    for content in (gzip.compress(bytes(5000)), gzip.compress(bytes(10)) + gzip.compress(bytes(4990))):
        path.write_bytes(content)
        assert unpacks_to_more(path, 4999)
        assert not unpacks_to_more(path, 5000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a", bytes(3000))
        file.writestr("b", bytes(2000))
    assert unpacks_to_more(path, 4999)
    assert not unpacks_to_more(path, 5000)


@pytest.mark.parametrize("content", [b"", b"menu,choice\n", b"\x1f\x8bnot packed", b"PK\x03\x04neither"])
def test_what_is_not_packed_holds_nothing(content, tmp_path):
    (tmp_path / "x").write_bytes(content)
    assert not unpacks_to_more(tmp_path / "x", 0)


def test_a_workbook_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "sales.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", bytes(100_000))
    monkeypatch.setattr(workbook, "MOST_BYTES", 99_999)
    with pytest.raises(rf.InputError, match=r"sales\.xlsx holds more than 0 GB"):
        rf.ChoiceData.from_csv(path)
