"""Help with an example, wrong usage, and a quick start."""

import subprocess
import sys
from importlib import import_module

import pytest

from rumflow.cli.main import main
from rumflow.cli.parser import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(capsys, command):
    """On a line of its own, which can be copied as it is."""
    example = import_module(f"rumflow.cli.{command}").EXAMPLE
    assert main([command, "--help"]) == 0
    assert f"\nexample:\n  {example}\n" in capsys.readouterr().out
    assert f"rumflow {command}" in example


def test_help_names_the_files_that_are_read(capsys):
    assert main(["project", "--help"]) == 0
    assert "Excel (.xlsx)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["project"],
        ["project", "no-such-file.csv"],
        ["bounds", "x.csv"],
        ["completion", "tcsh"],
        ["bench", "--max-n", "99"],
    ],
)
def test_wrong_usage_is_exit_code_1(capsys, arguments):
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from rumflow.cli.main import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "numpy" not in done.stderr
    assert "rumflow.cli.main" in done.stderr
