"""Budgets on the command line, in reports and in pictures; and the published numbers, where the data are."""

import csv
import json

import numpy as np
import pytest
from tests.reference.budgets import random_prices

import rumflow as rf
from rumflow.cli.main import main
from rumflow.report import make_report


@pytest.fixture
def files(tmp_path, rng):
    prices = random_prices(rng, 3, 3)
    years = np.array([1990, 1991, 1992])
    budget = np.repeat(np.arange(3), 60)
    shares = rng.dirichlet(np.ones(3), len(budget))
    spent = np.exp(rng.normal(0, 0.4, len(budget)))
    people = np.arange(len(budget)) // 2
    table = np.column_stack([years[budget], shares, spent, people])
    households = tmp_path / "households.csv"
    np.savetxt(households, table, "%.17g", ",", header="year,share1,share2,share3,expenditure,family", comments="")
    other = tmp_path / "prices.csv"
    np.savetxt(other, np.column_stack([years, prices]), "%.17g", ",", header="year,price1,price2,price3", comments="")
    return [str(households), "--prices", str(other)]


def answer(capsys, *words):
    assert main([str(word) for word in words]) == 0
    return json.loads(capsys.readouterr().out)


def test_commands_say_what_the_library_says(files, capsys, tmp_path):
    data = rf.BudgetData.from_csv(files[0], files[2])
    found = answer(capsys, "project", *files, "--json", "--out", tmp_path / "fit.csv")
    assert found["distance"] == pytest.approx(rf.project(data).distance)
    assert found["patches"] == len(data.patches)
    assert (tmp_path / "fit.csv").exists()
    found = answer(capsys, "test", *files, "--n-boot", 9, "--seed", 1, "--convention", "kitamura-stoye", "--json")
    test = rf.rum_test(data, n_boot=9, seed=1, convention="kitamura-stoye")
    assert found["statistic"] == pytest.approx(test.statistic)
    assert found["pvalues"][0] == test.pvalue
    assert found["types"] == str(test.n_types)
    plain = answer(
        capsys,
        "test",
        *files,
        "--n-boot",
        9,
        "--seed",
        1,
        "--expenditure",
        "no",
        "--subject",
        "family",
        "--cluster",
        "--json",
    )
    assert plain["degree"] == 0
    new = np.mean(data.prices, axis=0)
    found = answer(capsys, "bounds", *files, "--for", ",".join(map(str, new)), "--json")
    assert [row["upper"] for row in found["bounds"]] == pytest.approx(rf.bounds(data, new).upper.tolist(), abs=1e-8)
    assert main(["test", *files, "--n-boot", "9", "--only", "1990,1991", "-q"]) == 0
    assert "2 budgets" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["project", "--weights", "inverse-variance"], "none and counts"),
        (["test", "--by", "group"], "without --by"),
        (["project", "--axis", "a,b"], "--axis does not go with --prices"),
        (["bounds", "--for", "a,b"], "prices of a new budget"),
        (["test", "--only", "1990,1999"], "budget '1999' is unknown"),
        (["project", "--shares", "share1,food"], "shares='food' (--shares): "),
        (["project", "--quantities", "food"], "quantities='food' (--quantities): "),
        (["project", "--quantities", "share1", "--shares", "share1"], "one of them is accepted"),
        (["project", "--budget", "wave"], "budget='wave' (--budget): "),
        (["test", "--subject", "clan"], "cluster='clan' (--subject): "),
        (["test", "--weight", "w"], "--weight does not go with --prices"),
        (["project", "--outside-option", "x"], "--outside-option does not go with --prices"),
        (["test", "--together"], "--together does not go with --prices"),
    ],
)
def test_wrong_words_are_named(files, capsys, words, message):
    assert main([words[0], *files, *words[1:]]) == 1
    assert message in capsys.readouterr().err


def test_options_of_budgets_need_prices(files, capsys):
    assert main(["test", files[0], "--shares", "share1,share2"]) == 1
    assert "--shares goes with --prices" in capsys.readouterr().err


def test_options_are_named_as_they_are_on_the_command_line(files, capsys, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("year,food,energy\n1990,1,2\n", encoding="utf-8")
    assert main(["project", str(other), *files[1:]]) == 1
    assert "name them with shares= or quantities= (--shares, --quantities)" in capsys.readouterr().err
    other.write_text("wave,share1,share2,share3\n1990,1,0,0\n", encoding="utf-8")
    assert main(["project", str(other), *files[1:]]) == 1
    assert "name it with budget= (--budget)" in capsys.readouterr().err
    assert main(["project", *files]) == 0
    assert "\nnot used: family\n" in capsys.readouterr().err
    assert main(["bounds", *files, "--for", "90,90,90", "-q"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.endswith("are these prices divided by its expenditure?")


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


def test_report_and_pictures(files, tmp_path):
    data = rf.BudgetData.from_csv(files[0], files[2])
    page = tmp_path / "page.html"
    result = make_report(data, page, n_boot=9)
    text = page.read_text(encoding="utf-8")
    assert result["distance"] == pytest.approx(rf.project(data).distance)
    assert text.count("<figure") == 2
    assert "exogenous" in text
    assert data.items[0] in text
    ax = data.plot()
    triangles = len(ax.patches)
    assert triangles == len(data.patches)
    assert len(data.plot(budgets=[1991]).patches) == (data.budget == 1).sum()
    two = rf.BudgetData.from_shares([[0.4, 0.6], [0.6, 0.4]], [0, 0, 1, 1], [[0.1, 0.9], [0.7, 0.3]] * 2)
    assert "50 %" in {text.get_text() for text in two.plot().texts}
    four = rf.BudgetData.from_shares(np.ones((1, 4)), [0], [[0.25] * 4])
    with pytest.raises(rf.InputError, match="two or three goods"):
        four.plot()
    with pytest.raises(rf.InputError, match="not known"):
        rf.BudgetData.from_patches(two.patches, two.probabilities, 10).plot()


def test_parquet(files, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame, prices = pandas.read_csv(files[0]), pandas.read_csv(files[2])
    frame.to_parquet(tmp_path / "h.parquet")
    expected = rf.BudgetData.from_csv(files[0], files[2])
    for data in (rf.BudgetData.from_csv(tmp_path / "h.parquet", files[2]), rf.BudgetData.from_frame(frame, prices)):
        assert data.labels == expected.labels
        assert data.probabilities == pytest.approx(expected.probabilities, abs=1e-12)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


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


def test_replicates_of_few_households_do_not_depend_on_each_other():
    rng = np.random.default_rng(11)
    budget = np.r_[np.zeros(12, int), np.ones(3, int)]
    share = rng.beta(2, 2, 15)
    data = rf.BudgetData.from_shares(
        [[0.5, 1], [1, 0.5]], budget, np.c_[share, 1 - share], np.exp(rng.normal(size=15)), 1
    )
    many, few = (rf.rum_test(data, number, seed=1, tau=0.1).null_distributions[0, :30] for number in (99, 30))
    assert many == pytest.approx(few, abs=1e-6)


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
