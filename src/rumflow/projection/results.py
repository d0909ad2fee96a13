"""`Projection`: what every fit offers, on any route: certificate, fitted probabilities, mixture, derivatives, scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.check import check_whole
from rumflow.core.arrays import Array, Ints, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.graph_cells import Cells
from rumflow.core.lattice import Lattice, items_of
from rumflow.core.membership import inside_tolerance
from rumflow.core.menus import Menus
from rumflow.core.paths import orders_from_paths, sample
from rumflow.core.seeds import Seed, generator
from rumflow.core.transforms import moebius
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item
from rumflow.data.menus import make_table
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.models.rankings import decided_items
from rumflow.output.files import plain
from rumflow.output.frames import make_frame
from rumflow.output.result import as_texts
from rumflow.output.tables import Table
from rumflow.projection.describe import describe_fit
from rumflow.projection.fitted import Fitted, Rankings
from rumflow.projection.observations import Observations
from rumflow.projection.pack import save
from rumflow.projection.status import Status, status_of
from rumflow.projection.table import fit_table
from rumflow.solvers.derivatives import FaceTangent, InteriorTangent, Tangent, jvp, vjp
from rumflow.solvers.geometry import Fits
from rumflow.solvers.interior.ipm import IpmResult


@dataclass(frozen=True, eq=False, repr=False)
class Projection(Fitted):
    """The nearest point of a model to what was observed, with its certificate.

    On menus that were not observed the fit is what the returned mixture gives; other values fit the data as well.
    `rho` and `flow` (arrays over all menus) are available on the lattice, and for random utility with at most 22 items.

    Attributes
    ----------
    observations : Observations
        What was observed.
    fits : Fits
        The stack of solutions that this one belongs to.
    index : int
        The number of this problem in its stack.
    tol : float
        The tolerance that was asked for.
    seconds : float
        Time taken.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> fit = rf.project(data)
    >>> fit.fitted.round(3)
    array([[0.386, 0.614,   nan],
           [0.386, 0.357, 0.257]])
    >>> round(fit.distance, 3), fit.gap <= 1e-9 * fit.objective
    (0.185, True)
    """

    _named = (
        "items", "distance", "lower_distance", "objective", "gap", "inside", "complete", "weighted", "method", "iterations",
        "tol", "interrupted", "seconds",
    )  # fmt: skip
    _listed = "cells"

    observations: Observations
    fits: Fits = field(repr=False)
    index: int
    tol: float
    seconds: float

    @property
    def geometry(self) -> Any:
        """The model on the observed menus, with the weights."""
        return self.fits.geometry

    @property
    def model(self) -> Model:
        """The model that was projected onto."""
        return self.fits.geometry.model  # type: ignore[no-any-return]

    @property
    def certificate(self) -> Certificate:
        """The certificate, computed from the result and the data, not by the solver."""
        return self.fits.certificates[self.index]

    @property
    def status(self) -> Status:
        """How the projection ended."""
        return status_of(self.certificate, self.tol, self.fits.reasons[self.index])

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search; the status may be "optimal" all the same, if the last point happens to be."""
        return self.fits.reasons[self.index] == "interrupted"

    @property
    def method(self) -> str:
        """The method used, "rankings", "ipm", "moebius" (the data are RUM), "graph", "bounded" or "inequalities"."""
        return self.fits.methods[self.index]

    @property
    def iterations(self) -> int:
        """Passes over the lattice or the graph, steps (ipm), or searches for cycles (inequalities)."""
        return int(self.fits.rounds[self.index])

    @property
    def inside(self) -> bool:
        """Whether the data satisfy the model, up to rounding and menu sums other than 1."""
        return self.method == "moebius" or self.certificate.is_rum

    @property
    def items(self) -> tuple[Item, ...]:
        """The labels of the items."""
        return self.observations.items

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.observations.items)

    @property
    def objective(self) -> float:
        """1/2 sum w (rho - rho_hat)^2."""
        return self.certificate.objective

    @property
    def distance(self) -> float:
        """The weighted L2 distance of the data to the model, sqrt(2 objective)."""
        return float(np.sqrt(2 * self.objective))

    @property
    def lower_distance(self) -> float:
        """The certified lower bound of the distance, equal to `distance` where the status is "optimal"."""
        if self.status is Status.OPTIMAL:
            return self.distance
        return float(np.sqrt(2 * max(self.objective - self.gap, 0.0)))

    @property
    def gap(self) -> float:
        """The certified gap, an upper bound of objective - optimum."""
        return self.certificate.gap

    @property
    def complete(self) -> bool:
        """Whether every cell of every menu was observed."""
        return bool(self.geometry.complete)

    @property
    def weighted(self) -> bool:
        """Whether some observed cells count more than others."""
        return not set(np.unique(self.geometry.weights)) <= {0.0, 1.0}

    @property
    def membership(self) -> Mask:
        """(m, n): the observed menus, as rows of truth values."""
        return self.observations.membership

    @property
    def frequencies(self) -> Array:
        """(m, n): the data on the observed menus, NaN on what was not recorded."""
        return self.observations.frequencies

    @property
    def menus(self) -> list[tuple[Item, ...]]:
        """The observed menus, as tuples of labels."""
        return self._offered.labels(self.items)

    @property
    def observed(self) -> Array:
        """(2^n, n): the data over all menus; NaN where not observed, 0 outside the menu. Available where `rho` is."""
        self._flow  # noqa: B018  # an error where there is none
        return self.observations.over_all_menus()

    @property
    def _offered(self) -> Menus:
        return self.observations.menus

    @cached_property
    def fitted_cells(self) -> Array:
        """`fitted` without what is outside the menus: one number per cell, menu after menu, in each the items in their order."""
        if self.geometry.has_all_menus:
            return self.rho[self.observations.masks[self._offered.menu], self._offered.item]
        return self._by_cell(self.fits.rho[self.index], 1.0)

    @cached_property
    def cell_weights(self) -> Array:
        """(m, n): the weights of the observed cells, 0 elsewhere."""
        weights = self.geometry.weights
        if not self.geometry.has_all_menus:
            return np.nan_to_num(self._spread(weights, 1.0))
        if not len(weights):
            return self.membership.astype(np.float64)
        own: Array = Lattice(self.n).from_internal(weights)[self.observations.masks]
        own[self.membership.sum(axis=1) == 1] = 1.0  # no choice, and no weight that matters
        return np.where(self.membership, own, 0.0)

    @cached_property
    def mixture(self) -> Mixture:
        """Types in the form of the geometry, and their weights. One mixture among many with these probabilities."""
        return self.fits.mixture(self.index)

    @cached_property
    def types(self) -> Ints:
        """(k, m): the item each type takes from each observed menu, heaviest type first; -1 for one that was not recorded."""
        types, weights = self.mixture
        found = np.empty((len(types), len(self._offered)), np.int64)
        found[:] = self._offered.item[self._offered.start[:-1]]
        rows = np.flatnonzero(self._offered.sizes > 1)
        if len(rows):
            cells = (
                Cells(self.membership[rows], None, self.items) if self.geometry.has_all_menus else self.geometry.cells
            )
            found[:, rows] = cells.items_of_types(self.geometry.choices(types, cells))
        return found[np.argsort(-weights, kind="stable")]

    @property
    def _flow(self) -> Array:
        return self.fits.flow(self.index)

    def _rho(self) -> Array:
        return self.fits.rho_of(self.index)

    @property
    def interior(self) -> IpmResult | None:
        """The last point of the interior point method, with its trace; None where it was not used."""
        solved = getattr(self.fits, "solved", {}).get(self.index)
        return None if solved is None else solved.interior

    def sample(self, size: int, seed: Seed = None, *, rng: Seed = None) -> NDArray[np.int64]:
        """Draw rankings from the fit.

        Parameters
        ----------
        size : int
            How many.
        seed, rng : int or numpy.random.Generator, optional
            None draws one. Two names of the same: give one.

        Returns
        -------
        ndarray of shape (size, n)
            Rows of item numbers, best first.
        """
        size = check_whole(size, "size")
        rng = generator(seed, rng)
        if self.geometry.has_all_menus:
            return orders_from_paths(sample(self._flow, size, rng))
        share = self.rankings.weights / self.rankings.weights.sum()
        drawn: NDArray[np.int64] = self.rankings.orders[rng.choice(len(share), size, p=share)]
        return drawn

    def misfits(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float, float]]:
        """List the observed cells furthest from the fit, worst first: menu, item, observed, fitted.

        Parameters
        ----------
        count : int, optional
            The largest number to list; None: all.

        Returns
        -------
        list of tuples
        """
        menus, observed, fitted = self._offered, self.observations.shares, self.fitted_cells
        difference = np.abs(np.nan_to_num(observed - fitted))
        order = np.argsort(-difference, kind="stable")[:count]
        return [
            (
                menus.labels_of(menus.menu[c], self.items),
                self.items[menus.item[c]],
                float(observed[c]),
                float(fitted[c]),
            )
            for c in order[difference[order] > 0].tolist()
        ]

    @cached_property
    def decided(self) -> Ints:
        """(k,): how many items at the top of each ranking matter for an observed menu; the others could be swapped."""
        return decided_items(self.rankings.orders, self._offered)

    def heaviest(self, count: int) -> tuple[Rankings, Ints, int]:
        """Return the heaviest of the `rankings`, without making all of them.

        Menus without a common item may have as many rankings as there are menus.

        Parameters
        ----------
        count : int
            How many.

        Returns
        -------
        rankings : Rankings
            Those with the largest shares.
        decided : ndarray of int, shape (count,)
            How many items at the top of each matter, as `decided`.
        number : int
            How many `rankings` there are in all.

        Examples
        --------
        >>> import rumflow as rf
        >>> fit = rf.project(rf.simulate.dirichlet(3, seed=0))
        >>> rankings, decided, number = fit.heaviest(2)
        >>> len(rankings.weights), number == len(fit.rankings.weights)
        (2, True)
        """
        (types, weights), number = self.fits.heaviest(self.index, check_whole(count, "count", 1))
        orders = self.geometry.orders(types)
        return Rankings(orders, weights, self.items), decided_items(orders, self._offered), number

    def violations(self, count: int | None = None) -> list[tuple[tuple[Item, ...], Item, float]]:
        """List the Block-Marschak inequalities that complete data violate, worst first: menu, item, value.

        Parameters
        ----------
        count : int, optional
            The largest number to list; None: all.

        Returns
        -------
        list of tuples

        Raises
        ------
        InputError
            If the data are incomplete.
        """
        if not self.complete:
            raise InputError(
                "the Block-Marschak polynomials need every menu, and these data are incomplete; see fit.misfits()"
            )
        values = Lattice(self.n).from_internal(moebius(self.fits.targets[self.index].copy()))
        worst = np.argsort(values, axis=None, kind="stable")[:count]
        found = []
        for mask, x in zip(*np.unravel_index(worst, values.shape), strict=True):
            if values[mask, x] >= -inside_tolerance(self.n):
                break
            found.append((tuple(self.items[y] for y in items_of(mask)), self.items[x], float(values[mask, x])))
        return found

    @cached_property
    def _tangent(self) -> Tangent:
        if self.geometry.cone:
            raise InputError("derivatives are those of the projection onto RUM; this fit was projected onto the cone")
        if not self.geometry.exact:
            raise InputError(
                "jvp and vjp need the face of the optimum, but route='bounded' gives only bounds on the distance"
            )
        if self.interior is not None and not self.inside:
            return InteriorTangent(self.interior)
        if self.method == "ipm" and not self.inside:
            raise InputError(
                "this fit was loaded from a file, which does not hold what the derivatives of the interior point method need: "
                "project the data again, with method='rankings' or start=fit"
            )
        return FaceTangent(self.geometry, self.fits.faces.row(self.index))

    def jvp(self, t: ArrayLike) -> Array:
        """Multiply the Jacobian of the projection by t: the change of the fit when the data move by t.

        Parameters
        ----------
        t : array_like
            Over all menus, (2^n, n), on the lattice; otherwise shaped like `frequencies`, (m, n).

        Returns
        -------
        ndarray
            Of the shape of `t`.

        Notes
        -----
        The Jacobian is the w-orthogonal projector onto the tangent space of the face of the fit; where strict
        complementarity fails it is one element of the generalised Jacobian. After the interior point method it is that of
        the last point on the central path, which tends to the same as the gap closes.
        """
        tangent = self._tangent  # with its check, before anything is made
        return self._from_layout(jvp(tangent, self.geometry.weights, self._to_layout(t)[None])[0])

    def vjp(self, g: ArrayLike) -> Array:
        """Multiply the transposed Jacobian by g: the gradient by the data, given the gradient g by the fit.

        Parameters
        ----------
        g : array_like
            Of the shape that `jvp` takes.

        Returns
        -------
        ndarray
            Of the shape of `g`.
        """
        tangent = self._tangent
        return self._from_layout(vjp(tangent, self.geometry.weights, self._to_layout(g)[None])[0])

    def _to_layout(self, array: ArrayLike) -> Array:
        if self.geometry.has_all_menus:
            return Lattice(self.n).to_internal(array)
        values = np.asarray(array, np.float64)
        if values.shape != self.membership.shape:
            raise InputError(
                f"an array of shape {self.membership.shape} like `frequencies` is needed, not {values.shape}"
            )
        table: Array = self.geometry.cells.to_table(np.nan_to_num(values[self.observations.rows]))
        return table

    def _from_layout(self, values: Array) -> Array:
        return Lattice(self.n).from_internal(values) if self.geometry.has_all_menus else self._spread(values, 0.0)

    def _by_cell(self, table: Array, single: float) -> Array:
        """(cells,): the values of a table, and `single` in menus of one item, which tables do not have."""
        values = np.full(len(self._offered.item), single)
        values[self._offered.sizes[self._offered.menu] > 1] = self.geometry.cells.to_cells(table)
        return values

    def _spread(self, table: Array, single: float) -> Array:
        """The same as an (m, n) array."""
        return make_table(self._offered, self._by_cell(table, single), np.nan)

    def to_frame(  # type: ignore[override]  # beside `backend` it takes what its rows are
        self, data: ChoiceData | None = None, menus: str = "all", backend: str = "pandas"
    ) -> Any:
        """Return a data frame of menus, items, observed and fitted probabilities.

        Parameters
        ----------
        data : ChoiceData, optional
            Adds a column `count`; its items must be those of the fit, in the same order.
        menus : {"all", "observed"}, default "all"
            On the lattice: every menu of two items or more, or only those with data. On a graph: the observed menus.
        backend : {"pandas", "polars", "pyarrow", "dict"}, default "pandas"
            The kind of data frame.

        Returns
        -------
        data frame
            Columns menu_mask, menu, item, observed (None where not observed), fitted, flow on the lattice; menu_id, menu,
            item, observed, fitted on a graph.
        """
        return make_frame(as_texts(fit_table(self, data, menus)), backend)

    @property
    def table(self) -> dict[str, list[Any]]:
        """Observed and fitted probabilities: the columns of `to_frame`, of the observed menus."""
        return fit_table(self, menus="observed")

    def parts(self, top: int = 8) -> list[str | Table]:
        """Return the paragraphs and tables of the summary.

        Parameters
        ----------
        top : int, default 8
            The largest number of rows of a table.

        Returns
        -------
        list of str and Table
        """
        return describe_fit(self, top)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists, texts and numbers, for JSON; None for numbers that JSON does not have."""
        found = super().to_dict() | {"model": self.model.name, "status": str(self.status)}
        found["rankings"] = self.rankings.to_dict()["rankings"] if self.model.types_are_rankings else None
        found["certificate"] = plain(self.certificate._asdict())
        return found

    def save(self, path: str | Path) -> None:
        """Write the fit with its data, model and certificate to one file, which `rumflow.load` reads.

        Parameters
        ----------
        path : str or Path
            The file to write.
        """
        save(self, path)

    def plot(self, ax: Any = None) -> Any:
        """Plot observed against fitted probabilities; `rumflow.output.plots` has more pictures.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib Axes
        """
        from rumflow.output.plots import plot_fit

        return plot_fit(self, ax)

    def __repr__(self) -> str:
        return (
            f"Projection(n={self.n}, distance={self.distance:.6g}, objective={self.objective:.6g}, "
            f"gap={self.gap:.2g}, status={self.status.value!r}, method={self.method!r}, seconds={self.seconds:.2g})"
        )
