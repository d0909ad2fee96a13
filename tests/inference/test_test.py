"""The bootstrap test, on the lattice, on graphs and by bounds: statistic, options, degenerate data."""

import pickle
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.data.menus import masks_of, membership_of
from rumflow.errors import InputError
from rumflow.inference import compare_groups, rum_test, rum_test_many
from rumflow.inference import test as test_module
from rumflow.inference.convention import Convention
from rumflow.inference.jobs import Collected
from rumflow.inference.plan import Plan
from rumflow.inference.replicate import tightened_centre
from rumflow.inference.source import Source
from rumflow.inference.test import make_result, prepare_test
from tests.reference import lattice as reference
from tests.reference.bounded_cases import small_data
from tests.reference.samples import draw_data, incomplete, partly_recorded


@pytest.mark.parametrize("weights", [None, "counts", "given"])
def test_statistic_is_the_distance_of_enumeration(noisy, weights):
    n = noisy.n
    inside = rf.Lattice(n).membership
    given = np.where(inside, np.random.default_rng(0).uniform(0.5, 2, inside.shape), 0.0)
    w = {None: inside.astype(float), "counts": 30.0 * inside, "given": given}[weights]
    w[np.bitwise_count(np.arange(1 << n)) < 2] = 0.0
    target = np.nan_to_num(noisy.to_array())
    _, objective = reference.projection(target, w)
    result = rum_test(noisy, n_boot=9, weights=given if weights == "given" else weights, seed=0)
    scale = 1.0 if weights == "counts" else noisy.n_observations
    assert result.statistic == pytest.approx(2 * scale * objective, rel=1e-7)
    assert result.gap <= 1e-8 * result.statistic


def test_cone_without_the_last_item_is_nnls(noisy):
    columns, target = [], []
    for mask, row in zip(noisy.masks, noisy.frequencies, strict=True):
        items = [x for x in range(4) if mask >> x & 1]
        for x in items[:-1]:
            columns.append([float(next(y for y in order if mask >> y & 1) == x) for order in permutations(range(4))])
            target.append(row[x])
    distance = nnls(np.array(columns), np.array(target))[1]
    result = rum_test(noisy, n_boot=9, convention=Convention("cone", "drop-last", 7.0, weights=None), seed=0)
    assert result.statistic == pytest.approx(7 * distance**2, rel=1e-7)


def test_groups_may_name_items_in_another_order():
    one = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 7}, ("a", "b", "c"): {"a": 5, "b": 3, "c": 2}})
    two = rf.ChoiceData.from_counts({("c", "a"): {"a": 8, "c": 2}, ("a", "b", "c"): {"a": 1, "b": 8, "c": 1}})
    turned = rf.ChoiceData.from_counts(
        {("a", "c"): {"a": 8, "c": 2}, ("a", "b", "c"): {"a": 1, "b": 8, "c": 1}}, items=("b", "c", "a")
    )
    first, second = (rum_test([one, d], n_boot=19, seed=0) for d in (two, turned))
    assert first.statistic == pytest.approx(second.statistic, rel=1e-9)


def test_every_tau_has_its_own_draws(noisy):
    several = rum_test(noisy, n_boot=49, tau=["auto", 0, 0.1], seed=5)
    assert several.taus == (pytest.approx(3.2 / (28 / 11) ** 2 * 30**-0.2), 0.0, 0.1)
    for i, tau in enumerate(several.taus):
        alone = rum_test(noisy, n_boot=49, tau=tau, seed=5)
        assert (alone.null_distribution == several.null_distributions[i]).all()
        assert alone.pvalue == several.pvalues[i]
    assert several.pvalue == several.pvalues[0]
    assert "tau = 0.1" in several.summary()
    assert several.critical_value(0.1, 0.1) == pytest.approx(np.sort(several.null_distributions[2])[-5])


def test_rational_data_have_pvalue_one():
    order = rf.ChoiceData.from_counts({("a", "b"): {"a": 9}, ("b", "c"): {"b": 9}, ("a", "c"): {"a": 9}})
    for convention in (None, "abkk", "kitamura-stoye"):
        result = rum_test(order, n_boot=19, seed=0, convention=convention)
        assert result.pvalue == 1
        assert result.statistic == 0
        assert "are those of a random utility model" in result.summary()
        assert result.misfits() == []


