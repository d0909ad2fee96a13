"""The page: complete, self-contained, and working in a real browser."""

import re
import shutil

import pytest

import rumflow as rf
from rumflow.cli import demo
from rumflow.cli.main import main

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
report = pytest.importorskip("rumflow.report")


FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "demo.html"
    report.make_report(demo.sample(demo.population()[1], 300, 1), path, title="Six <drinks> & more", n_boot=19)
    return path


def test_sections_and_no_outside_reference(page):
    text = page.read_text(encoding="utf-8")
    for part in ("verdict", "data", "distance", "test", "drivers", "model", "method", "reproduce"):
        assert f'id="{part}"' in text
    assert "Six &lt;drinks&gt; &amp; more" in text
    outside = re.findall(r'(?:src|href|action)\s*=\s*"(?!#|data:)[^"]*"', text)
    assert outside == []
    assert "@import" not in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_same_data_same_page(page, tmp_path):
    again = tmp_path / "demo.html"
    data = demo.sample(demo.population()[1], 300, 1)
    report.make_report(data, again, title="Six <drinks> & more", n_boot=19)
    clean = [p.read_text(encoding="utf-8").replace(str(p), "") for p in (page, again)]
    assert clean[0] == clean[1]


def test_menus_not_offered(tmp_path):
    counts = {("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}, ("a", "c"): {"a": 7, "c": 3}}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "a.html", n_boot=0)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "menus not offered" in text
    assert "explains every observed share exactly" in text


def test_a_hundred_items(tmp_path):
    data = rf.simulate.stock_outs(100, 30, seed=0)
    result = report.make_report(data, tmp_path / "a.html", n_boot=9)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert result["pvalue"] == rf.rum_test(data, 9, seed=0).pvalue
    assert result["distance"] == pytest.approx(rf.project(data).distance)
    assert "The flow over all menus is drawn for up to 16 items; these are 100." in text
    assert "Nearly all menus were not offered" in text
    assert "everything except " in text
    assert "84 others" not in text  # a menu lists its largest shares and the sum of the others: 90 items, 16 listed
    assert "74 others" in text


def test_data_without_a_choice(tmp_path):
    with pytest.raises(rf.InputError, match="nothing to report"):
        report.make_report(
            rf.ChoiceData.from_counts({("a",): {"a": 6}, ("b",): {"b": 4}}), tmp_path / "a.html", n_boot=0
        )
    assert not (tmp_path / "a.html").exists()


def test_in_a_browser(page, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if binary is None:
        pytest.skip("no chromium is installed: the page is not tried in a browser")
    with playwright.sync_playwright() as tool:
        context = tool.chromium.launch_persistent_context(
            str(tmp_path / "profile"),
            executable_path=binary,
            args=FLAGS,
            viewport={"width": 390, "height": 800},
            color_scheme="dark",
        )
        tab = context.new_page()
        said, asked = [], []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(page.as_uri())
        assert asked == [page.as_uri()]
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        inside = "[...document.querySelectorAll('ul.narrow li, figcaption')].map(e => e.getBoundingClientRect().right)"
        assert tab.evaluate(inside)
        assert max(tab.evaluate(inside)) <= 390  # what the letters mean is not cut off
        column = "[...document.querySelectorAll('#drivers table')[1].tBodies[0].rows].map(r => Number(r.cells[4].dataset.value))"
        before = tab.evaluate(column)
        heading = tab.locator("#drivers table >> nth=1 >> th >> nth=4 >> button")
        heading.click()
        assert tab.evaluate(column) == sorted(before)
        heading.press("Enter")
        assert tab.evaluate(column) == sorted(before, reverse=True)
        background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == "rgb(20, 24, 30)"
        tab.emulate_media(color_scheme="light", media="print")
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert said == []
        context.close()


def test_a_page_by_subject(tmp_path):
    table = [
        f"{who},{menu},{menu.split('|')[(who // 3 + k) % 2]}"
        for who in range(30)
        for k, menu in enumerate(["a|b", "b|c", "a|c"])
    ]
    (tmp_path / "c.csv").write_text("subject,menu,choice\n" + "\n".join(table) + "\n", encoding="utf-8")
    out = tmp_path / "p.html"
    assert main(["report", str(tmp_path / "c.csv"), "-o", str(out), "--n-boot", "19", "--cluster", "--quiet"]) == 0
    assert "subjects" in out.read_text(encoding="utf-8")
    assert "--cluster" in out.read_text(encoding="utf-8")
    assert (
        main(["report", str(tmp_path / "c.csv"), "-o", str(out), "--n-boot", "19", "--prices", "p.csv", "--cluster"])
        != 0
    )


def test_what_the_model_can_be_used_for(tmp_path):
    counts = {("a", "b"): {"a": 60, "b": 40}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "a.html", n_boot=19)
    text = " ".join((tmp_path / "a.html").read_text(encoding="utf-8").split())
    assert "can be used for menus that were offered; for other menus use the ranges" in text
    counts[("a", "b")] = {"a": 10, "b": 90}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "b.html", n_boot=19)
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "The shares furthest from the model, where every menu counts the same" in text
    assert "Furthest from the nearest RUM (menus weighted by their choices):" in text


def test_no_number_of_a_table_is_minus_zero():
    from rumflow.report.render import PageTable

    table = PageTable("", ["difference"], [True])
    for value in (-1e-5, -0.0, -0.25):
        table.add(value)
    assert [row[0].text for row in table.rows] == ["0.000", "0.000", "-0.250"]
