"""Data in words, and what could go wrong with them."""

import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.design import cautions, next_steps
from rumflow.data.summary import DataSummary

DECOY = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}


def test_what_data_hold():
    data = rf.ChoiceData.from_counts(DECOY)
    text = data.summary()
    assert text.startswith("3 items, 2 menus, 200 choices (100 a menu)\nItems: a, b, c\n")
    assert "{a, b}         100  b 70.0 %, a 30.0 %" in text
    assert "What could go wrong" not in text
    assert "rf.rum_test(data)" in text
    assert "<table>" in data._repr_html_()
    frame = DataSummary(data).to_frame(backend="dict")
    assert frame["share"] == [0.3, 0.7, 0.5, 0.3, 0.2]
    assert frame["choices"] == [100.0] * 5
    assert sum(frame["count"]) == data.n_observations


def test_how_it_was_read_stands_first():
    table = {
        "who": list("xyxy"),
        "menu": ["a|b"] * 2 + ["a|b|c"] * 2,
        "choice": ["a", "b", "c", "a"],
        "price": [1, 2, 3, 4],
    }
    data = rf.ChoiceData.from_frame(table, subject="who")
    text = data.summary()
    assert text.startswith("How it was read\n")
    assert "not used: price" in text
    assert "2 subjects" in text
    found = DataSummary(data).to_dict()
    assert found["understood"]["roles"]["subject"] == "who"
    assert found["subjects"] == 2
    assert json.loads(json.dumps(found)) == found


def panel(rows, **more):
    menus, choices = ["a|b", "a|b|c"] * rows, ["a", "b"] * rows
    return rf.ChoiceData.from_frame(
        {"menu": menus, "choice": choices, **more}, subject="who" if "who" in more else False
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 9}}), "only one menu of two or more items"),
        (rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 9}, ("c", "d"): {"c": 5, "d": 6}}), "overlap too little"),
        (rf.ChoiceData.from_counts({**DECOY, ("a", "c"): {"a": 1, "c": 2}}), "1 of 3 menus has fewer than 5 choices: {a, c} (3)"),
        (panel(20, who=np.repeat(np.arange(10), 4).tolist()), "10 subjects made 40 choices"),
        (rf.ChoiceData.from_counts({**DECOY, ("c",): {"c": 3}}), "1 menu of one item says nothing."),
        (panel(20), "Never chosen: c. Is that so"),
        (rf.ChoiceData.from_matrix(rf.simulate.dirichlet(3, seed=0), "abc"), "no numbers of choices"),
    ],
)  # fmt: skip
def test_what_could_go_wrong(data, words):
    assert any(words in text for text in cautions(data)), cautions(data)
    assert f"* {next(text for text in cautions(data) if words in text)}" in data.summary()


def test_nothing_goes_wrong_with_sound_data():
    assert cautions(rf.ChoiceData.from_counts(DECOY)) == []


def test_what_to_run_next():
    steps = [step.shell for step in next_steps(panel(20, who=np.repeat(np.arange(10), 4).tolist()))]
    assert "rumflow test FILE" in steps
    assert [step.shell for step in next_steps(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}))] == [
        "rumflow bounds FILE --next"
    ]
    shares = next_steps(rf.ChoiceData.from_matrix(rf.simulate.dirichlet(3, seed=0), "abc"))
    assert not [step for step in shares if "test" in step.shell]
