"""`rumflow test`: could these choices come from a population of utility maximisers?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from rumflow.check import check_n_jobs, check_option
from rumflow.cli.answers import answer, check_out, inputs_of, show_progress, table_of
from rumflow.cli.arguments import Checked, add_data, add_json, add_out, add_sampling, number_or_text
from rumflow.cli.budgets import budget_test_as_dict, read_budgets
from rumflow.cli.models import add_model, model_of, say_cost
from rumflow.cli.reading import parts_of, read_data, say_resampling
from rumflow.core.seeds import entropy
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference import HomogeneityTest, holm, homogeneity_test, rum_test, rum_test_many
from rumflow.inference.convention import CONVENTIONS, DRAWS, check_tau, find_convention
from rumflow.inference.linear import STATISTICS
from rumflow.inference.notes import ASSUMPTION
from rumflow.inference.result import RumTest
from rumflow.output.files import check_form, check_target, write_table
from rumflow.output.result import records_of

EXAMPLE = "rumflow test choices.csv --n-boot 999 --seed 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data and the bootstrap."""
    add_data(parser, by=True, several=True, budgets=True)
    parser.add_argument(
        "--together",
        action="store_true",
        help="one distribution for all the groups (--by) or files, and whether they differ",
    )
    parser.add_argument(
        "--tau",
        action="append",
        metavar="TAU",
        help="tightening: auto (default), thinned, mean, smallest or a number; may be repeated",
    )
    parser.add_argument(
        "--statistic",
        action=Checked,
        check=lambda value, name: check_option(value, name, STATISTICS),
        default="distance",
        help="distance (default), or fsst: the largest violated inequality (Fang, Santos, Shaikh and Torgovitsky 2023)",
    )
    parser.add_argument(
        "--weights",
        choices=["auto", "none", "counts", "inverse-variance"],
        default="auto",
        help="weight of a cell (default auto: counts, or what the convention says)",
    )
    parser.add_argument(
        "--draws",
        choices=["auto", *DRAWS],
        default="auto",
        help="replicates: from the fitted model (null, the default) or from the observed choices (empirical)",
    )
    add_sampling(parser, 999, "bootstrap replicates", seed=None)
    parser.add_argument(
        "--convention",
        action=Checked,
        check=lambda value, name: check_option(value, name, CONVENTIONS),
        default=None,
        help=f"{', '.join(CONVENTIONS)}: how a published statistic is made",
    )
    add_model(parser)
    parser.add_argument(
        "--jobs", action=Checked, check=check_n_jobs, default=1, help="worker processes (default 1: threads)"
    )
    add_json(parser)
    parser.add_argument(
        "--replicates", metavar="FILE", help="write the statistics of the replicates, one column for each tau"
    )
    add_out(parser, "the table of the test")


def run(arguments: argparse.Namespace) -> int:
    """Read, test, print."""
    check_out(arguments)
    if arguments.replicates:
        check_target(arguments.replicates, inputs_of(arguments))
        check_form(arguments.replicates)
    if arguments.by and len(arguments.data) > 1:
        raise InputError("--by needs a single file; several files are groups already")
    if len(set(arguments.data)) < len(arguments.data):
        raise InputError("a file is named twice; each file must be a different group")
    options: dict[str, Any] = {
        "n_boot": arguments.n_boot,
        "tau": _taus(arguments),
        "weights": None if arguments.weights == "none" else arguments.weights,
        "draws": arguments.draws,
        "convention": arguments.convention,
        "seed": entropy(arguments.seed) % 2**32 if arguments.seed is None else arguments.seed,
        "n_jobs": arguments.jobs,
        "progress": show_progress(arguments),
    }
    if arguments.prices:
        budgets = read_budgets(arguments)
        result = rum_test(budgets, cluster=arguments.cluster, statistic=arguments.statistic, **options)
        return _answer_test(result, arguments, lambda: budget_test_as_dict(result, budgets, arguments.convention))
    files = {path: read_data(arguments, path) for path in arguments.data}
    data = next(iter(files.values()))
    options |= {"model": model_of(arguments, data), "route": arguments.route}
    say_cost(data, options["model"], arguments.route, arguments, arguments.n_boot + 1)
    parts = parts_of(data, arguments.by) if arguments.by else files
    if arguments.together and len(parts) < 2:
        raise InputError("--together needs several groups (--by group) or several files")
    if len(parts) > 1 and not arguments.together:
        if arguments.statistic != "distance":
            raise InputError(f"--statistic {arguments.statistic}: test one file at a time, or all --together")
        say_resampling(data, arguments)  # where there is one test, its notes say so
        return _test_each(parts, arguments, options)
    tested = parts if arguments.together else data
    result = rum_test(tested, cluster=arguments.cluster, statistic=arguments.statistic, **options)
    if not arguments.together or result.interrupted:
        return _answer_test(result, arguments, lambda: test_as_dict(result, data))
    del options["tau"]  # nothing is tightened
    alike = homogeneity_test(parts, cluster=arguments.cluster, **options)
    return _answer_test(result, arguments, lambda: test_as_dict(result, data) | _alike_as_dict(alike), alike)


