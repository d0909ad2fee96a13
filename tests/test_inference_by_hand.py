"""Parts of `inference` by hand: how choices become slots, how they are drawn, and how menus are searched."""

from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.graph_cells import Cells
from rumflow.core.paths import paths_from_orders
from rumflow.data.choices import Rows
from rumflow.inference import assortment_search, jobs, resample
from rumflow.inference.assortment_search import Limits, Space, Types, choose_item, search, search_mixture
from rumflow.inference.convention import Convention
from rumflow.inference.next_menu import _candidates
from rumflow.inference.places import find_place
from rumflow.inference.resample import CellSampler, generators, make_sampler
from rumflow.inference.sample import build_sample, inverse_variance
from rumflow.models.open_menus import as_words

# Choices as slots -------------------------------------------------------------------------------------------------------------

#: Items in two orders; {b, c} was offered to both, {a} leaves no choice, and of {a, b, c} the second recorded b and c only.
FIRST = rf.ChoiceData.from_counts({("a",): {"a": 9}, ("b", "c"): {"b": 6, "c": 2}, ("a", "b"): {"a": 1, "b": 3}})
SECOND = rf.ChoiceData(
    ("c", "b", "a"),
    np.array([[True, True, False], [True, True, True]]),
    np.array([[5.0, 15.0, np.nan], [4.0, 2.0, np.nan]]),
    np.array([20.0, 10.0]),
)


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
        resample.require_replicates(number)
    resample.require_replicates(1)
    resample.require_replicates(np.int64(10_000_000))


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


# Jobs -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "rows"), [(1, 100), (1 << 14, 100), (30_000, 69), (1 << 18, 8), (1 << 30, 4)])
def test_replicates_in_a_piece(size, rows):
    replicator = SimpleNamespace(sample=SimpleNamespace(projector=SimpleNamespace(size=size)))
    assert jobs._piece_size(replicator) == rows


def test_memory_of_a_test_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(jobs, "require_memory", lambda needed, what, *_: asked.append((needed, what)))
    rf.rum_test(FIRST, 5, tau=[0.1, 0.2], seed=0, threads=1, route="lattice")
    assert asked[0] == (5 * (9 * 2 + 8), "keeping 5 replicates of 1 tests")
    assert asked[1:] == [(jobs.test_bytes(3, 2, 5, 1), "the test for n = 3 items")]
    asked.clear()
    rf.rum_test(FIRST, 5, tau=0.1, seed=0, threads=1, route="graph")
    assert asked == [(5 * (9 + 8), "keeping 5 replicates of 1 tests")]


def collected(count, value=0.0):
    return jobs.Collected(np.full((2, count), value), np.zeros((2, count), bool), np.zeros(count, np.int64))


