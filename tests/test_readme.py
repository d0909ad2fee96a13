"""The README: its examples run, its extras exist, its links lead somewhere."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
def test_examples_run(block, capsys):
    if "torch" in block:
        pytest.importorskip("torch")
    exec(compile(block, "README.md", "exec"), {})


def test_extras_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set(re.findall(r"\.\[(\w+)\]", TEXT))
    assert named
    assert named <= set(extras)


def test_links_and_commands_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text()
    for name in re.findall(r"^make (\w+)", TEXT, re.MULTILINE):
        assert f"\n{name}:" in makefile
