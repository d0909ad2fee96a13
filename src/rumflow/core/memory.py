"""How much memory a problem needs, and the check that so much is free before the work starts.

Estimates count arrays, in units of one number per cell (8 N bytes, N = n 2^(n-1)), alive at the peak, beside the data
given by the caller. They were measured for n = 14 to 24 (projections), 18 and 20 (tests and likelihood).
"""

from __future__ import annotations

import os
from math import comb

from rumflow.errors import InputError

_SMALL = 1 << 26  # bytes that are not worth asking the system for: asking takes longer than a small projection


def cell_bytes(n: int) -> int:
    """One number per cell."""
    return 8 * (n << (n - 1))


def typical_rankings(n: int) -> int:
    """Active rankings at the optimum for samples of some hundred choices per menu, n >= 16: 1,500 at n = 18, 2,650 at n = 24.

    So many whether all menus were observed or a third of them. It cannot be foreseen for other data: the closer these are to
    random utility without being it (samples of thousands of choices), the more; without any rationality up to
    2^(0.53 n + 2.6).
    """
    return int(1500 * 1.1 ** (n - 18))


def _active_bytes(rankings: int, pool: int) -> int:
    """The factor of the active rankings, twice while it grows, and their products with the pool."""
    return 8 * rankings * (rankings + pool)


def projection_bytes(n: int, weighted: bool, pool: int, rankings: int | None = None, menus: int = 0) -> int:
    """A projection by the active set.

    The lattice has the target and the costs, and with weights (or cells that were not observed) these and their sums; the
    flow is made later, when it is asked for.
    Then come shortest paths (two numbers per menu), the prices of the middle layer, and the active set. Data that list `menus`
    observed menus, instead of an array of all menus, are unpacked before the solve.
    """
    cells = cell_bytes(n)
    active = _active_bytes(rankings or typical_rankings(n), pool)
    solve = (4 if weighted else 2) * cells + (16 << n) + 16 * comb(n, n // 2) + active
    # Shares of the observed cells, their rows, items, columns and values.
    unpack = 1.125 * cells + 28 * menus * n
    return int(max(solve, unpack))


def interior_bytes(n: int, weighted: bool) -> int:
    """A projection by the interior point method."""
    return (23 if weighted else 21) * cell_bytes(n)


def batch_bytes(n: int, rows: int, weighted: bool, pool: int, threads: int, rankings: int | None = None) -> int:
    """`rows` projections over the same cells: data in three forms, flow and probabilities of each; one solver per thread."""
    arrays = 4 * rows + 3 if rows > 1 else 2  # those of a single problem are made when they are asked for
    return arrays * cell_bytes(n) + threads * projection_bytes(n, weighted, pool, rankings)


def test_bytes(n: int, menus: int, rows: int, threads: int) -> int:
    """A bootstrap test over `menus` observed menus, `rows` replicates at a time in each thread."""
    share = menus / (1 << n)
    return int((threads * (rows * (3 + 4 * share) + 9) + 8 + 10 * share) * cell_bytes(n))


def likelihood_bytes(n: int, menus: int, pool: int, rankings: int | None = None) -> int:
    """A maximum likelihood fit: the counts in three forms, two points of the polytope, and a weighted projection.

    The most likely model of a large part of all menus has a large face, and the projections go to the interior point method.
    """
    share = menus / (1 << n)
    active = _active_bytes(rankings or typical_rankings(n), pool)
    return int((13.5 + 9 * share) * cell_bytes(n)) + active


def available_memory() -> int | None:
    """Bytes this process may still take, or None where the system does not say."""
    free: list[int] = []
    try:
        with open("/proc/meminfo") as file:
            free += [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max") as most, open("/sys/fs/cgroup/memory.current") as now:
            limit = most.read().strip()
            if limit != "max":
                free.append(int(limit) - int(now.read()))
    except (OSError, ValueError):
        pass
    if not free and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        free.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(free) if free else None


def fits(needed: float) -> bool:
    """Are `needed` bytes free, as far as the system says?"""
    if needed < _SMALL:
        return True
    free = available_memory()
    return free is None or needed <= free


def require_memory(needed: float, what: str, remedy: str = "take fewer items, or a machine with more memory") -> None:
    """Raise an error before the work starts if `needed` bytes are not free."""
    if not fits(needed):
        free = available_memory() or 0
        raise InputError(f"{what} needs about {_size(needed)} of memory and {_size(free)} is free: {remedy}")


def _size(number: float) -> str:
    return f"{number / 2**30:,.1f} GiB" if number >= 2**29 else f"{number / 2**20:,.0f} MiB"
