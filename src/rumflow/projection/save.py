"""`load`: a fit from the file that `fit.save` has written.

Of what is computed only the mixture (or the flow) is taken from the file: fitted probabilities and the certificate are computed
again, and the certificate must be the one that was saved. The lower bound of a fit on the route "bounded" is the exception: to
find it again would take as long as the fit has taken, so it is taken from the file as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Mask, Mixture
from rumflow.core.certificate import Certificate
from rumflow.core.lattice import Lattice
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.problem import NO_WEIGHTS
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
from rumflow.solvers.lattice import LatticeGeometry

Arrays = dict[str, NDArray[Any]]


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
        mixture in the file. (On the route "bounded" only the objective is compared: the lower bound is the one that was
        saved.)

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
        stored = Certificate(*(float(value) for value in header["certificate"]))
        reason = _reason(Status(header["status"]))
        make = _load_graph if "model" in header else _load_lattice
        observations, fits = make(header, arrays, items, reason)
        fit = Projection(observations, fits, 0, float(header["tol"]), float(header["seconds"]))
        _compare(stored, fit.certificate)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as fault:
        raise InputError(f"{path}: the fit in this file is damaged ({str(fault)[:200]})") from None
    return fit


def _reason(status: Status) -> str:
    """Why the solve ended, as far as its status says."""
    return "done" if status is Status.OPTIMAL else str(status)


def _compare(stored: Certificate, computed: Certificate) -> None:
    slack = stored.floor + 1e-12 * stored.size
    for name in ("objective", "gap"):
        was, now = getattr(stored, name), getattr(computed, name)
        if not abs(was - now) <= 1e-6 * abs(was) + slack:
            raise ValueError(f"its certificate says {name} {was:.9g}, but its mixture and data give {now:.9g}")


def _shaped(arrays: Arrays, name: str, shape: tuple[int | None, ...], kind: type) -> NDArray[Any]:
    """An array of the file, which must have this shape and kind of numbers."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    if not fits or not np.issubdtype(array.dtype, kind):
        raise ValueError(f"{name}: an array of {array.dtype} of shape {array.shape}, where {shape} is needed")
    return np.ascontiguousarray(array)


def _shares(weights: Array) -> Array:
    if not (len(weights) and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6):
        raise ValueError("the shares of its types are not positive numbers that add up to 1")
    return weights


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
    frequencies = _shaped(arrays, "frequencies", (m, n), np.floating)
    sizes = _shaped(arrays, "sizes", (m,), np.floating) if "sizes" in arrays else None
    observations = _data(items, membership, frequencies, sizes)
    cells = observations.cells
    types = _shaped(arrays, "types", (None, len(observations.rows)), np.integer).astype(np.int32)
    if ((types < 0) | (types >= cells.count)).any():
        raise ValueError("its types take something that no menu offers")
    mixture: Mixture = types, _shares(_shaped(arrays, "shares", (len(types),), np.floating))
    model = make_model(header["model"])
    kind = BoundedGeometry if header["method"] == "bounded" else GraphGeometry
    weights = _shaped(arrays, "weights", cells.shape, np.floating)
    geometry = kind(model, cells).weighted(weights)
    if geometry.count_foreign(types):
        raise ValueError(f"its types are not possible in {model!r}")
    target = cells.to_table(np.nan_to_num(frequencies[observations.rows]))
    lower = None
    if not geometry.exact:
        objective, gap = (float(value) for value in header["certificate"][:2])
        if not 0 <= gap <= objective:
            raise ValueError(f"its certificate says gap {gap:.9g} and objective {objective:.9g}")
        lower = objective - gap
    parts = [PartFit(*restrict(mixture, group), None, reason, 0) for group in geometry.menus]
    fits = GraphFits(geometry, target[None], _rounds(header), [reason], [str(header["method"])], [parts])
    fits.mixtures, fits.certificates = [mixture], [geometry.certify(mixture, target, lower)]
    return observations, fits


def _rounds(header: dict[str, Any]) -> NDArray[np.int64]:
    return np.array([int(header["iterations"])], np.int64)


def _load_lattice(
    header: dict[str, Any], arrays: Arrays, items: tuple[Item, ...], reason: str
) -> tuple[Observations, LatticeFits]:
    lattice = Lattice(len(items))
    shape = lattice.internal_shape
    if "cells" in arrays:
        place = _shaped(arrays, "cells", (None,), np.integer)
        target, weights = np.zeros(shape), np.zeros(shape)
        target.reshape(-1)[place] = _shaped(arrays, "target", (len(place),), np.floating)
        weights.reshape(-1)[place] = _shaped(arrays, "weights", (len(place),), np.floating)
    else:
        target = _shaped(arrays, "target", shape, np.floating)
        weights = _shaped(arrays, "weights", shape, np.floating) if "weights" in arrays else NO_WEIGHTS
    masks = _shaped(arrays, "masks", (None,), np.integer) if "masks" in arrays else None
    if masks is not None and ((masks < 1) | (masks >= 1 << lattice.n)).any():
        raise ValueError("one of its menus has items that are not in the list of items")
    seen = weights > 0 if len(weights) else None
    observations = Observations.on_lattice(target, seen)
    observations.items = items
    if masks is not None:
        inside: Mask = lattice.membership[masks]
        frequencies = np.where(inside, observations.over_all_menus()[masks], np.nan)
        observations = _data(items, inside, frequencies, None)
    mixture = None
    if "orders" in arrays:
        given = Rankings(arrays["orders"], _shares(_shaped(arrays, "shares", (None,), np.floating)), items)
        mixture = paths_from_orders(rankings_of(given, lattice.n)[0]), given.weights
        flow = flow_from_paths(*mixture)
    else:
        flow = _shaped(arrays, "flow", shape, np.floating)
    rho = _shaped(arrays, "rho", shape, np.floating) if "rho" in arrays else None
    geometry = LatticeGeometry(lattice.n, weights)
    certificate, method = geometry.certifier(flow, target), str(header["method"])
    fits = LatticeFits(
        geometry=geometry,
        targets=target[None],
        rounds=_rounds(header),
        reasons=[reason],
        methods=[method],
        kind=np.array([INSIDE if bool(header["inside"]) else FACE]),
        count=np.zeros(1, np.int64),
        numbers=np.array([(*certificate[:2], *certificate[3:6])]),
        certified=np.ones(1, np.bool_),
        keep=Keep.NOTHING,
        solved={0: Solved(mixture, None, certificate, method, int(header["iterations"]), reason, flow, rho)},
    )
    return observations, fits
