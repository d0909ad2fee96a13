"""Numbers of threads, from arguments and the environment; pieces of work and their errors."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import threads
from rumflow.errors import InputError


def test_threads_by_environment(monkeypatch):
    from rumflow.core.threads import thread_count

    monkeypatch.setenv("RUMFLOW_THREADS", "3")
    assert thread_count() == 3
    assert thread_count(1) == 1
    assert np.isfinite(rf.project(rf.simulate.dirichlet(4, 0)).objective)


def test_tasks_of_a_pool_do_not_wait_for_it():
    """Derivatives for many items run transforms that would like threads of their own, inside threads."""
    script = """
import numpy as np, rumflow as rf
a = np.stack([rf.simulate.rankings_mixture(15, 5, s) for s in range(3)])
print(rf.project_many(a, threads=2).jvp(a).shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "RUMFLOW_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    assert "(3, 32768, 15)" in done.stdout


@pytest.mark.parametrize("threads", ["x", 0, -1, 1.5, True, 10**9])
def test_numbers_of_threads_of_a_projection(threads):
    rho = rf.simulate.dirichlet(3, 0)
    for work in (lambda: rf.project(rho, threads=threads), lambda: rf.project_many([rho], threads=threads)):
        with pytest.raises(rf.InputError, match="threads="):
            work()


@pytest.mark.parametrize("text", ["x", "0", "-1", "1.5", "²", "1" * 40])
def test_numbers_of_threads_in_the_environment_of_a_projection(monkeypatch, text):
    monkeypatch.setenv("RUMFLOW_THREADS", text)
    with pytest.raises(rf.InputError, match="RUMFLOW_THREADS"):
        rf.project_many([rf.simulate.dirichlet(3, 0)])
    monkeypatch.setenv("RUMFLOW_THREADS", "2")
    assert np.isfinite(rf.project_many([rf.simulate.dirichlet(3, 0)], threads=np.int64(1)).objective).all()


@pytest.mark.parametrize("count", [1, 2, 1024, np.int64(3)])
def test_numbers_of_threads(count, monkeypatch):
    assert threads.thread_count(count) == count
    monkeypatch.setenv("RUMFLOW_THREADS", str(count))
    assert threads.thread_count() == count
    assert threads.thread_count(5) == 5


@pytest.mark.parametrize("count", [0, 1025, -1, True, 2.0, "2"])
def test_what_is_no_number_of_threads(count):
    with pytest.raises(InputError, match="threads="):
        threads.thread_count(count)


@pytest.mark.parametrize("text", ["0", "1025", "two", "-1", "1.0", "²", "10000000000000"])
def test_what_is_no_number_of_threads_in_the_environment(text, monkeypatch):
    monkeypatch.setenv("RUMFLOW_THREADS", text)
    with pytest.raises(InputError, match="RUMFLOW_THREADS="):
        threads.thread_count()


def test_all_processors_are_used_where_nothing_is_said(monkeypatch):
    monkeypatch.setenv("RUMFLOW_THREADS", "")
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert threads.thread_count() == 3
    monkeypatch.delattr(threads.os, "sched_getaffinity")
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 7)
    assert threads.thread_count() == 7
    monkeypatch.setattr(threads.os, "cpu_count", lambda: None)
    assert threads.thread_count() == 1


def test_pieces_run_where_they_should():
    """In threads of a pool, but for one piece, one thread, or work inside the pool."""

    def where(pieces, count):
        names = []
        threads.run_threads(lambda _: names.append(threading.current_thread().name), pieces, count)
        return [name.startswith("rumflow") for name in names]

    assert where(range(3), 2) == [True] * 3
    assert where(range(3), 1) == where(range(3), 0) == [False] * 3
    assert where(range(1), 2) == [False]
    inside = []
    threads.run_threads(lambda i: inside.append(threading.current_thread().name), iter(range(4)), 2)
    assert len(inside) == 4
    nested = []

    def outer(_):
        own = threading.current_thread()
        threads.run_threads(lambda _: nested.append(threading.current_thread() is own), range(3), 2)

    threads.run_threads(outer, range(2), 2)
    assert nested == [True] * 6


def test_an_error_ends_the_work_and_is_raised():
    done = []

    def task(i):
        if i == 0:
            raise ValueError("the first")
        done.append(i)

    with pytest.raises(ValueError, match="the first"):
        threads.run_threads(task, range(50), 2)
    assert 0 not in done


def test_pieces_run_alone_where_threads_take_no_more_work(monkeypatch):
    """As at the end of Python, with what somebody else's threads still ask for."""

    class Closed:
        taken = 0

        def submit(self, work, piece):
            if self.taken == 1:
                raise RuntimeError("cannot schedule new futures after shutdown")
            self.taken += 1
            work(piece)
            done = threads.Future()
            done.set_result(None)
            return done

    pool, seen = Closed(), []
    monkeypatch.setattr(threads, "_pool", lambda *_: pool)
    try:
        threads.run_threads(seen.append, range(3), 2)
    finally:
        threads._inside.pool = False
    assert seen == [0, 1, 2]


def test_an_interrupt_waits_until_a_piece_is_handed_over(monkeypatch):
    """Inside `submit` it could leave the pool locked."""
    plain, handed = threads.ThreadPoolExecutor.submit, []

    def submit(self, *given):
        signal.raise_signal(signal.SIGINT)
        future = plain(self, *given)
        handed.append(future)
        return future

    monkeypatch.setattr(threads.ThreadPoolExecutor, "submit", submit)
    with pytest.raises(KeyboardInterrupt):
        threads.run_threads(lambda _: None, range(4), 2)
    assert len(handed) == 1
    assert handed[0].done()
