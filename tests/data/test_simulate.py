"""Simulated data: families, draws, masks of what was observed, problems with a known projection."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data import simulate


@pytest.mark.parametrize(
    "family",
    [
        simulate.dirichlet,
        simulate.rankings_mixture,
        simulate.noisy_rankings,
        simulate.mixed_logit,
        lambda n, seed: simulate.mixed_logit(n, draws=30, seed=seed),
        lambda n, seed: simulate.mixed_logit(n, draws=30_000, seed=seed),
    ],
)
def test_probabilities_with_a_seed(family):
    rho = family(5, seed=3)
    inside = rf.Lattice(5).membership
    assert (rho[~inside] == 0).all()
    assert rho.min() >= 0
    assert rho[1:].sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert (family(5, seed=3) == rho).all()
    assert (family(5, seed=4) != rho).any()
    assert (family(5, seed=np.random.default_rng(3)) == rho).all()


def test_exact_families_are_rum():
    assert rf.is_rum(simulate.rankings_mixture(6, 9, seed=0), tol=1e-12)
    assert rf.is_rum(simulate.mixed_logit(6, seed=0), tol=1e-12)
    assert (simulate.noisy_rankings(6, 9, None, seed=0) == simulate.rankings_mixture(6, 9, seed=0)).all()


@pytest.mark.parametrize("draws", [40, 2000])
def test_draws_are_multinomial(draws):
    """With the same seed, draws are from the exact probabilities."""
    exact, samples = (
        np.array([simulate.mixed_logit(3, draws=times, seed=seed) for seed in range(2000)]) for times in (None, draws)
    )
    assert samples * draws == pytest.approx(np.round(samples * draws), abs=1e-9)
    assert (samples - exact).mean(axis=0) == pytest.approx(0, abs=5 * np.sqrt(0.25 / draws / 2000))
    variance = exact * (1 - exact) / draws
    assert ((samples - exact) ** 2).mean(axis=0) == pytest.approx(variance.mean(axis=0), rel=0.2, abs=1e-9)


@pytest.mark.parametrize("n", [2, 4, 7])
def test_known_projection_is_optimal_by_kkt(n):
    known = simulate.known_projection(n, seed=0)
    assert known.data[1:].sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert np.linalg.norm(known.data - known.answer) == pytest.approx(known.distance)
    flow = rf.block_marschak(known.answer)
    assert flow.min() >= -1e-12
    rng = np.random.default_rng(1)
    for _ in range(30):  # no random ranking lies on the far side of the supporting hyperplane
        other = simulate.rankings_mixture(n, 1, rng)
        assert ((known.data - known.answer) * (other - known.answer)).sum() <= 1e-12


def test_masks():
    menus = simulate.observed_menus(6, 0.25, seed=0)
    whole = menus.any(axis=1)
    assert (menus[whole] == rf.Lattice(6).membership[whole]).all()
    assert whole.sum() == round(0.25 * 57)
    cells = simulate.observed_cells(6, 0.25, seed=0)
    assert 0.15 < cells.sum() / (192 - 6) < 0.35
    hidden = simulate.hide(simulate.dirichlet(6, 0), menus)
    assert (np.isnan(hidden) == (rf.Lattice(6).membership & ~menus)).all()
    assert simulate.observed_menus(4, 0.0, seed=0).any()
    assert simulate.observed_cells(4, 0.0, seed=0).sum() == 1


def test_some_menus_of_many_items():
    data = simulate.random_menus(300, 200, 12, seed=0)
    assert data.membership.shape == (200, 300)
    assert (data.membership.sum(axis=1) == 12).all()
    assert len({row.tobytes() for row in data.membership}) == 200
    assert (data.totals == 100).all()
    assert (np.isnan(data.counts) == ~data.membership).all()
    assert simulate.random_menus(300, 200, 12, seed=0).equals(data)
    assert not simulate.random_menus(300, 200, 12, seed=1).equals(data)
    shop = simulate.stock_outs(300, 300, 0.05, seed=np.random.default_rng(2))
    assert (shop.membership.sum(axis=1) == 285).all()
    assert shop.n_observations == 30_000
    assert (simulate.stock_outs(3, 3, 0.01, seed=0).membership.sum(axis=1) == 2).all()
    assert len(simulate.random_menus(5, 10, 2, seed=0).menus) == 10


def test_exact_shares_of_some_menus_are_rum():
    """Every menu of one size, so the array has whole menus; one ranking makes every choice sure."""
    data = simulate.random_menus(5, 10, 3, draws=None, seed=4)
    assert np.nansum(data.counts, axis=1) == pytest.approx(1, abs=1e-12)
    assert rf.project(data).distance == pytest.approx(0, abs=1e-7)
    sure = simulate.random_menus(40, 20, 5, n_rankings=1, draws=7, seed=4)
    assert set(np.nan_to_num(sure.counts).max(axis=1)) == {7}
    again = simulate.random_menus(6, 15, 2, n_rankings=8, draws=200_000, seed=4)
    exact = simulate.random_menus(6, 15, 2, n_rankings=8, draws=None, seed=4)
    np.testing.assert_allclose(again.frequencies, exact.frequencies, atol=0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: simulate.noisy_rankings(3, 0), "n_rankings"),
        (lambda: simulate.noisy_rankings(3, draws=0), "draws"),
        (lambda: simulate.mixed_logit(3, 0), "n_types"),
        (lambda: simulate.known_projection(3, dimension=-1), "dimension"),
        (lambda: simulate.observed_menus(3, 1.5), "share"),
        (lambda: simulate.observed_cells(3, -1), "share"),
        (lambda: simulate.dirichlet("3"), "whole number"),
        (lambda: simulate.random_menus(4, 7, 2), "n_menus=7: a whole number from 1 to 6 is needed"),
        (lambda: simulate.random_menus(4, 2, 5), "size"),
        (lambda: simulate.random_menus(4, 2, 0), "size"),
        (lambda: simulate.random_menus(4, 2, 2, n_rankings=0), "n_rankings"),
        (lambda: simulate.random_menus(4, 2, 2, draws=0), "draws"),
        (lambda: simulate.random_menus(4.5, 2, 2), "whole number"),
        (lambda: simulate.stock_outs(4, 2, 1.5), "missing"),
        (lambda: simulate.stock_outs(1, 2), "n=1: a whole number"),
    ],
)
def test_bad_options(call, words):
    with pytest.raises(rf.InputError, match=words):
        call()
