"""What a user waits for: compilation once per machine, and said; a quick start after that; no import of extras."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rumflow as rf

SCRIPT = """
import sys, rumflow as rf
fit = rf.project(rf.simulate.dirichlet(6, 0))
print(repr(fit.objective))
batch = rf.project_many([rf.simulate.dirichlet(4, 0)])
print(repr(float(batch.objective[0])))
assert not {"torch", "pandas", "polars", "matplotlib", "joblib", "rich"} & set(sys.modules)
"""


def start(script, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out, err


def test_workers_that_start_together_share_a_fresh_cache(tmp_path):
    expected = f"{rf.project(rf.simulate.dirichlet(6, 0)).objective!r}\n"
    together = [start(SCRIPT, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in together:
        out, err = finish(process)
        assert out.startswith(expected)
        assert "compiling its kernels, once per machine" in err
        assert "compiled in" in err
    out, err = finish(start(SCRIPT, NUMBA_CACHE_DIR=str(tmp_path)))
    assert out.startswith(expected)
    assert err == ""


def test_plain_python_takes_the_same_steps():
    """Without compilation a wrong index raises instead of reading what is not there."""
    script = """
import numpy as np, rumflow as rf
for n in (2, 3, 4):
    fit = rf.project(rf.simulate.dirichlet(n, 3))
    inside = rf.Lattice(n).membership
    print(repr(fit.objective), repr(float(fit.jvp(np.where(inside, 1.0 * np.arange(n), 0.0)).sum())))
weights = np.where(rf.Lattice(4).membership, 2.0, 0.0)
print(repr(float(rf.project_many([rf.simulate.dirichlet(4, 1)], weights, cone=True).objective[0])))
print(repr(rf.project(rf.simulate.mixed_logit(3, draws=20, seed=0), method="ipm").objective))
"""
    out, _ = finish(start(script, NUMBA_DISABLE_JIT="1"))
    fast, _ = finish(start(script))
    numbers = [float(word) for word in out.split()]
    assert numbers == pytest.approx([float(word) for word in fast.split()], rel=1e-9, abs=1e-12)


def test_the_public_names():
    assert set(rf.__all__) <= set(dir(rf))
    for name in ("project", "project_many", "ChoiceData", "Lattice", "block_marschak", "is_rum", "simulate"):
        assert name in rf.__all__


def test_threads_by_environment(monkeypatch):
    from rumflow.core.threads import thread_count

    monkeypatch.setenv("RUMFLOW_THREADS", "3")
    assert thread_count() == 3
    assert thread_count(1) == 1
    assert np.isfinite(rf.project(rf.simulate.dirichlet(4, 0)).objective)
