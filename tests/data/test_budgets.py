"""Demand data from budgets: quantities, shares, prices, choices, and what is refused."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.budget_samples import households
from tests.reference.budgets import random_prices


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
    assert "shares = 'share_c, share_b, share_a'" in str(three.understood)
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


def test_budgets_that_are_not_named():
    data = rf.BudgetData.from_patches([[0, -1], [0, 1], [-1, 0], [1, 0]], [0.5, 0.5, 0.5, 0.5], [10, 10])
    with pytest.raises(rf.InputError, match="no budget is named"):
        data.select([])
    with pytest.raises(rf.InputError, match="one number for each of the 2 budgets"):
        rf.BudgetData.from_patches([[0, -1], [0, 1], [-1, 0], [1, 0]], [0.5] * 4, [1, 2, 3])


def test_goods_and_prices_that_share_some_names_only(tmp_path):
    (tmp_path / "h.csv").write_text("year,quantity_food,quantity_fuel\n1,2,3\n2,3,2\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("year,price_energy,price_food\n1,1,2\n2,2,1\n", encoding="utf-8")
    with pytest.raises(
        rf.InputError, match=r"prices are for energy, the goods of the households have fuel; .*price=\["
    ):
        rf.BudgetData.from_csv(tmp_path / "h.csv", tmp_path / "p.csv")
    named = rf.BudgetData.from_csv(
        tmp_path / "h.csv", tmp_path / "p.csv", price=["price_food", "price_energy"], degree=0
    )
    assert "prices = 'price_food, price_energy'" in str(named.understood)


def test_budgets_of_one_patch_are_padded():
    """Budgets 0 and 1 cross, budget 2 lies above both: its only patch gets an item that nobody takes beside it."""
    prices, shares = [[1, 2], [2, 1], [0.1, 0.1]], [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1], [0.5, 0.5], [0.4, 0.6]]
    data = rf.BudgetData.from_shares(prices, list("aabcc"), shares, labels=["a", "b", "c"], cluster=[5, 7, 7, 5, 5])
    plain, padded = data.choices, data.padded_choices
    assert plain.menus == [("a/1", "a/2"), ("b/1", "b/2"), ("c/1",)]
    assert padded.menus == [("a/1", "a/2"), ("b/1", "b/2"), ("c/1", "c/-")]
    assert padded.count.tolist() == [*plain.count.tolist(), 0.0]
    for choices in (plain, padded):
        rows = choices.rows
        assert [choices.items[x] for x in rows.choice] == [data.items[i] for i in data.households.patch]
        assert rows.menu.tolist() == [0, 0, 1, 2, 2]
        assert [rows.subjects[s] for s in rows.subject] == [5, 7, 7, 5, 5]
        assert choices.totals.tolist() == [2, 1, 2]
