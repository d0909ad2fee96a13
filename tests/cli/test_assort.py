"""The commands that end in a decision: assort, bounds --remove, bounds --next."""

from __future__ import annotations

import json

import pytest

import rumflow as rf
from rumflow.cli.main import main

ROWS = [
    ("none|tea|milk", "none", 30),
    ("none|tea|milk", "tea", 35),
    ("none|tea|milk", "milk", 35),
    ("none|milk|beer", "none", 35),
    ("none|milk|beer", "milk", 40),
    ("none|milk|beer", "beer", 25),
]


@pytest.fixture
def sales(tmp_path):
    path = tmp_path / "sales.csv"
    path.write_text("menu,item,count\n" + "".join(f"{menu},{item},{count}\n" for menu, item, count in ROWS))
    return str(path)


def run(capsys, *words):
    code = main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_assort(capsys, sales, tmp_path):
    prices, out = tmp_path / "prices.csv", tmp_path / "table.csv"
    prices.write_text("item,value\ntea,3\nmilk,2\nbeer,5\n")
    common = ["assort", sales, "--outside", "none", "-q"]
    code, text, _ = run(capsys, *common, "--revenue", prices, "--out", out)
    assert code == 0
    assert "Best in the worst case" in text
    assert out.read_text().startswith("assortment,menu,size,lower,upper,fit,allowed")
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
        (["--revenue", "tea=3"], "outside_option"),
        (["--revenue", "tea=3", "--outside", "water"], "'water' is unknown"),
        (["--revenue", "nofile.csv", "--outside", "none"], "no such file"),
        (["--revenue", "tea=much", "--outside", "none"], "a number is needed"),
        (["--revenue", "rum=3", "--outside", "none"], "'rum' is unknown"),
        (["--revenue", "tea=3", "--outside", "none"], "there is no value for {beer, milk}"),
        ([], "--revenue"),
    ],
)
def test_assort_errors(capsys, sales, arguments, message):
    code, _, err = run(capsys, "assort", sales, "-q", *arguments)
    assert code == 1
    assert message in err
    assert "Traceback" not in err


def test_report_has_a_section_on_the_assortment(capsys, sales, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    options = ["--revenue", "tea=3,milk=2,beer=5", "--outside", "none", "--n-boot", 0, "-q", "--json"]
    code, text, _ = run(capsys, "report", sales, "-o", page, *options)
    assert code == 0
    expected = rf.best_assortment(rf.ChoiceData.from_csv(sales), {"tea": 3, "milk": 2, "beer": 5}, "none")
    assert tuple(json.loads(text)["assortment"]) == expected.menu
    html = page.read_text()
    assert "What should be offered?" in html
    assert f"it earns at least {expected.lower:.4g}" in html
    assert "contradict random utility" not in html
    options[options.index("--n-boot") + 1] = 19
    code, text, _ = run(capsys, "report", sales, "-o", page, *options)
    sure = rf.best_assortment(rf.ChoiceData.from_csv(sales), {"tea": 3, "milk": 2, "beer": 5}, "none", confidence=0.95)
    assert (
        f"it earns at least {sure.lower:.4g} on average, in every population that the data do not rule out"
        in page.read_text()
    )
    assert "95 %: from" in page.read_text()


def test_report_warns_where_the_data_contradict_the_model(capsys, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    path, page = tmp_path / "odd.csv", tmp_path / "page.html"
    rows = [
        ("none|tea", "none", 80),
        ("none|tea", "tea", 20),
        ("none|tea|milk", "none", 20),
        ("none|tea|milk", "tea", 70),
    ]
    rows.append(("none|tea|milk", "milk", 10))
    path.write_text("menu,item,count\n" + "".join(f"{menu},{item},{count}\n" for menu, item, count in rows))
    options = ["--revenue", "tea=3,milk=2", "--outside", "none", "--n-boot", 39, "-q"]
    code, _, _ = run(capsys, "report", path, "-o", page, *options)
    assert code == 0
    assert "contradict random utility, on which all of this rests" in page.read_text()


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--outside", "none"], "needs --revenue"),
        (["--revenue", "tea=3", "--prices", "prices.csv"], "--revenue does not go with --prices"),
    ],
)
def test_report_ignores_nothing_in_silence(capsys, sales, tmp_path, arguments, message):
    code, _, err = run(capsys, "report", sales, "-o", tmp_path / "page.html", "-q", *arguments)
    assert (code, message in err) == (1, True)
    assert not (tmp_path / "page.html").exists()


