"""The page docs/test.md: how far p-values and intervals can be trusted, in tables made from the stored studies.

    python -m experiments.test_page            # reads docs/results/{size,oracles,coverage,uniform}.csv

It also writes docs/results/test_rules.md, how the rules were chosen. Every number comes from these files. A design is known by
several methods (see `experiments.size`); the page takes the most reliable: a bootstrap of every data set (the second, where
there are two), else the screen on fresh data sets, else the screen.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import isnan
from pathlib import Path

from experiments.files import Row, read_csv
from experiments.oracles import oracle_rows
from experiments.size import FALSE, METHODS, TRUE, Case
from experiments.test_page_words import PAGE, RULES_PAGE

Key = tuple[str, ...]  # the fields of a case as text, and the procedure

SAMPLES = {
    "equal": "all menus alike",
    "third": "a third of the menus with 2 to 8 choices",
    "fifth": "a fifth with 1 to 3 choices",
    "half": "half with 1 to 3 choices",
    "subjects": "three choices by each subject, tested by subject",
}

PROCEDURES = {
    "default": "the default",
    "tau = 0": "no tightening (tau = 0)",
    "twice tau": "twice the tau",
    "unit weights": "`weights=None`: every menu counts the same",
    "inverse variance": '`weights="inverse-variance"`: Pearson\'s statistic',
    "likelihood ratio": "likelihood ratio (`fit_likelihood(data).lr_test()`)",
    "recentred, counts": '`draws="empirical"`',
    "recentred": '`convention="recentred"`, the default of version 0.1',
}

RULES = {
    "arithmetic": "`a m^(-1/5)`, m the arithmetic mean of the menus' sizes",
    "geometric": "the same, m the geometric mean",
    "harmonic": "the same, m the harmonic mean",
    "mean": "the mean of `a m^(-1/5)` over the menus",
    "default": "the default: the last times 1 - u/2, and a thinned centre",
}

DESIGN = ["items", "choices", "samples", "menus", "truth"]

ORACLES = [
    "centre not thinned",
    "facets of the truth",
    "noise of the truth",
    "both of the truth",
    "the default",
]

UNIFORM = {
    "linear": "linear programme",
    "binding": "every inequality binds",
    "worst": "worst null point",
    "default": "default",
}


class Study:
    """Rejection rates of `size.csv`."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.by_method: dict[str, dict[Key, float]] = {method: {} for method in METHODS}
        counts: dict[str, dict[Key, int]] = {method: {} for method in METHODS}
        for row in rows:
            key = (*(str(row[field]) for field in Case._fields), str(row["procedure"]))
            self.by_method[str(row["method"])][key] = float(row["rejected"])
            counts[str(row["method"])][key] = int(row["data_sets"])
        self.best: dict[Key, float] = {}
        self.data_sets: dict[Key, int] = {}  # behind the best rate
        for method in METHODS:  # from the roughest to the most reliable
            self.best |= self.by_method[method]
            self.data_sets |= counts[method]

    def select(self, procedure: str, truths: Sequence[str], **fields: str) -> dict[Key, float]:
        """The best rates of a procedure for some truths, where the fields of the case have these values."""
        place = {name: i for i, name in enumerate(Case._fields)}
        return {
            key: rate
            for key, rate in self.best.items()
            if key[-1] == procedure
            and key[place["truth"]] in truths
            and all(key[place[name]] == value for name, value in fields.items())
        }


def percent(rate: float) -> str:
    """A rate as text."""
    return f"{100 * rate:.1f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [list(head), ["---"] * len(head), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def mean(values: Iterable[float]) -> float:
    """The mean of some numbers."""
    found = list(values)
    return sum(found) / len(found)


