"""The active set of rankings for few items (n <= 8): whole problems in one kernel, everything in the cache.

The method is that of `rumflow.solvers.active_set.kernels`, on other data structures, because here a step takes a microsecond:

*Words and lanes* (`rumflow.solvers.small.workspace`). A ranking is one machine word, so a Gram entry is a sum of 2^|E & F| over
the bytes of one word, all of them at once; the lattice is done eight items at a time.

*Inverse instead of factor.* M^{-1} is held, with y = M^{-1} 1 and e = M^{-1} r beside it. The step d = e + s y, where
s = -sum e / sum y, costs nothing extra; a ranking enters or leaves by an update of rank one,

    M^{-1} + u u^T,   u = (M^{-1} g, -1) / sqrt(pivot)          or          M^{-1} - b b^T / b_i,   b = column i.

All loops run over whole rows, padded by zeros. A Cholesky factor takes fewer operations and is more stable; with up to some
hundred rankings the inverse is faster all the same, and r is computed from the data again at every lattice pass.

*No pool.* A lattice pass costs no more than entering one ranking: the most violated few enter, and the lattice is priced again.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import inlined, leaf
from rumflow.core.paths import conserve_kernel, peel
from rumflow.solvers.active_set.factor import dot, dot_4
from rumflow.solvers.active_set.kernels import STALL_ROUNDS
from rumflow.solvers.small.lanes import extract_ranking, price_cells, price_menus
from rumflow.solvers.small.workspace import BATCH, clear, padded, total

_SHARE = 0.2  # how violated a ranking must be to enter, as a share of the worst
# Violations closer than this share of the worst are ties: the menu that comes first wins, so that rounding does not decide.
_TIE = 1e-9
_PIVOT = 1e-8  # below this share of its norm a ranking's pivot is rounding: it depends on the active ones

_ONES, _BYTES = np.uint64(0x0101010101010101), np.uint64(0x00FF00FF00FF00FF)
_PAIRS, _QUADS, _EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_1, _2, _4, _8, _16, _32, _64K = (np.uint64(v) for v in (1, 2, 4, 8, 16, 32, 0xFFFF))


@inlined
def powers(shared):
    """Sum over the eight bytes of 2^(number of bits set), bytes of at most seven bits."""
    bits = shared - ((shared >> _1) & _PAIRS)
    bits = (bits & _QUADS) + ((bits >> _2) & _QUADS)
    bits = (bits + (bits >> _4)) & _EIGHTS
    # Two to the count, from the three bits of the count: times 2, times 4, times 16.
    result = _ONES + (bits & _ONES)
    twos = (bits >> _1) & _ONES
    mask = (twos << _8) - twos
    result = (result & ~mask) | ((result << _2) & mask)
    fours = (bits >> _2) & _ONES
    mask = (fours << _8) - fours
    result = (result & ~mask) | ((result << _4) & mask)
    result = (result & _BYTES) + ((result >> _8) & _BYTES)
    result += result >> _16
    result += result >> _32
    return np.int32(result & _64K)


@inlined
def gram(problem, workspace, t, first, last, out):
    """Entries first..last-1 of M in the column of the entering ranking t."""
    n = problem.layer.shape[0] - 2
    if problem.table.shape[0] == 0:
        base = problem.ridge - (8 - n)  # the unused bytes count 2^0 each
        word = workspace.new_words[t]
        for i in range(first, last):
            out[i] = powers(word & workspace.words[i]) + base
    else:
        for i in range(first, last):
            entry = problem.ridge
            for x in range(n):
                entry += problem.table[8 * np.int64(workspace.new_columns[t, x] & workspace.columns[i, x]) + x]
            out[i] = entry


@inlined
def gram_self(problem, workspace, t):
    """The diagonal entry of M of the entering ranking t."""
    n = problem.layer.shape[0] - 2
    if problem.table.shape[0] == 0:
        return powers(workspace.new_words[t]) + problem.ridge - (8 - n)
    entry = problem.ridge
    for x in range(n):
        entry += problem.table[8 * np.int64(workspace.new_columns[t, x]) + x]
    return entry


@inlined
def multiply(inverse, k, vector, out):
    """M^{-1} times a vector, padded by zeros, four rows at a time: those beyond the last are 0."""
    width = padded(k)
    for i in range(0, k, 4):
        out[i], out[i + 1], out[i + 2], out[i + 3] = dot_4(
            vector, np.int64(0), inverse[i], inverse[i + 1], inverse[i + 2], inverse[i + 3], width
        )


@leaf
def enter(problem, workspace, first, found):
    """Make the new rankings first..first+found-1 active, at most four; those that depend on others are left out."""
    k = workspace.count[0]
    width = padded(k + 4)
    zero = np.int64(0)
    g, u, one, own = workspace.scratch, workspace.unit, workspace.carried[0], workspace.carried[1]
    for t in range(4):
        if t < found:
            gram(problem, workspace, first + t, zero, k, g[t])
        for j in range(k if t < found else 0, width):
            g[t, j] = 0.0
        for j in range(k, width):
            u[t, j] = 0.0
    for i in range(k):
        u[0, i], u[1, i], u[2, i], u[3, i] = dot_4(workspace.inverse[i], zero, g[0], g[1], g[2], g[3], width)
    u0, u1, u2, u3 = u[0], u[1], u[2], u[3]
    y0 = y1 = y2 = y3 = e0 = e1 = e2 = e3 = 0.0  # <u, 1> and <u, r>, for y and e
    here = k
    for t in range(found):
        gram(problem, workspace, first + t, k, here, g[t])
        # u = M^{-1} g for the rankings so far, those just entered included: their part of M^{-1} is the sum of u u^T.
        a0, a1, a2, square = dot_4(g[t], zero, u0, u1, u2, u[t], width)
        a0, a1, a2 = a0 if t > 0 else 0.0, a1 if t > 1 else 0.0, a2 if t > 2 else 0.0
        diagonal = gram_self(problem, workspace, first + t)
        pivot = diagonal - square - a0 * a0 - a1 * a1 - a2 * a2
        if not pivot > _PIVOT * diagonal:
            for j in range(width):
                u[t, j] = 0.0
            continue
        scale = 1.0 / np.sqrt(pivot)
        for j in range(width):
            u[t, j] = scale * (u[t, j] + a0 * u0[j] + a1 * u1[j] + a2 * u2[j])
        u[t, here] = -scale
        y = total(u[t], width)
        e = scale * (dot(g[t], zero, own, width) + a0 * e0 + a1 * e1 + a2 * e2 - workspace.residual[first + t])
        if t == 0:
            y0, e0 = y, e
        elif t == 1:
            y1, e1 = y, e
        elif t == 2:
            y2, e2 = y, e
        else:
            y3, e3 = y, e
        workspace.words[here] = workspace.new_words[first + t]
        workspace.weights[here] = workspace.new_weights[first + t]
        here += 1
    for j in range(width):
        one[j] += y0 * u0[j] + y1 * u1[j] + y2 * u2[j] + y3 * u3[j]
        own[j] += e0 * u0[j] + e1 * u1[j] + e2 * u2[j] + e3 * u3[j]
    for i in range(here):
        row, a0, a1, a2, a3 = workspace.inverse[i], u0[i], u1[i], u2[i], u3[i]
        for j in range(width):
            row[j] += a0 * u0[j] + a1 * u1[j] + a2 * u2[j] + a3 * u3[j]
    workspace.count[0] = here


@inlined
def leave(workspace, gone):
    """Take the ranking `gone` out; the last takes its place."""
    last = workspace.count[0] - 1
    width = padded(last + 1)
    inverse, column = workspace.inverse, workspace.unit[0]
    for j in range(width):
        column[j] = inverse[gone, j]
    scale = 1.0 / column[gone]
    for i in range(last + 3):
        # After the rows of M^{-1} those of y and e, which change alike.
        row = inverse[i] if i <= last else workspace.carried[i - last - 1]
        share = scale * (column[i] if i <= last else row[gone])
        for j in range(width):
            row[j] -= share * column[j]
        row[gone] = row[last]
        row[last] = 0.0
    if gone < last:
        for j in range(width):
            inverse[gone, j] = inverse[last, j]
        inverse[gone, gone] = inverse[last, gone]
    for j in range(width):
        inverse[last, j] = 0.0
    workspace.words[gone] = workspace.words[last]
    workspace.weights[gone] = workspace.weights[last]
    workspace.count[0] = last


@inlined
def descend(problem, workspace):
    """Steps to the minimum over the affine hull; rankings that reach weight 0 leave."""
    one, own, d = workspace.carried[0], workspace.carried[1], workspace.scratch[0]
    while True:
        k = workspace.count[0]
        s = -total(own, k) / total(one, k) if problem.ridge > 0.0 else 0.0
        for i in range(k):
            d[i] = own[i] + s * one[i]
        step = 1.0
        blocker = np.int64(-1)
        for i in range(k):
            if d[i] < 0.0 and workspace.weights[i] + step * d[i] <= 0.0:
                step = workspace.weights[i] / -d[i]
                blocker = np.int64(i)
        for i in range(k):
            workspace.weights[i] += step * d[i]
            own[i] *= 1.0 - step
        if blocker < 0:
            return
        if step > 0.0:
            leave(workspace, blocker)
        else:
            for i in range(k - 1, -1, -1):
                if d[i] < 0.0 and workspace.weights[i] <= 0.0:
                    leave(workspace, i)


@inlined
def choose(problem, workspace, nu):
    """The most violated middle menus, worst first, with their violations; how many."""
    n = problem.layer.shape[0] - 2
    worst = nu - workspace.below[workspace.below.shape[0] - 1]
    least, tie = _SHARE * worst, _TIE * worst
    found = 0
    for place in range(problem.layer[n // 2], problem.layer[n // 2 + 1]):
        menu = problem.order[place]
        violation = nu - workspace.above[menu] - workspace.below[menu]
        if violation > least and (found < BATCH or violation > workspace.residual[BATCH - 1] + tie):
            at = found if found < BATCH else BATCH - 1
            while at > 0 and workspace.residual[at - 1] + tie < violation:
                workspace.residual[at] = workspace.residual[at - 1]
                workspace.menus[at] = workspace.menus[at - 1]
                at -= 1
            workspace.residual[at] = violation
            workspace.menus[at] = menu
            found = min(found + 1, BATCH)
    return found


@inlined
def normalise(problem, workspace):
    """Make the weights sum to 1 again, unless their total is free."""
    if problem.ridge > 0.0:
        mass = total(workspace.weights, workspace.count[0])
        for i in range(workspace.count[0]):
            workspace.weights[i] /= mass


@leaf
def rebuild(problem, workspace):
    """Compute M^{-1} again for the active rankings."""
    k = workspace.count[0]
    clear(workspace)
    for first in range(0, k, 4):
        found = min(4, k - first)
        for t in range(found):
            # Rankings entered again never overwrite those still to be entered.
            workspace.new_words[t], workspace.new_weights[t] = workspace.words[first + t], workspace.weights[first + t]
            workspace.residual[t] = 0.0
        enter(problem, workspace, np.int64(0), found)
    normalise(problem, workspace)


@leaf
def begin_small(problem, workspace, paths, lam):
    """Start from given rankings, or where none is given from the one that agrees best with the data."""
    n = problem.layer.shape[0] - 2
    clear(workspace)
    workspace.residual[:] = 0.0
    if paths.shape[0] == 0:
        price_cells(problem, workspace)
        price_menus(problem, workspace)
        extract_ranking(workspace, np.int64((1 << n) - 1), workspace.new_columns[0])
        workspace.new_weights[0] = 1.0
        enter(problem, workspace, np.int64(0), np.int64(1))
    for first in range(0, paths.shape[0], 4):
        found = min(4, paths.shape[0] - first, workspace.words.shape[0] - 16 - workspace.count[0])
        for t in range(found):
            for x in range(n):
                workspace.new_columns[t, x] = paths[first + t, x]
            workspace.new_weights[t] = lam[first + t]
        enter(problem, workspace, np.int64(0), found)
    normalise(problem, workspace)


@leaf
def begin_peeled(problem, workspace, flow):
    """Start from the heaviest few paths of the positive part of the flow K rho_hat of complete data, which is used up."""
    n = flow.shape[0]
    conserve_kernel(flow, n, workspace.above)
    weights = workspace.new_weights[4:]  # `enter` takes them from the first four
    count = peel(flow, n, 0.0, workspace.first_paths, weights[:4])
    begin_small(problem, workspace, workspace.first_paths[:count], weights[:count])


@leaf
def solve_small(problem, workspace, tol, floor):
    """Rounds until the gap is within max(tol * objective, floor); their number, and whether it ended before."""
    n = problem.layer.shape[0] - 2
    full = workspace.below.shape[0] - 1
    own = workspace.scratch[0]
    lowest = np.inf
    rounds = stalled = 0
    fresh = True
    while True:
        objective = price_cells(problem, workspace)
        price_menus(problem, workspace)
        rounds += 1
        k = workspace.count[0]
        nu = mass = 0.0
        for i in range(k):
            own[i] = 0.0
            for x in range(n):
                own[i] += workspace.cost[8 * np.int64(workspace.columns[i, x]) + x]
            nu += workspace.weights[i] * own[i]
            mass += workspace.weights[i]
        gap = nu - workspace.below[full]
        if problem.ridge == 0.0:
            # A stand-in for the certificate, which needs the probabilities: those of this mixture add up to at most mass 2^n.
            gap = abs(nu) - max(mass, 1.0) * (full + 1) * min(0.0, workspace.below[full])
            nu = 0.0
        goal = max(tol * min(objective, problem.scale), floor)
        if gap <= goal:
            return rounds, False
        if k > problem.most:
            return rounds, True
        stalled = 0 if objective < (1.0 - 1e-13) * lowest else stalled + 1
        lowest = min(lowest, objective)
        if stalled > STALL_ROUNDS:
            return rounds, True
        worst = 0.0
        for i in range(k):
            own[i] = nu - own[i]
            worst = max(worst, abs(own[i]))
        for i in range(k, padded(k)):
            own[i] = 0.0
        # After a full step r is zero but for rounding. Where it is not small against the gap aimed at, or nothing is gained, the
        # inverse has lost its accuracy, unless it has just been computed: then rounding allows no more.
        if (worst > 0.05 * gap or stalled > 0) and not fresh:
            rebuild(problem, workspace)
            fresh = True
            continue
        fresh = fresh and stalled > 0
        multiply(workspace.inverse, k, own, workspace.carried[1])
        found = min(choose(problem, workspace, nu), workspace.words.shape[0] - 16 - k)
        for t in range(found):
            workspace.new_weights[t] = 0.0
            extract_ranking(workspace, workspace.menus[t], workspace.new_columns[t])
        for first in range(0, found, 4):
            enter(problem, workspace, np.int64(first), min(4, found - first))
        descend(problem, workspace)
        normalise(problem, workspace)
