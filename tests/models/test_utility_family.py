"""Families with one parameter: thresholds are solved for, so a coarse grid has all types that a fine one has."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.errors import InputError
from rumflow.models.describe import make_model
from tests.reference.graphs import random_cells, types_of

CELLS = Cells([[True, True, False], [False, True, True], [True, True, True]], items=("a", "b", "c"))


def fine_types(model, cells, grid):
    """What the parameters of a fine grid take, one by one."""
    found = set()
    for t in grid:
        values = model.function(t)
        row = []
        for j, members in enumerate(cells.membership):
            best = max(np.flatnonzero(members), key=lambda x: values[cells.items[x]])
            row.append(int(cells.column[j, best]))
        found.add(tuple(row))
    return found


@pytest.mark.parametrize("kind", ["crra", "cara", "exponential"])
def test_a_coarse_grid_finds_what_a_fine_one_finds(kind):
    rng = np.random.default_rng(1)
    for _ in range(3):
        p, amounts = rng.uniform(0.1, 0.9, 6), rng.uniform(1, 10, (6, 2))
        if kind == "exponential":
            items = {x: [(rng.integers(0, 4), amounts[x, 0]), (rng.integers(4, 9), amounts[x, 1])] for x in range(6)}
            grid = np.linspace(0.05, 1, 12)
        else:
            items = {x: [(p[x], amounts[x, 0]), (1 - p[x], amounts[x, 1])] for x in range(6)}
            grid = np.linspace(-2, 4, 12) / (1 if kind == "crra" else 5)
        cells = random_cells(rng, 6, 6)
        model = getattr(rf.UtilityFamily, kind)(items, grid)
        found = types_of(model.geometry(cells))
        fine = fine_types(model, cells, np.linspace(grid[0], grid[-1], 3000))
        assert fine <= found
        assert len(found) <= len(fine) + 2  # very short intervals


def test_a_third_item_between_two_points_is_found():
    model = rf.UtilityFamily(lambda t: {"a": -t, "b": -0.4 - 0.1 * t, "c": t - 1.0}, [0.0, 1.0])
    assert types_of(model.geometry(CELLS)) == {(0, 0, 0), (1, 0, 1), (1, 1, 2)}
    assert model.of_rankings
    assert model.known_items == ("a", "b", "c")


def test_thresholds_at_the_same_value_leave_nobody_between():
    model = rf.UtilityFamily(lambda t: {"a": 1 - t, "b": t, "c": -5.0 + 11 * t}, [0.0, 0.3, 1.0])
    assert types_of(model.geometry(CELLS)) == {(0, 0, 0), (1, 1, 2)}


def test_a_tie_at_a_point_of_the_grid_is_no_matter():
    model = rf.UtilityFamily(lambda t: {"a": 1 - t, "b": t, "c": -5.0}, [0.0, 0.5, 1.0])
    assert types_of(model.geometry(CELLS)) == {(0, 0, 0), (1, 0, 1)}


def test_utilities_by_menu():
    def function(t):
        return {(("a", "b"), "a"): t, (("a", "b"), "b"): 0.5, "b": 1.0, "c": 4 * t, (("a", "b", "c"), "a"): 9.0}

    model = rf.UtilityFamily(function, [0.0, 1.0])
    assert not model.of_rankings
    assert types_of(model.geometry(CELLS)) == {(1, 0, 0), (1, 1, 0), (0, 1, 0)}


def test_several_parameters_are_draws():
    draws = np.random.default_rng(0).normal(size=(50, 3))
    model = rf.UtilityFamily(lambda b: dict(zip("abc", b, strict=True)), draws)
    assert types_of(model.geometry(CELLS)) == types_of(rf.Types.from_utilities(draws, "abc").geometry(CELLS))
    assert repr(model) == "UtilityFamily(<lambda>, grid of 50 draws of 3 parameters)"
    now = rf.UtilityFamily.quasi_hyperbolic({"a": [(0, 10)], "b": [(1, 12)], "c": [(2, 13)]})
    assert types_of(now.geometry(CELLS)) == {(0, 0, 0), (1, 0, 1), (1, 1, 2), (0, 1, 0), (0, 1, 2)}


def test_ready_families_are_written_and_read():
    for model in (
        rf.UtilityFamily.crra({"a": [(1, 3)], "b": [(0.5, 1), (0.5, 6)], "c": [(0.9, 2), (0.1, 20)]}),
        rf.UtilityFamily.exponential({"a": [(0, 3)], "b": [(1, 4)], "c": [(5, 9)]}),
    ):
        again = make_model(model.describe())
        assert repr(again) == repr(model)
        assert types_of(again.geometry(CELLS)) == types_of(model.geometry(CELLS))
    with pytest.raises(InputError, match="a function of your own cannot be saved"):
        rf.UtilityFamily(lambda t: {"a": t}, [0, 1]).describe()


@pytest.mark.parametrize(
    ("function", "grid", "words"),
    [
        (3, [0, 1], "a function of the parameter is needed, not int"),
        (dict, None, "the values of the parameter are needed"),
        (dict, [1, 0], "two values or more in ascending order"),
        (dict, [1], "two values or more in ascending order"),
        (dict, [], "numbers in order, or draws as rows, are needed"),
        (dict, [0, np.inf], "numbers in order"),
    ],
)
def test_wrong_arguments(function, grid, words):
    with pytest.raises(InputError, match=words):
        rf.UtilityFamily(function, grid)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda t: [t], "{item: utility} is needed for a parameter, not list"),
        (lambda t: {"a": t, "b": 1}, r"item 'c' of menu 1 {b, c} has no utility for parameter 0"),
        (lambda t: {"a": t, "b": 0.5, "c": np.inf}, "the utility of item 'c' is not finite for parameter 0"),
        (
            lambda t: {"a": t, "b": 1.5, "c": 1.5},
            r"items 'b' and 'c' of menu 1 {b, c} are equally good for more than single",
        ),
    ],
)
def test_what_the_function_does_not_say_is_named(function, words):
    with pytest.raises(InputError, match=words):
        rf.UtilityFamily(function, [0, 1]).geometry(CELLS)