def size_table(study: Study) -> str:
    """Mean and worst rejection of true models by the default."""
    rows = []
    for sizes, words in SAMPLES.items():
        cells = []
        for n in "3456":
            found = study.select("default", TRUE, n=n, sizes=sizes)
            cells.append(f"{percent(mean(found.values()))} / {percent(max(found.values()))}" if found else "")
        rows.append([words, *cells])
    return table(["samples", *(f"{n} items" for n in "3456")], rows)


def truth_table(study: Study) -> str:
    """The same by the kind of population."""
    rows = []
    for truth in TRUE:
        found = study.select("default", (truth,)).values()
        if found:
            above = sum(rate > 0.05 for rate in found)
            rows.append([truth, str(len(found)), f"{percent(mean(found))} / {percent(max(found))}", str(above)])
    return table(["truth", "designs", "mean / worst", "above 5 %"], rows)


def choices_table(study: Study) -> str:
    """The same by the choices from a menu; multiples of three are by subject."""
    place = Case._fields.index("choices")
    true = study.select("default", TRUE)
    rows = []
    for choices in sorted({key[place] for key in true}, key=int):
        found = [rate for key, rate in true.items() if key[place] == choices]
        rows.append([choices, str(len(found)), f"{percent(mean(found))} / {percent(max(found))}"])
    return table(["choices from a menu", "designs", "mean / worst"], rows)


def doubtful_table(study: Study) -> str:
    """The designs above 7.5 % by some method, by every method."""
    high = {key for rates in study.by_method.values() for key, rate in rates.items() if rate > 0.075}
    bad = sorted(key for key in high if key[-1] == "default" and key[4] in TRUE)
    rows = []
    for key in sorted(bad, key=lambda k: -study.best[k]):
        n, choices, sizes, menus, truth, _ = key
        found = [percent(one[key]) if key in one else "" for one in study.by_method.values()]
        rows.append([n, choices, sizes, menus, truth, *found])
    return table([*DESIGN, *METHODS], rows)


def screen_errors(study: Study) -> tuple[int, int, float]:
    """Designs that the screen has more than two points above a bootstrap's rate, and below it; how far below at most."""
    screen = study.by_method["screen"]
    full = study.by_method["bootstrap"] | study.by_method["bootstrap again"]
    errors = [screen[k] - study.best[k] for k in full if k in screen and k[-1] == "default" and k[4] in TRUE]
    return sum(e > 0.02 for e in errors), sum(e < -0.02 for e in errors), max((-e for e in errors), default=0.0)


def procedure_table(study: Study) -> str:
    """All procedures, each beside the default on the same designs."""
    rows = []
    for name, words in PROCEDURES.items():
        true = {k[:5]: v for k, v in study.select(name, TRUE).items()}
        false = {k[:5]: v for k, v in study.select(name, FALSE).items()}
        if not true:
            continue
        beside = mean(study.best[(*key, "default")] for key in false) if false else 0.0
        above = sum(rate > 0.075 for rate in true.values())
        rows.append(
            [
                words,
                str(len(true)),
                percent(mean(true.values())),
                percent(max(true.values())),
                str(above),
                f"{percent(mean(false.values()))} ({percent(beside)})" if false else "",
            ]
        )
    return table(["test", "designs", "mean", "worst", "above 7.5 %", "finds false models (default on these)"], rows)


def rules_table(study: Study) -> str:
    """Rules for tau where menus are unequal, on the designs for which all of them were tried by one method."""

    def shared(truths: Sequence[str]) -> dict[str, list[float]]:
        rates: dict[str, dict[tuple[str, Key], float]] = {name: {} for name in RULES}
        for method, found in study.by_method.items():
            for key, rate in found.items():
                if key[-1] in RULES and key[4] in truths:
                    rates[key[-1]][method, key[:5]] = rate
        common = sorted(set.intersection(*(set(one) for one in rates.values())))
        return {name: [one[key] for key in common] for name, one in rates.items()}

    true, false = shared(TRUE), shared(FALSE)
    if not (true["default"] and false["default"]):
        return ""
    rows = [
        [words, *map(percent, (mean(true[name]), max(true[name]), mean(false[name])))] for name, words in RULES.items()
    ]
    head = [f"{len(true['default'])} true models: mean", "worst", f"{len(false['default'])} false models: mean"]
    return table(["tau", *head], rows)