def test_clear_violation_is_rejected():
    data = rf.ChoiceData.from_counts(
        {("a", "b", "c"): {"a": 60, "b": 30, "c": 10}, ("a", "b"): {"a": 15, "b": 85}, ("b", "c"): {"b": 50, "c": 50}}
    )
    result = rum_test(data, n_boot=199, seed=1)
    assert result.pvalue == 1 / 200
    assert "is rejected" in result.summary()
    assert result.misfits(1)[0][0] in (("a", "b"), ("a", "b", "c"))
    binding = result.binding()
    assert binding
    assert all(multiplier > 0 for *_, multiplier in binding)
    assert result.flow.min() >= 0


@pytest.mark.slow
def test_size_and_power_in_small():
    """Under a null on the boundary few rejections, under a strong alternative nearly always one."""
    rejected = {"null": 0, "alternative": 0}
    uniform = rf.simulate.rankings_mixture(4, 500, seed=0)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        inside = rf.Lattice(4).membership
        noise = np.where(inside, rng.random(inside.shape), -1.0)
        irrational = 0.5 * uniform + 0.5 * (inside & (noise == noise.max(axis=1, keepdims=True)))
        truths = {"null": rf.simulate.rankings_mixture(4, 3, seed=seed), "alternative": irrational}
        for name, truth in truths.items():
            rejected[name] += rum_test(draw_data(truth, 50, seed), n_boot=59, seed=seed).rejects(0.05)
    assert rejected["null"] <= 6
    assert rejected["alternative"] >= 27


@pytest.mark.parametrize("seed", range(3))
def test_pearson_counts_what_was_not_recorded(seed):
    """The statistic by enumeration, with the remainder of a menu as a cell; complete menus have N / p as ever."""
    rng = np.random.default_rng(seed)
    counts = {0b0111: {0: 30}, 0b1111: {0: 20, 1: 40}, 0b0011: {0: 25, 1: 75}, 0b1101: {3: 45}}
    table = np.full((4, 4), np.nan)
    membership = membership_of(np.array(sorted(counts)), 4)
    for row, mask in zip(table, sorted(counts), strict=True):
        for x, count in counts[mask].items():
            row[x] = count + rng.integers(5) if mask != 0b0011 else count
    data = rf.ChoiceData(tuple("abcd"), membership, table, np.full(4, 100.0))
    result = rum_test(data, n_boot=19, weights="inverse-variance", seed=0)
    sample = result.sample
    masks = masks_of(sample.menus)[sample.unit_menu[sample.unit]]
    assert (sample.item < 0).sum() == 3
    assert np.bincount(sample.unit, sample.frequency) == pytest.approx(1)
    assert np.bincount(sample.unit, sample.centre[sample.column]) == pytest.approx(1)

    def takes(mask, item, order):
        best = next(y for y in order if mask >> y & 1)
        return float(best == item if item >= 0 else np.isnan(table[sorted(counts).index(mask), best]))

    matrix = np.array(
        [[takes(m, x, o) for o in permutations(range(4))] for m, x in zip(masks, sample.item, strict=True)]
    )
    root = np.sqrt(sample.weights)
    heavy = np.vstack([root[:, None] * matrix, np.full(24, 1e4)])
    assert result.statistic == pytest.approx(nnls(heavy, np.append(root * sample.frequency, 1e4))[1] ** 2, rel=1e-4)
    fit = rf.project(data, "counts", tol=1e-12)
    whole = sample.item[masks == 0b0011]
    p = fit.fitted[0, whole]
    assert sample.weights[masks == 0b0011] == pytest.approx(100 / ((100 * p + 1) / 102), rel=1e-5)
    assert sample.weights[sample.item < 0].min() > 100
    assert 0 < result.pvalue <= 1
    assert np.isnan(result.fitted).sum() == np.isnan(table).sum()
    assert result.summary()
    result.binding()
    assert (result.sample.convention.draws, result.failed) == ("null", 0)
    with pytest.raises(rf.InputError, match="accepted are None, 'graph' and 'bounded'"):
        rum_test(data, weights="inverse-variance", route="lattice")


@pytest.mark.parametrize(("scale", "value"), [("total", 90), ("group", 90), ("smallest", 20), ("mean", 30), (5, 5)])
def test_scale(scale, value):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 20}, ("b", "c"): {"b": 40}, ("a", "c"): {"c": 30}})
    assert rum_test(data, 9, seed=0, convention=Convention(scale=scale)).sample.scale == value


