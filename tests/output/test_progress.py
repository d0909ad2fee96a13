"""What is counted while it runs, and that it is counted once."""

import time
from importlib import import_module
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.output import progress
from rumflow.output.progress import Counter, Stage
from rumflow.solvers.resources import Progress
from tests.reference.examples import DECOY, FITS


def last_line(capsys):
    return capsys.readouterr().err.strip().split("\r")[-1].strip()


def test_what_is_counted_while_it_runs(capsys):
    rf.rum_test(DECOY, 7, 0.1, seed=0, progress=True)
    assert last_line(capsys) == "rumflow: 7 of 7 replicates, 0 s to go"
    rf.rum_test_many([DECOY, FITS], 7, 0.1, seed=0, progress=True)
    assert last_line(capsys) == "rumflow: 14 of 14 replicates, 0 s to go"
    rf.fit_likelihood(DECOY).lr_test(3, 0, progress=True)
    assert last_line(capsys) == "rumflow: 3 of 3 replicates, 0 s to go"
    rf.explain(DECOY, n_boot=19, halves=2, progress=True)
    text = capsys.readouterr().err
    assert "rumflow: 2 of 2 menus left out, 0 s to go" in text
    assert "rumflow: 2 of 2 half-samples, 0 s to go" in text
    rf.explain(DECOY, n_boot=19, halves=2)
    rf.rum_test(DECOY, 7, 0.1, seed=0)
    rf.bounds(FITS, ["a", "c"], confidence=None)
    assert capsys.readouterr().err == ""


@pytest.fixture
def counters(monkeypatch):
    """What was to be counted, and what was: [shown, total, words, pieces, ...] of every counter."""
    found = []

    class Counting(Counter):
        def __init__(self, show, total, what):
            super().__init__(show, total, what)
            self._list = [show, total, what]
            found.append(self._list)

        def add(self, count):
            self._list.append(count)
            super().add(count)

    for name in ("bounds", "sharp", "jobs", "explain", "likelihood", "next_menu"):
        monkeypatch.setattr(import_module(f"rumflow.inference.{name}"), "Counter", Counting)
    return found


def test_everything_is_counted_once(counters):
    rf.next_menu(FITS)
    assert counters.pop() == [False, 2, "menus", 1, 1]
    rf.fit_likelihood(DECOY).lr_test(3, 0)
    assert counters.pop() == [False, 3, "replicates", 1, 1, 1]
    rf.rum_test(DECOY, 107, 0.1, seed=0, threads=1)
    assert counters.pop() == [False, 107, "replicates", 0, 100, 7]


def test_linear_programmes_are_counted_once(counters):
    rf.bounds(FITS, ["a", "c"], confidence=None)
    assert counters == [[False, 4, "linear programmes", 1, 1, 1, 1]]


def test_values_of_an_interval_are_counted(counters):
    """At most 27 for each: three inside, and for both ends four steps and eight halvings."""
    rf.bounds(FITS, ["a", "c"], n_boot=19, seed=1, interval="distance")
    assert counters[1][:3] == [False, 54, "values tested at most"]
    counters.clear()
    rf.bounds(FITS, ["a", "c"], n_boot=39, seed=1)
    assert counters[1][:3] == [False, 100, "values tested at most"]


def test_menus_left_out_and_half_samples_are_counted(counters):
    rf.explain(DECOY, n_boot=19, halves=2)
    assert counters[0][:3] == [False, None, "sets of menus tried"]
    assert counters[1:] == [[False, 2, "menus left out", 1, 1], [False, 2, "half-samples", 1, 1]]


def test_a_line_shows_that_time_passes(monkeypatch, capsys):
    """Before the first round, while a graph is built, and in rounds that take long."""
    monkeypatch.setattr(progress, "SILENCE", 0.02)
    with progress.Reporter(True, 1e-9) as report:
        time.sleep(0.5)
        report(Progress(1, 2.0, 0.5, 3, 0.1))
        time.sleep(0.5)
    lines = [line.strip() for line in capsys.readouterr().err.split("\r") if line.strip()]
    assert lines[0].endswith("s  before the first round: the route, the graph")
    assert sum(line.endswith("relative gap 2.5e-01, wanted 1e-09  objective 2") for line in lines) > 1
    time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_functions_are_called_after_rounds_only(monkeypatch):
    monkeypatch.setattr(progress, "SILENCE", 0.01)
    calls = []
    with progress.Reporter(calls.append, 1e-9) as report:
        time.sleep(0.1)
        report(Progress(1, 2.0, 0.5, 3, 0.1))
    assert len(calls) == 1


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr("rumflow.output.progress.SILENCE", 0.01)


