"""Experiment III, made small; and its page from the stored numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: experiment III is not tested")

from studies.experiments.assortments import run_assortments
from studies.experiments.choices import DATA, STUDENTS, TEACHERS, render_choices, run_choices
from studies.experiments.learning import METHODS, render_exp3, run_exp3

pytestmark = pytest.mark.slow


def small(folder: Path) -> dict[str, dict[str, float]]:
    return run_exp3(folder, seeds=[3], n=4, train=24, test=16, epochs=6, layer_epochs=4, width=16, batch=8, points=2)


def test_experiment_three(tmp_path: Path) -> None:
    summary = small(tmp_path / "a")
    assert set(summary) == set(METHODS)
    for name, numbers in summary.items():
        rational = "layer" in name or "projected" in name or "mixture" in name or name == "flow"
        assert (numbers["test_violation"] <= 1e-12) == rational
        assert (numbers["train_violation"] <= 1e-12) == rational
        assert numbers["epochs"] == (4 if "layer" in name else 6)
    assert summary["plain, projected"]["test_error"] <= summary["plain"]["test_error"]
    page = (tmp_path / "a" / "exp3.md").read_text(encoding="utf-8")
    assert "orders of magnitude" in page
    for name in METHODS:  # penalties with another lambda have a table of their own
        first, _, last = name.rpartition(", ")
        assert (f"| {first} | {last} |" if last[0].isdigit() else f"| {name} |") in page
    # The same numbers from the same seeds, and the same page from the stored numbers.
    again = small(tmp_path / "b")
    for name in METHODS:
        for column in ("train_error", "test_error"):
            assert again[name][column] == pytest.approx(summary[name][column], rel=1e-9)
    (tmp_path / "a" / "exp3.md").unlink()
    assert render_exp3(tmp_path / "a") == summary
    assert (tmp_path / "a" / "exp3.md").read_text(encoding="utf-8") == page


def test_the_study_of_assortments(tmp_path: Path) -> None:
    options = {"n": 12, "menus": 10, "size": 4, "types": 8, "train": 6, "test": 4, "epochs": 2, "every": 2, "batch": 3}
    rows = run_assortments(tmp_path, seeds=[0], timed=2, **options)
    assert [row["method"] for row in rows][:4] == ["plain", "plain, projected"] * 2
    last = {row["method"]: row for row in rows if row["epoch"] == 2}
    assert (
        last["plain, projected"]["error"] < last["plain"]["error"]
    )  # the truth is rational: projections come closer to it
    assert len([row for row in rows if row["method"].startswith("time")]) == 6
    assert (
        (tmp_path / "assortments.csv")
        .read_text(encoding="utf-8")
        .startswith("seed,method,epoch,loss,error,train_loss,seconds")
    )


def test_choices_and_shares(tmp_path: Path) -> None:
    """Every student on every kind of data, made small; the page again from the stored numbers."""
    options = {"sizes": [(4, 5, 1), (3, 0, 2)], "contexts": (16, 32), "epochs": (4, 2), "points": 2}
    summary = run_choices(tmp_path, seeds=[0], **options)
    assert len(summary) == 2 * len(TEACHERS) * len(DATA) * len(STUDENTS)
    page = (tmp_path / "choices.md").read_text(encoding="utf-8")
    assert all(row["excess"] > 0 and row["error"] > 0 for row in summary)
    for row in summary:
        if row["method"] == "softmax, projected":
            plain = next(
                r for r in summary if r["method"] == "softmax" and all(r[k] == row[k] for k in ("n", "teacher", "data"))
            )
            assert row["error"] <= plain["error"] * (
                1 + 1e-9
            )  # the truth is in the model, so projecting brings it nearer
    assert render_choices(tmp_path) == summary
    assert (tmp_path / "choices.md").read_text(encoding="utf-8") == page
