"""Functionals by label say what they mean."""

from itertools import pairwise

import numpy as np
import pytest

import rumflow as rf
from tests.reference.assortments import choices_of
from tests.reference.enumeration import Enumeration, random_data


def prefer(orders, chain):
    place = np.argsort(orders, axis=1)
    return np.all([place[:, a] < place[:, b] for a, b in pairwise(chain)], axis=0).astype(float)


def test_functionals_say_what_they_mean():
    """Each counts, ranking by ranking, the people that it is about."""
    world = Enumeration(random_data(4, 0))
    f, orders = rf.functionals, world.orders
    place = np.argsort(orders, axis=1)
    assert (world.value(f.prefers("a", "c")) == prefer(orders, [0, 2])).all()
    assert (world.value(f.prefers("d", "b", "a")) == prefer(orders, [3, 1, 0])).all()
    best = [np.array(menu)[place[:, menu].argmin(axis=1)] for menu in ([0, 1], [0, 2, 3])]
    better = place[np.arange(len(orders)), best[1]] < place[np.arange(len(orders)), best[0]]
    assert (world.value(f.better_off(("a", "b"), ("a", "c", "d"))) == better).all()
    taken = choices_of(orders, np.array([[True, True, True, False]]))[:, 0]
    assert (world.value(f.revenue(("a", "b", "c"), {"a": 2.0, "c": 5.0})) == np.array([2.0, 0.0, 5.0])[taken]).all()
    before, after = (world.value(f.share(menu, "a")) for menu in (("a", "b"), ("a", "b", "c")))
    assert (world.value(f.change(("a", "b"), ("a", "b", "c"), "a")) == after - before).all()
    assert (world.value(f.change(("b", "c"), ("a", "b", "c"), "a")) == after).all()


def test_functional_errors():
    f = rf.functionals
    for call, message in [
        (lambda: f.share(("a", "b"), "c"), "not in the menu"),
        (lambda: f.share("ab", "a"), "a list of items is needed"),
        (lambda: f.change(("a",), ("b",), "c"), "neither in"),
        (lambda: f.prefers("a", "a"), r"prefers\('a', 'a'\): the items must differ"),
        (lambda: f.prefers("a", "b", "a"), "must differ"),
        (lambda: f.better_off(("a", "b"), ("a",)), "has nothing"),
    ]:
        with pytest.raises(rf.InputError, match=message):
            call()
