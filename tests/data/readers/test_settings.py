"""One table of what can be said about a file, for commands and for the page."""

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.cli.arguments import add_data
from rumflow.data.readers.settings import (
    SETTINGS,
    check_choice,
    join_labels,
    options_from,
    split_codes,
    split_labels,
    split_menus,
)


def test_every_setting_is_an_option_of_commands():
    parser = argparse.ArgumentParser()
    add_data(parser)
    by_name = {action.dest: action for action in parser._actions}
    for one in SETTINGS:
        action = by_name[one.name]
        assert action.help.startswith(one.help)
        assert one.text.endswith(".")
        if one.choices and one.name not in ("encoding", "clean"):
            assert [one.read(text) for text in action.choices] == [own for own, _ in one.choices if own is not None]


def test_settings_are_read_from_texts():
    by_name = {one.name: one for one in SETTINGS}
    assert by_name["base"].read("1") == 1
    assert by_name["base"].read("label") == "label"
    assert by_name["outside_option"].read("nothing") == "nothing"
    assert by_name["missing"].read("9, NA,") == ["9", "NA", ""]
    assert (by_name["ties"].kind, by_name["items"].kind) == ("choice", "text")


def test_texts_are_split():
    assert split_labels("a, b,,c ") == ["a", "b", "c"]
    assert split_codes("") == [""]
    assert split_menus("all") == "all"
    assert split_menus("a,b") == [["a", "b"]]


def test_only_what_is_offered_is_accepted():
    choices = ((None, "no"), (0, "zero"), (True, "yes"))
    assert check_choice("x", 0, choices) == 0
    for bad in (False, 1, "no", 0.0):
        with pytest.raises(rf.InputError, match="accepted are None, 0, True"):
            check_choice("x", bad, choices)


def test_menus_in_words_of_a_command(tmp_path, capsys):
    from rumflow.cli.main import main

    (tmp_path / "x.csv").write_text("x1,x2\n1,a\n1,b\n2,a\n2,c\n", encoding="utf-8")
    words = ["read", str(tmp_path / "x.csv"), "--menu", "x1", "--choice", "x2", "--menus", "a,b; a,b,c", "--json"]
    assert main(words) == 0
    assert '"menus": 2' in capsys.readouterr().out


def test_what_is_filled_in():
    given = {
        "menu": ["a"],
        "choice": "",
        "subject": False,
        "nonsense": 1,
        "ties": "half",
        "missing": "9, NA",
        "menus": "",
    }
    assert options_from(given) == {"menu": "a", "subject": False, "ties": "half", "missing": ["9", "NA"]}
    assert options_from({"menu": {"x": 1}, "choice": 3, "group": True}) == {}
    assert options_from({"menus": "a,b; a", "items": "a, b"}) == {"menus": [["a", "b"], ["a"]], "items": ["a", "b"]}
    for bad in ({"ties": "/etc/passwd"}, {"encoding": "rot13"}):
        with pytest.raises(rf.InputError, match="accepted are"):
            options_from(bad)


@given(st.lists(st.text(), max_size=5))
def test_lists_of_labels_there_and_back(labels):
    wanted = [label for label in labels if label]
    assert split_labels(join_labels(wanted)) == wanted


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("tea, milk,", ["tea", "milk"]),
        ('"tea" hot,milk', ['"tea" hot', "milk"]),
        ('"tea,milk', ['"tea', "milk"]),
        ("", []),
    ],
)
def test_quotes_that_are_not_around_a_label_are_part_of_it(text, labels):
    assert split_labels(text) == labels
