"""The best assortment in the worst case: against enumeration, and how long it takes.

    python -m experiments.robust agree --out docs/results     200 random problems of 3 to 8 items, all menus, all rankings
    python -m experiments.robust level --out docs/results     the same for populations not rejected at 90 %, 3 to 6 items
    python -m experiments.robust cover --out docs/results     is what is promised at 90 % kept, in samples of a known population?
    python -m experiments.robust speed --out docs/results     20 products, 20 past assortments, certified
    python -m experiments.robust level_speed --out docs/results   the same with samples of 500 choices a menu, at 95 %
    python -m experiments.robust large --out docs/results     100 products and more, past assortments that miss a tenth

*agree*: incomplete data (rational or sampled, some menus recorded in part), an outside option, limits. For every menu that the
limits allow a linear programme over all rankings gives its worst case; the highest must be that of `rf.best_assortment`.

*level*: samples of 20 to 500 choices a menu; the linear programmes are over all rankings that no band excludes.

*cover*: markets like those of *speed*, and samples of their choices. *inside*: the share of samples whose set of populations
holds the truth, which is when all assortments together keep their promise; *kept*: how often the one that was found does.

*speed* and *large*: products with revenues drawn evenly from 10 to 100, past assortments that have each product with a given
chance, and choices of a mixture of random rankings, exactly as they are (no sampling), or in samples (*level_speed*). The time
is that of the call alone.
"""

from __future__ import annotations

import argparse
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog

import rumflow as rf
from experiments.files import Row, write_csv
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.plausible import find_band


def choices_of(orders, membership):
    """(k, m): what each ranking takes from each menu."""
    rank = np.argsort(orders, axis=1)
    return np.stack([np.flatnonzero(row)[rank[:, np.flatnonzero(row)].argmin(axis=1)] for row in membership], axis=1)


def worst_revenues(membership, recorded, values, revenue, menus, orders=None, band=None):
    """The least revenue of each of `menus` over mixtures of all rankings with the given values on the recorded cells.

    band   instead of the values: those not rejected, a `Band` of `rumflow.inference.plausible`.
    """
    n = membership.shape[1]
    orders = np.array(list(permutations(range(n)))) if orders is None else orders
    taken = choices_of(orders, membership)
    taken = np.where(recorded[np.arange(len(membership)), taken], taken, -1)
    types, group = np.unique(taken, axis=0, return_inverse=True)
    menu, item = np.nonzero(recorded)
    cells = (types[:, menu] == item).T.astype(float)
    if band is None:
        limits: dict[str, Any] = {
            "A_eq": np.vstack([cells, np.ones(len(types))]),
            "b_eq": np.append(values[menu, item], 1.0),
        }
    else:
        sums = band.sums.toarray()[:, menu * n + item] @ cells
        limits = {"A_ub": np.vstack([sums, -sums]), "b_ub": np.append(band.most, -band.least)}
        limits |= {"A_eq": np.ones((1, len(types))), "b_eq": [1.0]}
    found = []
    solve: Any = linprog
    for row in menus:
        cost = np.full(len(types), np.inf)
        np.minimum.at(cost, group.ravel(), revenue[choices_of(orders, row[None])[:, 0]])
        answer = solve(cost, **limits)
        assert answer.status == 0
        found.append(answer.fun)
    return np.array(found)


