"""Completion of the shell."""

import subprocess
import sys

import pytest

from tests.reference.commands import run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    assert "outside-option" in out
    if shell == "bash" and sys.platform != "win32":
        script = out + '\nCOMP_WORDS=(rumflow te); COMP_CWORD=1; _rumflow; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["test"]
