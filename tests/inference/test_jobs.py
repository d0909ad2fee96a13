"""The same answer from any number of workers; checkpoints; interruption; pieces by hand."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import jobs, rum_test
from rumflow.inference.replicate import Replicator
from rumflow.solvers.active_set import solve as active_set
from tests.reference.examples import FIRST
from tests.reference.interrupts import Interrupted
from tests.reference.samples import make_data
from tests.reference.systems import not_on_windows


@pytest.fixture(scope="module")
def alone():
    return rum_test(make_data(0), n_boot=250, seed=7, threads=1)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads(alone, threads):
    result = rum_test(make_data(0), n_boot=250, seed=7, threads=threads)
    assert (result.null_distribution == alone.null_distribution).all()


def test_joblib(alone):
    pytest.importorskip("joblib")
    result = rum_test(make_data(0), n_boot=250, seed=7, n_jobs=2)
    assert (result.null_distribution == alone.null_distribution).all()
    assert result.pvalue == alone.pvalue


def test_joblib_threads(alone):
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(backend="threading"):
        result = rum_test(make_data(0), n_boot=250, seed=7, n_jobs=3)
    assert (result.null_distribution == alone.null_distribution).all()


def one_test(**options):
    return [rum_test(make_data(1, n=5, choices=30), n_boot=1500, seed=7, **options)]


def many_tests(**options):
    groups = [make_data(k, n=5, choices=30) for k in (1, 2, 3)]
    return rf.rum_test_many(groups, n_boot=500, seed=7, **options).tests


@not_on_windows
@pytest.mark.slow
def test_dask_cluster_loses_a_worker():
    joblib = pytest.importorskip("joblib")
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for run in (one_test, many_tests):
            client.wait_for_workers(2)  # the one that was killed comes back as another process
            address, victim = next(iter(client.run(os.getpid).items()))
            done, working = threading.Event(), threading.Event()

            def kill(address=address, victim=victim, done=done, working=working):
                while not done.is_set():
                    if cluster.scheduler.workers[address].processing:
                        working.set()
                        break
                    time.sleep(0.01)
                os.kill(victim, signal.SIGKILL)

            killer = threading.Thread(target=kill)
            with joblib.parallel_config(backend="dask"):
                killer.start()
                found = run(n_jobs=-1)
                done.set()
                killer.join()
            assert working.is_set()  # killed in the middle of its work
            assert victim not in client.run(os.getpid).values()
            for result, expected in zip(found, run(threads=1), strict=True):
                assert (result.null_distribution == expected.null_distribution).all()
                assert result.pvalue == expected.pvalue


def test_without_joblib(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(jobs, "import_module", missing)
    with pytest.raises(rf.InputError, match="needs joblib"):
        rum_test(make_data(0), n_boot=19, n_jobs=2)


def test_seed_forms():
    data = make_data(0)
    first = rum_test(data, n_boot=29, seed=None)
    again = rum_test(data, n_boot=29, seed=first.seed)
    assert (first.null_distribution == again.null_distribution).all()
    assert (
        rum_test(data, n_boot=9, seed=np.random.default_rng(3)).seed
        == rum_test(data, n_boot=9, seed=np.random.default_rng(3)).seed
    )
    assert rum_test(data, n_boot=9, seed=np.random.SeedSequence(3)).n_boot == 9


def interrupt_after(monkeypatch, count):
    """Ctrl-C when `count` pieces have been computed."""
    original = Replicator.__call__
    calls = []

    def call(self, indices):
        if len(calls) == count:
            raise KeyboardInterrupt
        calls.append(indices)
        return original(self, indices)

    monkeypatch.setattr(Replicator, "__call__", call)
    return calls


def test_interruption_gives_the_result_so_far(alone, monkeypatch):
    interrupt_after(monkeypatch, 1)
    result = rum_test(make_data(0), n_boot=250, seed=7, threads=1)
    assert result.interrupted
    assert result.n_boot == 100
    assert (result.null_distribution == alone.null_distribution[:100]).all()
    assert "interrupted" in result.summary()


def test_interruption_before_anything_is_raised(monkeypatch):
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt, match="interrupted before the first replicate was done"):
        rum_test(make_data(0), n_boot=250, seed=7, threads=1)


def test_interruption_of_the_statistic_is_raised(monkeypatch):
    Interrupted(monkeypatch, 1)
    data = rf.ChoiceData.from_matrix(np.round(100 * rf.simulate.noisy_rankings(9, seed=0)))
    with pytest.raises(KeyboardInterrupt, match="interrupted at the statistic: there is no result yet"):
        rum_test(data, n_boot=250, seed=7, threads=1)


def test_interruption_of_many_tests_keeps_those_that_were_begun(monkeypatch):
    whole = rf.rum_test_many([make_data(0), make_data(1)], n_boot=150, seed=7, threads=1)
    interrupt_after(monkeypatch, 1)
    found = rf.rum_test_many([make_data(0), make_data(1)], n_boot=150, seed=7, threads=1)
    first, second = found.tests
    assert (first.n_boot, second.n_boot) == (100, 0)
    assert first.interrupted
    assert second.interrupted
    assert (first.null_distribution == whole[0].null_distribution[:100]).all()
    assert second.statistic == whole[1].statistic
    assert second.pvalue == 1.0
    assert "before this test had a replicate: its p-value says nothing" in second.summary()
    assert "smallest" not in second.summary()


class Elsewhere:
    """A main thread that hears Ctrl-C once the others are in the middle of a solve, which would never end."""

    def __init__(self, monkeypatch, calls):
        self.plain, self.calls = active_set.kernels.measure, calls
        self.inside = threading.Event()
        monkeypatch.setattr(active_set.kernels, "measure", self)
        monkeypatch.setattr(jobs, "wait", self.wait)

    def __call__(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            self.calls -= 1
            if self.calls <= 0:
                self.inside.set()
                _, nu = self.plain(*arguments)
                return 1e300, nu  # as if it had got nowhere
        return self.plain(*arguments)

    def wait(self, running, **_):
        while not self.inside.is_set():
            done = [future for future in running if future.done()]
            if done:
                return done, ()
            time.sleep(0.001)
        raise KeyboardInterrupt


def test_ctrl_c_ends_replicates_in_the_middle(monkeypatch, tmp_path):
    """The checkpoint has the pieces that were done, and goes on to the same p-value."""
    data = rf.simulate.random_menus(12, 10, 4, 50, 100, seed=2)
    options = {"n_boot": 6, "seed": 1, "route": "graph", "tau": 0.1, "threads": 2}
    monkeypatch.setattr(jobs, "piece_size", lambda _: 1)
    whole = rum_test(data, **options)
    file = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        Elsewhere(patch, 20)
        found = rum_test(data, checkpoint=file, **options)
    assert found.interrupted
    assert 0 < found.n_boot < 6
    assert set(found.null_distribution) <= set(whole.null_distribution)
    assert f"{file} keeps the replicates so far: the same call goes on from there." in found.notes
    again = rum_test(data, checkpoint=file, **options)
    assert not again.interrupted
    assert (again.null_distribution == whole.null_distribution).all()
    assert again.pvalue == whole.pvalue
    assert again.notes == whole.notes


def test_checkpoint_resumes(alone, monkeypatch, tmp_path):
    file = tmp_path / "run.npz"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        rum_test(make_data(0), n_boot=250, seed=7, threads=1, checkpoint=file)
    with monkeypatch.context() as patch:
        calls = interrupt_after(patch, 99)
        result = rum_test(make_data(0), n_boot=250, seed=7, threads=1, checkpoint=file)
        assert calls == [range(200, 250)]
    assert (result.null_distribution == alone.null_distribution).all()
    assert not result.interrupted
    with monkeypatch.context() as patch:  # more replicates go on from there
        calls = interrupt_after(patch, 99)
        more = rum_test(make_data(0), n_boot=300, seed=7, threads=1, checkpoint=file)
        assert calls == [range(200, 300)]
    assert (more.null_distribution[:250] == alone.null_distribution).all()
    assert list(tmp_path.iterdir()) == [file]


def test_checkpoint_of_another_test(tmp_path):
    file = tmp_path / "run.npz"
    rum_test(make_data(0), n_boot=19, seed=7, checkpoint=file)
    with pytest.raises(rf.InputError, match="belongs to another test"):
        rum_test(make_data(0), n_boot=19, seed=8, checkpoint=file)
    with pytest.raises(rf.InputError, match="belongs to another test"):
        rum_test(make_data(0), n_boot=19, seed=7, resample="row", checkpoint=file)
    file.write_bytes(b"something else")
    with pytest.raises(rf.InputError, match="not a checkpoint file"):
        rum_test(make_data(0), n_boot=19, seed=7, checkpoint=file)


def test_progress(capsys):
    rum_test(make_data(0), n_boot=120, seed=7, progress=True)
    assert "120 of 120 replicates" in capsys.readouterr().err


def test_an_interrupt_ends_a_test_with_what_is_done(monkeypatch):
    data = rf.ChoiceData.from_matrix(np.round(100 * rf.simulate.noisy_rankings(9, seed=0)))
    options = {"seed": 0, "threads": 1, "tau": 0.1, "tol": 1e-3}
    counted = Interrupted(monkeypatch, 0)
    first = rf.rum_test(data, n_boot=100, **options)  # a piece of work
    Interrupted(monkeypatch, counted.calls + 20)
    found = rf.rum_test(data, n_boot=250, **options)
    assert found.interrupted
    assert found.n_boot == 100
    assert found.failed == 0
    assert (found.null_distribution == first.null_distribution).all()


@pytest.mark.parametrize(
    ("size", "seconds", "rows"),
    [
        (1, 1e-5, 100),
        (1 << 14, 1e-3, 100),
        (30_000, 1e-3, 69),
        (1 << 18, 1e-2, 8),
        (1 << 20, 1e-1, 2),
        (1 << 30, 1e-1, 1),
        (30_000, 0.01, 50),  # two taus: a second
        (1, 3.0, 1),
    ],
)
def test_replicates_in_a_piece(size, seconds, rows):
    projector = SimpleNamespace(size=size, cost=SimpleNamespace(seconds=seconds))
    replicator = SimpleNamespace(sample=SimpleNamespace(projector=projector), taus=(0.1, 0.2))
    assert jobs.piece_size(replicator) == rows


def test_memory_of_a_test_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(jobs, "require_memory", lambda needed, what, *_: asked.append((needed, what)))
    rf.rum_test(FIRST, 5, tau=[0.1, 0.2], seed=0, threads=1, route="lattice")
    assert asked[0] == (5 * (9 * 2 + 8), "keeping 5 replicates of 1 tests")
    assert asked[1:] == [(jobs.test_bytes(3, 2, 5, 1), "the test for n = 3 items")]
    asked.clear()
    rf.rum_test(FIRST, 5, tau=0.1, seed=0, threads=1, route="graph")
    assert asked == [(5 * (9 + 8), "keeping 5 replicates of 1 tests")]


def collected(count, value=0.0):
    return jobs.Collected(np.full((2, count), value), np.zeros((2, count), bool), np.zeros(count, np.int64))


def test_a_checkpoint_is_written_every_ten_seconds(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=lambda: now[0]))
    store = jobs._Checkpoint(tmp_path / "file.npz", "mark", now[0])
    for seconds, written in ((100.0, False), (110.0, False), (110.1, True)):
        now[0] = seconds
        store.save([collected(3)])
        assert store.path.exists() == written
    store.path.unlink()
    now[0] = 120.0
    store.save([collected(3)])
    assert not store.path.exists()
    store.save([collected(3)], force=True)
    assert store.path.exists()
    jobs._Checkpoint(None, "").save([collected(3)], force=True)


def test_a_checkpoint_gives_back_what_was_done(tmp_path):
    store = jobs._Checkpoint(tmp_path / "file.npz", "mark")
    done = collected(3, 7.0)
    done.statistic[:, 2] = np.nan
    done.certified[0, 1], done.vanished[1] = True, 4
    store.save([done, collected(3, 1.0)], force=True)
    for count in (2, 3, 5):
        into = [collected(count, np.nan), collected(count, np.nan)]
        store.load(into)
        assert into[0].done.tolist() == [True, True, False, False, False][:count]
        assert into[1].done.tolist() == [True, True, True, False, False][:count]
        assert into[0].statistic[1, :2].tolist() == [7.0, 7.0]
        assert into[0].certified[:, :2].tolist() == [[False, True], [False, False]]
        assert into[0].vanished[:2].tolist() == [0, 4]
    with pytest.raises(rf.InputError, match="belongs to another test"):
        jobs._Checkpoint(store.path, "other").load([collected(3)])
    store.path.write_text("no checkpoint", encoding="utf-8")
    with pytest.raises(rf.InputError, match="not a checkpoint file of rumflow, or a damaged one"):
        store.load([collected(3)])


@pytest.mark.parametrize("n_jobs", [0, 1.5, None])
def test_numbers_of_workers(n_jobs):
    with pytest.raises(rf.InputError, match="n_jobs="):
        rf.rum_test(FIRST, 3, 0.1, n_jobs=n_jobs)
