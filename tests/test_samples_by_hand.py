"""How choices become slots, and how they are drawn, by hand."""

import numpy as np
import pytest
from hand_examples import FIRST, SECOND

import rumflow as rf
from rumflow.check import check_replicates
from rumflow.data.choices import Rows
from rumflow.inference import resample
from rumflow.inference.convention import Convention
from rumflow.inference.resample import CellSampler, generators, make_sampler
from rumflow.inference.sample import build_sample, inverse_variance

# Choices as slots -------------------------------------------------------------------------------------------------------------


def test_two_groups_as_slots():
    sample = build_sample({"x": FIRST, "y": SECOND}, None, Convention())
    assert sample.items == ("a", "b", "c")
    assert sample.names == ("x", "y")
    assert sample.n_groups == 2
    assert sample.menus.tolist() == [[True, True, False], [False, True, True], [True, True, True]]
    assert sample.unit_group.tolist() == [0, 0, 1, 1]
    assert sample.unit_menu.tolist() == [0, 1, 1, 2]
    assert sample.sizes.tolist() == [4.0, 8.0, 20.0, 10.0]
    assert sample.unit.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert sample.item.tolist() == [0, 1, 1, 2, 1, 2, 1, 2]
    assert sample.frequency.tolist() == [0.25, 0.75, 0.75, 0.25, 0.75, 0.25, 0.2, 0.4]
    assert sample.column.tolist() == [0, 1, 2, 3, 2, 3, 4, 5]
    assert sample.menu_sizes.tolist() == [2.0, 2.0, 2.0, 3.0]
    assert sample.n_observations == 42.0
    assert sample.weights.tolist() == [1.0] * 8
    assert sample.scale == 42.0
    assert sample.centre == pytest.approx([1 / 2] * 4 + [1 / 3] * 2)
    assert [sample.members(u) for u in range(4)] == [("a", "b"), ("b", "c"), ("b", "c"), ("a", "b", "c")]
    assert [sample.menu_name(u) for u in (0, 3)] == ["{a, b} of x", "{a, b, c} of y"]
    assert build_sample(FIRST, None, Convention()).menu_name(1) == "{b, c}"
    assert sample.unweighted_rest.tolist() == [3]
    assert build_sample(FIRST, None, Convention()).unweighted_rest.tolist() == []


def test_cells_of_several_groups_are_pooled():
    sample = build_sample({"x": FIRST, "y": SECOND}, None, Convention())
    p = np.array([sample.frequency, np.linspace(0.0, 0.7, 8)])
    weights = np.array([1.0, 2.0, 3.0, 0.0, 5.0, 0.0, 7.0, 8.0])
    means, spread, total = sample.pool(p, weights)
    assert total.tolist() == [1.0, 2.0, 8.0, 0.0, 7.0, 8.0]
    for row, found, rest in zip(p, means, spread, strict=True):
        middle = (3 * row[2] + 5 * row[4]) / 8
        assert found == pytest.approx([row[0], row[1], middle, 0.0, row[6], row[7]])
        assert rest == pytest.approx(3 * (row[2] - middle) ** 2 + 5 * (row[4] - middle) ** 2)
    alone = build_sample(FIRST, None, Convention())
    means, spread, total = alone.pool(alone.frequency[None], np.array([1.0, 0.0, 3.0, 4.0]))
    assert means.tolist() == [[0.25, 0.0, 0.75, 0.25]]
    assert (spread.tolist(), total.tolist()) == ([0.0], [1.0, 0.0, 3.0, 4.0])


