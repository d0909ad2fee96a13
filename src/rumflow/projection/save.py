"""`load`: a fit from the file that `fit.save` has written.

Of what was computed only the mixture (or the flow) is taken from the file, and that only if its types are types of the model;
where a model has no types, the shares, and cycles with multipliers. Fitted probabilities, certificate and status are computed
again from these and the data. Objective and gap must be those that were
saved, or the file is damaged. Of a fit on the route "bounded" the gap is the exception: bounds that take long are not computed
again, so it can be larger than the one that was saved, and is never smaller.
"""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.check import LARGEST, check_number, check_tol, check_whole
from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.lattice import Lattice
from rumflow.core.membership import rum_membership
from rumflow.core.memory import require_memory
from rumflow.core.menus import Menus
from rumflow.core.pairs import Cycles
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.problem import NO_WEIGHTS, Problem
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, check_items
from rumflow.errors import InputError
from rumflow.models.describe import make_model
from rumflow.output.archive import read_archive
from rumflow.projection.fitted import Rankings
from rumflow.projection.observations import Observations
from rumflow.projection.pack import SAVED_KIND, SAVED_VERSION
from rumflow.projection.results import Projection
from rumflow.projection.starts import rankings_of
from rumflow.projection.status import Status
from rumflow.solvers.batch.kernels import FACE, INSIDE
from rumflow.solvers.batch.result import LatticeFits
from rumflow.solvers.bounded.geometry import BoundedGeometry
from rumflow.solvers.dispatch import Solved
from rumflow.solvers.geometry import Keep
from rumflow.solvers.graph import GraphGeometry
from rumflow.solvers.graph_fits import GraphFits, PartFit, restrict
from rumflow.solvers.inequalities.fits import InequalityFits, PairFit
from rumflow.solvers.inequalities.geometry import InequalityGeometry
from rumflow.solvers.lattice import LatticeGeometry

Arrays = dict[str, NDArray[Any]]

_METHODS = ("rankings", "ipm", "moebius")  # of fits on the lattice
_COPIES = 6  # arrays over all menus that are in memory at once
_DAMAGES = (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError, MemoryError)


def load(path: str | Path) -> Projection:
    """Load a saved fit.

    It has its data, model and certificate, and can be continued with `project(..., start=fit)`.

    Parameters
    ----------
    path : str or Path
        A file that `Projection.save` wrote.

    Returns
    -------
    Projection

    Raises
    ------
    InputError
        If the file is missing or is not a saved fit, or if its certificate differs from the one computed again from the
        mixture in the file. (On the route "bounded" only the objective is compared: the lower bound is computed again by the
        quickest method, and can be weaker than the one that was saved.)

    Examples
    --------
    >>> import rumflow as rf
    >>> import tempfile
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> fit = rf.project(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fit.save(f"{folder}/fit.npz")
    ...     print(rf.load(f"{folder}/fit.npz").distance == fit.distance)
    True
    """
    header, arrays = read_archive(path, SAVED_KIND)
    if header.get("version") != SAVED_VERSION:
        raise InputError(
            f"{path}: a fit in version {header.get('version')!r} of the format; this rumflow reads {SAVED_VERSION}"
        )
    try:
        items = check_items(header["items"])
        stored = [check_number(value, "certificate", -np.inf, np.inf) for value in header["certificate"]]
        reason = _reason(Status(header["status"]), header.get("interrupted") is True)
        make: Any = _load_lattice
        if "model" in header:
            make = _load_graph if make_model(header["model"]).has_types else _load_inequalities
        observations, fits = make(header, arrays, items, reason)
        seconds = check_number(header["seconds"], "seconds", 0, np.inf, "[)")
        fit = Projection(observations, fits, 0, check_tol(header["tol"]), seconds)
        _compare(Certificate(*stored), fit.certificate, fits.geometry.exact)
    except _DAMAGES as fault:
        raise InputError(f"{path}: the fit in this file is damaged ({str(fault)[:200]})") from None
    return fit


def _reason(status: Status, interrupted: bool) -> str:
    """Why the solve ended; Ctrl-C may have ended it at the optimum."""
    if interrupted:
        return "interrupted"
    return "done" if status is Status.OPTIMAL else str(status)


def _compare(stored: Certificate, computed: Certificate, exact: bool) -> None:
    slack = computed.floor + 1e-12 * computed.size
    for name in ("objective", "gap") if exact else ("objective",):
        was, now = getattr(stored, name), getattr(computed, name)
        if not abs(was - now) <= 1e-6 * abs(now) + slack:
            raise ValueError(f"its certificate says {name} {was:.9g}, but its mixture and data give {now:.9g}")


