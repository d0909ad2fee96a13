import os
import re
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from rumflow.cli.main import main
from tests.reference.systems import not_on_windows


@not_on_windows
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_page_ends_with_the_command(name, tmp_path):
    command = [sys.executable, "-m", "rumflow", "app", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(tmp_path)}, text=True
    ) as server:
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/\S+/)", server.stdout.readline())
        connection = HTTPConnection("127.0.0.1", int(found[1]))
        connection.request("GET", found[2])
        assert connection.getresponse().status == 200
        connection.close()
        assert [path.name[:12] for path in Path(tmp_path).iterdir()] == ["rumflow-app-"]
        server.send_signal(getattr(signal, name))
        assert "files are removed" in server.stdout.read()
        assert server.wait() == 0
    assert list(Path(tmp_path).iterdir()) == []


@not_on_windows
def test_ctrl_c_in_a_terminal_is_for_the_server_only(tmp_path):
    """A terminal sends it to all processes of the command; nothing but the last line is said."""
    command = [sys.executable, "-m", "rumflow", "app", "--no-browser"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, env=environment, text=True, start_new_session=True) as server:
        server.stdout.readline()
        time.sleep(0.05)  # the worker begins
        os.killpg(server.pid, signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert out.endswith("The page has ended; its files are removed.\n")
    assert err == ""


def test_bad_options(capsys):
    assert main(["app", "--port", "70000"]) == 1
    assert "--port" in capsys.readouterr().err
    assert main(["app", "--max-upload", "0"]) == 1
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["app", "--no-browser", "--port", str(taken.getsockname()[1])]) == 1
    assert "cannot be used" in capsys.readouterr().err