def test_weights_of_slots():
    counts = build_sample({"x": FIRST, "y": SECOND}, "counts", Convention())
    assert counts.weights.tolist() == [4.0, 4.0, 8.0, 8.0, 20.0, 20.0, 10.0, 10.0]
    assert counts.scale == 1.0
    last = build_sample(FIRST, "counts", Convention(cells="drop-last"))
    assert last.weights.tolist() == [4.0, 0.0, 8.0, 0.0]
    by_menu = np.arange(9.0).reshape(3, 3) + 1  # menus of the data: {a}, {a, b}, {b, c}
    assert FIRST.menus == [("a",), ("a", "b"), ("b", "c")]
    assert build_sample(FIRST, by_menu, Convention()).weights.tolist() == [4.0, 5.0, 8.0, 9.0]
    everywhere = np.arange(24.0).reshape(8, 3) * rf.Lattice(3).membership
    assert build_sample(FIRST, everywhere, Convention()).weights.tolist() == [9.0, 10.0, 19.0, 20.0]
    assert build_sample(FIRST, everywhere, Convention()).scale == 12.0
    for wrong in (np.ones((2, 3)), "size"):
        with pytest.raises(rf.InputError, match=r"of shape .*\(8, 3\) or \(3, 3\)"):
            build_sample(FIRST, wrong, Convention())
    with pytest.raises(rf.InputError, match=r"array of shape \(8, 3\) is needed, not \(3, 3\)"):
        build_sample([FIRST, FIRST], np.ones((3, 3)), Convention())
    with pytest.raises(rf.InputError, match="every recorded cell has weight 0"):
        build_sample(FIRST, np.eye(8, 3, -1), Convention())  # {a} and {b} and a menu that was not observed


@pytest.mark.parametrize(
    ("scale", "value"), [(None, 42.0), ("total", 42.0), ("group", 21.0), ("smallest", 4.0), ("mean", 10.5), (3, 3.0)]
)
def test_scales_of_two_groups(scale, value):
    assert build_sample([FIRST, SECOND], None, Convention(scale=scale)).scale == value


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_inverse_variances_by_the_formula(route):
    """One menu fits exactly: N / ((N p + 1) / (N + items)) on its cells; menus of one item have 1."""
    data = rf.ChoiceData.from_counts({("a",): {"a": 9}, ("a", "b"): {"a": 1, "b": 3}})
    found = inverse_variance(data, route=route)
    small = 4 / ((4 * 0.25 + 1) / (4 + 2)), 4 / ((4 * 0.75 + 1) / (4 + 2))
    if route == "graph":
        assert found == pytest.approx(np.array([[1.0, 0.0], small]))
    else:
        assert found == pytest.approx(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], small]))


def test_what_was_not_recorded_is_a_slot_with_inverse_variances():
    """b and c of {a, b, c} were recorded, 0.2 and 0.4 of ten; the rest of 0.4 stands for one item."""
    sample = build_sample(SECOND, "inverse-variance", Convention())
    assert sample.item.tolist() == [0, 1, 0, 1, -1]
    assert sample.unit.tolist() == [0, 0, 1, 1, 1]
    assert sample.frequency == pytest.approx([0.25, 0.75, 0.4, 0.2, 0.4])
    assert sample.unweighted_rest.tolist() == []
    # c falls from 0.25 to 0.4 of the larger menu, which no model has: the fit is the same on both, by sizes 20 and 10.
    p = sample.weights
    sizes, items = np.array([20, 20, 10, 10, 10]), np.array([2, 2, 3, 3, 3])
    fit = (sizes * (sizes + items) / p - 1) / sizes
    assert fit[:2].sum() == pytest.approx(1.0)
    assert fit[2:].sum() == pytest.approx(1.0)
    assert fit[0] == pytest.approx(fit[2])
    without = build_sample(SECOND, "inverse-variance", Convention(), remainders=False)
    assert without.item.tolist() == [0, 1, 0, 1]
    with pytest.raises(rf.InputError, match="which the lattice does not have"):
        build_sample(SECOND, "inverse-variance", Convention(), route="lattice")


