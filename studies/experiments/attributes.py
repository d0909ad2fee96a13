"""Size and power of the test of models that are made from attributes, beside the test of all rankings.

Five designs, each with twelve menus: the pairs of the first three items, and nine menus of three or four.

    conjoint    six products, linear in price (everybody likes less) and quality (everybody likes more)
    features    seven items, linear in three attributes, coefficients of any sign
    prices      six products whose prices differ between menus, linear in price and quality, with the signs of conjoint
    risk        six lotteries, constant relative risk aversion
    patience    six streams of payments, exponential discounting

*Size*: populations of the model's types. *all*: every type, with weights drawn at random; *3*, *2*: so many types. A design has
one population, from which all its data sets are drawn.

*Power*: other populations, a new one for each data set. *rankings*: six rankings. *logit*: the mean utilities of people of the
model and extreme-value errors, as large as people's utilities differ. The others are people of the model (*all*), except:
*decoy*: from menus with the decoy, the last item, three in ten take the first item of the menu instead. *cycle*: of the first
three items four in ten take the first beside the second, the second beside the third and the third beside the first. *noise*: in
every menu a fifth of the choices follow a rule of that menu alone.

Every data set has a bootstrap of its own, 99 replicates at the 5 % level and the first tau, as `rum_test` has it.

    python -m studies.experiments.attributes --out studies/results/attributes.csv    # goes on where it stopped
    python -m studies.experiments.attributes --out studies/results/attributes.csv --above .055 --data-sets 1000    # once more
"""

from __future__ import annotations

import argparse
import zlib
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rumflow as rf
from rumflow.core.arrays import Array
from rumflow.core.graph_cells import Cells
from rumflow.inference.plan import Plan
from rumflow.inference.pvalue import pvalue
from rumflow.inference.source import Source
from rumflow.inference.test import prepare_test
from rumflow.models.listed import Listed
from studies.experiments.files import Row, append_csv, origin, read_csv

LEVEL, N_BOOT, TOL = 0.05, 99, 1e-7
DESIGNS = ("conjoint", "features", "prices", "risk", "patience")
TRUE, CHOICES = ("all", "3", "2"), (20, 50)
FALSE, CHOICES_OF_FALSE = ("rankings", "logit", "decoy", "cycle", "noise"), 50
_AT_ONCE = 20  # replicates between two looks at what is decided
Menu = tuple[str, ...]


class Design(NamedTuple):
    """Menus, a model, and utilities of people of the model."""

    items: Menu
    menus: list[Menu]
    model: Listed
    utilities: Array  # (people, menus, items)