def wait_for(capsys, text):
    """What was written so far, as soon as it has this text."""
    seen = ""
    end = time.monotonic() + 60
    while text not in seen:
        assert time.monotonic() < end, seen
        time.sleep(0.005)
        seen += capsys.readouterr().err
    return seen


def test_a_line_says_what_is_done_although_nothing_is_counted(capsys, impatient):
    with Stage(True, "the graph") as stage:
        wait_for(capsys, "\rrumflow: the graph, 0 s so far   ")
        stage.say("the statistic")
        wait_for(capsys, "\rrumflow: the statistic, 0 s so far   ")
    end = capsys.readouterr().err
    assert end.endswith(" \r")  # the line is taken away
    with Counter(True, 9, "menus") as counter:
        wait_for(capsys, "\rrumflow: 0 of 9 menus, 0 s so far   ")
        counter.add(4)
        wait_for(capsys, "\rrumflow: 4 of 9 menus, 0 s to go   ")
    assert capsys.readouterr().err.endswith("\n")
    time.sleep(0.05)
    assert capsys.readouterr().err == ""  # nobody writes any more
    with Stage(False, "nothing"), Counter(False, 9, "menus"):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_an_interrupt_says_where_it_came():
    with (
        pytest.raises(KeyboardInterrupt, match=r"^interrupted at the graph: there is no result yet$"),
        Stage(False, "the graph"),
    ):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt, match=r"^something else$"), Stage(False, "the graph"):
        raise KeyboardInterrupt("something else")
    counter = Counter(False, 9, "menus")
    counter.add(1)
    with pytest.raises(KeyboardInterrupt, match=r"^interrupted after 1 of 9 menus: there is no"), counter:
        raise KeyboardInterrupt
    with pytest.raises(ValueError, match=r"^x$"), Stage(False, "the graph"):
        raise ValueError("x")


def test_stages_of_a_test(monkeypatch):
    said = []
    monkeypatch.setattr(Stage, "say", lambda self, what: said.append(what))
    rf.rum_test(DECOY, 3, 0.1, seed=0)
    stages = ["the graph of the menus", "the statistic", "the fit that replicates are drawn from"]
    assert said == stages
    said.clear()
    rf.rum_test_many([DECOY, FITS], 3, 0.1, seed=0)
    assert said == [f"test {k} of 2: {what}" for k in (1, 2) for what in stages]


@pytest.fixture
def news():
    found = []
    progress.listen(found.append)
    yield found
    progress.listen(None)


def test_who_listens_hears_plain_words_and_nothing_is_written(news, capsys):
    rf.rum_test(DECOY, 7, 0.1, seed=0, progress=True)
    assert news[-1] == ("samples drawn", 7, 7)
    with Stage(True, "the graph") as stage, stage._lock:
        stage._write()
    assert news[-1] == ("Getting ready", None, None)
    with Counter(True, None, "sets of menus tried") as counter, counter._lock:
        counter._write()
    assert news[-1] == ("sets of menus tried", 0, None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("gap", "digits"), [(3.0, 0), (3e-5, 4), (1e-9, 8), (0.0, 8)])
def test_rounds_of_a_solver_are_digits(gap, digits, news):
    with progress.Reporter(True, 1e-8) as show:
        show(Progress(1, 1.0, gap, 3, 0.1))
    assert news == [("digits of the answer certain", digits, 8)]


@pytest.mark.parametrize("words", progress.PLAIN)
def test_plain_words_are_of_what_is_counted(words):
    sources = Path(rf.__file__).parent.rglob("*.py")
    assert any(f'"{words}") as counter' in path.read_text(encoding="utf-8") for path in sources)