def test_sizes_of_groups():
    sample = build_sample({"x": FIRST, "y": SECOND}, None, Convention(), {"x": [1, 2, 3], "y": 7})
    assert sample.sizes.tolist() == [2.0, 3.0, 7.0, 7.0]
    with pytest.raises(rf.InputError, match="group 'y' is missing; there are sizes for 'x'"):
        build_sample({"x": FIRST, "y": SECOND}, None, Convention(), {"x": 1})
    with pytest.raises(rf.InputError, match="there is no group 'z'; accepted are 'x'"):
        build_sample({"x": FIRST}, None, Convention(), {"x": 1, "z": 1})
    for wrong, words in ((0.0, r"\{a\} has 0;"), ([1, 2, np.inf], r"\{b, c\} has inf;"), ([1, 2], r"not shape \(2,\)")):
        with pytest.raises(rf.InputError, match=words):
            build_sample(FIRST, None, Convention(), wrong)


# Draws ------------------------------------------------------------------------------------------------------------------------


def test_choices_are_found_by_their_numbers():
    counts = np.full((2, 3), -1)
    cumulative = np.array([[0.2, 0.5, 2.0], [0.0, 2.0, 2.0]])
    resample._search_choices.py_func(np.array([0.0, 0.2, 0.49, 0.5, 0.0, 0.9]), cumulative, np.array([4, 2]), counts)
    assert counts.tolist() == [[1, 2, 1], [0, 2, 0]]
    observed = np.array([0, 2, 2, 1, 1])  # three choices from the first menu, two from the second
    resample._repeat_choices.py_func(
        np.array([0.0, 0.34, 0.99, 0.0, 0.5]), observed, np.array([0, 3, 5]), np.array([3, 2]), counts
    )
    assert counts.tolist() == [[1, 0, 2], [0, 2, 0]]
    resample._repeat_choices.py_func(np.array([0.32, 0.34]), observed, np.array([0, 3, 5]), np.array([2, 0]), counts)
    assert counts.tolist() == [[1, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("draws", ["null", "empirical"])
@pytest.mark.parametrize("singly", [1 << 16, 11])
def test_draws_use_their_numbers_one_by_one_or_all_at_once(draws, singly, monkeypatch):
    """Twelve choices from two menus; beyond the limit a multinomial per menu takes over."""
    monkeypatch.setattr(resample, "_SINGLY", singly)
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}, ("a", "b", "c"): {"a": 4, "b": 2, "c": 2}})
    sample = build_sample(data, None, Convention(draws=draws))
    centre = np.array([0.4, 0.6, 0.3, 0.3, 0.4])
    found = CellSampler(sample, "menu", draws).draw(generators(5, (7,), range(3)), centre)
    p = centre if draws == "null" else sample.frequency
    for i, row in enumerate(found):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(7, i))))
        if singly == 11:
            counts = rng.multinomial([4, 8], [[p[0], p[1], 0, 0], [p[2], p[3], p[4], 0]])
            expected = np.array([counts[0, 0], counts[0, 1], *counts[1, :3]]) / [4, 4, 8, 8, 8]
        else:
            numbers = rng.random(12)
            small = np.searchsorted(np.cumsum(p[:2]), numbers[:4], side="right")
            large = np.searchsorted(np.cumsum(p[2:]), numbers[4:], side="right")
            if draws == "empirical":
                small = np.repeat([0, 1], [1, 3])[(4 * numbers[:4]).astype(int)]
                large = np.repeat([0, 1, 2], [4, 2, 2])[(8 * numbers[4:]).astype(int)]
            expected = np.concatenate([np.bincount(small, minlength=2) / 4, np.bincount(large, minlength=3) / 8])
        assert row == pytest.approx(expected if draws == "null" else expected - sample.frequency + centre, abs=1e-12)


def test_the_sizes_of_menus_are_drawn_by_row():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}, ("a", "b", "c"): {"a": 4, "b": 2, "c": 2}})
    sample = build_sample([data, data], None, Convention())
    sampler = CellSampler(sample, "row", "null")
    found = sampler._draw_sizes(np.random.default_rng(3))
    rng = np.random.default_rng(3)
    expected = [rng.multinomial(12, [1 / 3, 2 / 3]) for _ in range(2)]
    assert found.tolist() == np.concatenate(expected).tolist()
    assert sampler.behind.tolist() == [4.0, 8.0, 4.0, 8.0]