@cache
def make_design(name: str) -> Design:
    """A design by its name."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    n, people = 7 if name == "features" else 6, 400
    items = tuple("abcdefg"[:n])
    every = [menu for size in (3, 4) for menu in combinations(items, size)]
    menus = [*combinations(items[:3], 2), *(every[i] for i in sorted(rng.choice(len(every), 9, replace=False)))]
    if name == "risk":
        chance, low, high = rng.uniform(0.2, 0.9, n), rng.uniform(1, 4, n), rng.uniform(5, 20, n)
        lotteries = {x: [(p, h), (1 - p, s)] for x, p, s, h in zip(items, chance, low, high, strict=True)}
        return _family(items, menus, rf.UtilityFamily.crra(lotteries), rng.normal(1, 1.5, people))
    if name == "patience":
        when, amount = np.sort(rng.uniform(0, 8, n)), np.sort(rng.uniform(5, 20, n))
        streams = {x: [(t, m)] for x, t, m in zip(items, when, amount, strict=True)}
        return _family(items, menus, rf.UtilityFamily.exponential(streams), rng.uniform(0.6, 1.0, people))
    k, signs = (3, None) if name == "features" else (2, [-1, 1])
    table = rng.normal(size=(len(menus), n, k))
    if name != "prices":
        table[:] = table[0]
    if signs is not None:  # better products cost more
        table[:, :, 1] = table[0, :, 0] + 0.5 * table[0, :, 1]
    model = rf.LinearUtility(
        {(menu, x): table[j, items.index(x)] for j, menu in enumerate(menus) for x in menu}
        if name == "prices"
        else dict(zip(items, table[0], strict=True)),
        signs,
    )
    coefficients = rng.normal(size=(people, k)) if signs is None else rng.exponential(size=(people, k)) * signs
    return Design(items, menus, model, np.einsum("pk,mnk->pmn", coefficients, table))


def _family(items: Menu, menus: list[Menu], model: rf.UtilityFamily, people: Array) -> Design:
    """A design with one parameter."""
    values = np.array([list(model.function(float(t)).values()) for t in people])
    return Design(items, menus, model, np.repeat(values[:, None], len(menus), axis=1))


def _inside(design: Design) -> Array:
    return np.array([[x in menu for x in design.items] for menu in design.menus])


def make_truth(design: Design, truth: str, rng: np.random.Generator) -> Array:
    """(menus, items): the shares of a population."""
    inside = _inside(design)
    m, n = inside.shape
    if truth == "rankings":
        rank = np.argsort(rng.random((6, n)), axis=1)
        return _mixed(np.where(inside, rank[:, None], n).argmin(axis=2), rng.dirichlet(np.full(6, 2.0)), n)
    if truth == "logit":
        mean = (design.utilities * inside).sum(axis=2, keepdims=True) / inside.sum(axis=1, keepdims=True)
        utilities = design.utilities - mean
        error = utilities.std(axis=0)[inside].mean() * np.sqrt(6) / np.pi
        weight = inside * np.exp(utilities.mean(axis=0) / error)
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))
    places = design.model.choices(Cells(inside, None, design.items))
    types = np.array(
        [[design.items.index(menu[c]) for menu, c in zip(design.menus, row, strict=True)] for row in places]
    )
    if truth in ("2", "3"):
        types = types[rng.choice(len(types), int(truth), replace=False)]
    rho = _mixed(types, rng.dirichlet(np.full(len(types), 2.0 if truth in ("2", "3") else 1.0)), n)
    if truth == "decoy":
        first = np.arange(n) == inside.argmax(axis=1)[:, None]
        return np.where(inside[:, -1:], 0.7 * rho + 0.3 * first, rho)
    if truth == "cycle":
        taken = np.zeros((m, n))
        for j, menu in enumerate(design.menus[:3]):  # ab, ac, bc
            taken[j, design.items.index(menu[1 if j == 1 else 0])] = 1
        return np.where(taken.any(axis=1, keepdims=True), 0.6 * rho + 0.4 * taken, rho)
    if truth == "noise":
        rule = np.where(inside, rng.exponential(size=inside.shape), 0.0)
        return np.asarray(0.8 * rho + 0.2 * rule / rule.sum(axis=1, keepdims=True))
    return rho


def _mixed(types: Array, weights: Array, n: int) -> Array:
    """(menus, n): what a mixture of types takes."""
    taken = types[:, :, None] == np.arange(n)
    return np.asarray(np.tensordot(weights, taken, 1))


def rejects(data: rf.ChoiceData, model: rf.Model | None, seed: int) -> bool:
    """Does `rum_test` reject at its first tau? Once enough replicates are as large as the statistic the others do not matter."""
    prepared = prepare_test(Source({0: data}), Plan(N_BOOT, tol=TOL, seed=seed, model=model))
    whole = prepared.replicator
    first = replace(whole, taus=whole.taus[:1], centres=whole.centres[:1], starts=whole.starts[:1])
    statistic, rounding = float(prepared.observed.statistic[0]), float(prepared.observed.rounding[0])
    null = np.empty(0)
    for begin in range(0, N_BOOT, _AT_ONCE):
        null = np.append(null, first(range(begin, min(begin + _AT_ONCE, N_BOOT))).statistic[0])
        reached = pvalue(statistic, null, rounding) * (1 + len(null))
        if reached > LEVEL * (1 + N_BOOT):
            return False
    return True


def rejections(name: str, truth: str, choices: int, count: int) -> Row:
    """The shares of `count` data sets that the tests of the model and of all rankings reject; other counts, other data sets."""
    design = make_design(name)
    inside = _inside(design)
    number = zlib.crc32(repr((name, truth, choices)).encode())
    rng = np.random.default_rng([number, count])
    fixed = make_truth(design, truth, np.random.default_rng(number)) if truth in TRUE else None
    rejected = np.zeros(2)
    for k in range(count):
        rho = make_truth(design, truth, rng) if fixed is None else fixed
        drawn = rng.multinomial(choices, np.minimum(rho, 1.0))
        counts = {
            menu: {x: int(drawn[j, i]) for i, x in enumerate(design.items) if inside[j, i]}
            for j, menu in enumerate(design.menus)
        }
        data = rf.ChoiceData.from_counts(counts, items=design.items)
        rejected += [rejects(data, model, k) for model in (design.model, None)]
    names = ("design", "truth", "choices", "data_sets")
    rates = {key: round(float(r) / count, 4) for key, r in zip(("rejected", "all_rankings"), rejected, strict=True)}
    return dict(zip(names, (name, truth, choices, count), strict=True)) | rates


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.attributes", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/attributes.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=500)
    parser.add_argument(
        "--above", type=float, metavar="RATE", help="only true models that the file has above, once more"
    )
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    stored = read_csv(path) if path.exists() else []
    known = {(r["design"], str(r["truth"]), r["choices"]): float(r["rejected"]) for r in stored}
    for truth, choices, name in [*product(TRUE, CHOICES, DESIGNS), *product(FALSE, [CHOICES_OF_FALSE], DESIGNS)]:
        rate = known.get((name, truth, choices))
        again = truth in TRUE and rate is not None and arguments.above is not None and rate > arguments.above
        if rate is None if arguments.above is None else again:
            count = arguments.data_sets if truth in TRUE else max(arguments.data_sets // 2, 1)
            row = rejections(name, truth, choices, count)
            append_csv(path, row | origin())
            print(row, flush=True)


if __name__ == "__main__":
    main()
