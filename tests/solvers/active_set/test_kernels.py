"""The kernels of the active set against dense linear algebra and enumeration, compiled and as plain Python."""

from itertools import permutations

import numba
import numpy as np
import pytest

from rumflow.core.paths import cheapest_above, cheapest_below, middle_menus
from rumflow.core.problem import NO_WEIGHTS
from rumflow.core.problem import Problem as Projection
from rumflow.solvers.active_set import kernels, on_lattice
from rumflow.solvers.active_set.solve import Workspace, make_problem
from tests.reference import lattice as reference

FORMS = ["compiled", "plain"]
CASES = [(3, False, False), (4, True, False), (5, False, False), (5, True, False), (4, False, True), (4, True, True)]

UNUSED = np.empty((0, 0))  # the cost table moves along on graphs only


@pytest.fixture(params=FORMS)
def form(request, monkeypatch):
    """What to call: the kernel itself, or the Python it is made of."""
    if request.param == "compiled":
        return lambda function: function
    # One that Python can call, and that kernels can be compiled with while it is in place.
    count = kernels.subset_count
    monkeypatch.setattr(kernels, "subset_count", numba.njit(lambda bits: count(bits)))  # noqa: PLW0108
    return lambda function: function.py_func


class Case:
    """Random data, every ranking, and the dense matrices that the kernels avoid."""

    def __init__(self, n, weighted, cone, rng, hidden=0.2):
        self.n = n
        self.rng = rng
        self.target = rng.uniform(0.0, 0.6, (n, 1 << (n - 1)))
        self.weights = None
        if weighted:
            self.weights = rng.uniform(0.3, 3.0, self.target.shape)
            self.weights[rng.random(self.target.shape) < hidden] = 0.0
            self.weights[:, 0] = 1.0
            self.target[self.weights == 0] = np.nan  # what was not observed is not read
        self.w = np.ones_like(self.target) if self.weights is None else self.weights
        self.problem = make_problem(Projection(self.target, NO_WEIGHTS if self.weights is None else self.weights, cone))
        self.orders = [np.array(order) for order in permutations(range(n))]
        self.paths = np.array([reference.path_of(order) for order in self.orders])
        self.rho = np.array([reference.ranking_rows(order).ravel() for order in self.orders])
        self.gram = self.rho * self.w.ravel() @ self.rho.T
        self.matrix = self.gram + self.problem.ridge
        self.workspace = Workspace(n, 160)  # as many as there are rankings, and more
        self.active, self.pool = self.workspace.active, self.workspace.pool

    def number(self, path):
        """Which ranking a path belongs to."""
        return int(np.flatnonzero((self.paths == path).all(axis=1))[0])

    def independent(self, count):
        """Random rankings whose matrix is far from singular."""
        chosen = []
        for i in self.rng.permutation(len(self.paths)):
            if len(chosen) < count:
                trial = [*chosen, int(i)]
                if np.linalg.eigvalsh(self.matrix[np.ix_(trial, trial)])[0] > 1e-6:
                    chosen = trial
        return chosen

    def begin(self, count):
        """Start from random rankings with random weights; their numbers and weights."""
        chosen = self.independent(count)
        lam = self.rng.dirichlet(np.ones(len(chosen)))
        kernels.start_from(self.problem, self.active, self.paths[chosen], lam)
        self.active.moved[: len(chosen)] = 0.0
        return chosen, lam

    def held(self):
        """The numbers of the active rankings."""
        return [self.number(path) for path in self.active.paths[: self.active.count[0]]]

    def fill(self, numbers):
        """Put rankings into the pool, with their Gram products."""
        size = min(len(numbers), len(self.pool.open))
        self.pool.paths[:size] = self.paths[numbers[:size]]
        self.pool.columns[:, :size] = self.paths[numbers[:size]].T
        self.pool.open[:size] = True
        count = self.active.count[0]
        kernels.gram_rows(self.problem, self.active, 0, count, self.pool, size, np.empty(size, np.int32))
        return numbers[:size]

    def gradient(self, lam):
        """<a_i, w (sum lam a - rho_hat)> of every ranking, lam by number."""
        return self.rho @ (self.w.ravel() * (self.rho.T @ lam - np.where(self.w > 0, self.target, 0.0).ravel()))

    def spread(self):
        """The weights of the active set, by number."""
        lam = np.zeros(len(self.paths))
        lam[self.held()] = self.active.weights[: self.active.count[0]]
        return lam

    def costs(self, lam):
        """Edge costs of a mixture."""
        difference = np.where(self.w > 0, (self.rho.T @ lam).reshape(self.target.shape) - self.target, 0.0)
        return reference.subset_sums(self.w * difference)

    def assert_factor(self, residual=None):
        """The factor is that of the matrix, and the carried vectors are solved with it."""
        numbers = self.held()
        k = len(numbers)
        lower = np.zeros((k, k))
        for row, start in enumerate(self.active.start[:k]):
            lower[row, : row + 1] = self.active.factor[start : start + row + 1]
        np.fill_diagonal(lower, 1 / np.diag(lower))
        assert lower @ lower.T == pytest.approx(self.matrix[np.ix_(numbers, numbers)], abs=1e-10)
        assert lower @ self.active.carried[0, :k] == pytest.approx(np.ones(k), abs=1e-9)
        if residual is not None:
            assert lower @ self.active.carried[1, :k] == pytest.approx(residual, abs=1e-9)
        assert sorted([*self.active.slot[:k], *self.active.free[k:]]) == list(range(len(self.active.free)))


