"""Commands in a process: the module, and interrupts while it starts."""

import signal
import subprocess
import sys

import pytest


def test_module_runs_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "rumflow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rumflow ")


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5])
def test_interrupted_while_it_starts(seconds):
    """From the moment the command is called: while NumPy, Numba and the kernels are loaded."""
    script = (
        "import os, signal, sys, threading; from rumflow.cli.main import main; "
        "sys.argv = ['rumflow', 'demo']; "
        f"threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start(); sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("rumflow: interrupted\n")
    assert done.returncode in (130, -signal.SIGINT)