def test_one_observation_a_menu():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("b", "c"): {"b": 1}, ("a", "c"): {"c": 1}})
    result = rum_test(data, n_boot=19, seed=0)
    assert 0 < result.pvalue <= 1
    assert result.tau == pytest.approx(0.525 * 3**-0.2)
    assert "Every menu has fewer than 5 choices: {a, b} (1), {a, c} (1), {b, c} (1)." in result.summary()


def test_one_menu_in_all():
    result = rum_test(rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 2, "c": 1}}), n_boot=19, seed=0)
    assert result.pvalue == 1


def test_items_never_chosen():
    data = rf.ChoiceData.from_counts(
        {("a", "b", "c"): {"a": 10}, ("a", "b"): {"b": 10}, ("a", "c"): {"a": 10}, ("b", "c"): {"b": 4, "c": 6}}
    )
    assert rum_test(data, n_boot=99, seed=0).pvalue == 0.01


def test_no_menu_of_two_items():
    data = rf.ChoiceData.from_counts({("a",): {"a": 10}, ("b",): {"b": 3}})
    with pytest.raises(rf.InputError, match="no menu of two or more items"):
        rum_test(data)


def test_probabilities_need_sizes():
    rho = rf.simulate.mixed_logit(3, seed=0)
    data = rf.ChoiceData.from_matrix(rho)
    with pytest.raises(rf.InputError, match="sizes="):
        rum_test(data)
    assert rum_test(data, n_boot=19, sizes=25, seed=0).pvalue == 1
    with pytest.raises(rf.InputError, match="one for each of the"):
        rum_test(data, sizes=[1, 2])
    with pytest.raises(rf.InputError, match=r"sample size 2\.5 is not a whole number"):
        rum_test(data, sizes=2.5)


def test_sizes_belong_to_menus_whatever_the_order_of_items():
    """Two groups with their items in another order: sizes follow the menus, as if the counts had been given."""
    pairs = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    chosen = {menu: dict(zip(menu, shares, strict=True)) for menu, shares in zip(pairs, SHARES, strict=True)}
    number = dict(zip(pairs, (10, 20, 30, 40), strict=True))

    def group(items, counted):
        table = {m: {x: s * (number[m] if counted else 1) for x, s in row.items()} for m, row in chosen.items()}
        return rf.ChoiceData.from_counts(table, items=items)

    orders = {"first": tuple("abc"), "second": tuple("cab")}
    sizes = {
        name: [number[tuple(sorted(menu))] for menu in group(items, False).menus] for name, items in orders.items()
    }
    assert sizes["first"] != sizes["second"]
    counted = {name: group(items, True) for name, items in orders.items()}
    shares = {name: group(items, False) for name, items in orders.items()}
    expected = rum_test(counted, n_boot=19, seed=0)
    found = rum_test(shares, n_boot=19, seed=0, sizes=sizes)
    assert found.statistic == pytest.approx(expected.statistic)
    assert all(found.sample.sizes[u] == number[found.sample.members(u)] for u in range(8))
    assert (found.sample.sizes == expected.sample.sizes).all()
    assert found.pvalue == expected.pvalue
    both = compare_groups(shares, 19, seed=0, sizes=sizes)
    assert both.together.statistic == pytest.approx(expected.statistic)
    assert both.each.statistics == pytest.approx(compare_groups(counted, 19, seed=0).each.statistics)
    with pytest.raises(rf.InputError, match="sizes: group 'second' is missing"):
        rum_test(shares, sizes={"first": 10})
    for call in (rum_test, rum_test_many, compare_groups):
        with pytest.raises(rf.InputError, match=r"sizes: there is no group 'third'; accepted are 'first', 'second'"):
            call(shares, 19, sizes=sizes | {"third": 10})
    with pytest.raises(rf.InputError, match=r"sizes: menu .*a.* has 0; sample sizes must be positive"):
        rum_test(shares["first"], sizes=[0, 1, 1, 1])


SHARES = [(0.5, 0.5), (0.1, 0.9), (0.4, 0.6), (0.6, 0.1, 0.3)]


