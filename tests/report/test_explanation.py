"""The page explains a conflict, or says why not."""

import re

import pytest

import rumflow as rf
from rumflow.report import make_report
from rumflow.report.explanation import explain_data, explanation_content
from rumflow.report.page_model import RANDOM_UTILITY
from tests.reference.conflicts import CYCLE


def test_the_page_explains(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    data = rf.ChoiceData.from_counts(CYCLE | {("a", "<d>"): {"a": 50, "<d>": 50}})
    answer = make_report(data, tmp_path / "a.html", n_boot=19)
    assert sorted(map(tuple, answer["conflict"])) == sorted(CYCLE)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    section = re.search(r'<section[^>]*id="explanation">.*?</section>', text, re.DOTALL).group()
    assert text.index('id="verdict"') < text.index('id="explanation"') < text.index('id="data"')
    assert "Preferences that form a cycle" in section
    assert "What to do" in section
    assert 'style="left: 83.33%"' in section  # 2 of 2.4
    assert "(any one of them is enough) the rest of the data is not rejected" in section


def test_words_of_the_page_without_a_test_and_without_a_conflict():
    exact = explanation_content(explain_data(rf.ChoiceData.from_counts(CYCLE), 0, 0, False, False), RANDOM_UTILITY)
    assert "the rest of the data has no contradiction" in exact["advice"][-1]
    assert "p-value without" not in exact["influence"].columns
    rational = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}})
    assert explanation_content(explain_data(rational, 19, 0, False, False), RANDOM_UTILITY)["lead"].startswith(
        "Nothing that sampling error"
    )
    assert explanation_content(explain_data(rational, 0, 0, False, False), RANDOM_UTILITY)["lead"].startswith(
        "Nothing: some population"
    )


def test_the_page_leaves_long_searches_out(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("rumflow.report.explanation.MOST_ARCS", 3)
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("a", "b", "c"): {"a": 4, "b": 3, "c": 3}})
    answer = make_report(data, tmp_path / "a.html", n_boot=0)
    assert answer["conflict"] is None
    assert "takes long for data of this size" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_one_menu_is_no_answer(tmp_path):
    """Neither yes nor no, and nothing is wrong with the choices."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    make_report(rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}}), tmp_path / "a.html", n_boot=9)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert '<p class="lead">Nothing can be tested: there is only one menu' in text
    assert '<section class="verdict "' in text
    assert "Yes:" not in text
    assert "What is wrong with them?" not in text
