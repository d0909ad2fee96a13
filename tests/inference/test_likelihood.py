"""Maximum likelihood: against EM over all rankings and a general solver, with its certificate; ratios by hand."""

import csv
from decimal import Decimal, localcontext
from inspect import signature
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

import rumflow as rf
from rumflow.inference import LikelihoodError, fit_likelihood, likelihood, likelihood_solver
from rumflow.inference.likelihood_solver import State
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.lattice import LatticeGeometry
from tests.reference.examples import DECOY, PAIR
from tests.reference.samples import partly_recorded


def em(data, rounds=4000):
    """The log-likelihood that EM over all n! rankings reaches."""
    orders = list(permutations(range(data.n)))
    chosen = [
        ([float(next(y for y in order if mask >> y & 1) == x) for order in orders], count[x])
        for mask, count in zip(data.masks, data.counts, strict=True)
        for x in range(data.n)
        if count[x] > 0
    ]
    matrix, counts = np.array([c[0] for c in chosen]), np.array([c[1] for c in chosen])
    share = np.full(len(orders), 1 / len(orders))
    for _ in range(rounds):
        share *= matrix.T @ (counts / (matrix @ share)) / counts.sum()
    return float(counts @ np.log(matrix @ share))


def read(path, n, *keys):
    tables = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table = tables.setdefault(tuple(row[k] for k in keys), np.zeros((1 << n, n)))
            mask = int(row["menu_mask"])
            items = [x for x in range(n) if mask >> x & 1]
            table[mask, items[sorted(row["menu"]).index(row["alternative"])]] += float(row["count"])
    return {key: rf.ChoiceData.from_matrix(table) for key, table in tables.items()}


def simulated(n, choices, seed, rankings=6):
    rng = np.random.default_rng(seed)
    rho = rf.simulate.rankings_mixture(n, rankings, seed=seed)
    table = np.zeros(rho.shape)
    for mask in range(3, 1 << n):
        items = [x for x in range(n) if mask >> x & 1]
        if len(items) > 1:
            table[mask, items] = rng.multinomial(choices, rho[mask, items] / rho[mask, items].sum())
    return rf.ChoiceData.from_matrix(table)


def check(fit):
    """The point is a RUM, its likelihood and its certificate are what they say, computed afresh."""
    assert fit.flow.min() >= 0
    assert fit.rho[1:].sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert rf.block_marschak(fit.rho) == pytest.approx(fit.flow, abs=1e-12)
    counts = np.nan_to_num(fit.data.counts)
    p = fit.rho[fit.data.masks]
    assert fit.loglik == pytest.approx(float((counts[counts > 0] * np.log(p[counts > 0])).sum()), rel=1e-12)
    price = np.zeros_like(fit.rho)
    price[fit.data.masks] = np.divide(counts, p, out=np.zeros_like(p), where=counts > 0)
    large = np.bitwise_count(np.arange(len(price))) >= 2
    dearest = max(
        sum(price[mask, next(x for x in order if mask >> x & 1)] for mask in np.flatnonzero(large))
        for order in permutations(range(fit.data.n))
    )
    total = counts[np.bitwise_count(fit.data.masks) >= 2].sum()
    assert fit.gap == pytest.approx(max(dearest - total, 0), abs=1e-8)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_iterations_are_projections(monkeypatch, route):
    calls = []
    for kind in (LatticeGeometry, GraphGeometry):
        own = kind.solve
        monkeypatch.setattr(kind, "solve", lambda *a, own=own, **k: calls.append(1) or own(*a, **k))
    counts = {("a", "b"): {"a": 7, "b": 3}, ("b", "c"): {"b": 8, "c": 2}, ("a", "c"): {"a": 1, "c": 9}}
    fit = fit_likelihood(rf.ChoiceData.from_counts(counts), route=route)
    assert len(calls) == fit.iterations > 1


