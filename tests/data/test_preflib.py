"""Files of orders from preflib.org: written by hand in their layouts, old and new."""

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.data.preflib import read_preflib
from tests.reference.commands import run

NEW = """# FILE NAME: drinks.toi
# TITLE: Drinks
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 8
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: milk, warm
# ALTERNATIVE NAME 3: juice
5: 1,2,3
2: {1, 3},2
1: 2
"""
OLD = "3\n1,tea\n2,milk, warm\n3,juice\n8,8,3\n5,1,2,3\n2,{1,3},2\n1,2\n"
ORDERS = [["tea", "milk, warm", "juice"], [["tea", "juice"], "milk, warm"], ["milk, warm"]]
ITEMS = ["tea", "milk, warm", "juice"]


def write(folder, text, ending="toi"):
    path = folder / f"drinks.{ending}"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [NEW, OLD], ids=["new", "old"])
@pytest.mark.parametrize("read", [ChoiceData.from_preflib, ChoiceData.from_csv], ids=["from_preflib", "from_csv"])
def test_the_same_as_the_rankings(tmp_path, text, read):
    for options in ({}, {"ties": "half"}, {"ties": "drop", "menus": "all"}, {"unranked": "not offered"}):
        want = ChoiceData.from_rankings(ORDERS, items=ITEMS, counts=[5, 2, 1], **options)
        assert read(write(tmp_path, text), **options).equals(want)


@pytest.mark.parametrize("ending", ["soc", "SOI", "toc"])
def test_endings(tmp_path, ending):
    path = write(tmp_path, NEW.replace("VOTERS: 8", "VOTERS: 5").split("2: {", maxsplit=1)[0], ending)
    data = ChoiceData.from_csv(str(path))
    assert data.totals.tolist() == [5.0, 5.0, 5.0]
    assert str(data.understood).startswith(f"{path}: 5 rankings, each one subject")


def test_equal_names_are_numbers(tmp_path):
    assert read_preflib(write(tmp_path, NEW.replace("juice", "tea"))).items == [1, 2, 3]


BROKEN = [
    ("", "is empty"),
    ("tea,milk\n", "line 1: 'tea,milk': a file of orders begins with"),
    ("3\n1,tea\n2,milk\n", "begins with lines '# ...' or with the number of items"),
    ("2\ntea\n2,milk\n1,1,1\n1,1,2\n", "line 2: 'tea': the number of an item and its name are needed"),
    (NEW.split("5:", maxsplit=1)[0], "there are no orders"),
    (NEW + "x: 1,2\n", "line 13: 'x: 1,2' is not a number of people and their order"),
    (NEW + "0: 1,2\n", "line 13: '0: 1,2' is not"),
    (NEW + "1: {1,2\n", "line 13: '1: {1,2' is not"),
    (NEW + "1: 1,4\n", "line 13: item '4' is unknown: the items are numbered 1 to 3"),
    (NEW + "1: 1,1\n", "ranking 3: item 'tea' appears twice"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_broken_files(tmp_path, text, message):
    with pytest.raises(rf.InputError) as fault:
        ChoiceData.from_preflib(write(tmp_path, text))
    assert message in str(fault.value)


def test_encodings_and_options(tmp_path):
    path = tmp_path / "x.soc"
    path.write_bytes(NEW.replace("tea", "th\xe9").split("2: {")[0].encode("latin-1"))
    with pytest.raises(rf.InputError, match="latin-1"):
        ChoiceData.from_preflib(path)
    assert "th\xe9" in ChoiceData.from_csv(path, encoding="latin-1").items
    with pytest.raises(
        rf.InputError, match="count= is not an option for files of orders; accepted are menus, ties, unranked"
    ):
        ChoiceData.from_preflib(path, encoding="latin-1", count="n")
    with pytest.raises(rf.InputError, match="no such file"):
        ChoiceData.from_preflib(tmp_path / "none.soc")


def test_the_command(tmp_path, capsys):
    code, _, said = run(capsys, "project", write(tmp_path, NEW), "--ties", "half", "--menus", "all")
    assert code == 0, said
    assert "8 rankings, each one subject" in said


def test_voters_that_are_not_there(tmp_path):
    path = write(tmp_path, NEW.replace("VOTERS: 8", "VOTERS: 9"))
    with pytest.warns(UserWarning, match="NUMBER VOTERS is 9, but the orders are those of 8"):
        data = ChoiceData.from_preflib(path)
    assert "NUMBER VOTERS is 9" in str(data.understood)
    assert ChoiceData.from_preflib(write(tmp_path, NEW)).understood.warnings == ()


def test_menus_by_place_and_a_header_in_a_text_file(tmp_path):
    want = ChoiceData.from_preflib(write(tmp_path, NEW), menus="all", ties="half")
    assert ChoiceData.from_preflib(write(tmp_path, NEW), "all", ties="half").equals(want)
    assert ChoiceData.from_csv(write(tmp_path, NEW, "txt"), menus="all", ties="half").equals(want)
    plain = write(tmp_path, "menu,choice\na|b,a\n", "txt")
    assert ChoiceData.from_csv(plain).n_observations == 1


def test_unknown_menus_name_those_of_orders(capsys, tmp_path):
    code, _, err = run(capsys, "read", write(tmp_path, NEW), "--menus", "triples")
    assert code == 1
    assert "for files of orders pairs and all are accepted as well" in err
