"""Tables of docs/test.md and studies/results/test_rules.md: how often the test rejects, how often intervals hold the truth.

A design is measured by several methods (see `experiments/size.py`); the tables take the most reliable: a bootstrap of every data
set (the second, where there are two), else the screen on fresh data sets, else the screen. Rates are in per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import isnan

from scipy.special import betaincinv

from studies.benchmarks.record import rows
from studies.experiments.files import Row, markdown_table
from studies.experiments.oracles import VARIANTS
from studies.experiments.size import FALSE, METHODS, TRUE, Case
from studies.experiments.transitive import PLANTED

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
    "log rule": "`tau = 0.5 sqrt(log m / m)`",
    "unit weights": "`weights=None`: every menu counts the same",
    "inverse variance": '`weights="inverse-variance"`: Pearson\'s statistic',
    "likelihood ratio": "likelihood ratio (`fit_likelihood(data).lr_test()`)",
    "recentred": '`convention="recentred"`, the default of version 0.1',
}
RULES = {
    "arithmetic": "`a m^(-1/5)`, m the arithmetic mean of the menus' sizes",
    "geometric": "the same, m the geometric mean",
    "harmonic": "the same, m the harmonic mean",
    "mean": "the mean of `a m^(-1/5)` over the menus",
    "default": "the default: the last times 1 - u/2, and a thinned centre",
}
UNIFORM = {
    "linear": "linear programme",
    "binding": "every inequality binds",
    "worst": "worst null point",
    "default": "default",
}
DESIGN = ("items", "choices", "samples", "menus", "truth")


class Study:
    """Rejection rates of `size.csv`, by method, and the most reliable of each design."""

    def __init__(self, found: Iterable[Row]) -> None:
        self.by_method: dict[str, dict[Key, float]] = {method: {} for method in METHODS}
        for row in found:
            key = (*(str(row[field]) for field in Case._fields), str(row["procedure"]))
            self.by_method[str(row["method"])][key] = float(row["rejected"])
        self.best: dict[Key, float] = {}
        for rates in self.by_method.values():  # from the roughest to the most reliable
            self.best |= rates

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


def mean(rates: Iterable[float]) -> float:
    """The mean of some numbers."""
    found = list(rates)
    return sum(found) / len(found)


def both(rates: Iterable[float]) -> str:
    """Mean and largest of some rates, as text; nothing where there are none."""
    found = list(rates)
    return f"{percent(mean(found))} / {percent(max(found))}" if found else ""


def size(study: Study) -> str:
    """The default on all true models, and on parts of them."""
    parts = {"all": study.select("default", TRUE)}
    parts["more than one ranking"] = study.select("default", [truth for truth in TRUE if truth != "one"])
    parts["a fifth or half of the menus tiny"] = {k: v for k, v in parts["all"].items() if k[2] in ("fifth", "half")}
    body = []
    for words, found in parts.items():
        above = [sum(rate > limit for rate in found.values()) for limit in (0.05, 0.075)]
        worst = max(found, key=lambda key: found[key])
        rates = percent(mean(found.values())), percent(found[worst])
        body.append([words, len(found), *rates, ", ".join(worst[:5]), *above])
    return markdown_table(("true models", "designs", "mean", "worst", "which", "above 5 %", "above 7.5 %"), body)


def size_by_samples(study: Study) -> str:
    """Mean / worst by how unequal the samples are, and by items."""
    body = [
        [words, *(both(study.select("default", TRUE, n=n, sizes=sizes).values()) for n in "3456")]
        for sizes, words in SAMPLES.items()
    ]
    return markdown_table(("samples", *(f"{n} items" for n in "3456")), body)


def size_by_truth(study: Study) -> str:
    """The same by the kind of population."""
    body = []
    for truth in TRUE:
        found = study.select("default", (truth,)).values()
        body.append([truth, len(found), both(found), sum(rate > 0.05 for rate in found)])
    return markdown_table(("truth", "designs", "mean / worst", "above 5 %"), body)


def size_by_choices(study: Study) -> str:
    """The same by the choices from a menu; multiples of three are by subject."""
    true = study.select("default", TRUE)
    numbers = sorted({key[1] for key in true}, key=int)
    body = [(m, sum(key[1] == m for key in true), both(v for k, v in true.items() if k[1] == m)) for m in numbers]
    return markdown_table(("choices from a menu", "designs", "mean / worst"), body)


def size_methods(study: Study) -> str:
    """For each method the designs measured by it, and how its rates differ from the most reliable ones."""
    body = []
    later = {method: dict(study.by_method[method]) for method in METHODS if method.startswith("bootstrap")}
    for method, rates in study.by_method.items():
        later.pop(method, None)
        own = {k: v for k, v in rates.items() if k[-1] == "default" and k[4] in TRUE}
        errors = [rate - study.best[k] for k, rate in own.items() if any(k in one for one in later.values())]
        counts = sum(e > 0.02 for e in errors), sum(e < -0.02 for e in errors)
        below = percent(-min(errors)) if errors else ""
        body.append([method, len(own), len(errors), *counts, below])
    head = ("method", "designs", "of these with a (further) bootstrap", "there over two points too high")
    return markdown_table((*head, "over two points too low", "too low at most, points"), body)


def size_doubtful(study: Study) -> str:
    """The designs above 7.5 % by some method, by every method."""
    high = {key for rates in study.by_method.values() for key, rate in rates.items() if rate > 0.075}
    bad = sorted(key for key in high if key[-1] == "default" and key[4] in TRUE)
    body = [
        [*key[:5], *(percent(one[key]) if key in one else "" for one in study.by_method.values())]
        for key in sorted(bad, key=lambda key: -study.best[key])
    ]
    return markdown_table((*DESIGN, *METHODS), body)


def size_procedures(study: Study) -> str:
    """All procedures, each beside the default on the same false models."""
    body = []
    for name, words in PROCEDURES.items():
        true = study.select(name, TRUE)
        tiny = [rate for key, rate in true.items() if key[2] in ("fifth", "half")]
        false = study.select(name, FALSE)
        beside = [study.best[(*key[:5], "default")] for key in false]
        power = f"{percent(mean(false.values()))} ({percent(mean(beside))})" if false else ""
        above = sum(rate > 0.075 for rate in true.values())
        body.append([words, len(true), *both(true.values()).split(" / "), above, both(tiny), power])
    head = ("test", "designs", "mean", "worst", "above 7.5 %", "tiny menus: mean / worst")
    return markdown_table((*head, "finds false models (default on these)"), body)


def size_rules(study: Study) -> str:
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
    body = [[words, *both(true[name]).split(" / "), percent(mean(false[name]))] for name, words in RULES.items()]
    head = (f"{len(true['default'])} true models: mean", "worst", f"{len(false['default'])} false models: mean")
    return markdown_table(("tau", *head), body)


def size_power(study: Study) -> str:
    """False models where the test of version 0.1 keeps its size for all truths: all of them, and where the default loses most."""
    body = []
    for key, old in study.select("recentred", FALSE).items():
        known = [study.best.get((*key[:4], truth, "recentred"), 1.0) for truth in TRUE]
        if max(known) <= 0.075:
            body.append((key[:5], old, study.best[(*key[:5], "default")], max(known)))
    body.sort(key=lambda row: row[2] - row[1])
    worse = sum(new < old - 0.03 for _, old, new, _ in body)
    total = [f"all {len(body)} designs", *[""] * 4, *(percent(mean(row[i] for row in body)) for i in (1, 2))]
    lines = [[*key, *map(percent, rates)] for key, *rates in body[:6]]
    head = (*DESIGN[:4], "false model", "version 0.1", "default", "worst size of version 0.1")
    return markdown_table(head, [[*total, f"over three points less in {worse}"], *lines])


def coverage(found: Sequence[Row], interval: str) -> str:
    """Coverage of 90 % intervals: mean and least over the truths of a design, and mean width."""
    own = [row for row in found if row["interval"] == interval]
    last = {tuple(row[f] for f in ("n", "choices", "truth", "kind", "draw")): row for row in own}  # measured last
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in last.values():
        groups.setdefault(tuple(str(row[f]) for f in ("n", "choices", "truth")), []).append(row)
    body = []
    for key, members in groups.items():
        cells = []
        for kind in ("cell", "difference", "revenue"):
            rates = [float(r["covered"]) for r in members if r["kind"] == kind]
            widths = [float(r["width"]) for r in members if r["kind"] == kind and r["width"] != ""]
            width = mean(width for width in widths if not isnan(width))
            cells += [f"{percent(mean(rates))} ({percent(min(rates))})", f"{width:.2f}"]
        body.append([*key, *cells])
    head = ("items", "choices", "truth", "cell", "width", "difference", "width", "revenue", "width")
    return markdown_table(head, body)


def intervals(found: Sequence[Row]) -> str:
    """Coverage and width of intervals found in full, over the populations of a design."""
    body = []
    for design, interval in dict.fromkeys((row["design"], row["interval"]) for row in found):
        own = [row for row in found if (row["design"], row["interval"]) == (design, interval)]
        rates = [float(row["covered"]) for row in own]
        sets = sum(int(row["data_sets"]) for row in own)
        ends = [float(row[f]) for row in own for f in ("covered_lower", "covered_upper")]
        means = [f"{mean(float(row[f]) for row in own):.3f}" for f in ("width", "identified", "shifted", "moves")]
        empty, noted = (sum(int(row[f]) for row in own) for f in ("empty", "noted"))
        seconds = f"{mean(float(row['seconds']) for row in own):.1f}"
        held = [f"{percent(mean(r))} ({percent(min(r))})" for r in (rates, ends)]
        body.append([design, interval, sets, *held, *means, empty, noted, seconds])
    head = (
        "design",
        "interval",
        "data sets",
        "hold the truth",
        "hold an end",
        "width",
        "identified",
        "shifted",
        "moves",
        "empty",
    )
    table = sorted(body, key=lambda row: (row[0] != "stock-outs", row[1] != "profile"))
    return markdown_table((*head, "with a note", "CPU seconds"), table)


def _last_rates(found: Sequence[Row], populations: str) -> dict[Key, float]:
    """Rates by truth, groups, choices and sizes; of a design that was measured again, the last."""
    fields = ("truth", "groups", "choices", "sizes")
    return {
        tuple(str(row[f]) for f in fields): float(row["rejected"]) for row in found if row["populations"] == populations
    }


def homogeneity(found: Sequence[Row]) -> str:
    """How often groups that are alike are called different, mean / worst, by their number and sizes."""
    rates = _last_rates(found, "alike")
    body = []
    for groups, sizes in dict.fromkeys((key[1], key[3]) for key in rates):
        own = {key: rate for key, rate in rates.items() if (key[1], key[3]) == (groups, sizes)}
        parts = [[rate for key, rate in own.items() if (key[0] in FALSE) == false] for false in (False, True)]
        body.append([groups, sizes, len(own), *map(both, parts)])
    return markdown_table(("groups", "sizes", "designs", "true models", "false models"), body)


def homogeneity_power(found: Sequence[Row]) -> str:
    """How often two different populations are called so."""
    rates = _last_rates(found, "different")
    columns = dict.fromkeys(key[2:] for key in rates)
    truths = dict.fromkeys(key[0] for key in rates)
    body = [[truth, *(percent(rates[truth, "2", *column]) for column in columns)] for truth in truths]
    return markdown_table(("populations", *(f"{choices} choices, {sizes}" for choices, sizes in columns)), body)


_MENUS = {
    "25": "25 menus of {n} items",
    "stock-outs": "15 menus of {n} items by stock-outs",
    "pairs": "all pairs of {n} items",
    "all": "all menus of {n} items",
    "half": "half of the menus of {n} items",
}
_SIZES = {
    "equal": "{choices} choices each",
    "zipf": "{choices}, {choices}/2, {choices}/3, ... choices",
    "half": "{choices} choices, half of the menus 1 to 3",
    "panel": "{choices} subjects, a choice from every menu each",
    "repeated": "{choices} choices a menu, five by a subject",
}


def _validated(found: Sequence[Row]) -> dict[tuple[str, str, str], Row]:
    """Rows by design in words, truth and test; of a design that was measured again, the last."""
    rows = {}
    for row in found:
        words = "{menus} budgets of {n} goods, {choices} households each"
        if row["kind"] != "budgets":
            words = f"{_MENUS[str(row['menus'])]}, {_SIZES[str(row['sizes'])]}"
            words += ", {groups} groups" if row["groups"] > 1 else ""
        rows[words.format(**row), str(row["truth"]), str(row["test"])] = row
    return rows


def _with_error(row: Row | None) -> str:
    return "" if row is None else f"{percent(float(row['rejected']))} ± {percent(float(row['standard_error']))}"


def validation(found: Sequence[Row]) -> str:
    """Rejections by the default on designs that had no part in its rules, with standard errors; last, mean and worst."""
    rows = {key[:2]: row for key, row in _validated(found).items() if key[2] == "default"}
    truths = [*dict.fromkeys(key[1] for key in rows)]
    body = [
        [design, *(_with_error(rows.get((design, truth))) for truth in truths)]
        for design in dict.fromkeys(key[0] for key in rows)
    ]
    rates = [[float(row["rejected"]) for key, row in rows.items() if key[1] == truth] for truth in truths]
    ends = [
        "mean / worst",
        *(percent(mean(own)) if truth in FALSE else both(own) for truth, own in zip(truths, rates, strict=True)),
    ]
    return markdown_table(("design", *truths), [*body, ends])


def panels(found: Sequence[Row]) -> str:
    """The same where subjects chose several times, by subject and with choices taken as independent."""
    rows = _validated(found)
    body = [
        [design, truth, _with_error(rows[design, truth, "default"]), _with_error(row)]
        for (design, truth, test), row in rows.items()
        if test == "cluster=False"
    ]
    return markdown_table(("design", "truth", "by subject (default)", "choices as independent"), body)


def transitive(found: Sequence[Row]) -> str:
    """How often the tests on pairs reject, by design, and up to which rate each true population may be rejected."""
    by_design = {tuple(str(row[f]) for f in ("n", "pairs", "draws", "truth")): row for row in found}
    truths = list(dict.fromkeys(key[3] for key in by_design))
    body = []
    for design in sorted({key[:3] for key in by_design}, key=lambda own: tuple(map(int, own))):
        own = {truth: by_design[*design, truth] for truth in truths if (*design, truth) in by_design}
        limit = max((_upper_limit(row) for truth, row in own.items() if truth not in PLANTED), default=1.0)
        counts = sorted(int(row["data_sets"]) for row in own.values())
        sets = " to ".join(dict.fromkeys([f"{counts[0]:,}", f"{counts[-1]:,}"]))
        body.append([*design, sets, *(_both_tests(own[t]) if t in own else "" for t in truths), percent(limit)])
    return markdown_table(("items", "pairs", "choices", "data sets", *truths, "limit"), body)


def transitive_tau(found: Sequence[Row]) -> str:
    """For 6 items with 5 choices a pair: how often an inequality is violated at all, and rejections by tau; mean / largest."""
    names = ("violated", "rejected", "rejected_tau_0")
    body = []
    for truth in dict.fromkeys(str(row["truth"]) for row in found):
        own = [row for row in found if row["truth"] == truth and str(row["n"]) == "6" and str(row["draws"]) == "5"]
        body.append([truth, *(both(float(row[name]) for row in own) for name in names)])
    return markdown_table(("population", "some inequality violated", "rejected", "rejected with tau = 0"), body)


def _both_tests(row: Row) -> str:
    weak = str(row["weak_rejected"])
    return percent(float(row["rejected"])) + (f", weak {percent(float(weak))}" if weak else "")


def _upper_limit(row: Row) -> float:
    """The one-sided 95 % limit (Clopper and Pearson) of the larger rate of both tests."""
    count = int(row["data_sets"])
    rejected = round(count * max(float(row["rejected"]), float(row["weak_rejected"] or 0.0)))
    return float(betaincinv(rejected + 1, count - rejected, 0.95))


def uniform(study: Study, found: Sequence[Row], again: Sequence[Row] = ()) -> str:
    """The most of the true models that each rejects, how many of the false ones, and the first by a better method."""
    better = {(*(str(row[field]) for field in Case._fields), "linear"): float(row["rejected"]) for row in again}
    better |= {key: rate for key, rate in study.best.items() if key[-1] == "default"}
    true = [r for r in found if str(r["truth"]) in TRUE]
    false = [r for r in found if str(r["truth"]) in FALSE]
    body = []
    for name, words in UNIFORM.items():
        worst = max(true, key=lambda row, name=name: float(row[name]))
        key = tuple(str(worst[field]) for field in Case._fields)
        more = sum(float(r[name]) > float(r["default"]) + 0.03 for r in false)
        rates = percent(float(worst[name])), percent(mean(float(r[name]) for r in false))
        reliable = percent(better[(*key, name)]) if (*key, name) in better else ""
        body.append([words, rates[0], ", ".join(key), reliable, rates[1], f"{more} of {len(false)}"])
    head = ("test", f"most of {len(true)} true models", "which", "there by the most reliable method")
    return markdown_table((*head, "false models on average", "over three points more than the default in"), body)


def uniform_again(found: Sequence[Row]) -> str:
    """The linear programme where a screen has it high: by the screen, and by a bootstrap of each data set."""
    body = [[*(row[f] for f in Case._fields), percent(float(row["screen"])), _with_error(row)] for row in found]
    return markdown_table((*DESIGN, "screen", "bootstrap"), body)


def oracles(found: Sequence[Row]) -> str:
    """Rejections where an oracle gives replicates the facets or the noise of the truth."""
    body = [
        [*(row[field] for field in Case._fields), *(percent(float(row[name])) for name in VARIANTS)] for row in found
    ]
    names = ("centre not thinned", "facets of the truth", "noise of the truth", "both of the truth", "the default")
    return markdown_table((*DESIGN, *names), body)


@cache
def _study() -> Study:
    return Study(rows("size"))


OF_SIZE = (size, size_by_samples, size_by_truth, size_by_choices, size_methods)
OF_SIZE += (size_doubtful, size_procedures, size_rules, size_power)
TABLES: dict[str, Callable[[], str]] = {
    **{table.__name__: lambda table=table: table(_study()) for table in OF_SIZE},
    "coverage": lambda: coverage(rows("coverage"), "profile"),
    "coverage_distance": lambda: coverage(rows("coverage"), "distance"),
    "intervals": lambda: intervals(rows("intervals")),
    "homogeneity": lambda: homogeneity(rows("homogeneity")),
    "homogeneity_power": lambda: homogeneity_power(rows("homogeneity")),
    "transitive": lambda: transitive(rows("transitive")),
    "transitive_tau": lambda: transitive_tau(rows("transitive")),
    "uniform": lambda: uniform(_study(), rows("uniform"), rows("uniform_again")),
    "uniform_again": lambda: uniform_again(rows("uniform_again")),
    "validation": lambda: validation(rows("validation")),
    "panels": lambda: panels(rows("validation")),
    "oracles": lambda: oracles(rows("oracles")),
}
