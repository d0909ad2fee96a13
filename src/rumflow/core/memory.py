"""What a problem needs of memory, and the check that it is there before the work starts."""

from __future__ import annotations

import os

from rumflow.errors import InputError

_SMALL = 1 << 26  # so little is always there; asking the system takes longer than a small projection


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


def require_memory(needed: float, what: str, remedy: str = "take fewer items, or a machine with more memory") -> None:
    """Raise before the work starts where `needed` bytes are not to be had."""
    if needed < _SMALL:
        return
    free = available_memory()
    if free is not None and needed > free:
        raise InputError(f"{what} needs about {_size(needed)} of memory and {_size(free)} is free: {remedy}")


def _size(number: float) -> str:
    return f"{number / 2**30:,.1f} GiB" if number >= 2**29 else f"{number / 2**20:,.0f} MiB"