def test_real_data_sets_agree_with_em(data_folder):
    sets = read(data_folder / "ranch/MG_2019_counts.csv", 4, "domain", "block")
    assert len(sets) == 32
    for data in sets.values():
        fit = fit_likelihood(data)
        assert fit.gap <= 1e-6
        assert fit.iterations <= 12
        assert fit.loglik == pytest.approx(em(data, 5000), abs=0.005)
        assert fit.loglik <= fit.loglik_saturated


def test_pairs_only(data_folder):
    for data in list(read(data_folder / "ranch/T_1969_counts.csv", 5, "subject").values())[:3]:
        fit = fit_likelihood(data)
        check(fit)
        assert fit.loglik == pytest.approx(em(data, 3000), abs=0.005)


@pytest.mark.parametrize("seed", range(6))
def test_simulated(seed):
    data = simulated(4, (1, 5, 40, 1000, 20, 3)[seed], seed, rankings=seed + 1)
    fit = fit_likelihood(data)
    check(fit)
    assert fit.loglik >= em(data, 1000) - 1e-6


def test_rational_data_reach_the_saturated_model():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}, ("a", "b", "c"): {"a": 20, "b": 10, "c": 10}})
    fit = fit_likelihood(data)
    assert fit.loglik_gap == pytest.approx(0, abs=1e-6)
    assert fit.lr_test(29, seed=0).pvalue > 0.5
    assert fit.rankings.weights.sum() == pytest.approx(1)


def test_large_samples():
    data = simulated(5, 1_000_000, 3)
    fit = fit_likelihood(data)
    assert fit.converged
    assert fit.gap <= 1e-5


def test_likelihood_ratio_test():
    irrational = rf.ChoiceData.from_counts(
        {("a", "b", "c"): {"a": 60, "b": 30, "c": 10}, ("a", "b"): {"a": 15, "b": 85}, ("b", "c"): {"b": 50, "c": 50}}
    )
    fit = fit_likelihood(irrational)
    test = fit.lr_test(99, seed=1)
    assert test.statistic == pytest.approx(2 * (fit.loglik_saturated - fit.loglik))
    assert test.pvalue == 0.01
    assert test.failed == 0
    again = fit.lr_test(99, seed=1, threads=1)
    assert (again.null_distribution == test.null_distribution).all()


def test_menus_of_one_item_only():
    fit = fit_likelihood(rf.ChoiceData.from_counts({("a",): {"a": 4}, ("b",): {"b": 2}}))
    assert fit.loglik == 0
    assert fit.gap == 0


def test_errors():
    data = simulated(4, 20, 0)
    with pytest.raises(LikelihoodError, match="stayed above tol") as caught:
        fit_likelihood(data, max_iterations=1)
    assert caught.value.fit.iterations == 1
    assert not fit_likelihood(data, max_iterations=1, throw=False).converged
    with pytest.raises(rf.InputError, match="tol=0"):
        fit_likelihood(data, tol=0)
    with pytest.raises(rf.InputError, match="a ChoiceData with counts"):
        fit_likelihood(np.zeros((8, 3)))
    with pytest.raises(rf.InputError, match="n_boot=0"):
        fit_likelihood(data).lr_test(0)


def sparse_data(n, menus, seed, choices=40):
    """Choices of a population of rankings from a few random menus."""
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, menus, replace=False))
    membership = (masks[:, None] >> np.arange(n) & 1).astype(bool)
    counts = np.full(membership.shape, np.nan)
    for row, inside in zip(counts, membership, strict=True):
        row[inside] = rng.multinomial(choices, rng.dirichlet(np.ones(inside.sum())))
    return rf.ChoiceData(tuple("abcdefghij"[:n]), membership, counts, np.full(menus, float(choices)))


