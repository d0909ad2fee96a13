"""A Cholesky factor to which rows are added and from which they are deleted.

Rows of the lower triangle are packed one after another: row r starts at r (r + 1) / 2. The diagonal is stored inverted, so that
solves multiply instead of dividing. Vectors that are kept equal to L^{-1} times
something are carried along when rows are deleted, so that nothing is solved again.

Loops run over slices: an index such as `start + j` might be negative for all the compiler knows, which in Python means from the
end, and that check costs ten times the arithmetic.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import leaf, reduction


@leaf
def row_start(r):
    """Where row r of a packed lower triangle begins."""
    return r * (r + 1) // 2


@reduction
def dot(a, start, b, count):
    """<a[start : start + count], b[:count]>."""
    first, second = a[start : start + count], b[:count]
    total = 0.0
    for j in range(first.shape[0]):
        total += first[j] * second[j]
    return total


@reduction
def dot_4(a, start, b0, b1, b2, b3, count):
    """The same for four vectors at once."""
    row = a[start : start + count]
    s0 = s1 = s2 = s3 = 0.0
    for j in range(row.shape[0]):
        entry = row[j]
        s0 += entry * b0[j]
        s1 += entry * b1[j]
        s2 += entry * b2[j]
        s3 += entry * b3[j]
    return s0, s1, s2, s3


@leaf
def solve_forward(factor, first, last, b):
    """Entries first..last-1 of L^{-1} b, in place; the entries before them are solved already."""
    for r in range(first, last):
        start = row_start(r)
        b[r] = (b[r] - dot(factor, start, b, r)) * factor[start + r]


@leaf
def solve_forward_4(factor, k, b):
    """L^{-1} applied to four right-hand sides, b[0..3, :k], in place: the factor is read once for all."""
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    for r in range(k):
        start = row_start(r)
        s0, s1, s2, s3 = dot_4(factor, start, b0, b1, b2, b3, r)
        inverse = factor[start + r]
        b0[r] = (b0[r] - s0) * inverse
        b1[r] = (b1[r] - s1) * inverse
        b2[r] = (b2[r] - s2) * inverse
        b3[r] = (b3[r] - s3) * inverse


@leaf
def solve_backward(factor, k, b):
    """L^{-T} b, in place, four rows at a time."""
    r = k
    while r >= 4:
        q3, q2, q1, q0 = row_start(r - 1), row_start(r - 2), row_start(r - 3), row_start(r - 4)
        z3 = b[r - 1] * factor[q3 + r - 1]
        z2 = (b[r - 2] - z3 * factor[q3 + r - 2]) * factor[q2 + r - 2]
        z1 = (b[r - 3] - z3 * factor[q3 + r - 3] - z2 * factor[q2 + r - 3]) * factor[q1 + r - 3]
        z0 = b[r - 4] - z3 * factor[q3 + r - 4] - z2 * factor[q2 + r - 4] - z1 * factor[q1 + r - 4]
        z0 *= factor[q0 + r - 4]
        b[r - 1], b[r - 2], b[r - 3], b[r - 4] = z3, z2, z1, z0
        r -= 4
        row3, row2, row1, row0 = factor[q3 : q3 + r], factor[q2 : q2 + r], factor[q1 : q1 + r], factor[q0 : q0 + r]
        for j in range(row0.shape[0]):
            b[j] -= z3 * row3[j] + z2 * row2[j] + z1 * row1[j] + z0 * row0[j]
    for i in range(r - 1, -1, -1):
        start = row_start(i)
        z = b[i] * factor[start + i]
        b[i] = z
        for j in range(i):
            b[j] -= z * factor[start + j]


@leaf
def append_row(factor, k, row, diagonal, floor):
    """Append a row, given L^{-1} times the new off-diagonal entries; False where the matrix would be singular."""
    pivot = diagonal - dot(row, np.int64(0), row, k)
    if not pivot > floor:
        return False
    start = row_start(k)
    for j in range(k):
        factor[start + j] = row[j]
    factor[start + k] = 1.0 / np.sqrt(pivot)
    return True


@leaf
def delete_row(factor, k, gone, cosine, sine, slope, carried):
    """Delete row and column `gone` of the matrix: Givens rotations of the rows below, four rows side by side.

    Each row of `carried` is a vector L^{-1} b and becomes the same for the smaller matrix.

    A rotation takes an entry x, and what is carried along the row, v, to c x + s v and c v - s x. What is carried here is v
    divided by the product p of the cosines so far, which saves a multiplication: v / p - (s / (c p)) x. The arrays are
    scratch for c, s p and s / (c p). p^2 is the share of its norm by which the type that goes is independent of the later ones.
    """
    r = gone + 1
    product = 1.0
    while r < k:
        count = min(4, k - r)
        s0, s1, s2, s3 = row_start(r), row_start(r + 1), row_start(r + 2), row_start(r + 3)
        # Columns before the deleted one move with their row.
        for t in range(count):
            source, target = row_start(r + t), row_start(r + t - 1)
            old, new = factor[source : source + gone], factor[target : target + gone]
            for j in range(gone):
                new[j] = old[j]
        done = r
        c0 = c1 = c2 = c3 = 0.0
        if count == 4:
            c0, c1, c2, c3 = factor[s0 + gone], factor[s1 + gone], factor[s2 + gone], factor[s3 + gone]
            first, width = gone + 1, r - gone - 1
            last = row_start(r - 1)
            old0, old1 = factor[s0 + first : s0 + r], factor[s1 + first : s1 + r]
            old2, old3 = factor[s2 + first : s2 + r], factor[s3 + first : s3 + r]
            new0, new1 = factor[last + gone : last + gone + width], factor[s0 + gone : s0 + gone + width]
            new2, new3 = factor[s1 + gone : s1 + gone + width], factor[s2 + gone : s2 + gone + width]
            turn, lift, fall = cosine[first:r], sine[first:r], slope[first:r]
            for i in range(turn.shape[0]):
                c, s, t = turn[i], lift[i], fall[i]
                a0, a1, a2, a3 = old0[i], old1[i], old2[i], old3[i]
                new0[i] = c * a0 + s * c0
                new1[i] = c * a1 + s * c1
                new2[i] = c * a2 + s * c2
                new3[i] = c * a3 + s * c3
                c0 -= t * a0
                c1 -= t * a1
                c2 -= t * a2
                c3 -= t * a3
        for t in range(count):
            row = r + t
            source, target = row_start(row), row_start(row - 1) - 1
            if count == 4:
                carry = c0 if t == 0 else c1 if t == 1 else c2 if t == 2 else c3
                begin = done
            else:
                carry = factor[source + gone]
                begin = gone + 1
            for i in range(begin, row):
                a = factor[source + i]
                factor[target + i] = cosine[i] * a + sine[i] * carry
                carry -= slope[i] * a
            inverse = factor[source + row]
            slope[row] = carry * inverse
            tangent = product * slope[row]
            c = 1.0 / np.sqrt(1.0 + tangent * tangent)
            cosine[row] = c
            sine[row] = tangent * c * product
            product *= c
            factor[target + row] = c * inverse
        r += count
    for v in range(carried.shape[0]):
        vector = carried[v]
        carry = vector[gone]
        for i in range(gone + 1, k):
            a = vector[i]
            vector[i - 1] = cosine[i] * a + sine[i] * carry
            carry -= slope[i] * a
