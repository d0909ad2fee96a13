"""The test of households against all types listed: draws, tau, conventions, notes, cost, saved fits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import rumflow as rf
from rumflow.inference.budgets import HouseholdSampler, note_on_types
from rumflow.inference.resample import generators
from tests.reference.budget_samples import PRICES, demand, households
from tests.reference.budgets import cone_distance, matrix_of, random_prices, rational_types, simplex_distance


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
    assert clustered.n_independent.min() == 20
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
    with pytest.raises(rf.InputError, match="determine the model"):
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
        assert str(as_paid.understood).splitlines()[-1] == note
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
    hardly = note_on_types(three, int(0.9 * every) + 1)
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


def test_replicates_of_few_households_do_not_depend_on_each_other():
    rng = np.random.default_rng(11)
    budget = np.r_[np.zeros(12, int), np.ones(3, int)]
    share = rng.beta(2, 2, 15)
    data = rf.BudgetData.from_shares(
        [[0.5, 1], [1, 0.5]], budget, np.c_[share, 1 - share], np.exp(rng.normal(size=15)), 1
    )
    many, few = (rf.rum_test(data, number, seed=1, tau=0.1).null_distributions[0, :30] for number in (99, 30))
    assert many == pytest.approx(few, abs=1e-6)


def test_how_a_test_of_budgets_is_made():
    data = demand(9, 9)
    own = rf.Convention(set="simplex", scale=2.0, weights=None, draws="empirical", tau=0.1)
    published = {"n_boot": 19, "tau": 0.1, "seed": 1, "convention": "kitamura-stoye"}
    assert rf.rum_test(data, **published).weights == "1 on every patch"
    assert rf.rum_test(data, **published, weights="counts").weights == "counts"
    assert rf.rum_test(data, **published, weights=np.ones(data.padded_choices.counts.shape)).weights == "given"
    assert rf.rum_test(data, **published).sample.scale == 20.0
    rng = np.random.default_rng(0)
    first = rng.random(40) < 0.9
    shares = np.where(first[:, None] ^ (np.arange(40) >= 20)[:, None], [[0.1, 0.9]], [[0.9, 0.1]])
    smooth = rf.BudgetData.from_shares(PRICES, [0] * 20 + [1] * 20, shares, rng.uniform(1, 2, 40), 2)
    tested = rf.rum_test(smooth, 19, 0.1, seed=1)
    assert tested.sample.scale == 40 / 2
    assert tested.sample.convention.set == "simplex"
    assert tested.sample.convention.draws == "empirical"
    assert "smoothed at median expenditure (degree 2)" in tested.summary()
    assert "20 x squared distance to the set of rational demand, weights" in tested.summary()
    assert rf.rum_test(smooth, 19, 0.1, seed=1, convention=own).sample.scale == 2.0
    assert "No replicate was as large: the p-value is the smallest that 19 replicates can give." in (
        replace(tested, pvalues=np.array([0.05])).summary()
    )
    assert "No replicate was as large" not in replace(tested, pvalues=np.array([0.1])).summary()
    with pytest.raises(rf.InputError, match="accepted is 'empirical'"):
        rf.rum_test(smooth, 19, 0.1, draws="null")
    for wrong in (0.0, 1.0):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed"):
            rf.rum_test(smooth, 19, 0.1, tol=wrong)


def test_demand_that_does_not_vary():
    """All households of a budget in one patch: there is no variance to set tau by."""
    found = rf.rum_test(demand(0, 0), 9, "smallest", seed=0, convention="kitamura-stoye")
    assert found.taus == (0.0,)
    assert found.statistic == 0.0


def test_clusters_that_were_named_are_resampled_whole():
    rng = np.random.default_rng(3)
    prices, budget = np.array([[1.0, 2.0], [2.0, 1.0]]), np.repeat([0, 1], 30)
    shares, spent = rng.dirichlet([2.0, 2.0], 60), np.exp(rng.normal(0, 0.3, 60))
    clusters = np.arange(60) // 3
    for expenditure, unit in ((None, "subject"), (spent, "cluster")):
        data = rf.BudgetData.from_shares(prices, budget, shares, expenditure, cluster=clusters)
        assert rf.rum_test(data, 9, seed=1).resample == unit
        assert rf.rum_test(data, 9, seed=1, cluster=False).resample in ("menu", "household")
        assert rf.rum_test(data, 9, seed=1, convention="kitamura-stoye").resample == "household"
        single = rf.BudgetData.from_shares(prices, budget, shares, expenditure, cluster=np.arange(60))
        assert rf.rum_test(single, 9, seed=1).resample in ("menu", "household")
