"""Do `project`, `project_many` and the layer agree? Random problems of few items, one table line per family.

    python -m studies.experiments.agreement --number 20000 --seed 0 [--tol 1e-9] [--items 3 4 5 6 7 8]

Every problem goes through all three with the same tolerance. Their certificates bound how far the answers may be apart:

    |objective - objective'| <= gap + gap',      || rho - rho' ||_w <= sqrt(gap) + sqrt(gap')

up to rounding. Counted are rows that one of them solves and another gives up, and rows that break a bound; the exit code is 1
where there are any.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import torch

import rumflow as rf
from rumflow.core.arrays import Array, Mask
from rumflow.core.certificate import Certificate, certify
from rumflow.core.problem import NO_WEIGHTS, Problem, Stop
from rumflow.core.transforms import zeta
from rumflow.torch import project_cells
from rumflow.torch.cells import Cells

ROWS = 10  # problems that share their weights


class Stack(NamedTuple):
    """Problems over the same cells; `weights` None: 1 everywhere, 0: not observed."""

    data: Array  # (B, 2^n, n)
    weights: Array | None  # (2^n, n)


def _dirichlet(n: int, rng: np.random.Generator) -> Array:
    return rf.simulate.dirichlet(n, rng)


def _noisy(n: int, rng: np.random.Generator) -> Array:
    return rf.simulate.noisy_rankings(n, int(rng.integers(2, 60)), int(rng.choice([10, 100, 1000])), rng)


def _logit(n: int, rng: np.random.Generator) -> Array:
    return rf.simulate.mixed_logit(n, int(rng.integers(1, 6)), int(rng.choice([30, 300, 3000])), rng)


def _any(n: int, rng: np.random.Generator) -> Array:
    return (_dirichlet, _noisy, _logit)[int(rng.integers(3))](n, rng)


def _nearly(exact: Callable[[int, np.random.Generator], Array]) -> Callable[[int, np.random.Generator], Array]:
    def draw(n: int, rng: np.random.Generator) -> Array:
        array = exact(n, rng)
        inside = rf.Lattice(n).membership
        return np.where(inside, np.abs(array + 1e-14 * rng.normal(size=array.shape)), 0.0)

    return draw


def _few_rankings(n: int, rng: np.random.Generator) -> Array:
    return rf.simulate.rankings_mixture(n, int(rng.integers(1, 60)), rng)


def _exact_logit(n: int, rng: np.random.Generator) -> Array:
    return rf.simulate.mixed_logit(n, int(rng.integers(1, 6)), None, rng)


def _no_weights(n: int, rng: np.random.Generator) -> Array | None:
    return None


def _spread_weights(n: int, rng: np.random.Generator) -> Array:
    inside = rf.Lattice(n).membership
    return np.where(inside, 10.0 ** rng.uniform(-6.0, 6.0, inside.shape), 0.0)


def _mild_weights(n: int, rng: np.random.Generator) -> Array:
    inside = rf.Lattice(n).membership
    return np.where(inside, 10.0 ** rng.uniform(-1.0, 1.0, inside.shape), 0.0)


def _one_heavy(n: int, rng: np.random.Generator) -> Array:
    weights = rf.Lattice(n).membership.astype(float)
    menu, item = rf.Lattice(n).cells[rng.integers(n << (n - 1))]
    weights[menu, item] = 1e6
    return weights


def _seen(mask: Callable[..., Mask]) -> Callable[[int, np.random.Generator], Array]:
    def draw(n: int, rng: np.random.Generator) -> Array:
        weights = mask(n, float(rng.uniform(0.05, 0.95)), rng).astype(float)
        weights[1 << np.arange(n), np.arange(n)] = 1.0  # a menu of one item leaves no choice
        return weights

    return draw


_menus, _cells = _seen(rf.simulate.observed_menus), _seen(rf.simulate.observed_cells)


def _menus_spread(n: int, rng: np.random.Generator) -> Array:
    return _menus(n, rng) * _spread_weights(n, rng)


FAMILIES: dict[str, tuple[Callable[..., Array], Callable[..., Array | None]]] = {
    "dirichlet": (_dirichlet, _no_weights),
    "noisy rankings": (_noisy, _no_weights),
    "mixed logit, sampled": (_logit, _no_weights),
    "some menus": (_any, _menus),
    "some cells": (_any, _cells),
    "weights 0.1 to 10": (_any, _mild_weights),
    "weights 1e-6 to 1e6": (_any, _spread_weights),
    "some menus, 1e-6 to 1e6": (_any, _menus_spread),
    "one heavy cell": (_any, _one_heavy),
    "nearly few rankings": (_nearly(_few_rankings), _no_weights),
    "nearly mixed logit": (_nearly(_exact_logit), _no_weights),
    "nearly rational, some menus": (_nearly(_few_rankings), _menus),
    "nearly rational, weighted": (_nearly(_few_rankings), _mild_weights),
}


class Answer(NamedTuple):
    """What one way of asking says of one problem."""

    certificate: Certificate
    rho: Array  # internal layout
    solved: bool


def answers(stack: Stack, tol: float) -> Iterator[tuple[Answer, Answer, Answer]]:
    """By `project`, `project_many` and the layer."""
    n = stack.data.shape[2]
    lattice = rf.Lattice(n)
    w = stack.weights
    weights = NO_WEIGHTS if w is None else lattice.to_internal(w)
    unit = w is None or bool(np.isin(w, (0.0, 1.0)).all())
    hidden = lattice.membership & (np.zeros_like(lattice.membership) if w is None else w == 0)
    many = rf.project_many(stack.data, w, tol, throw=False)
    whole = torch.from_numpy(stack.data[:, lattice.cells[:, 0], lattice.cells[:, 1]])
    cells = Cells(n, None, w, all_menus=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of samples that rounding stopped: they are counted below
        flows = project_cells(whole, cells, tol=tol, return_flow=True)[1].numpy()
    for i, data in enumerate(stack.data):
        fit = rf.project(np.where(hidden, np.nan, data), None if unit else w, tol=tol, throw=False)
        one = Answer(fit.certificate, lattice.to_internal(fit.rho), fit.status == rf.Status.OPTIMAL)
        two = Answer(many.certificates[i], lattice.to_internal(many.rho[i]), many.status[i] == rf.Status.OPTIMAL)
        flow = lattice.cells_to_internal(flows[i])
        seen = certify(Problem(lattice.to_internal(data), weights), flow)
        rho = zeta(flow.copy())
        yield one, two, Answer(seen, rho, seen.is_optimal(Stop(tol)))


@dataclass
class Count:
    """One line of the table."""

    rows: int = 0
    project: int = 0  # given up by each
    many: int = 0
    layer: int = 0
    differ: int = 0  # solved by one, given up by another
    objective: int = 0  # rows whose objectives are further apart than their gaps
    rho: int = 0
    seconds: float = 0.0

    def add(self, three: tuple[Answer, Answer, Answer], weights: Array | None) -> None:
        """One more row, with its three answers."""
        solved = [answer.solved for answer in three]
        self.rows += 1
        self.project += not solved[0]
        self.many += not solved[1]
        self.layer += not solved[2]
        self.differ += len(set(solved)) > 1
        far_objective = far_rho = False
        for a in range(3):
            for b in range(a):
                one, two = three[a].certificate, three[b].certificate
                slack = max(one.floor, two.floor)
                far_objective |= abs(one.objective - two.objective) > one.gap + two.gap + slack
                square = (three[a].rho - three[b].rho) ** 2
                distance = np.sqrt(np.sum(square if weights is None else weights * square))
                far_rho |= bool(distance > np.sqrt(one.gap + slack) + np.sqrt(two.gap + slack))
        self.objective += far_objective
        self.rho += far_rho

    def __add__(self, other: Count) -> Count:
        return Count(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def main() -> int:
    """The table; 1 where something is at odds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--number", type=int, default=20_000, help="problems in all")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--tol", type=float, default=1e-9)
    options.add_argument("--items", type=int, nargs="+", default=[3, 4, 5, 6, 7, 8])
    options.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    given = options.parse_args()
    names = ["rows", "project", "many", "layer", "differ", "objective", "rho"]
    print(f"{'':30}{'':>9}{'given up by':^27}{'one solves,':>12}{'further apart than':>20}")
    print(f"{'family':30}{'rows':>9}" + "".join(f"{name:>9}" for name in names[1:4]) + f"{'one not':>12}", end="")
    print(f"{'objective':>13}{'rho':>7}{'seconds':>10}")
    stacks = max(1, round(given.number / (ROWS * len(given.families))))
    total = Count()
    for number, family in enumerate(FAMILIES):
        if family not in given.families:
            continue
        draw, weigh = FAMILIES[family]
        count, begin = Count(), time.perf_counter()
        for s in range(stacks):
            rng = np.random.default_rng([given.seed, number, s])
            n = given.items[s % len(given.items)]
            w = weigh(n, rng)
            stack = Stack(np.array([draw(n, rng) for _ in range(ROWS)]), w)
            internal = None if w is None else rf.Lattice(n).to_internal(w)
            for three in answers(stack, given.tol):
                count.add(three, internal)
        count.seconds = time.perf_counter() - begin
        show(family, count)
        total += count
    show("all", total)
    return int(total.differ + total.objective + total.rho > 0)


def show(name: str, c: Count) -> None:
    """A line of the table."""
    print(
        f"{name:30}{c.rows:9}{c.project:9}{c.many:9}{c.layer:9}{c.differ:12}{c.objective:13}{c.rho:7}{c.seconds:10.1f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
