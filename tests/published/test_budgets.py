"""Published numbers on budgets, where the data are."""

import csv

import pytest

import rumflow as rf


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_published_spans_of_seven_years(data_folder):
    folder = data_folder / "kitamura_stoye"
    data = rf.BudgetData.from_csv(folder / "households.csv.gz", folder / "budgets.csv")
    patches = {}
    for row in rows_of(folder / "patches_7years.csv"):
        key = int(row["budget"]), tuple(int(row[f"side{k}"]) for k in range(1, 8))
        patches.setdefault(int(row["first_year"]), {})[key] = float(row["pi_hat"])
    published = rows_of(folder / "published_7years.csv")
    assert len(published) == 19
    for row in published:
        first = int(row["first_year"])
        span = data.select(range(first, first + 7))
        keys = list(zip((span.labels[j] for j in span.budget), map(tuple, span.patches.tolist()), strict=True))
        assert set(keys) == set(patches[first])
        assert span.probabilities == pytest.approx([patches[first][key] for key in keys], abs=2e-8)
        test = rf.rum_test(span, n_boot=1, seed=1, convention="kitamura-stoye")
        assert test.statistic == pytest.approx(float(row["statistic"]), rel=1e-5, abs=1e-6)
        assert test.n_types == int(row["types"])
        assert test.tau == pytest.approx(float(row["tau"]), rel=0.1)


@pytest.mark.slow
def test_all_25_years(data_folder):
    folder = data_folder / "kitamura_stoye"
    data = rf.BudgetData.from_csv(folder / "households.csv.gz", folder / "budgets.csv")
    assert len(data.patches) == 715
    published = rf.rum_test(data, n_boot=1, seed=1, convention="kitamura-stoye", tau=0.03)
    assert published.statistic == pytest.approx(35.767, abs=6e-4)
    assert published.n_types == 5560981164224144278390346389
    cost = rf.estimate_cost(data)
    assert (cost.nodes, cost.arcs) == (686, 21281)
    fit = rf.project(data)
    assert 2 * fit.objective * data.n_observations / 3 == pytest.approx(37.837, abs=6e-4)
    assert fit.gap <= 1e-9 * fit.objective
