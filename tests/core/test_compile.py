"""Kernels on disk: compiled once, watched for changes, quick to load, and the clock of time limits."""

import os
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.caching import NullCache

import rumflow as rf
from rumflow.core.compile import _Clock, _estimate, clock, leaf
from rumflow.data import simulate
from rumflow.solvers.batch.kernels import solve_piece
from tests.reference.systems import not_on_windows

FIRST = """
import sys, rumflow as rf
fit = rf.project(rf.simulate.dirichlet(6, 0))
print(repr(fit.objective))
"""
MORE = """
batch = rf.project_many([rf.simulate.dirichlet(4, 0)])
print(repr(float(batch.objective[0])))
rf.project(rf.simulate.random_menus(9, 3, 3, seed=0), route="graph")
assert not {"torch", "jax", "pandas", "polars", "matplotlib", "joblib", "rich"} & set(sys.modules)
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


@pytest.mark.slow
def test_workers_that_start_together_share_a_fresh_cache(tmp_path):
    expected = f"{rf.project(rf.simulate.dirichlet(6, 0)).objective!r}\n"

    def compiled(err):
        often = "once for all that share NUMBA_CACHE_DIR"
        return re.findall(rf"compiling (\w+), {often} \(about \d+ s\) \.\.\. compiled in [\d.]+ s\n", err)

    together = [start(FIRST, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in together:
        out, err = finish(process)
        assert out == expected
        assert "solve_piece" in compiled(err)
    out, err = finish(start(FIRST + MORE, NUMBA_CACHE_DIR=str(tmp_path)))
    assert out.startswith(expected)
    assert "improve" in compiled(err)  # each set of kernels is announced, not the first alone
    assert "solve_piece" not in compiled(err)
    out, err = finish(start(FIRST + MORE, NUMBA_CACHE_DIR=str(tmp_path)))
    assert out.startswith(expected)
    assert err == ""


PACKAGE = {
    "constants.py": "HALF = 0.5\n",
    "inner.py": """
from rumflow.core.compile import leaf
from package.constants import HALF
@leaf
def middle(a, b):
    return HALF * (a + b)
""",
    "outer.py": """
from typing import NamedTuple
from rumflow.core.compile import leaf
from package.inner import middle
class Pair(NamedTuple):
    low: float
    high: float
@leaf
def spread(pair):
    return middle(pair.low, pair.high) - pair.low
def report(value):
    return f"spread {value}"
""",
    "run.py": """
import sys
sys.path.insert(0, sys.argv[1])
from package.outer import Pair, report, spread
print(report(spread(Pair(low=1.0, high=3.0))), sum(spread.stats.cache_misses.values()))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("outer.py", "spread {value}", "the spread {value}", "the spread 1.0 0"),  # no kernel, though in its file
        ("constants.py", "HALF", "QUARTER = 0.25\nHALF", "spread 1.0 0"),  # a constant that is not used
        ("run.py", "import sys", "import os, sys", "spread 1.0 0"),
        ("inner.py", "HALF * (a + b)", "HALF * (a - b)", "spread -2.0 1"),  # a kernel that is called
        ("constants.py", "0.5", "2.0", "spread 7.0 1"),  # a constant that it uses
        ("outer.py", "    low: float\n    high: float", "    high: float\n    low: float", "spread 1.0 1"),
        ("outer.py", "@leaf", "from rumflow.core.compile import kernel as leaf\n@leaf", "spread 1.0 1"),
    ],
)
def test_the_cache_on_disk_watches_what_a_kernel_is_made_of(tmp_path, file, old, new, expected):
    folder = tmp_path / "package"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / name).write_text(text, encoding="utf-8")

    def run():
        command = [sys.executable, "-B", str(folder / "run.py"), str(tmp_path)]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert run() == "spread 1.0 1"
    assert run() == "spread 1.0 0"
    (folder / file).write_text(PACKAGE[file].replace(old, new), encoding="utf-8")
    assert run() == expected


