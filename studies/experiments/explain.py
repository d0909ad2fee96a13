"""How often `rf.explain` names a planted conflict, against the number of choices from each menu.

In every design all menus but the planted ones come from a Luce model, which is random utility. Planted is a *cycle* (three
pairs, the shares of the better items 0.75, so that they add up to 2.25 where 2 is the most), a *decoy* ({x, y} with x at 0.40,
and {x, y, z} with x at 0.55 and z at 0.05), or *nothing*: then a conflict that is named is a false one. Menus are added at random
as long as the planted ones stay the only irreducible conflict of the exact shares, which a search to its end verifies.

    python -m studies.experiments explain --out studies/results    # explain.csv and explain.md; goes on where it stopped

Where RUMFLOW_DATA names a folder with the bookings of five hotels, they are explained as well: explain_hotel.csv.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rumflow.core.arrays import Array, Mask
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import unique_menus
from rumflow.inference.conflicts.result import Explanation
from rumflow.inference.conflicts.search import Search
from rumflow.inference.conflicts.subsets import Sampling, Subsets
from rumflow.inference.explain import explain
from studies.experiments.files import Row, append_csv, markdown_table, origin, read_csv, write_csv
from studies.experiments.hotel import read_hotel

PLANTED: dict[str, dict[tuple[int, ...], tuple[float, ...]]] = {
    "cycle": {(0, 1): (0.75, 0.25), (1, 2): (0.75, 0.25), (0, 2): (0.25, 0.75)},
    "decoy": {(0, 1): (0.40, 0.60), (0, 1, 2): (0.55, 0.40, 0.05)},
    "nothing": {},
}
#: Items and menus of the designs.
DESIGNS = {5: 12, 8: 24, 12: 20, 40: 11}
CHOICES = (50, 200, 1000, 5000)
LEVEL, N_BOOT = 0.05, 99


class Design(NamedTuple):
    """Menus with the shares of a population, and the rows of the planted ones."""

    membership: Mask
    shares: Array  # (m, n), NaN outside the menus
    planted: frozenset[int]


def make_design(n: int, kind: str, seed: int = 0) -> Design:
    """Planted menus, and others among which they are the only conflict."""
    rng = np.random.default_rng([seed, n, len(kind)])
    worth = rng.uniform(0.5, 2.0, n)
    table: dict[tuple[int, ...], Array] = {
        menu: np.array([dict(zip(menu, own, strict=True)).get(x, np.nan) for x in range(n)])
        for menu, own in PLANTED[kind].items()
    }
    first = list(table)
    while len(table) < DESIGNS[n]:
        size = int(rng.integers(2, min(n, 8) + 1))
        menu = tuple(sorted(rng.choice(n, size, replace=False).tolist()))
        if menu in table:
            continue
        inside = np.isin(np.arange(n), menu)
        table[menu] = np.where(inside, worth / worth[inside].sum(), np.nan)
        if kind != "nothing" and not _is_only_conflict(table, first):
            del table[menu]
    return _as_design(table, first)


def _as_design(table: dict[tuple[int, ...], Array], first: list[tuple[int, ...]]) -> Design:
    shares = np.array(list(table.values()))
    membership, number = unique_menus(~np.isnan(shares))
    ordered = np.empty_like(shares)
    ordered[number] = shares
    places = {menu: int(k) for menu, k in zip(table, number, strict=True)}
    return Design(membership, ordered, frozenset(places[menu] for menu in first))


def _is_only_conflict(table: dict[tuple[int, ...], Array], first: list[tuple[int, ...]]) -> bool:
    design = _as_design(table, first)
    found = Search(Subsets(exact_data(design), None, None, 1)).several(2, [])
    return found.complete and [frozenset(menus) for menus in found.menus] == [design.planted]


def exact_data(design: Design) -> ChoiceData:
    """The shares themselves."""
    items = tuple(range(design.membership.shape[1]))
    return ChoiceData(items, design.membership, design.shares, np.ones(len(design.membership)))


def draw(design: Design, choices: int, rng: np.random.Generator) -> ChoiceData:
    """A sample of so many choices from each menu."""
    p = np.nan_to_num(design.shares)
    counts = rng.multinomial(choices, p / p.sum(axis=1, keepdims=True)).astype(float)
    items = tuple(range(design.membership.shape[1]))
    totals = np.full(len(counts), float(choices))
    return ChoiceData(items, design.membership, np.where(design.membership, counts, np.nan), totals)


def study(n: int, kind: str, choices: int, count: int) -> Row:
    """Shares of `count` samples: rejected as a whole, the planted menus named exactly, others named."""
    design = make_design(n, kind)
    rng = np.random.default_rng([n, len(kind), choices])
    rejected = exact = 0
    begin = time.process_time()
    for k in range(count):
        found = Search(Subsets(draw(design, choices, rng), None, Sampling(LEVEL, N_BOOT, k, False), 1)).first()
        rejected += found is not None
        exact += found is not None and frozenset(found) == design.planted
    return {
        "n": n,
        "menus": len(design.membership),
        "planted": kind,
        "choices": choices,
        "samples": count,
        "rejected": round(rejected / count, 3),
        "named_exactly": round(exact / count, 3),
        "others_named": round((rejected - exact) / count, 3),
        "seconds_each": round((time.process_time() - begin) / count, 3),
        **origin(),
    }


def run_explain(out: Path, count: int = 50, progress: Callable[[str], None] | None = None) -> list[Row]:
    """All designs: `explain.csv` and `explain.md` in `out`."""
    path = out / "explain.csv"
    out.mkdir(parents=True, exist_ok=True)
    done = {(r["n"], r["planted"], r["choices"]) for r in read_csv(path)} if path.exists() else set()
    for case in product(DESIGNS, PLANTED, CHOICES):
        if case not in done:
            row = study(*case, count)
            append_csv(path, row)
            if progress is not None:
                progress(str(row))
    rows = read_csv(path)
    render_explain(out)
    folder = Path(os.environ.get("RUMFLOW_DATA", "")) / "hotel"
    if os.environ.get("RUMFLOW_DATA") and folder.is_dir():
        write_csv(out / "explain_hotel.csv", [explain_hotel(number, folder) for number in range(1, 6)])
    return rows


def explain_hotel(number: int, folder: Path) -> Row:
    """What `rf.explain` says of the bookings of a hotel (see `studies.experiments.hotel`)."""
    data = read_hotel(folder / f"hotel_{number}.csv")[0]
    begin = time.process_time()
    found = explain(data, halves=50, seed=number, threads=1)
    assert isinstance(found, Explanation)
    first = found.conflicts[0] if found.conflicts else None
    return {
        "hotel": number,
        "menus": len(data.totals),
        "pvalue": found.pvalue,
        "conflicts": len(found.conflicts),
        "complete": found.complete,
        "menus_of_first": "" if first is None else " and ".join("|".join(map(str, menu)) for menu in first.menus),
        "choices_of_first": "" if first is None else " and ".join(f"{_choices(data, menu):g}" for menu in first.menus),
        "pattern": found.pattern or "",
        "pvalue_of_first": "" if first is None else first.pvalue,
        "bound": "" if first is None else first.inequality.bound,
        "value": "" if first is None else round(first.inequality.value, 4),
        "error": "" if first is None or first.inequality.error is None else round(first.inequality.error, 4),
        "halves": found.halves,
        "halves_rejected": found.rejected,
        "named": max(found.influence["named"]) if found.halves else "",
        "seconds": round(time.process_time() - begin, 1),
    }


def _choices(data: ChoiceData, menu: tuple[Hashable, ...]) -> float:
    return float(next(total for other, total in zip(data.menus, data.totals, strict=True) if set(other) == set(menu)))


def render_explain(out: Path) -> None:
    """The page, from the stored numbers."""
    rows = read_csv(out / "explain.csv")
    header = ("items", "menus", "planted", *(f"{c:,} choices" for c in CHOICES))
    lines = []
    for n, kind in product(DESIGNS, PLANTED):
        own = {r["choices"]: r for r in rows if r["n"] == n and r["planted"] == kind}
        if own:
            menus = next(iter(own.values()))["menus"]
            column = "named_exactly" if kind != "nothing" else "others_named"
            lines.append([n, menus, kind, *(f"{100 * own[c][column]:.0f} %" if c in own else "" for c in CHOICES)])
    text = f"""# How often a planted conflict is named

Samples in which `rf.explain` names exactly the planted menus first, against the choices from each menu
({rows[0]["samples"]} samples each, level {LEVEL:g}, {N_BOOT} replicates; `python -m studies.experiments explain`). *nothing*:
samples of a rational population in which it names anything. `explain.csv` also has how often the data are rejected, how often
other menus are named, and the seconds of one search.

"""
    (out / "explain.md").write_text(text + markdown_table(header, lines), encoding="utf-8")
