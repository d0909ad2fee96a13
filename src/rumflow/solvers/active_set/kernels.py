"""An active set of types: the kernels of the exact solver.

Minimise f(lam) = 1/2 || sum_i lam_i a_i - rho_hat ||_w^2 over mixtures (lam >= 0, sum 1) of types a_i (Wolfe's
minimum-norm-point method). A few types are active; the rest are priced by shortest paths.

*A type is a row of columns*: it takes `cost[j, type[j]]` at position j of a cost table, and its price is the sum. On the lattice
of menus types are rankings, positions items and columns menus (`rumflow.core.paths`); on a choice graph positions are the
observed menus and columns their cells (`rumflow.core.graph_cells`). Gram entries are all that differs here:

    lattice   a_p(D, x) = 1 exactly when D is contained in E_p(x), so <a_p, a_q>_w = sum_x T[x, E_p(x) & E_q(x)],
              T = Z^T w  (2^(|E| - 1) when every weight is 1)
    graph     <a_p, a_q>_w = sum of the weights of the cells that both take

*Steps on the active set.* M = G + c 1 1^T (G the Gram matrix, c > 0) is positive definite exactly when the active types
are affinely independent. With the common gradient value nu and r_i = nu - <a_i, w (rho - rho_hat)>, the step to the
minimum over the affine hull is

    M d = r + s 1,   s such that sum d = 0,   after which   nu <- nu + s   and   r <- 0.

With M = L L^T and the carried vectors u = L^{-1} 1 and e = L^{-1} r it is d = L^{-T}(e + s u), s = -<u, e> / <u, u>: one
triangular solve. Where d would make a weight negative the step stops there, that type leaves, and r shrinks by 1 - step.
r is zero except on types that have just entered. Every cost table measures r afresh from the data, so errors of the
factor are corrected (iterative refinement) and never add up.

*Multiple pricing.* One sweep over lattice or graph prices the cheapest type through every node. The most violated
form a pool that is priced without a sweep until it is dry: on the lattice its Gram products with the active set are kept, on a
graph the cost table, which is small, moves along with the weights.

*Cone.* With c = 0 the sum of the weights is free (Lawson and Hanson): s = 0 and nu = 0 throughout.

Departures from Wolfe: (1) the factor is that of G + c 1 1^T, not of the Gram matrix around rho_hat: it does not depend on the
data, has whole entries without weights, and loses nothing when the distance is tiny; (2) several types enter at once, if
they are not alike, because one of two similar types makes the other needless and it would soon leave again; (3) entering types
that the step would push below zero leave together, without a step; (4) while the objective falls from round to
round, all others that the full step would push below zero leave with it, instead of one after the other with a shorter step each.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import fused, kernel, leaf, reduction, subset_count
from rumflow.core.paths import path_cost
from rumflow.solvers.active_set.factor import (
    append_row,
    delete_row,
    dot,
    pack_rows,
    solve_backward,
    solve_forward,
    solve_forward_4,
)

ENTERING = 8  # types that enter at once, at most
_CANDIDATES = 32  # types that are looked at for these
_ALIKE = 0.7  # types that have this share of their norm in common do not enter together
STALL_ROUNDS = 8  # rounds without a lower objective before giving up


@leaf
def gram_entry(table, p, q):
    """<a_p, a_q>_w for two types. (The lattice of one item has one row as well, and both rules agree on it.)"""
    if table.shape[0] == 0:
        whole = 0
        for x in range(p.shape[0]):
            whole += subset_count(p[x] & q[x])
        return float(whole)
    total = 0.0
    if table.shape[0] == 1:
        width = table.shape[1] // p.shape[0]
        for j in range(p.shape[0]):
            if p[j] == q[j]:
                total += table[0, j * width + p[j]]
    else:
        for x in range(p.shape[0]):
            total += table[x, p[x] & q[x]]
    return total


@leaf
def gram_rows(problem, active, first, last, pool, size, whole):
    """Gram products of the active types first..last-1 with the pool, on the lattice; `whole` is scratch for whole numbers."""
    n = active.paths.shape[1]
    table = problem.table
    for i in range(first, last):
        slot = active.slot[i]
        if table.shape[0] == 0:
            for q in range(size):
                whole[q] = 0
            for x in range(n):
                own = active.paths[i, x]
                for q in range(size):
                    whole[q] += subset_count(own & pool.columns[x, q])
            for q in range(size):
                pool.gram[slot, q] = whole[q]
        else:
            for q in range(size):
                pool.gram[slot, q] = 0.0
            for x in range(n):
                own = active.paths[i, x]
                for q in range(size):
                    pool.gram[slot, q] += table[x, own & pool.columns[x, q]]


@reduction
def shared_weight(weight, p, q):
    """The sum of the weights where two rows agree."""
    total = 0.0
    for j in range(p.shape[0]):
        total += weight[j] if p[j] == q[j] else 0.0
    return total


@leaf
def matrix_row(problem, path, active, first, last, weight, row):
    """Entries first..last-1 of the row of M that belongs to a type; `weight`: scratch, one number per position."""
    table = problem.table
    if table.shape[0] == 1:
        width = table.shape[1] // path.shape[0]
        for j in range(path.shape[0]):
            weight[j] = table[0, j * width + path[j]]
        for i in range(first, last):
            row[i] = shared_weight(weight, path, active.paths[i]) + problem.ridge
    else:
        for i in range(first, last):
            row[i] = gram_entry(table, path, active.paths[i]) + problem.ridge


@fused
def account(problem, active, i, pool, size, cost):
    """Update the pool after weight i has changed: in its gradients on the lattice, in the cost table on a graph."""
    change = active.moved[i]
    if change == 0.0:
        return
    if pool.gram.shape[0] > 0:
        row = pool.gram[active.slot[i]]
        for q in range(size):
            pool.gradient[q] += change * row[q]
    else:
        path = active.paths[i]
        width = cost.shape[1]
        for j in range(path.shape[0]):
            cost[j, path[j]] += change * problem.table[0, j * width + path[j]]
    active.moved[i] = 0.0


@leaf
def remove(problem, active, gone, pool, size, cost):
    """Take type `gone` out of the active set; its weight must be 0 by now."""
    k = active.count[0]
    account(problem, active, gone, pool, size, cost)
    delete_row(
        active.factor, active.start, k, gone, active.scratch[0], active.scratch[1], active.scratch[3], active.carried
    )
    slot = active.slot[gone]
    for i in range(gone, k - 1):
        for x in range(active.paths.shape[1]):
            active.paths[i, x] = active.paths[i + 1, x]
        active.weights[i] = active.weights[i + 1]
        active.moved[i] = active.moved[i + 1]
        active.slot[i] = active.slot[i + 1]
    active.free[k - 1] = slot
    active.count[0] = k - 1


@leaf
def insert(active, path, row, diagonal, residual, weight, floor):
    """Append a type, given row = L^{-1} (its entries of M); False where it depends on the active ones."""
    k = active.count[0]
    if not append_row(active.factor, active.start, k, row, diagonal, floor):
        return False
    start = active.start[k]
    inverse = active.factor[start + k]
    active.carried[0, k] = (1.0 - dot(active.factor, start, active.carried[0], k)) * inverse
    active.carried[1, k] = (residual - dot(active.factor, start, active.carried[1], k)) * inverse
    for x in range(path.shape[0]):
        active.paths[k, x] = path[x]
    active.weights[k] = weight
    active.moved[k] = 0.0
    active.slot[k] = active.free[k]
    active.count[0] = k + 1
    return True


@leaf
def normalise(problem, active):
    """Make the weights sum to 1 again, unless their total is free."""
    if problem.ridge > 0.0:
        k = active.count[0]
        total = active.weights[:k].sum()
        for i in range(k):
            active.weights[i] /= total


@leaf
def step_and_cut(problem, active, k, d, s, nu, excess):
    """The full step d; weights below 0 are raised to 0. The new nu, and by how much the weights now exceed their total.

    Raising them by x adds -M x to r, so e = -L^T x: a few rows of the factor. d becomes -1 where a weight was raised, else 1.
    """
    own = active.carried[1]
    nu += s + problem.ridge * excess
    excess = 0.0
    for i in range(k):
        own[i] = 0.0
    for i in range(k):
        weight = active.weights[i] + d[i]
        active.moved[i] += d[i]
        active.weights[i] = weight
        d[i] = 1.0
        if weight <= 0.0:
            active.moved[i] -= weight
            active.weights[i] = 0.0
            excess -= weight
            d[i] = -1.0
            start = active.start[i]
            row = active.factor[start : start + i]
            for j in range(i):
                own[j] += weight * row[j]
            own[i] += weight / active.factor[start + i]
    return nu - problem.ridge * excess, excess


@leaf
def descend(problem, active, pool, size, cost, nu, bold):
    """Steps to the minimum over the affine hull, dropping types that reach weight 0; nu and the steps taken.

    A `bold` step goes all the way, and all types that it would push below 0 leave at once. There are fewer steps, but the
    objective may rise.
    """
    steps = 0
    excess = 0.0
    zero = np.int64(0)  # a literal would have the kernels it is passed to compiled once more, just for it
    while True:
        k = active.count[0]
        one, own, d = active.carried[0], active.carried[1], active.scratch[2]
        s = -(excess + dot(one, zero, own, k)) / dot(one, zero, one, k) if problem.ridge > 0.0 else 0.0
        for i in range(k):
            d[i] = own[i] + s * one[i]
        solve_backward(active.factor, active.start, k, d)
        steps += 1
        step = 1.0
        blocker = np.int64(-1)
        for i in range(k):
            if d[i] < 0.0 and active.weights[i] + step * d[i] <= 0.0:
                step = active.weights[i] / -d[i]
                blocker = np.int64(i)
        if bold and (step > 0.0 or excess > 0.0):
            nu, excess = step_and_cut(problem, active, k, d, s, nu, excess)
            if blocker < 0:
                return nu, steps
            for i in range(k - 1, -1, -1):
                if d[i] < 0.0:
                    remove(problem, active, i, pool, size, cost)
            continue
        for i in range(k):
            active.weights[i] += step * d[i]
            active.moved[i] += step * d[i]
            own[i] *= 1.0 - step
        nu += step * s
        if blocker < 0:
            return nu, steps
        if step > 0.0:
            active.moved[blocker] -= active.weights[blocker]
            active.weights[blocker] = 0.0
            remove(problem, active, blocker, pool, size, cost)
        else:
            for i in range(k - 1, -1, -1):
                if d[i] < 0.0 and active.weights[i] <= 0.0:
                    remove(problem, active, i, pool, size, cost)


@fused
def price_pool(problem, active, pool, size, cost):
    """Bring the pool's gradients up to date with the weights."""
    k, done = active.count[0], 0
    if pool.gram.shape[0] > 0:
        # Four types at a time: the gradients are read and written once for four.
        gradient, moved, slot = pool.gradient[:size], active.moved, active.slot
        while done + 4 <= k:
            c0, c1, c2, c3 = moved[done], moved[done + 1], moved[done + 2], moved[done + 3]
            row0, row1 = pool.gram[slot[done]], pool.gram[slot[done + 1]]
            row2, row3 = pool.gram[slot[done + 2]], pool.gram[slot[done + 3]]
            for q in range(gradient.shape[0]):
                gradient[q] += c0 * row0[q] + c1 * row1[q] + c2 * row2[q] + c3 * row3[q]
            moved[done : done + 4] = 0.0
            done += 4
    for i in range(done, k):
        account(problem, active, i, pool, size, cost)
    if pool.gram.shape[0] == 0:
        for q in range(size):
            if pool.open[q]:
                pool.gradient[q] = path_cost(cost, pool.paths, q)


