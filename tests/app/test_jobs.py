import os
import time

import pytest

from rumflow.app import jobs as module
from rumflow.app.jobs import CRASHED, Jobs


@pytest.fixture
def jobs(tmp_path):
    found = Jobs(str(tmp_path))
    yield found
    found.close()
    assert not found._process.is_alive()


def until(jobs, name, *states):
    while (job := jobs.all[name]).state not in states:
        time.sleep(0.01)
    return job


def test_answers_are_kept_whatever_else_is_done(jobs, monkeypatch):
    """Estimates and readings are forgotten at some time, answers only when they are put away."""
    monkeypatch.setattr(module, "MOST_KEPT", 3)
    source = {"path": "", "name": "economist", "options": {}}
    asked = jobs.add("ask", {"question": "distance", "values": {}, "source": source, "folder": jobs._folder})
    until(jobs, asked, "done")
    names = [jobs.add("cost", {"question": "distance", "values": {}, "source": source}) for _ in range(9)]
    until(jobs, names[-1], "done")
    jobs.add("start", {})
    assert "html" in jobs.all[asked].answer
    assert len(jobs.all) == 5
    assert names[-1] in jobs.all


def test_cancel_kill_and_ask_again(jobs, monkeypatch):
    """A long job is cancelled, one that waits as well; the worker is killed from outside; the next job is answered."""
    source = {"path": "", "name": "stock_outs", "options": {}}
    long = {"question": "chance", "values": {"n_boot": 100_000}, "source": source, "folder": jobs._folder}
    running = jobs.add("ask", long)
    until(jobs, running, "running")
    waiting, read = jobs.add("ask", long), jobs.add("start", {})
    about = [jobs.about(jobs.all[name]) for name in (running, waiting, read)]
    assert [(one["state"], one["before"]) for one in about] == [("running", 0), ("waiting", 1), ("waiting", 2)]
    while not jobs.all[running].progress:
        time.sleep(0.01)
    first = jobs._process.pid
    jobs.cancel(running)
    jobs.cancel(running)  # once more is nothing
    until(jobs, read, "done")  # before the question that waits
    assert jobs.all[waiting].state != "done"
    jobs.cancel(waiting)
    spent = jobs.about(jobs.all[running])["seconds"]
    assert 0 < spent == jobs.about(jobs.all[running])["seconds"]
    assert [jobs.all[name].state for name in (running, waiting)] == ["cancelled"] * 2
    again = jobs.add("ask", long)
    until(jobs, again, "running")
    while not jobs.all[again].progress:
        time.sleep(0.01)
    assert jobs._process.pid != first
    os.kill(jobs._process.pid, 9)
    assert until(jobs, again, "done").answer["error"] == CRASHED
    assert "questions" in until(jobs, jobs.add("start", {}), "done").answer
    monkeypatch.setattr(module, "MOST_WAITING", 0)
    assert jobs.add("start", {}) == ""