def _answer_test(
    result: RumTest,
    arguments: argparse.Namespace,
    document: Callable[[], dict[str, Any]],
    alike: HomogeneityTest | None = None,
) -> int:
    tests: list[RumTest | HomogeneityTest] = [result] if alike is None else [result, alike]
    failed, interrupted = any(test.failed for test in tests), any(test.interrupted for test in tests)
    table = result.to_frame("dict")
    code = answer(
        arguments, document, lambda: [part for test in tests for part in test.parts()], table, not failed, interrupted
    )
    if arguments.replicates:
        draws = {f"tau_{t:g}": list(d) for t, d in zip(result.taus, result.null_distributions, strict=True)}
        write_table(draws, arguments.replicates, inputs_of(arguments))
    return code


def _taus(arguments: argparse.Namespace) -> Any:
    taus = [number_or_text(text) for text in arguments.tau or ["auto"]]
    for tau in taus:
        check_tau(tau, find_convention(arguments.convention), "--tau")
    return taus[0] if len(taus) == 1 else taus


def _test_each(parts: dict[str, ChoiceData], arguments: argparse.Namespace, options: dict[str, Any]) -> int:
    refused: dict[str, str] = {}
    try:
        results = rum_test_many(parts, cluster=arguments.cluster, **options).tests
    except InputError as fault:
        refused = _refused(parts, arguments, options)
        parts = {name: part for name, part in parts.items() if name not in refused}
        if not parts or not refused:
            raise fault from None
        results = rum_test_many(parts, cluster=arguments.cluster, **options).tests
    values = [r.pvalue for r in results]
    columns = {
        "name": list(parts),
        "statistic": [r.statistic for r in results],
        "p_value": values,
        "adjusted_p": holm(values).tolist(),
        "tau": [r.tau for r in results],
    }
    if any(r.interrupted for r in results):
        columns |= {"replicates": [r.n_boot for r in results]}
    if len(results[0].taus) > 1:  # how much hangs on tau
        columns |= {"lowest_p": [float(r.pvalues.min()) for r in results]}
        columns |= {"highest_p": [float(r.pvalues.max()) for r in results]}
    seed = options["seed"]
    several = {"taus": [list(r.taus) for r in results], "pvalues": [r.pvalues.tolist() for r in results]}
    several |= {"resample": [r.resample for r in results], "left_out": [r.to_dict()["left_out"] for r in results]}
    title = f"Test of random utility by {arguments.by or 'file'}; {arguments.n_boot} replicates each, seed {seed}"
    note = "adjusted: Holm's correction for all of them together"
    if "lowest_p" in columns:
        note += "; lowest, highest: over tau " + ", ".join(f"{t:.3g}" for t in sorted(results[0].taus))
        note += " and the like" if len({r.taus for r in results}) > 1 else ""
    note += "".join(f". Not tested: {name} ({reason})" for name, reason in refused.items())
    if any(r.rejects() for r in results):
        note += f". {ASSUMPTION}"
    return answer(
        arguments,
        lambda: {"by": arguments.by, "seed": seed, "results": records_of(columns | several), "refused": refused},
        lambda: [table_of(title, columns, note)],
        columns,
        good=not any(r.failed for r in results),
        interrupted=any(r.interrupted for r in results),
    )


def _alike_as_dict(test: HomogeneityTest) -> dict[str, Any]:
    names = ("testable", "statistic", "pvalue", "n_boot", "interrupted", "failed", "seconds")
    return {"homogeneity": {name: getattr(test, name) for name in names}}


def _refused(parts: dict[str, ChoiceData], arguments: argparse.Namespace, options: dict[str, Any]) -> dict[str, str]:
    """The groups that cannot be tested, and why."""
    found = {}
    for name, part in parts.items():
        try:
            rum_test_many({name: part}, cluster=arguments.cluster, **options | {"n_boot": 1, "progress": False})
        except InputError as fault:
            found[name] = str(fault).removeprefix(f"data set {name!r}: ")
    return found


def test_as_dict(result: RumTest, data: ChoiceData) -> dict[str, Any]:
    """A test for machines."""
    return result.to_dict() | {
        "items": list(data.items),
        "menus": len(data.totals),
        "understood": data.understood.to_dict(),
    }
