"""Processes with a clock, and the page of limits."""

import signal
import sys

import pytest

from studies.experiments import fuzz, limits
from studies.experiments.clocked import READY, Clocked, Seconds, run_clocked
from studies.experiments.files import append_csv

WAITS = f"""
import sys, time
print("{READY}", flush=True)
print("rumflow: at work", file=sys.stderr, flush=True)
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(5)
"""


without_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files, signals or shell")


@without_signals
def test_a_process_is_interrupted_and_its_end_is_seen():
    found = run_clocked(WAITS, 0.1)
    assert (found.code, found.out) == (5, "interrupted")
    assert found.err == "rumflow: at work\n"
    assert found.since_signal is not None
    assert 0 <= found.since_signal.clock <= found.taken.clock
    assert 0 <= found.since_signal.processor <= found.taken.processor


def test_a_process_that_ends_by_itself():
    found = run_clocked(f"print('{READY}'); print(7)", 30.0)
    assert (found.code, found.out, found.since_signal, found.first_line) == (0, "7", None, None)


@without_signals
def test_a_process_that_does_not_end_is_killed():
    found = run_clocked("import time; time.sleep(60)", None, most=0.5)
    assert found.code == -signal.SIGKILL
    assert found.taken.clock < 50


def test_every_call_is_code():
    for size in limits.SIZES.values():
        compile(limits._SET_UP.replace("DATA", size), "set-up", "exec")
    for call in limits.CALLS.values():
        compile(limits._RUN.format(limit={}, call=call), "call", "exec")
    assert limits.LIMITED == ["project", "best_assortment", "compare_models"]


def test_a_signal_after_the_answer_is_no_fault(monkeypatch):
    """Python may be on its way out already when the signal comes."""
    for out, ended, kept in (("Projection(n=3)", "before", True), ("KeyboardInterrupt: ", "Ctrl-C", False)):
        second = Seconds(1.0, 1.0)
        found = Clocked(second, second, second, -signal.SIGINT, out, "")
        monkeypatch.setattr(limits, "run_clocked", lambda code, interrupt, found=found: found)
        row = limits.measure("project", next(iter(limits.SIZES)), "Ctrl-C")
        assert (row["ended"], row["holds"]) == (ended, kept)


def test_the_page_marks_what_does_not_hold(tmp_path):
    common = {"function": "f", "kind": "Ctrl-C", "asked": 3.0, "processor": 1.0, "load": 2.0}
    for size, taken, line, ended, kept in (
        ("small", 0.5, "", "before", True),
        ("middle", 0.52, 1.04, "Ctrl-C", True),
        ("large", 9.1, "", "Ctrl-C", False),
    ):
        row = common | {"size": size, "taken": taken, "first_line": line, "ended": ended, "holds": kept}
        append_csv(tmp_path / "limits.csv", row)
    append_csv(tmp_path / "limits.csv", row | {"kind": "limit", "size": "small", "taken": 2.26, "holds": True})
    limits.render_limits(tmp_path)
    lines = (tmp_path / "limits.md").read_text(encoding="utf-8").splitlines()
    assert "| `f` | done | 0.5 (1.0) | **9.1 (none)** |" in lines
    assert "| `f` | 2.3 |" in lines


def test_rows_that_are_stored_are_not_measured_again(tmp_path, monkeypatch):
    """A run that is stopped goes on where it was; rows come in the order of the table."""
    sizes = dict.fromkeys(list(limits.SIZES)[:2], "")
    monkeypatch.setattr(limits, "SIZES", sizes)
    measured = []

    def measure(function, size, kind):
        if len(measured) == 3:
            raise KeyboardInterrupt
        measured.append((function, size, kind))
        row = {"function": function, "size": size, "kind": kind, "asked": 2.0, "taken": 1.0, "processor": 1.0}
        row |= {"first_line": 1.0, "ended": kind, "holds": True, "load": 1.0, "answer": ""}
        return row | {"commit": "0123456", "date": "2026-01-01", "versions": ""}

    monkeypatch.setattr(limits, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        limits.run_limits(tmp_path, ["bounds", "project"])
    first, measured[:] = list(measured), []
    rows = limits.run_limits(tmp_path, ["bounds", "project"])
    assert len(first) == len(measured) == 3
    assert not set(first) & set(measured)
    assert [row["function"] for row in rows] == ["project"] * 4 + ["bounds"] * 2
    measured.clear()
    assert limits.run_limits(tmp_path, ["bounds"], again=True) == rows
    assert [function for function, *_ in measured] == ["bounds"] * 2


@pytest.mark.slow
def test_a_test_that_is_interrupted_goes_on(tmp_path):
    """To the same p-value, which the function compares; how far it had come depends on the machine."""
    assert fuzz.interrupt_test("16, 30, 3", 5, 1.5, tmp_path / "run.npz").startswith("test ")