@pytest.fixture(params=CASES, ids=lambda case: f"n={case[0]}{' weighted' * case[1]}{' cone' * case[2]}")
def case(request, rng):
    return Case(*request.param, rng)


def test_gram_entries(case, form):
    for i in case.rng.integers(0, len(case.paths), 20):
        for j in case.rng.integers(0, len(case.paths), 20):
            found = form(kernels.gram_entry)(case.problem.table, case.paths[i], case.paths[j])
            assert found == pytest.approx(case.gram[i, j], rel=1e-13)


def test_gram_rows(case, form):
    chosen, _ = case.begin(5)
    pool = case.fill(case.rng.permutation(len(case.paths)))
    case.pool.gram[:] = np.nan
    first, last, size = 1, len(chosen), len(pool) - 1
    scratch = np.empty(len(pool), np.int32)
    form(kernels.gram_rows)(case.problem, case.active, first, last, case.pool, size, scratch)
    for i in range(first, last):
        row = case.pool.gram[case.active.slot[i]]
        assert row[:size] == pytest.approx(case.gram[chosen[i], pool[:size]], rel=1e-13)
        assert np.isnan(row[size:]).all()
    assert np.isnan(case.pool.gram[case.active.slot[0]]).all()


def test_gradient_row(case, form):
    lam = case.rng.dirichlet(np.ones(6))
    numbers = case.rng.integers(0, len(case.paths), 6)  # one may come twice
    spread = np.zeros(len(case.paths))
    np.add.at(spread, numbers, lam)
    cost = np.full(case.target.shape, np.nan)
    parts = [form(on_lattice.gradient_row)(case.problem, case.paths[numbers], lam, 6, cost, x) for x in range(case.n)]
    difference = np.where(case.w > 0, (case.rho.T @ spread).reshape(cost.shape) - case.target, 0.0)
    assert cost == pytest.approx(case.costs(spread), abs=1e-12)
    assert parts == pytest.approx(0.5 * np.sum(case.w * difference**2, axis=1), rel=1e-12)


def test_start_leaves_out_what_depends(case, form):
    numbers = case.rng.permutation(len(case.paths))
    lam = case.rng.uniform(0.1, 1.0, len(numbers))
    form(kernels.start_from)(case.problem, case.active, case.paths[numbers], lam)
    held = case.held()
    assert len(set(held)) == len(held) == np.linalg.matrix_rank(case.matrix, tol=1e-7)
    case.assert_factor()
    by_number = dict(zip(numbers.tolist(), lam, strict=True))
    given = np.array([by_number[i] for i in held])
    total = given.sum() if case.problem.ridge > 0 else 1.0
    assert case.active.weights[: len(held)] == pytest.approx(given / total)