def test_partly_recorded_menus():
    table = np.full((8, 3), np.nan)
    table[0b011, 0], table[0b111, 0], table[0b101, 0] = (
        0.2,
        0.6,
        0.5,
    )  # a from {a, b} and from {a, b, c}: regularity fails
    result = rum_test(rf.ChoiceData.from_matrix(table), n_boot=99, sizes=100, seed=0)
    assert result.statistic == pytest.approx(100 * 2 * 0.2**2, rel=1e-6)
    assert result.pvalue == 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tau": "large"}, "tau='large': accepted are 'auto'"),
        ({"tau": 1.0}, "from 0 to below 1"),
        ({"tau": []}, "list is empty"),
        ({"n_boot": 0}, "n_boot=0"),
        ({"weights": "size"}, "weights='size'"),
        ({"convention": "mine"}, "convention='mine'"),
        ({"resample": "item"}, "resample='item'"),
        ({"seed": -1}, "seed=-1"),
        ({"draws": "wild"}, "draws='wild': accepted are 'auto', 'null' and 'empirical'"),
        ({"draws": "null", "convention": "abkk"}, "no total of 1 to draw choices from"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"cluster": True}, "do not say which subject"),
    ],
)
def test_bad_options(noisy, options, message):
    with pytest.raises(rf.InputError, match=message):
        rum_test(noisy, **options)


def test_bad_data():
    with pytest.raises(rf.InputError, match="a ChoiceData is needed"):
        rum_test(np.zeros((8, 3)))
    with pytest.raises(rf.InputError, match="no group"):
        rum_test([])
    with pytest.raises(rf.InputError, match="group 1 is a int"):
        rum_test([rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}), 3])


@pytest.mark.parametrize("seed", range(20))
def test_equal_draws_give_equal_p_values_on_both_routes(seed):
    n = 3 + seed % 7
    data = incomplete(n, seed, partly=0.3 * (seed % 3 == 0))
    options = {"n_boot": 19, "tau": ["auto", 0.0], "seed": seed, "resample": "row" if seed % 4 == 1 else "menu"}
    options["weights"] = (None, "counts", "inverse-variance")[seed % 3]
    options["convention"] = ("default", "kitamura-stoye", "abkk", "default")[seed % 4]
    a, b = (rum_test(data, route=route, **options) for route in ("lattice", "graph"))
    assert a.sample.projector.geometry.has_all_menus
    assert not b.sample.projector.geometry.has_all_menus
    assert b.statistic == pytest.approx(a.statistic, rel=1e-6, abs=1e-9)
    assert b.null_distributions == pytest.approx(a.null_distributions, rel=1e-6, abs=1e-6 * max(a.statistic, 1e-3))
    assert (a.pvalues == b.pvalues).all()
    counts = np.zeros(a.fitted.shape, bool)  # cells without weight are not unique
    counts[a.sample.unit_menu[a.sample.unit], a.sample.item] = a.sample.weights > 0
    assert b.fitted[counts] == pytest.approx(a.fitted[counts], abs=1e-5)
    assert b.failed == 0


def test_menus_that_vanish():
    data = incomplete(6, 5, draws=2)
    a, b = (rum_test(data, 30, resample="row", seed=1, route=route) for route in ("lattice", "graph"))
    assert a.vanished == b.vanished > 0
    assert a.pvalue == b.pvalue
    assert b.null_distribution == pytest.approx(a.null_distribution, rel=1e-6, abs=1e-6)


def test_many_items():
    data = rf.simulate.random_menus(70, 12, 30, seed=2)
    result = rum_test(data, 9, seed=0)
    assert result.fitted.shape == (12, 70)
    assert np.nansum(result.fitted, axis=1) == pytest.approx(1)
    assert result.misfits(1)
    assert "70 items" in result.summary()
    for what in ("rho", "flow"):
        with pytest.raises(InputError, match="use `fitted`"):
            getattr(result, what)
    with pytest.raises(InputError, match="use `fitted`"):
        result.binding()
    assert rum_test(data, 9, seed=0, weights=np.where(data.membership, 1.0, 0.0)).pvalue == result.pvalue
    with pytest.raises(InputError, match=r"shape \(12, 70\)"):
        rum_test(data, 9, weights=np.ones((3, 3)))


def test_probabilities_over_all_menus_on_a_graph():
    data = incomplete(6, 4)
    a, b = (rum_test(data, 9, seed=0, route=route) for route in ("lattice", "graph"))
    assert rf.is_rum(b.rho)
    seen = data.masks
    assert b.rho[seen] == pytest.approx(a.rho[seen], abs=1e-6)
    assert b.flow.min() >= 0