def test_a_checkpoint_is_written_every_ten_seconds(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    store = jobs._Checkpoint(tmp_path / "file.npz", "mark", now[0])
    for seconds, written in ((100.0, False), (110.0, False), (110.1, True)):
        now[0] = seconds
        store.save([collected(3)])
        assert store.path.exists() == written
    store.path.unlink()
    now[0] = 120.0
    store.save([collected(3)])
    assert not store.path.exists()
    store.save([collected(3)], force=True)
    assert store.path.exists()
    jobs._Checkpoint(None, "").save([collected(3)], force=True)


def test_a_checkpoint_gives_back_what_was_done(tmp_path):
    store = jobs._Checkpoint(tmp_path / "file.npz", "mark")
    done = collected(3, 7.0)
    done.statistic[:, 2] = np.nan
    done.certified[0, 1], done.vanished[1] = True, 4
    store.save([done, collected(3, 1.0)], force=True)
    for count in (2, 3, 5):
        into = [collected(count, np.nan), collected(count, np.nan)]
        store.load(into)
        assert into[0].done.tolist() == [True, True, False, False, False][:count]
        assert into[1].done.tolist() == [True, True, True, False, False][:count]
        assert into[0].statistic[1, :2].tolist() == [7.0, 7.0]
        assert into[0].certified[:, :2].tolist() == [[False, True], [False, False]]
        assert into[0].vanished[:2].tolist() == [0, 4]
    with pytest.raises(rf.InputError, match="belongs to another test"):
        jobs._Checkpoint(store.path, "other").load([collected(3)])
    store.path.write_text("no checkpoint")
    with pytest.raises(rf.InputError, match="not a checkpoint file of rumflow, or a damaged one"):
        store.load([collected(3)])


@pytest.mark.parametrize("n_jobs", [0, 1.5, None])
def test_numbers_of_workers(n_jobs):
    with pytest.raises(rf.InputError, match="n_jobs="):
        rf.rum_test(FIRST, 3, 0.1, n_jobs=n_jobs)


# Places of the likelihood -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_places_by_hand(route):
    """FIRST has {a}, {a, b} and {b, c}; 60 % rank a, b, c and 40 % c, b, a."""
    place = find_place(FIRST, None, route)
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    mixture = (
        paths_from_orders(orders) if route == "lattice" else Cells(FIRST.membership[1:]).types_of_orders(orders),
        np.array([0.6, 0.4]),
    )
    point = place.point(mixture)
    expected = [[1.0, np.nan, np.nan], [0.6, 0.4, np.nan], [np.nan, 0.6, 0.4]]
    np.testing.assert_allclose(place.gather(place.rho(point)), expected, atol=1e-15)
    uniform = [[1.0, np.nan, np.nan], [0.5, 0.5, np.nan], [np.nan, 0.5, 0.5]]
    np.testing.assert_allclose(place.gather(place.rho(place.middle())), uniform, atol=1e-15)
    quarter = place.mix(point, place.middle(), 0.25)
    np.testing.assert_allclose(place.gather(place.rho(quarter))[1, 0], 0.75 * 0.6 + 0.25 * 0.5, atol=1e-15)
    values = place.spread(FIRST.counts, np.zeros(3))
    assert values.sum() == 12.0  # the nine of {a} leave no choice
    cost = place.spread(np.where(FIRST.membership, [[9, 9, 9], [1, 2, 9], [9, 5, 3]], np.nan), np.zeros(3))
    assert place.cheapest(cost) == 4.0  # a from {a, b} and c from {b, c}
    assert (
        place.cheapest(place.spread(np.where(FIRST.membership, [[0, 0, 0], [1, 2, 0], [0, 3, 8]], np.nan), np.zeros(3)))
        == 4.0
    )
    ranked, weights = place.rankings(point)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights @ (np.argsort(ranked, axis=1)[:, 0] < np.argsort(ranked, axis=1)[:, 1])) == pytest.approx(0.6)
    found, _ = place.project(
        place.spread(np.where(FIRST.membership, 1.0, np.nan), np.zeros(3)), place.rho(point), 1e-12, None
    )
    np.testing.assert_allclose(place.gather(place.rho(found)), expected, atol=1e-5)
    again = place.fresh()
    np.testing.assert_allclose(again.gather(again.rho(again.middle())), uniform, atol=1e-15)
    inside = place.mixture(quarter)
    np.testing.assert_allclose(
        place.gather(place.rho(place.point(inside))), place.gather(place.rho(quarter)), atol=1e-6
    )
    assert place.flow(point).shape == (3, 4)