def power_rows(study: Study) -> list[tuple[Key, float, float, float]]:
    """Designs in which the old test keeps its size for all truths: case, old power, new power, old worst size."""
    rows = []
    for key, old in study.select("recentred", FALSE).items():
        sizes = [study.best.get((*key[:4], truth, "recentred")) for truth in TRUE]
        known = [rate for rate in sizes if rate is not None]
        if len(known) == len(TRUE) and max(known) <= 0.075:
            rows.append((key[:5], old, study.best[(*key[:5], "default")], max(known)))
    return rows


def power_table(study: Study) -> tuple[str, str]:
    """A sentence, and the designs in which the default loses most."""
    rows = sorted(power_rows(study), key=lambda r: r[2] - r[1])
    old, new = percent(mean(r[1] for r in rows)), percent(mean(r[2] for r in rows))
    words = (
        f"In {len(rows)} designs with a false model the test of version 0.1 keeps its size (at most 7.5 % for every true model "
        f"of that design). There it finds {old} % of the false models, the default {new} %. The default finds more than three "
        f"points less in {sum(r[2] < r[1] - 0.03 for r in rows)} of them. Where it loses most:"
    )
    head = [
        "items",
        "choices",
        "samples",
        "menus",
        "false model",
        "version 0.1",
        "default",
        "worst size of version 0.1",
    ]
    return words, table(head, [[*key[:5], *map(percent, rates)] for key, *rates in rows[:6]])


def last_of_each(rows: Iterable[Row]) -> list[Row]:
    """One row for each case of `coverage.csv`: where it was measured again, the last."""
    return list({tuple(row[f] for f in ("n", "choices", "truth", "kind", "draw")): row for row in rows}.values())


