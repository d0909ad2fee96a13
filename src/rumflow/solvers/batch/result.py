"""Solved stacks on the lattice: what is kept of each problem, how it is laid out, and how pieces of a stack share it.

Problems keep different numbers of rankings, which lie one after another: piece by piece while a stack is solved (`Start`), all
together for the derivatives (`Faces`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.paths import decompose
from rumflow.core.problem import Stop
from rumflow.core.transforms import zeta
from rumflow.solvers.batch.kernels import FACE, INSIDE, PATH, Piece, Start
from rumflow.solvers.dispatch import Solved
from rumflow.solvers.geometry import NO_FACTOR, Faces, Fits, Keep, keeps_factors

#: Accuracy of derivatives at a point where the interior point method stopped, relative to their right side.
POINT_ACCURACY = 1e-9

_MOST_ALONE = 128  # problems of few items that one kernel call solves


@dataclass(eq=False)
class LatticeFits(Fits):
    """A solved stack on the lattice. With many items a stack of one has its arrays made when they are asked for."""

    kind: Ints  # (B,): INSIDE (the data are RUM once their menus add up to 1), FACE, LEFT or PATH
    count: Ints  # (B,): rankings kept
    numbers: Array  # (B, 5): those of the certificates (`Certifier.make`), where they were made
    certified: Mask  # (B,): were they?
    keep: Keep
    pieces: list[range] = field(default_factory=list)
    kept: dict[int, Start] = field(default_factory=dict)  # the rankings of each piece, one problem after another
    points: dict[int, NDArray[np.int32]] = field(
        default_factory=dict
    )  # of the central path, for derivatives (`pack_point`)
    solved: dict[int, Solved] = field(default_factory=dict)  # what the dispatcher has found, by problem
    given_flows: Array | None = None  # (B, n, 2^(n-1)); None: those of `solved`
    given_rhos: Array | None = None
    normalised: Array | None = None  # the data with menus that add up to 1, of few items

    @cached_property
    def flows(self) -> Array:
        """(B, n, 2^(n-1)): flows."""
        return self.solved[0].flow[None] if self.given_flows is None else self.given_flows

    @cached_property
    def rho(self) -> Array:
        """(B, n, 2^(n-1)): probabilities."""
        if self.given_rhos is not None:
            return self.given_rhos
        return zeta(self.flows.reshape(-1, self.flows.shape[-1]).copy()).reshape(self.flows.shape)

    def rho_of(self, i: int) -> Array:
        """The probabilities of problem i; the data themselves, with menus that add up to 1, where they are RUM."""
        if self.methods[i] == "moebius":
            data = self.solved[i].rho if i in self.solved else None if self.normalised is None else self.normalised[i]
            if data is not None:
                return data
        own: Array = self.rho[i]
        return own

    @cached_property
    def certificates(self) -> list[Certificate]:
        """One for each problem."""
        certifier = self.geometry.certifier
        return [
            certifier.make(*row) if done else certifier(self.flows[i], self.targets[i])
            for i, (row, done) in enumerate(zip(self.numbers.tolist(), self.certified.tolist(), strict=True))
        ]

    @property
    def objective(self) -> Array:
        """(B,): 1/2 sum w (rho - rho_hat)^2."""
        return self.numbers[:, 0] if self.certified.all() else super().objective

    @property
    def gap(self) -> Array:
        """(B,): objective - optimum <= gap."""
        return self.numbers[:, 1] if self.certified.all() else super().gap

    @property
    def floor(self) -> Array:
        """(B,): a gap below this is rounding."""
        floors: Array = self.geometry.certifier.floors(self.numbers) if self.certified.all() else super().floor
        return floors

    def are_optimal(self, stop: Stop) -> Mask:
        """(B,): is the gap small enough?"""
        if not self.certified.all():
            return super().are_optimal(stop)
        found: Mask = self.geometry.certifier.are_optimal(self.numbers, stop)
        return found

    def keep_certificate(self, i: int, certificate: Certificate) -> None:
        """The certificate of problem i, made elsewhere."""
        self.numbers[i] = (*certificate[:2], *certificate[3:6])
        self.certified[i] = True
        self.__dict__.pop("certificates", None)

    def keep_point(self, i: int, solved: Solved) -> None:
        """Where the interior point method stopped: derivatives are those at this point."""
        if solved.interior is not None and self.kind[i] == FACE:
            system = solved.interior.system
            assert system.tree is not None
            self.kind[i], self.points[i] = PATH, pack_point(np.stack(system.tree[1:]), system.scaling)

    @property
    def inside(self) -> Mask:
        """(B,): the data are RUM once their menus add up to 1."""
        inside: Mask = (self.kind == INSIDE) & (not self.geometry.cone)
        return inside

    @cached_property
    def starts(self) -> list[Start]:
        """The active set of each problem, as far as it was kept."""
        n = self.targets.shape[1]
        found: list[Start] = []
        for piece in self.pieces:
            kept = self.kept.get(piece.start)
            found += split(self.count[piece.start : piece.stop], no_start(n) if kept is None else kept)
        return found

    @cached_property
    def mixtures(self) -> list[Mixture]:
        """Rankings as paths, and weights; empty where the data are RUM, or were solved without rankings."""
        if self.given_flows is None:
            none = no_start(self.targets.shape[1])
            return [self.solved[0].mixture or (none.paths, none.weights)]
        return [(one.paths, one.weights) for one in self.starts]

    def mixture(self, i: int) -> Mixture:
        """The fit of problem i as a mixture, also where the data are RUM: one among many."""
        found = self.mixtures[i]
        return found if len(found[1]) else decompose(self.flows[i])

    def flow(self, i: int) -> Array:
        """The flow of problem i."""
        own: Array = self.flows[i]
        return own

    @cached_property
    def faces(self) -> Faces:
        """Rankings that span the faces, or points of the central path."""
        for i, solved in self.solved.items():
            self.keep_point(i, solved)
        if self.keep is Keep.FACES:
            count, starts = self.count, [self.kept[piece.start] for piece in self.pieces]
        else:
            starts = [self.geometry.faces.find(self, i) for i in range(len(self))]
            count = np.array([len(one.weights) for one in starts], np.int64)
        faces = pack(self.kind, count, starts, self.targets.shape[1])
        return faces.replace(*gather_points(self.points)) if self.points else faces


class Part(NamedTuple):
    """A piece of a stack, and its share of the result."""

    fits: LatticeFits
    span: slice
    targets: Array
    out: Piece
    starts: Sequence[Start | None] | None
    stop: Stop
    certify: bool

    def put(self, i: int, solved: Solved) -> None:
        """What the dispatcher has found for problem i."""
        fits, k = self.fits, self.span.start + i
        inside = solved.method == "moebius" or solved.certificate.is_rum
        self.out.kind[i], self.out.rounds[i] = INSIDE if inside else FACE, solved.iterations
        self.out.stalled[i] = not solved.certificate.is_optimal(self.stop)
        fits.keep_certificate(k, solved.certificate)
        fits.methods[k], fits.solved[k] = solved.method, solved
        fits.reasons[k] = "done" if not self.out.stalled[i] else solved.reason if solved.reason != "done" else "stalled"
        if fits.given_flows is not None and fits.given_rhos is not None:
            fits.given_flows[k], fits.given_rhos[k] = solved.flow, zeta(solved.flow.copy(), 1)
            del fits.solved[k]
            fits.keep_point(k, solved)


def cut_stack(size: int, threads: int, few: bool = True, timed: bool = False) -> list[range]:
    """A stack in pieces: large ones where nobody else could take part, for a kernel call costs as much as small problems do.

    timed   somebody looks at the clock between two pieces.
    """
    step = max(1, min(_MOST_ALONE, size)) if few and threads == 1 else max(1, min(32, size // (8 * threads)))
    step = 1 if few and timed else step
    return [range(i, min(i + step, size)) for i in range(0, size, step)]


def pack(kind: Ints, count: Ints, starts: Sequence[Start], n: int) -> Faces:
    """The faces of problems whose rankings lie one after another."""
    counts = np.empty((len(count), 4), np.int64)
    counts[:, 0], counts[:, 1] = kind, count
    counts[:1, 2:] = 0
    if len(count) > 1:
        before = count[:-1]
        counts[1:, 2], counts[1:, 3] = n * before.cumsum(), (before * (before + 1) // 2).cumsum()
    kept = keeps_factors(sum(len(start.factor) for start in starts))
    if not kept:
        counts[:, 3] = NO_FACTOR
    every = concatenate(starts, n)
    return Faces(counts, every.paths.reshape(-1), every.factor if kept else np.empty(0))


def pack_point(tree: NDArray[np.int32], scaling: Array) -> NDArray[np.int32]:
    """A point of the central path: the order, parents and edges of a spanning tree, then the bits of D^{-1/2}."""
    radius = np.ascontiguousarray(1.0 / np.sqrt(scaling)).reshape(-1)
    return np.concatenate([tree.reshape(-1), radius.view(np.int32)])


def gather_points(points: dict[int, NDArray[np.int32]], accuracy: float = POINT_ACCURACY) -> tuple[Ints, Faces]:
    """Which problems are at points of the central path, and their rows among `Faces`: derivatives up to an accuracy."""
    counts = np.full((len(points), 2), PATH, np.int64)
    counts[:, 1] = np.array([accuracy]).view(np.int64)
    return np.array(list(points), np.int64), Faces.gather(counts, list(points.values()), [np.empty(0)] * len(points))


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