def test_when_observed_choices_are_listed(monkeypatch):
    whole = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}})
    sample = build_sample(whole, None, Convention(draws="empirical"))
    assert CellSampler(sample, "menu", "empirical")._observed.tolist() == [0, 1, 1, 1]
    assert CellSampler(sample, "menu", "null")._observed is None
    monkeypatch.setattr(resample, "_SINGLY", 4)
    assert CellSampler(sample, "menu", "empirical")._observed is not None
    monkeypatch.setattr(resample, "_SINGLY", 3)
    assert CellSampler(sample, "menu", "empirical")._observed is None
    monkeypatch.undo()
    fractions = build_sample(whole, None, Convention(draws="empirical"), 10)  # 2.5 and 7.5 choices
    assert CellSampler(fractions, "menu", "empirical")._observed is None
    partly = build_sample(SECOND, None, Convention(draws="empirical"))  # the last place is what was not recorded
    assert (
        CellSampler(partly, "menu", "empirical")._observed.tolist() == [0] * 5 + [1] * 15 + [0] * 4 + [1] * 2 + [2] * 4
    )


def test_sizes_that_cannot_be_drawn():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}})
    with pytest.raises(rf.InputError, match=r"menu \{a, b\}: the sample size 4.5 is not a whole number of choices"):
        CellSampler(build_sample(data, None, Convention(), 4.5), "menu", "null")
    with pytest.raises(rf.InputError, match="every menu has sample size 1 but its frequencies are fractions"):
        CellSampler(build_sample(data, None, Convention(), 1), "menu", "null")
    one = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}})
    drawn = CellSampler(build_sample(one, None, Convention()), "menu", "null").draw(
        generators(0, (), range(3)), np.array([1.0, 0.0])
    )
    assert drawn.tolist() == [[1.0, 0.0]] * 3


@pytest.mark.parametrize("number", [0, -1, 10_000_001, True, 2.0, None])
def test_numbers_of_replicates(number):
    with pytest.raises(rf.InputError, match="from 1 to 10,000,000 is needed"):
        check_replicates(number)
    assert check_replicates(np.int64(10_000_000)) == 10_000_000


def test_rows_find_their_slots():
    """Menus {a} (no choice), {a, b} and {b, c}; the last choice of b from {b, c} counts three."""
    menu, choice = np.array([0, 1, 2, 2, 1], np.int32), np.array([0, 1, 2, 1, 0], np.int16)
    weight = np.array([1.0, 0.5, 1.5, 3.0, 2.0])
    member = np.array([[True, False, False], [True, True, False], [False, True, True]])
    counts = np.array([[1.0, np.nan, np.nan], [2.0, 0.5, np.nan], [np.nan, 3.0, 1.5]])
    data = rf.ChoiceData(("a", "b", "c"), member, counts, np.array([1.0, 2.5, 4.5]), Rows(menu, choice, weight, None))
    sample = build_sample(data, None, Convention())
    slot, unit, own, keep = resample._columns(sample, data, 0, data.rows)
    assert keep.tolist() == [False, True, True, True, True]
    assert unit.tolist() == [0, 1, 1, 0]
    assert slot.tolist() == [1, 3, 2, 0]
    assert own.tolist() == [0.5, 1.5, 3.0, 2.0]
    sampler = make_sampler(sample, [data], "menu", None)
    assert sampler.n_units == 4
    assert sampler.behind.tolist() == [2.0, 2.0]
    table = sampler._table.toarray()
    assert table[:, :4].tolist() == [[0, 0.5, 0, 0], [0, 0, 0, 1.5], [0, 0, 3.0, 0], [2.0, 0, 0, 0]]
    assert table[:, 4:].tolist() == [[0.5, 0], [0, 1.5], [0, 3.0], [2.0, 0]]
