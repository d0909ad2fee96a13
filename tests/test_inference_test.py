"""The bootstrap test: statistic, centre, conventions, degenerate data."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
import reference
from scipy.optimize import nnls

import rumflow as rf
from rumflow.data.menus import masks_of, membership_of
from rumflow.inference import Convention, RumTest, compare_groups, rum_test, rum_test_many
from rumflow.inference.convention import find_convention, find_taus
from rumflow.inference.replicate import distances, tightened_centre
from rumflow.inference.sample import build_sample, inner_point
from rumflow.projection.cells import cell_numbers

SUBSETS = [menu for size in range(6) for menu in combinations(range(1, 6), size)]


def draw_data(rho, sizes, seed, menus=None):
    """ChoiceData with `sizes` choices from each menu (of at least two items)."""
    rng = np.random.default_rng(seed)
    n = rho.shape[1]
    table = np.full(rho.shape, np.nan)
    for mask in range(1, 1 << n):
        if mask.bit_count() >= 2 and (menus is None or mask in menus):
            items = [x for x in range(n) if mask >> x & 1]
            table[mask, items] = rng.multinomial(sizes, rho[mask, items] / rho[mask, items].sum())
    return rf.ChoiceData.from_matrix(table)


@pytest.fixture(scope="module")
def noisy():
    return draw_data(rf.simulate.rankings_mixture(4, 5, seed=1), 30, seed=2)


@pytest.fixture
def abkk(data_folder):
    frames = {}
    for name in ("high", "medium", "low"):
        rows = np.loadtxt(data_folder / f"abkk_lotteries/menu_choice_{name}.csv", delimiter=",", skiprows=1, dtype=int)
        counts = {}
        for menu, choice in rows:
            offered = (0, *SUBSETS[menu - 1])
            chosen = counts.setdefault(offered, dict.fromkeys(offered, 0))
            chosen[choice] += 1
        frames[name] = rf.ChoiceData.from_counts(counts, items=range(6))
    return frames


@pytest.mark.parametrize(
    ("name", "statistic", "pvalue"), [("high", 143.76, 0.95), ("medium", 200.82, 0.55), ("low", 130.68, 0.90)]
)
def test_published_single_frames(abkk, name, statistic, pvalue):
    result = rum_test(abkk[name], n_boot=999, convention="abkk", seed=0)
    assert result.statistic == pytest.approx(statistic, abs=0.01)
    assert result.pvalue == pytest.approx(pvalue, abs=0.06)
    assert result.tau == pytest.approx(np.sqrt(np.log(112) / 112))
    assert result.failed == 0


def test_published_three_frames(abkk):
    result = rum_test(abkk, n_boot=199, convention="abkk", seed=0)
    assert result.statistic == pytest.approx(3231.59, abs=0.01)
    assert result.pvalue == 1 / 200
    assert "one distribution" in result.summary()


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


@pytest.mark.parametrize("kind", ["simplex", "cone"])
def test_centre_is_the_nearest_point_of_the_tightened_set(noisy, kind):
    tau = 0.3
    sample = build_sample(noisy, None, Convention(kind))
    centre, _ = tightened_centre(sample, tau, 1e-10)
    # By enumeration: weights on rankings of at least tau / n! each, which add up to 1 in the simplex.
    matrix = np.array(
        [
            [float(next(y for y in order if mask >> y & 1) == x) for order in permutations(range(4))]
            for mask, x in zip(masks_of(sample.menus)[sample.unit_menu[sample.unit]], sample.item, strict=True)
        ]
    )
    least = tau / 24
    a, b = matrix, sample.frequency - matrix @ np.full(24, least)
    if kind == "simplex":
        a, b = np.vstack([a, np.full(24, 1e4)]), np.append(b, 1e4 * (1 - tau))
    lam = nnls(a, b, maxiter=100_000)[0]
    assert centre == pytest.approx(matrix @ (lam + least), abs=1e-5)
    # The centre is in the set, so its distance to it is 0; and the data are as far from it as from the centre.
    assert distances(sample, centre[None], tau, 1e-10).statistic[0] == pytest.approx(0, abs=1e-12)
    assert distances(sample, sample.frequency[None], tau, 1e-10).statistic[0] == pytest.approx(
        sample.scale * ((sample.frequency - centre) ** 2).sum(), rel=1e-8
    )


def test_simplex_centre_adds_up(noisy):
    sample = build_sample(noisy, None, Convention())
    centre, _ = tightened_centre(sample, 0.3, 1e-10)
    sums = np.bincount(sample.unit, centre)
    assert sums == pytest.approx(1, abs=1e-12)
    assert centre.min() >= 0.3 * 0.25 - 1e-12


def test_stack_of_groups_is_one_projection_of_all(noisy):
    other = draw_data(rf.simulate.rankings_mixture(4, 5, seed=8), 17, seed=3, menus=set(range(3, 13)))
    stacked = build_sample([noisy, other], "counts", Convention())
    value = distances(stacked, stacked.frequency[None], 0.0, 1e-11).statistic[0]
    rho = rum_test([noisy, other], n_boot=3, weights="counts", seed=0).rho
    direct = 0.0
    for data in (noisy, other):
        difference = np.nan_to_num(data.frequencies - rho[data.masks])
        direct += float((data.totals[:, None] * difference**2).sum())
    assert value == pytest.approx(direct, rel=1e-9)
    for moved in np.random.default_rng(0).dirichlet(np.ones(6), 5):  # no other RUM is closer
        other_rho = 0.99 * rho + 0.01 * sum(
            s * reference.choice_array(np.array(o))
            for s, o in zip(moved, list(permutations(range(4)))[::4], strict=True)
        )
        total = sum(
            float((d.totals[:, None] * np.nan_to_num(d.frequencies - other_rho[d.masks]) ** 2).sum())
            for d in (noisy, other)
        )
        assert total >= value


def test_groups_may_name_items_in_another_order():
    one = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 7}, ("a", "b", "c"): {"a": 5, "b": 3, "c": 2}})
    two = rf.ChoiceData.from_counts({("c", "a"): {"a": 8, "c": 2}, ("a", "b", "c"): {"a": 1, "b": 8, "c": 1}})
    turned = rf.ChoiceData.from_counts(
        {("a", "c"): {"a": 8, "c": 2}, ("a", "b", "c"): {"a": 1, "b": 8, "c": 1}}, items=("b", "c", "a")
    )
    first, second = (rum_test([one, d], n_boot=19, seed=0) for d in (two, turned))
    assert first.statistic == pytest.approx(second.statistic, rel=1e-9)


def test_inner_point_counts_behaviours_once():
    menus = np.array([0b0011, 0b0101, 0b0111, 0b1001, 0b1011, 0b1101, 0b1111])
    cells = [(m, x) for m in menus for x in range(4) if m >> x & 1]
    mask, item = np.array(cells).T
    behaviours = {
        tuple(next(y for y in order if m >> y & 1) == x for m, x in cells) for order in permutations(range(4))
    }
    rows, row = membership_of(menus, 4), np.searchsorted(menus, mask)
    assert inner_point(rows, row, item, "types") == pytest.approx(np.mean(list(behaviours), axis=0), abs=1e-12)
    assert inner_point(rows, row, item, "rankings") == pytest.approx(1 / np.bitwise_count(mask))


def test_cell_numbers():
    lattice = rf.Lattice(5)
    mask, item = lattice.cells.T
    assert (cell_numbers(5, mask, item) == np.arange(lattice.n_cells)).all()


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


def test_pvalue_and_critical_value_agree(noisy):
    result = rum_test(noisy, n_boot=99, seed=0)
    for level in (0.01, 0.05, 0.2):
        above = replace(result, statistic=result.critical_value(level) * (1 + 1e-6) + 1e-12)
        assert (1 + (result.null_distribution >= above.statistic).sum()) / 100 <= level
    assert result.critical_value(0.001) == float("inf")
    with pytest.raises(rf.InputError, match="level=2"):
        result.critical_value(2)
    with pytest.raises(rf.InputError, match="was not tested"):
        result.critical_value(0.05, tau=0.77)


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


def test_inverse_variance_is_pearson(noisy):
    result = rum_test(noisy, n_boot=9, weights="inverse-variance", seed=0)
    sample = result.sample
    fit = rf.project(noisy, "counts").rho[masks_of(sample.menus)[sample.unit_menu[sample.unit]], sample.item]
    size = np.bitwise_count(masks_of(sample.menus)[sample.unit_menu[sample.unit]])
    assert sample.weights == pytest.approx(30 / ((30 * fit + 1) / (30 + size)), rel=1e-6)
    assert sample.scale == 1


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


def test_compare_groups(noisy):
    opposite = draw_data(rf.simulate.rankings_mixture(4, 2, seed=77), 30, seed=5)
    result = compare_groups({"x": noisy, "y": opposite}, n_boot=99, seed=0)
    assert result.together.pvalue == 0.01
    assert result.each["x"].pvalue > 0.05
    assert "the groups differ" in result.summary()


def test_a_convention_fixes_everything_and_arguments_win(noisy):
    default, old = rum_test(noisy, 9, seed=0), rum_test(noisy, 9, seed=0, convention="recentred")
    assert (default.weights, default.draws, old.weights, old.draws) == (
        "counts",
        "null",
        "1 on every cell",
        "empirical",
    )
    assert old.tau == pytest.approx(np.sqrt(np.log(30) / 30))
    assert rum_test(noisy, 9, seed=0, convention="abkk").draws == "empirical"
    mixed = rum_test(noisy, 9, seed=0, convention="recentred", weights="counts", draws="null", tau=0.1)
    assert (mixed.weights, mixed.draws, mixed.taus) == ("counts", "null", (0.1,))
    assert (mixed.null_distribution == rum_test(noisy, 9, seed=0, tau=0.1).null_distribution).all()
    assert rum_test(noisy, 9, seed=0, convention=rf.Convention(tau=0.2)).taus == (0.2, 0.0, 0.4)


def test_replicates_are_samples_of_the_tightened_fit(noisy):
    """A plain twin: multinomial counts from the centre, and their distances by enumeration."""
    result = rum_test(noisy, n_boot=400, seed=1, tau=0.2)
    sample = result.sample
    centre, _ = tightened_centre(sample, 0.2, 1e-10)
    rng = np.random.default_rng(0)
    inside = rf.Lattice(4).membership
    w = np.where(inside, 30.0, 0.0)
    w[np.bitwise_count(np.arange(16)) < 2] = 0.0
    uniform = np.where(inside, 1.0 / np.maximum(inside.sum(axis=1), 1)[:, None], 0.0)
    plain = []
    for _ in range(400):
        target = inside.astype(float)
        for u in range(len(sample.sizes)):
            own = sample.unit == u
            mask = masks_of(sample.menus)[sample.unit_menu[u]]
            target[mask, sample.item[own]] = rng.multinomial(30, centre[own] / centre[own].sum()) / 30
        _, objective = reference.projection((target - 0.2 * uniform) / 0.8, w)
        plain.append(2 * 0.64 * objective)
    for q in (0.25, 0.5, 0.75, 0.9):
        assert np.quantile(result.null_distribution, q) == pytest.approx(np.quantile(plain, q), rel=0.2)


def test_tiny_menus_among_large_ones():
    """Resampled as they are, menus with one choice make true models look false; drawn from the null they do not."""
    rejected = {"null": 0, "empirical": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rho = rf.simulate.rankings_mixture(4, 24, seed=seed)
        large = draw_data(rho, 200, seed)
        counts = large.counts.copy()
        for j in rng.choice(len(counts), 5, replace=False):
            inside = np.flatnonzero(large.membership[j])
            p = rho[large.masks[j], inside]
            counts[j, inside] = rng.multinomial(1, p / p.sum())
        data = rf.ChoiceData(large.items, large.membership, counts, np.nansum(counts, axis=1))
        for kind in rejected:
            weights = None if kind == "empirical" else "auto"
            result = rum_test(data, 59, seed=seed, tau="auto", draws=kind, weights=weights)
            rejected[kind] += result.rejects()
    assert rejected["null"] <= 2
    assert rejected["empirical"] >= 6
    assert "5 of 11 menus have fewer than 5 choices" in result.summary()
    assert "Menus are unequal, with 1 to 200 choices" in result.summary()


# Degenerate data: an answer, or an error that explains itself.


def test_one_observation_a_menu():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("b", "c"): {"b": 1}, ("a", "c"): {"c": 1}})
    result = rum_test(data, n_boot=19, seed=0)
    assert 0 < result.pvalue <= 1
    assert result.tau == pytest.approx(0.525 * 3**-0.2)
    assert "Every menu has fewer than 5 choices: {a, b} (1), {a, c} (1), {b, c} (1)." in result.summary()


def test_no_note_on_remainders_where_all_was_recorded():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 6, "c": 7}})
    result = rum_test(data, n_boot=9, seed=0, weights="inverse-variance")
    assert result.sample.unweighted_rest.tolist() == []
    assert not any("did not record" in note for note in result.notes)


def test_critical_values_by_their_definition():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 1, "c": 2}})
    result = replace(
        rum_test(data, n_boot=19, seed=0), null_distributions=np.random.default_rng(0).permutation(19)[None]
    )
    assert result.critical_value(0.04) == np.inf
    for level in (0.05, 0.09, 0.1, 0.35, 0.95):
        value = result.critical_value(level)
        below, above = ((1 + (result.null_distribution >= value + step).sum()) / 20 for step in (-0.5, 0.5))
        assert above <= level + 1e-12 < below


def test_the_smallest_menus_are_named():
    counts = {pair: {pair[0]: k, pair[1]: 0} for k, pair in zip((4, 9, 2, 3, 1), combinations("abcd", 2), strict=False)}
    result = rum_test(rf.ChoiceData.from_counts(counts), n_boot=9, seed=0)
    assert "4 of 5 menus have fewer than 5 choices: {b, d} (1), {a, d} (2), {b, c} (3), ..." in result.summary()


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


def test_weights_by_menu_beside_a_menu_without_records():
    """A menu of which nothing is known has no slot, and does not move the weights of the others."""
    inside = np.array([[True, True, False], [True, False, True], [True, True, True]])
    counts = np.array([[30.0, 70, np.nan], [np.nan, np.nan, np.nan], [60, 30, 10]])
    data = rf.ChoiceData(tuple("abc"), inside, counts, np.full(3, 100.0))
    weights = np.where(inside, np.array([[1.0], [9.0], [5.0]]), 0.0)
    assert build_sample(data, weights, Convention()).weights.tolist() == [1, 1, 5, 5, 5]


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


@pytest.mark.parametrize(
    "field",
    [
        {"set": "ball"},
        {"cells": "some"},
        {"scale": "huge"},
        {"scale": -1.0},
        {"centre": "x"},
        {"weights": "size"},
        {"draws": "some"},
        {"tau": 1.0},
        {"tau": "half"},
    ],
)
def test_bad_convention(field):
    with pytest.raises(rf.InputError, match="convention: "):
        Convention(**field)


def test_bad_data():
    with pytest.raises(rf.InputError, match="a ChoiceData is needed"):
        rum_test(np.zeros((8, 3)))
    with pytest.raises(rf.InputError, match="no group"):
        rum_test([])
    with pytest.raises(rf.InputError, match="group 1 is a int"):
        rum_test([rf.ChoiceData.from_counts({("a", "b"): {"a": 1}}), 3])


def test_tau_rule():
    behind = np.array([2.0, 40.0, 60.0])

    def find(tau, convention, behind=behind, size=4.0):
        return find_taus(tau, behind, np.full(3, size), convention)

    own = 0.4 * (3**-0.2 + 40**-0.2 + 60**-0.2) / 3  # the first menu counts as one of three choices
    assert find("auto", Convention(tau="mean")) == pytest.approx((own, 0, 2 * own))
    assert find("mean", Convention()) == pytest.approx((own,))
    assert find("mean", Convention(), size=2.5) == pytest.approx((1.28 * own,))
    assert find("mean", Convention(), size=2.0) == pytest.approx((0.525 / 0.4 * own,))
    assert find("auto", find_convention("abkk"), 56 * behind) == pytest.approx((0.20525, 0, 0.41051), abs=1e-4)
    assert find("mean", Convention(), np.full(3, 34.0)) == pytest.approx((0.4 * 34**-0.2,))
    assert find("mean", Convention(), np.array([0.0, 3.0, np.inf])) == pytest.approx((0.8 / 3 * 3**-0.2,))
    assert find("auto", Convention(), np.full(3, np.inf)) == find("smallest", Convention(), np.full(3, np.inf)) == (0,)
    assert find("smallest", Convention()) == pytest.approx((np.sqrt(np.log(3) / 3),))
    assert find(["auto", 0.1], Convention(tau=0.3)) == (0.3, 0.1)
    assert find(1.5, Convention("cone")) == (1.5,)


def test_repr(noisy):
    result = rum_test(noisy, n_boot=9, seed=0)
    assert isinstance(result, RumTest)
    assert repr(result).startswith("RumTest(statistic=")
