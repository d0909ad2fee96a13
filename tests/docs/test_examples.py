"""The examples of the documentation run as they stand."""

import re
import shlex
from pathlib import Path

import pytest

from rumflow.cli.main import main

RUN = ("quickstart", "data", "budgets", "guide", "migration", "choose", "pairs", "attributes")
DOCS = sorted(p for p in (Path(__file__).parents[2] / "docs").glob("*.md") if p.stem.startswith(RUN))
NEEDS = {"rumflow.sklearn": "sklearn", "report ": "jinja2", "import torch": "torch", "import jax": "jax"}

#: Pages whose blocks of text are what the blocks of code before them print; three dots stand for what is left out.
PRINTED = (
    "attributes",
    "budgets",
    "choose",
    "guide-decide",
    "guide-explain",
    "pairs",
    "quickstart-machine-learning",
    "quickstart-markets",
)


@pytest.mark.slow
@pytest.mark.parametrize("page", DOCS, ids=[p.stem for p in DOCS])
def test_examples(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, printed = {}, ""
    for language, block in re.findall(r"```(\w+)[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines() if language == "sh" else ():
            if "report " in line:
                pytest.importorskip("jinja2")
                pytest.importorskip("matplotlib")
            assert line.startswith("rumflow ")
            assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
        if language == "python":
            for words, module in NEEDS.items():
                if words in block:
                    pytest.importorskip(module)
            exec(compile(block, str(page), "exec"), names)
        printed += capsys.readouterr().out
        if language == "text" and page.stem in PRINTED:
            left = [line for line in block.splitlines() if line != "..." and line not in printed.splitlines()]
            assert left == []


def test_the_summary_that_is_explained_is_the_one_that_is_printed(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "quickstart-economists.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"This is printed for the file above:\n\n```text\n(.*?)```", page, re.DOTALL)
    lines = re.findall(r"^rumflow .*$", page, re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    for line in [next(line for line in lines if line.startswith(f"rumflow {name} ")) for name in ("simulate", "test")]:
        capsys.readouterr()
        assert main(shlex.split(line)[1:]) == 0
    assert capsys.readouterr().out.strip() == printed.strip()
