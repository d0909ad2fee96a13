import os
import signal
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.reference")  # its checks say what was wrong, as tests do

settings.register_profile("rumflow", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("rumflow")

if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
    np.seterr(over="ignore")  # kernels multiply whole numbers modulo 2^64, of which NumPy's scalars warn


@pytest.fixture
def rng():
    return np.random.default_rng(12345)


@pytest.fixture
def data_folder():
    """The folder of real data, where it is."""
    folder = os.environ.get("RUMFLOW_DATA")
    if not folder:
        pytest.skip("RUMFLOW_DATA is not set: the real data sets are not here")
    return Path(folder)


# Data that tests of several folders use. Imports are inside: `test_skips` runs this file without the package beside it.


@pytest.fixture
def many_items(monkeypatch):
    """Certificate and membership take the ways of many items from five items on."""
    from rumflow.core import certificate, membership

    for module in (certificate, membership):
        assert module._ONE_CALL < 13
        monkeypatch.setattr(module, "_ONE_CALL", 4)


@pytest.fixture
def budget_files(tmp_path, rng):
    """Households and prices in files, as words of a command line."""
    from tests.reference.budgets import random_prices

    prices = random_prices(rng, 3, 3)
    years = np.array([1990, 1991, 1992])
    budget = np.repeat(np.arange(3), 60)
    shares = rng.dirichlet(np.ones(3), len(budget))
    spent = np.exp(rng.normal(0, 0.4, len(budget)))
    people = np.arange(len(budget)) // 2
    table = np.column_stack([years[budget], shares, spent, people])
    households = tmp_path / "households.csv"
    np.savetxt(households, table, "%.17g", ",", header="year,share1,share2,share3,expenditure,family", comments="")
    other = tmp_path / "prices.csv"
    np.savetxt(other, np.column_stack([years, prices]), "%.17g", ",", header="year,price1,price2,price3", comments="")
    return [str(households), "--prices", str(other)]


@pytest.fixture
def subject_choices():
    """120 choices of ten subjects."""
    import rumflow as rf

    rng = np.random.default_rng(0)
    menus = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]
    picked = [menus[k % 4] for k in range(120)]
    table = {
        "menu": picked,
        "choice": [m[rng.integers(len(m))] for m in picked],
        "subject": [k % 10 for k in range(120)],
    }
    return rf.ChoiceData.from_frame(table, items=("a", "b", "c"))


@pytest.fixture(scope="module")
def stock():
    """A hundred items, of which some are sold out."""
    import rumflow as rf

    data = rf.simulate.stock_outs(100, 25, draws=40, seed=3)
    return rf.ChoiceData(tuple(f"item {x}" for x in range(100)), data.membership, data.counts, data.totals)


@pytest.fixture(scope="module")
def random_shares():
    """Shares that are no sample of anything, and their objective on the graph route."""
    import rumflow as rf

    member = rf.simulate.random_menus(10, 45, 4, seed=3).membership
    shares = np.random.default_rng(5).exponential(size=member.shape) * member
    shares = np.where(member, shares / shares.sum(axis=1, keepdims=True), np.nan)
    data = rf.ChoiceData(tuple("abcdefghij"), member, shares, np.ones(len(member)))
    return data, rf.project(data, route="graph").objective


@pytest.fixture
def hard(random_shares, monkeypatch):
    """The same with bounds that leave a gap: no graph of a group, no branch and cut."""
    from rumflow.models.open_menus import Limit
    from rumflow.solvers.bounded import bound as bounds_module
    from rumflow.solvers.bounded import split as split_module
    from rumflow.solvers.bounded.bound import Bounder
    from tests.reference.bounded_cases import TINY

    keep = Bounder.__init__
    monkeypatch.setattr(Bounder, "__init__", lambda self, model, cells: keep(self, model, cells, TINY))
    monkeypatch.setattr(bounds_module, "BRANCH_SECONDS", 0.0)
    monkeypatch.setattr(split_module, "SPLIT_LIMIT", Limit(nodes=100))
    monkeypatch.setattr(split_module, "_MOST_CUTS", 8)
    return random_shares


