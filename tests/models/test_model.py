"""What models say of themselves, what they refuse, and how they name it."""

import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.budgets import Budgets
from rumflow.models.choice_graph import ChoiceGraph
from rumflow.models.describe import make_model
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.types import Types
from tests.reference.graphs import random_cells, types_of


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RandomUtility(above=["ab"]), "'ab' is not a pair"),
        (lambda: RandomUtility(above=[("a", "b", "c")]), "is not a pair"),
        (lambda: RandomUtility(above=[("a", "x")]).geometry(CELLS), "item 'x' is unknown"),
        (lambda: RandomUtility(above=[("a", "b"), ("b", "c"), ("c", "a")]).geometry(CELLS), "cycle among a, b, c"),
        (lambda: SinglePeaked("aba"), "item 'a' appears twice"),
        (lambda: SinglePeaked("ab").geometry(CELLS), "item 'c' of the data is missing"),
        (lambda: SinglePeaked("abcd").geometry(CELLS), "item 'd' is unknown"),
        (lambda: Types(["a"]), "one row per type"),
        (lambda: Types([["a"]]).geometry(CELLS), "2 columns are needed"),
        (
            lambda: Types([["a", "a"]]).geometry(CELLS),
            r"type 0 takes 'a' from menu 1 \{b, c\}, which does not offer it",
        ),
        (lambda: ChoiceGraph(2, []).orders(CELLS, None), "no rankings"),
    ],
)
def test_what_models_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()


CELLS = Cells([[True, True, False], [False, True, True]], items=("a", "b", "c"))


class Extremes(rf.Model):
    """Everybody takes the first item of every menu, or everybody the last: all that a model must say."""

    def geometry(self, cells, limit=None):
        rows = [[cells.items[np.flatnonzero(row)[end]] for row in cells.membership] for end in (0, -1)]
        return Types(rows).geometry(cells)


def test_a_model_needs_only_its_geometry(tmp_path):
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 50, "b": 50}, ("b", "c"): {"b": 50, "c": 50}, ("a", "b", "c"): {"a": 30, "b": 40, "c": 30}}
    )
    model = Extremes()
    ends = {("a", "b"): ["a", "b"], ("b", "c"): ["b", "c"], ("a", "b", "c"): ["a", "c"]}
    same = Types([[ends[menu][end] for menu in data.menus] for end in (0, 1)])
    fit, listed = rf.project(data, model=model), rf.project(data, model=same)
    assert fit.objective == listed.objective
    assert np.array_equal(fit.fitted, listed.fitted, equal_nan=True)
    assert rf.estimate_cost(data, model).nodes == 4
    test = rf.rum_test(data, 39, model=model, seed=0)
    assert test.null_distribution.tolist() == rf.rum_test(data, 39, model=same, seed=0).null_distribution.tolist()
    assert test.pvalue == 1 / 40
    found = rf.explain(data, None, model=model)
    assert found.conflict == (("a", "b", "c"),)  # by itself: nobody takes b
    assert found.verdict == "No population of the model's types has the shares of these menus."
    assert found.inequality.text.startswith("Nobody of the model's types takes b from {a, b, c}")
    assert rf.fit_likelihood(
        rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 1}}), model=model
    ).fitted.tolist() == [pytest.approx([0.75, 0.25])]
    with pytest.raises(InputError, match="user-defined types: these types have no rankings"):
        _ = fit.rankings
    with pytest.raises(InputError, match="for RandomUtility with at most 22 items"):
        _ = fit.rho
    with pytest.raises(InputError, match="user-defined model cannot be saved"):
        fit.save(tmp_path / "fit")
    with pytest.raises(InputError, match="assortments need rankings"):
        rf.best_assortment(data, {"b": 1, "c": 2}, "a", model=model)
    for route in ("lattice", "bounded"):
        with pytest.raises(InputError, match="is projected on a graph"):
            rf.project(data, model=model, route=route)


def test_what_is_no_model_is_told_what_it_needs():
    class Almost:
        def geometry(self, cells, limit=None):
            return Extremes().geometry(cells)

    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 1}})
    for function in (rf.project, rf.estimate_cost, rf.explain, rf.rum_test, rf.fit_likelihood):
        with pytest.raises(InputError, match=r"write class Almost\(rumflow\.Model\)"):
            function(data, model=Almost())
        with pytest.raises(InputError, match="a model such as RandomUtility"):
            function(data, model="random utility")
    with pytest.raises(TypeError, match="abstract"):
        rf.Model()


