import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe
from pathlib import Path

import pytest

import rumflow
from rumflow.app.worker import PLAIN, Messages, plain_progress
from tests.reference.systems import not_on_windows

SOURCES = list(Path(rumflow.__file__).parent.rglob("*.py"))


def test_progress_is_the_last_line():
    here, there = Pipe()
    stream = Messages(there)
    stream.write("\rrumflow: 3 of 9 replicates   ")
    stream.write("\n")
    stream.flush()
    assert here.recv() == ("progress", {"words": "samples drawn", "done": 3, "all": 9})
    assert not here.poll()


@pytest.mark.parametrize("words", PLAIN)
def test_what_is_counted_is_counted_by_the_library_under_this_name(words):
    assert any(f'"{words}") as counter' in path.read_text(encoding="utf-8") for path in SOURCES)


def test_progress_is_in_plain_words():
    assert plain_progress("12 sets of menus tried") == {"words": "sets of menus tried", "done": 12, "all": 0}
    for line in ("the graph of the menus, 3 s so far", "   0.3 s  before the first round: the route, the graph"):
        assert plain_progress(f"rumflow: {line}") == {"words": "Getting ready"}
    for gap, done in (("3.0e+00", 0), ("1.0e-09", 8), ("0.0e+00", 0)):
        line = f"rumflow:    1.0 s  relative gap {gap}, wanted 1e-08  objective 2"
        assert plain_progress(line)["done" if "e-" in gap else "words"] in (done, "Getting ready")


SERVE = """
import sys, time
from rumflow.app.server import AppServer
if __name__ == "__main__":
    server = AppServer()
    job = server.jobs.add("start", {})
    while not server.jobs.all[job].answer:
        time.sleep(0.02)
    print(server.folder, server.jobs._process.pid, flush=True)
    sys.stdin.read()
"""


@not_on_windows
def test_a_killed_server_leaves_nothing_behind(tmp_path):
    (tmp_path / "serve.py").write_text(SERVE, encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, str(tmp_path / "serve.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    folder, worker = server.stdout.readline().split()
    assert os.path.isdir(folder)
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    server.stdin.close()
    for _ in range(500):
        if not os.path.exists(folder) and not _alive(int(worker)):
            return
        time.sleep(0.02)
    raise AssertionError("the worker or its folder is left")


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
