"""The best assortment in the worst case: is its promise kept, and how long does it take?

    python -m studies.experiments.robust cover       --out studies/results    is what is promised at 90 % kept?
    python -m studies.experiments.robust speed       --out studies/results    20 products, 20 past assortments, certified
    python -m studies.experiments.robust level_speed --out studies/results    the same with samples of 500 choices a menu, at 95 %
    python -m studies.experiments.robust large       --out studies/results    100 products and more, a tenth missing

*cover*: markets like those of *speed*, and samples of their choices. *inside*: the share of samples whose set of populations
holds the truth, which is when all assortments together keep their promise; *kept*: how often the one that was found does.

*speed* and *large*: products with revenues drawn evenly from 10 to 100, past assortments that have each product with a given
chance, and choices of a mixture of random rankings, exactly as they are (no sampling), or in samples (*level_speed*). The time
is that of the call alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import rumflow as rf
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.plausible import find_band
from studies.experiments.files import Row, write_csv


def choices_of(orders, membership):
    """(k, m): what each ranking takes from each menu."""
    rank = np.argsort(orders, axis=1)
    return np.stack([np.flatnonzero(row)[rank[:, np.flatnonzero(row)].argmin(axis=1)] for row in membership], axis=1)


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
                options = BoundsOptions(confidence=confidence, n_boot=399, seed=seed)
                band = find_band(data, menus, menus, revenue, options)
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
        prog="python -m studies.experiments.robust", description="The best assortment in the worst case."
    )
    parser.add_argument("what", choices=["cover", "speed", "level_speed", "large"])
    parser.add_argument(
        "--out", default="results", type=Path, metavar="FOLDER", help="where to write (default results)"
    )
    parser.add_argument("--count", default=200, type=int, help="samples of cover (default 200)")
    parser.add_argument("--seeds", default=3, type=int, help="markets of each size (default 3)")
    parser.add_argument("--seconds", default=120.0, type=float, help="limit for each market (default 120)")
    given = parser.parse_args()
    if given.what == "cover":
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
