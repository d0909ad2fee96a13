"""Budgets: patches, rational types, their graph, and what is built on them, against trial of everything."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.reference.budgets import (
    cone_distance,
    matrix_of,
    patches_by_trial,
    random_prices,
    rational_types,
    series,
    simplex_distance,
)

import rumflow as rf
from rumflow.core.arrangement import find_patches, merge_equal
from rumflow.core.graph import cheapest_type
from rumflow.core.graph_cells import Cells
from rumflow.core.rational_types import count_types, link_budgets
from rumflow.data.demand import DemandEstimator
from rumflow.inference.budgets import HouseholdSampler, _note_on_types
from rumflow.inference.resample import generators
from rumflow.models.budgets import Budgets
from rumflow.solvers import linear_programs


def households(rng, prices, count=60):
    n, goods = prices.shape
    budget = np.repeat(np.arange(n), count)
    return budget, rng.dirichlet(np.ones(goods), len(budget)), np.exp(rng.normal(0, 0.4, len(budget)))


def cells_of(patches):
    return Cells(patches.budget == np.arange(patches.signs.shape[1])[:, None])


@pytest.mark.parametrize("goods", [2, 3, 4])
def test_patches_are_those_of_a_trial_of_every_sign_vector(rng, goods):
    for n in (1, 2, 3, 4, 5):
        prices = random_prices(rng, n, goods)
        found = find_patches(prices)
        rows = list(zip(found.budget.tolist(), map(tuple, found.signs.tolist()), strict=True))
        assert len(rows) == len(set(rows))
        assert set(rows) == patches_by_trial(prices)


def test_corners_lie_on_their_side(rng):
    prices = random_prices(rng, 6, 4)
    found = find_patches(prices)
    for i, (j, signs) in enumerate(zip(found.budget, found.signs, strict=True)):
        corners = found.corners[found.first[i] : found.first[i + 1]]
        assert corners.sum(axis=1) == pytest.approx(1)
        values = (corners / prices[j]) @ prices.T - 1
        assert (values * signs >= -1e-8).all()
        assert (values.mean(axis=0) * signs)[signs != 0].min() > 0


def test_budgets_that_cross_in_one_point_make_no_patch_between_them():
    # Three lines through the bundle (1, 1): six pieces, two a budget, and none in between.
    prices = np.array([[0.3, 0.7], [0.5, 0.5], [0.7, 0.3]])
    assert len(find_patches(prices).signs) == 6
    # Four planes through the line x1 = x2, x3 = 1, up to rounding.
    prices = np.array([[a, 0.6 - a, 0.4] for a in (0.1, 0.2, 0.3 + 1e-15, 0.45)])
    assert len(find_patches(prices).signs) == 8
    # Moved a little, they make a patch more on both sides of a budget.
    prices[1] *= 1 + 1e-4
    assert len(find_patches(prices).signs) > 8


def test_equal_and_nested_budgets():
    assert merge_equal(np.array([[1.0, 2], [1, 3], [1, 2], [1, 2 + 1e-12]])).tolist() == [0, 1, 0, 0]
    nested = find_patches(np.array([[1.0, 1, 1], [2, 2, 2], [3, 3, 3]]))
    assert nested.signs.tolist() == [[0, 1, 1], [-1, 0, 1], [-1, -1, 0]]
    assert count_types(nested.signs, nested.budget).number == 1
    assert [group.tolist() for group in link_budgets(nested.signs, nested.budget)] == [[0], [1], [2]]


def test_cheapest_path_count_and_mean_are_those_of_all_types(rng):
    """1,000 random sets of budgets: their types listed, against the graph and the formula."""
    cases = largest = 0
    while cases < 1000:
        n, goods = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        # Budgets of different size cross less, so that six of them can be listed.
        found = find_patches(random_prices(rng, n, goods) * rng.uniform(0.2, 5.0, (n, 1)) ** int(rng.integers(2)))
        if np.prod(np.bincount(found.budget).astype(float)) > 2000:
            continue
        cases += 1
        largest += (n, goods) == (6, 4)
        types = rational_types(found.signs)
        counted = count_types(found.signs, found.budget)
        assert counted.number == len(types)
        a = matrix_of(types, len(found.signs))
        assert counted.mean == pytest.approx(a.mean(axis=1), abs=1e-14)
        price = rng.normal(size=len(found.signs))
        cells = cells_of(found)
        graph = Budgets(found.signs).geometry(cells)
        cost = cells.to_table(np.where(cells.membership, price, 0.0))
        cheapest, row = cheapest_type(graph, cost)
        assert cheapest == pytest.approx((price @ a).min(), abs=1e-12)
        taken = cells.items_of_types(row[None])[0]
        assert (types == taken).all(axis=1).any()
    assert largest > 5


def test_patches_that_share_a_cell_and_budgets_without_one(rng):
    found = find_patches(random_prices(rng, 4, 3))
    # Items: the patches of budget 0 in pairs; budget 3 is not among the menus.
    item = np.where(found.budget == 0, np.arange(len(found.budget)) // 2, 100 + np.arange(len(found.budget)))
    seen = found.budget < 3
    labels = list(dict.fromkeys(item[seen].tolist()))
    everything = [*labels, *item[~seen].tolist()]
    membership = np.array([[x in item[found.budget == j].tolist() for x in everything] for j in range(3)])
    cells = Cells(membership, None, everything)
    graph = Budgets(found.signs, item.tolist()).geometry(cells)
    price = dict(zip(everything, rng.normal(size=len(everything)), strict=True))
    cost = cells.to_table([[price[x] for x in everything]] * 3)
    by_patch = np.where(seen, [price[x] for x in item.tolist()], 0.0)
    types = rational_types(found.signs)
    assert cheapest_type(graph, cost)[0] == pytest.approx(by_patch[types].sum(axis=1).min(), abs=1e-12)


def test_what_does_not_fit_is_refused(rng):
    found = find_patches(random_prices(rng, 11, 4))
    from rumflow.core.graph import GraphTooLargeError
    from rumflow.models.open_menus import Limit

    with pytest.raises(GraphTooLargeError, match="11 budgets"):
        Budgets(found.signs).geometry(cells_of(found), Limit(nodes=100))
    with pytest.raises(rf.InputError, match="take fewer budgets"):
        count_types(found.signs, found.budget, most_terms=1000)
    with pytest.raises(rf.InputError, match="too many patches"):
        find_patches(random_prices(rng, 60, 4))


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_the_series_estimator(rng, degree):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent = households(rng, prices)
    data = rf.BudgetData.from_shares(prices, budget, shares, spent, degree)
    own = data.households
    log = np.log(spent)
    expected = series(own.budget, own.patch, log, degree, data.budget)
    assert data.probabilities == pytest.approx(expected, abs=1e-9)
    # A replicate: households that count as often as they were drawn.
    times = rng.integers(0, 3, (2, len(budget))).astype(float)
    estimate = DemandEstimator(own.budget, own.patch, data.budget, log, degree)
    again = np.repeat(np.arange(len(budget)), times[1].astype(int))
    z = log - np.array([np.median(log[budget == j]) for j in budget])  # the median stays that of the data
    for i, j in enumerate(data.budget):
        some = again[own.budget[again] == j]
        basis = z[some][:, None] ** np.arange(degree + 1)
        beta = np.linalg.lstsq(basis, (own.patch[some] == i).astype(float), rcond=None)[0]
        assert estimate(times)[1, i] == pytest.approx(np.clip(beta[0], 0, 1), abs=1e-8)


def test_where_households_are(rng):
    prices = random_prices(rng, 5, 3)
    budget, shares, _ = households(rng, prices, 30)
    data = rf.BudgetData.from_shares(prices, budget, shares)
    x = shares / prices[budget]
    sides = np.sign(x @ prices.T - 1)
    sides[np.arange(len(budget)), budget] = 0
    assert (data.patches[data.households.patch] == sides).all()
    assert data.probabilities @ data.sizes[data.budget] == pytest.approx(len(budget))
    # On the crossing of two budgets: above. On a corner of the simplex: a patch beside it.
    cross = rf.BudgetData.from_shares([[0.4, 0.6], [0.6, 0.4]], [0, 0, 1, 1], [[0.4, 0.6], [0, 1], [0.6, 0.4], [1, 0]])
    assert cross.patches[cross.households.patch].tolist() == [[0, 1], [0, -1], [1, 0], [-1, 0]]


def test_quantities_shares_files_and_median_prices(rng, tmp_path):
    prices = random_prices(rng, 3, 3)
    budget, shares, spent = households(rng, prices, 40)
    years = np.array([1990, 1991, 1992])
    amounts = shares * spent[:, None] / prices[budget]
    one = rf.BudgetData.from_shares(prices, years[budget], shares, spent, labels=years)
    two = rf.BudgetData.from_quantities(prices, budget, amounts)
    assert one.labels == (1990, 1991, 1992)
    assert two.probabilities == pytest.approx(one.probabilities, abs=1e-9)
    file, price_file = tmp_path / "h.csv", tmp_path / "p.csv"
    table = np.column_stack([years[budget], shares[:, ::-1], spent])
    np.savetxt(file, table, "%.17g", ",", header="year,share_c,share_b,share_a,expenditure", comments="")
    np.savetxt(
        price_file, np.column_stack([years, prices]), "%.17g", ",", header="year,price_a,price_b,price_c", comments=""
    )
    three = rf.BudgetData.from_csv(file, price_file)
    assert three.goods == ("c", "b", "a")
    assert three.probabilities.tolist() == pytest.approx(one.probabilities.tolist(), abs=1e-9)
    assert "share_c, share_b, share_a: shares" in three.understood
    frame = {
        "year": years[budget],
        "quantity_a": amounts[:, 0],
        "quantity_b": amounts[:, 1],
        "quantity_c": amounts[:, 2],
    }
    four = rf.BudgetData.from_frame(
        frame, {"year": years, "price_a": prices[:, 0], "price_b": prices[:, 1], "price_c": prices[:, 2]}
    )
    assert four.probabilities == pytest.approx(one.probabilities, abs=1e-9)
    median = np.array([np.median(spent[budget == j]) for j in range(3)])
    five = rf.BudgetData.from_shares(prices * median[:, None], budget, shares, spent, at_median=True)
    assert five.probabilities == pytest.approx(one.probabilities, abs=1e-12)
    plain = rf.BudgetData.from_csv(file, price_file, expenditure=False)
    assert not plain.is_smoothed
    assert plain.choices.rows is not None
    assert plain.choices.totals.tolist() == [40, 40, 40]


def test_merged_selected_and_left_out(rng):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent = households(rng, prices, 30)
    twice = np.vstack([prices, prices[1], [9, 9, 9]])
    labels = ["a", "b", "c", "d", "b again", "nobody"]
    budget = np.where((budget == 1) & (rng.random(len(budget)) < 0.5), 4, budget)
    data = rf.BudgetData.from_shares(twice, budget, shares, spent, labels=None)
    named = rf.BudgetData.from_shares(twice, np.array(labels)[budget], shares, spent, labels=labels)
    whole = rf.BudgetData.from_shares(prices, np.where(budget == 4, 1, budget), shares, spent)
    assert data.probabilities.tolist() == whole.probabilities.tolist() == named.probabilities.tolist()
    assert named.labels == ("a", "b", "c", "d")
    assert "budget b again is equal to b: merged" in named.understood
    assert "nobody faced b again" not in named.understood
    assert "nobody faced nobody" in named.understood
    some = named.select(["d", "a"])
    assert some.labels == ("a", "d")
    keep = np.isin(budget, (0, 3))
    alone = rf.BudgetData.from_shares(prices[[0, 3]], (budget[keep] == 3).astype(int), shares[keep], spent[keep])
    assert some.probabilities == pytest.approx(alone.probabilities, abs=1e-12)
    patches = rf.BudgetData.from_patches(whole.patches[::-1], whole.probabilities[::-1], whole.sizes, degree=3)
    assert set(map(tuple, patches.select([0, 3]).patches.tolist())) == set(map(tuple, some.patches.tolist()))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shares": [[0.5, 0.4], [0.5, 0.5]]}, r"household 0 \(counted from 0\): shares add up to 0\.9"),
        ({"shares": [[50, 50], [50, 50]]}, "in percent"),
        (
            {"shares": [[20, 4.1], [0.5, 0.5]]},
            r"shares add up to 24\.1; .* are these amounts\? divide them by the household",
        ),
        ({"shares": [[1, 1], [0.5, 0.5]]}, r"or give quantities \(quantities=, --quantities\)"),
        ({"shares": [[1, 0.9], [0.5, 0.5]]}, "they must add up to 1$"),
        ({"shares": [[1.1, -0.1], [0.5, 0.5]]}, "the share of good 2 is -0.1"),
        ({"shares": [[np.nan, 1], [0.5, 0.5]]}, "row 0, column 0 is nan"),
        ({"shares": [[0.5, 0.5]]}, r"shape \(2, 2\)"),
        ({"budget": [0, 7]}, r"household 1 .*: budget 7 has no prices"),
        ({"prices": [[1, 2], [0, 1]]}, "budget 1, good 0 has price 0"),
        ({"prices": [[1], [2]]}, "two goods"),
        ({"expenditure": [1, -2]}, r"household 1 .*: expenditure is -2"),
        ({"degree": -1}, "degree=-1"),
        ({"labels": ["a", "a"]}, "different labels"),
        ({"cluster": [1]}, "one id"),
        ({"at_median": True}, "expenditure is needed"),
    ],
)
def test_wrong_input_is_named(change, words):
    given = {"prices": [[1, 2], [2, 1]], "budget": [0, 1], "shares": [[0.5, 0.5], [0.2, 0.8]]} | change
    with pytest.raises(rf.InputError, match=words):
        rf.BudgetData.from_shares(given.pop("prices"), given.pop("budget"), given.pop("shares"), **given)


def test_more_wrong_input(tmp_path):
    with pytest.raises(rf.InputError, match=r"household 0 .*the quantity of good 1 is -1"):
        rf.BudgetData.from_quantities([[1, 2], [2, 1]], [0], [[-1, 2]])
    with pytest.raises(rf.InputError, match=r"household 1 .*nothing was bought"):
        rf.BudgetData.from_quantities([[1, 2], [2, 1]], [0, 1], [[1, 2], [0, 0]])
    with pytest.raises(rf.InputError, match="do not determine a polynomial"):
        rf.BudgetData.from_shares([[1, 2], [2, 1]], [0, 1], [[0.5, 0.5]] * 2, [1, 2])
    with pytest.raises(rf.InputError, match="budget late: 1 different expenditures"):
        rf.BudgetData.from_shares(
            [[1, 2], [2, 1]], ["early", "early", "late"], [[0.5, 0.5]] * 3, [1, 2, 3], 1, labels=["early", "late"]
        )
    with pytest.raises(rf.InputError, match="budget 1 has none"):
        rf.BudgetData.from_patches([[0, 1], [0, -1]], [0.5, 0.5], 10)
    with pytest.raises(rf.InputError, match=r"budget 0 add up to 0\.6"):
        rf.BudgetData.from_patches([[0, 1], [0, -1], [1, 0]], [0.5, 0.1, 1], 10)
    with pytest.raises(rf.InputError, match="one column per budget"):
        rf.BudgetData.from_patches([[0, 2]], [1], 10)
    apart = rf.BudgetData.from_shares([[1, 1], [2, 2]], [0, 1], [[0.5, 0.5]] * 2)
    alone = rf.BudgetData.from_shares([[1, 1]], [0, 0], [[0.5, 0.5]] * 2)
    for function in (rf.project, rf.rum_test, rf.fit_likelihood, rf.rationalizable_share, rf.estimate_cost):
        with pytest.raises(rf.InputError, match="none of the 2 budgets crosses another"):
            function(apart)
        with pytest.raises(rf.InputError, match="there is one budget"):
            function(alone)
    file = tmp_path / "h.csv"
    file.write_text("year,share1,share2\n1990,0.5,0.5\n1991,1,0\n")
    prices = tmp_path / "p.csv"
    prices.write_text("year,price1,price2\n1990,1,2\n")
    with pytest.raises(rf.InputError, match="budget 1991 has no prices"):
        rf.BudgetData.from_csv(file, prices)
    with pytest.raises(rf.InputError, match="no such column"):
        rf.BudgetData.from_csv(file, prices, expenditure="income")
    prices.write_text("year,price1\n1990,1\n")
    with pytest.raises(rf.InputError, match="1 columns of prices"):
        rf.BudgetData.from_csv(file, prices)


@pytest.fixture
def smoothed(rng):
    prices = random_prices(rng, 4, 3)
    budget, shares, spent = households(rng, prices, 80)
    return rf.BudgetData.from_shares(prices, budget, shares, spent)


def test_distances_are_those_of_all_types_listed(smoothed):
    a = matrix_of(rational_types(smoothed.patches), len(smoothed.patches))
    fit = rf.project(smoothed)
    assert fit.gap <= 1e-9 * fit.objective + fit.certificate.floor
    assert 2 * fit.objective == pytest.approx(simplex_distance(a, smoothed.probabilities), rel=1e-5, abs=1e-9)
    scale = smoothed.n_observations / 3
    published = rf.rum_test(smoothed, n_boot=5, seed=1, convention="kitamura-stoye")
    assert published.statistic == pytest.approx(scale * cone_distance(a, smoothed.probabilities), rel=1e-6)
    own = rf.rum_test(smoothed, n_boot=5, seed=1)
    assert own.statistic == pytest.approx(scale * 2 * fit.objective, rel=1e-9)
    assert published.n_types == a.shape[1]
    # Replicates, one by one: households drawn again, recentred, measured to the tightened cone.
    tau, mean = published.tau, a.mean(axis=1)
    sampler = HouseholdSampler(smoothed, published.sample, None)
    drawn = sampler.probabilities(generators(published.seed, (), range(5)))
    p = smoothed.probabilities
    from scipy.optimize import nnls

    eta = a @ nnls(a, p - tau * mean)[0] + tau * mean
    expected = [scale * cone_distance(a, one - p + eta - tau * mean) for one in drawn]
    assert published.null_distribution == pytest.approx(expected, rel=1e-5, abs=1e-8)
    assert "rational ones" in published.summary()
    assert len(published.misfits()) > 3
    _, _, worst = published.summary().partition("Furthest from rational demand:\n")
    assert len([line for line in worst.splitlines() if line.startswith("  ") and "observed" in line]) == 3


def test_tau_by_hand(smoothed):
    test = rf.rum_test(smoothed, n_boot=3, seed=7, convention="kitamura-stoye")
    sampler = HouseholdSampler(smoothed, test.sample, None)
    drawn = sampler.probabilities(generators(7, (1 << 40,), range(1000)))
    sizes = [
        smoothed.sizes[j]
        * n
        / (smoothed.sizes[j] * ((drawn[:, own] - drawn[:, own].mean(axis=0)) ** 2).mean(axis=0).sum())
        for j in range(4)
        for own in [smoothed.budget == j]
        if (n := own.sum()) > 1
    ]
    m = min(sizes)
    assert test.tau == pytest.approx(np.sqrt(np.log(m) / m))


def test_draws_within_budgets_and_by_cluster(rng, smoothed):
    own = smoothed.households
    test = rf.rum_test(smoothed, n_boot=2, seed=3, tau=0.0)
    sampler = HouseholdSampler(smoothed, test.sample, None)
    drawn = sampler.probabilities(generators(3, (), range(400)))
    assert drawn.mean(axis=0) == pytest.approx(smoothed.probabilities, abs=0.03)
    ids = np.arange(len(own.budget)) // 4
    clustered = HouseholdSampler(smoothed, test.sample, ids)
    assert clustered.behind.min() == 20
    wide = clustered.probabilities(generators(3, (), range(400)))
    assert wide.mean(axis=0) == pytest.approx(smoothed.probabilities, abs=0.06)
    with pytest.raises(rf.InputError, match="cluster"):
        rf.rum_test(smoothed, n_boot=2, cluster=True)
    across = rf.rum_test(smoothed, n_boot=4, seed=3, cluster=np.arange(len(own.budget)) % 50)
    assert across.n_boot == 4


def test_results_do_not_depend_on_threads_and_workers(smoothed):
    options = {"n_boot": 9, "seed": 5, "convention": "kitamura-stoye"}
    one = rf.rum_test(smoothed, threads=1, **options)
    two = rf.rum_test(smoothed, threads=2, **options)
    three = rf.rum_test(smoothed, n_jobs=2, **options)
    assert one.null_distribution.tolist() == two.null_distribution.tolist() == three.null_distribution.tolist()


def test_plain_frequencies(rng):
    prices = random_prices(rng, 4, 3)
    budget, shares, _ = households(rng, prices, 50)
    data = rf.BudgetData.from_shares(prices, budget, shares, cluster=np.arange(len(budget)) // 2)
    a = matrix_of(rational_types(data.patches), len(data.patches))
    counts = data.probabilities * data.sizes[data.budget]
    fit = rf.fit_likelihood(data)
    values = fit.fitted[data.budget, np.arange(len(counts))]
    price = np.where(counts > 0, counts / np.maximum(values, 1e-300), 0.0)
    assert (price @ a).max() - counts.sum() <= 1e-5  # no type would raise the likelihood
    share = rf.rationalizable_share(data)
    best = linprog(-np.ones(a.shape[1]), A_ub=a, b_ub=data.probabilities)
    assert share.share == pytest.approx(-best.fun, abs=1e-8)
    assert share.gap <= 1e-8
    test = rf.rum_test(data, n_boot=19, seed=1)
    again = rf.rum_test(data, n_boot=19, seed=1, cluster=True)
    assert test.statistic == again.statistic
    assert "plain frequencies" in test.summary()
    given = rf.BudgetData.from_patches(data.patches, data.probabilities, data.sizes)
    assert rf.rum_test(given, n_boot=19, seed=1).statistic == pytest.approx(test.statistic, rel=1e-9)


def test_what_smoothed_demand_cannot_do(smoothed):
    with pytest.raises(rf.InputError, match="degree=0"):
        rf.fit_likelihood(smoothed)
    with pytest.raises(rf.InputError, match="bring their own model"):
        rf.project(smoothed, model=rf.RandomUtility())
    given = rf.BudgetData.from_patches(smoothed.patches, smoothed.probabilities, smoothed.sizes, degree=3)
    with pytest.raises(rf.InputError, match="without households"):
        rf.rum_test(given, n_boot=3)
    with pytest.raises(rf.InputError, match="prices of the budgets are not known"):
        rf.bounds(given, [1, 1, 1])
    with pytest.raises(rf.InputError, match="tau='often'"):
        rf.rum_test(smoothed, n_boot=3, tau="often")
    with pytest.raises(rf.InputError, match="no rankings"):
        rf.project(smoothed).rankings  # noqa: B018


@pytest.mark.parametrize("known", [True, False])
def test_bounds_on_a_new_budget(rng, known, monkeypatch):
    monkeypatch.setattr(linear_programs, "_FEW_ARCS", 0)  # look for the face of the fit, however small the graph
    prices = random_prices(rng, 3, 3)
    budget, shares, _ = households(rng, prices, 12)
    # Most households spend on what is dear on their budget, which is not rational.
    dear = np.eye(3)[(prices / prices.mean(axis=0)).argmax(axis=1)]
    shares = np.where(rng.random((len(budget), 1)) < 0.8, 0.2 * shares + 0.8 * dear[budget], shares)
    data = rf.BudgetData.from_shares(prices, budget, shares)
    new = prices.mean(axis=0)
    if not known:
        data = rf.BudgetData.from_patches(data.patches, data.probabilities, data.sizes, prices=prices)
    found = rf.bounds(data, new, confidence=None)
    assert found.gap <= 1e-7
    assert found.distance > 0.01  # a face, not the whole model
    every = find_patches(np.vstack([prices, new]))
    types = rational_types(every.signs)
    a = matrix_of(types, len(every.signs))
    old = every.budget < 3
    if known:  # the pieces of patches are told apart
        rows, target = a[old], np.nan_to_num(found.fit.fitted).sum(axis=0)[: old.sum()]
    else:
        piece = {tuple(row): i for i, row in enumerate(data.patches.tolist())}
        at = [piece[tuple(row)] for row in every.signs[old][:, :3].tolist()]
        rows = np.zeros((len(data.patches), a.shape[1]))
        np.add.at(rows, at, a[old])
        target = np.nan_to_num(found.fit.fitted).sum(axis=0)[: len(rows)]
    slack = 1e-7
    for k, i in enumerate(np.flatnonzero(~old)):
        ends = [
            linprog(
                s * a[i],
                A_ub=np.vstack([rows, -rows]),
                b_ub=np.concatenate([target + slack, slack - target]),
                A_eq=np.ones((1, a.shape[1])),
                b_eq=[1],
            )
            for s in (1, -1)
        ]
        assert found.lower[k] == pytest.approx(ends[0].fun, abs=1e-5)
        assert found.upper[k] == pytest.approx(-ends[1].fun, abs=1e-5)
    assert "a new budget" in found.summary()
    with pytest.raises(rf.InputError, match="which was observed"):
        rf.bounds(data, prices[1])
    with pytest.raises(rf.InputError, match="3 positive numbers"):
        rf.bounds(data, [1, 2])
    far = rf.bounds(data, [100, 100, 100])
    assert far.interval == (1.0, 1.0)
    assert "crosses no observed budget" in far.summary()


def test_intervals_on_a_new_budget(rng):
    prices = random_prices(rng, 3, 2)
    budget, shares, _ = households(rng, prices, 40)
    new = prices.mean(axis=0)
    data = rf.BudgetData.from_shares(prices, budget, shares)
    found = rf.bounds(data, new, confidence=0.9, n_boot=19, seed=1)
    assert found.confidence == 0.9
    kept = ~np.isnan(found.confidence_lower)
    assert kept.any()
    assert (found.confidence_lower <= found.lower + 1e-2)[kept].all()
    assert (found.confidence_upper >= found.upper - 1e-2)[kept].all()
    sharp = rf.bounds(data, new, confidence=None)
    assert sharp.lower == pytest.approx(found.lower, abs=1e-9)
    assert sharp.confidence_lower is None
    given = rf.BudgetData.from_patches(data.patches, data.probabilities, data.sizes, prices=data.prices)
    wider = rf.bounds(given, new, confidence=None)  # pieces that are not told apart say less
    assert (wider.lower <= sharp.lower + 1e-8).all()
    assert (wider.upper >= sharp.upper - 1e-8).all()


def test_bounds_on_budgets_refuse_what_does_not_apply(smoothed):
    with pytest.raises(rf.InputError, match="degree=0 for intervals"):
        rf.bounds(smoothed, smoothed.prices.mean(axis=0), confidence=0.9)
    with pytest.raises(rf.InputError, match="route='lattice'"):
        rf.bounds(smoothed, smoothed.prices.mean(axis=0), route="lattice")
    with pytest.raises(rf.InputError, match="as menu"):
        rf.bounds(smoothed, functional={(("a",), "a"): 1.0})


def test_conventions_of_budgets(smoothed):
    from rumflow.inference.convention import CONVENTIONS

    named = rf.rum_test(smoothed, n_boot=3, seed=7, convention="kitamura-stoye")
    given = rf.rum_test(smoothed, n_boot=3, seed=7, convention=CONVENTIONS["kitamura-stoye"])
    assert named.pvalues.tolist() == given.pvalues.tolist()
    assert named.taus == given.taus == (named.tau, 0.0, 2 * named.tau)
    own = rf.Convention(set="simplex", scale="total", weights=None, draws="empirical", tau=0.125)
    assert rf.rum_test(smoothed, n_boot=3, seed=7, convention=own).taus == (0.125, 0.0, 0.25)
    assert rf.rum_test(smoothed, n_boot=3, seed=7, convention=own, tau=["smallest", 0.2]).taus == (named.tau, 0.2)
    mean = rf.rum_test(smoothed, n_boot=3, seed=7, convention=own, tau="mean").taus
    assert len(mean) == 1
    for options, words in (
        ({"route": "graph"}, "route='graph'"),
        ({"sizes": 7}, "sizes=7"),
        ({"resample": "row"}, "resample='row'"),
        ({"resample": "cluster"}, "cluster: one id"),
    ):
        with pytest.raises(rf.InputError, match=words):
            rf.rum_test(smoothed, n_boot=3, **options)


def test_bounds_from_one_budget(rng):
    # Whoever takes the whole patch below the new budget must not take the part of the new one that lies below the old.
    data = rf.BudgetData.from_shares([[0.6, 0.4]], [0] * 10, [[0.95, 0.05]] * 7 + [[0.1, 0.9]] * 3)
    found = rf.bounds(data, [0.4, 0.61])
    below_old = next(k for k, name in enumerate(found.items) if "below" in str(name))
    assert found.lower[below_old] == 0
    assert found.upper[below_old] == pytest.approx(0.3)


def test_saved_and_loaded(smoothed, tmp_path):
    fit = rf.project(smoothed)
    fit.save(tmp_path / "fit.rum")
    again = rf.load(tmp_path / "fit.rum")
    assert again.objective == pytest.approx(fit.objective, rel=1e-9)
    assert again.types.shape == fit.types.shape


def test_cost_is_known_before(smoothed):
    cost = rf.estimate_cost(smoothed)
    assert cost.route == "graph"
    assert cost.nodes <= 16
    assert len(smoothed.to_frame("dict")["patch"]) == len(smoothed.patches)
    assert "smoothed with degree 3" in repr(smoothed)


def test_prices_that_may_not_be_divided_by_expenditure(rng):
    """Medians of 10 and 40: of quantities at prices as paid."""
    prices, budget = np.array([[1.0, 2.0], [2.0, 1.0]]), np.repeat([0, 1], 30)
    shares = rng.dirichlet([1.0, 1.0], 60)
    spent = np.where(budget == 0, 10.0, 40.0) * np.tile(np.linspace(0.5, 1.5, 30), 2)
    note = (
        "Median expenditure is 10 to 40, but prices are taken as already divided by it; if they are not, at_median=True "
        "(--at-median) divides them."
    )
    for degree in (0, 2):
        as_paid = rf.BudgetData.from_shares(prices, budget, shares, spent, degree)
        assert as_paid.notes == as_paid.select([0, 1]).notes == (note,)
        assert as_paid.understood.splitlines()[-1] == note
        assert note in rf.rum_test(as_paid, 9, 0.1, seed=0).summary().splitlines()
    amounts = shares * spent[:, None] / prices[budget]
    assert rf.BudgetData.from_quantities(prices, budget, amounts, 2).notes == (note,)
    assert rf.BudgetData.from_quantities(prices, budget, amounts, 2, at_median=True).notes == ()
    assert rf.BudgetData.from_shares(prices, budget, shares).notes == ()
    near = np.where(budget == 0, 0.05, 0.05) * spent / 1.0  # medians of 0.5 and 2
    assert rf.BudgetData.from_shares(prices, budget, shares, near, 2).notes == ()
    assert (
        rf.BudgetData.from_shares(prices, budget, shares, 0.98 * near, 2)
        .notes[0]
        .startswith("Median expenditure is 0.49 ")
    )
    same = rf.BudgetData.from_shares(prices, budget, shares, np.tile(np.linspace(20, 40, 30), 2), 2)
    assert same.notes[0].startswith("Median expenditure is 30, but")


def test_budgets_that_rule_out_little(rng):
    """Of two budgets with two patches each, 3 of 4 types are rational; of K that cross one pair only, most are."""
    shares = rng.dirichlet([1.0, 1.0], 40)
    two = rf.rum_test(rf.BudgetData.from_shares([[1, 2], [2, 1]], np.repeat([0, 1], 20), shares), 9, 0.1, seed=0)
    assert two.notes[-1] == "These budgets rule out little (3 of 4 types are rational): the test can find little."
    three = rf.BudgetData.from_shares([[1, 2], [1.5, 1.5], [2, 1]], np.repeat([0, 1, 2], 20), rng.dirichlet([1, 1], 60))
    found = rf.rum_test(three, 9, 0.1, seed=0)
    every = np.prod(np.bincount(three.budget))
    assert found.n_types < 0.75 * every
    assert not any("types are rational" in note for note in found.notes)
    hardly = _note_on_types(three, int(0.9 * every) + 1)
    assert hardly[0].startswith("These budgets hardly cross (")
    assert hardly[0].endswith(f" of {every} types are rational): the test can find almost nothing.")


def test_rounding_of_a_test_of_budgets_is_shown_as_nothing(smoothed):
    found = rf.rum_test(smoothed, 19, 0.1, seed=0)
    tiny = replace(found, statistic=4e-29, null_distributions=np.full((1, 19), 8e-16))
    text = tiny.summary()
    assert "  statistic    0 = " in text
    assert "critical value at 0.05: 0\n" in text
    assert "Samples of demand like this are rational themselves, nearly all of them (the critical value is 0)" in text
    assert "hardly put it to the test" not in replace(found, null_distributions=np.ones((1, 19))).summary()
