"""The same answer from any number of workers; checkpoints; interruption; many tests at once."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import benjamini_hochberg, holm, jobs, rum_test, rum_test_many
from rumflow.inference.replicate import Replicator


def make_data(seed, n=4, choices=20):
    rng = np.random.default_rng(seed)
    rho = rf.simulate.rankings_mixture(n, 5, seed=seed)
    table = np.full(rho.shape, np.nan)
    for mask in range(3, 1 << n):
        items = [x for x in range(n) if mask >> x & 1]
        if len(items) >= 2:
            table[mask, items] = rng.multinomial(choices, rho[mask, items] / rho[mask, items].sum())
    return rf.ChoiceData.from_matrix(table)


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


def test_dask_cluster_loses_a_worker():
    joblib = pytest.importorskip("joblib")
    distributed = pytest.importorskip("distributed")
    data = make_data(1, n=5, choices=30)
    expected = rum_test(data, n_boot=1500, seed=7, threads=1)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        before = list(client.run(os.getpid).values())

        def kill():
            time.sleep(0.7)
            os.kill(before[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        with joblib.parallel_config(backend="dask"):
            killer.start()
            result = rum_test(data, n_boot=1500, seed=7, n_jobs=-1)
            killer.join()
        assert before[0] not in client.run(os.getpid).values()
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
    with pytest.raises(KeyboardInterrupt):
        rum_test(make_data(0), n_boot=250, seed=7, threads=1)


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


def test_many_tests():
    data = {name: make_data(seed) for seed, name in enumerate("pqrs")}
    result = rum_test_many(data, n_boot=60, seed=1)
    assert len(result) == 4
    assert result.pvalues == pytest.approx([result[name].pvalue for name in "pqrs"])
    fewer = rum_test_many({"p": data["p"], "q": data["q"]}, n_boot=60, seed=1)
    assert (fewer["q"].null_distribution == result["q"].null_distribution).all()
    assert (result["p"].null_distribution != result["q"].null_distribution).any()
    assert "Of 4 tests" in result.summary()
    assert "no test can reject" in result.summary()
    with pytest.raises(rf.InputError, match="no test is named"):
        result["z"]


def test_many_tests_name_the_bad_one():
    single = rf.ChoiceData.from_counts({("a",): {"a": 1}})
    with pytest.raises(rf.InputError, match="data set 'bad': no menu of two"):
        rum_test_many({"good": make_data(0), "bad": single})


def test_many_tests_with_workers_and_checkpoint(tmp_path):
    pytest.importorskip("joblib")
    data = [make_data(seed) for seed in range(3)]
    expected = rum_test_many(data, n_boot=40, seed=1)
    file = tmp_path / "many.npz"
    for _ in range(2):
        again = rum_test_many(data, n_boot=40, seed=1, n_jobs=2, checkpoint=file)
        assert (again.pvalues == expected.pvalues).all()


def test_adjusted_pvalues():
    p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    stepped = np.maximum.accumulate([v * (10 - i) for i, v in enumerate(p)])
    assert holm(p) == pytest.approx(np.minimum(stepped, 1))
    assert benjamini_hochberg(p) == pytest.approx(
        [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.105714286, 0.216, 0.216, 0.216]
    )
    shuffled = np.random.default_rng(0).permutation(10)
    assert holm(np.array(p)[shuffled]) == pytest.approx(holm(p)[shuffled])
    assert holm([]).shape == (0,)
    with pytest.raises(rf.InputError, match="from 0 to 1"):
        holm([0.5, 1.5])
