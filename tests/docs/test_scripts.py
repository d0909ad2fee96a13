"""The scripts in `examples/` run as they are."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.systems import not_on_windows

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(FOLDER.glob("[0-9]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_run(script, capsys):
    if "import torch" in script.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_the_cluster_gives_the_same_p_values():
    """In a process of its own, whose workers import the script."""
    pytest.importorskip("distributed")
    command = [sys.executable, str(FOLDER / "cluster.py"), "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert re.search(r"^2 workers: [\d.]+ s$", done.stdout, re.MULTILINE)
    assert "the same p-values: True" in done.stdout


R = f"""
source({str(FOLDER / "rumflow.R")!r})
choices <- data.frame(menu = c("a,b", "a,b,c"), choice = c("a", "c"), count = c(31, 20))
told <- function(call) tryCatch({{ call; "no error" }}, error = function(e) conditionMessage(e))
writeLines(told(rumflow("project", choices)))
writeLines(told(rumflow("project", "no-such-file.csv")))
for (program in c("no-such-command", "./interrupted")) {{
  options(rumflow = program)
  writeLines(told(rumflow("project", choices)))
}}
"""


@not_on_windows
def test_the_function_for_r(tmp_path):
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")
    (tmp_path / "try.R").write_text(R, encoding="utf-8")
    (tmp_path / "interrupted").write_text("#!/bin/sh\nexit 130\n", encoding="utf-8")
    (tmp_path / "interrupted").chmod(0o755)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["Rscript", str(tmp_path / "try.R")],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PATH": path},
        cwd=tmp_path,
    )
    first, second, third, fourth = done.stdout.splitlines()
    assert first == "no error"
    assert "no-such-file.csv" in second
    assert third == "no-such-command is not found: name it by options(rumflow = ...)"
    assert fourth == "rumflow ended with status 130"


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
