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

from rumflow.core.arrays import Array, Mixture
from rumflow.core.certificate import Certificate, Certifier
from rumflow.core.graph import cells_of_types
from rumflow.core.lattice import Lattice
from rumflow.core.paths import flow_from_paths, paths_from_orders
from rumflow.core.problem import NO_WEIGHTS
from rumflow.data.labels import Item, check_items
from rumflow.errors import InputError
from rumflow.models.describe import make_model
from rumflow.output.archive import read_archive
from rumflow.projection.graph_results import GraphProjection
from rumflow.projection.inputs import Prepared
from rumflow.projection.lattice_results import LatticeProjection
from rumflow.projection.observed import gather
from rumflow.projection.results import SAVED_KIND, SAVED_VERSION, Projection, Rankings, Status, rankings_of
from rumflow.solvers.bounded.projector import BoundedProjector
from rumflow.solvers.graphs import ModelProjector

Arrays = dict[str, NDArray[Any]]


def load(path: str | Path) -> Projection:
    """A fit that was saved: with its data, model and certificate, ready to go on from with `project(..., start=fit)`.

    The certificate is computed again from the mixture in the file; one that differs from what was saved is an error. (On the
    route "bounded" only the objective is: the lower bound is the one that was saved.)

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
        common = {
            "status": Status(header["status"]),
            "method": str(header["method"]),
            "iterations": int(header["iterations"]),
            "seconds": float(header["seconds"]),
            "tol": float(header["tol"]),
            "inside": bool(header["inside"]),
            "items": items,
        }
        fit = (_load_graph if "model" in header else _load_lattice)(header, arrays, items, common)
        _compare(stored, fit.certificate)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as fault:
        raise InputError(f"{path}: the fit in this file is damaged ({str(fault)[:200]})") from None
    return fit


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
        raise ValueError(f"{name}: an array of {array.dtype} of shape {array.shape} stands where {shape} is needed")
    return np.ascontiguousarray(array)


def _shares(weights: Array) -> Array:
    if not (len(weights) and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6):
        raise ValueError("the shares of its types are not positive numbers that add up to 1")
    return weights


def _load_graph(
    header: dict[str, Any], arrays: Arrays, items: tuple[Item, ...], common: dict[str, Any]
) -> GraphProjection:
    n = len(items)
    membership = _shaped(arrays, "membership", (None, n), np.bool_)
    m = len(membership)
    frequencies = _shaped(arrays, "frequencies", (m, n), np.floating)
    sizes = _shaped(arrays, "sizes", (m,), np.floating) if "sizes" in arrays else None
    observed = gather(items, membership, frequencies, sizes)
    cells = observed.cells
    types = _shaped(arrays, "types", (None, len(observed.rows)), np.integer).astype(np.int32)
    if ((types < 0) | (types >= cells.count)).any():
        raise ValueError("its types take something that no menu offers")
    mixture: Mixture = types, _shares(_shaped(arrays, "shares", (len(types),), np.floating))
    model = make_model(header["model"])
    bounded = common["method"] == "bounded"
    projector = BoundedProjector(model, cells) if bounded else ModelProjector(model, cells)
    if projector.count_foreign(types):
        raise ValueError(f"its types are not possible in {model!r}")
    target = cells.to_table(np.nan_to_num(frequencies[observed.rows]))
    weights = _shaped(arrays, "weights", cells.shape, np.floating)
    known = {}
    if bounded:
        objective, gap = (float(value) for value in header["certificate"][:2])
        if not 0 <= gap <= objective:
            raise ValueError(f"its certificate says gap {gap:.9g} and objective {objective:.9g}")
        known = {"lower": objective - gap}
    return GraphProjection(
        certificate=projector.certify(mixture, target, weights, **known),
        observed=observed,
        projector=projector,
        target=target,
        weights=weights,
        mixture=mixture,
        table=cells_of_types(*mixture, cells.shape),
        **common,
    )


def _load_lattice(
    header: dict[str, Any], arrays: Arrays, items: tuple[Item, ...], common: dict[str, Any]
) -> LatticeProjection:
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
    mixture = None
    if "orders" in arrays:
        given = Rankings(arrays["orders"], _shares(_shaped(arrays, "shares", (None,), np.floating)), items)
        mixture = paths_from_orders(rankings_of(given, lattice.n)[0]), given.weights
        flow = flow_from_paths(*mixture)
    else:
        flow = _shaped(arrays, "flow", shape, np.floating)
    return LatticeProjection(
        certificate=Certifier(lattice.n, weights)(flow, target),
        problem=Prepared(lattice, items, target, weights, bool(header["complete"]), masks),
        _given_flow=flow,
        _mixture=mixture,
        _rho=_shaped(arrays, "rho", shape, np.floating) if "rho" in arrays else None,
        **common,
    )
