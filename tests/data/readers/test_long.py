"""One row for each alternative: 0/1 attributes are no availability, persons are no choices, and what is missing is asked for."""

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData

LONG = {"id": [1, 1, 2, 2, 3, 3], "alt": list("abacbc"), "choice": [1, 0, 0, 1, 1, 0]}
ATTRIBUTES = {"loc": [0, 1, 1, 0, 1, 1], "wk": [1, 1, 0, 0, 1, 0]}
NAMED = {"observation": "id", "alternative": "alt", "choice": "choice"}


def test_attributes_of_0_and_1_are_no_availability():
    data = ChoiceData.from_frame(LONG | ATTRIBUTES)
    assert data.understood.layout == "one row per alternative"
    assert data.menus == [("a", "b"), ("a", "c"), ("b", "c")]
    assert ChoiceData.from_frame(LONG | ATTRIBUTES, **NAMED).equals(data)


def test_available_says_which_alternatives_were_on_offer():
    table = {"id": [1, 1, 1, 2, 2, 2], "alt": list("abcabc"), "choice": [1, 0, 0, 0, 0, 1], "av": [1, 1, 0, 1, 1, 1]}
    data = ChoiceData.from_frame(table)
    assert data.menus == [("a", "b"), ("a", "b", "c")]
    assert data.understood.roles["available"] == ("av",)
    assert ChoiceData.from_frame(table, available=False).menus == [("a", "b", "c")]
    with pytest.raises(
        rf.InputError, match="row 0: alternative 'a' is chosen, but column 'av' says that it was not available"
    ):
        ChoiceData.from_frame(table | {"av": [0, 1, 1, 1, 1, 1]})
    with pytest.raises(rf.InputError, match="is one 0/1 column where each alternative has its row"):
        ChoiceData.from_frame(table | {"more": [1] * 6}, **NAMED, available=["av", "more"])
    with pytest.raises(rf.InputError, match="name a 0/1 column for each item"):
        ChoiceData.from_frame({"choice": ["a", "b"], "a": [1, 1]}, available="a", choice="choice")


def test_persons_and_situations_are_told_apart_by_content():
    table = {"id": [7] * 6, "chid": LONG["id"], "alt": LONG["alt"], "choice": LONG["choice"]}
    assert ChoiceData.from_frame(table).understood.roles["observation"] == "chid"
    # The task starts again with each person: both columns together say which rows are one choice.
    two = {"id": [1] * 4 + [2] * 4, "task": [1, 1, 2, 2] * 2, "alt": list("ab") * 4, "choice": [1, 0, 0, 1] * 2}
    with pytest.raises(rf.InputError, match=r"say observation=\['id', 'task'\] \(--observation\)"):
        ChoiceData.from_frame(two)
    data = ChoiceData.from_frame(two, observation=["id", "task"])
    assert data.n_observations == 4
    assert data.understood.roles["observation"] == ("id", "task")
    three = two | {"wave": [1] * 8}
    assert ChoiceData.from_frame(three, observation=["id", "wave", "task"]).n_observations == 4
    with pytest.raises(rf.InputError, match=r"observation 1 has 2 chosen alternatives; .* if id is a person"):
        ChoiceData.from_frame(two, observation="id", outside_option="none")


def test_what_is_missing_is_asked_for():
    table = {
        "session_id": [1, 1, 2, 2],
        "car": list("abab"),
        "purchase": [1, 0, 0, 1],
        "gender": [1, 1, 0, 0],
        "old": [0, 0, 1, 1],
    }
    with pytest.raises(
        rf.InputError, match=r"one row per alternative; name the column of the alternatives .* it could be car"
    ):
        ChoiceData.from_frame(table)
    with pytest.raises(rf.InputError, match="row 1: column 'id' is empty"):
        ChoiceData.from_frame(LONG | {"id": [1, None, 2, 2, 3, 3]}, **NAMED)
    with pytest.raises(rf.InputError, match="row 2: 2 in column 'choice'; it must be 1 for the alternative chosen"):
        ChoiceData.from_frame(LONG | {"choice": [1, 0, 2, 1, 1, 0]}, **NAMED)
    with pytest.raises(rf.InputError, match="the observation could be column 'id' or 'case'"):
        ChoiceData.from_frame(
            LONG | {"id": [1, 1, 1, 2, 2, 2], "case": [1, 1, 1, 2, 3, 3], "choice": [1, 0, 1, 1, 1, 0]}
        )


def test_the_label_of_the_alternative_taken():
    table = LONG | {"choice": list("aaccbb")}
    assert ChoiceData.from_frame(table).equals(ChoiceData.from_frame(LONG))
    numbers = {"id": [1, 1, 2, 2], "alt": [0, 1, 0, 1], "choice": [1, 0, 0, 1]}
    assert ChoiceData.from_frame(numbers).count.tolist() == [1, 1]