def test_remainders_have_a_place_on_the_graph_only():
    place = find_place(SECOND, None, None)
    table = place.spread(SECOND.counts, np.array([0.0, 4.0]))
    assert table.tolist() == [[5.0, 15.0, 0.0], [4.0, 2.0, 4.0]]
    with pytest.raises(rf.InputError, match="but no cell on the lattice"):
        find_place(SECOND, None, "lattice")
    # Every way through the graph is as likely: at first a, b or c, then what is left.
    np.testing.assert_allclose(place.rho(place.middle()), [[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-15)


# Menus to ask -----------------------------------------------------------------------------------------------------------------


def test_candidates_in_their_order():
    """Less one item; unions and intersections; pairs. Small menus first, then by bit mask; none twice, none observed."""
    menus = np.array([[1, 1, 1, 0], [0, 1, 1, 1], [1, 1, 0, 0]], bool)
    expected = [0b101, 0b110, 0b1010, 0b1100, 0b1111, 0b1001]
    rows, left = _candidates(menus, 10)
    assert [int(row @ [1, 2, 4, 8]) for row in rows] == expected
    assert left == 0
    rows, left = _candidates(menus, 4)
    assert [int(row @ [1, 2, 4, 8]) for row in rows] == expected[:4]
    assert left == 2
    assert _candidates(np.ones((1, 2), bool), 6)[0].shape == (0, 2)


# Assortments ------------------------------------------------------------------------------------------------------------------


def plain_worth(above, inside, allowed, revenue):
    return min(max(revenue[y] for y in range(len(revenue)) if y == x or (above[x, y] and allowed[y])) for x in inside)


@pytest.mark.parametrize("n", [4, 67])
def test_kernels_of_assortments_as_plain_python(n, rng):
    membership = np.zeros((3, n), bool)
    membership[0, [0, 1, n - 1]] = membership[1, [1, 2, n - 2]] = membership[2, [0, 2]] = True
    taken = np.array([[1, 2, 0], [n - 1, n - 2, 2]])
    known = np.zeros((n, n), bool)
    known[3, 1] = True  # [x, y]: y is above x for everybody
    above = np.empty((2, n, (n + 63) // 64), np.uint64)
    assortment_search.relate.py_func(taken, membership, as_words(known), above)
    expected = np.repeat(known[None], 2, axis=0)
    for t, row in enumerate(taken):
        for j, x in enumerate(row):
            expected[t, membership[j] & (np.arange(n) != x), x] = True
        for _ in range(n):
            expected[t] |= (expected[t].astype(int) @ expected[t].astype(int)) > 0
    assert (above == as_words(expected.reshape(-1, n)).reshape(above.shape)).all()
    revenue = np.sort(rng.random(n))[::-1].copy()
    for inside, outside in (
        ([n - 1], []),
        ([2, n - 1], [1]),
        ([0, 3], [2, n - 2]),
        (range(n), []),
        ([n - 2, n - 1], [0]),
    ):
        allowed = np.ones(n, bool)
        allowed[outside] = False
        worth = np.empty(2)
        words = as_words(allowed[None])[0]
        assortment_search.least_revenues.py_func(above, np.array(list(inside)), words, revenue, worth)
        assert worth.tolist() == [plain_worth(row, inside, allowed, revenue) for row in expected]


def make_space(n, must=(), size=None, apart=(), implied=()):
    needed, groups = np.zeros(n, bool), np.zeros((len(apart), n), bool)
    needed[[n - 1, *must]] = True
    for row, group in zip(groups, apart, strict=True):
        row[list(group)] = True
    links = np.zeros((n, n), bool)
    for i, k in implied:
        links[i, k] = True
    return Space(np.arange(n, 0, -1) - 1.0, Limits(needed, n if size is None else size, groups), links)


def items(mask):
    return np.flatnonzero(mask).tolist()


def test_what_follows_in_a_space():
    """Five items, the last is the outside option. Whoever takes in 2 takes in 0; 0 and 3 are kept apart."""
    space = make_space(5, apart=[(0, 3)], implied=[(2, 0)])
    root = space.root()
    assert (items(root.inside), items(root.outside)) == ([4], [])
    having, without = space.split(root, 2)
    assert (items(having.inside), items(having.outside)) == ([0, 2, 4], [3])
    assert (items(without.inside), items(without.outside)) == ([4], [2])
    having, without = space.split(root, 0)
    assert (items(having.inside), items(having.outside)) == ([0, 4], [3])
    assert (items(without.inside), items(without.outside)) == ([4], [0, 2])
    full = make_space(5, size=1)
    having, without = full.split(full.root(), 1)
    assert (items(having.inside), items(having.outside)) == ([1, 4], [0, 2, 3])
    assert (items(without.inside), items(without.outside)) == ([4], [1])
    assert make_space(5, must=(0, 3), apart=[(0, 3)]).root() is None
    assert make_space(5, must=(0, 1), size=1).root() is None
    assert make_space(5, must=(0,), size=1).root() is not None
    nothing = make_space(5, size=0).root()
    assert (items(nothing.inside), items(nothing.outside)) == ([4], [0, 1, 2, 3])
    assert len(space.split(having, 2)) <= 2
    menu = np.array([True, True, False, False, True])
    assert make_space(5, size=2).allows(menu)
    assert not make_space(5, size=1).allows(menu)
    assert not make_space(5, must=(2,)).allows(menu)
    assert not make_space(5, apart=[(0, 1)]).allows(menu)
    assert make_space(5, apart=[(0, 2)]).allows(menu)


def random_types(rng, count, n):
    orders = np.array([rng.permutation(n) for _ in range(count)])
    rank = np.argsort(orders, axis=1)
    above = rank[:, None, :] < rank[:, :, None]
    return orders, above, as_words(above.reshape(count * n, n)).reshape(count, n, -1)


def test_the_item_to_split_by(monkeypatch):
    n = 6
    _, above, words = random_types(np.random.default_rng(2), 4, n)
    space = make_space(n)
    types = Types(words, space.revenue)
    weights = np.array([0.4, 0.0, 0.35, 0.25])
    node = space.split(space.root(), 2)[0]
    scores = {}
    for x in (0, 1, 3, 4):
        bounds = []
        for part in space.split(node, x):
            worth = [plain_worth(row, items(part.inside), ~part.outside, space.revenue) for row in above]
            bounds.append(float(weights @ worth))
        scores[x] = max(bounds), min(bounds)
    assert choose_item(space, types, weights, node) == min(scores, key=scores.get)
    monkeypatch.setattr(assortment_search, "_CANDIDATES", 2)
    assert min((0, 4), key=scores.get) != min(scores, key=scores.get)
    assert choose_item(space, types, weights, node) == min((0, 4), key=scores.get)
    monkeypatch.setattr(assortment_search, "_CANDIDATES", 4)
    assert choose_item(space, types, weights, node) == min(scores, key=scores.get)
    nobody = np.zeros(4)
    assert choose_item(space, types, nobody, node) == 0  # all the same: the first
    worth = types.worth(node)
    assert worth.tolist() == [plain_worth(row, items(node.inside), ~node.outside, space.revenue) for row in above]
    assert types.worth(node, np.array([2, 0])).tolist() == worth[[2, 0]].tolist()


@pytest.mark.parametrize("seed", range(5))
def test_the_best_menu_of_a_mixture_by_trying_all(seed):
    rng = np.random.default_rng(seed)
    n = 6
    orders, _, _ = random_types(rng, 5, n)
    weights = rng.dirichlet(np.ones(5))
    space = make_space(n, size=3, apart=[(0, 1)])
    earned = {}
    for mask in range(1 << (n - 1)):
        menu = np.array([bool(mask >> x & 1) for x in range(n - 1)] + [True])
        if space.allows(menu):
            best = [next(x for x in order if menu[x]) for order in orders]
            earned[tuple(items(menu))] = float(weights @ space.revenue[best])
    start = np.arange(n) == n - 1
    found = search_mixture(orders, weights, space, 1e-9, np.inf, (start, 0.0))
    assert found.value == pytest.approx(max(earned.values()), abs=1e-12)
    assert earned[tuple(items(found.menu))] == pytest.approx(found.value, abs=1e-12)
    assert found.upper - found.value <= 1e-9
    assert found.reason == ""
    late = search_mixture(orders, weights, space, 1e-9, -np.inf, (start, 0.0))
    assert (items(late.menu), late.value, late.nodes, late.reason) == ([n - 1], 0.0, 0, "max_seconds")
    assert late.upper == np.inf


def test_a_search_by_hand():
    """Three items beside the outside option; a menu's value is the sum of its numbers, bounds are what could be added."""
    gain = np.array([4.0, -1.0, 2.0, 0.0])
    space = make_space(4)
    asked, told = [], []

    def value(menu):
        return float(gain[menu].sum())

    def bound(node, beat):
        free = items(~(node.inside | node.outside))
        here = value(node.inside) + sum(max(gain[x], 0.0) for x in free)
        asked.append((here, beat))
        return here, free[0] if free else -1

    found = search(space, bound, value, None, 0.5, np.inf, report=lambda *numbers: told.append(numbers))
    assert items(found.menu) == [0, 2, 3]
    assert (found.value, found.upper, found.reason) == (6.0, 6.0, "")
    # The root; of its parts with the same bound the latest, without item 0; with it; without item 1; without and with item 2.
    assert found.nodes == len(told) == 6
    assert told[-1] == (found.nodes, 6.0, 6.0)
    assert asked == [(6.0, -np.inf), (2.0, -np.inf), (6.0, -np.inf), (6.0, -np.inf), (4.0, -np.inf), (6.0, 4.5)]
    assert [best for _, best, _ in told] == [-np.inf] * 4 + [4.0, 6.0]
    # A start that is as good up to tol ends it at once; the ceiling is the bound of the root.
    start = np.array([True, False, True, True]), 5.6
    quick = search(space, bound, value, start, 0.5, np.inf, ceiling=6.0)
    assert (quick.nodes, quick.value, quick.upper) == (0, 5.6, 6.0)
    begun = search(space, bound, value, start, 0.3, np.inf, ceiling=6.0)
    assert (begun.value, begun.upper) == (6.0, 6.0)
    # Menus to value first count, and are not searched below.
    early = search(space, bound, value, None, 0.5, np.inf, ceiling=6.0, first=[np.array([True, False, True, True])])
    assert (early.nodes, early.value) == (0, 6.0)
    none = search(make_space(4, must=(0, 1), size=1), bound, value, start, 0.5, np.inf)
    assert (none.nodes, none.value, none.upper) == (0, 5.6, 5.6)


def test_an_interrupted_search_keeps_its_bound():
    space = make_space(4)
    start = np.array([False, False, False, True]), 1.0

    def interrupt(node, beat):
        raise KeyboardInterrupt

    found = search(space, interrupt, None, start, 0.1, np.inf, ceiling=7.0)
    assert (found.value, found.upper, found.reason) == (1.0, 7.0, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        search(space, interrupt, None, None, 0.1, np.inf, ceiling=7.0)

    def large(node, beat):
        raise assortment_search.GraphTooLargeError("too large", 1, 1, 1, 1)

    assert search(space, large, None, start, 0.1, np.inf).reason == "too large"
    # What is dropped because it is within tol of the best is part of the upper bound.
    near = search(space, lambda node, beat: (1.05, 0), None, start, 0.1, np.inf, ceiling=7.0)
    assert (near.value, near.upper, near.nodes) == (1.0, 1.05, 1)