def test_insert_and_remove(case, form):
    chosen, lam = case.begin(6)
    new, gone = chosen[-1], 1
    kernels.start_from(case.problem, case.active, case.paths[chosen[:-1]], lam[:-1])
    k = len(chosen) - 1
    residual = case.rng.normal(size=k + 1)
    lower = np.linalg.cholesky(case.matrix[np.ix_(chosen[:-1], chosen[:-1])])
    case.active.carried[1, :k] = np.linalg.solve(lower, residual[:k])
    row = np.zeros(len(case.active.weights))
    row[:k] = np.linalg.solve(lower, case.matrix[chosen[:-1], new])
    diagonal = case.matrix[new, new]
    assert form(kernels.insert)(case.active, case.paths[new], row, diagonal, residual[k], 0.125, 1e-11 * diagonal)
    assert case.held() == chosen
    assert case.active.weights[k] == 0.125
    assert case.active.moved[k] == 0.0
    case.assert_factor(residual)
    # Once more the same ranking: it depends on those that are there.
    again = np.zeros(len(case.active.weights))
    whole = np.linalg.cholesky(case.matrix[np.ix_(chosen, chosen)])
    again[: k + 1] = np.linalg.solve(whole, case.matrix[chosen, new])
    assert not form(kernels.insert)(case.active, case.paths[new], again, diagonal, 0.0, 0.0, 1e-9 * diagonal)
    assert case.held() == chosen

    pool = case.fill(case.rng.permutation(len(case.paths)))
    case.pool.gradient[: len(pool)] = before = case.rng.normal(size=len(pool))
    case.active.moved[: k + 1] = case.rng.normal(size=k + 1)
    moved = case.active.moved[: k + 1].copy()
    weights = case.active.weights[: k + 1].copy()
    form(kernels.remove)(case.problem, case.active, gone, case.pool, len(pool), UNUSED)
    assert case.held() == [*chosen[:gone], *chosen[gone + 1 :]]
    case.assert_factor(np.delete(residual, gone))
    assert case.active.weights[:k] == pytest.approx(np.delete(weights, gone))
    assert case.active.moved[:k] == pytest.approx(np.delete(moved, gone))
    # Its change of weight is not forgotten: the pool is told of it before it goes.
    assert case.pool.gradient[: len(pool)] == pytest.approx(before + moved[gone] * case.gram[chosen[gone], pool])
    # The Gram products of those that stay are still where their slots say.
    for i, number in enumerate(case.held()):
        assert case.pool.gram[case.active.slot[i], : len(pool)] == pytest.approx(case.gram[number, pool])


def test_the_pool_is_priced_anew(case, form):
    chosen, _ = case.begin(5)
    pool = case.fill(case.rng.permutation(len(case.paths)))
    case.pool.gradient[: len(pool)] = before = case.rng.normal(size=len(pool))
    change = np.array([0.5, 0.0, -0.25, 1.0, 2.0][: len(chosen)])
    case.active.moved[: len(chosen)] = change
    form(kernels.price_pool)(case.problem, case.active, case.pool, len(pool), UNUSED)
    assert case.pool.gradient[: len(pool)] == pytest.approx(before + change @ case.gram[np.ix_(chosen, pool)])
    assert not case.active.moved[: len(chosen)].any()


def plain_descend(matrix, lam, residual, nu, cone):
    """Steps to the minimum over the affine hull by dense solves; weights by position, those that left None."""
    here, lam, residual, steps = list(range(len(lam))), lam.copy(), residual.copy(), 0
    while True:
        inverse = np.linalg.inv(matrix[np.ix_(here, here)])
        s = 0.0 if cone else -(inverse @ residual[here]).sum() / inverse.sum()
        d = inverse @ (residual[here] + s)
        steps += 1
        reach = np.array([lam[i] / -d[j] if d[j] < 0 else np.inf for j, i in enumerate(here)])
        step = min(1.0, reach.min())
        lam[here] += step * d
        residual[here] *= 1 - step
        nu += step * s
        if reach.min() > 1.0:
            return here, lam, nu, steps
        if step > 0:
            lam[here[int(reach.argmin())]] = 0.0
            here.pop(int(reach.argmin()))
        else:
            here = [i for j, i in enumerate(here) if not (d[j] < 0 and lam[i] <= 0)]


def plain_bold(gram, lam, residual, nu, cone):
    """The same where all that fall below 0 leave at once: minima over what is left, each from the beginning."""
    here, price, steps, moved = list(range(len(lam))), nu - residual, 0, False
    while True:
        rows = np.zeros((len(here) + 1, len(here) + 1))
        rows[:-1, :-1] = gram[np.ix_(here, here)]
        rows[-1, :-1] = rows[:-1, -1] = 1.0
        side = np.append(gram[here] @ lam - price[here], 1.0)
        found = np.linalg.solve(rows[:-1, :-1], side[:-1]) if cone else np.linalg.solve(rows, side)
        weights, level = found[: len(here)], 0.0 if cone else -found[-1]
        steps += 1
        entering = [] if moved else [i for i, w in zip(here, weights, strict=True) if lam[i] == 0 and w < 0]
        gone = entering or [i for i, w in zip(here, weights, strict=True) if w <= 0]
        moved = moved or not entering
        if not gone:
            left = np.zeros(len(lam))
            left[here] = weights
            return here, left, level, steps
        here = [i for i in here if i not in gone]


