"""Solved stacks: what is kept of each problem, how it is laid out, and how pieces of a stack share it.

Problems keep different numbers of rankings. While a stack is solved they lie one after another, piece by piece (`Start`); for
the derivatives they are padded to one length (`Faces`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.problem import Stop
from rumflow.core.threads import run_threads
from rumflow.core.transforms import zeta
from rumflow.solvers.batch.kernels import FACE, INSIDE, Keep, Start, pack_piece
from rumflow.solvers.dispatch import Solved

#: Factors of more bytes than this in all are not kept for the derivatives but computed again.
_FACTOR_BYTES = 1 << 30


def keeps_factors(size: int, length: int) -> bool:
    """Is there memory for the factors of so many problems?"""
    return 8 * size * length <= _FACTOR_BYTES


class Faces(NamedTuple):
    """The active rankings of each problem, padded to a common length K."""

    kind: Ints  # (B,): INSIDE or FACE
    atoms: Ints  # (B,): rankings in use
    paths: NDArray[np.int32]  # (B, K, n)
    factor: Array  # (B, K (K + 1) / 2), factor or inverse; or (B, 0): to be computed again

    @staticmethod
    def joined(faces: Sequence[Faces]) -> Faces:
        """Several of them as one stack."""
        parts = [Start(one.paths[0], np.empty(0), one.factor[0]) for one in faces]
        count = np.array([int(one.atoms[0]) for one in faces])
        n = faces[0].paths.shape[2] if faces else 0
        return _pack(
            np.array([int(one.kind[0]) for one in faces]), count, [(range(len(faces)), concatenate(parts, n))], n, 1
        )


@dataclass
class BatchResult:
    """A solved stack."""

    flows: Array  # (B, n, 2^(n-1))
    rhos: Array
    kind: Ints  # (B,): INSIDE (the data are RUM once their menus add up to 1) or FACE
    count: Ints  # (B,): rankings kept
    rounds: Ints
    stalled: Mask  # (B,): not known to be solved
    interrupted: Mask  # (B,): not begun when Ctrl-C came
    certificates: NDArray[np.object_]  # (B,) of Certificate, or None where none was asked for
    pieces: list[range]
    kept: dict[int, Start]  # the rankings of each piece, one problem after another

    @property
    def inside(self) -> Mask:
        """(B,): the data are RUM once their menus add up to 1."""
        inside: Mask = self.kind == INSIDE
        return inside

    def starts(self) -> list[Start]:
        """The active set of each problem."""
        n = self.flows.shape[1]
        found = []
        for piece in self.pieces:
            kept = self.kept.get(piece.start)
            found += split(self.count[piece.start : piece.stop], no_start(n) if kept is None else kept)
        return found

    def faces(self, threads: int) -> Faces:
        """The active sets, padded to one length."""
        pieces = [(piece, self.kept[piece.start]) for piece in self.pieces]
        return _pack(self.kind, self.count, pieces, self.flows.shape[1], threads)


class Part:
    """A piece of a stack, and its share of the result."""

    def __init__(
        self,
        result: BatchResult,
        targets: Array,
        span: slice,
        starts: Sequence[Start | None] | None,
        stop: Stop,
        keep: Keep,
        certify: bool,
    ) -> None:
        self.result, self.span, self.starts, self.stop, self.keep, self.certify = (
            result,
            span,
            starts,
            stop,
            keep,
            certify,
        )
        self.targets, self.flows, self.rhos = targets[span], result.flows[span], result.rhos[span]
        self.kind, self.count, self.rounds = result.kind[span], result.count[span], result.rounds[span]
        self.stalled = result.stalled[span]
        self.certificates = result.certificates[span]

    def __len__(self) -> int:
        return len(self.targets)

    def put(self, i: int, solved: Solved) -> None:
        """What the dispatcher found for problem i."""
        self.flows[i], self.rhos[i] = solved.flow, zeta(solved.flow.copy(), 1)
        inside = solved.method == "moebius" or solved.certificate.is_rum
        self.kind[i], self.rounds[i] = INSIDE if inside else FACE, solved.iterations
        self.certificates[i] = solved.certificate
        self.stalled[i] = not solved.certificate.is_optimal(self.stop)


def _pack(kind: Ints, count: Ints, pieces: Sequence[tuple[range, Start]], n: int, threads: int) -> Faces:
    """From problems stored one after another to one row per problem."""
    size, most = len(count), int(count.max(initial=0))
    length = most * (most + 1) // 2
    paths = np.empty((size, most, n), np.int32)
    factor = np.empty((size, length if keeps_factors(size, length) else 0))

    def task(piece: tuple[range, Start]) -> None:
        span = slice(piece[0].start, piece[0].stop)
        pack_piece(piece[1], count[span], paths[span], factor[span])

    run_threads(task, pieces, threads)
    return Faces(kind, count, paths, factor)


def no_start(n: int) -> Start:
    """No rankings."""
    return Start(np.empty((0, n), np.int32), np.empty(0), np.empty(0))


def concatenate(starts: Sequence[Start], n: int) -> Start:
    """Several starts, one after another."""
    if len(starts) == 1:
        return starts[0]
    return Start(*(np.concatenate(part) for part in zip(*(starts or [no_start(n)]), strict=True)))


def join(starts: Sequence[Start | None] | None, size: int, n: int) -> tuple[Ints, Start]:
    """Starts one after another, and where each begins: among the rankings and in the factors."""
    begin = np.zeros((size + 1, 2), np.int64)
    given = [] if starts is None else [(i, start) for i, start in enumerate(starts) if start is not None]
    if not given:
        return begin, no_start(n)
    for i, start in given:
        begin[i + 1] = len(start.weights), len(start.factor)
    np.cumsum(begin, axis=0, out=begin)
    return begin, concatenate([start for _, start in given], n)


def split(count: Ints, flat: Start) -> list[Start]:
    """What lies one after another, problem by problem."""
    starts = []
    at = there = 0
    for k in count.tolist():
        end, stop = min(at + k, len(flat.weights)), min(there + k * (k + 1) // 2, len(flat.factor))
        starts.append(Start(flat.paths[at:end].copy(), flat.weights[at:end].copy(), flat.factor[there:stop].copy()))
        at, there = end, stop
    return starts
