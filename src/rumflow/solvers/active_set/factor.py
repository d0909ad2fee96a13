"""A Cholesky factor to which rows are added and from which they are deleted.

Rows of the lower triangle lie one after another, row r from start[r] on. *Packed*, they have no gaps: start[r] = r (r + 1) / 2.
A row that is deleted leaves a gap. To close it at once would take nearly as long as the deletion itself, so `pack_rows` closes
all gaps from time to time. The diagonal is stored inverted, so that solves multiply instead of dividing. Vectors that are kept
equal to L^{-1} times something are carried along when rows are deleted, so that nothing is solved again.

Loops run over slices: an index such as `start + j` might be negative for all the compiler knows, which in Python means from the
end, and that check costs ten times the arithmetic.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import fused, leaf, reduction


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


@reduction
def dot_4x4(a, start0, start1, start2, start3, b0, b1, b2, b3, count):
    """The same for four stretches of `a` and four vectors: a tuple for each vector. Numbers are read once for four products."""
    p, q = a[start0 : start0 + count], a[start1 : start1 + count]
    u, v = a[start2 : start2 + count], a[start3 : start3 + count]
    p0 = p1 = p2 = p3 = q0 = q1 = q2 = q3 = 0.0
    u0 = u1 = u2 = u3 = v0 = v1 = v2 = v3 = 0.0
    for j in range(p.shape[0]):
        e0, e1, e2, e3 = b0[j], b1[j], b2[j], b3[j]
        p0 += p[j] * e0
        p1 += p[j] * e1
        p2 += p[j] * e2
        p3 += p[j] * e3
        q0 += q[j] * e0
        q1 += q[j] * e1
        q2 += q[j] * e2
        q3 += q[j] * e3
        u0 += u[j] * e0
        u1 += u[j] * e1
        u2 += u[j] * e2
        u3 += u[j] * e3
        v0 += v[j] * e0
        v1 += v[j] * e1
        v2 += v[j] * e2
        v3 += v[j] * e3
    return (p0, q0, u0, v0), (p1, q1, u1, v1), (p2, q2, u2, v2), (p3, q3, u3, v3)


@leaf
def pack_rows(factor, start, k):
    """Close the gaps between the first k rows."""
    for r in range(k):
        there = row_start(r)
        if start[r] > there:
            old, new = factor[start[r] : start[r] + r + 1], factor[there : there + r + 1]
            for j in range(new.shape[0]):
                new[j] = old[j]
            start[r] = there


@fused
def solve_forward(factor, start, first, last, b):
    """Entries first..last-1 of L^{-1} b, in place; the entries before them are solved already."""
    for r in range(first, last):
        b[r] = (b[r] - dot(factor, start[r], b, r)) * factor[start[r] + r]


@fused
def solve_corner(factor, start, r, b, known):
    """Entries r..r+3 of L^{-1} b, in place, where `known` has the products of their rows with the entries before."""
    s0, s1, s2, s3 = start[r] + r, start[r + 1] + r, start[r + 2] + r, start[r + 3] + r
    x0 = (b[r] - known[0]) * factor[s0]
    x1 = (b[r + 1] - known[1] - factor[s1] * x0) * factor[s1 + 1]
    x2 = (b[r + 2] - known[2] - factor[s2] * x0 - factor[s2 + 1] * x1) * factor[s2 + 2]
    x3 = b[r + 3] - known[3] - factor[s3] * x0 - factor[s3 + 1] * x1 - factor[s3 + 2] * x2
    b[r], b[r + 1], b[r + 2], b[r + 3] = x0, x1, x2, x3 * factor[s3 + 3]


@fused
def solve_forward_4(factor, start, k, b):
    """L^{-1} applied to four right-hand sides, b[0..3, :k], in place, four rows of the factor at a time."""
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    r = 0
    while r + 4 <= k:
        known0, known1, known2, known3 = dot_4x4(
            factor, start[r], start[r + 1], start[r + 2], start[r + 3], b0, b1, b2, b3, r
        )
        solve_corner(factor, start, r, b0, known0)
        solve_corner(factor, start, r, b1, known1)
        solve_corner(factor, start, r, b2, known2)
        solve_corner(factor, start, r, b3, known3)
        r += 4
    for t in range(4):
        solve_forward(factor, start, r, k, b[t])


@fused
def solve_backward(factor, start, k, b):
    """L^{-T} b, in place, four rows at a time."""
    r = k
    while r >= 4:
        q3, q2, q1, q0 = start[r - 1], start[r - 2], start[r - 3], start[r - 4]
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
        z = b[i] * factor[start[i] + i]
        b[i] = z
        for j in range(i):
            b[j] -= z * factor[start[i] + j]


@leaf
def append_row(factor, start, k, row, diagonal, floor):
    """Append a row, given L^{-1} times the new off-diagonal entries; False where the matrix would be singular."""
    pivot = diagonal - dot(row, np.int64(0), row, k)
    if not pivot > floor:
        return False
    at = start[k - 1] + k if k > 0 else 0
    if at + k + 1 > factor.shape[0]:
        pack_rows(factor, start, k)
        at = row_start(k)
    new = factor[at : at + k]
    for j in range(new.shape[0]):
        new[j] = row[j]
    factor[at + k] = 1.0 / np.sqrt(pivot)
    start[k] = at
    return True


@fused
def delete_row(factor, start, k, gone, cosine, sine, slope, carried):
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
        c0 = c1 = c2 = c3 = 0.0
        if count == 4:
            s0, s1, s2, s3 = start[r] + gone, start[r + 1] + gone, start[r + 2] + gone, start[r + 3] + gone
            c0, c1, c2, c3 = factor[s0], factor[s1], factor[s2], factor[s3]
            # Entries move one to the left: column `gone` is not there any more.
            width = r - gone - 1
            old0, old1 = factor[s0 + 1 : s0 + 1 + width], factor[s1 + 1 : s1 + 1 + width]
            old2, old3 = factor[s2 + 1 : s2 + 1 + width], factor[s3 + 1 : s3 + 1 + width]
            new0, new1 = factor[s0 : s0 + width], factor[s1 : s1 + width]
            new2, new3 = factor[s2 : s2 + width], factor[s3 : s3 + width]
            turn, lift, fall = cosine[gone + 1 : r], sine[gone + 1 : r], slope[gone + 1 : r]
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
            here = start[row]
            if count == 4:
                carry = c0 if t == 0 else c1 if t == 1 else c2 if t == 2 else c3
                begin = r
            else:
                carry = factor[here + gone]
                begin = gone + 1
            for i in range(begin, row):
                a = factor[here + i]
                factor[here + i - 1] = cosine[i] * a + sine[i] * carry
                carry -= slope[i] * a
            inverse = factor[here + row]
            slope[row] = carry * inverse
            tangent = product * slope[row]
            c = 1.0 / np.sqrt(1.0 + tangent * tangent)
            cosine[row] = c
            sine[row] = tangent * c * product
            product *= c
            factor[here + row - 1] = c * inverse
        r += count
    for r in range(gone, k - 1):
        start[r] = start[r + 1]
    for v in range(carried.shape[0]):
        vector = carried[v]
        carry = vector[gone]
        for i in range(gone + 1, k):
            a = vector[i]
            vector[i - 1] = cosine[i] * a + sine[i] * carry
            carry -= slope[i] * a
