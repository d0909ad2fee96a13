"""The section on a model beside random utility."""

import re

import pytest

import rumflow as rf

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
report = pytest.importorskip("rumflow.report")

PHONES = {"none": (0, 0), "basic": (1.0, 2.2), "middle": (2.5, 5.0), "good": (4.2, 6.5), "poor value": (4.0, 4.5)}
DATA = rf.ChoiceData.from_counts(
    {
        ("none", "basic", "middle"): {"none": 20, "basic": 35, "middle": 45},
        ("none", "basic", "good"): {"none": 25, "basic": 45, "good": 30},
        ("none", "middle", "good", "poor value"): {"none": 25, "middle": 40, "good": 15, "poor value": 20},
    }
)
LINEAR = rf.LinearUtility(PHONES, [-1, 1])


def section(path, name):
    text = path.read_text(encoding="utf-8")
    if f'id="{name}"' not in text:
        return ""
    begin = text.index(f'id="{name}"')
    return re.sub(r"<svg.*?</svg>|<[^>]+>", " ", text[begin : text.index("</section>", begin)], flags=re.DOTALL)


def test_a_model_beside_random_utility(tmp_path):
    path = tmp_path / "page.html"
    found = report.make_report(DATA, path, n_boot=19, model=LINEAR)
    text = section(path, "other-model")
    assert found["model"] == "linear utility"
    assert found["model_distance"] == rf.project(DATA, model=LINEAR).distance > found["distance"]
    assert found["model_pvalue"] == rf.rum_test(DATA, 19, seed=0, model=LINEAR).pvalue == 0.05
    assert found["pvalue"] == 1.0
    assert "Do they fit another model? Utility linear in attribute 0 and attribute 1" in text
    assert "No: no population of people whose utility is linear in attribute 0 and attribute 1 makes choices" in text
    assert "takes poor value from" in text  # the inequality that they contradict
    assert "it lies in random utility" in text


def test_the_assortment_is_that_of_the_model(tmp_path):
    path, revenue = tmp_path / "page.html", {"basic": 3, "middle": 6, "good": 10, "poor value": 30}
    found = report.make_report(DATA, path, n_boot=0, model=LINEAR, revenue=revenue, outside_option="none")
    best = rf.best_assortment(DATA, revenue, "none", model=LINEAR)
    assert found["assortment"] == list(best.menu)
    assert found["model_pvalue"] is None
    assert "These choices contradict linear utility, on which all of this rests" in section(path, "assortment")


def test_without_a_model_there_is_no_section(tmp_path):
    path = tmp_path / "page.html"
    assert report.make_report(DATA, path, n_boot=0)["model"] is None
    assert section(path, "other-model") == ""


def test_models_by_menu_need_not_lie_in_random_utility(tmp_path):
    menus = [("a", "b"), ("a", "b", "c")]
    data = rf.ChoiceData.from_counts({menus[0]: {"a": 2, "b": 8}, menus[1]: {"a": 8, "b": 2, "c": 0}})
    price = {(menus[0], "a"): 9, (menus[0], "b"): 1, (menus[1], "a"): 1, (menus[1], "b"): 9, (menus[1], "c"): 5}
    report.make_report(data, tmp_path / "a.html", n_boot=0, model=rf.LinearUtility(price))
    assert "need not lie in random utility" in section(tmp_path / "a.html", "other-model")


def test_what_is_refused(tmp_path):
    with pytest.raises(rf.InputError, match="is about pairs"):
        report.make_report(DATA, tmp_path / "a.html", model=rf.TriangleInequalities())
    with pytest.raises(rf.InputError, match="model: a model such as RandomUtility"):
        report.make_report(DATA, tmp_path / "a.html", model="linear")
    budgets = rf.BudgetData.from_shares([[1, 2], [2, 1]], [0, 1], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(rf.InputError, match="revenue, cluster and model are for choices"):
        report.make_report(budgets, tmp_path / "a.html", model=LINEAR)
    assert list(tmp_path.iterdir()) == []