@pytest.fixture
def abkk(data_folder):
    """The lotteries of three frames, from published files."""
    import rumflow as rf
    from tests.reference.samples import SUBSETS

    frames = {}
    for name in ("high", "medium", "low"):
        rows = np.loadtxt(data_folder / f"abkk_lotteries/menu_choice_{name}.csv", delimiter=",", skiprows=1, dtype=int)
        counts = {}
        for menu, choice in rows:
            offered = (0, *SUBSETS[menu - 1])
            chosen = counts.setdefault(offered, dict.fromkeys(offered, 0))
            chosen[choice] += 1
        frames[name] = rf.ChoiceData.from_counts(counts, items=range(6))
    return frames


@pytest.fixture
def sales(tmp_path):
    """A file of sales with an outside option."""
    from tests.reference.commands import SALES

    path = tmp_path / "sales.csv"
    path.write_text(
        "menu,item,count\n" + "".join(f"{menu},{item},{count}\n" for menu, item, count in SALES), encoding="utf-8"
    )
    return str(path)


# A skipped test proves nothing: every skip but these fails the run. Where the real data are, everything else has to be, too.
_ALLOWED = {
    "no chromium is installed": "a browser is no Python package, so the test extra cannot bring it",
    "R is not installed": "no Python package either",
    "RUMFLOW_AXE is not set": "axe-core is a package of npm: RUMFLOW_AXE=node_modules/axe-core/axe.min.js",
    "could not import 'openpyxl'": "workbooks are an extra; what a missing one says is tested without it",
    "no timer sends signals here": "Windows has none",
    "Windows has no such files, signals or shell": "named pipes, devices, links, SIGKILL, bash; the rest runs there",
    "only Linux limits the address space": "macOS refuses the limit, Windows has none",
    "no such device here": "/dev/full is Linux's",
    "no set columns there": "a table format without columns of that kind",
}
_ALLOWED_WITHOUT_DATA = {
    "RUMFLOW_DATA is not set": "real data are not shipped",
    "PyTorch is not installed": "an extra of its own, not part of the test extra",
    "could not import 'torch'": "the same",
}
_skipped: list[tuple[str, str]] = []


def pytest_collection_modifyitems(items):
    """Examples that fetch data run where the files are, never over the network; those of layers where PyTorch is."""
    if find_spec("torch") is None:
        for item in items:
            if isinstance(item, pytest.DoctestItem) and "rumflow.torch." in item.name:
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))
    if not os.environ.get("RUMFLOW_DATA"):
        for item in items:
            if isinstance(item, pytest.DoctestItem) and "datasets.fetch_" in item.name:
                item.add_marker(pytest.mark.skip(reason="RUMFLOW_DATA is not set"))


def _is_allowed(reason):
    known = list(_ALLOWED if os.environ.get("RUMFLOW_DATA") else _ALLOWED | _ALLOWED_WITHOUT_DATA)
    for name in os.environ.get("RUMFLOW_TESTS_WITHOUT", "").split():  # packages that are left out on purpose
        known += [f"could not import '{name}'", f"/rumflow/{name}/"] + ["PyTorch is not installed"] * (name == "torch")
    return any(text in reason for text in known)


def _note(report):
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not _is_allowed(reason):
            _skipped.append((report.nodeid, reason))


pytest_runtest_logreport = pytest_collectreport = _note


def pytest_sessionfinish(session, exitstatus):
    if _skipped and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for name, reason in _skipped:
        terminalreporter.write_line(
            f"SKIPPED without leave: {name} - {reason} (the skips allowed are in tests/conftest.py)"
        )


# Whoever runs the tests in the background may have told them to ignore Ctrl-C; their children are to hear it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
