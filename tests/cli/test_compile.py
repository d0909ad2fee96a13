"""The command `compile`."""

import json
import os
import subprocess
import sys

import pytest

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
for n in (3, 6, 10):
    fit = rf.project(rf.simulate.dirichlet(n, 2))
    fit.vjp(fit.rho)
rf.project_many([rf.simulate.dirichlet(5, k) for k in range(3)])
data = rf.simulate.random_menus(6, 8, 3, 5, 40, seed=3)
rf.project(data, weights="counts")
rf.rum_test(data, 19, seed=1)
rf.bounds(data, data.items[:2], n_boot=39, seed=1)
rf.explain(data)
rf.fit_likelihood(data)
rf.project(rf.simulate.random_menus(12, 20, 2, 9, 9, seed=1), model=rf.TriangleInequalities())
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


def test_layers_need_pytorch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "rumflow.torch", raising=False)
    code, _, err = run(capsys, "compile", "--layers")
    assert code == 1
    assert "--layers needs PyTorch, which is not installed: pip install 'rumflow[torch]'" in err
