import os
import signal
import subprocess
import sys
import time
from multiprocessing import Pipe

from rumflow.app.worker import Messages


def test_progress_is_the_last_line():
    here, there = Pipe()
    stream = Messages(there)
    stream.write("\rrumflow: 3 of 9 replicates   ")
    stream.write("\n")
    stream.flush()
    assert here.recv() == ("progress", "3 of 9 replicates")
    assert not here.poll()


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


def test_a_killed_server_leaves_nothing_behind(tmp_path):
    (tmp_path / "serve.py").write_text(SERVE)
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
