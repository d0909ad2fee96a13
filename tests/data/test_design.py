"""Which menus can be tested: against an enumeration of everything that could be chosen from them."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.data.design import FEW, cautions, next_steps, note_on_few, people_and_choices, why_untestable

MENUS = [menu for size in (1, 2, 3, 4) for menu in combinations(range(4), size)]


def is_always_rational(menus):
    """Is every choice of one item from each menu that of some ranking?"""
    made = {tuple(min(menu, key=order.index) for menu in menus) for order in permutations(range(4))}
    return set(product(*menus)) == made


def as_menus(menus):
    return Menus.from_table(np.array([[x in menu for x in range(4)] for menu in menus]))[0]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_all_sets_of_menus_of_four_items(count):
    for menus in combinations(MENUS, count):
        assert bool(why_untestable(as_menus(menus))) == is_always_rational(menus), menus


def test_some_sets_of_more_menus(rng):
    for _ in range(200):
        menus = [MENUS[k] for k in sorted(rng.choice(len(MENUS), int(rng.integers(4, 8)), replace=False))]
        assert bool(why_untestable(as_menus(menus))) == is_always_rational(menus), menus


def test_the_sentence_says_why():
    def why(*menus):
        return why_untestable(rf.ChoiceData.from_counts({tuple(m): {m[0]: 3, m[-1]: 2} for m in menus}).offered)

    assert "only one menu" in why("abc")
    assert "only one menu" in why("abc", "d")
    assert "overlap too little" in why("ab", "cd")
    assert "overlap too little" in why("ab", "bc", "cd")
    assert why("ab", "bc", "ca") == ""
    assert why("ab", "abc") == ""
    assert "no menu has two" in why("a")


def test_one_choice_a_menu_is_no_share():
    """Shares have fractions; a menu with one choice has none."""
    choices = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 0}, ("b", "c"): {"b": 1, "c": 0}})
    shares = rf.ChoiceData.from_counts({("a", "b"): {"a": 0.5, "b": 0.5}, ("b", "c"): {"b": 1, "c": 0}})
    assert not any("no numbers of choices" in text for text in cautions(choices))
    assert any("no numbers of choices" in text for text in cautions(shares))


def test_pairs_with_ties_as_an_outcome_are_for_models_that_have_them():
    steps = next_steps(rf.simulate.tied_pairs(4, draws=5, seed=0))
    assert [step.python for step in steps] == [
        f"rf.{name}(data, model=rf.TriangleInequalities())" for name in ("project", "rum_test", "explain")
    ]


def test_a_tie_is_one_choice():
    votes = {"first": ["a", "b"] * 3, "second": ["b", "c"] * 3, "winner": ["a", "tie", "tie", "b", "b", "c"]}
    votes["who"] = ["x", "x", "y", "y", "z", "z"]
    for ties, count in (("half", 6.0), ("outcome", 6.0), ("drop", 4.0)):
        assert people_and_choices([rf.ChoiceData.from_frame(votes, ties=ties, subject="who")]) == (3, count)


def test_few_choices_are_said():
    counts = {("a", "b"): {"a": 10, "b": 15}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    assert note_on_few(rf.ChoiceData.from_counts(counts)).startswith(
        "There are few choices from 1 of 2 menus, the fewest from {a, b}: 25 choices, so that a share may be off by 20 percentage"
    )
    assert 98 / np.sqrt(FEW - 1) > 10 > 98 / np.sqrt(FEW)
    assert note_on_few(rf.ChoiceData.from_counts({("a", "b"): {"a": 50, "b": 50}})) == ""
    assert note_on_few(rf.ChoiceData.from_counts({("a", "b"): {"a": 0.5, "b": 0.5}})) == ""  # how many is not known
