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


# Loops run over slices from 0 on: an index such as base + j might be negative for all the compiler knows, which in Python means
# from the end, and with that check in the way it cannot use vector instructions.


@leaf
def _one_bit(row, base, h, sign, adjoint):
    """The bit of value h, on row[base : base + 2 h]."""
    low, high = row[base : base + h], row[base + h : base + 2 * h]
    if adjoint:
        for j in range(low.shape[0]):
            high[j] += sign * low[j]
    else:
        for j in range(low.shape[0]):
            low[j] += sign * high[j]


@leaf
def _two_bits(row, base, h, sign, adjoint):
    """The bits of values h and 2 h, on row[base : base + 4 h]: half the trips to memory."""
    row0, row1 = row[base : base + h], row[base + h : base + 2 * h]
    row2, row3 = row[base + 2 * h : base + 3 * h], row[base + 3 * h : base + 4 * h]
    for j in range(row0.shape[0]):
        a, b, c, d = row0[j], row1[j], row2[j], row3[j]
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
        row0[j], row1[j], row2[j], row3[j] = a, b, c, d


@inlined
def _three_bits(row, base, h, sign, adjoint):
    """The bits of values h, 2 h and 4 h, on row[base : base + 8 h]."""
    block = row[base : base + 8 * h]
    for j in range(h):
        a0, a1, a2, a3 = block[j], block[j + h], block[j + 2 * h], block[j + 3 * h]
        a4, a5, a6, a7 = block[j + 4 * h], block[j + 5 * h], block[j + 6 * h], block[j + 7 * h]
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
        block[j], block[j + h], block[j + 2 * h], block[j + 3 * h] = a0, a1, a2, a3
        block[j + 4 * h], block[j + 5 * h], block[j + 6 * h], block[j + 7 * h] = a4, a5, a6, a7


@leaf
def _bits(row, start, stop, first, last, sign, adjoint):
    """Bits first..last-1, on row[start:stop]."""
    bit = first
    while bit < last:
        h = 1 << bit
        if bit + 3 <= last:
            # Where the compiler knows h it knows that the eight stretches are apart, and uses vector instructions.
            if h == 1:
                for base in range(start, stop, 8):
                    _three_bits(row, base, np.int64(1), sign, adjoint)
            elif h == 8:
                for base in range(start, stop, 64):
                    _three_bits(row, base, np.int64(8), sign, adjoint)
            elif h == 64:
                for base in range(start, stop, 512):
                    _three_bits(row, base, np.int64(64), sign, adjoint)
            else:
                for base in range(start, stop, 8 * h):
                    _three_bits(row, base, h, sign, adjoint)
            bit += 3
        elif bit + 2 <= last:
            for base in range(start, stop, 4 * h):
                _two_bits(row, base, h, sign, adjoint)
            bit += 2
        else:
            for base in range(start, stop, 2 * h):
                _one_bit(row, base, h, sign, adjoint)
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
