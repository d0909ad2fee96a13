"""The flow of incomplete data on the page."""

import pytest

import rumflow as rf

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
report = pytest.importorskip("rumflow.report")


def test_the_flow_of_incomplete_data_is_one_example(tmp_path):
    counts = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "some.html", n_boot=0)
    assert "this picture is one example" in (tmp_path / "some.html").read_text(encoding="utf-8")
    counts |= {("a", "c"): {"a": 5, "c": 5}, ("b", "c"): {"b": 5, "c": 5}}
    report.make_report(rf.ChoiceData.from_counts(counts), tmp_path / "all.html", n_boot=0)
    assert "this picture is one example" not in (tmp_path / "all.html").read_text(encoding="utf-8")
