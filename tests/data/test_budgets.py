"""Demand data from budgets: quantities, shares, prices, merged budgets, and what is refused."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.budget_samples import households
from tests.reference.budgets import random_prices


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


def test_budgets_that_are_not_named():
    data = rf.BudgetData.from_patches([[0, -1], [0, 1], [-1, 0], [1, 0]], [0.5, 0.5, 0.5, 0.5], [10, 10])
    with pytest.raises(rf.InputError, match="no budget is named"):
        data.select([])
    with pytest.raises(rf.InputError, match="one number for each of the 2 budgets"):
        rf.BudgetData.from_patches([[0, -1], [0, 1], [-1, 0], [1, 0]], [0.5] * 4, [1, 2, 3])


def test_goods_and_prices_that_share_some_names_only(tmp_path):
    (tmp_path / "h.csv").write_text("year,quantity_food,quantity_fuel\n1,2,3\n2,3,2\n")
    (tmp_path / "p.csv").write_text("year,price_energy,price_food\n1,1,2\n2,2,1\n")
    with pytest.raises(
        rf.InputError, match=r"prices are for energy, the goods of the households have fuel; .*price=\["
    ):
        rf.BudgetData.from_csv(tmp_path / "h.csv", tmp_path / "p.csv")
    named = rf.BudgetData.from_csv(
        tmp_path / "h.csv", tmp_path / "p.csv", price=["price_food", "price_energy"], degree=0
    )
    assert "prices price_food, price_energy" in named.understood