@pytest.mark.parametrize("seed", range(6))
def test_graph_equals_lattice(seed):
    data = sparse_data(4 + seed % 3, 8, seed)
    a, b = (fit_likelihood(data, 1e-9, route=route) for route in ("lattice", "graph"))
    assert b.loglik == pytest.approx(a.loglik, abs=2e-9)
    chosen = np.nan_to_num(data.counts) > 0
    assert b.fitted[chosen] == pytest.approx(a.fitted[chosen], abs=1e-5)
    for fit in (a, b):
        check(fit)
        assert fit.rho[data.masks][data.membership] == pytest.approx(fit.fitted[data.membership], abs=1e-9)
        menu = data.menus[3]
        assert list(fit.probabilities(menu).values()) == pytest.approx(fit.rho[data.masks[3]][data.membership[3]])
    assert a.lr_test(9, seed=1).pvalue == b.lr_test(9, seed=1).pvalue


def test_known_preferences_by_enumeration():
    data = sparse_data(5, 9, 3)
    orders = [o for o in permutations(range(5)) if o.index(0) < o.index(1)]
    model = rf.RandomUtility(above=[("a", "b")])
    with pytest.raises(rf.InputError, match=r"'b' was chosen .* the likelihood is 0"):
        fit_likelihood(data, model=model)
    counts = data.counts.copy()
    counts[:, 1] = np.where(data.membership[:, 0] & data.membership[:, 1], 0.0, counts[:, 1])
    data = rf.ChoiceData(data.items, data.membership, counts, np.nansum(counts, axis=1))
    fit = fit_likelihood(data, 1e-8, model=model)
    taken = np.array([[next(y for y in o if mask >> y & 1) for mask in data.masks] for o in orders])
    cells = np.argwhere(np.nan_to_num(data.counts) > 0)
    matrix = np.array([taken[:, menu] == item for menu, item in cells], float)
    counts = data.counts[tuple(cells.T)]
    # The certificate, over all rankings of the model; and no mixture of these is more likely, by EM.
    dearest = float((matrix.T @ (counts / fit.fitted[tuple(cells.T)])).max())
    assert dearest - counts.sum() <= 1e-7
    share = np.full(len(orders), 1 / len(orders))
    for _ in range(3000):
        share *= matrix.T @ (counts / (matrix @ share)) / counts.sum()
    assert fit.loglik == pytest.approx(float(counts @ np.log(matrix @ share)), abs=0.05)
    assert all(list(o).index(0) < list(o).index(1) for o in fit.rankings.orders)
    assert fit.loglik <= fit_likelihood(data).loglik + 1e-6


def test_many_items():
    data = rf.simulate.random_menus(70, 12, 30, seed=2)
    fit = fit_likelihood(data)
    assert fit.gap <= 1e-6
    assert fit.rankings.weights.sum() == pytest.approx(1)
    assert np.nansum(fit.fitted, axis=1) == pytest.approx(1)
    assert sum(fit.probabilities(data.items[:5]).values()) == pytest.approx(1)
    for what in ("rho", "flow"):
        with pytest.raises(rf.InputError, match="use `fitted`"):
            getattr(fit, what)
    with pytest.raises(rf.InputError, match="is unknown"):
        fit.probabilities(("nothing",))


def test_an_unfinished_fit_on_a_graph_has_rankings():
    """A step that was cut keeps a share of the inner point; its rankings have the same probabilities."""
    data = sparse_data(6, 10, 1)
    fit = fit_likelihood(data, 1e-12, max_iterations=0, throw=False, route="graph")
    assert not fit.converged
    assert fit.rho[data.masks][data.membership] == pytest.approx(fit.fitted[data.membership], abs=1e-7)


