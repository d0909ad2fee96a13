"""`rumflow demo`: simulated data with a known violation of rationality, projected and explained."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from rumflow.cli.answers import answer
from rumflow.cli.arguments import add_json, add_seed
from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.output.tables import Table
from rumflow.projection.results import Projection
from rumflow.projection.single import block_marschak, project

EXAMPLE = "rumflow demo --seed 1"

DRINKS = ("coffee", "tea", "cocoa", "juice", "milk", "water")

#: Share of the other choosers who move to coffee where cocoa is on the menu: no population of rankings does that.
DECOY = 0.25


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The seed of the data."""
    add_seed(parser, 0)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate, project, print."""
    demo = make_demo(arguments.seed)
    return answer(arguments, lambda: as_dict(demo, arguments.seed), lambda: tables(demo))


@dataclass(frozen=True)
class Demo:
    """Simulated choices, the truth behind them and their projections."""

    data: ChoiceData  #: with the decoy effect
    fit: Projection
    rational: Projection  #: the same population, the same sample sizes, without the effect
    truth: Array  #: (2^n, n) true probabilities, with the effect
    draws: int


def population(seed: int = 0) -> tuple[Array, Array]:
    """(2^n, n) probabilities of a mixture of three kinds of drinkers, without and with the decoy effect."""
    lattice = Lattice(len(DRINKS))
    rng = np.random.default_rng(seed)
    tastes = np.array(
        [[1.6, 0.2, 0.9, 0.1, -0.4, 0.0], [0.0, 1.5, 0.3, 0.4, 0.6, 0.2], [-0.6, 0.1, 0.4, 1.4, 0.7, 0.9]]
    )
    rho = np.zeros(lattice.shape)
    for share, taste in zip((0.45, 0.30, 0.25), tastes + rng.normal(0, 0.1, tastes.shape), strict=True):
        strength = np.where(lattice.membership, np.exp(taste), 0.0)
        strength[1:] /= strength[1:].sum(axis=1, keepdims=True)
        rho += share * strength
    decoyed = rho.copy()
    coffee, cocoa = DRINKS.index("coffee"), DRINKS.index("cocoa")
    both = lattice.membership[:, coffee] & lattice.membership[:, cocoa]
    decoyed[both] *= 1 - DECOY
    decoyed[both, coffee] += DECOY
    return rho, decoyed


def sample(rho: Array, draws: int, seed: int) -> ChoiceData:
    """`draws` choices from every menu of two drinks or more."""
    lattice = Lattice(len(DRINKS))
    menus = np.flatnonzero(lattice.membership.sum(axis=1) >= 2)
    counts = np.random.default_rng(seed).multinomial(draws, rho[menus]).astype(float)
    matrix = np.full(lattice.shape, np.nan)
    matrix[menus] = np.where(lattice.membership[menus], counts, 0.0)
    return ChoiceData.from_matrix(matrix, DRINKS)


def make_demo(seed: int = 0, draws: int = 5000) -> Demo:
    """Simulate and project."""
    rational, decoyed = population(seed)
    plain = project(sample(rational, draws, seed + 1))
    data = sample(decoyed, draws, seed + 1)
    return Demo(data, project(data), plain, decoyed, draws)


def tables(demo: Demo) -> list[Table | str]:
    """What the demonstration prints."""
    data, fit = demo.data, demo.fit
    violations = fit.violations()
    true_values = block_marschak(demo.truth)
    failed = Table(
        f"Block-Marschak inequalities that fail: {len(violations)} of {data.n * 2 ** (data.n - 1)}; the worst",
        ["menu", "item", "in the data", "in truth"],
        note="Each number must be 0 or more for any population of rankings.",
    )
    for menu, item, value in violations[:6]:
        failed.add(
            format_menu(menu),
            item,
            value,
            float(true_values[(1 << fit.members(menu)).sum(), DRINKS.index(str(item))]),
        )
    cells = Table(
        "Observed against the nearest random utility model: the worst cells", ["menu", "item", "observed", "fitted"]
    )
    for menu, item, observed, fitted in fit.misfits(6):
        cells.add(format_menu(menu), item, observed, fitted)
    orders = Table(
        "The main rankings of the fit",
        ["share", "best to worst"],
        note=f"One mixture ({len(fit.rankings.weights)} rankings) among many that give the same probabilities.",
    )
    for order, weight in fit.rankings.labelled(5):
        orders.add(f"{weight:.1%}", " > ".join(map(str, order)))
    return [
        f"Six drinks, {len(data.masks)} menus, {demo.draws} choices from each. Where cocoa is on the menu, "
        f"{DECOY:.0%} of those\n"
        "who would take something else move to coffee: a decoy effect that no random utility model allows.",
        f"Distance to the nearest random utility model: {fit.distance:.4f}\n"
        f"The same population without the effect:       {demo.rational.distance:.4f} (sampling noise)",
        failed,
        cells,
        orders,
        f"Certificate: the objective {fit.objective:.6g} is within {fit.gap:.1e} of the least possible; smallest flow "
        f"{fit.certificate.least_flow:.1e},\nmenus add up to 1 within {fit.certificate.menu_error:.0e}; {fit.status}, "
        f"{fit.seconds:.3f} s.",
    ]


def as_dict(demo: Demo, seed: int) -> dict[str, object]:
    """The same for machines."""
    fit = demo.fit
    return {
        "seed": seed,
        "items": list(DRINKS),
        "menus": len(demo.data.masks),
        "draws": demo.draws,
        "distance": fit.distance,
        "distance_without_effect": demo.rational.distance,
        "objective": fit.objective,
        "gap": fit.gap,
        "status": str(fit.status),
        "violations": [{"menu": list(m), "item": i, "value": v} for m, i, v in fit.violations()],
        "misfits": [{"menu": list(m), "item": i, "observed": o, "fitted": f} for m, i, o, f in fit.misfits(20)],
        "rankings": [{"order": list(o), "weight": w} for o, w in fit.rankings.labelled()],
        "rankings_note": "one mixture among many that give the same probabilities",
    }
