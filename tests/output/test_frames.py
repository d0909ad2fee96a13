"""Frames of every backend hold the columns they are made of; what is not installed or not known is named."""

import pytest

from rumflow.errors import InputError
from rumflow.output.frames import make_frame, optional

TABLE = {"menu": ["a b", "b c"], "share": [0.25, 0.5]}


@pytest.mark.parametrize("backend", ["dict", "pandas", "polars", "pyarrow"])
def test_columns_come_back(backend):
    if backend != "dict":
        pytest.importorskip(backend)
    frame = make_frame(TABLE, backend)
    assert {name: [getattr(x, "as_py", lambda x=x: x)() for x in frame[name]] for name in TABLE} == TABLE


def test_what_is_not_known_or_not_installed_is_named():
    with pytest.raises(InputError, match=r"backend='excel': accepted are 'pandas', 'polars', 'pyarrow' and 'dict'"):
        make_frame(TABLE, "excel")
    with pytest.raises(InputError, match=r'no_such_package is needed .* pip install "rumflow\[data\]"'):
        optional("no_such_package.part", "data")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_texts_that_no_text_has_are_named(backend):
    pytest.importorskip(backend)
    with pytest.raises(InputError, match=rf"{backend}: the text 'a\\ud800' holds a character that no text has"):
        make_frame({"item": ["tea", "a\ud800"]}, backend)
