"""What is no demand data is refused by name."""

import numpy as np
import pytest

import rumflow as rf


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
    file.write_text("year,share1,share2\n1990,0.5,0.5\n1991,1,0\n", encoding="utf-8")
    prices = tmp_path / "p.csv"
    prices.write_text("year,price1,price2\n1990,1,2\n", encoding="utf-8")
    with pytest.raises(rf.InputError, match="budget 1991 has no prices"):
        rf.BudgetData.from_csv(file, prices)
    with pytest.raises(rf.InputError, match="no such column"):
        rf.BudgetData.from_csv(file, prices, expenditure="income")
    prices.write_text("year,price1\n1990,1\n", encoding="utf-8")
    with pytest.raises(rf.InputError, match="1 columns of prices"):
        rf.BudgetData.from_csv(file, prices)
