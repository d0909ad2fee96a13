"""Seeds: a whole number, a NumPy Generator or SeedSequence, or None for a new one every time.

Public functions take one as `seed`, or as `rng`, which is what the scientific packages agreed to call it (SPEC 7).
"""

from __future__ import annotations

import numpy as np

from rumflow.check import check_seed
from rumflow.errors import InputError

Seed = int | np.random.SeedSequence | np.random.Generator | None


class _Default(int):
    """A number that a default is, so that it differs from the same number in a call."""


ZERO = _Default(0)


def either(seed: Seed, rng: Seed) -> Seed:
    """Whichever of the two was given; both are refused."""
    check_seed(seed)
    check_seed(rng, "rng")
    if rng is None:
        return seed
    if seed is not None and seed is not ZERO:
        raise InputError(f"seed={seed!r} and rng={rng!r}: these are two names of the same, give one of them")
    return rng


def entropy(seed: Seed, rng: Seed = None) -> int:
    """The seed as one whole number, drawn where none is given."""
    seed = either(seed, rng)
    if seed is None:
        seed = np.random.SeedSequence()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(1 << 62))
    if isinstance(seed, np.random.SeedSequence):
        return int.from_bytes(seed.generate_state(4).tobytes(), "little")
    return int(seed)


def generator(seed: Seed, rng: Seed = None) -> np.random.Generator:
    """A generator for the seed; one that is given is used as it is."""
    seed = either(seed, rng)
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(seed if seed is None or isinstance(seed, np.random.SeedSequence) else entropy(seed))
