"""Which numbers a layer takes."""

from __future__ import annotations

import numpy as np

from rumflow.check import LARGEST, check_number, check_option, check_seconds, check_threads, check_tol
from rumflow.core.arrays import Array
from rumflow.errors import InputError
from rumflow.layers.engines import Engine

#: What to do with a sample that has a number that is not finite, or larger than `LARGEST`.
NONFINITE = ("error", "nan")


#: The smallest `atol`: beyond it rounding decides.
LEAST_ATOL = 1e-6


def require_options(
    smoothing: float,
    tol: float,
    nonfinite: str = "error",
    threads: int | None = None,
    atol: float | None = None,
    max_seconds: float | None = None,
) -> None:
    """Refuse options that mean nothing."""
    check_number(smoothing, "smoothing", 0, float("inf"), "[)")
    check_tol(tol)
    if atol is not None:
        check_number(atol, "atol", LEAST_ATOL, 1, "[]", ", or None")
        if smoothing:
            raise InputError(
                "atol: a smoothed projection is another point than the projection; omit one of atol and smoothing"
            )
    if check_seconds(max_seconds) is not None and smoothing:
        raise InputError(
            "max_seconds: only exact projections end early; a smoothed one takes much the same time for every sample. Omit one "
            "of max_seconds and smoothing"
        )
    check_option(nonfinite, "nonfinite", NONFINITE)
    check_threads(threads)


def require_finite(z: Array, engine: Engine) -> None:
    """An error that names the first sample, menu and item that is not a finite number."""
    size = np.abs(z)
    if size.max(initial=0.0) <= LARGEST:  # not so where any is NaN
        return
    *sample, cell = np.argwhere(~(size <= LARGEST))[0].tolist()
    name = "the sample" if not sample else f"sample {sample[0] if len(sample) == 1 else tuple(sample)}"
    raise InputError(
        f"{name}: {engine.name(cell)} is {float(z[(*sample, cell)])}; every number must be finite, at most {LARGEST:g}"
    )