@leaf
def choose(problem, pool, size, limit, candidates, chosen):
    """Types of the pool that cost less than `limit`, the cheapest first, without those that are like one before; how many."""
    found = 0
    for q in range(size):
        if pool.open[q] and pool.gradient[q] < limit:
            at = found
            if found == candidates.shape[0]:
                at -= 1
                if pool.gradient[q] >= pool.gradient[candidates[at]]:
                    continue
            while at > 0 and pool.gradient[candidates[at - 1]] > pool.gradient[q]:
                candidates[at] = candidates[at - 1]
                at -= 1
            candidates[at] = q
            found = min(found + 1, candidates.shape[0])
    count = 0
    for c in range(found):
        path = pool.paths[candidates[c]]
        alike = False
        for t in range(count):
            other = pool.paths[chosen[t]]
            common = gram_entry(problem.table, path, other)
            alike = alike or common > _ALIKE * gram_entry(problem.table, other, other)
        if not alike:
            chosen[count] = candidates[c]
            count += 1
            if count == chosen.shape[0]:
                break
    return count


@kernel
def improve(problem, active, pool, size, cost, nu, least, share, most_steps, bold):
    """Steps on the active set after `measure`, with a pool of `size` types.

    Types enter from the pool until none is violated by a good share of the worst at first, or by `least`. The capacity must
    hold the active set, the pool and `ENTERING` more, so that what happens does not depend on it. Returns the steps taken. On a
    graph the cost table moves along.
    """
    batch = ENTERING
    entering = np.empty((batch, active.paths.shape[0]))
    candidates, chosen = np.empty(_CANDIDATES, np.int64), np.empty(batch, np.int64)
    whole = np.empty(size, np.int32)
    weight = np.empty(active.paths.shape[1])
    keeps_gram = pool.gram.shape[0] > 0
    if keeps_gram:
        gram_rows(problem, active, np.int64(0), active.count[0], pool, size, whole)
    nu, steps = descend(problem, active, pool, size, cost, nu, bold)
    price_pool(problem, active, pool, size, cost)
    goal = least
    first = True
    while steps < most_steps and active.count[0] + batch <= active.paths.shape[0]:
        k = active.count[0]
        found = choose(problem, pool, size, nu - goal, candidates, chosen)
        if found == 0:
            break
        if first:
            first = False
            goal = max(least, share * (nu - pool.gradient[chosen[0]]))
        for t in range(found):
            if keeps_gram:
                for i in range(k):
                    entering[t, i] = pool.gram[active.slot[i], chosen[t]] + problem.ridge
            else:
                matrix_row(problem, pool.paths[chosen[t]], active, np.int64(0), k, weight, entering[t])
        for t in range(found, batch):
            entering[t, :k] = 0.0
        for t in range(0, found, 4):
            if found - t > 1:
                solve_forward_4(active.factor, active.start, k, entering[t : t + 4])
            else:
                solve_forward(active.factor, active.start, np.int64(0), k, entering[t])
        added = 0
        for t in range(found):
            q = chosen[t]
            here = active.count[0]
            path = pool.paths[q]
            matrix_row(problem, path, active, k, here, weight, entering[t])
            solve_forward(active.factor, active.start, k, here, entering[t])
            diagonal = gram_entry(problem.table, path, path) + problem.ridge
            if insert(active, path, entering[t], diagonal, nu - pool.gradient[q], 0.0, problem.pivot * diagonal):
                if keeps_gram:
                    gram_rows(problem, active, here, here + 1, pool, size, whole)
                added += 1
            else:
                pool.open[q] = False
        if added:
            before = nu
            nu, more = descend(problem, active, pool, size, cost, nu, bold)
            steps += more
            price_pool(problem, active, pool, size, cost)
            if nu == before and active.count[0] == k:
                # All of them left again without a step: the violations are rounding.
                for t in range(found):
                    pool.open[chosen[t]] = False
    normalise(problem, active)
    pack_rows(active.factor, active.start, active.count[0])
    return steps