EVERY = {
    "plain": RandomUtility(),
    "above": RandomUtility([("a", "b"), ("b", "c")]),
    "peaked": SinglePeaked("abc"),
    "types": Types([["a", "a"], ["b", "c"]]),
    "graph": ChoiceGraph(2, [(0, 1, [(0, "a"), (("a", "c"), "a")]), (0, 1, [(0, "b"), (1, "c")])]),
    "budgets": Budgets([[0, -1], [0, 1], [-1, 0], [1, 0]], "abcd"),
}


@pytest.mark.parametrize("kind", EVERY)
def test_descriptions_and_names(kind):
    model = EVERY[kind]
    description = json.loads(json.dumps(model.describe()))
    assert description["name"] == type(model).__name__
    again = make_model(description)
    assert (type(again), again.describe()) == (type(model), description)
    assert (
        model.name
        == {
            "plain": "random utility",
            "above": "random utility with a above b, b above c",
            "peaked": "single-peaked preferences",
            "types": "types given by a table",
            "graph": "types of a graph given by hand",
            "budgets": "rational types on budgets",
        }[kind]
    )


def test_what_models_say_of_their_types():
    facts = {
        kind: (model.all_rankings, model.is_random_utility, model.types_are_rankings, model.single_menus_bind)
        for kind, model in {**EVERY, "own": Extremes()}.items()
    }
    assert facts == {
        "plain": (True, True, True, False),
        "above": (False, True, True, True),
        "peaked": (False, False, True, False),
        "types": (False, False, False, True),
        "graph": (False, False, False, True),
        "budgets": (False, False, False, False),
        "own": (False, False, False, True),
    }
    with pytest.raises(InputError, match="not all rankings that respect known preferences"):
        SinglePeaked("abc").preferences(("a", "b", "c"))


def test_models_without_binding_single_menus_reach_every_share():
    """Where `single_menus_bind` is False every item of a menu is taken by some type."""
    for trial in range(20):
        rng = np.random.default_rng(trial)
        cells = Cells(random_cells(rng, 4, 5, False).membership)
        for model in (RandomUtility(), SinglePeaked(rng.permutation(4).tolist())):
            assert not model.single_menus_bind
            types = np.array(sorted(types_of(model.geometry(cells))))
            assert all(len(np.unique(types[:, j])) == cells.count[j] for j in range(len(cells.count)))


def test_random_utility_equals_itself_in_any_order():
    one, two = RandomUtility([("a", "b"), ("c", "d")]), RandomUtility([("c", "d"), ("a", "b")])
    assert one == two
    assert hash(one) == hash(two)
    assert one != RandomUtility([("a", "b")])
    assert RandomUtility() != SinglePeaked("ab")
    assert RandomUtility() == RandomUtility([])


def test_models_on_some_of_the_menus():
    cells = Cells([[True, True, False], [True, False, True]], None, "abc")
    rows = np.array([1])
    part = cells.part(rows)
    for kind in ("types", "graph"):
        small = EVERY[kind].restrict(cells, rows)
        assert types_of(small.geometry(part)) == {row[1:] for row in types_of(EVERY[kind].geometry(cells))}
    for kind in ("plain", "above", "peaked", "budgets"):
        assert EVERY[kind].restrict(cells, rows) is EVERY[kind]


def test_bounds_where_types_are_not_rankings():
    """Of {a, b, c} only a was recorded. The types take a, b or c from it, and b from {b, c} where it is a or b."""
    inside = np.array([[False, True, True], [True, True, True]])
    counts = np.array([[np.nan, 60, 40], [50, np.nan, np.nan]])
    data = rf.ChoiceData(tuple("abc"), inside, counts, np.full(2, 100.0))
    both = {("b", "c"): ["b", "b", "c"], ("a", "b", "c"): ["a", "b", "c"]}
    model = Types([[both[menu][i] for menu in data.menus] for i in range(3)])
    assert rf.project(data, model=model).distance == pytest.approx(0, abs=1e-9)
    found = rf.bounds(data, ("a", "b", "c"), model=model)
    assert found["b"] == pytest.approx((0.1, 0.1), abs=1e-9)
    assert found["c"] == pytest.approx((0.4, 0.4), abs=1e-9)