def test_subjects_on_a_graph():
    rng = np.random.default_rng(0)
    frame = {"menu": [], "choice": [], "subject": []}
    menus = [(0, 1, 2), (1, 2, 3, 4), (0, 3, 5), (2, 4, 5, 6)]
    for person in range(30):
        for menu in menus:
            frame["menu"].append(",".join(map(str, menu)))
            frame["choice"].append(str(rng.choice(menu)))
            frame["subject"].append(person)
    data = rf.ChoiceData.from_frame(frame)
    a, b = (rum_test(data, 29, cluster=True, seed=0, route=route) for route in ("lattice", "graph"))
    assert a.pvalue == b.pvalue


def above_types(data, above):
    """What the rankings that respect `above` take from the cells of a sample, by enumeration."""
    place = {label: x for x, label in enumerate(data.items)}
    menu, item = np.nonzero(data.membership)
    types = set()
    for order in permutations(range(data.n)):
        rank = np.argsort(order)
        if all(rank[place[a]] < rank[place[b]] for a, b in above):
            best = [min(np.flatnonzero(row), key=lambda x: rank[x]) for row in data.membership]
            types.add(tuple(float(best[j] == x) for j, x in zip(menu, item, strict=True)))
    return np.array(sorted(types)).T


@pytest.mark.parametrize("seed", range(3))
def test_known_preferences_against_enumeration(seed):
    data = incomplete(5, seed)
    above = [("a", "b"), ("c", "d")]
    model = rf.RandomUtility(above=above)
    result = rum_test(data, 19, seed=0, model=model)
    types = above_types(data, above)
    heavy = np.vstack([types, np.full((1, types.shape[1]), 1e4)])
    sample = result.sample
    distance = nnls(heavy, np.append(sample.frequency, 1e4))[1]
    assert result.statistic == pytest.approx(60 * distance**2, rel=1e-5)
    # The inner point is a mixture of the types, and so is the centre of the replicates.
    for point in (sample.centre[sample.column], tightened_centre(sample, 0.3, 1e-9)[0]):
        assert nnls(heavy, np.append(point, 1e4))[1] == pytest.approx(0, abs=1e-6)
    assert result.statistic >= rum_test(data, 9, seed=0).statistic - 1e-9
    with pytest.raises(InputError, match="route='lattice'"):
        rum_test(data, 9, model=model, route="lattice")


def test_other_models():
    data = incomplete(6, 3)
    by_axis = rum_test(data, 9, seed=0, model=rf.SinglePeaked("abcdef"))
    assert by_axis.statistic > rum_test(data, 9, seed=0).statistic
    with pytest.raises(InputError, match="use `fitted`"):
        by_axis.rho  # noqa: B018
    with pytest.raises(InputError, match="route='graf'"):
        rum_test(data, 9, route="graf")


def test_a_cone_whose_nearest_point_is_0():
    data = rf.ChoiceData.from_counts({("a", "b"): {"b": 29}, ("b", "c"): {"c": 20}})
    for route in ("graph", "lattice"):
        assert rf.rum_test(data, 19, seed=1, convention="abkk", route=route).pvalue == 1
    assert rf.rum_test(data, 19, seed=1, convention="abkk", model=rf.SinglePeaked(["a", "b", "c"])).pvalue == 1


def test_items_in_no_menu_change_nothing():
    counts = {
        ("a", "z"): {"a": 20, "z": 20},
        ("b", "z"): {"b": 20, "z": 20},
        ("a", "b", "z"): {"a": 14, "b": 14, "z": 22},
        ("b", "c", "z"): {"b": 8, "c": 9, "z": 26},
    }
    found = [
        rf.rum_test(rf.ChoiceData.from_counts(counts, items=items), 49, seed=1, convention="abkk").pvalues
        for items in (list("abcz"), list("abczuvw"))
    ]
    assert list(found[0]) == list(found[1])


def test_menus_without_a_recorded_cell_and_taus_in_arrays():
    member = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], bool)
    counts = np.array([[3, np.nan, np.nan], [np.nan, np.nan, 5], [np.nan, 4, np.nan], [np.nan] * 3])
    totals = np.array([8.0, 9.0, 8.0, 10.0])
    data = rf.ChoiceData(("a", "b", "c"), member, counts, totals)
    fewer = rf.ChoiceData(("a", "b", "c"), member[:3], counts[:3], totals[:3])
    how = {"weights": "inverse-variance", "seed": 1, "tau": np.array([0.1, 0.2])}
    assert list(rf.rum_test(data, 19, **how).pvalues) == list(rf.rum_test(fewer, 19, **how).pvalues)


