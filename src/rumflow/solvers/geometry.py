"""What can be projected onto: one protocol for the lattice of all menus, choice graphs, and bounds by search.

A *geometry* is a model on given menus, with weights: the polytope, and the norm in which distances to it are measured. Each holds
numbers per cell in a layout of its own, arrays of `shape`, and `positions` says where a cell is in the flattened layout. Callers
ask for the route only to say it to the user.

    lattice   (n, 2^(n-1)): row = item, column = menu without that item's bit; types are rankings as paths
    graph     (menus, width): the tables of `rumflow.core.graph_cells.Cells`; types are rows of columns
    bounded   as the graph, with bounds in place of exact gaps
    inequalities   pairs, (menus, 2): as the graph, but there are no types

A stack of B problems is an array (B, *shape), and `solve` returns its `Fits`; one problem is a stack of one.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask, Mixture, Paths
from rumflow.core.certificate import Certificate
from rumflow.core.graph_cells import Cells
from rumflow.core.problem import Stop
from rumflow.core.transforms import zeta
from rumflow.models.model import Model
from rumflow.output.names import name_seconds
from rumflow.output.result import Result
from rumflow.output.tables import Table
from rumflow.solvers.resources import ONE_THREAD, Resources

#: Stop when the gap is within this share of the objective, where the caller says nothing.
DEFAULT_TOL = 1e-12
#: A problem whose gap is below this share of its objective is accepted without a warning.
ACCEPTED = Stop(1e-8)

#: Why a solve can end early.
ENDED = ("max_seconds", "interrupted")

#: Factors of more bytes than this in all are not kept for the derivatives but computed again.
_FACTOR_BYTES = 1 << 30


class _Cost(NamedTuple):
    route: str  # "lattice", "graph", "bounded" or "inequalities"
    nodes: int  # 0 where there is no graph
    arcs: int
    bytes: int
    seconds: float  # of one thread; NaN where it cannot be said
    note: str = ""  # why not: then nodes, arcs and bytes are those of the part of the graph that was built


class Cost(Result, _Cost):
    """What a projection will cost."""

    __slots__ = ()

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row: route, nodes, arcs, bytes, seconds."""
        return {name: [value] for name, value in self._asdict().items()}

    def parts(self) -> list[str | Table]:
        """Return a sentence."""
        if self.route == "bounded":
            return [f"Route bounded: rankings by search, and bounds, in about {name_seconds(self.seconds)} or more."]
        return [
            f"Route {self.route}: {self.nodes:,} nodes, {self.arcs:,} arcs, {self.bytes / 1e6:,.0f} MB, about "
            f"{name_seconds(self.seconds)}."
        ]


class Keep(IntEnum):
    """What is kept of each problem of a stack."""

    NOTHING = 0
    MIXTURES = 1
    FACES = 2  # types that span the face, and their inverses or factors


class SolveOptions(NamedTuple):
    """What is asked of a solve beside its accuracy. A geometry leaves alone what does not concern it."""

    keep: Keep = Keep.NOTHING
    certify: bool = True  # every problem; without, only those that the solver itself calls unsolved
    partial: bool = False  # after Ctrl-C return what there is, marked "interrupted", instead of raising
    begin: bool = True  # False: Ctrl-C came before, and nothing is solved
    method: str = "auto"  # on the lattice: one of `rumflow.solvers.dispatch.METHODS`
    seed: int = 0  # of the search for bounds
    lower: float = 0.0  # a lower bound of the optimum that is known already
    leave_large: bool = (
        False  # on the lattice: problems whose active set outgrows its use end as "too_large", for others
    )
    only_upper: bool = False  # where there are only bounds: find a mixture, and leave its gap at the objective


DEFAULT_OPTIONS = SolveOptions()

#: Of fits that more is made of: their mixtures are kept, and Ctrl-C raises, even at the optimum, so that nothing goes on.
FIT_OPTIONS = SolveOptions(keep=Keep.MIXTURES)

