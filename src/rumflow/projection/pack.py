"""What of a fit goes into a file: words, and arrays; `rumflow.projection.save` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.data.labels import plain_label
from rumflow.errors import InputError
from rumflow.output.archive import write_archive

Arrays = dict[str, NDArray[Any]]

#: What the files of saved fits say of themselves.
SAVED_KIND, SAVED_VERSION = "rumflow fit", 1


def save(fit: Any, path: str | Path) -> None:
    """Write a fit with its data, model and certificate to one file."""
    if fit.geometry.cone:
        raise InputError("fits onto the cone cannot be saved: project onto the model itself (cone=False)")
    pack = _pack_lattice if fit.geometry.has_all_menus else _pack_graph if fit.model.has_types else _pack_inequalities
    words, arrays = pack(fit)
    header = {
        "kind": SAVED_KIND,
        "version": SAVED_VERSION,
        "items": [plain_label(item) for item in fit.items],
        "certificate": [float(value) for value in fit.certificate],
        "status": str(fit.status),
        "interrupted": fit.interrupted,
        "method": fit.method,
        "iterations": fit.iterations,
        "seconds": fit.seconds,
        "tol": fit.tol,
    }
    write_archive(path, header | words, arrays)


def _pack_graph(fit: Any) -> tuple[dict[str, Any], Arrays]:
    types, shares = fit.mixture
    types, shares = types[shares > 0], shares[shares > 0]  # rounding can leave a share of 0
    arrays = {
        "membership": fit.membership,
        "frequencies": fit.frequencies,
        "weights": fit.geometry.weights,
        "types": types,
        "shares": shares,
    }
    if fit.observations.sizes is not None:
        arrays["sizes"] = np.asarray(fit.observations.sizes, np.float64)
    return {"model": fit.model.describe()}, arrays


def _pack_inequalities(fit: Any) -> tuple[dict[str, Any], Arrays]:
    """Menus as lists of items: there may be thousands of items."""
    seen, found = fit.observations, fit.fits.found[fit.index]
    arrays = {
        "menu_start": seen.menus.start,
        "menu_item": seen.menus.item,
        "shares": seen.shares,
        "weights": fit.geometry.weights,
        "x": found.x,
        "cycle_start": found.cycles.start,
        "cycle_arc": found.cycles.arc,
        "multipliers": found.multipliers,
    }
    if seen.sizes is not None:
        arrays["sizes"] = np.asarray(seen.sizes, np.float64)
    return {"model": fit.model.describe()}, arrays


def _pack_lattice(fit: Any) -> tuple[dict[str, Any], Arrays]:
    target, weights = fit.fits.targets[fit.index], fit.geometry.weights
    arrays: Arrays = {}
    if len(weights) and not fit.complete:
        cells = np.flatnonzero(weights)
        arrays |= {"cells": cells, "target": target.flat[cells], "weights": weights.flat[cells]}
    else:
        arrays["target"] = target
        if len(weights):
            arrays["weights"] = weights
    if fit.observations.data is not None:
        arrays["masks"] = fit.observations.masks
    if fit.method != "moebius":  # where the data are RUM, they say all
        if len(fit.fits.mixtures[fit.index][1]):
            orders, shares = fit.rankings.orders, fit.rankings.weights
            arrays |= {"orders": orders[shares > 0], "shares": shares[shares > 0]}
        else:
            arrays["flow"] = fit.fits.flow(fit.index)
    return {"complete": fit.complete}, arrays