@pytest.mark.slow
@pytest.mark.parametrize("convention", ["default", "kitamura-stoye"])
def test_the_test_is_that_of_the_graph_and_conservative(convention):
    data = small_data(draws=20)
    options = {"n_boot": 9, "seed": 3, "convention": convention, "tau": 0.1}
    exact = rf.rum_test(data, route="graph", **options)
    found = rf.rum_test(data, route="bounded", **options)
    assert found.bounded
    assert not exact.bounded
    assert found.pvalue >= exact.pvalue
    assert found.failed == 0
    assert found.statistic == pytest.approx(exact.statistic, rel=1e-6)
    assert found.null_distribution == pytest.approx(exact.null_distribution, rel=1e-5, abs=1e-9)
    assert "conservative" in found.summary()
    assert "conservative" not in exact.summary()
    again = rf.rum_test(data, route="bounded", threads=2, **options)
    assert np.array_equal(again.null_distribution, found.null_distribution)
    assert not pickle.loads(pickle.dumps(found.sample.projector)).exact  # as workers see it


@pytest.mark.parametrize("weights", ["counts", None])
def test_a_test_with_a_wide_gap(hard, monkeypatch, weights):
    """Replicates of all sizes up to twice the statistic: those count that reach the least that the statistic can be."""
    data, optimum = hard
    data = rf.ChoiceData(data.items, data.membership, np.round(1000 * data.counts), np.full(len(data.counts), 1000.0))
    unit = 2 * 1000 * (1 if weights == "counts" else len(data.counts))
    null = np.linspace(0.0, 2.0, 200) * unit * optimum
    made = Collected(null[None], np.ones((1, 200), bool), np.zeros(200, int))
    monkeypatch.setattr(test_module, "run", lambda *_, **__: [made])
    found = rf.rum_test(data, n_boot=200, seed=0, tau=0.1, route="bounded", weights=weights)
    exact = rf.rum_test(data, n_boot=200, seed=0, tau=0.1, route="graph", weights=weights)
    least = found.statistic - found.gap
    assert least < 0.95 * exact.statistic
    assert f"can be, {least:.6g}" in found.summary()
    assert found.pvalue == (1 + (null >= least * (1 - 1e-8)).sum()) / 201
    assert found.pvalue > exact.pvalue + 0.02


def test_a_test_with_known_preferences():
    data = small_data(draws=20)
    model = rf.RandomUtility([(0, 1), (3, 2)])
    found = rf.rum_test(data, n_boot=5, seed=3, route="bounded", model=model, tau=0.1)
    exact = rf.rum_test(data, n_boot=5, seed=3, route="graph", model=model, tau=0.1)
    assert found.statistic == pytest.approx(exact.statistic, rel=1e-6)
    assert np.abs(found.sample.centre - exact.sample.centre).max() < 0.3  # another inner point of the same model


def pearson_by_enumeration(result, tables):
    """The statistic of groups with partly recorded menus: non-negative least squares over all rankings."""
    sample = result.sample
    n = len(sample.items)
    masks = masks_of(sample.menus)[sample.unit_menu[sample.unit]]
    groups = sample.unit_group[sample.unit]
    matrix = []
    for mask, item, group in zip(masks, sample.item, groups, strict=True):
        best = [next(y for y in order if mask >> y & 1) for order in permutations(range(n))]
        lost = tables[group][int(mask)]
        matrix.append([float(b == item if item >= 0 else b in lost) for b in best])
    root = np.sqrt(sample.weights)
    heavy = np.vstack([root[:, None] * np.array(matrix), np.full(len(matrix[0]), 1e4)])
    return nnls(heavy, np.append(root * sample.frequency, 1e4))[1] ** 2