@kernel
def start_from(problem, active, paths, lam):
    """Make these types active, four rows of the factor at a time; those that depend on others are left out."""
    active.count[0] = 0
    for i in range(active.free.shape[0]):
        active.free[i] = i
    block = np.empty((4, active.paths.shape[0]))
    weight = np.empty(active.paths.shape[1])
    for first in range(0, paths.shape[0], 4):
        found = min(4, paths.shape[0] - first)
        k = active.count[0]
        for t in range(4):
            if t < found:
                matrix_row(problem, paths[first + t], active, np.int64(0), k, weight, block[t])
            else:
                for i in range(k):
                    block[t, i] = 0.0
        solve_forward_4(active.factor, active.start, k, block)
        for t in range(found):
            path = paths[first + t]
            here = active.count[0]
            matrix_row(problem, path, active, k, here, weight, block[t])
            solve_forward(active.factor, active.start, k, here, block[t])
            diagonal = gram_entry(problem.table, path, path) + problem.ridge
            insert(active, path, block[t], diagonal, 0.0, lam[first + t], problem.pivot * diagonal)
    normalise(problem, active)
    active.fresh[0] = 1


@kernel
def measure(problem, active, cost, cheapest, most_mass, goal):
    """Measure r for a fresh cost table and bring e = L^{-1} r up to date; the gap <g, rho> - cheapest, and nu.

    `most_mass` bounds the sum of the probabilities of a type. Nothing is done where the gap is within `goal`.
    """
    k = active.count[0]
    own = active.carried[1]
    nu = mass = 0.0
    for i in range(k):
        own[i] = path_cost(cost, active.paths, i)
        nu += active.weights[i] * own[i]
        mass += active.weights[i]
    gap = nu - cheapest
    if problem.ridge == 0.0:
        # A stand-in for the certificate, which needs the probabilities: those of this mixture add up to at most mass most_mass.
        gap = abs(nu) - max(mass, 1.0) * most_mass * min(0.0, cheapest)
        nu = 0.0
    if gap <= goal:
        return gap, nu
    worst = 0.0
    for i in range(k):
        own[i] = nu - own[i]
        active.moved[i] = 0.0
        worst = max(worst, abs(own[i]))
    # After a full step r is zero but for rounding. Where it is not small against the gap aimed at, the factor has lost accuracy.
    if worst > 0.05 * gap and active.fresh[0] == 0 and k > 1:
        start_from(problem, active, active.paths[:k].copy(), active.weights[:k].copy())
        k = active.count[0]
        for i in range(k):
            own[i] = nu - path_cost(cost, active.paths, i)
    else:
        active.fresh[0] = 0
    solve_forward(active.factor, active.start, np.int64(0), k, own)
    return gap, nu


@leaf
def price_cut(price, best, bound, limit):
    """The highest price, up to `bound`, that no more than `limit` are within, to a thousandth of what lies between."""
    low, cut = best, bound
    for _ in range(10):
        count = 0
        for i in range(price.shape[0]):
            if price[i] <= cut:
                count += 1
        if count > limit:
            bound = cut
        elif cut == bound:
            break
        else:
            low = cut
        cut = 0.5 * (low + bound)
    return cut
