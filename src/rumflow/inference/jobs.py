"""Replicates in threads, in joblib workers, with a checkpoint; the result so far on Ctrl-C.

Work is a list of replicators and a number of replicates for each; pieces of it may be done in any order by anyone, because each
replicate has its own seed.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.memory import require_memory, test_bytes
from rumflow.core.patience import under
from rumflow.core.threads import thread_count
from rumflow.errors import InputError
from rumflow.inference.plan import JobOptions
from rumflow.inference.replicate import Draws, Replicator
from rumflow.inference.resample import generators
from rumflow.output.files import check_target, write_whole
from rumflow.output.progress import Counter

_SAVE_EVERY = 10.0  # seconds between two writes of the checkpoint


@dataclass
class Collected:
    """The replicates of one test: NaN where not done."""

    statistic: Array  # (taus, B)
    certified: NDArray[np.bool_]
    vanished: NDArray[np.int64]
    interrupted: bool = False
    kept: Path | None = None  # the checkpoint that has them, after an interrupt

    @property
    def done(self) -> NDArray[np.bool_]:
        """(B,)"""
        finished: NDArray[np.bool_] = ~np.isnan(self.statistic[0])
        return finished


@dataclass(frozen=True)
class _Piece:
    test: int
    indices: range


@dataclass
class _Checkpoint:
    path: Path | None
    fingerprint: str
    last: float = field(default_factory=time.monotonic)

    def load(self, collected: Sequence[Collected]) -> None:
        """Fill in what an earlier run of the same tests has done."""
        if self.path is None or not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                own = str(stored["fingerprint"])
                parts = [
                    tuple(stored[f"{name}{i}"] for name in ("statistic", "certified", "vanished"))
                    for i in range(len(collected))
                    if f"statistic{i}" in stored
                ]
        except (OSError, ValueError, KeyError, EOFError, TypeError, BadZipFile):
            raise InputError(
                f"checkpoint {self.path}: not a checkpoint file of rumflow, or a damaged one: name another file, or remove it"
            ) from None
        if own != self.fingerprint:
            raise InputError(
                f"checkpoint {self.path} belongs to another test (other data, options or seed): name another file, or remove it"
            )
        for into, (statistic, certified, vanished) in zip(collected, parts, strict=True):
            count = min(statistic.shape[1], into.statistic.shape[1])
            into.statistic[:, :count] = statistic[:, :count]
            into.certified[:, :count] = certified[:, :count]
            into.vanished[:count] = vanished[:count]

    def require_writable(self) -> None:
        """Raise before the work starts where the file cannot be written."""
        if self.path is None:
            return
        try:
            check_target(self.path)
        except InputError as fault:
            raise InputError(f"checkpoint {fault}") from None

    def save(self, collected: Sequence[Collected], force: bool = False) -> None:
        """Write all replicates done so far, in place of the old file."""
        if self.path is None or not (force or time.monotonic() - self.last > _SAVE_EVERY):
            return
        arrays = {
            f"{name}{i}": getattr(one, name)
            for i, one in enumerate(collected)
            for name in ("statistic", "certified", "vanished")
        }
        content = {"fingerprint": np.array(self.fingerprint), **arrays}
        try:
            write_whole(self.path, lambda file: np.savez(file, allow_pickle=False, **content))
        except InputError as fault:  # the replicates are worth more than the file
            warnings.warn(f"checkpoint not saved: {fault}", RuntimeWarning, stacklevel=2)
        self.last = time.monotonic()


def run(replicators: Sequence[Replicator], n_boot: int, jobs: JobOptions) -> list[Collected]:
    """All replicates of all tests.

    n_jobs = 1 runs in threads of this process; anything else goes through joblib, to whatever backend is active there.
    Ctrl-C ends the run, in the middle of replicates, and marks what there is as interrupted; it raises where that is nothing.
    """
    threads, checkpoint = jobs.threads, jobs.checkpoint
    require_memory(
        n_boot * sum(9 * len(r.taus) + 8 for r in replicators),
        f"keeping {n_boot:,} replicates of {len(replicators):,} tests",
        "take fewer replicates",
    )
    for r in replicators:
        if r.sample.projector.geometry.has_all_menus:
            n, menus = r.sample.projector.n, len(r.sample.projector.cells)
            rows = min(piece_size(r), int(n_boot))
            require_memory(test_bytes(n, menus, rows, thread_count(threads)), f"the test for n = {n} items")
    collected = [
        Collected(
            np.full((len(r.taus), n_boot), np.nan),
            np.zeros((len(r.taus), n_boot), np.bool_),
            np.zeros(n_boot, np.int64),
        )
        for r in replicators
    ]
    store = _Checkpoint(
        None if checkpoint is None else Path(checkpoint), "" if checkpoint is None else _fingerprint(replicators)
    )
    store.load(collected)
    store.require_writable()
    pieces = [
        _Piece(i, range(first, min(first + size, n_boot)))
        for i, (r, one) in enumerate(zip(replicators, collected, strict=True))
        for size in [piece_size(r)]
        for first in range(0, n_boot, size)
        if not one.done[first : first + size].all()
    ]
    stream = (
        _in_threads(replicators, pieces, threads) if jobs.n_jobs == 1 else _in_joblib(replicators, pieces, jobs.n_jobs)
    )
    try:
        with Counter(jobs.progress, len(replicators) * n_boot, "replicates") as counter:
            counter.add(len(replicators) * n_boot - sum(len(p.indices) for p in pieces))
            for piece, draws in stream:
                one, span = collected[piece.test], slice(piece.indices.start, piece.indices.stop)
                one.statistic[:, span], one.certified[:, span], one.vanished[span] = draws
                counter.add(len(piece.indices))
                store.save(collected)
    except KeyboardInterrupt:
        if not any(one.done.any() for one in collected):
            raise KeyboardInterrupt("interrupted before the first replicate was done: there is no result yet") from None
        store.save(collected, force=True)
        for one in collected:
            one.interrupted = not one.done.all()
            one.kept = store.path
        return collected
    finally:
        stream.close()
    store.save(collected, force=True)
    return collected


def _in_threads(
    replicators: Sequence[Replicator], pieces: Sequence[_Piece], threads: int | None
) -> Generator[tuple[_Piece, Draws], None, None]:
    workers = thread_count(threads)
    if workers == 1:
        for piece in pieces:
            yield piece, replicators[piece.test](piece.indices)
        return
    pool, stop = ThreadPoolExecutor(workers, thread_name_prefix="rumflow-replicates"), Event()
    queue = iter(pieces)
    running: dict[Future[Draws], _Piece] = {}
    try:
        while True:
            for piece in queue:
                running[pool.submit(under(stop, replicators[piece.test].__call__), piece.indices)] = piece
                if len(running) > workers:
                    break
            if not running:
                return
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running.pop(future), future.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _do(replicator: Replicator, piece: _Piece) -> tuple[_Piece, Draws]:
    return piece, replicator(piece.indices)


def _in_joblib(
    replicators: Sequence[Replicator], pieces: Sequence[_Piece], n_jobs: int
) -> Generator[tuple[_Piece, Draws], None, None]:
    try:
        joblib: Any = import_module("joblib")
    except ImportError:
        raise InputError("n_jobs: other than 1 needs joblib (pip install joblib); n_jobs=1 runs in threads") from None
    tasks = (joblib.delayed(_do)(replicators[piece.test], piece) for piece in pieces)
    # A generator where the backend has one, so that progress and checkpoints follow the work.
    try:
        stream = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    except (ValueError, NotImplementedError):
        tasks = (joblib.delayed(_do)(replicators[piece.test], piece) for piece in pieces)
        stream = iter(joblib.Parallel(n_jobs=n_jobs)(tasks))
    yield from stream


def piece_size(replicator: Replicator) -> int:
    """Replicates in a piece: about 16 MiB of cells, and some tens of milliseconds where problems are small.

    No more than a second takes, for a piece that is interrupted is lost.
    """
    projector = replicator.sample.projector
    in_a_second = 1.0 / (len(replicator.taus) * projector.cost.seconds)
    return int(np.clip(min((1 << 21) / projector.size, in_a_second), 1, 100))


def _fingerprint(replicators: Sequence[Replicator]) -> str:
    """Tells one set of tests from another: data, options, seed; not the number of replicates."""
    digest = hashlib.sha256()
    for r in replicators:
        s = r.sample
        # The first draw tells the ways of resampling apart.
        first = r.sampler.draw(generators(r.seed, r.key, [0]), r.centres[0])
        digest.update(s.menus.tobytes())
        for array in (s.unit_menu, s.unit_group, s.sizes, s.unit, s.item, s.frequency, s.weights, r.centres, first):
            digest.update(np.ascontiguousarray(np.round(array, 9)).tobytes())
        digest.update(repr((r.taus, r.seed, r.key, s.scale, s.convention)).encode())
    return digest.hexdigest()
