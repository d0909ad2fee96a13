"""Size and power of `rum_test` on designs that had no part in the choice of its rules.

Tau, thinning, weights and draws were chosen by looking at the designs of `size.py`: all menus, or half of them, of 3 to 6 items.
These are others: 10 and 12 items, pairs, stock-outs, samples by Zipf's law, full panels and repeated choices, groups, budgets.
Nothing was tuned on them. Every data set is put to the public function with a bootstrap of its own, 99 replicates at the 5 %
level.

    python -m studies.experiments.validation --out studies/results/validation.csv    # goes on where it stopped
    python -m studies.experiments.validation --out studies/results/validation.csv --above .075 --data-sets 4000    # fresh ones

Truths are those of `size.py`. Of budgets, households with Cobb-Douglas utilities take the place of rankings: *interior* (500
of them), *6*, *3*; *irrational*: three in ten divide their expenditure budget by budget as it comes, in every data set anew.
On pairs *irrational* is left out: there it is the choice of some population with rankings.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rumflow as rf
from studies.experiments.files import Row, append_csv, origin, read_csv
from studies.experiments.size import FALSE, LEVEL, SUBJECTS, Case, draw_samples, with_frequencies

N_BOOT = 99
STEPS = (9, 29, N_BOOT)
TRUTHS = ("interior", "6", "3", "opposite", "irrational")

#: By the name of a test, what it asks of `rum_test`.
TESTS: dict[str, dict[str, Any]] = {
    "default": {"tau": ["auto"]},
    "cluster=False": {"tau": ["auto"], "cluster": False},
    "fsst": {"statistic": "fsst"},
}


class Design(NamedTuple):
    """Items, choices a menu, samples and menus as in `Case`, and groups; of budgets: goods, households of each, their number."""

    kind: str  # "menus" or "budgets"
    n: int
    choices: int
    sizes: str
    menus: str
    groups: int = 1

    def draw(self, truth: str, count: int, fresh: int = 0) -> Iterator[Any]:
        """`count` data sets; another number `fresh`, other data sets."""
        if self.kind == "budgets":
            yield from self._budgets(truth, count, fresh)
            return
        case = Case(self.n, self.choices, self.sizes, self.menus, truth)
        data, p, sets = draw_samples(case, count * self.groups, fresh)
        found = sets or [with_frequencies(data, own) for own in p]
        for k in range(count):
            own = found[k * self.groups : (k + 1) * self.groups]
            yield own[0] if self.groups == 1 else {f"group {g}": one for g, one in enumerate(own)}

    def _budgets(self, truth: str, count: int, fresh: int) -> Iterator[rf.BudgetData]:
        seed = zlib.crc32(repr((tuple(self), truth)).encode())
        rng = np.random.default_rng(seed)
        number, types = int(self.menus), 500 if truth in ("interior", *FALSE) else int(truth)
        prices = rng.uniform(0.5, 1.5, (number, self.n))
        shares = np.repeat(
            rng.dirichlet(np.ones(self.n), (types, 1)), number, axis=1
        )  # of expenditure: types, budgets, goods
        weights = rng.dirichlet(np.full(types, 1.0 if types == 500 else 2.0))
        if fresh:
            rng = np.random.default_rng([seed, fresh])
        budget = np.repeat(np.arange(number), self.choices)
        for _ in range(count):
            own = shares[rng.choice(types, len(budget), p=weights), budget]
            if truth == "irrational":
                rule = rng.dirichlet(np.ones(self.n), number)
                own = np.where((rng.random(len(budget)) < 0.3)[:, None], rule[budget], own)
            yield rf.BudgetData.from_shares(prices, budget, own, np.ones(len(budget)), 0)


DESIGNS = (
    Design("menus", 10, 50, "equal", "25"),
    Design("menus", 10, 200, "zipf", "25"),
    Design("menus", 12, 50, "equal", "stock-outs"),
    Design("menus", 12, 300, "zipf", "stock-outs"),
    Design("menus", 8, 20, "equal", "pairs"),
    Design("menus", 8, 200, "zipf", "pairs"),
    Design("menus", 5, 300, "zipf", "all"),
    Design("menus", 4, 30, "panel", "all"),
    Design("menus", 5, 60, "panel", "all"),
    Design("menus", 4, 50, "repeated", "all"),
    Design("menus", 4, 20, "equal", "all", 3),
    Design("menus", 4, 20, "half", "half", 6),
    Design("budgets", 3, 50, "equal", "6"),
    Design("budgets", 3, 200, "equal", "8"),
)


def rejects(data: Any, seed: int, test: str = "default") -> bool:
    """What `rum_test` with 99 replicates says at the 5 % level; `test` is one of `TESTS`.

    The first replicates are the same whatever their number: where five of them reach the statistic already, the others
    cannot make it a rejection and are not drawn.
    """
    allowed = int(LEVEL * (1 + N_BOOT)) - 1
    for n_boot in STEPS:
        found = rf.rum_test(data, n_boot=n_boot, seed=seed, threads=1, **TESTS[test])
        if round(found.pvalue * (1 + n_boot)) - 1 > allowed:
            return False
    return True


def rejection_rate(design: Design, truth: str, test: str, count: int, fresh: int = 0) -> Row:
    """The share of `count` data sets that a test rejects, with its standard error."""
    row: Row = {**design._asdict(), "truth": truth, "test": test}
    return row | rate_of([rejects(data, k, test) for k, data in enumerate(design.draw(truth, count, fresh))])


def rate_of(found: list[bool]) -> Row:
    """How many data sets, the share of them that is rejected, and its standard error."""
    rate = float(np.mean(found))
    error = float(np.sqrt(rate * (1.0 - rate) / len(found)))
    return {"data_sets": len(found), "rejected": round(rate, 4), "standard_error": round(error, 4)}


def cases() -> Iterator[tuple[Design, str, str]]:
    """Every design with its truths and tests; choices of subjects are also taken as independent."""
    for design, truth in product(DESIGNS, TRUTHS):
        if (design.kind, truth) == ("budgets", "opposite") or (design.menus, truth) == ("pairs", "irrational"):
            continue
        yield design, truth, "default"
        if design.sizes in SUBJECTS:
            yield design, truth, "cluster=False"


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.validation", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path("results/validation.csv"), metavar="FILE")
    parser.add_argument("--data-sets", type=int, default=400, help="of false models a fifth, where one test is tried")
    parser.add_argument(
        "--above", type=float, metavar="RATE", help="only true models that the default has above, again"
    )
    arguments = parser.parse_args(argv)
    path: Path = arguments.out
    names = (*Design._fields, "truth", "test")
    stored = read_csv(path) if path.exists() else []
    known = {tuple(str(row[name]) for name in names): float(row["rejected"]) for row in stored}
    for design, truth, test in cases():
        rate, count, again = (
            known.get((*map(str, design), truth, test)),
            arguments.data_sets,
            arguments.above is not None,
        )
        if again:
            if rate is None or rate <= arguments.above or truth in FALSE or test != "default":
                continue
        elif rate is not None:
            continue
        elif truth in FALSE and design.sizes not in SUBJECTS:
            count //= 5
        row = rejection_rate(design, truth, test, count, int(again))
        append_csv(path, row | origin())
        print(row, flush=True)


if __name__ == "__main__":
    main()
