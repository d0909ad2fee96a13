"""The experiments of the paper at full size where that is quick, and the files they leave."""

import math
import sys

import numpy as np
import pytest

from studies.experiments import render_exp1, render_exp2, run_exp1, run_exp2
from studies.experiments.files import read_csv

pytestmark = pytest.mark.slow


def test_exp1_small(tmp_path):
    seen = []
    summary = run_exp1(tmp_path, seeds=[0, 1], n=6, shares=(0.1, 1.0), progress=seen.append)
    assert len(seen) == 2
    rows = read_csv(tmp_path / "exp1.csv")
    assert len(rows) == 2 * 2 * 2
    assert {row["status"] for row in rows} == {"converged"}
    assert all("numpy=" in row["versions"] for row in rows)
    assert 0 < summary["tree-scaled"]["full"] <= 1.2 * summary["tree"]["full"]
    page = (tmp_path / "exp1.md").read_text(encoding="utf-8")
    assert "about 0.04" in page
    assert f"{summary['tree']['slope']:.4f}" in page


def test_exp1_as_in_the_paper(tmp_path):
    """n = 10, one seed, three shares: the paper's slope is of the printed order, ours is flat and below the printed
    210."""
    summary = run_exp1(tmp_path, seeds=[0], shares=(0.01, 0.5, 1.0))
    assert 0.02 <= summary["tree"]["slope"] <= 0.06
    assert summary["tree-scaled"]["slope"] <= 0.02
    assert summary["tree-scaled"]["full_worst"] <= 210


def test_exp2_as_in_the_paper(tmp_path):
    """n = 8: from above 1e9 to 1e4 in at most 30 iterations with a tree, not in 300 without."""
    summary = run_exp2(tmp_path, seeds=[0, 1], iterations=300)
    for name in ("tree", "tree-scaled"):
        assert summary[name]["start"] > 1e9
        assert summary[name]["below_1e4"] <= 30
    for name in ("none", "jacobi"):
        assert summary[name]["below_1e4"] == math.inf
        assert summary[name]["five_orders"] == math.inf


@pytest.mark.parametrize("seed", [0])
def test_runs_repeat(tmp_path, seed):
    for folder in ("a", "b"):
        run_exp2(tmp_path / folder, seeds=[seed], n=4, iterations=20)
    assert (tmp_path / "a/exp2.csv").read_text(encoding="utf-8") == (tmp_path / "b/exp2.csv").read_text(
        encoding="utf-8"
    )


def test_pages_and_figures_come_from_the_csv(tmp_path, monkeypatch):
    first = run_exp1(tmp_path, seeds=[0], n=4, shares=(0.5, 1.0)), run_exp2(tmp_path, seeds=[0], n=4, iterations=20)
    pages = [(tmp_path / f"exp{i}.md").read_text(encoding="utf-8") for i in (1, 2)]
    for file in (*tmp_path.glob("*.md"), *tmp_path.glob("*.png")):
        file.unlink()
    assert (render_exp1(tmp_path), render_exp2(tmp_path)) == first
    assert [(tmp_path / f"exp{i}.md").read_text(encoding="utf-8") for i in (1, 2)] == pages
    # Without matplotlib there are numbers and pages, and the pages say what is missing.
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    render_exp1(tmp_path)
    assert "matplotlib is not installed" in (tmp_path / "exp1.md").read_text(encoding="utf-8")


def test_figures(tmp_path):
    pytest.importorskip("matplotlib")
    run_exp1(tmp_path, seeds=[0], n=4, shares=(0.5, 1.0))
    run_exp2(tmp_path, seeds=[0], n=4, iterations=20)
    for i in (1, 2):
        assert (tmp_path / f"exp{i}.png").read_bytes().startswith(b"\x89PNG")
        assert f"exp{i}.png" in (tmp_path / f"exp{i}.md").read_text(encoding="utf-8")


def test_the_runner(tmp_path, capsys, monkeypatch):
    from studies.experiments import __main__ as runner

    asked = []
    monkeypatch.setattr(
        runner, "EXPERIMENTS", {n: lambda out, progress, n=n: asked.append((n, out)) for n in ("exp1", "exp2")}
    )
    runner.main(["all", "--out", str(tmp_path)])
    runner.main(["exp2"])
    assert [name for name, _ in asked] == ["exp1", "exp2", "exp2"]
    assert asked[0][1] == tmp_path
    assert "exp1: done" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        runner.main(["exp9"])


def test_some_rounds_of_the_fuzzer():
    from studies.experiments.fuzz import KINDS, run_round

    quick = [kind for kind in KINDS if kind not in ("clock", "limits")]  # those depend on how busy the machine is
    endings = [run_round(7, number, quick) for number in range(24)]
    assert {kind for kind, _ in endings} == set(quick)
    assert ("reader", "read") in endings
    assert ("problem", "optimal") in endings


def test_the_fuzzer_stores_its_counts(tmp_path):
    from studies.experiments.files import read_csv
    from studies.experiments.fuzz import store_counts

    faults = {("saved", "Wrong at x:1"): [(4, "words"), (6, "words")]}
    for seed in (3, 4):
        store_counts(tmp_path / "fuzz.csv", {"seed": seed, "rounds": 9}, {"saved: the same": 7}, faults)
    found = [(row["seed"], row["rounds"], row["ended"], row["times"]) for row in read_csv(tmp_path / "fuzz.csv")]
    assert found[:2] == [(3, 9, "saved: fault, Wrong at x:1", 2), (3, 9, "saved: the same", 7)]
    assert [seed for seed, *_ in found] == [3, 3, 4, 4]


def test_some_questions_to_the_oracle(monkeypatch):
    """Nothing is wrong; and where an answer is made wrong, the oracle says so."""
    from studies.experiments import oracle

    assert [wrong for _, wrong in (oracle.ask(1, number) for number in range(2 * len(oracle.DOORS))) if wrong] == []
    case = oracle.draw_case(np.random.default_rng(3))
    lower, upper = oracle.nearest(case.takes, case.shares, np.ones(case.takes.shape[1]))
    assert lower <= upper <= lower * (1 + 1e-6) + 1e-12
    own = case._replace(weights=case.recorded.astype(float))
    assert oracle.ask_project(own, None, np.random.default_rng(0)) == ""
    bent = own._replace(takes=np.roll(own.takes, 1, axis=1))
    assert oracle.ask_project(bent, None, np.random.default_rng(0)) != ""
    monkeypatch.setattr(oracle, "nearest", lambda *_: (10.0, 11.0))
    for ask in (oracle.ask_many, oracle.ask_test):
        assert "is not within" in ask(own, np.random.default_rng(0))
