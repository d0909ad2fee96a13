from rumflow.data.readers.opening import open_source
from rumflow.data.readers.sources import TextSource


def test_text_whatever_its_name(tmp_path):
    (tmp_path / "a.xlsx").write_text("menu,choice\na|b,a\n")
    assert isinstance(open_source(tmp_path / "a.xlsx", None, "utf-8"), TextSource)
