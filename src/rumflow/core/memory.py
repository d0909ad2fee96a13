"""How much memory a problem needs, and the check that so much is free before the work starts.

Estimates count arrays, in units of one number per cell (8 N bytes, N = n 2^(n-1)), alive at the peak, beside the data
given by the caller. They were measured for n = 14 to 24 (projections), 18 and 20 (tests and likelihood).
"""

from __future__ import annotations

import os
from math import comb

from rumflow.errors import InputError

_SMALL = 1 << 26  # bytes that are not worth asking the system for: asking takes longer than a small projection


class NoMemoryError(InputError):
    """So much memory is not free; nothing was taken yet."""


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
    lines = _read("/proc/meminfo").splitlines()
    free = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    if not free and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        free.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    free += [max(limit - used, 0) for limit, used in (*_group_limits(), *_address_limits())]
    return min(free) if free else None


#: Where control groups are, by version: the folder, the limit, what is used, and which of it is cached files.
_GROUPS = {
    2: ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    1: ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def _group_limits() -> list[tuple[int, int]]:
    """(limit, used) of the control group of this process, and of those around it: each limits what is inside."""
    found = []
    for line in _read("/proc/self/cgroup").splitlines() or ["0::/"]:
        _, controllers, path = line.split(":", 2)
        version = 1 if "memory" in controllers.split(",") else 2 if not controllers else 0
        if not version:
            continue
        root, limit, used, cached = _GROUPS[version]
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            folder = "/".join([root, *parts[:depth]])
            most, now = _read(f"{folder}/{limit}").strip(), _read(f"{folder}/{used}").strip()
            if most.isdigit() and now.isdigit():  # "max": no limit
                lines = (one.split() for one in _read(f"{folder}/memory.stat").splitlines())
                files = sum(int(one[1]) for one in lines if one[0] == cached)  # the system gives them up
                found.append((int(most), int(now) - files))
    return found


def _address_limits() -> list[tuple[int, int]]:
    """(limit, used) of the address space, `ulimit -v`."""
    pages = _read("/proc/self/statm").split()[:1]
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError):  # no such limits here
        return []
    return [(limit, int(pages[0]) * resource.getpagesize())] if pages and limit != resource.RLIM_INFINITY else []


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


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
        raise NoMemoryError(f"{what} needs about {_size(needed)} of memory and {_size(free)} is free: {remedy}")


def _size(number: float) -> str:
    return f"{number / 2**30:,.1f} GiB" if number >= 2**29 else f"{number / 2**20:,.0f} MiB"
