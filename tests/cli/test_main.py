"""Commands in a process: the module, and interrupts while it starts."""

import json
import os
import signal
import subprocess
import sys

import pytest

import rumflow as rf
from rumflow.cli.main import main
from tests.reference.interrupts import Interrupted
from tests.reference.systems import not_on_windows


def test_module_runs_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "rumflow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rumflow ")


INTERRUPTING = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

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


@pytest.fixture
def odd_file(tmp_path):
    """Labels that a terminal would act on, and one that ASCII does not have."""
    path = tmp_path / "odd.csv"
    table = [("a\x1b[31m|é", "a\x1b[31m", 30), ("a\x1b[31m|é", "é", 70), ("a\x1b[31m|é|c", "a\x1b[31m", 50)]
    table += [("a\x1b[31m|é|c", "é", 30), ("a\x1b[31m|é|c", "c", 20)]
    path.write_text("menu,item,count\n" + "".join(f"{m},{x},{n}\n" for m, x, n in table), encoding="utf-8")
    return path


def shell(words, **options):
    command = f"{sys.executable} -m rumflow {words}"
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, **options)


ENDS = ("| head -1", "| true", ">&-", "2>&-", ">&- 2>&-")


@not_on_windows
@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("project", ENDS),
        ("project --json", ("| true", ">&-")),
        ("explain --halves 0 --n-boot 19", ("| head -1", ">&- 2>&-")),
        ("--help", ENDS),
    ],
)
def test_streams_that_are_closed(command, ends, odd_file):
    first, *rest = command.split(" ")
    words = f"{first} {'' if first == '--help' else odd_file} {' '.join(rest)}"
    for redirected in (f"{words} {end}" for end in ends):
        done = shell(f"{redirected}; exit ${{PIPESTATUS[0]}}")
        assert done.returncode == 0, redirected
        assert "Traceback" not in done.stderr + done.stdout
        assert (
            "{" in done.stdout or "usage" in done.stdout or "Distance" in done.stdout or "Which" in done.stdout
        ) or ("true" in redirected or ">&-" in redirected)


@not_on_windows
def test_what_is_for_a_closed_stream_is_not_on_the_other():
    assert "rumflow:" not in shell("project no.csv 2>&-").stdout


def test_what_a_terminal_would_act_on_is_written_out(odd_file, capsys):
    for words in (
        ["project"],
        ["test", "--n-boot", "19"],
        ["explain", "--n-boot", "19"],
        ["bounds", "--for", "a\x1b[31m,c"],
    ):
        assert main([words[0], str(odd_file), *words[1:]]) == 0
        printed = capsys.readouterr()
        assert "\x1b" not in printed.out + printed.err
        assert r"a\x1b[31m" in printed.out
    assert main(["project", str(odd_file), "--above", "x\x1b[31m>é"]) == 1
    error = capsys.readouterr().err
    assert r"'x\x1b[31m' is unknown: the items are {a\x1b[31m, c, é}" in error
    assert "\x1b" not in error
    assert main(["project", str(odd_file), "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == ["a\x1b[31m", "c", "é"]
    assert main(["project", str(odd_file), "--\x1b[31m"]) == 1
    assert r"unrecognized arguments: --\x1b[31m" in capsys.readouterr().err


@not_on_windows
def test_streams_of_few_characters(odd_file):
    few = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = shell(f"project {odd_file} -q", env=few)
    assert done.returncode == 0, done.stderr
    assert r"\xe9" in done.stdout
    assert json.loads(shell(f"project {odd_file} -q --json", env=few).stdout)["items"][2] == "é"