def test_remove(capsys, sales):
    common = ["bounds", sales, "--confidence", "none", "-q"]
    code, text, _ = run(capsys, *common, "--remove", "tea", "--json")
    assert code == 0
    answer = json.loads(text)
    assert set(answer["menu"]) == {"none", "tea", "milk"}
    assert {row["item"] for row in answer["gains"]} == {"none", "milk"}
    assert (answer["seed"], answer["notes"]) == (None, [])
    code, text, _ = run(capsys, "bounds", sales, "--remove", "tea", "-q", "--json", "--n-boot", 19, "--seed", 4)
    assert json.loads(text)["seed"] == 4
    code, text, _ = run(capsys, *common, "--remove", "tea", "--for", "tea,beer,none")
    assert code == 0
    assert "never offered" in text
    code, _, err = run(capsys, *common, "--remove", "tea", "--item", "milk")
    assert (code, "--for alone" in err) == (1, True)


def test_next(capsys, sales, tmp_path):
    out = tmp_path / "next.csv"
    code, text, _ = run(capsys, "bounds", sales, "--next", "-q", "--out", out)
    assert code == 0
    assert "What to ask next" in text
    assert out.read_text().startswith("menu,width,refutes")
    code, text, _ = run(capsys, "bounds", sales, "--next", "--functional", "1:tea,beer:tea", "-q", "--json")
    first = json.loads(text)["menus"][0]
    assert set(first["menu"]) == {"tea", "beer"}
    assert first["shrinks"] == pytest.approx(json.loads(text)["before"], abs=1e-6)
    code, _, err = run(capsys, "bounds", sales, "--next", "--for", "tea,milk")
    assert (code, "--functional alone" in err) == (1, True)
    for more in (["--confidence", "0.9"], ["--n-boot", "99"], ["--cluster"]):
        code, _, err = run(capsys, "bounds", sales, "--next", *more)
        assert (code, "without intervals" in err) == (1, True)
    asked = {True: set(), False: set()}
    for more in ([], ["--outside-option", "none"]):
        _, text, _ = run(capsys, "bounds", sales, "--next", "-q", "--json", *more)
        asked[bool(more)] = {tuple(sorted(row["menu"])) for row in json.loads(text)["menus"]}
    assert ("beer", "tea") in asked[False]
    assert asked[True] == {menu for menu in asked[False] if "none" in menu}


def test_an_objective_that_is_rounding_is_shown_as_nothing(capsys, tmp_path):
    path = tmp_path / "fits.csv"
    path.write_text("menu,item,count\na|b,a,62\na|b,b,38\na|b|c,a,51\na|b|c,b,32\na|b|c,c,17\n")
    _, text, _ = run(capsys, "project", path, "-q")
    assert "Certificate: objective 0, at most" in text
    households, prices = tmp_path / "households.csv", tmp_path / "prices.csv"
    households.write_text("year,share1,share2\n1990,0.9,0.1\n1990,0.8,0.2\n1991,0.1,0.9\n1991,0.3,0.7\n")
    prices.write_text("year,price1,price2\n1990,1,2\n1991,2,1\n")
    _, text, _ = run(capsys, "project", households, "--prices", prices, "-q")
    assert "Certificate: objective 0, at most" in text


def test_many_prices_on_the_command_line(capsys, tmp_path):
    path = tmp_path / "many.csv"
    items = [f"item {k}" for k in range(40)]
    menus = [items, items[:20] + items[25:], items[5:]]
    rows = [f"none|{'|'.join(menu)},{item},{3 + k % 5}" for menu in menus for k, item in enumerate(["none", *menu])]
    path.write_text("menu,item,count\n" + "\n".join(rows) + "\n")
    prices = ",".join(f"{item}={k + 1}" for k, item in enumerate(items))
    assert len(prices) > 255  # longer than names of files may be
    code, text, err = run(capsys, "assort", path, "-q", "--outside", "none", "--revenue", prices, "--json")
    assert code == 0, err
    assert json.loads(text)["gap"] <= 1e-5
    code, _, err = run(capsys, "assort", path, "-q", "--outside", "none", "--revenue", "item 3=1")
    assert code == 1
    assert "--revenue item 3=1: there is no value for {item 0, item 1, item 2, item 4," in err


def test_nothing_to_ask(capsys, tmp_path):
    path = tmp_path / "pair.csv"
    path.write_text("menu,choice\na|b,a\na|b,b\n")
    code, text, _ = run(capsys, "bounds", path, "--next", "-q")
    assert code == 0
    assert "What to ask next: nothing" in text
    assert "Every menu that could be asked was observed." in text


def test_graphs_too_large_say_what_to_do(capsys, tmp_path):
    data = rf.simulate.random_menus(120, 300, 3, draws=1, seed=0)
    path = tmp_path / "small.csv"
    data.to_csv(path)
    code, _, err = run(capsys, "bounds", path, "--next", "-q")
    assert code == 1
    assert "leave out menus or items" in err
