import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe, get_context

from rumflow.app.worker import work
from tests.reference.systems import not_on_windows


def test_jobs_are_answered_and_tell_of_their_progress(tmp_path):
    here, there = Pipe()
    process = get_context("spawn").Process(target=work, args=(there, str(tmp_path)), daemon=True)
    process.start()
    there.close()
    source = {"path": "", "name": "stock_outs", "options": {}}
    asked = {"question": "chance", "values": {"n_boot": 999}, "source": source, "folder": str(tmp_path)}
    here.send(("nothing", {}))
    kind, answer = here.recv()
    assert (kind, answer["error"]) == ("done", "AttributeError: 'Bench' object has no attribute 'nothing'")
    here.send(("ask", asked))
    news = []
    while (now := here.recv())[0] == "progress":
        news.append(now[1])
    assert "html" in now[1]
    assert {"words": "samples drawn", "done": 999, "all": 999} in news
    process.kill()
    process.join()


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
