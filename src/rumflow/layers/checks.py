"""Which numbers a layer takes."""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array
from rumflow.errors import InputError
from rumflow.layers.engines import Engine
from rumflow.projection.inputs import LARGEST

#: What to do with a sample that has a number that is not finite, or larger than `LARGEST`.
NONFINITE = ("error", "nan")


def require_options(smoothing: float, tol: float, nonfinite: str = "error") -> None:
    """Refuse options that mean nothing."""
    if not 0 <= smoothing < float("inf"):
        raise InputError(f"smoothing={smoothing!r}: a finite number, 0 or more, is needed")
    if not 0 < tol < 1:
        raise InputError(f"tol={tol!r}: a number between 0 and 1 is needed")
    if nonfinite not in NONFINITE:
        raise InputError(f"nonfinite={nonfinite!r}: it is 'error', or 'nan' for a row of NaN")


def require_finite(z: Array, engine: Engine) -> None:
    """An error that names the first sample, menu and item that is not a finite number."""
    wrong = ~(np.abs(z) <= LARGEST)
    if not wrong.any():
        return
    *sample, cell = np.argwhere(wrong)[0].tolist()
    name = "the sample" if not sample else f"sample {sample[0] if len(sample) == 1 else tuple(sample)}"
    raise InputError(
        f"{name}: {engine.name(cell)} is {float(z[(*sample, cell)])}; every number must be finite, at most {LARGEST:g}"
    )
