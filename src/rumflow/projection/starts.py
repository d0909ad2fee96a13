"""Where projections begin: earlier fits, their rankings or mixtures, checked and as types of a geometry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Ints, Mixture
from rumflow.core.lattice import Lattice
from rumflow.core.paths import orders_from_paths, paths_from_orders
from rumflow.errors import InputError
from rumflow.projection.batch_results import ProjectionBatch
from rumflow.projection.fitted import Rankings
from rumflow.projection.results import Projection
from rumflow.solvers.batch.kernels import Start
from rumflow.solvers.geometry import Geometry


def rankings_of(start: Rankings | Projection, n: int) -> tuple[Ints, Array]:
    """The rankings of an earlier fit and their shares, checked."""
    given = start.rankings if isinstance(start, Projection) else start
    if not hasattr(given, "orders") or not hasattr(given, "weights"):
        raise InputError(f"start: an earlier fit or its rankings are needed, not {type(start).__name__}")
    orders, weights = np.asarray(given.orders), np.asarray(given.weights, np.float64)
    if orders.ndim != 2 or orders.shape[1] != n or len(orders) != len(weights) or len(weights) == 0:
        raise InputError(
            f"start: orders of shape (k, {n}) and k weights are needed, k >= 1; got {orders.shape}, {weights.shape}"
        )
    if not (np.sort(orders, axis=1) == np.arange(n)).all():
        raise InputError(f"start: every ranking must hold each of the items 0 to {n - 1} once")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise InputError("start: the weights must be 0 or more, and not all 0")
    keep = weights > 0
    return orders[keep].astype(np.int64), weights[keep] / weights.sum()


def mixture_of(start: Rankings | Projection, geometry: Geometry) -> Any:
    """An earlier fit as types of a geometry, all of them types of its model; where that has none, its cycles and multipliers."""
    if not geometry.model.has_types:
        same = isinstance(start, Projection) and _same_cells(start, geometry) and start.model == geometry.model
        if not isinstance(start, Projection) or not same or not np.array_equal(start.geometry.used, geometry.used):  # type: ignore[attr-defined]
            raise InputError(f"start: an earlier fit of the same pairs onto {geometry.model!r} is needed")
        return start.fits.starts[start.index]
    if geometry.has_all_menus:
        orders, shares = rankings_of(start, geometry.shape[0])
        return paths_from_orders(orders), shares
    cells = geometry.cells  # type: ignore[attr-defined]
    if _same_cells(start, geometry):
        assert isinstance(start, Projection)
        types, weights = start.mixture  # also of models whose types are no rankings
        if start.model is geometry.model:
            return types, weights
    else:
        orders, shares = rankings_of(start, cells.n_items)
        types, place = np.unique(cells.types_of_orders(orders), axis=0, return_inverse=True)
        weights = np.bincount(place.reshape(-1), shares).astype(np.float64)
    types = np.ascontiguousarray(types, np.int32)
    foreign = 0 if geometry.model.all_rankings else geometry.count_foreign(types)  # type: ignore[attr-defined]
    if foreign:
        raise InputError(f"start: {foreign} of its {len(types)} types are not possible in {geometry.model!r}")
    return types, weights


def _same_cells(start: Rankings | Projection, geometry: Geometry) -> bool:
    if not isinstance(start, Projection) or start.geometry.has_all_menus or geometry.has_all_menus:
        return False
    return bool(start.geometry.cells.same(geometry.cells))  # type: ignore[attr-defined]


def known_bound(start: Rankings | Projection, geometry: Geometry, target: Array) -> float:
    """The lower bound of the objective that an earlier fit of the same data has certified."""
    if not (_same_cells(start, geometry) and isinstance(start, Projection) and start.model == geometry.model):
        return 0.0
    same = np.array_equal(start.fits.targets[start.index], target)
    same = same and np.array_equal(start.geometry.weights, geometry.weights)
    return max(start.objective - start.gap, 0.0) if same else 0.0


def stack_starts(
    start: ProjectionBatch | Projection | Sequence[Mixture | None] | None, count: int, lattice: Lattice
) -> list[Start | None] | None:
    """Where each problem of a stack over all menus begins; None: nowhere in particular."""
    if start is None:
        return None
    if isinstance(start, ProjectionBatch | Projection):
        n = start.n if isinstance(start, Projection) else start.lattice.n
        if n != lattice.n:
            raise InputError(f"start: a fit for n = {n} items, problems for n = {lattice.n}")
    if isinstance(start, Projection):
        if not start.geometry.has_all_menus:
            raise InputError("start: a fit over few menus of many items cannot start projections over all menus")
        return [Start(*start.mixture, np.empty(0))] * count
    mixtures: Sequence[Mixture | None] = start.mixtures if isinstance(start, ProjectionBatch) else start
    if len(mixtures) != count:
        raise InputError(f"start: {len(mixtures)} mixtures for {count} problems")
    checked: dict[int, Start | None] = {}  # many problems often begin from the same mixture
    for i, mixture in enumerate(mixtures):
        if id(mixture) not in checked:
            empty = mixture is None or len(mixture[1]) == 0
            checked[id(mixture)] = None if empty else _check_mixture(i, mixture, lattice)  # type: ignore[arg-type]
    return [checked[id(mixture)] for mixture in mixtures]


def _check_mixture(i: int, mixture: Mixture, lattice: Lattice) -> Start:
    """A kernel trusts its paths: they must be rankings of these items."""
    paths, weights = np.asarray(mixture[0]), np.asarray(mixture[1], np.float64)
    n = lattice.n
    fine = paths.ndim == 2 and paths.shape == (len(weights), n) and np.issubdtype(paths.dtype, np.integer)
    if fine:
        paths = np.ascontiguousarray(paths, np.int32)
        fine = bool((paths >= 0).all() and (paths < 1 << (n - 1)).all())
        fine = fine and bool((paths_from_orders(orders_from_paths(paths)) == paths).all())
    if not fine or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise InputError(
            f"start: mixture {i} must be paths of rankings of {n} items, (k, {n}) int32, and k weights >= 0, not all 0"
        )
    keep = weights > 0
    return Start(paths[keep], weights[keep], np.empty(0))