@pytest.mark.parametrize("seats", [1, 3, 8])
@pytest.mark.parametrize("looked_at", [4, 32])
def test_types_that_enter_together_differ(case, form, seats, looked_at):
    size = min(len(case.paths), len(case.pool.gradient))
    numbers = case.rng.permutation(len(case.paths))[:size]
    case.pool.paths[:size] = case.paths[numbers]
    case.pool.gradient[:size] = np.round(case.rng.normal(size=size), 1)  # with ties: the first of the pool goes first
    case.pool.open[:size] = case.rng.random(size) < 0.8
    limit = 0.3
    chosen = np.empty(seats, np.int64)
    count = form(kernels.choose)(case.problem, case.pool, size, limit, np.empty(looked_at, np.int64), chosen)
    expected = []
    cheapest = [q for q in np.argsort(case.pool.gradient[:size], kind="stable")]
    cheapest = [q for q in cheapest if case.pool.open[q] and case.pool.gradient[q] < limit][:looked_at]
    for q in cheapest:
        p = numbers[q]
        others = numbers[expected]
        if len(expected) < seats and (case.gram[p, others] <= 0.7 * case.gram[others, others]).all():
            expected.append(q)
    assert chosen[:count].tolist() == expected
    assert count > 0


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("entering", [0, 2])
def test_descend(case, form, entering, bold):
    """From random weights to the minimum over what is left; entering rankings begin at weight 0."""
    chosen, lam = case.begin(6)
    k = len(chosen)
    for i in range(k - entering, k):
        lam[i] = 0.0
    lam /= lam.sum()
    case.active.weights[:k] = lam
    spread = np.zeros(len(case.paths))
    spread[chosen] = lam
    cone = case.problem.ridge == 0
    price = case.gradient(spread)[chosen]
    nu = 0.0 if cone else float(lam @ price)
    residual = nu - price
    lower = np.linalg.cholesky(case.matrix[np.ix_(chosen, chosen)])
    case.active.carried[1, :k] = np.linalg.solve(lower, residual)
    pool = case.fill(case.rng.permutation(len(case.paths)))
    case.pool.gradient[: len(pool)] = case.gradient(spread)[pool]
    twin, matrix = (plain_bold, case.matrix - case.problem.ridge) if bold else (plain_descend, case.matrix)
    left, weights, level, steps = twin(matrix[np.ix_(chosen, chosen)], lam, residual, nu, cone)
    found, taken = form(kernels.descend)(case.problem, case.active, case.pool, len(pool), UNUSED, nu, bold)
    assert case.held() == [chosen[i] for i in left]
    assert case.active.weights[: len(left)] == pytest.approx(weights[left], abs=1e-10)
    assert found == pytest.approx(level, abs=1e-9)
    assert taken == steps
    # What the dense twin shares with the kernel it would share in error, too: the gradient is the same on all that are left.
    after = case.gradient(case.spread())
    assert after[case.held()] == pytest.approx(np.full(len(left), found), abs=1e-9)
    kernels.price_pool(case.problem, case.active, case.pool, len(pool), UNUSED)
    assert case.pool.gradient[: len(pool)] == pytest.approx(after[pool], abs=1e-9)
    case.assert_factor(np.zeros(len(left)))


def cheapest_through(case, costs, menu):
    """By enumeration: the price of the cheapest ranking whose path visits a menu."""
    prices = costs[np.arange(case.n), case.paths].sum(axis=1)
    size = bin(menu).count("1")
    through = [sum(1 << int(x) for x in order[case.n - size :]) == menu for order in case.orders]
    return prices[through].min()