#: Of fits that are the answer: Ctrl-C leaves what there is.
USER_OPTIONS = FIT_OPTIONS._replace(partial=True)


class Faces(NamedTuple):
    """What the derivatives of a stack need: types that span the face of each problem, and the factor of their matrix.

    Problems differ in their numbers of types, so these lie one after another, and rows of `counts` end with the places where
    their own begin. Rows may share them: a problem that appears twice is stored once.
    """

    counts: (
        Ints  # (B, c + 2): how many types, what else the geometry has to count; first number in `types`, in `factor`
    )
    types: NDArray[np.int32]  # (T,)
    factor: Array  # (F,)

    @classmethod
    def gather(cls, counts: Ints, types: Sequence[NDArray[np.int32]], factors: Sequence[Array]) -> Faces:
        """From the arrays of each problem; factors that take too much memory in all are left out (`NO_FACTOR`)."""
        places = np.zeros((len(counts), 2), np.int64)
        places[1:, 0] = np.cumsum([len(own) for own in types])[:-1]
        places[1:, 1] = np.cumsum([len(own) for own in factors])[:-1]
        kept = keeps_factors(sum(map(len, factors)))
        if not kept:
            places[:, 1] = NO_FACTOR
        return cls(
            np.concatenate([counts, places], axis=1),
            np.concatenate([*types, np.empty(0, np.int32)]).astype(np.int32, copy=False),
            np.concatenate([*factors, np.empty(0)]) if kept else np.empty(0),
        )

    def row(self, i: int) -> Faces:
        """Those of one problem, as a stack of one."""
        return self._replace(counts=self.counts[i : i + 1])

    def repeat(self, size: int) -> Faces:
        """The rows again and again, up to `size`: several directions for each problem."""
        count = len(self.counts)
        return self if count == size else self._replace(counts=np.tile(self.counts, (size // max(count, 1), 1)))

    def replace(self, own: Ints, rows: Faces) -> Faces:
        """The rows `own` replaced by others."""
        counts, new = self.counts.copy(), rows.counts.copy()
        new[:, -2] += len(self.types)
        new[:, -1] += np.where(new[:, -1] >= 0, len(self.factor), 0)
        counts[own] = new
        return Faces(counts, np.concatenate([self.types, rows.types]), np.concatenate([self.factor, rows.factor]))


#: In place of where a factor begins: it is to be computed again.
NO_FACTOR = -1


def keeps_factors(length: int) -> bool:
    """Is there memory for factors of so many numbers in all?"""
    return 8 * length <= _FACTOR_BYTES


class Geometry(ABC):
    """A model on given menus, with weights."""

    route: str
    exact: bool  # the price of the cheapest type is known, not only bounded
    has_all_menus: bool  # the layout has every menu of the items
    complete = False  # every cell of every menu of the items counts, on the simplex
    keep_to_start: Keep  # what has to be kept of a stack for `Fits.starts`
    model: Model
    cone: bool  # mixtures of any total instead of 1
    weights: Array  # in the layout; no rows: every cell counts 1

    shape: Any  # the layout of one problem, two numbers
    n_nodes: Any  # a whole number; 0 where there is no graph
    n_arcs: Any  # likewise, or what stands for arcs: what a pass costs

    @abstractmethod
    def weighted(self, weights: Array) -> Self:
        """The same with other weights."""

    @abstractmethod
    def blank(self, single: float) -> Array:
        """A layout of zeros, with this number on the cells of menus of one item, where the layout has them."""

    @abstractmethod
    def positions(self, menu: Ints, item: Ints, cells: Cells) -> Ints:
        """Where cells, given by the row of their menu in `cells` and their item, are in the flattened layout."""

    @abstractmethod
    def solve(
        self,
        targets: Array,
        stop: Stop,
        *,
        starts: Sequence[Any] | None = None,
        options: SolveOptions = DEFAULT_OPTIONS,
        resources: Resources = ONE_THREAD,
    ) -> Fits:
        """Project a stack.

        Parameters
        ----------
        targets : (B, *shape)
        starts : a mixture, or None, for each problem; or what the geometry itself has kept of an earlier stack.
        """

    @abstractmethod
    def certify(self, mixture: Any, target: Array, lower: float | None = None) -> Certificate:
        """The certificate of a mixture, or of what the model has in its place.

        lower   a known bound of the optimum, where there is no exact gap.
        """

    @abstractmethod
    def tangent(
        self, faces: Faces, rows: Array, by_flow: Array | None = None, *, forward: bool, threads: int | None = 1
    ) -> Array:
        """S times each of a stack of vectors, which is used up (`rumflow.solvers.derivatives`).

        by_flow   gradients by the flow beside those by the probabilities, on the lattice; they become changes of the flow.
        """

    def inner_point(self) -> Array:
        """Probabilities in the relative interior of the model, in the layout."""
        return self.rho(self.middle())

    # What models without types do not have raises the same error everywhere.

    def orders(self, types: Paths) -> Ints:
        """(k, n): a ranking for each type; an InputError where types are no rankings."""
        raise self.model.no_types()

    def choices(self, types: Paths, cells: Cells) -> Ints:
        """(k, m): the column of `cells` that each type takes from each menu."""
        raise self.model.no_types()

    def cheapest(self, cost: Array) -> float:
        """The price of the cheapest type, computed as certificates do; `cost` may be used up."""
        raise self.model.no_types()

    def cheapest_type(self, cost: Array) -> Paths:
        """The cheapest type itself; `cost` may be used up."""
        raise self.model.no_types()

    # A point of the model that need not be a mixture of few types: where the likelihood is maximised. Models without types
    # have none of these, either.

    def middle(self) -> Any:
        """The inner point."""
        raise self.model.no_types()

    def point(self, fits: Any) -> Any:
        """The first fit of a stack as a point."""
        raise self.model.no_types()

    def point_of(self, mixture: Mixture) -> Any:
        """A mixture as a point."""
        raise self.model.no_types()

    def blend(self, a: Any, b: Any, step: float) -> Any:
        """a + step (b - a)."""
        raise self.model.no_types()

    def rho(self, point: Any) -> Array:
        """The probabilities of a point, in the layout."""
        raise self.model.no_types()

    def mixture(self, point: Any) -> Mixture:
        """A point as a mixture."""
        raise self.model.no_types()

    def flow(self, point: Any) -> Array:
        """A point as a flow on the lattice, (n, 2^(n-1)); an InputError where there is none."""
        raise self.model.no_types()


class TableGeometry(Geometry):
    """A model on the tables of `rumflow.core.graph_cells.Cells`, (menus, width)."""

    has_all_menus = False
    cells: Cells

    @abstractmethod
    def _set_weights(self, weights: Array) -> None:
        """Take weights, and forget what was made of others."""

    def weighted(self, weights: Array) -> Self:
        """The same with other weights of cells; nothing is built again."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._set_weights(weights)
        return other

    @property
    def shape(self) -> tuple[int, int]:
        """(menus, width): the shape of tables."""
        return self.cells.shape

    def blank(self, single: float) -> Array:
        """A table of zeros: menus of one item leave no choice."""
        return np.zeros(self.shape)

    def positions(self, menu: Ints, item: Ints, cells: Cells) -> Ints:
        """Where cells are in the flattened tables; item -1 is the remainder."""
        return np.asarray(menu * self.cells.width + cells.columns(menu, item), np.int64)

    def inner_point(self) -> Array:
        """A table in the relative interior: what the model says, else that of `middle`."""
        given = self.model.inner_point(self.cells)
        return super().inner_point() if given is None else given


@dataclass(eq=False)
class Fits(ABC):
    """A solved stack. Certificates, flows and mixtures are made when they are asked for."""

    geometry: Any  # the `Geometry`, with its weights
    targets: Array  # (B, *shape), as they were given
    rounds: Ints  # (B,): passes, or steps of the interior point method
    reasons: list[str]  # "done", "stalled", "bounded", "too_large", or one of `ENDED`
    methods: list[str]  # "rankings", "ipm", "moebius" (the data are RUM), "graph", "bounded" or "inequalities"
    cells: Ints | None = field(default=None, init=False)  # positions that `fitted` reads

    def __len__(self) -> int:
        return len(self.targets)

    @property
    @abstractmethod
    def certificates(self) -> list[Certificate]:
        """One for each problem."""

    @property
    @abstractmethod
    def inside(self) -> Mask:
        """(B,): the data are in the model themselves, up to rounding and menu sums other than 1."""

    @property
    @abstractmethod
    def rho(self) -> Array:
        """(B, *shape): probabilities."""

    @property
    def mixtures(self) -> list[Mixture]:
        """Types and weights as the solver left them, to begin from; empty where the data needed none."""
        raise self.geometry.model.no_types()

    @property
    @abstractmethod
    def starts(self) -> Sequence[tuple[NDArray[Any], ...]]:
        """What the next stack can start from."""

    def mixture(self, i: int) -> Mixture:
        """The fit of problem i as a mixture of types, also where the solver needed none: one among many."""
        return self.mixtures[i]

    def heaviest(self, i: int, count: int) -> tuple[Mixture, int]:
        """The heaviest types of that mixture, in the order of their weights, and how many it has."""
        types, weights = self.mixture(i)
        first = np.argsort(-weights, kind="stable")[:count]
        return (types[first], weights[first]), len(weights)

    def flow(self, i: int) -> Array:
        """The fit of problem i as a flow on the lattice, (n, 2^(n-1)); an InputError where there is none."""
        raise self.geometry.model.no_types()

    def rho_of(self, i: int) -> Array:
        """The probabilities of problem i over all menus, (n, 2^(n-1)); an InputError where there is no flow."""
        return zeta(self.flow(i).copy())

    @property
    @abstractmethod
    def faces(self) -> Faces:
        """What the derivatives need; found when asked for, unless the faces were kept."""

    def warn(self) -> None:
        """Say which problems are not solved to any useful accuracy."""
        late = [i for i, reason in enumerate(self.reasons) if reason == "max_seconds"]
        if late:
            worst = max(late, key=lambda i: self.certificates[i].gap)
            gap = self.certificates[worst].gap
            warnings.warn(
                f"max_seconds: {len(late)} of {len(self)} different samples ended early; they are in the model, with certified "
                f"gaps of at most {gap:.2g}, so ||y - y*||_W <= {gap**0.5:.2g}",
                RuntimeWarning,
                stacklevel=2,
            )
        for i, reason in enumerate(self.reasons):
            if reason not in ("done", "max_seconds") and not (own := self.certificates[i]).is_optimal(ACCEPTED):
                warnings.warn(
                    f"sample {i}: rounding stopped the projection at a certified gap of {own.gap:.2g} "
                    f"(objective {own.objective:.6g}); bring the weights closer together",
                    RuntimeWarning,
                    stacklevel=2,
                )

    @property
    def objective(self) -> Array:
        """(B,): 1/2 sum w (rho - rho_hat)^2."""
        return np.array([c.objective for c in self.certificates])

    @property
    def gap(self) -> Array:
        """(B,): certified, objective - optimum <= gap."""
        return np.array([c.gap for c in self.certificates])

    @property
    def floor(self) -> Array:
        """(B,): a gap below this is rounding."""
        return np.array([c.floor for c in self.certificates])

    def are_optimal(self, stop: Stop) -> Mask:
        """(B,): is the gap small enough? Converged means this, whatever a solver says."""
        return np.array([c.is_optimal(stop) for c in self.certificates], np.bool_)

    @cached_property
    def fitted(self) -> Array:
        """(B, C): fitted probabilities of the projector's cells."""
        assert self.cells is not None
        return np.asarray(self.rho.reshape(len(self), self.rho.shape[1] * self.rho.shape[2])[:, self.cells], np.float64)