def test_environments_with_the_same_versions_share_a_folder(tmp_path):
    """Wherever the sources are; two states of them keep theirs side by side."""

    def run(place, sources):
        folder = tmp_path / place / "package"
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in sources.items():
            (folder / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-B", str(folder / "run.py"), str(tmp_path / place)]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    changed = PACKAGE | {"constants.py": "HALF = 2.0\n"}
    assert run("here", PACKAGE) == "spread 1.0 1"
    assert run("there", PACKAGE) == "spread 1.0 0"
    assert run("there", changed) == "spread 7.0 1"
    assert run("here", PACKAGE) == "spread 1.0 0"
    assert run("there", changed) == "spread 7.0 0"
    assert len(list((tmp_path / "cache").iterdir())) == 1  # no empty folders beside it


#: No file under the folders may be opened for writing, as for a user who may not write there; also for root and on Windows.
CLOSED = """
import os, sys
def refuse(event, details):
    if event == "open" and isinstance(details[0], str) and details[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        if any(os.path.abspath(details[0]).startswith(folder) for folder in os.environ["CLOSED"].split(os.pathsep)):
            raise PermissionError(13, "Permission denied")
sys.addaudithook(refuse)
"""


@pytest.mark.parametrize("place", ["shared", "sources"])
@pytest.mark.parametrize("home", ["open", "closed"])
def test_kernels_are_read_where_nobody_may_write(tmp_path, place, home):
    """An image that holds the kernels, and a user who may not write there; new ones go home, or are not kept."""
    folder = tmp_path / "package"
    folder.mkdir()
    for name, text in PACKAGE.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "closed.py").write_text(CLOSED + PACKAGE["run.py"], encoding="utf-8")
    more = CLOSED + PACKAGE["run.py"] + "print(spread(Pair(low=1, high=3)), sum(spread.stats.cache_misses.values()))\n"
    (folder / "more.py").write_text(more, encoding="utf-8")
    shared, user = tmp_path / "cache", tmp_path / "home"
    user.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {name: str(user) for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE")}
    environment["CLOSED"] = os.pathsep.join([str(shared), str(folder), *([str(user)] if home == "closed" else [])])
    if place == "shared":
        environment["NUMBA_CACHE_DIR"] = str(shared)

    def run(script):
        command = [sys.executable, "-B", str(folder / script), str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split(), done.stderr

    assert run("run.py") == (["spread", "1.0", "1"], "")
    assert run("closed.py") == (["spread", "1.0", "0"], "")
    assert not list(user.rglob("*.nbc"))
    said, warned = run("more.py")
    assert said == ["spread", "1.0", "0", "1.0", "1"]
    assert warned.count("cannot be kept on disk (no folder can be written to)") == (home == "closed")
    assert run("more.py")[0] == ["spread", "1.0", "0", "1.0", "1" if home == "closed" else "0"]


def test_one_short_kernel_does_not_spoil_the_estimates(capsys):
    """It took ten times as long as expected; the next is still announced with about what it takes."""
    listener = _Clock()
    listener.on_start(SimpleNamespace(data={"dispatcher": simulate._dirichlet_rows}))
    listener.since -= 10 * listener.expected
    listener.on_end(SimpleNamespace(data={"dispatcher": simulate._dirichlet_rows}))
    listener.on_start(SimpleNamespace(data={"dispatcher": solve_piece}))
    (said,) = re.findall(r"compiling solve_piece, .* \(about (\d+) s\)", capsys.readouterr().err)
    assert float(said) < 2 * _estimate(solve_piece)


def test_the_clock_of_time_limits_stands_still_while_kernels_are_compiled():
    @leaf
    def spread(x):
        return x[-1] - x[0]

    spread._cache = NullCache()  # compiled in every run of this test
    begin, limit = time.perf_counter(), clock()
    assert spread(np.arange(3.0)) == 2.0
    assert 0.0 <= clock() - limit < 0.8 * (time.perf_counter() - begin)

    def difference():
        begin, limit = time.perf_counter(), clock()
        assert spread(np.arange(4.0)) == 3.0
        return abs(clock() - limit - (time.perf_counter() - begin))

    # Of several: between two readings a busy machine may do something else.
    assert min(difference() for _ in range(20)) < 0.001


def test_import_leaves_the_large_parts_of_scipy_out():
    script = """
import sys, rumflow
assert not {"scipy.sparse", "scipy.optimize", "scipy.linalg", "scipy.special", "scipy.stats"} & set(sys.modules)
"""
    finish(start(script))


def test_plain_python_takes_the_same_steps():
    """Without compilation a wrong index raises instead of reading what is not there."""
    script = """
import numpy as np, rumflow as rf
for n in (2, 3, 4):
    fit = rf.project(rf.simulate.dirichlet(n, 3))
    inside = rf.Lattice(n).membership
    print(float(fit.objective), repr(float(fit.jvp(np.where(inside, 1.0 * np.arange(n), 0.0)).sum())))
weights = np.where(rf.Lattice(4).membership, 2.0, 0.0)
print(repr(float(rf.project_many([rf.simulate.dirichlet(4, 1)], weights, cone=True).objective[0])))
print(float(rf.project(rf.simulate.mixed_logit(3, draws=20, seed=0), method="ipm").objective))
"""
    out, _ = finish(start(script, NUMBA_DISABLE_JIT="1"))
    fast, _ = finish(start(script))
    numbers = [float(word) for word in out.split()]
    assert numbers == pytest.approx([float(word) for word in fast.split()], rel=1e-9, abs=1e-12)


KERNEL = """
import sys
if sys.argv[1] == "full":  # no file may grow beyond 4 KiB: as on a full disk
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
if sys.argv[1] == "nowhere":
    from rumflow.core import compile
    compile.KernelFiles._locator_classes = ()
from rumflow import Lattice
print(Lattice(2).to_internal([[0, 0], [1, 0], [0, 1], [0.25, 0.75]]).tolist())
"""


@pytest.mark.parametrize("disk", [pytest.param("full", marks=not_on_windows), "nowhere", "missing", "damaged"])
def test_without_room_for_compiled_kernels(tmp_path, disk):
    """Slow, but right, and said once."""
    folder = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null/no" if disk == "missing" else str(folder)}

    def compute(how):
        command = [sys.executable, "-c", KERNEL, how]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "[[1.0, 0.25], [1.0, 0.75]]\n"
        return done.stderr

    if disk == "damaged":
        compute("fine")
        files = list(folder.rglob("*.nb*"))
        assert files
        for k, file in enumerate(files):
            file.write_bytes(file.read_bytes()[: 100 * (k % 2)])
        assert compute("fine") == ""
        return
    err = compute(disk)
    assert err.count("cannot be kept on disk") == (0 if disk == "missing" else 1)
