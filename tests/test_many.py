import numpy as np
import pytest
import reference
from scipy.optimize import nnls

import rumflow as rf


def stack(n, count, seed=0):
    return np.array([rf.simulate.noisy_rankings(n, draws=20, seed=seed + i) for i in range(count)])


@pytest.mark.parametrize("n", [3, 5, 9])
def test_a_batch_equals_its_members(n):
    targets = stack(n, 12)
    batch = rf.project_many(targets)
    for target, rho, objective, gap in zip(targets, batch.rho, batch.objective, batch.gap, strict=True):
        alone = rf.project(target)
        assert (rho == alone.rho).all() or alone.inside
        assert objective == pytest.approx(alone.objective, rel=1e-12, abs=1e-25)
        assert gap <= max(1e-9 * objective, 1e-12)


def test_forms_and_threads_give_the_same_bits():
    lattice = rf.Lattice(5)
    targets = stack(5, 40)
    arrays = rf.project_many(targets, threads=1)
    cells = rf.project_many(targets[:, lattice.membership], threads=3)
    assert (cells.rho == arrays.rho[:, lattice.membership]).all()
    assert (cells.flow == arrays.flow[:, lattice.membership]).all()
    assert (cells.gap == arrays.gap).all()


def test_any_finite_numbers():
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        batch = rf.project_many(scale * rng.normal(size=(20, 80)))
        assert batch.flow.min() >= 0
        sums = batch.lattice.from_internal(batch.lattice.cells_to_internal(batch.rho[0])).sum(axis=1)[1:]
        assert sums == pytest.approx(1, abs=1e-12)


def test_sums_other_than_one_are_not_inside():
    rho = rf.simulate.mixed_logit(4, seed=0)
    batch = rf.project_many([2 * rho, rho])
    assert batch.distance[0] > 0.1
    assert batch.distance[1] <= 1e-13
    assert batch.rho[1] == pytest.approx(rho, abs=1e-14)


def test_warm_start():
    targets = stack(8, 10)
    cold = rf.project_many(targets)
    moved = targets + 1e-4 * np.random.default_rng(0).normal(size=targets.shape) * (targets > 0)
    warm = rf.project_many(moved, start=cold)
    assert warm.rho == pytest.approx(rf.project_many(moved).rho, abs=1e-9)
    assert warm.iterations.sum() < 0.5 * cold.iterations.sum()
    one = rf.project(targets[0])
    assert rf.project_many(targets, start=one).objective == pytest.approx(cold.objective, rel=1e-9)


def test_weights_and_unobserved_cells():
    targets = stack(5, 6)
    weights = np.where(rf.simulate.observed_menus(5, 0.5, 1), 3.0, 0.0)
    targets[:, weights == 0] = 0.0
    batch = rf.project_many(targets, weights)
    for target, objective in zip(targets, batch.objective, strict=True):
        expected = rf.project(rf.simulate.hide(target, weights > 0), weights).objective
        assert objective == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_products_equal_those_of_the_members(weighted):
    targets = stack(4, 5)
    targets[0] = rf.simulate.mixed_logit(4, seed=0)
    inside = rf.Lattice(4).membership
    rng = np.random.default_rng(1)
    weights = np.where(inside, rng.uniform(1, 2, inside.shape), 0.0) if weighted else None
    vectors = np.where(inside, rng.normal(size=targets.shape), 0.0)
    batch = rf.project_many(targets, weights)
    forward, backward = batch.jvp(vectors), batch.vjp(vectors)
    for i, target in enumerate(targets):
        alone = rf.project(target, weights)
        assert forward[i] == pytest.approx(alone.jvp(vectors[i]), abs=1e-9)
        assert backward[i] == pytest.approx(alone.vjp(vectors[i]), abs=1e-9)


def test_empty_batch():
    batch = rf.project_many(np.empty((0, 80)))
    assert len(batch) == 0
    assert batch.rho.shape == (0, 80)
    assert rf.project_many(np.empty((0, 8, 3))).flow.shape == (0, 8, 3)


def test_bad_input():
    targets = stack(3, 4)
    with pytest.raises(rf.InputError, match=r"shape \(B, 2\^n, n\)"):
        rf.project_many(np.zeros((2, 7)))
    targets[2, 5, 2] = np.nan
    with pytest.raises(rf.InputError, match=r"problem 2: menu \{0, 2\} \(mask 5\), item 2 is nan"):
        rf.project_many(targets)
    with pytest.raises(rf.InputError, match="3 mixtures for 4 problems"):
        rf.project_many(stack(3, 4), start=[None] * 3)
    with pytest.raises(rf.InputError, match="every weight is 0"):
        rf.project_many(stack(3, 4), np.zeros((8, 3)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_cone_agrees_with_enumeration(n, weighted):
    rng = np.random.default_rng(n)
    inside = rf.Lattice(n).membership
    targets = np.where(inside, rng.normal(0.3, 0.5, (8, *inside.shape)), 0.0)
    # As in published tests: the last item of every menu dropped.
    last = np.array([int(mask).bit_length() - 1 for mask in range(1 << n)])
    dropped = inside & (np.arange(n) != last[:, None])
    weights = np.where(dropped, rng.uniform(0.5, 2, inside.shape), 0.0) if weighted else inside.astype(float)
    batch = rf.project_many(targets, weights, cone=True)
    columns = np.array([reference.choice_array(order)[weights > 0] for order in reference.all_rankings(n)]).T
    root = np.sqrt(weights[weights > 0])
    for target, objective, gap in zip(targets, batch.objective, batch.gap, strict=True):
        _, norm = nnls(root[:, None] * columns, root * target[weights > 0])
        assert objective == pytest.approx(norm**2 / 2, abs=1e-9)
        assert objective - norm**2 / 2 <= gap + 1e-9
    assert batch.flow.min() >= 0


def test_cone_of_nothing_good_is_zero():
    batch = rf.project_many(-np.ones((1, 12)), cone=True)
    assert (batch.rho == 0).all()
    assert batch.objective[0] == pytest.approx(6)
