"""Thinning: the mixture near a fit that has fewer types, and what it changes in the test."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.inference import thin
from rumflow.inference.confidence import interval_tau
from rumflow.inference.convention import CONVENTIONS, Convention, find_taus, inequality
from rumflow.inference.replicate import distances, thinned, tightened_centre
from rumflow.inference.sample import build_sample
from rumflow.inference.thin import drop_types, thin_mixture

MENUS = [("a", "b"), ("b", "c"), ("a", "c", "d"), ("b", "c", "d"), ("a", "b", "c", "d")]


def draw(sizes, seed=0, menus=MENUS):
    """Choices of a population with two opposite rankings, and a fifth of all others."""
    rng = np.random.default_rng(seed)
    counts = {}
    orders = ["abcd", "dcba", *map("".join, permutations("abcd"))]
    for menu, size in zip(menus, sizes, strict=True):
        order = rng.choice(orders, size, p=[0.4, 0.4, *[0.2 / 24] * 24])
        chosen = [next(x for x in own if x in menu) for own in order]
        counts[menu] = {x: float(chosen.count(x)) for x in menu}
    return rf.ChoiceData.from_counts(counts)


def random_types(k, menus, seed):
    """0/1 choices of k types from menus of three items, the cells side by side, and shares."""
    rng = np.random.default_rng(seed)
    picked = rng.integers(3, size=(k, menus))
    return (picked[:, :, None] == np.arange(3)).reshape(k, -1).astype(float), rng.dirichlet(np.ones(k))


def best_shares(rows, target, sizes):
    """Shares with sum 1, of any sign, whose mixture is nearest to the target, by the equations of Lagrange."""
    k = len(rows)
    system = np.zeros((k + 1, k + 1))
    system[:k, :k] = rows * sizes @ rows.T
    system[k, :k] = system[:k, k] = 1
    return np.linalg.solve(system, np.append(rows * sizes @ target, 1))[:k]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("allowed", [0.05, 0.5, 3.0])
def test_what_is_left_is_the_best_mixture_of_its_types(seed, allowed):
    rows, shares = random_types(9, 8, seed)
    sizes = np.repeat(np.random.default_rng(seed).integers(2, 90, 8), 3).astype(float)
    gram = rows * sizes @ rows.T
    kept, found = drop_types(gram, shares, allowed)
    fit = shares @ rows
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert found == pytest.approx(best_shares(rows[kept], fit, sizes), abs=1e-6)
    assert (sizes * (found @ rows[kept] - fit) ** 2).sum() <= allowed * (1 + 1e-6)


def test_the_first_to_go_costs_least():
    rows, shares = random_types(7, 8, 3)
    sizes = np.full(24, 20.0)
    fit = shares @ rows

    def cost(j):
        rest = np.delete(rows, j, axis=0)
        return (sizes * (best_shares(rest, fit, sizes) @ rest - fit) ** 2).sum()

    costs = np.array([cost(j) for j in range(7)])
    gram = rows * sizes @ rows.T
    least, second = np.sort(costs)[:2]
    assert len(drop_types(gram, shares, least * 0.999)[0]) == 7
    kept, _ = drop_types(gram, shares, least + 1e-6 * second)
    assert set(range(7)) - set(kept) == {int(costs.argmin())}


def test_nothing_allowed_and_everything_allowed():
    rows, shares = random_types(6, 8, 1)
    gram = rows @ rows.T
    kept, found = drop_types(gram, shares, 0.0)
    assert list(kept) == list(range(6))
    assert found == pytest.approx(shares)
    assert [len(part) for part in drop_types(gram, shares, 1e9)] == [1, 1]


def test_types_that_do_not_matter():
    """With tau = 1 the centre is the same for any types: G is 0."""
    kept, found = drop_types(np.zeros((3, 3)), np.array([0.5, 0.3, 0.2]), 1.0)
    assert len(kept) == 1
    assert found == pytest.approx([1.0])
    counts = {("a", "b"): {"a": 1, "b": 0}, ("b", "c"): {"b": 0, "c": 13729}, ("a", "b", "c"): {"a": 0, "b": 1, "c": 0}}
    explanation = rf.explain(rf.ChoiceData.from_counts(counts), n_boot=19, halves=2)
    assert not explanation.interrupted


def test_types_that_agree_on_what_was_recorded_become_one():
    rows, shares = random_types(4, 6, 2)
    twice, halves = np.vstack([rows, rows]), np.concatenate([shares, shares]) / 2
    kept, found = drop_types(twice @ twice.T, halves, 1e-6)
    assert len(kept) == 4
    assert found @ twice[kept] == pytest.approx(shares @ rows, abs=1e-6)


@pytest.mark.parametrize(
    ("route", "model"), [("lattice", None), ("graph", None), (None, rf.SinglePeaked(["a", "b", "c", "d"]))]
)
def test_mixtures_of_every_route_are_read(route, model):
    sample = build_sample(draw([40, 9, 30, 5, 60]), "counts", Convention(), model=model, route=route)
    fits = distances(sample, sample.frequency[None], 0.2, 1e-10).fits
    types, shares = fits.mixtures[0]
    takes = sample.projector.takes(sample.projector.choices_of(types))
    assert shares @ takes == pytest.approx(fits.fitted[0], abs=1e-9)
    sizes = sample.sizes[sample.unit]
    fitted, (fewer, own) = thin_mixture(sample.projector, (types, shares), sizes, 1.0)
    assert len(own) < len(shares)
    again = sample.projector.takes(sample.projector.choices_of(fewer))
    assert own @ again == pytest.approx(fitted, abs=1e-9)
    # Against a search for the nearest mixture of these types: none is nearer.
    norm = np.sqrt(sizes)
    a, b = np.vstack([(again * norm).T, np.full(len(own), 1e4)]), np.append(fits.fitted[0] * norm, 1e4)
    assert ((fitted - fits.fitted[0]) ** 2 @ sizes) == pytest.approx(nnls(a, b)[1] ** 2, rel=1e-3, abs=1e-7)


def test_of_many_types_those_with_the_least_shares_may_change(monkeypatch):
    sample = build_sample(draw([40, 9, 30, 5, 60]), "counts", Convention(), route="lattice")
    fits = distances(sample, sample.frequency[None], 0.2, 1e-10).fits
    types, shares = fits.mixtures[0]
    sizes = sample.sizes[sample.unit]
    monkeypatch.setattr(thin, "MOST_TYPES", 3)
    fitted, (fewer, own) = thin_mixture(sample.projector, (types, shares), sizes, 1e6)
    kept = [int(np.flatnonzero((types == one).all(axis=1))[0]) for one in fewer]
    least = set(np.argsort(shares)[:3].tolist())
    assert len(set(kept) & least) == 1  # everything is allowed, so that one is left of the three
    for k, share in zip(kept, own, strict=True):
        assert share == pytest.approx(sum(shares[list(least)]) if k in least else shares[k])
    assert fitted == pytest.approx(own @ sample.projector.takes(sample.projector.choices_of(fewer)))


def test_data_inside_the_model_have_a_mixture_too():
    counts = {menu: {x: 10.0 for x in menu} for menu in MENUS[:4]}
    sample = build_sample(rf.ChoiceData.from_counts(counts), "counts", Convention(), route="lattice")
    fits = distances(sample, sample.frequency[None], 0.0, 1e-10).fits
    types, shares = fits.mixture(0)
    takes = sample.projector.takes(sample.projector.choices_of(types))
    assert shares @ takes == pytest.approx(sample.frequency, abs=1e-9)


def test_where_fits_are_thinned(monkeypatch):
    data = draw([200, 7, 200, 6, 200], seed=4)
    sizes = data.totals
    assert build_sample(data, "counts", Convention()).unequal(sizes) == pytest.approx(inequality(sizes))
    for weights, convention in (
        (None, Convention()),
        ("inverse-variance", Convention()),
        ("counts", Convention(thin=0)),
        ("counts", Convention(draws="empirical")),
    ):
        sample = build_sample(data, weights, convention)
        assert sample.unequal(sample.sizes) == 0
        assert sample.convention == convention  # as it was given
    both = build_sample([data, draw([6, 199, 6, 200, 6], seed=5)], "counts", Convention())
    assert both.unequal(both.sizes) == 0  # 206 choices from every menu
    monkeypatch.setattr("rumflow.inference.sample.MOST_CELLS", 13)
    assert build_sample(data, "counts", Convention()).unequal(sizes) == 0


def test_data_inside_the_model_start_from_nothing():
    menus = [*combinations("abcd", 2), *combinations("abcd", 3), tuple("abcd")]  # all of them, of uniform choosers
    counts = {menu: {x: 10.0 + 90 * (i % 2) for x in menu} for i, menu in enumerate(menus)}
    sample = build_sample(rf.ChoiceData.from_counts(counts), "counts", Convention(), route="lattice")
    fits = distances(sample, sample.frequency[None], 0.0, 1e-10).fits
    fitted, (start,) = thinned(sample, fits, 0.0, sample.sizes)
    assert len(start[1]) == len(fits.mixtures[0][1]) == 0
    assert (fitted[0] != fits.fitted[0]).any()


def test_the_convention_of_a_result_is_the_one_asked_for():
    data = draw([200, 7, 200, 6, 200], seed=4)
    for name in ("default", "recentred", "abkk", "kitamura-stoye"):
        assert rf.rum_test(data, 5, seed=1, convention=name).convention == CONVENTIONS[name]
    again = rf.rum_test(data, 5, seed=1, weights=None).convention
    assert rf.rum_test(data, 5, seed=1, convention=again).tau == rf.rum_test(data, 5, seed=1).tau


def test_intervals_are_not_thinned(monkeypatch):
    monkeypatch.setattr("rumflow.inference.replicate.thin_mixture", None)  # to call it is an error
    data = draw([200, 7, 200, 6, 200], seed=4)
    assert rf.bounds(data, ["a", "c"], n_boot=19, seed=1, tau="thinned", interval="distance") is not None


def test_the_centre_is_in_the_tightened_set_and_near_the_fit():
    data, tau = draw([200, 7, 200, 6, 200], seed=4), 0.2
    sample = build_sample(data, "counts", Convention())
    plain, mixture = tightened_centre(sample, tau, 1e-10)
    centre, fewer = tightened_centre(sample, tau, 1e-10, sample.sizes)
    assert len(fewer[1]) < len(mixture[1])
    assert distances(sample, centre[None], tau, 1e-10).statistic[0] == pytest.approx(0, abs=1e-7)
    moved = sample.sizes[sample.unit] @ (centre - plain) ** 2
    assert 0 < moved <= 0.6 * inequality(sample.sizes) * (1 + 1e-6)
    assert np.bincount(sample.unit, centre) == pytest.approx(1, abs=1e-12)


def test_groups_count_together():
    data = [draw([200, 7, 200, 6, 200], seed=4), draw([20, 70, 20, 60, 2], seed=5)]
    sample = build_sample(data, "counts", Convention())
    fits = distances(sample, sample.frequency[None], 0.1, 1e-10).fits
    fitted, _ = thinned(sample, fits, 0.1, sample.sizes)
    both = np.bincount(sample.column, sample.sizes[sample.unit])
    pooled = inequality(np.array([220, 77, 220, 66, 202.0]))
    assert 0 < 0.9**2 * both @ (fitted[0] - fits.fitted[0]) ** 2 <= 0.6 * pooled * (1 + 1e-6)


def test_equal_menus_are_tested_as_without():
    data = draw([40] * 5)
    plain = rf.rum_test(data, 49, seed=1, convention=Convention(tau="mean", thin=0))
    assert (rf.rum_test(data, 49, seed=1).null_distributions == plain.null_distributions).all()


def test_unequal_menus_are_not_and_other_draws_are():
    data = draw([200, 7, 200, 6, 200], seed=4)
    own, plain = (rf.rum_test(data, 49, seed=1, convention=Convention(tau=0.2, thin=thin)) for thin in (0.6, 0))
    assert (own.null_distribution != plain.null_distribution).any()
    assert own.statistic == plain.statistic
    for name in ("recentred", "abkk", "kitamura-stoye"):
        convention = CONVENTIONS[name]
        sample = build_sample(data, convention.weights, convention)
        centres = [tightened_centre(sample, 0.2, 1e-9, n_independent)[0] for n_independent in (None, sample.sizes)]
        assert (centres[0] == centres[1]).all()


@pytest.mark.parametrize("weights", [None, "inverse-variance", "array"])
def test_other_weights_are_not_thinned(weights):
    data = draw([200, 7, 200, 6, 200], seed=4)
    given = np.where(np.isnan(data.frequencies), 0.0, 1.0) if weights == "array" else weights
    own, plain = (
        rf.rum_test(data, 19, seed=1, weights=given, convention=Convention(thin=thin, tau=tau))
        for thin, tau in ((0.6, "thinned"), (0, "mean"))
    )
    assert own.taus == plain.taus
    assert (own.null_distributions == plain.null_distributions).all()
    assert rf.rum_test(data, 19, seed=1).tau < own.tau


def test_intervals_keep_their_tau():
    sample = build_sample(draw([200, 7, 200, 6, 200], seed=4), "counts", Convention())
    mean = find_taus("mean", sample.sizes, sample.menu_sizes, sample.convention)[0]
    assert interval_tau("auto", sample, sample.sizes) == pytest.approx(2 * mean)
    assert interval_tau(0.1, sample, sample.sizes) == 0.1
