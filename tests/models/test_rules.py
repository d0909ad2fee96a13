"""Rules: types against people who go through items and attributes one by one."""

from itertools import permutations, product

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph import GraphTooLargeError
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.describe import make_model
from rumflow.models.nesting import lies_in
from tests.reference.graphs import random_cells, types_of


def take(cells, choose):
    """The type of somebody who chooses from a list of items."""
    row = []
    for j, members in enumerate(cells.membership):
        row.append(int(cells.column[j, choose(np.flatnonzero(members).tolist())]))
    return tuple(row)


def labels(model, cells):
    """The types as a table, which says nothing of rankings."""
    return [
        [cells.offered.labels_of(j, cells.items)[place] for j, place in enumerate(row)] for row in model.choices(cells)
    ]


def lexicographic(table, order, side, levels):
    def choose(menu):
        for i in order:
            if levels[i] is not None:
                menu = [x for x in menu if side[i] * table[x][i] >= side[i] * levels[i]] or menu
        return max(menu, key=lambda x: [side[i] * table[x][i] for i in order])

    return choose


@pytest.mark.parametrize("partly", [False, True])
def test_lexicographic_types(partly):
    rng = np.random.default_rng(0)
    for seed in range(6):
        cube = np.array(list(product(range(3), repeat=3)))
        table = cube[rng.choice(27, 5, replace=False)].tolist()
        cells = random_cells(rng, 5, 6, partly)
        signs = rng.integers(-1, 2, 3).tolist()
        cutoffs = [[], [1.0, 2.0], [0.5]] if seed % 2 else [[], [], []]
        model = rf.Lexicographic(dict(enumerate(table)), cutoffs, signs)
        people = [
            lexicographic(table, order, side, levels)
            for order in permutations(range(3))
            for side in product(*[(1, -1) if s == 0 else (s,) for s in signs])
            for levels in product(*[c or [None] for c in cutoffs])
        ]
        assert model.count == len(people)
        assert types_of(model.geometry(cells)) == {take(cells, person) for person in people}
        assert types_of(make_model(model.describe()).geometry(cells)) == types_of(model.geometry(cells))
        assert lies_in(rf.Types(labels(model, cells)), rf.RandomUtility(), cells)


def satisficing(order, table, level):
    def choose(menu):
        seen = [x for x in order if x in menu]
        good = [x for x in seen if all(v >= a for v, a in zip(table[x], level, strict=True))]
        return (good or seen[-1:])[0]

    return choose


def test_satisficing_types():
    rng = np.random.default_rng(0)
    for _ in range(6):
        table = rng.integers(0, 3, (5, 2)).tolist()
        orders = [rng.permutation(5).tolist() for _ in range(2)]
        cells = random_cells(rng, 5, 6)
        model = rf.Satisficing(orders, {x: table[x] for x in range(5)})
        levels = product([-1, 0.5, 1.5, 2.5], repeat=2)
        people = [satisficing(order, table, level) for order in orders for level in levels]
        people += [satisficing(orders[1], table, level) for level in product([-1, 0.5, 1.5, 2.5], repeat=2)]
        assert types_of(model.geometry(cells)) == {take(cells, person) for person in people}
        assert types_of(make_model(model.describe()).geometry(cells)) == types_of(model.geometry(cells))
        assert lies_in(rf.Types(labels(model, cells)), rf.RandomUtility(), cells)


def test_the_last_item_is_taken_where_none_is_good_enough():
    cells = Cells([[True, True, False], [True, True, True]], items=("a", "b", "c"))
    model = rf.Satisficing(["a", "b", "c"], {"a": 1, "b": 2, "c": 0})
    assert types_of(model.geometry(cells)) == {(0, 0), (1, 1), (1, 2)}
    assert repr(model) == "Satisficing(3 items, 1 order: 4 types at most)"
    assert model.known_items == ("a", "b", "c")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: rf.Lexicographic({"a": 1}, [[1], [2]]),
            "a list of numbers for each attribute .attribute 0. is needed",
        ),
        (lambda: rf.Lexicographic({"a": 1}, {"x": [1]}), "attribute 'x' is unknown"),
        (lambda: rf.Lexicographic({"a": 1}, [["x"]]), "cutoffs of attribute 0='x': a finite number"),
        (lambda: rf.Satisficing([], {"a": 1}), "at least one item is needed"),
        (lambda: rf.Satisficing(["a", "a"], {"a": 1}), "item 'a' appears twice"),
        (lambda: rf.Satisficing([["a"], ["b"]], {"a": 1, "b": 1}), "is not in all orders"),
        (lambda: rf.Satisficing(["a", "b"], {"a": 1}), "item 'b' has none"),
        (lambda: rf.Satisficing(["a"], {(("a", "b"), "a"): 1}), "not by menu"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_too_many_are_counted_and_items_must_be_known():
    cells = Cells([[True, True]], items=("a", "b"))
    with pytest.raises(
        GraphTooLargeError, match="lexicographic choice: 3,628,800 types on 1 menus, more than can be listed"
    ):
        rf.Lexicographic({"a": range(10), "b": range(1, 11)}).geometry(cells)
    with pytest.raises(InputError, match="order: item 'b' of the data is missing"):
        rf.Satisficing(["a"], {"a": 1}).geometry(cells)
    with pytest.raises(InputError, match=r"items 'a' and 'b' of menu 0 .* have the same attributes"):
        rf.Lexicographic({"a": 1, "b": 1}).geometry(cells)
    assert rf.Lexicographic({"a": 1}).words().people == "people who choose lexicographically"
    assert rf.Satisficing(["a"], {"a": 1}).words().name == "Satisficing"
