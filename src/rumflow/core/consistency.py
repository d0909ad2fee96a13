"""How nearly the choices of one person follow a ranking, and how nearly purchases follow a utility.

*Choices from menus.* A choice of x from A is *consistent* with a ranking that has x above the rest of A. Build a ranking from the
bottom: E is what is placed so far and x goes on top of E. Then (A, x) is consistent where A is in E + x, and the items of A that
are above x are those outside E + x, so with the best value of E from those of E - x

    hm[E]    = max over x of  hm[E - x] + choices (A, x) with A in E            largest number that one ranking makes
    swaps[E] = min over x of  swaps[E - x] + sum over y outside E of w(x, y)     items passed over, over all choices

where w(x, y) is how often x was taken from a menu with y (Houtman and Maks 1985; Apesteguia and Ballester 2015). Items that are
in no cycle of w cost nothing and are placed by it: only strongly connected sets of items are searched, each by itself.

*Purchases* q_t at prices p_t. At efficiency e, t is revealed at least as good as s where e p_t q_t >= p_t q_s, better where >.
Afriat's index is the largest e up to which no chain leads back to something better. Between two neighbouring ratios
p_t q_s / p_t q_t nothing changes, so it is one of these, found by bisection.
"""

from __future__ import annotations

import numpy as np

from rumflow.core.compile import kernel, leaf

#: Items in one strongly connected set that are searched; 2^24 sets of them are looked at.
MOST_ITEMS = 24


@leaf
def close_relation(relation, n):
    """The transitive closure of a relation, in place."""
    for k in range(n):
        for i in range(n):
            if relation[i, k]:
                for j in range(n):
                    relation[i, j] |= relation[k, j]


@kernel
def count_cycles(wins, n):
    """Directed cycles of two and of three items."""
    count = 0
    for i in range(n):
        for j in range(n):
            if wins[i, j] <= 0.0:
                continue
            if i < j and wins[j, i] > 0.0:
                count += 1
            for k in range(n):
                if i < j and i < k and wins[j, k] > 0.0 and wins[k, i] > 0.0:
                    count += 1
    return count


@kernel
def search_set(members, wins, masks, chosen, weight, count):
    """The most choices that a ranking of some items makes, and the fewest swaps.

    members   the items, at most 24; `masks` (count,) and `chosen` are the choices, as bits and places among these items.
    """
    s = members.shape[0]
    most, fewest = np.zeros(1 << s), np.zeros(1 << s)
    for placed in range(1, 1 << s):
        best, least = -1.0, np.inf
        for x in range(s):
            if not (placed >> x) & 1:
                continue
            passed = 0.0
            for y in range(s):
                if not (placed >> y) & 1:
                    passed += wins[members[x], members[y]]
            gain = 0.0
            for c in range(count):
                if chosen[c] == x and (masks[c] & ~placed) == 0:
                    gain += weight[c]
            rest = placed ^ (1 << x)
            best = max(best, most[rest] + gain)
            least = min(least, fewest[rest] + passed)
        most[placed], fewest[placed] = best, least
    return most[-1], fewest[-1]


@kernel
def score_choices(start, item, first, menu, choice, weight, n_items, scores):
    """Scores of persons, (persons, 4): choices, most consistent ones, swaps, cycles; NaN where too many items are tangled.

    start, item     the items of menu j are item[start[j] : start[j + 1]].
    first           the choices of person i are those from first[i] to first[i + 1] - 1.
    """
    local = np.full(n_items, -1)
    for person in range(first.shape[0] - 1):
        low, high = first[person], first[person + 1]
        n, total = 0, 0.0
        for c in range(low, high):
            total += weight[c]
            for t in range(start[menu[c]], start[menu[c] + 1]):
                if local[item[t]] < 0:
                    local[item[t]] = n
                    n += 1
        wins = np.zeros((n, n))
        for c in range(low, high):
            x = local[choice[c]]
            for t in range(start[menu[c]], start[menu[c] + 1]):
                if local[item[t]] != x:
                    wins[x, local[item[t]]] += weight[c]
        above = wins > 0.0
        close_relation(above, n)
        lost, swaps = 0.0, 0.0
        done = np.zeros(n, np.bool_)
        for u in range(n):
            if done[u] or not above[u, u]:
                continue
            members = np.flatnonzero(above[u] & above[:, u])
            done[members] = True
            if members.shape[0] > MOST_ITEMS:
                lost = swaps = np.nan
                break
            place = np.full(n, -1)
            for k in range(members.shape[0]):
                place[members[k]] = k
            masks, chosen, own = np.zeros(high - low, np.int64), np.zeros(high - low, np.int64), np.zeros(high - low)
            count, inside = 0, 0.0
            for c in range(low, high):
                x = place[local[choice[c]]]
                if x < 0:
                    continue
                mask = 0
                for t in range(start[menu[c]], start[menu[c] + 1]):
                    if place[local[item[t]]] >= 0:
                        mask |= 1 << place[local[item[t]]]
                masks[count], chosen[count], own[count] = mask, x, weight[c]
                inside += weight[c]
                count += 1
            most, fewest = search_set(members, wins, masks, chosen, own, count)
            lost, swaps = lost + inside - most, swaps + fewest
        scores[person, 0], scores[person, 1], scores[person, 2] = total, total - lost, swaps
        scores[person, 3] = count_cycles(wins, n)
        for c in range(low, high):
            for t in range(start[menu[c]], start[menu[c] + 1]):
                local[item[t]] = -1


@kernel
def obeys(ratio, efficiency):
    """Does no chain of purchases lead back to something better, at this efficiency? ratio[t, s] = p_t q_s / p_t q_t."""
    n = ratio.shape[0]
    relation = ratio <= efficiency
    close_relation(relation, n)
    for t in range(n):
        for s in range(n):
            if relation[t, s] and ratio[s, t] < efficiency:
                return False
    return True


@kernel
def afriat_index(ratio):
    """The largest efficiency at which purchases obey the axiom; the diagonal of `ratio` is 1."""
    ends = np.unique(np.minimum(ratio.copy().reshape(-1), 1.0))
    if obeys(ratio, 1.0):
        return 1.0
    low, high = -1, ends.shape[0]  # the axiom holds just below ends[low], and not just below ends[high]
    while high - low > 1:
        middle = (low + high) // 2
        below = ends[middle - 1] if middle > 0 else 0.0
        if obeys(ratio, 0.5 * (below + ends[middle])):
            low = middle
        else:
            high = middle
    return ends[low] if low >= 0 else 0.0


@kernel
def score_purchases(first, prices, quantities, scores):
    """Afriat's index of persons, (persons,): purchases first[i] to first[i + 1] - 1 are those of person i."""
    for person in range(first.shape[0] - 1):
        low, high = first[person], first[person + 1]
        cost = prices[low:high] @ quantities[low:high].T
        ratio = np.empty_like(cost)
        for t in range(high - low):
            for s in range(high - low):
                ratio[t, s] = 1.0 if s == t else cost[t, s] / cost[t, t]
        scores[person] = afriat_index(ratio)
