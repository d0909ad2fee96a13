"""The scripts in `examples/` run as they are."""

import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("[0-9]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_run(script, capsys):
    if "import torch" in script.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_scripts_are_listed_with_their_questions():
    listed = dict(
        re.findall(
            r"\]\((\w+\.py)\) \| (.+?)(?: \(needs PyTorch\))? \|", (FOLDER / "README.md").read_text(encoding="utf-8")
        )
    )
    assert sorted(listed) == [path.name for path in SCRIPTS]
    for path in SCRIPTS:
        first = path.read_text(encoding="utf-8").split('"""')[1]
        assert first.split("?")[0].split(",")[0] == listed[path.name].split("?")[0].split(",")[0]