@pytest.mark.parametrize("limit", [2, 64])
def test_fill_pool(case, form, limit):
    lam = np.zeros(len(case.paths))
    lam[case.rng.integers(len(lam))] = 1.0
    costs = case.costs(lam)
    nu = float(lam @ case.gradient(lam))
    menus = middle_menus(case.n)
    prices = np.array([cheapest_through(case, costs, int(menu)) for menu in menus])
    assert all(bin(menu).count("1") == case.n // 2 for menu in menus)
    pool = Workspace(case.n).pool
    pool = pool._replace(paths=pool.paths[:limit].copy(), open=np.zeros(len(pool.open), np.bool_))
    above, below = cheapest_above(costs), cheapest_below(costs)
    size = form(on_lattice.fill_pool)(menus, pool, costs, above, below, nu)
    wanted = np.sort(prices[prices <= nu - 0.3 * (nu - prices.min())])
    found = np.array([costs[np.arange(case.n), pool.paths[q]].sum() for q in range(size)])
    assert 1 <= size <= limit
    if len(wanted) <= limit:
        assert np.sort(found) == pytest.approx(wanted, abs=1e-12)
    else:  # some of the cheapest, up to a thousandth of the range of prices
        assert found.max() <= wanted[limit] + 1e-3 * (wanted[-1] - wanted[0])
        assert np.isin(found.round(9), wanted.round(9)).all()
    assert pool.gradient[:size] == pytest.approx(found, abs=1e-12)
    assert pool.open[:size].all()
    assert (pool.columns[:, :size] == pool.paths[:size].T).all()


@pytest.mark.parametrize("bold", [False, True])
def test_improve(case, form, bold):
    """All rankings in the pool: what is left violated is small, and the mixture is better than before."""
    case.begin(2)
    k = int(case.active.count[0])
    pool = case.fill(case.rng.permutation(len(case.paths))[: len(case.pool.open)])
    spread = case.spread()
    price = case.gradient(spread)
    nu = 0.0 if case.problem.ridge == 0 else float(spread @ price)
    numbers = case.held()
    lower = np.linalg.cholesky(case.matrix[np.ix_(numbers, numbers)])
    case.active.carried[1, :k] = np.linalg.solve(lower, nu - price[numbers])
    case.pool.gradient[: len(pool)] = price[pool]
    steps = form(kernels.improve)(case.problem, case.active, case.pool, len(pool), UNUSED, nu, 1e-9, 0.2, 10_000, bold)
    after = case.spread()
    assert steps >= 1
    assert after.min() >= 0
    if case.problem.ridge > 0:
        assert after.sum() == pytest.approx(1.0)
    assert objective(case, after) < objective(case, spread)
    prices = case.gradient(after)
    level = prices[case.held()]
    assert level == pytest.approx(np.full(len(level), level.mean()), abs=1e-8)
    assert case.pool.gradient[: len(pool)] == pytest.approx(prices[pool], abs=1e-8)
    case.assert_factor()
    # Entering ends at a fifth of the worst violation after the first descent.
    start = np.zeros(len(case.paths))
    _, weights, nu, _ = plain_descend(
        case.matrix[np.ix_(numbers, numbers)], spread[numbers], nu - price[numbers], nu, case.problem.ridge == 0
    )
    start[numbers] = weights
    worst = nu - case.gradient(start)[pool].min()
    assert level.mean() - prices[pool].min() <= max(0.2 * worst, 1e-9) + 1e-9


def objective(case, lam):
    difference = np.where(case.w > 0, (case.rho.T @ lam).reshape(case.target.shape) - case.target, 0.0)
    return 0.5 * np.sum(case.w * difference**2)


@pytest.mark.parametrize("fresh", [0, 1])
def test_measure(case, form, fresh):
    case.begin(3)
    if case.problem.ridge == 0:
        case.active.weights[:3] *= 0.1  # too little of them, so that more are wanted
    case.active.fresh[0] = fresh  # 1: the factor is used as it is
    spread = case.spread()
    costs, price = case.costs(spread), case.gradient(spread)
    inner, cheapest = float(spread @ price), float(price.min())
    cone = case.problem.ridge == 0
    gap = abs(inner) - max(spread.sum(), 1.0) * (1 << case.n) * min(0.0, cheapest) if cone else inner - cheapest
    given = case.problem, case.active, costs, cheapest, 1 << case.n
    found, _ = form(kernels.measure)(*given, 2 * gap)
    assert found == pytest.approx(gap, rel=1e-9)
    assert case.active.fresh[0] == fresh  # nothing was done
    found, nu = form(kernels.measure)(*given, 1e-10)
    assert found == pytest.approx(gap, rel=1e-9)
    assert nu == pytest.approx(0.0 if cone else inner, abs=1e-12)
    assert (case.spread() == spread).all()
    case.assert_factor(nu - price[case.held()])


def test_measure_builds_a_spoilt_factor_again(case, form):
    case.begin(4)
    k = int(case.active.count[0])
    case.active.factor[: k * (k + 1) // 2] *= 1.5
    spread = case.spread()
    costs, price = case.costs(spread), case.gradient(spread)
    case.active.fresh[0] = 0
    _, nu = form(kernels.measure)(case.problem, case.active, costs, float(price.min()), 1 << case.n, 1e-10)
    assert case.active.fresh[0] == 1
    case.assert_factor(nu - price[case.held()])