def random_case(n, seed):
    """Data over n items (item 0 is the outside option), revenues and limits; some rational, some noisy, some recorded in part."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 7))
    membership = rng.random((count, n)) < rng.uniform(0.4, 0.8)
    membership[:, 0] |= rng.random(count) < 0.9
    membership[0, :2] = True
    membership = np.unique(membership[membership.sum(axis=1) >= 2], axis=0)
    k = int(rng.integers(2, 40))
    weights = rng.dirichlet(np.ones(k))
    taken = choices_of(np.array([rng.permutation(n) for _ in range(k)]), membership)
    shares = np.zeros(membership.shape)
    for j in range(len(membership)):
        shares[j] = np.bincount(taken[:, j], weights, n)
    if rng.random() < 0.5:
        for j, row in enumerate(membership):
            shares[j, row] = rng.multinomial(40, shares[j, row] / shares[j, row].sum()) / 40
    table = np.full((1 << n, n), np.nan)
    masks = membership @ (1 << np.arange(n))
    table[masks] = np.where(membership, shares, 0.0)
    if rng.random() < 0.3:
        large = int(membership.sum(axis=1).argmax())
        if membership[large].sum() >= 4:
            table[masks[large], np.flatnonzero(membership[large])[:2]] = np.nan
    revenue = np.append(0.0, rng.integers(1, 12, n - 1).astype(float))
    limits: dict[str, Any] = {}
    if rng.random() < 0.4:
        limits["max_size"] = int(rng.integers(1, n))
    if rng.random() < 0.3:
        limits["must"] = (int(rng.integers(1, n)),)
    if rng.random() < 0.4:
        limits["never_together"] = [tuple(int(x) for x in rng.choice(np.arange(1, n), 2, replace=False))]
    return table, revenue, limits


def allowed_menus(n, limits):
    """All menus with item 0 that keep the limits."""
    menus = []
    for mask in range(1, 1 << n, 2):
        row = np.array([mask >> x & 1 for x in range(n)], bool)
        fine = row.sum() - 1 <= limits.get("max_size", n) and row[list(limits.get("must", ()))].all()
        if fine and all(row[list(group)].sum() <= 1 for group in limits.get("never_together", ())):
            menus.append(row)
    return np.array(menus)


def compare(n, seed):
    """The answer and what enumeration says: the highest worst case, and that of the menu found."""
    table, revenue, limits = random_case(n, seed)
    fit = rf.project(table, tol=1e-12)
    membership = rf.Lattice(n).membership
    masks = np.flatnonzero((~np.isnan(table) & membership).any(axis=1) & (membership.sum(axis=1) >= 2))
    recorded = ~np.isnan(table[masks]) & membership[masks]
    found = rf.best_assortment(fit, revenue, 0, **limits)
    menus = allowed_menus(n, limits)
    worst = worst_revenues(membership[masks], recorded, fit.rho[masks], revenue, menus)
    own = worst[(menus == np.array([x in found.menu for x in range(n)])).all(axis=1)]
    return found, float(worst.max()), float(own[0]), limits


def compare_level(n, seed, confidence=0.9):
    """The same over the populations that are not rejected, for samples of 20 to 500 choices a menu; best is NaN where all are."""
    table, revenue, limits = random_case(n, seed)
    rng = np.random.default_rng([seed, 1])
    membership = rf.Lattice(n).membership
    masks = np.flatnonzero((~np.isnan(table) & membership).any(axis=1) & (membership.sum(axis=1) >= 2))
    menus, known = membership[masks], ~np.isnan(table[masks]) & membership[masks]
    counts, size = np.full(known.shape, np.nan), rng.integers(20, 500, len(masks))
    for j, row in enumerate(known):
        shares = np.append(table[masks[j]][row], 0.0)
        shares[-1] = max(1.0 - shares.sum(), 0.0)
        counts[j, row] = rng.multinomial(size[j], shares / shares.sum())[:-1]
    data = rf.ChoiceData(tuple(range(n)), menus, counts, size.astype(float))
    found = rf.best_assortment(data, revenue, 0, confidence=confidence, n_boot=199, **limits)
    if found.confidence is None:
        return found, np.nan, np.nan, limits
    band = find_band(data, menus, known, revenue, BoundsOptions(confidence=confidence, n_boot=199, seed=0))
    allowed = allowed_menus(n, limits)
    worst = worst_revenues(menus, known, None, revenue, allowed, band=band)
    own = worst[(allowed == np.array([x in found.menu for x in range(n)])).all(axis=1)]
    return found, float(worst.max()), float(own[0]), limits


def run_agree(count: int, by_level: bool = False) -> list[Row]:
    """Random problems of 3 to 8 items (with a level: 6), each against enumeration."""
    rows = []
    for seed in range(count):
        n = 3 + seed % (4 if by_level else 6)
        found, best, own, limits = (compare_level if by_level else compare)(n, seed)
        if np.isnan(best):
            continue
        rows.append(
            {
                "items": n,
                "seed": seed,
                "limits": " ".join(f"{name}={value}" for name, value in limits.items()),
                "lower": found.lower,
                "enumerated": best,
                "own": own,
                "gap": found.gap,
                "agree": abs(found.lower - best) < 1e-5 and abs(own - best) < 1e-5 and found.gap < 2e-5,
            }
        )
        if not rows[-1]["agree"]:
            print(rows[-1], flush=True)
    print(f"{sum(row['agree'] for row in rows)} of {len(rows)} agree")
    return rows


def market_rankings(products: int, rankings: int, seed: int | np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The population of a market: rankings, best first, and their weights."""
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(products + 1) for _ in range(rankings)])
    return orders, rng.dirichlet(np.ones(rankings))


def random_market(
    products: int, past: int, rankings: int, seed: int, chance: float
) -> tuple[rf.ChoiceData, np.ndarray]:
    """Past assortments of products 0, 1, ... beside buying nothing, and revenues; the choices are those of random rankings."""
    rng = np.random.default_rng(seed)
    orders, weights = market_rankings(products, rankings, rng)
    menus: set[tuple[int, ...]] = set()
    while len(menus) < past:
        row = rng.random(products + 1) < chance
        row[products] = True
        if row.sum() > 2:
            menus.add(tuple(np.flatnonzero(row).tolist()))
    membership = np.zeros((past, products + 1), np.bool_)
    for j, menu in enumerate(sorted(menus)):
        membership[j, list(menu)] = True
    taken = choices_of(orders, membership)
    counts = {}
    for j, row in enumerate(membership):
        shares = np.bincount(taken[:, j], weights, products + 1)
        counts[tuple(np.flatnonzero(row).tolist())] = {int(x): float(shares[x]) for x in np.flatnonzero(row)}
    revenue = np.append(np.sort(rng.uniform(10, 100, products))[::-1], 0.0)
    return rf.ChoiceData.from_counts(counts, items=list(range(products + 1))), revenue


