"""The section of the page on the assortment."""

import json

import pytest

import rumflow as rf
from tests.reference.commands import run


def test_report_has_a_section_on_the_assortment(capsys, sales, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    options = ["--revenue", "tea=3,milk=2,beer=5", "--outside", "none", "--n-boot", 0, "-q", "--json"]
    code, text, _ = run(capsys, "report", sales, "-o", page, *options)
    assert code == 0
    expected = rf.best_assortment(rf.ChoiceData.from_csv(sales), {"tea": 3, "milk": 2, "beer": 5}, "none")
    assert tuple(json.loads(text)["assortment"]) == expected.menu
    html = page.read_text(encoding="utf-8")
    assert "What should be offered?" in html
    assert f"a person brings {expected.lower:.4g} on average" in html
    assert "contradict random utility" not in html
    options[options.index("--n-boot") + 1] = 19
    code, text, _ = run(capsys, "report", sales, "-o", page, *options)
    sure = rf.best_assortment(rf.ChoiceData.from_csv(sales), {"tea": 3, "milk": 2, "beer": 5}, "none", confidence=0.95)
    assert (
        f"a person brings at least {sure.lower:.4g} on average in every population that the data do not rule out"
        in page.read_text(encoding="utf-8")
    )
    assert "95 %: from" in page.read_text(encoding="utf-8")


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
    path.write_text(
        "menu,item,count\n" + "".join(f"{menu},{item},{count}\n" for menu, item, count in rows), encoding="utf-8"
    )
    options = ["--revenue", "tea=3,milk=2", "--outside", "none", "--n-boot", 39, "-q"]
    code, _, _ = run(capsys, "report", path, "-o", page, *options)
    assert code == 0
    assert "contradict random utility, on which all of this rests" in page.read_text(encoding="utf-8")


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
