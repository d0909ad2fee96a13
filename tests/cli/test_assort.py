"""The command `assort`."""

import json

import pytest

import rumflow as rf
from tests.reference.commands import run


def test_assort(capsys, sales, tmp_path):
    prices, out = tmp_path / "prices.csv", tmp_path / "table.csv"
    prices.write_text("item,value\ntea,3\nmilk,2\nbeer,5\n", encoding="utf-8")
    common = ["assort", sales, "--outside", "none", "-q"]
    code, text, _ = run(capsys, *common, "--revenue", prices, "--out", out)
    assert code == 0
    assert "Best in the worst case" in text
    assert out.read_text(encoding="utf-8").startswith("assortment,menu,size,lower,upper,fit,allowed")
    code, text, _ = run(capsys, *common, "--revenue", "tea=3,milk=2,beer=5", "--json")
    answer = json.loads(text)
    expected = rf.best_assortment(rf.ChoiceData.from_csv(sales), {"tea": 3, "milk": 2, "beer": 5}, "none")
    assert tuple(answer["menu"]) == expected.menu
    assert answer["lower"] == pytest.approx(expected.lower)
    assert answer["gap"] <= 1e-5
    limits = ["--max-size", 1, "--must", "milk", "--never-together", "tea,beer"]
    code, text, _ = run(capsys, *common, "--revenue", prices, *limits, "--json")
    assert set(json.loads(text)["menu"]) == {"none", "milk"}
    code, text, _ = run(capsys, *common, "--revenue", prices, "--max-seconds", "1e-9")
    assert code == 2
    assert "time was up" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--revenue", "tea=3"], "--outside is required"),
        (["--revenue", "tea=3", "--outside", "water"], "'water' is unknown"),
        (["--revenue", "nofile.csv", "--outside", "none"], "no such file"),
        (["--revenue", "tea=much", "--outside", "none"], "'much' is not a number"),
        (["--revenue", "rum=3", "--outside", "none"], "'rum' is unknown"),
        (["--revenue", "tea=3", "--outside", "none"], "no value for {beer, milk}"),
        ([], "--revenue"),
    ],
)
def test_assort_errors(capsys, sales, arguments, message):
    code, _, err = run(capsys, "assort", sales, "-q", *arguments)
    assert code == 1
    assert message in err
    assert "Traceback" not in err


def test_assort_at_a_level(capsys, sales):
    common = ["assort", sales, "--outside", "none", "-q", "--revenue", "tea=3,milk=2,beer=5", "--json"]
    code, text, _ = run(capsys, *common, "--confidence", 0.9, "--seed", 3, "--n-boot", 199)
    assert code == 0
    answer = json.loads(text)
    prices = {"tea": 3, "milk": 2, "beer": 5}
    expected = rf.best_assortment(rf.ChoiceData.from_csv(sales), prices, "none", confidence=0.9, seed=3, n_boot=199)
    assert (answer["lower"], answer["confidence"], answer["seed"]) == (pytest.approx(expected.lower), 0.9, 3)
    assert answer["assortments"][0]["from"] == answer["lower"]
    code, _, err = run(capsys, *common, "--cluster")
    assert (code, "give --confidence" in err) == (1, True)
    code, _, err = run(capsys, *common, "--cluster", "--confidence", 0.9)
    assert (code, "which subject made which choice" in err) == (1, True)


def test_many_prices_on_the_command_line(capsys, tmp_path):
    path = tmp_path / "many.csv"
    items = [f"item {k}" for k in range(40)]
    menus = [items, items[:20] + items[25:], items[5:]]
    rows = [f"none|{'|'.join(menu)},{item},{3 + k % 5}" for menu in menus for k, item in enumerate(["none", *menu])]
    path.write_text("menu,item,count\n" + "\n".join(rows) + "\n", encoding="utf-8")
    prices = ",".join(f"{item}={k + 1}" for k, item in enumerate(items))
    assert len(prices) > 255  # longer than names of files may be
    code, text, err = run(capsys, "assort", path, "-q", "--outside", "none", "--revenue", prices, "--json")
    assert code == 0, err
    assert json.loads(text)["gap"] <= 1e-5
    code, _, err = run(capsys, "assort", path, "-q", "--outside", "none", "--revenue", "item 3=1")
    assert code == 1
    assert "--revenue item 3=1: no value for {item 0, item 1, item 2, item 4," in err
