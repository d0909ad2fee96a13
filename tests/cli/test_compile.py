"""The command `compile`."""

import json
import os
import subprocess
import sys

import pytest

from rumflow.cli import compile as compile_command
from rumflow.cli.parser import make_parser
from tests.reference.commands import run

#: What people call first, on other data than the command's. Prints the kernels that the command had not prepared.
FIRST_CALLS = """
import gc, sys
import numpy as np
import rumflow as rf
from rumflow.cli.main import main
from rumflow.core.compile import Kernel

assert main(["compile", "--quiet", "--json", *sys.argv[1:]]) == 0

def loaded():
    kernels = [k for k in gc.get_objects() if isinstance(k, Kernel)]
    return {(k.py_func.__module__, k.py_func.__name__, str(s)) for k in kernels for s in k.overloads}

before = loaded()
for n in (3, 6, 10, 13, 16):
    fit = rf.project(rf.simulate.dirichlet(n, 2))
    fit.vjp(fit.rho)
    fit.sample(5, seed=1)
rf.project_many([rf.simulate.dirichlet(5, k) for k in range(3)])
data = rf.simulate.random_menus(6, 8, 3, 5, 40, seed=3)
rf.project(data, weights="counts")
rf.rum_test(data, 19, seed=1)
rf.bounds(data, data.items[:2], n_boot=39, seed=1)
rf.explain(data)
rf.fit_likelihood(data)
rf.project(rf.simulate.random_menus(12, 20, 2, 9, 9, seed=1), model=rf.TriangleInequalities())
rf.transitivity(rf.simulate.random_menus(12, 20, 2, 9, 9, seed=1))
rf.project(rf.simulate.random_menus(21, 30, 6, seed=2), route="graph")
rf.subject_scores({"menu": ["a|b", "b|c", "a|c"] * 2, "choice": ["a", "b", "c"] * 2, "subject": [1, 1, 1, 2, 2, 2]})
if "--layers" in sys.argv:
    import torch
    from rumflow.torch import RUMLayer
    for n in (3, 10):
        z = torch.rand(3, n << (n - 1), dtype=torch.float64, requires_grad=True)
        RUMLayer(n)(z).square().sum().backward()
print(sorted(loaded() - before), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--layers"]], ids=["plain", "layers"])
def test_nothing_is_left_to_compile(words):
    if words:
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS, *words], env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines()[-1] == "[]"
    found = json.loads(done.stdout)
    assert found["bytes"] > 0
    assert "layers" in [row["part"] for row in found["results"]] or not words
    assert all(row["seconds"] >= 0 and row["processor_seconds"] >= 0 for row in found["results"])


def test_the_cost_is_said_before_the_answer_and_in_plain_numbers(capsys, monkeypatch):
    monkeypatch.setattr(compile_command, "STEPS", {"one": lambda: None, "two": lambda: None})
    code, out, err = run(capsys, "compile")
    assert code == 0
    assert "rumflow: about a minute of one core where nothing is on disk yet\nrumflow: one (1 of 2)\n" in err
    assert [line.split() for line in out.splitlines()[3:5]] == [
        [name, "0.0", "s", "0.0", "s"] for name in ("one", "two")
    ]
    assert out.splitlines()[5].startswith("0 s in all, 0 s of the processor; ")
    assert "about a minute of one core" in make_parser()._subparsers._group_actions[0].choices["compile"].format_help()


def test_layers_need_pytorch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "rumflow.torch", raising=False)
    code, _, err = run(capsys, "compile", "--layers")
    assert code == 1
    assert "--layers needs PyTorch, which is not installed: pip install 'rumflow[torch]'" in err