def test_pearson_of_groups_has_the_remainders():
    data = [partly_recorded(4, 5), partly_recorded(4, 5, size=80)]
    other = data[1]
    counts = np.where(np.isnan(data[0].counts), np.nan, np.random.default_rng(0).integers(5, 20, other.counts.shape))
    groups = {"one": data[0], "two": rf.ChoiceData(other.items, other.membership, counts, other.totals)}
    result = rum_test(groups, n_boot=19, weights="inverse-variance", seed=0)
    partly = (np.isnan(counts) & other.membership).any(axis=1)
    assert (result.sample.item < 0).sum() == 2 * partly.sum() > 0
    lost = {
        int(mask): set(np.flatnonzero(inside & np.isnan(own)))
        for mask, inside, own in zip(other.masks, other.membership, counts, strict=True)
    }
    assert result.statistic == pytest.approx(pearson_by_enumeration(result, [lost, lost]), rel=1e-4)
    assert not any("Groups recorded different" in note for note in result.notes)
    each = compare_groups(groups, 19, weights="inverse-variance", seed=0)
    assert (each.together.statistic, len(each.each)) == (result.statistic, 2)
    # Recorded differently, remainders are not one cell: they have no weight, and the summary says so.
    more = counts.copy()
    menu = int(np.argmax((np.isnan(counts) & other.membership).sum(axis=1)))
    more[menu, np.flatnonzero(np.isnan(counts[menu]) & other.membership[menu])[0]] = 5.0
    assert np.isnan(more[menu]).sum() > (~other.membership[menu]).sum()
    differ = {"one": data[0], "two": rf.ChoiceData(other.items, other.membership, more, other.totals)}
    mixed = rum_test(differ, n_boot=19, weights="inverse-variance", seed=0)
    assert (mixed.sample.item < 0).sum() == 2 * partly.sum() - 2
    assert "Groups recorded different items" in mixed.summary()
    assert "Groups recorded different items" not in rum_test(differ, n_boot=19, seed=0).summary()


def test_pearson_keeps_the_route():
    data = partly_recorded(4, 1)
    exact = rum_test(data, n_boot=19, weights="inverse-variance", seed=0)
    bounded = rum_test(data, n_boot=19, weights="inverse-variance", seed=0, route="bounded")
    assert (exact.bounded, bounded.bounded) == (False, True)
    assert bounded.statistic == pytest.approx(exact.statistic, rel=1e-5)
    assert bounded.pvalue >= exact.pvalue
    assert (exact.sample.item == bounded.sample.item).all()


def test_how_a_test_is_described():
    assert [Source({}).describe(w) for w in (None, "counts", np.ones(3))] == ["1 on every cell", "counts", "given"]
    rows = {"menu": ["a,b"] * 8, "choice": list("aabbabab"), "subject": list("xxyyzzww")}
    plain = rf.ChoiceData.from_frame(rows)
    weighted = rf.ChoiceData.from_frame(rows | {"weight": [0.5, 1.5] * 4}, weight="weight")

    def kind(data, resample="menu", cluster=None):
        plan, source = Plan(tau=0.1, cluster=cluster, resample=resample), Source({0: data})
        return source.resampled(prepare_test(source, plan).replicator.sampler, plan)

    assert kind(plain) == "menu"
    assert kind(plain, "row") == "row"
    assert kind(plain, "cluster") == kind(plain, "menu", True) == kind(weighted, "menu", True) == "subject"
    assert kind(plain, "menu", False) == "menu"
    assert kind(weighted) == "weighted rows by menu"
    assert kind(weighted, "row") == "weighted rows"
    for wrong in (0.0, 1.0):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed"):
            Plan(tol=wrong)


def test_where_there_are_only_bounds_the_least_is_compared():
    """The data are at least 4 away, and at most 5; the replicates at most so much. Below nothing is nothing."""
    replicator = SimpleNamespace(
        sample=SimpleNamespace(projector=SimpleNamespace(exact=False), convention=Convention()), taus=(0.1,), seed=0
    )
    collected = SimpleNamespace(
        done=np.ones(3, bool),
        statistic=np.array([[0.0, 4.5, 6.0]]),
        certified=np.ones((1, 3), bool),
        vanished=np.zeros(3),
        interrupted=False,
    )
    for statistic, gap, expected in ((5.0, 1.0, 3 / 4), (5.0, 0.0, 2 / 4), (5.0, 9.0, 4 / 4), (0.05, 0.0, 4 / 4)):
        observed = SimpleNamespace(
            statistic=np.array([statistic]), gap=np.array([gap]), rounding=np.array([0.1]), fits=None
        )
        found = make_result(replicator, observed, collected, "menu", "counts", (), 0.0)
        assert found.pvalue == expected
        assert found.gap == gap
        assert found.statistic == (0.0 if statistic < 0.1 else statistic)
    replicator.sample.projector.exact = True
    observed = SimpleNamespace(statistic=np.array([5.0]), gap=np.array([1.0]), rounding=np.array([0.1]), fits=None)
    assert make_result(replicator, observed, collected, "menu", "counts", (), 0.0).pvalue == 2 / 4