def _shaped(
    arrays: Arrays, name: str, shape: tuple[int | None, ...], kind: type, least: float = -np.inf
) -> NDArray[Any]:
    """An array of the file, which must have this shape and kind of numbers, none below `least` or beyond all reason."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits or not np.issubdtype(array.dtype, kind):
        raise ValueError(f"{name}: an array of {array.dtype} of shape {array.shape}, where {shape} is needed")
    if kind is not np.floating:
        return np.ascontiguousarray(array)
    numbers = np.ascontiguousarray(array, np.float64)
    if not ((numbers >= least) & (np.abs(numbers) <= LARGEST)).all():
        raise ValueError(f"{name}: numbers that are not finite, or below {least:g}")
    return numbers


def _mixture(types: NDArray[Any], arrays: Arrays) -> tuple[NDArray[Any], Array]:
    """Types and shares, without types of share 0, which rounding can leave."""
    shares = _shaped(arrays, "shares", (len(types),), np.floating, 0.0)
    if not (len(shares) and abs(shares.sum() - 1) < 1e-6):
        raise ValueError("the shares of its types are not positive numbers that add up to 1")
    return types[shares > 0], shares[shares > 0]


def _data(items: tuple[Item, ...], membership: Mask, frequencies: Array, sizes: Array | None) -> Observations:
    """What was observed, as data: shares of 1 in all where no sizes are known."""
    totals = np.ones(len(membership)) if sizes is None else sizes
    observations = Observations(ChoiceData(items, membership, frequencies * totals[:, None], totals))
    observations.shares = frequencies[membership]  # to the last bit
    observations.sizes = sizes
    return observations


def _load_graph(
    header: dict[str, Any], arrays: Arrays, items: tuple[Item, ...], reason: str
) -> tuple[Observations, GraphFits]:
    n = len(items)
    membership = _shaped(arrays, "membership", (None, n), np.bool_)
    m = len(membership)
    unknown = np.isnan(arrays["frequencies"])
    known = arrays | {"frequencies": np.where(unknown, 0.0, arrays["frequencies"])}
    frequencies = np.where(unknown, np.nan, _shaped(known, "frequencies", (m, n), np.floating, 0.0))
    sizes = _shaped(arrays, "sizes", (m,), np.floating, 0.0) if "sizes" in arrays else None
    observations = _data(items, membership, frequencies, sizes)
    cells = observations.cells
    types = _shaped(arrays, "types", (None, len(observations.rows)), np.integer).astype(np.int32)
    if ((types < 0) | (types >= cells.count)).any():
        raise ValueError("its types take something that no menu offers")
    mixture: Mixture = _mixture(types, arrays)
    model = make_model(header["model"])
    kind = BoundedGeometry if header["method"] == "bounded" else GraphGeometry
    weights = _shaped(arrays, "weights", cells.shape, np.floating, 0.0)
    geometry = kind(model, cells).weighted(weights)
    if geometry.count_foreign(mixture[0]):
        raise ValueError(f"its types are not possible in {model!r}")
    target = cells.to_table(np.nan_to_num(frequencies[observations.rows]))
    lower = None
    if isinstance(geometry, BoundedGeometry):
        objective, gap = header["certificate"][:2]
        lower = min(float(objective - gap), geometry.quick_bound(mixture, target))
    parts = [PartFit(*restrict(mixture, group), None, reason, 0) for group in geometry.menus]
    fits = GraphFits(geometry, target[None], _rounds(header), [reason], [geometry.route], [parts])
    fits.mixtures, fits.certificates = [mixture], [geometry.certify(mixture, target, lower)]
    return observations, fits


def _load_inequalities(
    header: dict[str, Any], arrays: Arrays, items: tuple[Item, ...], reason: str
) -> tuple[Observations, InequalityFits]:
    start = _shaped(arrays, "menu_start", (None,), np.integer).astype(np.int64)
    item = _shaped(arrays, "menu_item", (None,), np.integer).astype(np.int32)
    m, cells_seen = len(start) - 1, len(item)
    if m < 1 or start[0] != 0 or start[-1] != cells_seen or (np.diff(start) < 1).any():
        raise ValueError("its menus are no lists of items")
    if not ((item >= 0) & (item < len(items))).all():
        raise ValueError("one of its menus has items that are not in the list of items")
    unknown = np.isnan(arrays["shares"])
    shares = _shaped(
        arrays | {"shares": np.where(unknown, 0.0, arrays["shares"])}, "shares", (cells_seen,), np.floating, 0.0
    )
    shares = np.where(unknown, np.nan, shares)
    sizes = _shaped(arrays, "sizes", (m,), np.floating, 0.0) if "sizes" in arrays else None
    menus = Menus(start, item, len(items))
    totals = np.ones(m) if sizes is None else sizes
    observations = Observations(ChoiceData.from_cells(items, menus, shares * totals[menus.menu], totals))
    if not observations.menus.same(menus):
        raise ValueError("its menus are not in order")
    observations.shares, observations.sizes = shares, sizes
    cells = observations.cells
    geometry = InequalityGeometry(make_model(header["model"]), cells).weighted(
        _shaped(arrays, "weights", cells.shape, np.floating, 0.0)
    )
    x = _shaped(arrays, "x", ((1 + geometry.tied) * len(geometry.used),), np.floating, 0.0)
    cycles = Cycles(
        _shaped(arrays, "cycle_start", (None,), np.integer).astype(np.int64),
        _shaped(arrays, "cycle_arc", (None,), np.integer).astype(np.int32),
    )
    found = PairFit(x, cycles, _shaped(arrays, "multipliers", (len(cycles.start) - 1,), np.floating, 0.0))
    cell, position = observations.places(geometry)
    target = geometry.blank(0.0)
    target.reshape(-1)[position] = shares[cell]
    certificate = geometry.certify(found, target)
    fits = InequalityFits(geometry, target[None], _rounds(header), [reason], [geometry.route], [found], [certificate])
    return observations, fits


def _rounds(header: dict[str, Any]) -> NDArray[np.int64]:
    return np.array([check_whole(header["iterations"], "iterations", 0, 1 << 62)], np.int64)


def _load_lattice(
    header: dict[str, Any], arrays: Arrays, items: tuple[Item, ...], reason: str
) -> tuple[Observations, LatticeFits]:
    lattice = Lattice(len(items))
    shape = lattice.internal_shape
    require_memory(_COPIES * 8 * prod(shape), f"a fit over all menus of {lattice.n} items")
    if "cells" in arrays:
        place = _shaped(arrays, "cells", (None,), np.integer)
        if len(np.unique(place)) < len(place) or not ((place >= 0) & (place < prod(shape))).all():
            raise ValueError("cells: there are no such cells, or one is there twice")
        target, weights = np.zeros(shape), np.zeros(shape)
        target.reshape(-1)[place] = _shaped(arrays, "target", (len(place),), np.floating)
        weights.reshape(-1)[place] = _shaped(arrays, "weights", (len(place),), np.floating, 0.0)
    else:
        target = _shaped(arrays, "target", shape, np.floating)
        weights = _shaped(arrays, "weights", shape, np.floating, 0.0) if "weights" in arrays else NO_WEIGHTS
    if len(weights) and not weights.any():
        raise ValueError("weights: all of them are 0")
    masks = _shaped(arrays, "masks", (None,), np.integer) if "masks" in arrays else None
    if masks is not None and ((masks < 1) | (masks >= 1 << lattice.n)).any():
        raise ValueError("one of its menus has items that are not in the list of items")
    if masks is not None and len(np.unique(masks)) < len(masks):
        raise ValueError("one of its menus is there twice")
    seen = weights > 0 if len(weights) else None
    observations = Observations.on_lattice(target, seen)
    observations.items = items
    if masks is not None:
        inside: Mask = lattice.membership[masks]
        frequencies = np.where(inside, observations.over_all_menus()[masks], np.nan)
        observations = _data(items, inside, frequencies, None)
    method = str(header["method"])
    if method not in _METHODS:
        raise ValueError(f"method {method!r} is unknown")
    mixture = rho = None
    if method == "moebius":
        rho, flow = rum_membership(Problem(target, weights))
        if flow is None:
            raise ValueError("method 'moebius' says that the data are those of a population, which they are not")
    elif "orders" in arrays:
        orders, shares = _mixture(_shaped(arrays, "orders", (None, lattice.n), np.integer), arrays)
        mixture = paths_from_orders(rankings_of(Rankings(orders, shares, items), lattice.n)[0]), shares
        flow = flow_from_paths(*mixture)
    else:
        flow = _shaped(arrays, "flow", shape, np.floating, 0.0)
    geometry = LatticeGeometry(lattice.n, weights)
    certificate = geometry.certifier(flow, target)
    if not certificate.menu_error < 1e-9:
        raise ValueError(f"flow: the probabilities of a menu miss 1 by {certificate.menu_error:.2g}")
    fits = LatticeFits(
        geometry=geometry,
        targets=target[None],
        rounds=_rounds(header),
        reasons=[reason],
        methods=[method],
        kind=np.array([INSIDE if method == "moebius" or certificate.is_rum else FACE]),
        count=np.zeros(1, np.int64),
        numbers=np.array([(*certificate[:2], *certificate[3:6])]),
        certified=np.ones(1, np.bool_),
        keep=Keep.NOTHING,
        solved={0: Solved(mixture, None, certificate, method, int(header["iterations"]), reason, flow, rho)},
    )
    return observations, fits
