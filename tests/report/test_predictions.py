"""What the page says about menus that were not offered."""

import html

import pytest

import rumflow as rf

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
report = pytest.importorskip("rumflow.report")


def test_menus_not_offered_of_many_items(tmp_path):
    counts = {(k, k + 1, k + 2): {k: 6, k + 1: 4, k + 2: 0} for k in range(9)}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "a.html", n_boot=0)
    assert "2,027 menus were not offered" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_pairs_not_offered_of_many_items(tmp_path):
    counts = {(k, k + 1): {k: 6, k + 1: 4} for k in range(10)}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "a.html", n_boot=0)
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "45 pairs were never compared" in text
    assert "The first 12 of 45 are shown" in text


def test_ranges_say_that_they_do_not_allow_for_chance_and_where_choices_are_few(tmp_path):
    large = {("tea", "milk"): {"tea": 6000, "milk": 4000}, ("milk", "juice, red"): {"milk": 5000, "juice, red": 5000}}
    report.make_report(rf.ChoiceData.from_counts(large), tmp_path / "a.html", n_boot=0)
    text = html.unescape((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert "do not allow for chance" in text
    assert """rumflow bounds, one menu at a time (--for 'tea,milk,"juice, red"')""" in text
    assert "There are few choices" not in text
    tiny = large | {("tea", "milk", "juice, red", "gin"): {"gin": 1}}
    report.make_report(rf.ChoiceData.from_counts(tiny), tmp_path / "b.html", n_boot=0)
    text = html.unescape((tmp_path / "b.html").read_text(encoding="utf-8"))
    assert "There are few choices from 1 of 3 menus, the fewest from {tea, milk, juice, red, gin}: 1 choice" in text


def test_shares_without_numbers_have_no_chance(tmp_path):
    shares = {("tea", "milk"): {"tea": 0.5, "milk": 0.5}, ("milk", "gin"): {"milk": 0.2, "gin": 0.8}}
    report.make_report(rf.ChoiceData.from_counts(shares), tmp_path / "a.html", n_boot=0)
    assert "do not allow for chance" not in (tmp_path / "a.html").read_text(encoding="utf-8")
