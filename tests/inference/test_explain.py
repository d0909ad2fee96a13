"""Conflicts among menus: against enumeration, planted ones, the public projection and test."""

import sys
from importlib import import_module
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.data.menus import membership_of
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Subsets, half_samples
from tests.reference.conflicts import CYCLE, choices_of, part_of
from tests.reference.examples import DECOY


def is_rational(data, rows):
    """By a linear programme over all rankings."""
    menus = [data.menus[row] for row in rows]
    shares = np.concatenate([data.frequencies[row][list(data.menus[row])] for row in rows])
    types = choices_of(menus, data.n)
    return linprog(np.zeros(len(types)), A_eq=types.T, b_eq=shares, method="highs").status == 0


@pytest.mark.parametrize("seed", range(12))
def test_all_irreducible_conflicts_against_a_linear_programme_over_all_subsets(seed):
    rng = np.random.default_rng(seed)
    n, m = 4, 6
    masks = np.sort(rng.choice([k for k in range(16) if k.bit_count() >= 2], m, replace=False))
    inside = membership_of(masks, n)
    mixed = rng.dirichlet(np.full(24, 0.3)) @ np.array(
        [[[float(min(np.flatnonzero(row), key=order.index) == x) for x in range(n)] for row in inside]
         for order in permutations(range(n))]
    ).reshape(24, -1)  # fmt: skip
    noise = np.array([np.where(row, rng.exponential(size=n), 0.0) for row in inside])
    shares = 0.8 * mixed.reshape(m, n) + 0.2 * noise / noise.sum(axis=1, keepdims=True)
    data = rf.ChoiceData(tuple(range(n)), inside, np.where(inside, shares, np.nan), np.ones(m))
    conflicts = [
        set(rows) for size in range(1, m + 1) for rows in combinations(range(m), size) if not is_rational(data, rows)
    ]
    irreducible = [rows for rows in conflicts if not any(other < rows for other in conflicts)]
    found = rf.explain(data, most=20)
    named = [{data.menus.index(menu) for menu in one.menus} for one in found.conflicts]
    assert all(rows in irreducible for rows in named)
    assert found.complete
    assert len(named) == len(irreducible)
    assert [len(rows) for rows in named] == sorted(len(rows) for rows in named)


def test_data_that_are_not_rejected_have_no_conflict():
    rational = rf.simulate.random_menus(5, 10, size=3, draws=50, seed=1)
    found = rf.explain(rational, n_boot=39, halves=4)
    assert found.pvalue > 0.05
    assert (found.conflict, found.conflicts, found.pattern, found.inequality) == ((), (), None, None)
    assert "no conflict that sampling error could not explain" in found.summary()
    assert len(found.influence["menu"]) == 10
    assert sum(found.influence["share"]) == pytest.approx(1)
    exact = rf.explain(rf.project(rf.simulate.dirichlet(4, 0)).rho)
    assert exact.conflict == ()
    assert exact.complete
    assert "no conflict" in exact.summary()


def test_influence_without_a_menu_is_that_of_the_other_menus():
    data = rf.ChoiceData.from_matrix(rf.simulate.dirichlet(4, 7))
    found = rf.explain(data)
    for menu, distance in zip(found.influence["menu"], found.influence["distance_without"], strict=True):
        rest = part_of(Subsets(data, None, None).data, set(data.menus) - {menu, *((x,) for x in data.items)})
        assert distance == pytest.approx(rf.project(rest).distance, rel=1e-6)
    assert found.influence["share"] == sorted(found.influence["share"], reverse=True)


