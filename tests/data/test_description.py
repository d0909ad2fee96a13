"""Every data set says what it is, whom to cite and what is allowed."""

import re
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.data.datasets import _SETS, fetched

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.mark.parametrize("name", rf.datasets.list())
def test_descriptions(name):
    description = _SETS[name][1]
    assert description.name == name
    assert re.fullmatch(r"[A-Z][^.]*", description.title)
    assert description.text.endswith((".", ")"))
    assert description.citation
    assert description.licence
    text = str(description)
    assert text.startswith(f"{description.title} ({name})\n")
    assert f"Licence: {description.licence}" in text
    assert ("From: " in text) is bool(description.address)


def test_descriptions_stay_with_the_data():
    data = rf.datasets.load("decoy")
    assert data.replace(items=("x", "y", "z")).description is data.description
    assert rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}).description is None
    assert rf.datasets.load("households").description.title == "Households at four prices"


def test_unknown_names():
    with pytest.raises(rf.InputError, match="there is no data set 'x'; there are tversky_1969, tversky_1972"):
        rf.datasets.load("x")


def test_all_are_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    for name in rf.datasets.list():
        assert f"`{name}`" in page
        assert _SETS[name][1].title in page
        assert f'load("{name}")' in page


LINES = re.findall(r"\| `(rf\..*?)` \|", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("line", LINES, ids=[re.search(r'load\("(\w+)"', line)[1] for line in LINES])
def test_the_one_line_of_each(line, request):
    if (name := re.search(r'load\("(\w+)"', line)[1]) in fetched.SETS:
        request.getfixturevalue("data_folder")
    quick = line.replace("seed=0", "seed=0, n_boot=39").replace("n_boot=99, ", "")
    assert isinstance(eval(quick, {"rf": rf}), str), name
