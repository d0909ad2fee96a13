"""`python -m studies.experiments.layouts --cases 2000 --seed 0`: known choices in every layout, beside misleading columns.

Each case draws choices, writes them in one of the layouts that the readers know, puts in columns whose names promise a role that
they do not have (n, freq, weight, id, 0/1 attributes, ...), in any order, and codes that are not in the order of the columns; it
is read as a file or as a frame, without any argument or with the roles of its layout named. What is read must be what was
written; a question (an `InputError`) is accepted, but not where all roles are named. The outcomes are stored by layout.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rumflow as rf

Rng = np.random.Generator
Table = dict[str, list[Any]]
Truth = dict[tuple[frozenset[str], str], float]

#: Names that promise counts, weights, totals, groups, persons, observations, alternatives or menus; and attributes.
MISLEADING = [
    "n",
    "freq",
    "times",
    "number",
    "weight",
    "w",
    "total",
    "sample_size",
    "id",
    "ID",
    "hhid",
    "panelist",
    "household",
    "subject",
    "person",
    "group",
    "period",
    "wave",
    "block",
    "share",
    "case",
    "obs",
    "task",
    "mode",
    "option",
    "product",
    "set",
    "year",
    "price",
    "num",
    "frequency",
    "prob",
]
#: Names of counts that are not known as such.
UNKNOWN = ("buyers", "sold", "sales", "quantity", "votes", "wins", "y", "k", "customers", "clicks")
FLAGS = ("male", "urban", "loc", "wk", "weekend", "member", "rainy")


class Case(NamedTuple):
    """A table, the choices in it, and the arguments that name its roles."""

    layout: str
    table: Table
    truth: Truth
    named: dict[str, Any]


class Choices(NamedTuple):
    """Choices one by one."""

    items: list[str]
    menus: list[tuple[str, ...]]
    picks: list[str]

    @property
    def truth(self) -> Truth:
        """Counts by menu and item."""
        return dict(Counter((frozenset(menu), pick) for menu, pick in zip(self.menus, self.picks, strict=True)))


def draw_choices(rng: Rng) -> Choices:
    """A few items, menus of two or more of them, and choices, some of them equal."""
    n = int(rng.integers(2, 6))
    items = [["tea", "milk", "juice", "water", "cola"], list("abcde"), ["TRAIN", "SM", "CAR", "BUS", "BIKE"]][
        rng.integers(3)
    ][:n]
    menus = [tuple(x for x in items if rng.random() < 0.7) for _ in range(int(rng.integers(1, 6)))]
    menus = [menu if len(menu) > 1 else tuple(items) for menu in menus]
    offered = [menus[k] for k in rng.integers(0, len(menus), int(rng.integers(4, 40)))]
    picks = [menu[rng.integers(len(menu))] for menu in offered]
    return Choices(items, [*offered, offered[0]], [*picks, picks[0]])  # so that a row comes back: these are no counts


def pick(rng: Rng, values: Any) -> Any:
    """One of them."""
    return values[int(rng.integers(len(values)))]


def shuffled(rng: Rng, values: Any) -> list[Any]:
    """All of them in another order."""
    return [values[k] for k in rng.permutation(len(values))]


# One row per choice.


def texts(rng: Rng, c: Choices) -> Case:
    """Menus as texts or lists."""
    menu, choice = pick(rng, ["menu", "assortment", "offered"]), pick(rng, ["choice", "chosen", "picked"])
    join = pick(rng, [",".join, "|".join, ";".join, lambda m: str(list(m))])
    table = {menu: [join(m) for m in c.menus], choice: list(c.picks)}
    return Case("menu and choice", table, c.truth, {"menu": menu, "choice": choice})


def places(rng: Rng, c: Choices) -> Case:
    """One column for each place in the menu."""
    width = max(map(len, c.menus))
    table: Table = {f"place{k + 1}": [m[k] if k < len(m) else None for m in c.menus] for k in range(width)}
    table["choice"] = list(c.picks)
    named = {"menu": [f"place{k + 1}" for k in range(width)], "choice": "choice"}
    return Case("a column for each place", table, c.truth, named)


def available(rng: Rng, c: Choices) -> Case:
    """0/1 columns; choices are labels, names of columns, or codes in any order."""
    mark = pick(rng, ["{}", "{}_AV", "av_{}", "{}_available"])
    order = shuffled(rng, c.items)
    table: Table = {mark.format(x): [int(x in m) for m in c.menus] for x in order}
    codes = shuffled(rng, c.items)
    columns = [mark.format(x) for x in codes]
    named: dict[str, Any] = {"available": columns, "choice": "choice"}
    match int(rng.integers(3)):
        case 0:
            table["choice"] = list(c.picks)
        case 1:
            table["choice"] = [mark.format(x) for x in c.picks]
        case _:
            base = int(rng.integers(2))
            table["choice"] = [codes.index(x) + base for x in c.picks]
            named["base"] = base
    return Case("availability", table, c.truth, named)


def chosen_columns(rng: Rng, c: Choices) -> Case:
    """0/1 columns for what was on offer and for what was chosen."""
    table: Table = {f"av_{x}": [int(x in m) for m in c.menus] for x in shuffled(rng, c.items)}
    table |= {f"choice_{x}": [int(x == p) for p in c.picks] for x in shuffled(rng, c.items)}
    named = {"available": [f"av_{x}" for x in c.items], "choice": [f"choice_{x}" for x in c.items]}
    return Case("0/1 choice columns", table, c.truth, named)


def losers(rng: Rng, c: Choices) -> Case:
    """The winner, and those that it won against."""
    table = {
        "winner": list(c.picks),
        "losers": ["|".join(x for x in m if x != p) for m, p in zip(c.menus, c.picks, strict=True)],
    }
    return Case("winner and losers", table, c.truth, {"choice": "winner", "losers": "losers"})


def masks(rng: Rng, c: Choices) -> Case:
    """Bit masks, and the number of the item."""
    base = int(rng.integers(2))
    bits = {x: k for k, x in enumerate(c.items)}
    table: Table = {
        "menu_mask": [sum(1 << bits[x] for x in m) for m in c.menus],
        "choice": [bits[p] + base for p in c.picks],
    }
    name = {x: str(bits[x] + base) for x in c.items}
    truth = {(frozenset(name[x] for x in m), name[p]): v for (m, p), v in c.truth.items()}
    return Case("bit masks", table, truth, {"menu": "menu_mask", "choice": "choice", "base": base})


# One row per alternative.


def long_rows(rng: Rng, c: Choices, menus: list[tuple[str, ...]]) -> list[tuple[int, str, int]]:
    """(observation, alternative, 1 where it was chosen), sometimes in another order."""
    rows = [(100 + k, x, int(x == p)) for k, (m, p) in enumerate(zip(menus, c.picks, strict=True)) for x in m]
    return shuffled(rng, rows) if rng.random() < 0.3 else rows


def long(rng: Rng, c: Choices) -> Case:
    """Marked by 1, or by the label in all rows of the observation."""
    names = pick(
        rng,
        [
            ("chid", "alt", "choice"),
            ("case", "alternative", "chosen"),
            ("id", "mode", "choice"),
            ("obs", "item", "picked"),
        ],
    )
    rows = long_rows(rng, c, c.menus)
    label = rng.random() < 0.3
    table: Table = {names[0]: [r[0] for r in rows], names[1]: [r[1] for r in rows]}
    table[names[2]] = [c.picks[r[0] - 100] if label else r[2] for r in rows]
    return Case(
        "a row for each alternative",
        table,
        c.truth,
        dict(zip(("observation", "alternative", "choice"), names, strict=True)),
    )


def long_available(rng: Rng, c: Choices) -> Case:
    """Every item has a row, and a column says whether it was on offer."""
    rows = long_rows(rng, c, [tuple(c.items)] * len(c.menus))
    table: Table = {"obs": [r[0] for r in rows], "alt": [r[1] for r in rows], "choice": [r[2] for r in rows]}
    table["av"] = [int(r[1] in c.menus[r[0] - 100]) for r in rows]
    named = {"observation": "obs", "alternative": "alt", "choice": "choice", "available": "av"}
    return Case("alternatives and availability", table, c.truth, named)


def long_tasks(rng: Rng, c: Choices) -> Case:
    """Tasks that are counted anew for each person."""
    rows = long_rows(rng, c, c.menus)
    table: Table = {"id": [(r[0] - 100) // 3 for r in rows], "task": [(r[0] - 100) % 3 for r in rows]}
    table |= {"alt": [r[1] for r in rows], "choice": [r[2] for r in rows]}
    named = {"observation": ["id", "task"], "alternative": "alt", "choice": "choice"}
    return Case("tasks of persons", table, c.truth, named)


# Counts.


def counts(rng: Rng, c: Choices) -> Case:
    """Menu, item and count."""
    name = pick(rng, ["count", "n", "freq"] if rng.random() < 0.5 else UNKNOWN)
    cells = [(m, x, c.truth.get((frozenset(m), x), 0)) for m in dict.fromkeys(c.menus) for x in m]
    by_choice = rng.random() < 0.3
    item = pick(rng, ["choice", "chosen"]) if by_choice else pick(rng, ["item", "alternative", "product"])
    table: Table = {
        "menu": ["|".join(m) for m, _, _ in cells],
        item: [x for _, x, _ in cells],
        name: [v for _, _, v in cells],
    }
    named = {"menu": "menu", "choice" if by_choice else "alternative": item, "count": name}
    return Case("counts", table, c.truth, named)


def counts_by_id(rng: Rng, c: Choices) -> Case:
    """An id of the menu, the items of which have their rows."""
    name = pick(rng, ["count", *UNKNOWN[:1]])
    cells = [(k, x, c.truth.get((frozenset(m), x), 0)) for k, m in enumerate(dict.fromkeys(c.menus)) for x in m]
    table: Table = {
        "menu_id": [k for k, _, _ in cells],
        "item": [x for _, x, _ in cells],
        name: [v for _, _, v in cells],
    }
    return Case("counts by id", table, c.truth, {"menu_id": "menu_id", "alternative": "item", "count": name})


def counts_by_group(rng: Rng, c: Choices) -> Case:
    """Counts of two periods."""
    period = rng.integers(0, 2, len(c.picks)).tolist()
    several = Counter(zip(period, c.menus, c.picks, strict=True))
    cells = [(g, m, x, several.get((g, m, x), 0)) for g in (0, 1) for m in dict.fromkeys(c.menus) for x in m]
    table: Table = {"period": [r[0] for r in cells], "menu": ["|".join(r[1]) for r in cells]}
    name = pick(rng, ["count", *UNKNOWN[:1]])
    table |= {"item": [r[2] for r in cells], name: [r[3] for r in cells]}
    named = {"menu": "menu", "alternative": "item", "count": name, "group": "period"}
    return Case("counts by group", table, c.truth, named)


LAYOUTS: tuple[Callable[[Rng, Choices], Case], ...] = (
    texts, places, available, available, chosen_columns, losers, masks, long, long, long_available, long_tasks, counts,
    counts_by_id, counts_by_group,
)  # fmt: skip


def mislead(rng: Rng, case: Case) -> Case:
    """The same table with columns that mean nothing, and all columns in another order."""
    table = dict(case.table)
    rows = len(next(iter(table.values())))
    owner = case.table.get(str(case.named.get("observation")), list(range(rows)))
    for name in shuffled(rng, [*MISLEADING, *FLAGS])[: int(rng.integers(0, 6))]:
        if name in table:
            continue
        width = 2 if name in FLAGS else pick(rng, [2, 4, 9, 50])
        value = {k: int(v) for k, v in zip(dict.fromkeys(owner), rng.integers(0, width, len(set(owner))), strict=True)}
        column: list[Any] = [value[k] for k in owner] if rng.random() < 0.5 else rng.integers(0, width, rows).tolist()
        if name in ("mode", "option", "product", "group") and rng.random() < 0.5:
            column = [f"kind {v}" for v in column]
        elif name not in FLAGS and rng.random() < 0.2:
            column = [v + 0.5 for v in column]
        table[name] = column
    order = shuffled(rng, list(table)) if rng.random() < 0.7 else list(table)
    return case._replace(table={name: table[name] for name in order})


def table_of(data: rf.ChoiceData) -> Truth:
    """Positive counts by menu and item."""
    menus = [frozenset(map(str, menu)) for menu in data.menus]
    cells = zip(*(part.tolist() for part in data.cells), strict=True)
    return {(menus[m], str(data.items[x])): v for m, x, v in cells if v > 0}


def run_case(rng: Rng, folder: Path) -> tuple[Case, str]:
    """The case, and "read", "asked", "read by name", or what went wrong: "misread" or "refused although named"."""
    case = mislead(rng, pick(rng, LAYOUTS)(rng, draw_choices(rng)))
    by_name = rng.random() < 0.3
    options = case.named if by_name else {}
    try:
        if rng.random() < 0.5:
            data = rf.ChoiceData.from_frame(case.table, **options)
        else:
            with open(folder / "a.csv", "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, delimiter=pick(rng, [",", "\t", ";"]))
                writer.writerow(case.table)
                writer.writerows(
                    [["" if v is None else v for v in row] for row in zip(*case.table.values(), strict=True)]
                )
            data = rf.ChoiceData.from_csv(folder / "a.csv", **options)
    except rf.InputError as fault:
        return case, f"refused although named: {fault}" if by_name else "asked"
    if table_of(data) != case.truth:
        return case, f"misread: {data.understood}"
    return case, "read by name" if by_name else "read"


def first_rows(case: Case) -> Table:
    """The first rows of the table, for people."""
    return {name: column[:6] for name, column in case.table.items()}


def fuzz_layout(rng: Rng, folder: Path) -> str:
    """One case for the fuzzer."""
    case, ending = run_case(rng, folder)
    if ending.startswith(("misread", "refused")):
        raise AssertionError(f"{case.layout}: {ending}\n{first_rows(case)}")
    return f"{case.layout}: {ending}"


def run(cases: int, seed: int) -> dict[tuple[str, str], int]:
    """How often each layout ended in which way."""
    found: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(cases):
            case, ending = run_case(np.random.default_rng([seed, number]), Path(folder))
            if ending.startswith(("misread", "refused")):
                print(
                    f"case {number}, {case.layout}: {ending}\n  { {name: column[:6] for name, column in case.table.items()} }"
                )
            found[case.layout, ending.split(":")[0]] += 1
    return dict(found)


def main(argv: list[str] | None = None) -> int:
    """Run the cases and store the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="a CSV file for the outcomes")
    arguments = parser.parse_args(argv)
    found = run(arguments.cases, arguments.seed)
    endings = ("read", "asked", "read by name", "misread", "refused although named")
    layouts = sorted({layout for layout, _ in found})
    rows: list[list[Any]] = [[layout, *(found.get((layout, ending), 0) for ending in endings)] for layout in layouts]
    rows.append(["all", *(sum(row[k + 1] for row in rows) for k in range(len(endings)))])
    for row in [["layout", *endings], *rows]:
        print(f"{row[0]:32}" + "".join(f"{x!s:>24}" for x in row[1:]))
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["layout", *endings], *rows])
    return int(any(ending in ("misread", "refused although named") for _, ending in found))


if __name__ == "__main__":
    raise SystemExit(main())
