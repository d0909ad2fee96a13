"""Centres and distances of replicates, against enumeration and by hand."""

from dataclasses import replace
from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import nnls

import rumflow as rf
from rumflow.data.menus import masks_of
from rumflow.inference import rum_test
from rumflow.inference.convention import Convention
from rumflow.inference.replicate import distances, make_replicator, tightened_centre
from rumflow.inference.resample import make_sampler
from rumflow.inference.sample import build_sample
from rumflow.inference.test import make_result
from tests.reference import lattice as reference
from tests.reference.examples import DECOY
from tests.reference.samples import draw_data


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


def test_distances_and_centres_by_hand():
    """DECOY is 24/7 away; tightened towards (1/2, 1/2) and (1/3, 1/3, 1/3) by a tenth it is a little more."""
    sample = build_sample(DECOY, "counts", Convention())
    found = distances(sample, sample.frequency[None], 0.0, 1e-12)
    assert found.statistic == pytest.approx([24 / 7], rel=1e-9)
    assert found.gap[0] <= 1e-9
    assert found.certified.tolist() == [True]
    # Regularity of the tightened set: a from three is at most a from two, less 0.1 (1/2 - 1/3).
    excess = 0.2 + 0.1 / 6
    tightened = distances(sample, sample.frequency[None], 0.1, 1e-12).statistic[0]
    assert tightened == pytest.approx(24 / 7 * (excess / 0.2) ** 2, rel=1e-9)
    centre, _ = tightened_centre(sample, 0.1, 1e-12)
    assert centre[2] == pytest.approx(centre[0] - 0.1 / 6, abs=1e-9)
    assert (100 * (centre - sample.frequency) ** 2).sum() == pytest.approx(tightened, rel=1e-9)
    on_cone = build_sample(DECOY, "counts", Convention(set="cone"))
    assert distances(on_cone, on_cone.frequency[None], 0.0, 1e-12).statistic[0] <= 24 / 7
    assert on_cone.convention.draws == "empirical"


def test_replicates_and_results_by_hand():
    sample = build_sample(DECOY, "counts", Convention())
    sampler = make_sampler(sample, [DECOY], "menu", None)
    replicator = make_replicator(sample, sampler, [0.1, 0.0], 1e-9, 3, (2,))
    assert replicator.taus == (0.1, 0.0)
    found = replicator(range(2, 5))
    assert found.statistic.shape == (2, 3)
    assert found.certified.all()
    assert found.vanished.tolist() == [0, 0, 0]
    again = replicator([4])
    assert again.statistic[:, 0] == pytest.approx(found.statistic[:, 2], rel=1e-9)
    observed = distances(sample, sample.frequency[None], 0.0, 1e-12)
    statistic = float(observed.statistic[0])
    collected = SimpleNamespace(
        done=np.array([True, True, False, True]),
        statistic=np.array([[0.0, 2 * statistic, np.nan, statistic], [0.0, 0.0, np.nan, 0.0]]),
        certified=np.array([[True, False, False, True], [True, True, False, True]]),
        vanished=np.array([0, 3, 0, 0]),
        interrupted=True,
    )
    result = make_result(replicator, observed, collected, "menu", "counts", ("note",), 1.5)
    assert result.pvalues.tolist() == [3 / 4, 1 / 4]
    assert (result.n_boot, result.failed, result.vanished, result.interrupted, result.seed) == (3, 1, 1, True, 3)
    assert result.null_distribution.tolist() == [0.0, 2 * statistic, statistic]
    assert (result.tau, result.pvalue, result.notes, result.seconds) == (0.1, 0.75, ("note",), 1.5)
    assert result.rejects(0.25, 0.0)
    assert not result.rejects(0.24, 0.0)
    assert not result.rejects(0.25)
    assert result.critical_value(0.5) == statistic  # one of three may be as large
    assert result.critical_value(0.25) == 2 * statistic
    assert result.critical_value(0.2) == np.inf
    between = replace(result, pvalues=np.array([0.07, 0.04]))
    assert not between.rejects()
    assert between.rejects(tau=0.0)
    many = replace(result, null_distributions=np.arange(39.0)[None])
    assert many.critical_value() == many.critical_value(0.05) == 37.0
    assert many.critical_value(0.1) == 35.0
    for wrong in (0, 1):
        with pytest.raises(rf.InputError, match="between 0 and 1"):
            result.critical_value(wrong)
    with pytest.raises(rf.InputError, match=r"tau=0.2 was not tested; tested were 0.1, 0$"):
        result.critical_value(0.05, 0.2)


def test_replicates_in_which_menus_vanish():
    """DECOY without its small menu fits; without both there is nothing to measure."""
    sample = build_sample(DECOY, "counts", Convention())
    drawn = np.tile(sample.frequency, (4, 1))
    drawn[1, :2] = np.nan
    drawn[2] = np.nan
    drawn[3, 2:] = np.nan
    sampler = SimpleNamespace(
        draw=lambda generators, centre: drawn[: len(generators)], n_independent=np.array([50.0, 50.0])
    )
    found = make_replicator(sample, sampler, [0.0], 1e-12, 0)(range(4))
    assert found.statistic[0] == pytest.approx([24 / 7, 0.0, 0.0, 0.0], abs=1e-6)
    assert found.vanished.tolist() == [0, 1, 2, 1]
    assert found.certified.tolist() == [[True] * 4]
    whole = make_replicator(sample, sampler, [0.0], 1e-12, 0)(range(1))
    assert whole.vanished.tolist() == [0]


def test_a_threshold_keeps_statistics_of_groups_on_their_side():
    """Rows of several groups leave different remainders of the distance; a threshold must not be that of another row."""
    rng = np.random.default_rng(2)
    groups = [rf.simulate.random_menus(12, 14, 4, draws=size, seed=7) for size in (5, 40)]
    sample = build_sample(groups, "counts", Convention())
    assert sample.projector.geometry.route == "graph"
    assert sample.n_groups == 2
    p = np.empty((6, len(sample.frequency)))
    starts = np.flatnonzero(np.append(True, sample.unit[1:] != sample.unit[:-1]))
    for row, size in zip(p, (4, 30) * 3, strict=True):
        for first, last in pairwise([*starts, len(row)]):
            row[first:last] = (
                rng.multinomial(size, sample.frequency[first:last] / sample.frequency[first:last].sum()) / size
            )
    exact = distances(sample, p, 0.0, 1e-9).statistic
    for threshold in 1.01 * exact:
        found = distances(sample, p, 0.0, 1e-9, only_upper=True, threshold=threshold)
        np.testing.assert_array_equal(found.statistic > threshold, exact > threshold)
