from rumflow.data.readers.opening import first_rows, open_source
from rumflow.data.readers.sources import FrameSource, TextSource


def test_text_whatever_its_name(tmp_path):
    (tmp_path / "a.xlsx").write_text("menu,choice\na|b,a\n", encoding="utf-8")
    assert isinstance(open_source(tmp_path / "a.xlsx", None, "utf-8"), TextSource)


def test_first_rows(tmp_path):
    (tmp_path / "a.csv").write_text("menu,choice,x\na|b,a,1\na|c,,2\nb,b,3\n", encoding="utf-8")
    assert first_rows(open_source(tmp_path / "a.csv", None, "utf-8"), 2, 2) == [["a|b", "a"], ["a|c", ""]]
    assert first_rows(FrameSource({"x": [1, None, 2]}), 2, 9) == [[1], [None]]
