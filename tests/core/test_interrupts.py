"""Ctrl-C while Numba works is held back to the next safe point, never lost, and does no harm."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from numba.core import event

from rumflow.core import interrupts
from rumflow.core.compile import kernel
from rumflow.core.interrupts import hold_interrupt, load_module, pass_interrupt
from rumflow.core.patience import under
from tests.reference.systems import not_on_windows


def test_the_signal_waits_until_the_end():
    before, reached = signal.getsignal(signal.SIGINT), []

    def work():
        with hold_interrupt(), hold_interrupt():
            signal.raise_signal(signal.SIGINT)
            reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached
    assert signal.getsignal(signal.SIGINT) is before
    with hold_interrupt():
        pass  # it was passed on once


def test_the_signal_is_passed_on_at_a_safe_point():
    before, beyond = signal.getsignal(signal.SIGINT), []

    def work():
        with hold_interrupt():
            signal.raise_signal(signal.SIGINT)
            pass_interrupt()
            beyond.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not beyond
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_of_the_user_is_called_and_ignored_signals_stay_ignored():
    before, heard = signal.getsignal(signal.SIGINT), []
    try:
        signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
        with hold_interrupt():
            signal.raise_signal(signal.SIGINT)
            assert not heard
        assert heard == [signal.SIGINT]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with hold_interrupt():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_do_nothing():
    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with hold_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))
            pass_interrupt()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


class _AtPass(event.Listener):
    """Ctrl-C in the middle of a pass."""

    def __init__(self, number):
        self.left = number

    def on_start(self, heard):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)

    def on_end(self, heard):
        pass


@pytest.mark.parametrize("number", [1, 7, 23])
def test_an_interrupted_kernel_is_compiled_at_the_next_call(number, monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    @kernel
    def total(values):
        found = 0.0
        for value in values:
            found += value + 1.0
        return found

    before = signal.getsignal(signal.SIGINT)
    with event.install_listener("numba:run_pass", _AtPass(number)), pytest.raises(KeyboardInterrupt):
        total(np.ones(3))
    assert signal.getsignal(signal.SIGINT) is before
    assert not total.overloads
    assert total(np.ones(3)) == 6.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer sends signals here")
def test_an_interrupt_while_results_are_put_together_is_one(monkeypatch, tmp_path):
    """Python runs there, where arrays are among several results."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    @kernel
    def halves(values):
        return values[:1].copy(), values[1:].copy(), 0.5

    def interrupt(number, frame):
        raise KeyboardInterrupt

    def run(seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        for _ in range(1_000_000):
            halves(np.ones(2))

    halves(np.ones(2))
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(300):
            with pytest.raises(KeyboardInterrupt):
                run(2e-5 + 1e-6 * (k % 100))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_thread_that_nobody_waits_for_ends_between_two_passes(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    stop = threading.Event()

    @kernel
    def total(values):
        return values.sum() + 2.0

    stop.set()
    with pytest.raises(KeyboardInterrupt):
        under(stop, total)(np.ones(3))
    assert not total.overloads
    assert total(np.ones(3)) == 5.0


STORM = """
import os, signal, sys, threading, time
import numpy as np
from rumflow.core import interrupts
from rumflow.core.compile import kernel
import rumflow

lost = []
sys.unraisablehook = lambda found: lost.append(found.exc_type)
sent = got = 0
for turn in range(12):
    scope = {"kernel": kernel, "np": np}
    exec(f"def f(a, b):\\n    c = np.zeros(5)\\n    c[:] = a[:5] + b[:5] * {turn}\\n    return c.sum()", scope)
    f = kernel(scope["f"])
    timer = threading.Timer(0.01 + 0.03 * turn, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        f(np.ones(5), np.ones(5))
        timer.join()
        time.sleep(0.05)
    except KeyboardInterrupt:
        got += 1
    assert f(np.ones(5), np.ones(5)) == 5.0 + 5.0 * turn
print(got, len(lost))
"""


@not_on_windows
def test_no_interrupt_is_lost_and_kernels_compile_afterwards(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", STORM], env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout.split()) == (0, ["12", "0"]), run.stderr


def test_an_interrupt_while_a_module_is_imported_comes_afterwards(tmp_path, monkeypatch):
    """A compiled module would make an ImportError of it; here the module itself says that it was not disturbed."""
    lines = ("import os, signal", "os.kill(os.getpid(), signal.SIGINT)", "whole = True")
    (tmp_path / "slow_module.py").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        load_module("slow_module")
    assert sys.modules.pop("slow_module").whole


def test_ctrl_c_that_comes_as_the_hold_ends_is_not_lost(monkeypatch):
    plain = signal.signal

    def restore(number, handler):
        if handler is not interrupts._hear:
            interrupts._hear(number, None)  # it comes just before the handler is back
        return plain(number, handler)

    monkeypatch.setattr(interrupts.signal, "signal", restore)
    with pytest.raises(KeyboardInterrupt), interrupts.hold_interrupt():
        pass
    monkeypatch.undo()
    assert interrupts._before is None
    assert not interrupts._waiting
    with interrupts.hold_interrupt():
        assert signal.getsignal(signal.SIGINT) is interrupts._hear