def sample_market(data: rf.ChoiceData, size: int, seed: int) -> rf.ChoiceData:
    """So many choices from each menu."""
    rng = np.random.default_rng([seed, 2])
    counts = np.full(data.counts.shape, np.nan)
    for j, row in enumerate(data.membership):
        counts[j, row] = rng.multinomial(size, data.frequencies[j, row] / data.frequencies[j, row].sum())
    return rf.ChoiceData(data.items, data.membership, counts, np.full(len(counts), float(size)))


def run_cover(samples: int, searched: int, confidence: float = 0.9) -> list[Row]:
    """How often the truth is among the populations that are not rejected, and how often the answer keeps its promise."""
    rows: list[Row] = []
    for products, past, rankings in ((3, 4, 6), (5, 8, 4), (5, 8, 100), (9, 12, 30)):
        truth, revenue = random_market(products, past, rankings, 7, 0.5)
        orders, weights = market_rankings(products, rankings, 7)
        for size in (10, 50, 500):
            inside, kept, menus = 0, 0, truth.membership
            for seed in range(samples):
                data = sample_market(truth, size, seed)
                band = find_band(
                    data, menus, menus, revenue, BoundsOptions(confidence=confidence, n_boot=399, seed=seed)
                )
                inside += band.holds(np.where(menus, truth.frequencies, 0.0))
                if seed < searched:
                    found = rf.best_assortment(data, revenue, products, confidence=confidence, n_boot=399, seed=seed)
                    menu = np.isin(np.arange(products + 1), np.array(found.menu, int))
                    kept += weights @ revenue[choices_of(orders, menu[None])[:, 0]] >= found.lower - 1e-6
            rows.append(
                {"products": products, "past": past, "rankings": rankings, "choices": size, "confidence": confidence}
                | {"samples": samples, "inside": inside / samples, "searched": searched, "kept": float(kept) / searched}
            )
            print(rows[-1], flush=True)
    return rows


def run_markets(sizes: list[tuple[int, int, int, float]], seeds: int, seconds: float, choices: int = 0) -> list[Row]:
    """Best assortments of random markets, with times; with so many choices a menu, or with the probabilities themselves (0)."""
    data, revenue = random_market(20, 20, 10, 0, 0.5)
    rf.best_assortment(data, revenue, 20)  # kernels are compiled before the clock starts
    rows = []
    for products, past, rankings, chance in sizes:
        for seed in range(seeds):
            data, revenue = random_market(products, past, rankings, seed, chance)
            if choices:
                data = sample_market(data, choices, seed)
            level = 0.95 if choices else None
            begin, cpu = time.perf_counter(), time.process_time()
            found = rf.best_assortment(data, revenue, products, confidence=level, max_seconds=seconds)
            low, names = found.table["from" if choices else "lower"], found.table["assortment"]
            tried, fitted = names.index("past 1"), names.index("best of the fit")
            rows.append(
                {
                    "products": products,
                    "past": past,
                    "rankings": rankings,
                    "chance": chance,
                    "choices": choices,
                    "seed": seed,
                    "best_past": round(low[tried], 4),
                    "lower": round(found.lower, 4),
                    "upper": round(found.upper, 4),
                    "gap": found.gap,
                    "best_of_fit_lower": round(low[fitted], 4),
                    "best_of_fit_promise": round(found.table["fit"][fitted], 4),
                    "nodes": found.nodes,
                    "reason": found.reason,
                    "seconds": round(time.perf_counter() - begin, 2),
                    "cpu_seconds": round(time.process_time() - cpu, 2),
                }
            )
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.robust", description="The best assortment in the worst case."
    )
    parser.add_argument("what", choices=["agree", "level", "cover", "speed", "level_speed", "large"])
    parser.add_argument(
        "--out", default="results", type=Path, metavar="FOLDER", help="where to write (default results)"
    )
    parser.add_argument(
        "--count", default=200, type=int, help="problems of agree and level, samples of cover (default 200)"
    )
    parser.add_argument("--seeds", default=3, type=int, help="markets of each size (default 3)")
    parser.add_argument("--seconds", default=120.0, type=float, help="limit for each market (default 120)")
    given = parser.parse_args()
    if given.what in ("agree", "level"):
        rows = run_agree(given.count, given.what == "level")
    elif given.what == "cover":
        rows = run_cover(given.count, min(given.count, 25))
    elif given.what == "speed":
        rows = run_markets([(20, 20, 10, 0.5), (20, 20, 100, 0.5), (20, 20, 1000, 0.5)], given.seeds, given.seconds)
    elif given.what == "level_speed":
        rows = run_markets([(20, 20, 10, 0.5), (20, 20, 100, 0.5)], given.seeds, given.seconds, 500)
    else:
        rows = run_markets([(100, 5, 1000, 0.9), (100, 10, 1000, 0.9), (300, 5, 1000, 0.9)], given.seeds, given.seconds)
    write_csv(given.out / f"robust_{given.what}.csv", rows)


if __name__ == "__main__":
    main()
