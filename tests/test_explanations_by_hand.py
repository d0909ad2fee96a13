"""What explanations remember and say, by hand."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.conflicts import inequality
from rumflow.inference.conflicts.result import Conflict, Explanation
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Subsets, _half
from tests.reference.examples import DECOY

EXPLAIN = import_module("rumflow.inference.explain")


# Explanations -----------------------------------------------------------------------------------------------------------------


def test_what_explain_accepts():
    for wrong in (0.0, 0.5, -0.1, "x"):
        with pytest.raises(rf.InputError, match=r"a number between 0 and 0\.5 is needed"):
            rf.explain(DECOY, wrong)
    for options in ({"most": 0}, {"most": True}, {"halves": -1}, {"halves": 1.5}):
        with pytest.raises(rf.InputError, match=r"a whole number, [01] or more, is needed"):
            rf.explain(DECOY, **options)
    with pytest.raises(
        rf.InputError, match=r"n_boot=18: no test of so few replicates rejects at level=0\.05; take 19 or more"
    ):
        rf.explain(DECOY, n_boot=18)
    assert rf.explain(DECOY, 0.05, 19, halves=0).level == 0.05
    assert rf.explain(rf.ChoiceData.from_matrix(rf.simulate.dirichlet(3, 0))).level is None


def test_what_an_explanation_remembers():
    rows = {"menu": ["a,b"] * 40 + ["a,b,c"] * 40, "choice": ["a"] * 4 + ["b"] * 36 + ["a"] * 36 + ["c"] * 4}
    data = rf.ChoiceData.from_frame(rows | {"subject": list(range(20)) * 4})
    found = rf.explain(data, n_boot=39, halves=0, cluster=True, seed=5)
    assert (found.seed, found.n_boot, found.level, found.n_observations) == (5, 39, 0.05, 80.0)
    assert found.by_subject
    assert found.behind == {("a", "b"): 20.0, ("a", "b", "c"): 20.0}
    assert found.inequality.error is None  # of repeated choices it is not known
    assert found.items == ("a", "b", "c")
    assert not found.interrupted
    single = rf.explain(data, n_boot=39, halves=0)
    assert not single.by_subject
    assert single.behind == {("a", "b"): 40.0, ("a", "b", "c"): 40.0}
    assert single.inequality.error > 0
    weighted = rf.ChoiceData.from_frame(rows | {"weight": [0.5, 1.5] * 40}, weight="weight")
    assert rf.explain(weighted, n_boot=39, halves=0).inequality.error is None
    exact = rf.explain(data, None)
    assert (exact.behind, exact.by_subject, exact.n_observations) == ({}, False, None)


def test_menus_that_are_left_out(monkeypatch):
    """Three pairs that go round carry a third of the distance each; a menu by itself carries nothing."""
    cycle = {("a", "b"): {"a": 80, "b": 20}, ("b", "c"): {"b": 80, "c": 20}, ("a", "c"): {"c": 80, "a": 20}}
    data = rf.ChoiceData.from_counts({**cycle, ("d", "e"): {"d": 1, "e": 1}})
    found = rf.explain(data, 0.05, 19, halves=0)
    assert found.influence["share"] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.0], abs=1e-9)
    assert found.influence["menu"][3] == ("d", "e")
    assert found.influence["distance_without"][:3] == pytest.approx([0.0] * 3, abs=1e-6)
    assert found.influence["distance_without"][3] == found.distance
    assert found.influence["pvalue_without"] == [1.0, 1.0, 1.0, None]
    assert found.influence["conflicts"] == [[1], [1], [1], []]
    assert found.influence["choices"] == [100.0, 100.0, 100.0, 2.0]
    assert found.influence["named"] == [None] * 4
    monkeypatch.setattr(EXPLAIN, "MOST_LEFT_OUT", 1)
    fewer = rf.explain(data, None)
    assert [value is None for value in fewer.influence["distance_without"]] == [False, True, True, False]
    assert fewer.influence["pvalue_without"] == [None] * 4
    assert fewer.influence["choices"] == [None] * 4


def test_menus_without_which_something_is_left():
    """Two conflicts that have nothing to do with each other: without a menu of one the other is rejected all the same."""
    counts = {("a", "b"): {"a": 300, "b": 700}, ("a", "b", "c"): {"a": 500, "b": 300, "c": 200}}
    other = {("d", "e"): {"d": 300, "e": 700}, ("d", "e", "f"): {"d": 500, "e": 300, "f": 200}}
    found = rf.explain(rf.ChoiceData.from_counts(counts | other), n_boot=19, halves=0)
    assert found.influence["pvalue_without"] == [0.05] * 4
    assert found.influence["distance_without"] == pytest.approx([found.distance / np.sqrt(2)] * 4)
    assert sorted(map(tuple, found.influence["conflicts"])) == [(1,), (1,), (2,), (2,)]
    alone = rf.ChoiceData.from_counts({("a", "b"): {"a": 80, "b": 20}})
    single = rf.explain(alone, n_boot=19, halves=0, model=rf.RandomUtility([("a", "b")]))
    assert single.influence["distance_without"] == [0.0]  # nothing is left
    assert single.influence["pvalue_without"] == [1.0]


def test_complete_data_have_terms(monkeypatch):
    table = rf.simulate.dirichlet(3, 1)
    assert rf.explain(table).block_marschak is not None
    monkeypatch.setattr(EXPLAIN, "MOST_TERM_ITEMS", 3)
    assert rf.explain(table).block_marschak is not None
    monkeypatch.setattr(EXPLAIN, "MOST_TERM_ITEMS", 2)
    assert rf.explain(table).block_marschak is None


def test_half_of_a_hundred_choices():
    assert _half(np.random.default_rng(0), np.array([60, 41])).sum() == 51


def test_the_search_keeps_only_what_is_needed():
    search = Search(Subsets(DECOY, None, None, 1))
    kept = search.cells((0, 1))
    assert kept.tolist() == [[False, True, False], [True, False, False]]
    assert search.is_irreducible((0, 1))
    assert not search.is_irreducible((0,))
    assert search.first() == (0, 1)
    assert search.first(np.array([1])) is None
    assert search.first(np.array([], np.int64)) is None
    assert search.alone == []
    assert sorted(search._shrink(np.array([0, 1]))) == [0, 1]
    found = search.several(3, [])
    assert (found.menus, found.complete) == ([(0, 1)], True)


# What explanations say --------------------------------------------------------------------------------------------------------


def conflict(menus=2, shares=3, error=0.1, terms=None, pvalue=0.01, irreducible=True):
    items = tuple(f"i{k}" for k in range(max(shares, 2)))
    own = inequality.Inequality({}, 1.0, 1.25, error, (), "This is too much.")
    names = tuple((*items, f"m{k}") for k in range(menus))
    table = tuple({item: (k + 1) / 100 for k, item in enumerate(items)} for _ in range(menus))
    return Conflict(names, (), table, own, None, 0.5, pvalue, irreducible, terms)


def test_lines_of_a_conflict():
    lines = conflict().lines(("x",))
    assert lines[0] == "  {i0, i1, i2, m0}: i2 3.0 %, i1 2.0 %, i0 1.0 %"
    assert lines[-1] == "  This is too much (2.5 standard errors beyond)."
    assert len(lines) == 3
    assert conflict(error=None).lines(())[-1] == conflict(error=0.0).lines(())[-1] == "  This is too much."
    assert conflict(shares=6).lines(())[0].endswith("i0 1.0 %")
    assert conflict(shares=7).lines(())[0].endswith("i1 2.0 %, 1 other")
    assert conflict(shares=8).lines(())[0].endswith("i2 3.0 %, 2 others")
    assert len(conflict(menus=8).lines(())) == 9
    assert conflict(menus=9).lines(())[8] == "  ... and 1 more menus"
    terms = tuple((("x", "y"), "x", float(k), -0.5 * k) for k in (1, 2, 3, 4))
    assert conflict(terms=terms).lines(("x", "y"))[3:] == [
        "  Block-Marschak term: x from {x, y}: -0.5 < 0",
        "  Block-Marschak term: 2 x x from {x, y}: -1 < 0",
        "  Block-Marschak term: 3 x x from {x, y}: -1.5 < 0",
    ]


def explanation(*conflicts, **changes):
    rows = [menu for one in conflicts for menu in one.menus]
    count = len(rows)
    table = {
        "menu": rows,
        "choices": [10.0] * count,
        "share": [0.125] * count,
        "distance_without": [0.25] * count,
        "pvalue_without": [None] * count,
        "named": [None] * count,
        "conflicts": [[1, 2]] * count,
    }
    values = {
        "conflicts": conflicts, "complete": True, "leads": (), "influence": table, "block_marschak": None, "distance": 0.75,
        "pvalue": 0.01, "level": 0.05, "n_boot": 99, "halves": 0, "rejected": 0, "seed": 3, "items": ("x", "y"),
        "n_observations": 30.0, "interrupted": False, "seconds": 1.5,
    }  # fmt: skip
    return Explanation(**values | changes)


def test_heads_of_conflicts():
    found = explanation(conflict(), conflict(menus=1), conflict(irreducible=False, pvalue=None))
    heads = [part.splitlines()[0] for part in found.paragraphs()[1:4]]
    assert heads == [
        "Conflict 1: 2 menus, p = 0.01 by itself; no conflict without any one of them",
        "Conflict 2: one menu, p = 0.01 by itself",
        "Conflict 3: 2 menus; not reduced to the end",
    ]
    assert found.paragraphs()[0].startswith("Which choices are in conflict? (2 items, 5 menus, 30 choices)\n")
    assert len(found.paragraphs()) == 5
    assert len(found.parts()) == 6
    assert len(replace(found, distance=0.0).parts()) == 5
    assert replace(found, level=None).verdict == (
        "No population of utility maximisers has the shares of each of these 3 sets of menus."
    )


def test_notes_on_conflicts():
    one = conflict()
    first, second = one.menus
    found = explanation(one, behind={first: 4.5, second: 5.0}, interrupted=True)
    assert found.notes == [
        "It is the only conflict: without any one of its menus the rest is not rejected at 5 %.",
        "Conflict 1 rests on menus with few choices: {i0, i1, i2, m0} (4.5).",
        "P-values of sets that were searched for are not adjusted for the search.",
        "The run was interrupted: this is what was found by then.",
    ]
    by_subject = replace(found, behind={first: 1.0, second: 2.0}, by_subject=True)
    assert (
        by_subject.notes[1]
        == "Conflict 1 rests on menus with few subjects: {i0, i1, i2, m0} (1), {i0, i1, i2, m1} (2)."
    )
    leads = explanation(leads=((("x", "y"), ("y", "x")),), pvalue=0.5)
    assert leads.notes == [
        "All menus together are not rejected, but these stand out, by more than so many comparisons give by chance: "
        "{x, y} and {y, x}."
    ]
    assert leads.conflict == ()
    assert leads.inequality is leads.pattern is None
    assert repr(leads) == "Explanation(0 conflicts, conflict=(), pattern=None, pvalue=0.5)"


def test_the_table_of_influence():
    found = explanation(conflict(menus=3))
    table = found.as_table()
    assert (
        table.title == "Influence of the menus on the distance, 0.75 with all of them, menus weighted by their choices"
    )
    assert table.columns == ["menu", "choices", "part of distance", "distance without", "in conflict"]
    assert table.rows[0] == ["{i0, i1, i2, m0}", 10, "12.5%", 0.25, "1, 2"]
    assert table.note == ""
    named = {**found.influence, "named": [0.5, None, 0.25], "choices": [10.5, 1.0, 2.0]}
    table = replace(found, influence=named, halves=8, rejected=5).as_table()
    assert [row[1] for row in table.rows] == [10.5, 1, 2]
    assert [row[4] for row in table.rows] == ["50%", None, "25%"]
    assert table.note == (
        "named: in so many of 8 half-samples (half of the choices) the conflict found has this menu; 5 of them were rejected."
    )
    for count, note in ((10, ""), (11, "1 more menus in `influence` (in the file of --out).")):
        table = explanation(conflict(menus=count), level=None).as_table()
        assert (len(table.rows), table.note) == (10, note)
        assert table.title == "Influence of the menus on the distance, 0.75 with all of them"


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
