"""The transforms between flows and choice probabilities, in place, O(n N).

Arrays are in the internal layout (`rumflow.lattice`): one row per item x, `a[x, m]`, where m is the menu D
with bit x squeezed out. Each row is then a function on the subsets of the other n - 1 items, and each transform acts on
every row alone, one bit at a time, on the pairs (a[m], a[m | bit]):

    zeta          Z:   rho(D, x)   = sum over E >= D of flow(E, x)                  lower += upper
    moebius       K:   flow(D, x)  = sum over E >= D of (-1)^|E \\ D| rho(E, x)     lower -= upper
    zeta_adjoint  Z^T: cost(E, x)  = sum over D <= E of g(D, x)                     upper += lower
    moebius_adjoint K^T                                                             upper -= lower
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rumflow._jit import kernel, run_threads, thread_count

Array = NDArray[np.float64]

#: Rows shorter than this are not worth a second thread.
THREADED_ROW = 1 << 13

_LOW_BITS = 11  # 16 KiB of doubles: the bits below are done block by block inside the first-level cache


@kernel
def _butterflies(row, start, stop, first, last, sign, adjoint):
    """Apply bits first..last-1 of one transform to row[start:stop]."""
    bit = first
    while bit < last:
        half = 1 << bit
        if half >= 4:
            for low in range(start, stop, 2 * half):
                high = low + half
                if adjoint:
                    for j in range(half):
                        row[high + j] += sign * row[low + j]
                else:
                    for j in range(half):
                        row[low + j] += sign * row[high + j]
            bit += 1
        elif bit == 0 and last >= 2:
            # Bits 0 and 1 together: their pairs are too close for a vector loop.
            for i in range(start, stop, 4):
                a, b, c, d = row[i], row[i + 1], row[i + 2], row[i + 3]
                if adjoint:
                    b += sign * a
                    d += sign * c
                    c += sign * a
                    d += sign * b
                else:
                    a += sign * b
                    c += sign * d
                    a += sign * c
                    b += sign * d
                row[i], row[i + 1], row[i + 2], row[i + 3] = a, b, c, d
            bit += 2
        else:
            for low in range(start, stop, 2 * half):
                for j in range(low, low + half):
                    if adjoint:
                        row[j + half] += sign * row[j]
                    else:
                        row[j] += sign * row[j + half]
            bit += 1


@kernel
def transform_row(row, bits, sign, adjoint):
    """One transform of one row of 2^bits numbers, in place."""
    low = min(bits, 11)
    size = 1 << bits
    step = 1 << low
    for start in range(0, size, step):
        _butterflies(row, start, start + step, 0, low, sign, adjoint)
    # The high bits, two at a time: half the trips to memory.
    bit = low
    while bit + 1 < bits:
        h = 1 << bit
        for base in range(0, size, 4 * h):
            for j in range(base, base + h):
                a, b, c, d = row[j], row[j + h], row[j + 2 * h], row[j + 3 * h]
                if adjoint:
                    b += sign * a
                    d += sign * c
                    c += sign * a
                    d += sign * b
                else:
                    a += sign * b
                    c += sign * d
                    a += sign * c
                    b += sign * d
                row[j], row[j + h], row[j + 2 * h], row[j + 3 * h] = a, b, c, d
        bit += 2
    if bit < bits:
        _butterflies(row, 0, size, bit, bit + 1, sign, adjoint)


def _transform(a: Array, sign: float, adjoint: bool, threads: int | None) -> Array:
    n, size = a.shape
    bits = size.bit_length() - 1
    count = thread_count(threads) if size >= THREADED_ROW else 1
    run_threads(lambda x: transform_row(a[x], bits, sign, adjoint), range(n), count)
    return a


def zeta(flow: Array, threads: int | None = None) -> Array:
    """Z: superset sums, flow to probabilities. In place; returns its argument."""
    return _transform(flow, 1.0, False, threads)


def moebius(rho: Array, threads: int | None = None) -> Array:
    """K: the inverse of `zeta`, probabilities to Block-Marschak polynomials. In place."""
    return _transform(rho, -1.0, False, threads)


def zeta_adjoint(g: Array, threads: int | None = None) -> Array:
    """Z^T: subset sums, cell gradients to edge costs. In place."""
    return _transform(g, 1.0, True, threads)


def moebius_adjoint(g: Array, threads: int | None = None) -> Array:
    """K^T: the inverse of `zeta_adjoint`. In place."""
    return _transform(g, -1.0, True, threads)
