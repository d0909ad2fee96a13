"""The paper's reduced coordinates: all cells but each menu's largest item."""

from __future__ import annotations

from rumflow.core.compile import kernel


@kernel
def add_largest(values, n, factor):
    """values(D, x) += factor * values(D, max D) for every x but the largest."""
    for menu in range(1, 1 << n):
        top = n - 1
        while not (menu >> top) & 1:
            top -= 1
        own = factor * values[top, menu ^ (1 << top)]
        for x in range(top):
            if (menu >> x) & 1:
                values[x, (menu & ((1 << x) - 1)) | ((menu >> (x + 1)) << x)] += own


@kernel
def fill_largest(values, n):
    """values(D, max D) = minus the sum of the menu's others."""
    for menu in range(1, 1 << n):
        top = n - 1
        while not (menu >> top) & 1:
            top -= 1
        total = 0.0
        for x in range(top):
            if (menu >> x) & 1:
                total += values[x, (menu & ((1 << x) - 1)) | ((menu >> (x + 1)) << x)]
        values[top, menu ^ (1 << top)] = -total
