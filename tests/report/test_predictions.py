"""What the page says about menus that were not offered."""

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
