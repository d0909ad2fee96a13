import pytest

import rumflow as rf
from rumflow.app.questions import BY_NAME, QUESTIONS, Asked


@pytest.fixture
def data():
    return rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})


def plan(name, values, data):
    question = BY_NAME[name]
    return question.plan(Asked(question.fields, values, data))


def test_every_field_has_a_sentence():
    for question in QUESTIONS:
        assert question.text.endswith(".") or question.text.endswith("?")
        for field in question.fields:
            assert field.text.endswith("."), field


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("chance", {"n_boot": 0}, "n_boot"),
        ("chance", {"n_boot": 2.5}, "n_boot"),
        ("chance", {"n_boot": "many"}, "n_boot"),
        ("chance", {"cluster": "x"}, "cluster='x': accepted are auto, False"),
        ("predict", {"menu": [0]}, "menu: tick two"),
        ("predict", {"menu": [0, 7]}, "menu: there is no item number 7"),
        ("predict", {"menu": ["../x", 0]}, "menu: there is no item number"),
        ("leave", {}, "item: say which"),
        ("assort", {"revenue": {"0": "x"}}, "'x' is not a number; write it as 2.19 or 2,19"),
        ("assort", {"revenue": {"0": "2,190"}}, "may be thousands or decimals"),
        ("assort", {"revenue": {"0": "nan"}}, "is not a number"),
        ("assort", {"revenue": {"0": "2,19"}, "outside_option": 2}, "nothing is typed in for"),
        ("assort", {"revenue": {"0": 1}}, "outside_option: say which"),
        ("models", {"above": 1}, "below: choose two"),
    ],
)
def test_values_that_are_refused(name, values, words, data):
    with pytest.raises(rf.InputError, match=words.replace("(", "\\(")):
        plan(name, values, data)


def test_one_description_gives_call_and_command(data):
    found = plan("leave", {"item": 1, "menu": [0, 1, 2], "confidence": 0.9}, data)
    assert found.call.text == "rf.diversion(data, 'b', ['a', 'b', 'c'], confidence=0.9, seed=0)"
    assert found.commands == [["bounds", "--remove", "b", "--for", "a,b,c", "--confidence", "0.9", "--seed", "0"]]
    found = plan("chance", {"n_boot": 19, "cluster": False}, data)
    assert found.call.text == "rf.rum_test(data, n_boot=19, cluster=False, seed=0)"
    assert found.commands == [["test", "--n-boot", "19", "--no-cluster", "--seed", "0"]]
    assert found.projections == 20


def test_no_command_where_labels_cannot_be_named(data):
    odd = rf.ChoiceData(("a, b", "b", "c"), data.membership, data.counts, data.totals)
    found = plan("predict", {"menu": [0, 1]}, odd)
    assert found.commands == []
    assert "'a, b'" in found.unsaid
    assert found.call.args[1] == ["a, b", "b"]


def test_what_cannot_be_asked(data):
    shares = rf.ChoiceData(data.items, data.membership, data.frequencies, data.totals / data.totals)
    assert "not known" in BY_NAME["chance"].needs(shares)
    assert BY_NAME["chance"].needs(data) == ""
    assert "no groups" in BY_NAME["groups"].needs(data)