def survey(people=60, seed=0):
    """Three choices of each person, from a cycle; one person has a menu for herself."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        for menu, better in ((("a", "b"), "a"), (("b", "c"), "b"), (("a", "c"), "c")):
            other = next(x for x in menu if x != better)
            rows.append((person, ",".join(menu), better if rng.random() < 0.85 else other))
    rows.append((0, "a,d", "d"))
    columns = zip(*rows, strict=True)
    return rf.ChoiceData.from_frame(dict(zip(("subject", "menu", "choice"), map(list, columns), strict=True)))


def test_half_samples_and_tests_by_subject():
    data = survey()
    halves = list(half_samples(data, True, 0, 6))
    sizes = {half.n_observations for half, _ in halves}
    assert sizes <= {90.0, 91.0}
    assert {len(half.totals) for half, _ in halves} == {3, 4}  # the menu of one person is there or not
    found = rf.explain(data, n_boot=39, halves=4, cluster=True)
    assert found.pattern == "cycle"
    assert found.halves == 4
    assert max(found.influence["named"]) > 0.5
    assert "4 half-samples (half of the subjects)" in found.as_table().note
    single = rf.explain(data, n_boot=39, halves=2, cluster=False)
    assert "2 half-samples (half of the choices)" in single.as_table().note


def test_menus_that_were_recorded_in_part():
    table = np.full((8, 3), np.nan)
    table[0b011, 0], table[0b110, 1], table[0b101, 2] = 0.8, 0.8, 0.8
    found = rf.explain(rf.ChoiceData.from_matrix(table))
    assert found.pattern == "cycle"
    assert found.inequality.value == pytest.approx(2.4)
    table[0b111, 1] = 0.1
    more = rf.explain(rf.ChoiceData.from_matrix(table))
    assert found.conflict in [one.menus for one in more.conflicts]
    # Four fifths prefer 2 to 0 and 1 to 2, so three fifths take 1 from all three.
    assert ((0, 2), (1, 2), (0, 1, 2)) in [one.menus for one in more.conflicts]


@pytest.mark.parametrize("level", [None, 0.05])
def test_the_answer_does_not_depend_on_the_number_of_threads(level):
    data = rf.ChoiceData.from_counts(CYCLE | {("a", "b", "d"): {"a": 40, "b": 30, "d": 30}})
    found = [rf.explain(data, level, 59, halves=3, threads=threads).to_dict() for threads in (1, 3)]
    assert found[0] | {"seconds": 0} == found[1] | {"seconds": 0}


def test_thin_ice_is_named():
    few = rf.ChoiceData.from_counts({("a", "b"): {"b": 4}, ("a", "b", "c"): {"a": 4}})
    found = rf.explain(few, n_boot=99, halves=10)
    assert found.conflict
    assert any("few choices" in note for note in found.notes)


def test_interrupts_keep_what_was_found(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    data = rf.ChoiceData.from_counts(CYCLE)
    run = sys.modules["rumflow.inference.explain"]._Stages  # the package has the function under this name
    monkeypatch.setattr(run, "leave_out", stop)
    found = rf.explain(data, n_boot=39)
    assert found.interrupted
    assert len(found.conflict) == 3
    assert found.complete  # the search had ended
    assert "interrupted" in found.summary()
    monkeypatch.setattr(Search, "several", stop)
    with pytest.raises(KeyboardInterrupt):
        rf.explain(data, n_boot=39)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 0.7}, "level=0.7"),
        ({"n_boot": 9}, "take 19 or more"),
        ({"most": 0}, "most=0"),
        ({"halves": -1}, "halves=-1"),
        ({"cluster": "yes"}, "cluster='yes'"),
        ({"cluster": True}, "subject"),
        ({"model": rf.Types([["a", "b", "c"]])}, "type 0 takes 'b' from menu 1"),
        ({"model": rf.Types}, "is a class"),
        ({"model": "logit"}, "a model such as RandomUtility"),
    ],
)
def test_wrong_arguments_are_named(options, words):
    with pytest.raises(rf.InputError, match=words):
        rf.explain(rf.ChoiceData.from_counts(CYCLE), **options)


def test_too_large_graphs_are_refused(monkeypatch):
    pairs = {(x, y): {x: 1, y: 1} for x, y in combinations(range(27), 2) if (x * y + x) % 4 == 0}
    with pytest.raises(rf.InputError, match="route 'bounded'"):
        rf.explain(rf.ChoiceData.from_counts(pairs))


def test_missing_subjects_are_refused():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}, ("a", "b", "c"): {"a": 5, "b": 30, "c": 5}})
    with pytest.raises(rf.InputError, match="no subjects"):
        rf.explain(data, cluster=True)


def test_an_interrupted_search_keeps_its_conflicts(monkeypatch):
    from rumflow.inference.conflicts.search import Search

    data = rf.ChoiceData.from_counts(
        {
            ("a", "b"): {"a": 0.2, "b": 0.8},
            ("a", "b", "c"): {"a": 0.6, "b": 0.2, "c": 0.2},
            ("d", "e"): {"d": 0.2, "e": 0.8},
            ("d", "e", "f"): {"d": 0.6, "e": 0.2, "f": 0.2},
        }
    )
    first, calls = Search.first, []

    def once(self, allowed=None):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return first(self, allowed)

    monkeypatch.setattr(Search, "first", once)
    found = rf.explain(data, None)
    assert found.interrupted
    assert len(found.conflicts) == 1


EXPLAIN = import_module("rumflow.inference.explain")


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
    assert found.n_independent == {("a", "b"): 20.0, ("a", "b", "c"): 20.0}
    assert found.inequality.error is None  # of repeated choices it is not known
    assert found.items == ("a", "b", "c")
    assert not found.interrupted
    assert rf.explain(data, n_boot=39, halves=0, seed=5).pvalue == found.pvalue  # subjects chose several times
    single = rf.explain(data, n_boot=39, halves=0, cluster=False)
    assert not single.by_subject
    assert single.n_independent == {("a", "b"): 40.0, ("a", "b", "c"): 40.0}
    assert single.inequality.error > 0
    weighted = rf.ChoiceData.from_frame(rows | {"weight": [0.5, 1.5] * 40}, weight="weight")
    assert rf.explain(weighted, n_boot=39, halves=0).inequality.error is None
    exact = rf.explain(data, None)
    assert (exact.n_independent, exact.by_subject, exact.n_observations) == ({}, False, None)


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