def enumerate_cells(data):
    """Counts of all cells, remainders included, and what each ranking takes of them."""
    counts, rows = [], []
    orders = list(permutations(range(data.n)))
    for menu, own, total in zip(data.membership, data.counts, data.totals, strict=True):
        best = np.array([next(y for y in order if menu[y]) for order in orders])
        for x in np.flatnonzero(~np.isnan(own)):
            counts.append(own[x])
            rows.append(best == x)
        if (np.isnan(own) & menu).any():
            counts.append(total - np.nansum(own))
            rows.append(np.isnan(own)[best])
    return np.array(counts), np.array(rows, float)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_likelihood_is_that_of_a_general_solver(n, seed):
    data = partly_recorded(n, seed)
    counts, takes = enumerate_cells(data)
    seen = counts > 0

    def loss(weights):
        return -float(counts[seen] @ np.log(np.maximum(takes[seen] @ weights, 1e-12)))

    def slope(weights):
        return -(counts[seen] / np.maximum(takes[seen] @ weights, 1e-12)) @ takes[seen]

    size = takes.shape[1]
    found = minimize(
        loss,
        np.full(size, 1 / size),
        jac=slope,
        method="SLSQP",
        bounds=[(0, 1)] * size,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(size)},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    best = -loss(found.x / found.x.sum())  # they add up to 1 but for the tolerance of the solver
    fit = fit_likelihood(data)
    assert fit.gap <= 1e-6
    assert fit.loglik == pytest.approx(best, abs=2e-4)
    assert fit.loglik >= best - 1e-5  # certified: nothing is better
    # The certificate by enumeration: the dearest ranking.
    probabilities = takes @ np.array(
        [fit.rankings.weights @ _is(fit.rankings.orders, o) for o in permutations(range(n))]
    )
    price = (counts[seen] / probabilities[seen]) @ takes[seen]
    assert price.max() - counts.sum() <= 1e-4
    saturated = counts[seen] @ np.log(counts[seen] / np.repeat(200.0, seen.sum()))
    assert fit.loglik_saturated == pytest.approx(saturated)
    assert np.isnan(fit.fitted).tolist() == np.isnan(data.counts).tolist()


def _is(orders, order):
    return (orders == np.array(order)).all(axis=1).astype(float)


def test_a_remainder_changes_the_answer():
    """a from {a, b, c} was recorded 60 times of 100, b from {a, b} 40 of 100: a loses between the menus only if b gained."""
    inside = np.array([[True, True, False], [True, True, True]])
    counts = np.array([[30.0, 70.0, np.nan], [60.0, np.nan, np.nan]])
    data = rf.ChoiceData(tuple("abc"), inside, counts, np.array([100.0, 100.0]))
    fit = fit_likelihood(data)
    # Regularity binds: P(a from ab) = P(a from abc) = 90 / 200, by hand.
    assert fit.fitted[:, 0] == pytest.approx([0.45, 0.45], abs=1e-5)
    assert fit.loglik == pytest.approx(90 * np.log(0.45) + 110 * np.log(0.55), abs=1e-6)
    assert fit.lr_test(99, seed=0).pvalue == 0.01
    calm = rf.ChoiceData(tuple("abc"), inside, np.array([[52.0, 48, np.nan], [53, np.nan, np.nan]]), data.totals)
    assert fit_likelihood(calm).lr_test(99, seed=0).pvalue > 0.2


def test_errors_of_the_likelihood():
    inside = np.array([[True, True, False], [True, True, True]])
    data = rf.ChoiceData(tuple("abc"), inside, np.array([[30.0, 70, np.nan], [60, np.nan, np.nan]]), np.full(2, 100.0))
    with pytest.raises(rf.InputError, match="accepted are None and 'graph'"):
        fit_likelihood(data, route="lattice")
    first = rf.RandomUtility(above=[("a", "b"), ("a", "c")])
    data = rf.ChoiceData(tuple("abc"), inside, np.array([[100.0, 0, np.nan], [60, np.nan, np.nan]]), np.full(2, 100.0))
    with pytest.raises(rf.InputError, match="40 choices were not recorded, but no type"):
        fit_likelihood(data, model=first)
    table = rf.compare_models(data, {"RUM": None, "a first": first})
    assert table.logliks["RUM"] == pytest.approx(fit_likelihood(data).loglik, abs=1e-5)
    assert table.logliks["a first"] == -np.inf


