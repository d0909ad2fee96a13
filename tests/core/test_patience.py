"""Ctrl-C in threads that do not hear it, and time limits of whole calls."""

import math
import subprocess
import sys
import threading
import time

import pytest

from rumflow.core.compile import clock
from rumflow.core.patience import (
    OutOfTimeError,
    check_interrupt,
    check_patience,
    deadline,
    limited,
    listen,
    under,
    watch,
)
from rumflow.core.threads import run_threads


def test_a_limit_holds_inside_and_the_nearer_one_counts():
    assert deadline() == math.inf
    check_patience()
    now = clock()
    with limited(now + 100.0):
        assert deadline() == now + 100.0
        with limited(now + 200.0):
            assert deadline() == now + 100.0
        with pytest.raises(OutOfTimeError), limited(now - 1.0):
            check_patience()
        assert deadline() == now + 100.0
        check_patience()
    assert deadline() == math.inf


def test_work_in_another_thread_keeps_to_flag_and_limit():
    stop, seen = threading.Event(), []

    def look(name):
        seen.append((name, deadline()))
        check_interrupt()
        seen.append("goes on")
        return name

    with limited(5.0):
        work = under(stop, look)
    thread = threading.Thread(target=work, args=("a",))
    thread.start()
    thread.join()
    assert seen == [("a", 5.0), "goes on"]
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        work("b")
    assert deadline() == math.inf  # that of this thread is as it was
    check_interrupt()


def test_work_handed_on_ends_with_either_flag():
    outer, inner = threading.Event(), threading.Event()
    handed = []

    def hand_on():
        handed.append(under(inner, check_interrupt))

    under(outer, hand_on)()
    handed[0]()
    outer.set()
    with pytest.raises(KeyboardInterrupt):
        handed[0]()


def test_an_error_in_one_piece_stops_the_others():
    begun = threading.Barrier(2)
    ended = []

    def task(piece):
        begun.wait(60)
        if piece == 0:
            raise ValueError("this one")
        try:
            while True:  # for ever, unless it is told to stop
                check_interrupt()
                time.sleep(0.001)
        finally:
            ended.append(piece)

    with pytest.raises(ValueError, match="this one"):
        run_threads(task, range(2), 2)
    assert ended == [1]


def test_what_does_not_look_up_is_left_to_itself():
    assert listen(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        listen(lambda: 1 // 0)
    over, stop = threading.Event(), threading.Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        under(stop, listen)(lambda: over.wait(60))
    with pytest.raises(OutOfTimeError), limited(clock() - 1.0):
        listen(lambda: over.wait(60))
    over.set()


def test_python_waits_a_moment_for_what_was_left():
    """Its work ends while Python does: the last words of both are heard, in this order."""
    code = """
import atexit, threading
from rumflow.core.compile import clock
from rumflow.core.patience import OutOfTimeError, limited, listen
ending = threading.Event()
try:
    with limited(clock() - 1.0):
        listen(lambda: ending.wait(60) and print("left, and done", flush=True))
except OutOfTimeError:
    atexit.register(lambda: (print("the end", flush=True), ending.set()))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.splitlines() == ["the end", "left, and done"]


def test_a_thread_is_waited_for_even_if_an_interrupt_came_while_it_was_started():
    code = """
import threading, time
from rumflow.core.patience import listen
start = threading.Thread.start
def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt
threading.Thread.start = interrupted
try:
    listen(lambda: (time.sleep(0.3), print("left, and done", flush=True)))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.splitlines() == ["interrupted", "left, and done"]


@pytest.mark.parametrize(
    ("last", "code"),
    [("raise", 130), ("print('kept')", 0), ("raise ValueError", 1), ("sys.argv = ['rumflow', '-x']; main()", 1)],
    ids=["interrupt", "caught", "fault", "command"],
)
def test_a_process_that_left_work_ends_before_python_shuts_down(last, code):
    """Threads of a library that outlive Python's would end it by an abort; the exit code says what happened."""
    script = f"""
import sys, threading
from rumflow.cli.main import main
from rumflow.core.patience import listen, under
stop = threading.Event()
stop.set()
try:
    under(stop, listen)(lambda: threading.Event().wait(60))
except KeyboardInterrupt:
    {last}
sys.stdout.write("written")
class Late:
    def __del__(self):
        print("Python shut down", flush=True)
late = Late()
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == code
    assert "Python shut down" not in found.stdout
    assert ("written" in found.stdout) == (last.startswith("print"))


def test_a_look_at_the_clock_and_at_what_nobody_waits_for():
    watch(clock() + 60.0)()
    with pytest.raises(OutOfTimeError):
        watch(clock() - 1.0)()
    stop = threading.Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        under(stop, watch(math.inf))()
    under(stop, watch(math.inf, heard=True))()
