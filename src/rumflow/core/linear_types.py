"""What linear utilities choose: the cells into which menus of points divide all directions.

A direction b of R^k takes from every menu the point x with the largest <b, x>. The directions that take the same points form a
cone, bounded by hyperplanes <b, x - y> = 0, x and y of one menu. Let the differences span R^k (else only their span matters, and
it is taken instead). Then no cone holds a line: the differences of the point taken to the others span those of its menu. So every
cone with inner points has an extreme ray v, on which k - 1 independent differences of points that are best together vanish. Near
v the menus with one best point choose as at v. The others choose among the points that are best at v, by what is orthogonal to
v: the same problem in k - 1 dimensions. With one dimension there are two directions.

So all cones are found from the rays on which k - 1 of the N hyperplanes meet, C(N, k - 1) lines. Where exactly k - 1 hyperplanes
part the best points, two at a time, all 2^(k - 1) combinations of sides exist, and no smaller problem has to be solved.

A known sign of a coefficient, <h, b> > 0, is a menu {h, 0} from which h must be taken.

Numbers: attributes are divided by their range, differences by their length; a ray is on a hyperplane where their product is at
most `TIE`. Cones narrower than that are boundaries, which have no weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Ints, Mask, Paths
from rumflow.core.patience import check_patience

#: Cosines below this are 0; hyperplanes whose lines are determined less well than `FLAT` do not meet in one.
TIE, FLAT = 1e-9, 1e-6

_AT_ONCE = 4_000_000  # comparisons of points that are held at a time
_LOOK = 50  # rays between two looks at the clock
_SAMPLE = 2_000  # lines from which the number of cones is estimated


class Directions(NamedTuple):
    """A problem: menus of points, whose differences span the space."""

    points: Array  # (cells, k)
    start: Ints  # (menus + 1,): the points of menu j are start[j] .. start[j + 1] - 1
    forced: Mask  # (menus,): must its first point be taken?
    normals: Array  # (N, k): unit vectors of the different hyperplanes
    plane: Ints  # (cells, width - 1): the hyperplanes between a point and the others of its menu; N where there is no other
    side: Paths  # (cells, width - 1): 1 where the point is the better one on the side of the normal, -1 on the other

    @property
    def n_lines(self) -> int:
        """Number of lines in which hyperplanes can meet."""
        return comb(len(self.normals), max(self.points.shape[1], 1) - 1)

    @property
    def work(self) -> int:
        """How many comparisons of two points all lines take."""
        return 2 * self.n_lines * self.plane.size


def make_directions(points: Array, start: Ints, signs: Ints) -> Directions:
    """The problem of menus of points, all different, for directions with these signs (k,): 1, -1, or 0 for any."""
    scale = np.ones(points.shape[1])
    first, second = pairs_within(start)
    if len(first):
        spread = np.abs(points[first] - points[second]).max(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
    halves = np.diag(signs)[signs != 0].astype(np.float64)
    added = np.stack([halves, np.zeros_like(halves)], axis=1).reshape(-1, points.shape[1])
    more = start[-1] + 2 * (1 + np.arange(len(halves)))
    forced = np.repeat([False, True], [len(start) - 1, len(halves)])
    return _prepare(np.vstack([points / scale, added]), np.concatenate([start, more]).astype(np.int64), forced)


def pairs_within(start: Ints) -> tuple[Ints, Ints]:
    """All pairs of places of the same menu, the first before the second."""
    sizes = np.diff(start)
    pairs = [np.triu_indices(size, 1) for size in sizes.tolist()]
    empty = np.zeros(0, np.int64)
    first = [begin + one for begin, (one, _) in zip(start, pairs, strict=False)]
    second = [begin + two for begin, (_, two) in zip(start, pairs, strict=False)]
    return np.concatenate([empty, *first]), np.concatenate([empty, *second])


def _prepare(points: Array, start: Ints, forced: Mask) -> Directions:
    """Hyperplanes of the menus, in the space that the differences span."""
    first, second = pairs_within(start)
    normals = points[first] - points[second]
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    if len(normals):
        _, values, axes = np.linalg.svd(normals, full_matrices=False)
        rank = int((values > FLAT * values[0]).sum())
        if rank < points.shape[1]:
            points, normals = points @ axes[:rank].T, normals @ axes[:rank].T
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    distinct, number, sign = _distinct(normals)
    width = int(np.diff(start).max())
    plane = np.full((len(points), max(width - 1, 1)), len(distinct))
    side = np.ones(plane.shape, np.int32)
    begin = np.repeat(start[:-1], np.diff(start))
    plane[first, second - begin[second] - 1] = number
    side[first, second - begin[second] - 1] = sign
    plane[second, first - begin[first]] = number
    side[second, first - begin[first]] = -sign
    return Directions(points, start, forced, distinct, plane, side)


def _distinct(normals: Array) -> tuple[Array, Ints, Paths]:
    """Normals that differ also by sign; the number of each, and the sign by which it differs."""
    k = normals.shape[1]
    along = normals @ np.random.default_rng(0).normal(size=k)  # a direction that no normal is orthogonal to
    sign = np.where(along < 0, -1, 1).astype(np.int32)
    own = normals * sign[:, None]
    order = np.argsort(np.abs(along), kind="stable")
    new = np.ones(len(order), np.bool_)
    new[1:] = np.abs(np.diff(own[order], axis=0)).max(axis=1, initial=0.0) > TIE
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    return own[order[new]], number, sign


def count_directions(problem: Directions) -> float:
    """About how many cones there are, from a sample of lines where there are many.

    Sort the cones by their lowest ray. A ray where k - 1 hyperplanes cross is the lowest of one of the 2^(k - 1) cones around it,
    so there are about as many cones as such rays.
    """
    n, k = problem.normals.shape
    if k < 2:
        return 2.0
    rng = np.random.default_rng(0)
    subsets = np.sort(np.array([rng.choice(n, k - 1, replace=False) for _ in range(_SAMPLE)]), axis=1)
    total = 0.0
    lines = _lines(problem.normals[subsets])
    for rays in (lines, -lines):
        top, crossing = _best(problem, rays)
        found = _crossings(problem, rays, top, crossing)
        total += len(np.unique(found.ray))
        for vertex in found.others:
            through = int((np.abs(problem.normals @ rays[vertex]) <= TIE).sum())
            total += 1.0 / comb(through, k - 1)  # so many subsets meet in the same ray
    return max(2.0, total / _SAMPLE * problem.n_lines)


def choose_directions(problem: Directions, look: Callable[[], None] = check_patience) -> Paths:
    """(types, menus): the place in its menu of the point that each cone takes, different rows in order.

    look   called now and then; may raise.
    """
    m, (n, k) = len(problem.start) - 1, problem.normals.shape
    if n == 0:
        return np.zeros((1, m), np.int32)
    if k == 1:
        top, _ = _best(problem, np.array([[1.0], [-1.0]]))
        return unique_rows(_places(problem, top))
    found: list[Paths] = []
    many: list[Array] = []
    step = max(1, _AT_ONCE // problem.plane.size)
    for subsets in _subsets(n, k - 1, step):
        look()
        lines = _lines(problem.normals[subsets])
        for rays in (lines, -lines):
            top, crossing = _best(problem, rays)
            own = _crossings(problem, rays, top, crossing)
            found.append(_combinations(problem, top, own))
            many.append(rays[own.others])
    rays = np.vstack(many)
    if len(rays):
        _, kept = np.unique(np.round(rays, 7) + 0.0, axis=0, return_index=True)
        for number, ray in enumerate(rays[kept]):
            if number % _LOOK == 0:
                look()
            found.append(_around(problem, ray))
    return unique_rows(np.vstack(found))


def unique_rows(rows: Paths) -> Paths:
    """Different rows, in order."""
    if len(rows) == 0:
        return rows
    small = np.ascontiguousarray(rows.astype(">u2"))
    _, kept = np.unique(small.view([("", f"V{2 * small.shape[1]}")]).reshape(-1), return_index=True)
    return rows[kept]


def _subsets(n: int, size: int, step: int) -> Iterator[Ints]:
    """All subsets of so many of n numbers, as rows in pieces of at most `step` (or a little more)."""
    if size == 1:
        for begin in range(0, n, step):
            yield np.arange(begin, min(begin + step, n))[:, None]
        return
    for rest in _subsets(n, size - 1, max(1, step // n)):
        # Behind the last number of each row, every larger one.
        times = n - 1 - rest[:, -1]
        if times.sum():
            before = np.cumsum(times) - times
            last = np.arange(times.sum()) - np.repeat(before - rest[:, -1] - 1, times)
            yield np.column_stack([np.repeat(rest, times, axis=0), last])


def _lines(planes: Array) -> Array:
    """(lines, k): unit vectors orthogonal to k - 1 normals each, by minors; without those that are not determined."""
    k = planes.shape[2]
    minors = np.stack([np.linalg.det(np.delete(planes, i, axis=2)) * (-1) ** i for i in range(k)], axis=1)
    volume = np.linalg.norm(minors, axis=1)
    minors = minors[volume > FLAT] / volume[volume > FLAT, None]
    return np.asarray(minors, np.float64)


def _best(problem: Directions, rays: Array) -> tuple[Mask, Ints]:
    """(rays, cells): the best points of every menu; and (crossing,): rays on which k - 1 hyperplanes may part best points."""
    product = rays @ problem.normals.T
    sign = np.zeros((len(rays), len(problem.normals) + 1), np.int8)
    sign[:, :-1] = np.where(np.abs(product) <= TIE, 0, np.sign(product))
    top = np.ones((len(rays), len(problem.points)), np.bool_)
    for plane, side in zip(problem.plane.T, problem.side.T, strict=True):
        top &= sign[:, plane] * side.astype(np.int8) >= 0
    inside = top[:, problem.start[:-1][problem.forced]].all(axis=1)
    ties = top.sum(axis=1) - (len(problem.start) - 1)
    return top, np.flatnonzero(inside & (ties >= problem.points.shape[1] - 1))


class Crossings(NamedTuple):
    """Rays where exactly k - 1 hyperplanes cross, each parting two best points of some menus; and others to be looked at."""

    ray: Ints  # (ties,): number of the ray
    menu: Ints  # a menu with two best points
    one: Ints  # the first of them
    two: Ints
    turn: Paths  # 1 where the first is better on the side of the normal
    which: Ints  # which of the k - 1 hyperplanes of the ray it is
    others: Ints  # rays


def _crossings(problem: Directions, rays: Array, top: Mask, crossing: Ints) -> Crossings:
    """Tell rays where hyperplanes cross one by one from others."""
    start, k = problem.start, problem.points.shape[1]
    count = np.add.reduceat(top[crossing], start[:-1], axis=1, dtype=np.int64)
    few = (count <= 2).all(axis=1)
    row, menu = np.nonzero(count[few] == 2)
    ray = crossing[few][row]
    tied = top[crossing[few]] & np.repeat(count[few] == 2, np.diff(start), axis=1)
    one, two = np.nonzero(tied)[1].reshape(-1, 2).T
    plane = problem.plane[one, two - start[menu] - 1]
    turn = problem.side[one, two - start[menu] - 1]
    different, place = np.unique(ray * np.int64(len(problem.normals)) + plane, return_inverse=True)
    owner = different // len(problem.normals)
    number = np.bincount(owner, minlength=len(rays))
    first = np.searchsorted(owner, np.arange(len(rays)))
    exact = np.flatnonzero(number == k - 1)
    own = different[first[exact][:, None] + np.arange(k - 1)] % len(problem.normals)
    square = np.concatenate([problem.normals[own], rays[exact][:, None]], axis=1)
    exact = exact[np.abs(np.linalg.det(square)) > FLAT]
    kept = np.isin(ray, exact)
    others = np.concatenate([crossing[~few], np.flatnonzero(number > k - 1)])
    which = place.reshape(-1) - first[ray]
    return Crossings(ray[kept], menu[kept], one[kept], two[kept], turn[kept], which[kept], others)


def _combinations(problem: Directions, top: Mask, found: Crossings) -> Paths:
    """What is taken on every combination of sides around the rays where hyperplanes cross."""
    k = problem.points.shape[1]
    rays, row = np.unique(found.ray, return_inverse=True)
    base = _places(problem, top[rays])
    tables = []
    for sides in range(1 << (k - 1)):
        table = base.copy()
        positive = (sides >> found.which & 1 == 1) == (found.turn == 1)
        table[row, found.menu] = np.where(positive, found.one, found.two) - problem.start[found.menu]
        tables.append(_allowed(problem, table))
    return unique_rows(np.vstack(tables))


def _places(problem: Directions, top: Mask) -> Paths:
    """The place in every menu of the first of the best points, where forced menus allow it."""
    start = problem.start
    place = np.arange(start[-1]) - np.repeat(start[:-1], np.diff(start))
    worst = np.where(top, place, np.iinfo(np.int32).max)
    found = np.minimum.reduceat(worst, start[:-1], axis=1).astype(np.int32)
    return _allowed(problem, found)


def _allowed(problem: Directions, places: Paths) -> Paths:
    """The rows that take the first point of menus from which it must be taken."""
    kept: Paths = places[(places[:, problem.forced] == 0).all(axis=1)]
    return kept


def _around(problem: Directions, ray: Array) -> Paths:
    """What is taken around a ray: the same problem among the best points, orthogonal to it."""
    top = _best(problem, ray[None])[0][0]
    start, k = problem.start, problem.points.shape[1]
    count = np.add.reduceat(top, start[:-1], dtype=np.int64)
    tied = np.flatnonzero(count > 1)
    cells = np.flatnonzero(top & np.repeat(count > 1, np.diff(start)))
    axes = np.linalg.svd(ray[None])[2][1:]
    begin = np.concatenate([[0], np.cumsum(count[tied])]).astype(np.int64)
    points = problem.points[cells] @ axes.T
    rest = np.delete(points - np.repeat(points[begin[:-1]], count[tied], axis=0), begin[:-1], axis=0)
    rest /= np.linalg.norm(rest, axis=1, keepdims=True)
    if np.linalg.svd(rest, compute_uv=False)[k - 2 :].max(initial=0.0) <= FLAT:
        return np.zeros((0, len(start) - 1), np.int32)  # inside a face: other rays have the same cones around them
    if len(rest) == k - 1:  # all differences are independent, so every combination of best points is taken
        local = np.indices(count[tied].tolist(), np.int32).reshape(len(tied), -1).T
    else:
        local = choose_directions(_prepare(points, begin, problem.forced[tied]))
    found = np.repeat(_places(problem, top[None]), len(local), axis=0)
    found[:, tied] = cells[begin[:-1] + local] - start[tied]
    return _allowed(problem, found)
