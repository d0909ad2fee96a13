"""Help with an example, wrong usage, and a quick start."""

import subprocess
import sys

import pytest

from rumflow.cli.main import main
from rumflow.cli.parser import COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(capsys, command):
    assert main([command, "--help"]) == 0
    assert f"example: rumflow {command}" in " ".join(capsys.readouterr().out.split())


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
