"""Every function against enumeration: small random data sets, all rankings listed, NNLS and HiGHS in place of our solvers.

    python -m studies.experiments.oracle --problems 20000 --seed 0 --out studies/results/oracle.csv

A data set has two to five items and up to eight menus: counts of one or two, of hundreds, or up to 1e12, many of them 0; menus
recorded in part; weights of cells, of menus, and 0 on all menus of a group of items. Each question to a function is a problem.
What counts as wrong is derived, not tuned: our objective must lie between two bounds of the oracle (that of its own mixture and
what its dual prices leave, up to rounding); no ranking may cost more than the certificate of the likelihood says; bounds on a
menu are those of a linear programme; and conflicts must be conflicts. The file has one row per function.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from itertools import combinations, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls

import rumflow as rf
from rumflow.core.arrays import Array
from studies.experiments.files import write_csv

_HEAVY = 1e3  # how much more than a cell it counts that weights add up to 1, before they are made to
_LOOSE = 1e-7  # of the objective: the rounding of NNLS
_NOTHING, _ROUNDING = 1e-12, 1e-28  # objectives that are not rational, and that are


class Case(NamedTuple):
    """A data set and what each ranking takes of its cells."""

    data: rf.ChoiceData
    weights: Array  # (m, n); 0 outside the menus and on what was not recorded
    takes: Array  # (rankings, cells): of the recorded cells, menu by menu
    recorded: Array  # (m, n)

    @property
    def shares(self) -> Array:
        """Of the recorded cells."""
        shares: Array = (self.data.counts / self.data.totals[:, None])[self.recorded]
        return shares


def draw_case(rng: np.random.Generator) -> Case:
    """A random data set with weights."""
    n = int(rng.integers(2, 6))
    whole = [menu for size in range(2, n + 1) for menu in combinations(range(n), size)]
    if n >= 4 and rng.random() < 0.4:  # two groups of items that share no menu
        whole = [menu for menu in whole if len({x < 2 for x in menu}) == 1]
    menus = [whole[k] for k in rng.permutation(len(whole))[: int(rng.integers(1, 9))]]
    inside = np.zeros((len(menus), n), np.bool_)
    for row, menu in zip(inside, menus, strict=True):
        row[list(menu)] = True
    size, empty = rng.choice([0.4, 2.0, 4.0, 12.0]), rng.choice([0.0, 0.3, 0.7])
    counts = np.floor(10 ** rng.uniform(0, size, inside.shape)) * (rng.random(inside.shape) >= empty)
    counts[np.arange(len(menus)), inside.argmax(axis=1)] += 1
    counts[~inside] = np.nan
    totals = np.nansum(counts, axis=1)
    if rng.random() < 0.25:
        for row, menu in zip(counts, menus, strict=True):
            row[[x for x in menu[1:] if rng.random() < 0.4]] = np.nan
    data = rf.ChoiceData(tuple("abcde"[:n]), inside, counts, totals)
    recorded = ~np.isnan(data.counts)
    weights = np.ones(recorded.shape)
    if rng.random() < 0.7:
        spread = rng.choice([0.0, 1.0, 2.0])
        weights = 10 ** rng.uniform(-spread, spread, (len(menus), 1 if rng.random() < 0.5 else n)) * weights
    if rng.random() < 0.5:
        off = np.asarray(data.membership[:, :2].any(axis=1) if n >= 4 else rng.random(len(menus)) < 0.5)
        weights = np.where(off[:, None], 0.0, weights) if not off.all() else weights
    weights = np.where(recorded, weights, 0.0)
    rankings = list(permutations(range(n)))
    best = [[next(x for x in order if row[x]) for row in data.membership] for order in rankings]
    menu, item = np.nonzero(recorded)
    takes = (np.array(best)[:, menu] == item).astype(np.float64)
    return Case(data, weights, takes, recorded)


def nearest(takes: Array, shares: Array, w: Array) -> tuple[float, float]:
    """Two numbers between which the least 1/2 sum w (rho - shares)^2 over mixtures of rankings lies."""
    root = np.sqrt(w / w.max())
    rows = np.vstack([root[:, None] * takes.T, np.full(len(takes), _HEAVY)])
    mixture = nnls(rows, np.append(root * shares, _HEAVY), maxiter=10_000)[0]
    mixture /= mixture.sum()
    rho = mixture @ takes
    slope = w * (rho - shares)
    upper = 0.5 * float(slope @ (rho - shares))
    return max(upper - float(slope @ rho - (takes @ slope).min()), 0.0), upper


def _agrees(case: Case, objective: float, gap: float) -> str:
    """What is wrong with an objective; nothing, as a rule."""
    w = case.weights[case.recorded]
    lower, upper = nearest(case.takes, case.shares, w)
    slack = gap + _LOOSE * upper + 1e-12 * float(w.sum())
    return "" if lower - slack <= objective <= upper + slack else f"{objective!r} is not within {lower!r} and {upper!r}"


def ask_project(case: Case, route: str | None, rng: np.random.Generator) -> str:
    """`project`: its objective, and that its rankings are a mixture with its probabilities."""
    if not case.weights[case.data.membership.sum(axis=1) > 1].any():
        return ""
    fit = rf.project(case.data, case.weights, route=route, max_seconds=20 if route == "bounded" else None, throw=False)
    if fit.status is not rf.Status.OPTIMAL and route != "bounded":
        return f"status {fit.status}"
    n = case.data.n
    place = {order: k for k, order in enumerate(permutations(range(n)))}
    rho = np.zeros(case.takes.shape[1])
    for order, share in zip(fit.rankings.orders.tolist(), fit.rankings.weights, strict=True):
        rho += share * case.takes[place[tuple(order)]]
    if np.abs(rho - fit.fitted[case.recorded]).max() > 1e-9 or abs(fit.rankings.weights.sum() - 1) > 1e-9:
        return "its rankings have other probabilities than the fit"
    return _agrees(case, fit.objective, fit.gap)


def ask_many(case: Case, rng: np.random.Generator) -> str:
    """`project_many`: a stack of two."""
    batch = rf.project_many([case.data, case.data], case.weights, throw=False)
    return next((wrong for k in range(2) if (wrong := _agrees(case, batch.objective[k], batch.gap[k]))), "")


def ask_test(case: Case, rng: np.random.Generator) -> str:
    """`rum_test`: its statistic is N times the squared distance, N the choices from menus that were not left out."""
    route = (None, "graph", "lattice")[int(rng.integers(3))]
    test = rf.rum_test(case.data, 1, weights=case.weights, seed=0, threads=1, route=route)
    menus, gone = case.data.menus, set(test.left_out.menus)
    size = sum(n for menu, n in zip(menus, case.data.totals.tolist(), strict=True) if menu not in gone)
    return _agrees(case, test.statistic / (2 * size), 1e-9 * float(case.weights.sum()))


def ask_membership(case: Case, rng: np.random.Generator) -> str:
    """`is_rum`: yes only where the distance is next to nothing, and no only where it is not."""
    lower, upper = nearest(case.takes, case.shares, case.recorded[case.recorded].astype(np.float64))
    rational = rf.is_rum(case.data)
    if rational and lower > _NOTHING:
        return f"said to be rational, at a squared distance above {2 * lower:g}"
    return (
        f"said not to be rational, at a squared distance below {2 * upper:g}"
        if not rational and upper < _ROUNDING
        else ""
    )


def _least(cost: Array, above: Array, limit: Array) -> float:
    """The least <cost, x> over mixtures x with above x <= limit. Where HiGHS finds none after its presolve, without it."""
    solver: Any = linprog
    for presolve in (True, False):
        options = {"presolve": presolve}
        found = solver(cost, above, limit, np.ones((1, len(cost))), [1.0], method="highs", options=options)
        if found.status == 0:
            return float(found.fun)
    raise RuntimeError(f"HiGHS: {found.message}")


def ask_bounds(case: Case, rng: np.random.Generator) -> str:
    """`bounds` at the fit, against the linear programme over all rankings."""
    n = case.data.n
    menu = [int(x) for x in np.sort(rng.permutation(n)[: int(rng.integers(2, n + 1))])]
    labels = tuple(case.data.items[x] for x in menu)
    found = rf.bounds(case.data, labels, weights=case.weights, confidence=None)
    rho = rf.project(case.data, case.weights).fitted[case.recorded]
    counts = case.weights[case.recorded] > 0
    first = np.array([next(x for x in order if x in menu) for order in permutations(range(n))])
    # The fit is a mixture up to rounding only.
    loose = 1e-7
    above = np.vstack([case.takes.T[counts], -case.takes.T[counts]])
    limit = np.concatenate([rho[counts] + loose, loose - rho[counts]])
    for x, label in zip(menu, labels, strict=True):
        target = (first == x).astype(np.float64)
        low, high = _least(target, above, limit), -_least(-target, above, limit)
        if not (abs(found[label][0] - low) < 1e-4 and abs(found[label][1] - high) < 1e-4):
            return f"{label} from {labels}: {found[label]} where enumeration gives {(low, high)}"
    return ""


def ask_explain(case: Case, rng: np.random.Generator) -> str:
    """`explain`: the menus of a conflict cannot be explained together, and can without any one of them."""
    found: Any = rf.explain(case.data, level=None, threads=1)
    rows = {menu: k for k, menu in enumerate(case.data.menus)}
    cell_menu = np.nonzero(case.recorded)[0]

    def far(menus: list[int]) -> tuple[float, float]:
        here = np.isin(cell_menu, menus)
        return nearest(case.takes[:, here], case.shares[here], np.ones(int(here.sum()))) if here.any() else (0.0, 0.0)

    for conflict in found.conflicts:
        menus = [rows[tuple(menu)] for menu in conflict.menus]
        if far(menus)[1] < _ROUNDING:
            return f"{conflict.menus} is no conflict"
        if any(far([k for k in menus if k != one])[0] > _NOTHING for one in menus):
            return f"{conflict.menus} is not irreducible"
    if not found.conflicts and far(list(rows.values()))[0] > _NOTHING:
        return "no conflict was found"
    return ""


def ask_likelihood(case: Case, route: str | None, rng: np.random.Generator) -> str:
    """`fit_likelihood`: converged, and no ranking costs more than N + gap at its point."""
    fit = rf.fit_likelihood(case.data, route=route, throw=False)
    size = float(case.data.totals.sum())
    if not (fit.converged and fit.gap <= max(1e-6, 64 * np.finfo(float).eps * size)):
        return f"gap {fit.gap:g} of {size:g} choices"
    if not case.recorded[case.data.membership].all():
        return ""
    counts, rho = case.data.counts[case.recorded], fit.fitted[case.recorded]
    price = case.takes[:, counts > 0] @ (counts / np.where(counts > 0, rho, 1.0))[counts > 0]
    return "" if price.max() <= size + fit.gap + fit.tol else f"a ranking costs {price.max() - size:g} more than N"


DOORS: dict[str, Callable[[Case, np.random.Generator], str]] = {
    "project, default": lambda case, rng: ask_project(case, None, rng),
    "project, lattice": lambda case, rng: ask_project(case, "lattice", rng),
    "project, graph": lambda case, rng: ask_project(case, "graph", rng),
    "project, bounded": lambda case, rng: ask_project(case, "bounded", rng),
    "project_many": ask_many,
    "rum_test": ask_test,
    "is_rum": ask_membership,
    "bounds": ask_bounds,
    "explain": ask_explain,
    "fit_likelihood": lambda case, rng: ask_likelihood(case, None, rng),
    "fit_likelihood, graph": lambda case, rng: ask_likelihood(case, "graph", rng),
}


def ask(seed: int, number: int) -> tuple[str, str]:
    """Which function problem `number` was put to, and what was wrong with the answer."""
    name = list(DOORS)[number % len(DOORS)]
    rng = np.random.default_rng([seed, number // len(DOORS)])
    case = draw_case(rng)
    try:
        return name, DOORS[name](case, rng)
    except Exception as error:  # whatever it is, it is no answer
        where = traceback.extract_tb(error.__traceback__)[-1]
        return name, f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"


def main(argv: list[str] | None = None) -> int:
    """Ask them all; 1 where something was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.oracle", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--problems", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--out", type=Path, metavar="FILE", help="counts by function")
    arguments = parser.parse_args(argv)
    rows: dict[str, dict[str, Any]] = {
        name: {"function": name, "seed": arguments.seed, "problems": 0, "wrong": 0, "seconds": 0.0} for name in DOORS
    }
    for number in range(arguments.first, arguments.first + arguments.problems):
        begin = time.process_time()
        name, wrong = ask(arguments.seed, number)
        row = rows[name]
        row["problems"] += 1
        row["wrong"] += bool(wrong)
        row["seconds"] = round(row["seconds"] + time.process_time() - begin, 3)
        if wrong:
            print(f"{number}, {name}: {wrong}", flush=True)
    total = sum(row["problems"] for row in rows.values())
    print(f"{total} problems, {sum(row['wrong'] for row in rows.values())} wrong")
    if arguments.out is not None:
        write_csv(arguments.out, list(rows.values()))
    return int(any(row["wrong"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
