"""Which menus can be tested: against an enumeration of everything that could be chosen from them."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.data.design import why_untestable

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
