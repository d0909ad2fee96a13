"""Commands in a process: the module, and interrupts while it starts."""

import signal
import subprocess
import sys

import pytest

import rumflow as rf
from rumflow.cli.main import main
from tests.reference.interrupts import Interrupted


def test_module_runs_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "rumflow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rumflow ")


INTERRUPTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from rumflow.cli.main import main
sys.argv = ["rumflow", "demo"]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module",
    ["argparse", "numpy", "numpy.linalg", "numba", "numba.core.types", "rumflow.cli.demo", "rumflow.projection.single"],
)
def test_interrupted_while_it_starts(module):
    """From the moment the command is called: while NumPy, Numba and the kernels are loaded."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING.format(module=module)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "rumflow: interrupted"
    assert done.returncode in (130, -signal.SIGINT)


def test_interrupted_in_the_middle_of_a_solve(monkeypatch, capsys):
    """The solver keeps its best point and raises; a command with no use for it ends as by Ctrl-C elsewhere."""

    def project_interrupted(seed):
        Interrupted(monkeypatch, 5)
        return rf.project(rf.simulate.noisy_rankings(9, seed=seed))

    monkeypatch.setattr("rumflow.cli.demo.make_demo", project_interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "rumflow: interrupted"  # before it, what had to be compiled
