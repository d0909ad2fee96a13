"""Persons with several choices are pointed out, with both ways to go; those that are called subjects are used."""

import pytest

import rumflow as rf

MENUS, PICKS = ["a|b", "a|b", "b|c", "b|c"] * 5, ["a", "b", "b", "c"] * 5
TABLE = {"menu": MENUS, "choice": PICKS}


@pytest.mark.parametrize("name", ["id", "ID", "hhid", "panelist", "consumer_id", "Resp.ID", "worker_id"])
def test_persons_are_pointed_out(name):
    table = TABLE | {name: [k // 4 for k in range(20)]}
    data = rf.ChoiceData.from_frame(table)
    assert data.rows.subject is None
    note = f"column {name!r} looks like persons with several choices each; subject={name!r} (--subject {name})"
    assert any(note in text and "subject=False (--subject no)" in text for text in data.understood.warnings)
    assert rf.ChoiceData.from_frame(table, subject=False).understood.warnings == ()
    named = rf.ChoiceData.from_frame(table, subject=name)
    assert len(named.rows.subjects) == 5
    assert named.understood.warnings == ()
    each = TABLE | {name: list(range(20))}
    assert rf.ChoiceData.from_frame(each).understood.warnings == ()


@pytest.mark.parametrize("name", ["subject", "person", "respondent_id", "participant"])
def test_subjects_without_doubt_are_used_unless_guessing_is_off(name):
    table = TABLE | {name: [k // 4 for k in range(20)]}
    assert len(rf.ChoiceData.from_frame(table).rows.subjects) == 5
    named = rf.ChoiceData.from_frame(table, menu="menu", choice="choice")
    assert named.rows.subject is None
    assert f"column {name!r} looks like persons" in str(named.understood)
    two = rf.ChoiceData.from_frame(table | {"household": [k // 10 for k in range(20)]})
    assert (two.rows.subject is not None) == (name == "subject")


def test_a_person_may_tell_choices_apart_together_with_a_task():
    table = {"person": [], "task": [], "id": [], "alt": [], "choice": []}
    for k in range(24):  # six persons, two tasks each, two alternatives; the id differs within a choice
        for name, value in zip(table, (k // 4, k // 2 % 2, k % 2, "ab"[k % 2], int(k % 2 == k // 4 % 2)), strict=True):
            table[name].append(value)
    data = rf.ChoiceData.from_frame(table, observation=["person", "task"], alternative="alt", choice="choice")
    assert data.n_observations == 12
    (note,) = data.understood.warnings
    assert "column 'person' looks like persons with several choices each; subject='person'" in note
    named = rf.ChoiceData.from_frame(
        table, observation=["person", "task"], alternative="alt", choice="choice", subject="person"
    )
    assert len(named.rows.subjects) == 6
