"""Files of households and prices: wrong rows are named by their line, Parquet is read."""

import pytest

import rumflow as rf


def test_wrong_rows_are_named_by_line(tmp_path):
    households, prices = tmp_path / "h.csv", tmp_path / "p.csv"
    prices.write_text("year,price1,price2\n1990,1,2\n1991,2,1\n", encoding="utf-8")
    for line, words in (
        ("1991,0.3,0.6,7", "line 3: shares add up to 0.9"),
        ("1991,0.3,0.7,0", "line 3: expenditure is 0"),
        ("1992,0.3,0.7,7", "line 3: budget 1992 has no prices"),
    ):
        households.write_text(f"year,share1,share2,expenditure\n1990,0.5,0.5,9\n{line}\n", encoding="utf-8")
        with pytest.raises(rf.InputError, match=words):
            rf.BudgetData.from_csv(households, prices, degree=1)
    households.write_text("year,quantity1,quantity2\n1990,0.5,0.5\n1991,0,0\n", encoding="utf-8")
    with pytest.raises(rf.InputError, match="line 3: nothing was bought"):
        rf.BudgetData.from_csv(households, prices)


def test_parquet(budget_files, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame, prices = pandas.read_csv(budget_files[0]), pandas.read_csv(budget_files[2])
    frame.to_parquet(tmp_path / "h.parquet")
    expected = rf.BudgetData.from_csv(budget_files[0], budget_files[2])
    for data in (
        rf.BudgetData.from_csv(tmp_path / "h.parquet", budget_files[2]),
        rf.BudgetData.from_frame(frame, prices),
    ):
        assert data.labels == expected.labels
        assert data.probabilities == pytest.approx(expected.probabilities, abs=1e-12)


def test_a_column_of_the_instrument(budget_files, rng):
    pandas = pytest.importorskip("pandas")
    frame, prices = pandas.read_csv(budget_files[0]), pandas.read_csv(budget_files[2])
    frame["wage"] = rng.uniform(1, 2, len(frame))
    data = rf.BudgetData.from_frame(frame, prices, instrument="wage", degree=2)
    expected = rf.BudgetData.from_shares(
        prices.iloc[:, 1:].to_numpy(), frame["year"], frame.iloc[:, 1:4].to_numpy(), frame["expenditure"], 2,
        instrument=frame["wage"], labels=prices["year"].tolist(),
    )  # fmt: skip
    assert data.probabilities.tolist() == expected.probabilities.tolist()
    assert data.understood.roles["instrument"] == "wage"
    assert "wage" not in data.understood.unused
    names = {f"share{k}": f"quantity{k}" for k in (1, 2, 3)}
    bought = rf.BudgetData.from_frame(frame.rename(columns=names), prices, instrument="wage", degree=2)
    assert bought.is_instrumented
    assert bought.households.instrument.tolist() == frame["wage"].tolist()
    with pytest.raises(rf.InputError, match=r"instrument='salary' \(--instrument\): .* has no such column"):
        rf.BudgetData.from_frame(frame, prices, instrument="salary")
