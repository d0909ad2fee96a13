"""The transforms between flows and choice probabilities, in place, O(n N).

Arrays are in the internal layout (`rumflow.core.lattice`): one row per item x, `a[x, m]`, where m is the menu D
with bit x squeezed out. Each row is then a function on the subsets of the other n - 1 items, and each transform acts on
every row alone, one bit at a time, on the pairs (a[m], a[m | bit]):

    zeta          Z:   rho(D, x)   = sum over E >= D of flow(E, x)                  lower += upper
    moebius       K:   flow(D, x)  = sum over E >= D of (-1)^|E \\ D| rho(E, x)     lower -= upper
    zeta_adjoint  Z^T: cost(E, x)  = sum over D <= E of g(D, x)                     upper += lower
    moebius_adjoint K^T                                                             upper -= lower
"""

from __future__ import annotations

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.compile import inlined, leaf
from rumflow.core.threads import run_threads, thread_count

#: Rows shorter than this are not worth a second thread.
THREADED_ROW = 1 << 13


@leaf
def _one_bit(row, start, stop, h, sign, adjoint):
    """The bit of value h, on row[start:stop]."""
    for base in range(start, stop, 2 * h):
        if adjoint:
            for j in range(base, base + h):
                row[j + h] += sign * row[j]
        else:
            for j in range(base, base + h):
                row[j] += sign * row[j + h]


@leaf
def _two_bits(row, base, h, sign, adjoint):
    """The bits of values h and 2 h, on row[base : base + 4 h]: half the trips to memory."""
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


@inlined
def _three_bits(row, base, h, sign, adjoint):
    """The bits of values h, 2 h and 4 h, on row[base : base + 8 h]."""
    for j in range(base, base + h):
        a0, a1, a2, a3 = row[j], row[j + h], row[j + 2 * h], row[j + 3 * h]
        a4, a5, a6, a7 = row[j + 4 * h], row[j + 5 * h], row[j + 6 * h], row[j + 7 * h]
        if adjoint:
            a1 += sign * a0
            a3 += sign * a2
            a5 += sign * a4
            a7 += sign * a6
            a2 += sign * a0
            a3 += sign * a1
            a6 += sign * a4
            a7 += sign * a5
            a4 += sign * a0
            a5 += sign * a1
            a6 += sign * a2
            a7 += sign * a3
        else:
            a0 += sign * a1
            a2 += sign * a3
            a4 += sign * a5
            a6 += sign * a7
            a0 += sign * a2
            a1 += sign * a3
            a4 += sign * a6
            a5 += sign * a7
            a0 += sign * a4
            a1 += sign * a5
            a2 += sign * a6
            a3 += sign * a7
        row[j], row[j + h], row[j + 2 * h], row[j + 3 * h] = a0, a1, a2, a3
        row[j + 4 * h], row[j + 5 * h], row[j + 6 * h], row[j + 7 * h] = a4, a5, a6, a7


@leaf
def _bits(row, start, stop, first, last, sign, adjoint):
    """Bits first..last-1, on row[start:stop]."""
    bit = first
    while bit < last:
        h = 1 << bit
        if bit == 0 and last >= 2:
            for base in range(start, stop, 4):
                _two_bits(row, base, h, sign, adjoint)
            bit += 2
        elif bit + 3 <= last:
            if h == 4:  # said once more as a constant: the compiler then lays the loop out flat
                for base in range(start, stop, 32):
                    _three_bits(row, base, np.int64(4), sign, adjoint)
            else:
                for base in range(start, stop, 8 * h):
                    _three_bits(row, base, h, sign, adjoint)
            bit += 3
        elif bit + 2 <= last:
            for base in range(start, stop, 4 * h):
                _two_bits(row, base, h, sign, adjoint)
            bit += 2
        else:
            _one_bit(row, start, stop, h, sign, adjoint)
            bit += 1


@leaf
def transform_row(row, bits, sign, adjoint):
    """One transform of one row of 2^bits numbers, in place."""
    low = min(bits, 11)  # 16 KiB of doubles: these bits are done block by block inside the first-level cache
    for start in range(0, 1 << bits, 1 << low):
        _bits(row, start, start + (1 << low), np.int64(0), low, sign, adjoint)
    _bits(row, np.int64(0), 1 << bits, low, bits, sign, adjoint)


@leaf
def transform_rows(a, bits, sign, adjoint):
    """One transform of every row, in place."""
    for x in range(a.shape[0]):
        transform_row(a[x], bits, sign, adjoint)


def _transform(a: Array, sign: float, adjoint: bool, threads: int | None) -> Array:
    n, size = a.shape
    bits = size.bit_length() - 1
    if size < THREADED_ROW:
        transform_rows(a, bits, sign, adjoint)
    else:
        run_threads(lambda x: transform_row(a[x], bits, sign, adjoint), range(n), thread_count(threads))
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
