"""Projections that begin from an earlier fit, its rankings or mixtures; starts that are refused."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.checks import assert_certified
from tests.reference.stacks import same_menus, stack


def test_warm_start_ends_at_the_same_point():
    rho = rf.simulate.noisy_rankings(9, seed=4)
    cold = rf.project(rho)
    warm = rf.project(rho, start=cold.rankings)
    assert warm.iterations <= 2
    assert warm.objective == pytest.approx(cold.objective, rel=1e-12)
    other = rf.project(rf.simulate.noisy_rankings(9, seed=5), start=cold.rankings)
    assert_certified(other)
    repeated = rf.Rankings(np.repeat(cold.rankings.orders, 2, 0), np.repeat(cold.rankings.weights, 2), cold.items)
    assert rf.project(rho, start=repeated).objective == pytest.approx(cold.objective, rel=1e-12)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("fit", "an earlier fit or its rankings"),
        (rf.Rankings(np.zeros((2, 3), int), np.ones(2), (0, 1, 2)), r"\(k, 12\)"),
        (rf.Rankings(np.zeros((1, 12), int), np.ones(1), tuple(range(12))), "each of the items 0 to 11 once"),
        (rf.Rankings(np.arange(12)[None], -np.ones(1), tuple(range(12))), "0 or more"),
    ],
)
def test_starts_that_are_refused(start, message):
    with pytest.raises(rf.InputError, match=message):
        rf.project(rf.simulate.random_menus(12, 20, 4, seed=0), start=start)


def test_a_start_must_be_of_the_model():
    data = rf.simulate.random_menus(10, 25, 4, seed=5)
    fit = rf.project(data, route="graph")
    model = rf.RandomUtility(above=[(0, 1), (2, 3)])
    with pytest.raises(rf.InputError, match="types are not possible in RandomUtility"):
        rf.project(data, model=model, start=fit)
    narrow = rf.project(data, model=model)
    assert rf.project(data, start=narrow, route="graph").objective == pytest.approx(fit.objective, rel=1e-9)
    assert rf.project(data, model=rf.RandomUtility(above=[(0, 1), (2, 3)]), start=narrow).iterations <= 3


def test_warm_start():
    targets = stack(8, 10)
    cold = rf.project_many(targets)
    moved = targets + 1e-4 * np.random.default_rng(0).normal(size=targets.shape) * (targets > 0)
    warm = rf.project_many(moved, start=cold)
    assert warm.rho == pytest.approx(rf.project_many(moved).rho, abs=1e-9)
    assert warm.iterations.sum() < 0.5 * cold.iterations.sum()
    one = rf.project(targets[0])
    assert rf.project_many(targets, start=one).objective == pytest.approx(cold.objective, rel=1e-9)


def test_starts_of_other_sizes_and_broken_ones_are_refused():
    four, five = (rf.simulate.dirichlet(n, 1) for n in (4, 5))
    with pytest.raises(rf.InputError, match="a fit for n = 5 items, problems for n = 4"):
        rf.project_many(four[None], start=rf.project(five))
    paths, weights = rf.project(four).mixture
    for broken in (
        (paths[:, :3], weights),
        (paths + 8, weights),
        (np.zeros_like(paths), weights),
        (paths, -weights),
        (paths, weights[:-1]),
    ):
        with pytest.raises(rf.InputError, match="start: mixture 0 must be paths of rankings of 4 items"):
            rf.project_many(four[None], start=[broken])


def test_a_start_with_weights_of_zero():
    target = rf.simulate.dirichlet(4, 0)
    path = rf.project(target).mixture[0][:1]
    start = [(np.repeat(path, 2, axis=0), np.array([0.0, 1.0]))]
    assert rf.project_many([target], start=start).objective == pytest.approx(rf.project(target).objective)


def test_starts_of_data_sets():
    data = same_menus(12, 9, 3)
    cold = rf.project_many(data)
    for start in (cold, cold[0]):
        warm = rf.project_many(data, start=start)
        assert warm.objective == pytest.approx(cold.objective, rel=1e-9)
    assert rf.project_many(data, start=cold).iterations.sum() < cold.iterations.sum()
    with pytest.raises(rf.InputError, match="with data sets, an earlier batch or a projection is needed"):
        rf.project_many(data, start=[None] * 3)