def test_a_likelihood_that_rises_is_not_given_up():
    # Its gap is small by chance in the fourth round, and ten thousand times larger for many rounds after it.
    sales = rf.simulate.stock_outs(40, 30, missing=0.1, draws=200, seed=1)
    assert rf.fit_likelihood(sales).gap <= 1e-6


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_most_likely_model(route):
    """DECOY: a has the same share s of both menus. s log s ... : 80 choices of a, b and c keep their 30 to 20 of the rest."""
    fit = rf.fit_likelihood(DECOY, route=route)
    s = 80 / 200
    expected = 80 * np.log(s) + 120 * np.log(1 - s) + 30 * np.log(0.6) + 20 * np.log(0.4)
    assert fit.loglik == pytest.approx(expected, abs=1e-6)
    assert fit.fitted[0, :2] == pytest.approx([s, 1 - s], abs=1e-5)
    assert fit.fitted[1] == pytest.approx([s, 0.6 * (1 - s), 0.4 * (1 - s)], abs=1e-5)
    assert np.isnan(fit.fitted[0, 2])
    assert fit.converged
    assert fit.gap <= 1e-6
    assert fit.loglik_gap == pytest.approx(fit.loglik_saturated - expected, abs=1e-6)
    assert fit.lr_statistic == pytest.approx(2 * fit.loglik_gap)
    assert fit.probabilities(("a", "b", "c"))["b"] == pytest.approx(0.36, abs=1e-5)
    assert list(fit.probabilities(["c", "a"])) == ["a", "c"]
    assert fit.rho[0b011, 0] == pytest.approx(s, abs=1e-5)
    assert fit.flow[0b111, 1] == pytest.approx(0.36, abs=1e-5)
    weights = fit.rankings.weights
    assert (np.diff(weights) <= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    with pytest.raises(rf.InputError, match=r"item 'z' is unknown: the items are \{a, b, c\}"):
        fit.probabilities(("a", "z"))
    score = fit.score(DECOY)
    assert score.loglik == pytest.approx(expected, abs=1e-3)


def test_likelihood_ratios_of_samples_by_hand():
    """Samples of {a, b} alone always fit: every ratio is 0, and so is that of the data."""
    test = rf.fit_likelihood(PAIR).lr_test(5, 7)
    assert test.statistic == pytest.approx(0.0, abs=2e-6)
    assert test.null_distribution == pytest.approx(np.zeros(5), abs=1e-4)
    assert test.pvalue == 1.0
    assert (test.failed, test.seed) == (0, 7)
    fit = rf.fit_likelihood(DECOY)
    found = fit.lr_test(3, 2)
    again = fit.lr_test(2, 2, threads=2)
    assert found.null_distribution[:2] == pytest.approx(again.null_distribution, abs=1e-6)
    assert signature(fit.lr_test).parameters["n_boot"].default == 999
    for wrong in (0, 2.5):
        with pytest.raises(rf.InputError, match="a whole number of replicates from 1 to 10,000,000 is needed"):
            fit.lr_test(wrong)
    half = rf.ChoiceData(("a", "b"), np.array([[True, True]]), np.array([[1.5, 1.0]]), np.array([2.5]))
    with pytest.raises(rf.InputError, match="they must be whole numbers of choices"):
        rf.fit_likelihood(half).lr_test(2)


def test_pvalues_of_likelihood_ratios_count_what_is_as_large():
    near = rf.ChoiceData.from_counts({("a", "b"): {"a": 45, "b": 55}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    test = rf.fit_likelihood(near).lr_test(39, 3)
    null = test.null_distribution
    assert test.pvalue == (1 + (null >= test.statistic - 1e-5).sum()) / 40
    assert ((null > test.statistic - 1.0) & (null < test.statistic - 1e-3)).any()  # some are a little smaller


def test_a_likelihood_that_is_cut_short():
    with pytest.raises(
        likelihood.LikelihoodError, match=r"stayed above tol=1e-06 after 1 projections: ask for a larger tol, or"
    ):
        rf.fit_likelihood(DECOY, max_iterations=1)
    rough = rf.fit_likelihood(DECOY, max_iterations=1, throw=False)
    assert (rough.iterations, rough.converged) == (1, False)
    assert rough.gap > 1e-6
    best = rf.fit_likelihood(DECOY).loglik
    assert rough.loglik < best <= rough.loglik + rough.gap
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(rf.InputError, match="a positive number is needed"):
            rf.fit_likelihood(DECOY, wrong)


def test_a_menu_of_one_item_may_lack_its_count():
    frame = {"menu": ["a", "a;b", "a;b"], "item": ["a", "a", "b"], "count": [np.nan, 3, 4], "total": [5, 7, 7]}
    fit = rf.fit_likelihood(rf.ChoiceData.from_frame(frame))
    assert fit.loglik == pytest.approx(3 * np.log(3 / 7) + 4 * np.log(4 / 7))


def test_gaps_that_projections_leave_open():
    """Rounding of the large cells hides what a small one needs: after any number of projections the gap was .1."""
    counts = {
        ("a", "b"): {"a": 5, "b": 33},
        ("a", "c"): {"c": 3054},
        ("b", "c"): {"b": 1, "c": 1},
        ("a", "b", "c"): {"b": 5569, "c": 4244},
    }
    data = rf.ChoiceData.from_counts(counts)
    for route in ("lattice", "graph"):
        fit = fit_likelihood(data, route=route)
        assert fit.converged
        assert fit.gap <= 1e-6
        # a is never above c, so b has the same share of {b, c} and {a, b, c}.
        s = 5570 / 9815
        expected = 5 * np.log(5 / 38) + 33 * np.log(33 / 38) + 5570 * np.log(s) + 4245 * np.log(1 - s)
        assert fit.loglik == pytest.approx(expected, abs=1e-6)


def sparse_counts(seed):
    """Few menus of few items, many counts of 0, the others up to 1e12; sometimes part of a menu was not recorded."""
    rng = np.random.default_rng([3, seed])
    n = int(rng.integers(2, 5))
    masks = np.array([mask for mask in range(3, 1 << n) if mask.bit_count() > 1])
    masks = rng.choice(masks, int(rng.integers(1, min(len(masks), 8) + 1)), replace=False)
    inside = (masks[:, None] >> np.arange(n) & 1).astype(bool)
    drawn = np.floor(10 ** rng.uniform(0, rng.choice([1, 3, 6, 12]), inside.shape)) * (rng.random(inside.shape) < 0.5)
    drawn[np.arange(len(inside)), inside.argmax(axis=1)] += inside.any(axis=1)
    counts = np.where(inside, drawn, np.nan)
    totals = np.nansum(counts, axis=1)
    if rng.random() < 0.2:
        counts[0, inside[0].argmax()] = np.nan
    return rf.ChoiceData(tuple("abcd"[:n]), inside, counts, totals)


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_sparse_counts_of_any_size(first):
    """Every fit converges, and in 60 digits no ranking costs more than N + gap, up to the rounding of the certificate itself."""
    for seed in range(first, first + 100):
        data = sparse_counts(seed)
        fit = fit_likelihood(data, route="graph" if seed % 2 else None, throw=False)
        assert fit.converged, seed
        counts, takes = enumerate_cells(data)
        total = counts.sum()
        assert fit.tol == max(1e-6, 64 * np.finfo(float).eps * total)
        assert fit.gap <= fit.tol, seed
        if np.isnan(data.count).any():
            continue  # the probability of a remainder is known as a difference only
        with localcontext(prec=60):
            ratio = [
                Decimal(c) / Decimal(p) if c else Decimal(0)
                for c, p in zip(counts.tolist(), fit.fitted_cells.tolist(), strict=True)
            ]
            price = [sum(r for r, taken in zip(ratio, column, strict=True) if taken) for column in takes.T.tolist()]
            assert max(price) - Decimal(float(total)) <= Decimal(fit.gap + fit.tol), seed


def dearest(menus, prices):
    """The price of the dearest ranking: f(S) is that of the menus within S, and the best item of S takes those that have it."""
    names = sorted({x for menu in menus for x in menu})
    alone = {x for x in names if sum(x in menu for menu in menus) == 1}
    for menu, own in zip(menus, prices, strict=True):  # of items that are in no other menu the dearest is always above
        alone -= {max(alone & set(menu), key=own.__getitem__, default=None)}
    kept = [x for x in names if x not in alone]
    masks = [sum(1 << k for k, x in enumerate(kept) if x in menu) for menu in menus]
    best = [0.0]
    for inside in range(1, 1 << len(kept)):
        values = []
        for k, x in enumerate(kept):
            if inside >> k & 1:
                taken = [
                    own[x] for mask, own in zip(masks, prices, strict=True) if mask >> k & 1 and mask | inside == inside
                ]
                values.append(best[inside ^ 1 << k] + sum(taken))
        best.append(max(values))
    return best[-1]


LARGE_MENU = [1243, 34, 0, 10, 268, 1, 1218, 25, 95, 225, 42, 240, 401, 728, 100]
LARGE_MENU += [1298, 11, 819, 0, 191, 4, 597, 22, 1, 270, 1185, 666, 270, 2, 34]
ONE_LARGE_MENU = {
    tuple(range(30)): dict(enumerate(LARGE_MENU)),
    (0, 1): {0: 8755999, 1: 1244001},
    (1, 2): {1: 0, 2: 100},
    (0, 2): {0: 1, 2: 99999999999},
}
FOUR_GROUPS = {
    (0, 1): {0: 9040204, 1: 959796},
    (1, 2): {1: 3385, 2: 999996615},
    (0, 2): {0: 3059151, 2: 6940849},
    (0, 1, 2, 3): {0: 69303, 1: 9930696, 2: 1, 3: 0},
    (4, 5): {4: 9983489375, 5: 16510625},
    (5, 6): {5: 9876, 6: 9999990124},
    (4, 6): {4: 1206477742, 6: 8793522258},
    (4, 5, 6, 7): {4: 0, 5: 63, 6: 0, 7: 37},
    (8, 9): {8: 131, 9: 869},
    (9, 10): {9: 4, 10: 6},
    (8, 10): {8: 350571, 10: 9649429},
    (8, 9, 10, 11): {8: 17018, 9: 23778, 10: 55641, 11: 3563},
    (12, 13): {12: 73, 13: 27},
    (13, 14): {13: 99291, 14: 999999900709},
    (12, 14): {12: 380416753984, 14: 619583246016},
    (12, 13, 14, 15): {12: 8, 13: 0, 14: 1, 15: 1},
}
ELEVEN_ITEMS = {
    (1, 6, 7, 8, 9): {1: 997124, 6: 11, 7: 1881, 8: 984, 9: 0},
    (2, 8, 9): {2: 3482, 8: 783497, 9: 213021},
    (0, 4, 6, 7): {0: 0, 4: 0, 6: 1, 7: 0},
    (0, 2, 4, 8): {0: 305578625, 2: 99843506, 4: 125462287, 8: 469115582},
    (0, 4, 10): {0: 213250327, 4: 481284319, 10: 305465354},
    (2, 5, 7): {2: 273052, 5: 643737, 7: 83211},
    (10,): {10: 1},
    (5, 6, 7, 10): {5: 999996781760, 6: 540, 7: 3217700, 10: 0},
    (3, 5, 7, 9, 10): {3: 1297277245, 5: 5119434997, 7: 135003379, 9: 18889328, 10: 3429395051},
}
TWO_GROUPS = {
    (0, 1): {0: 98082730, 1: 1917270},
    (1, 2): {1: 99999999401, 2: 599},
    (0, 2): {0: 1, 2: 0},
    (0, 1, 2, 3): {0: 484086035173, 1: 12222167957, 2: 503690766576, 3: 1030294},
    (4, 5): {4: 0, 5: 1000000000},
    (5, 6): {5: 2181, 6: 7819},
    (4, 6): {4: 37, 6: 63},
    (4, 5, 6, 7): {4: 1047, 5: 1535, 6: 112, 7: 7306},
}


@pytest.mark.parametrize(
    ("counts", "groups", "route"),
    [
        (ONE_LARGE_MENU, 1, None),
        (FOUR_GROUPS, 4, None),
        (ELEVEN_ITEMS, 1, None),
        (TWO_GROUPS, 2, None),
        (TWO_GROUPS, 1, "lattice"),
    ],
)
def test_counts_of_all_sizes_side_by_side(counts, groups, route):
    """At the fitted shares no ranking costs more than N + gap, by another way of finding the dearest; nor in any group."""
    fit = fit_likelihood(rf.ChoiceData.from_counts(counts), route=route)
    assert fit.converged
    assert len(fit._cells.groups) == groups
    counts = {menu: own for menu, own in counts.items() if len(menu) > 1}
    shares = {tuple(sorted(menu)): fit.probabilities(menu) for menu in counts}
    prices = [{x: c / shares[menu][x] if c else 0.0 for x, c in own.items()} for menu, own in counts.items()]
    size, excess = len(counts) // groups, 0.0
    for first in range(0, len(counts), size):
        menus = list(counts)[first : first + size]
        total = sum(sum(counts[menu].values()) for menu in menus)
        excess += dearest(menus, prices[first : first + size]) - total
    assert excess <= fit.gap + fit.tol
    loglik = sum(c * np.log(shares[menu][x]) for menu, own in counts.items() for x, c in own.items() if c)
    assert fit.loglik == pytest.approx(loglik, abs=fit.tol)


def test_types_taken_in_are_not_lost(monkeypatch):
    """One type at a time: no projection comes between, which would leave out again what only small cells need."""
    monkeypatch.setattr(likelihood_solver, "_TYPES_A_ROUND", 1)
    assert fit_likelihood(rf.ChoiceData.from_counts(ELEVEN_ITEMS)).iterations < 40


def test_an_interrupt_keeps_the_best_point(monkeypatch):
    plain, calls = State.move, []

    def move(self, *given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(self, *given)

    monkeypatch.setattr(State, "move", move)
    with pytest.raises(LikelihoodError, match="it was interrupted after 1 projections") as caught:
        fit_likelihood(DECOY)
    fit = caught.value.fit
    assert fit.interrupted
    assert not fit.converged
    calls.clear()
    assert fit_likelihood(DECOY, throw=False).loglik == fit.loglik
    monkeypatch.undo()
    whole = fit_likelihood(DECOY)
    assert not whole.interrupted
    assert fit.loglik <= whole.loglik <= fit.loglik + fit.gap


def test_an_interrupt_keeps_replicates_of_the_ratio(monkeypatch):
    fit = fit_likelihood(DECOY)
    whole = fit.lr_test(9, 1, threads=1)
    plain, calls = likelihood.maximise, []

    def maximise(*given):
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(*given)

    monkeypatch.setattr(likelihood, "maximise", maximise)
    found = fit.lr_test(9, 1, threads=1)
    assert (found.interrupted, whole.interrupted) == (True, False)
    assert (found.null_distribution == whole.null_distribution[:3]).all()
    calls[:] = [None] * 3
    with pytest.raises(KeyboardInterrupt, match="interrupted before the first replicate"):
        fit.lr_test(9, 1, threads=1)
