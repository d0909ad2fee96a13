"""What explanations say: verdicts, tables, frames and plain values."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rumflow as rf
from tests.reference.conflicts import CYCLE
from tests.reference.results import conflict, explanation


def test_the_verdict_on_samples():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), n_boot=39, halves=4, seed=1)
    rejected = "Random utility is rejected (p = 0.025, at most 39 replicates), "
    assert found.verdict == rejected + "and so it is for these menus alone."
    assert (found.rejected, found.halves) == (4, 4)  # it is far beyond chance in half of the choices, too
    twice = replace(found, conflicts=found.conflicts * 2)
    assert twice.verdict == rejected + "and so it is for each of these 2 sets of menus alone."
    cut = replace(found, conflicts=(), interrupted=True)
    assert cut.verdict == rejected + "but the search was interrupted before the menus in conflict were identified."
    unknown = replace(cut, pvalue=None)
    assert unknown.verdict == "The search was interrupted before the data were tested."
    fine = replace(cut, pvalue=0.5)
    assert fine.verdict.startswith("There is no conflict that sampling error could not explain (p = 0.5")


@pytest.mark.parametrize(("named", "rejected", "words"), [
    (0.5, 8, None), (0.75, 8, None), (0.4, 8, "8 of 10 half-samples are rejected, but most of them name other menus"),
    (0.4, 5, "5 of 10 half-samples are rejected, but"), (0.4, 4, "Half of the choices are not enough to see it: only 4 of 10"),
])  # fmt: skip
def test_conflicts_that_half_of_the_choices_do_not_name(named, rejected, words):
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), n_boot=39, halves=0, seed=1)
    influence = found.influence | {"named": [0.1, named, 0.2]}
    notes = " ".join(replace(found, halves=10, rejected=rejected, influence=influence).notes)
    assert ("Treat it as a lead" in notes) == (words is not None)
    assert words is None or words in notes


@pytest.mark.parametrize(("complete", "count", "words"), [
    (True, 1, "It is the only conflict: without any one of its menus the rest fits exactly."),
    (True, 2, "There is no other conflict: without some menu of each the rest fits exactly."),
    (False, 1, "There may be more conflicts than those listed."),
])  # fmt: skip
def test_whether_there_are_more_conflicts(complete, count, words):
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert replace(found, complete=complete, conflicts=found.conflicts * count).notes == [words]


def test_the_table_says_how_much_it_leaves_out():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert found.as_table().note == ""
    long = {name: column * 20 for name, column in found.influence.items()}
    table = replace(found, influence=long).as_table()
    assert table.note == f"{60 - len(table.rows)} more menus in `influence` (in the file of --out)."
    assert 0 < len(table.rows) < 60


def test_large_conflicts_are_cut_in_words():
    # One Block-Marschak polynomial of six items is negative: 16 menus, none of which can be left out.
    inside = rf.Lattice(6).membership
    shares = np.where(inside, 1 / np.maximum(inside.sum(axis=1, keepdims=True), 1), 0.0)
    shares[0b11, :2] += -0.04, 0.04
    found = rf.explain(shares, most=1)
    assert len(found.conflict) == 16
    assert found.conflicts[0].irreducible
    assert all({0, 1} <= set(menu) for menu in found.conflict)
    (menu, item, _, value), *_ = found.conflicts[0].block_marschak
    assert (menu, item) == ((0, 1), 0)
    assert value == pytest.approx(1 / 30 - 0.04)
    assert "and 8 more" in found.inequality.text
    assert "... and 8 more menus" in found.summary()


def test_results_as_frames_and_json():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), n_boot=39, halves=2)
    assert json.loads(json.dumps(found.to_dict()))["conflicts"][0]["pattern"]["name"] == "cycle"
    frame = found.to_frame("dict")
    assert frame["menu"][0] == "{" + ", ".join(found.influence["menu"][0]) + "}"
    assert "cycle" in repr(found)
    assert "not adjusted for the search" in found.summary()


def test_explanations_as_plain_values():
    found = explanation(conflict(terms=((("x",), "x", 1.0, -2.0),)), block_marschak=((("x",), "x", -2.0),))
    own = found.to_dict()
    assert own["block_marschak"] == [{"menu": ["x"], "item": "x", "value": -2.0}]
    assert own["conflicts"][0]["block_marschak"] == [{"menu": ["x"], "item": "x", "multiplier": 1.0, "value": -2.0}]
    assert own["conflicts"][0]["pattern"] is None
    assert own["conflicts"][0]["inequality"]["bound"] == 1.0
    assert own["influence"][1]["menu"] == ["i0", "i1", "i2", "m1"]
    assert explanation(conflict()).to_dict()["block_marschak"] is None
    assert explanation(conflict()).to_dict()["conflicts"][0]["block_marschak"] is None
    frame = found.to_frame("dict")
    assert frame["conflicts"] == ["1, 2", "1, 2"]
    assert frame["menu"][0] == "{i0, i1, i2, m0}"
