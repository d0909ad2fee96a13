"""Seeds: a whole number, a NumPy Generator or SeedSequence, or None for a new one every time."""

from __future__ import annotations

import numpy as np

from rumflow.check import check_seed

Seed = int | np.random.SeedSequence | np.random.Generator | None


def entropy(seed: Seed) -> int:
    """The seed as one whole number, drawn where none is given."""
    if seed is None:
        seed = np.random.SeedSequence()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(1 << 62))
    if isinstance(seed, np.random.SeedSequence):
        return int.from_bytes(seed.generate_state(4).tobytes(), "little")
    check_seed(seed)
    return int(seed)


def generator(seed: Seed) -> np.random.Generator:
    """A generator for the seed; one that is given is used as it is."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(seed if seed is None or isinstance(seed, np.random.SeedSequence) else entropy(seed))