def coverage_table(rows: Sequence[Row]) -> str:
    """Coverage of 90 % intervals: mean and least over the truths of a design, and mean width."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(str(row[f]) for f in ("n", "choices", "truth"))].append(row)
    body = []
    for key, members in groups.items():
        cells = []
        for kind in ("cell", "difference", "revenue"):
            own = [r for r in members if r["kind"] == kind]
            rates = [float(r["covered"]) for r in own]
            widths = [width for r in own if r["width"] != "" and not isnan(width := float(r["width"]))]
            cells.append(f"{percent(mean(rates))} ({percent(min(rates))})" if rates else "")
            cells.append(f"{mean(widths):.2f}" if widths else "")
        body.append([*key, *cells])
    head = ["items", "choices", "truth", "cell", "width", "difference", "width", "revenue", "width"]
    return table(head, body)


def uniform_table(rows: Sequence[Row]) -> str:
    """The tests that theory calls uniformly valid beside the default."""
    body = []
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        kind = "false" if str(row["truth"]) in FALSE else "true"
        groups[(str(row["n"]), str(row["choices"]), str(row["sizes"]), kind)].append(row)
    for key, members in groups.items():
        rates = [[float(row[name]) for row in members] for name in UNIFORM]
        cells = [f"{percent(mean(one))} / {percent(max(one))}" for one in rates]
        body.append([*key, str(len(members)), *cells])
    return table(["items", "choices", "samples", "models", "designs", *UNIFORM.values()], body)


def uniform_verdict(rows: Sequence[Row]) -> str:
    """What the comparison says: the most of the true models that each rejects, and how many of the false ones."""
    true = [r for r in rows if str(r["truth"]) in TRUE]
    false = [r for r in rows if str(r["truth"]) in FALSE]
    body = []
    for name, words in UNIFORM.items():
        more = [r for r in false if float(r[name]) > float(r["default"]) + 0.03]
        cells = [max(float(r[name]) for r in true), mean(float(r[name]) for r in false)]
        body.append([words, *map(percent, cells), f"{len(more)} of {len(false)}" if name != "default" else ""])
    head = ["test", "most of a true model", "false models on average", "over three points more than the default in"]
    return table(head, body)


def rough_screen(study: Study, rows: Sequence[Row]) -> str:
    """The worst design of the default in this comparison, and what a better method says of it."""
    worst = max((r for r in rows if str(r["truth"]) in TRUE), key=lambda r: float(r["default"]))
    key = tuple(str(worst[field]) for field in Case._fields)
    return (
        f"The {percent(float(worst['default']))} % of the default ({', '.join(key)}) are the screen's, which is rough for three "
        f"items: its most reliable rate there is {percent(study.best[(*key, 'default')])} %."
    )


def render(folder: Path) -> tuple[str, str]:
    """The page and that of the rules, from the files of a folder."""
    files = ("size", "oracles", "coverage", "uniform")
    size, oracles, coverage, uniform = (read_csv(folder / f"{name}.csv") for name in files)
    study, coverage = Study(size), last_of_each(coverage)
    true = study.select("default", TRUE)
    worst = max(true, key=lambda key: true[key])
    tiny = max(v for s in ("fifth", "half") for v in study.select("default", TRUE, sizes=s).values())
    power, lost = power_table(study)
    too_high, too_low, far_below = screen_errors(study)
    covered = [float(r["covered"]) for r in coverage]
    numbers = dict(
        designs=len(true),
        truths=truth_table(study),
        choices=choices_table(study),
        varied=percent(mean(rate for key, rate in true.items() if key[4] != "one")),
        n_screen=sum(not any(key in study.by_method[m] for m in ("bootstrap", "bootstrap again")) for key in true),
        far_below=percent(far_below),
        n_again=sum(key in study.by_method["bootstrap"] or key in study.by_method["bootstrap again"] for key in true),
        n_last=sum(key in study.by_method["bootstrap again"] for key in true),
        too_high=too_high,
        too_low=too_low,
        above=sum(rate > 0.075 for rate in true.values()),
        rules=rules_table(study),
        oracles=table([*DESIGN, *ORACLES], oracle_rows(oracles)),
        first=percent(study.best[(*(str(oracles[0][field]) for field in Case._fields), "default")]),
        worst=percent(true[worst]),
        worst_count=f"{round(true[worst] * study.data_sets[worst]):,} of {study.data_sets[worst]:,}",
        over=sum(rate > 0.05 for rate in true.values()),
        worst_case=", ".join(worst[:5]),
        tiny=percent(tiny),
        mean=percent(mean(true.values())),
        sizes=size_table(study),
        doubtful=doubtful_table(study),
        procedures=procedure_table(study),
        power=power,
        lost=lost,
        least=percent(min(covered)),
        most=percent(max(covered)),
        intervals=len(covered),
        coverage=coverage_table(coverage),
        uniform=uniform_table(uniform),
        n_uniform=len(uniform),
        verdict=uniform_verdict(uniform),
        rough=rough_screen(study, uniform),
    )
    return PAGE.format(**numbers), RULES_PAGE.format(**numbers)


def write_pages(results: Path, out: Path) -> None:
    """Both pages into the folder of the documentation."""
    page, rules = render(results)
    (out / "test.md").write_text(page, encoding="utf-8")
    (out / "results").mkdir(parents=True, exist_ok=True)
    (out / "results" / "test_rules.md").write_text(rules, encoding="utf-8")


def main(argv: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.test_page", description=__doc__.split("\n", maxsplit=1)[0]
    )
    parser.add_argument("--results", type=Path, default=Path("docs/results"), metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=Path("docs"), metavar="FOLDER")
    arguments = parser.parse_args(argv)
    write_pages(arguments.results, arguments.out)


if __name__ == "__main__":
    main()
