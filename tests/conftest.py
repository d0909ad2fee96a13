import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

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


# A skipped test proves nothing: every skip but these fails the run. Where the real data are, everything else has to be, too.
_ALLOWED = {
    "no chromium is installed": "a browser is no Python package, so the test extra cannot bring it",
    "no set columns there": "a table format without columns of that kind",
}
_ALLOWED_WITHOUT_DATA = {
    "RUMFLOW_DATA is not set": "real data are not shipped",
    "PyTorch is not installed": "an extra of its own, not part of the test extra",
    "could not import 'torch'": "the same",
}
_skipped: list[tuple[str, str]] = []


def _is_allowed(reason):
    known = dict(_ALLOWED) if os.environ.get("RUMFLOW_DATA") else _ALLOWED | _ALLOWED_WITHOUT_DATA
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
