"""The commands: `rumflow demo | project | test | bounds | simulate | report | reproduce | bench`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from rumflow.errors import NotConvergedError, RumflowError

OK, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 0, 1, 2, 130

EXAMPLES = {
    "demo": "rumflow demo --seed 1",
    "project": "rumflow project choices.csv --out fitted.csv",
    "test": "rumflow test choices.csv --n-boot 999 --cluster --seed 1",
    "bounds": 'rumflow bounds choices.csv --for "tea,juice,milk" --item tea',
    "simulate": "rumflow simulate noisy -n 5 --draws 200 --items tea,milk,juice,water,cola --seed 1 --out choices.csv",
    "report": "rumflow report choices.csv -o report.html",
    "reproduce": "rumflow reproduce exp1 --out results",
    "bench": "rumflow bench --max-n 12",
    "completion": "rumflow completion bash >> ~/.bashrc",
}

HELP = {
    "demo": "simulated data with a known violation, projected and explained",
    "project": "the nearest random utility model, how far it is and what drives the distance",
    "test": "bootstrap test: could these choices come from a population of utility maximisers?",
    "bounds": "what any random utility model near the data predicts for a menu that was not offered",
    "simulate": "write simulated choices to a file",
    "report": "one self-contained HTML page about a data set",
    "reproduce": "run the experiments of the paper again",
    "bench": "how fast projections are on this machine",
    "completion": "print a shell completion script",
}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="rumflow",
        description="Are these choices rational, how far from it are they, and what is the nearest rational model?",
        epilog="exit codes: 0 done, 1 wrong input or usage, 2 not converged",
    )
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(dest="command", metavar="command")
    made = {}
    for name, text in HELP.items():
        made[name] = commands.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", epilog=f"example: {EXAMPLES[name]}"
        )
    one = made["demo"]
    _seed(one, 0)
    _json(one)

    one = made["project"]
    _data(one, by=True)
    one.add_argument(
        "--weights", choices=["none", "counts"], default="none", help="weight of a cell (default none: 1 each)"
    )
    one.add_argument("--tol", type=float, default=1e-9, help="certified relative gap (default 1e-9)")
    one.add_argument("--max-seconds", type=float, help="stop after this time with the best point so far (exit code 2)")
    _top(one)
    _json(one)
    _out(one, "the fitted probabilities")

    one = made["test"]
    _data(one, by=True, several=True)
    one.add_argument("--together", action="store_true", help="one distribution for all the groups (--by) or files")
    one.add_argument("--n-boot", type=int, default=999, metavar="B", help="bootstrap replicates (default 999)")
    one.add_argument(
        "--tau", action="append", metavar="TAU", help="tightening: auto (default) or a number; may be repeated"
    )
    one.add_argument(
        "--weights", choices=["none", "counts", "inverse-variance"], default="none", help="weight of a cell"
    )
    one.add_argument("--cluster", action="store_true", help="resample whole subjects")
    one.add_argument(
        "--convention", default=None, help="default, abkk or kitamura-stoye: how a published statistic is made"
    )
    one.add_argument("--jobs", type=int, default=1, help="worker processes (default 1: threads)")
    _seed(one, None)
    _json(one)
    _out(one, "the bootstrap distribution")

    one = made["bounds"]
    _data(one)
    one.add_argument("--for", dest="target", required=True, metavar="MENU", help='the menu, such as "tea,milk"')
    one.add_argument("--item", dest="target_item", help="one item of it (default: all)")
    one.add_argument(
        "--confidence", type=float, metavar="LEVEL", help="also confidence intervals, such as 0.95 (slower)"
    )
    _seed(one, 0)
    _json(one)
    _out(one, "the bounds")

    one = made["simulate"]
    one.add_argument(
        "family",
        choices=["noisy", "rankings", "logit", "dirichlet"],
        help="noisy: samples from a mixture of rankings; rankings: the same mixture, exactly; logit: a mixed logit; "
        "dirichlet: no rationality at all",
    )
    one.add_argument("-n", type=int, default=4, help="number of items (default 4)")
    one.add_argument("--draws", type=int, default=100, help="choices from each menu (default 100)")
    one.add_argument("--share", type=float, default=1.0, help="share of the menus that are offered (default 1)")
    one.add_argument("--items", metavar="LABELS", help="labels of the items, separated by commas")
    one.add_argument(
        "--form", choices=["rows", "long"], default="rows", help="a row a choice, or counts by menu and item"
    )
    _seed(one, None)
    _out(one, "the choices", required=True)
    _json(one)

    one = made["report"]
    _data(one)
    one.add_argument(
        "-o", "--out", default="report.html", metavar="FILE", help="the page to write (default report.html)"
    )
    one.add_argument("--title", help="title of the page")
    one.add_argument("--n-boot", type=int, default=499, metavar="B", help="bootstrap replicates; 0 leaves the test out")
    _seed(one, 0)
    _json(one)

    one = made["reproduce"]
    one.add_argument("what", choices=["exp1", "exp2", "exp3", "power", "all"], help="the experiment")
    one.add_argument("--out", default="results", metavar="FOLDER", help="where to write (default results)")
    _json(one)

    one = made["bench"]
    one.add_argument("--max-n", type=int, default=10, help="largest number of items (default 10)")
    one.add_argument("--family", choices=["noisy", "dirichlet"], default="noisy", help="kind of data (default noisy)")
    _seed(one, 0)
    _json(one)
    _out(one, "the timings")

    made["completion"].add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")
    return top


def _data(one: argparse.ArgumentParser, by: bool = False, several: bool = False) -> None:
    """What to read and how."""
    text = "a CSV (also .gz) or Parquet file"
    if several:
        one.add_argument("data", nargs="+", help=text + "; several are tested each on its own, or --together")
    else:
        one.add_argument("data", help=text)
    if by:
        one.add_argument("--by", metavar="WHAT", help="group, subject or group,subject: each on its own")
    group = one.add_argument_group("reading the data (found by name and content where not given)")
    for role in ("menu", "choice", "count", "weight", "total", "subject", "observation"):
        group.add_argument(f"--{role}", metavar="COLUMN", help=f"column of the {role}; 'no' for none")
    group.add_argument("--group", metavar="COLUMNS", help="columns that tell groups apart; 'no' for none")
    group.add_argument("--available", metavar="COLUMNS", help="0/1 columns, one for each item")
    group.add_argument("--items", metavar="LABELS", help="labels in order (for bit masks: of bit 0, bit 1, ...)")
    group.add_argument(
        "--menus", metavar="WHAT", help="menus behind ids: a JSON file, or subsets:1,2,3 for all subsets by size"
    )
    group.add_argument("--outside-option", metavar="ITEM", help="an item that is in every menu")
    group.add_argument("--separator", help="between the items of a menu")
    group.add_argument("--base", type=int, choices=[0, 1], help="do numbers of items count from 0 or from 1?")
    group.add_argument("--clean", action="store_true", help="labels that differ by blanks or case are one")
    group.add_argument("--delimiter", help="between the fields of a line")
    group.add_argument("--encoding", default="utf-8", help="of the text (default utf-8)")
    one.add_argument("-q", "--quiet", action="store_true", help="do not print how the data were read, nor progress")


def _seed(one: argparse.ArgumentParser, default: int | None) -> None:
    text = "a fresh one" if default is None else str(default)
    one.add_argument("--seed", type=int, default=default, help=f"seed of the random numbers (default {text})")


def _json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print JSON")


def _top(one: argparse.ArgumentParser) -> None:
    one.add_argument("--top", type=int, default=8, help="rows of each table (default 8)")


def _out(one: argparse.ArgumentParser, what: str, required: bool = False) -> None:
    one.add_argument(
        "--out", metavar="FILE", required=required, help=f"write {what} to a file: .csv, .parquet or .json"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0, 1 (input or usage) or 2 (not converged)."""
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as stop:
        return BAD_INPUT if stop.code else OK
    try:
        if arguments.version:
            from rumflow import __version__

            print(f"rumflow {__version__}")
            return OK
        if arguments.command is None:
            parser().print_help()
            return BAD_INPUT
        from rumflow.cli import commands

        code: int = commands.COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        print("rumflow: interrupted", file=sys.stderr)
        return INTERRUPTED
    except NotConvergedError as error:
        print(f"rumflow: {error}", file=sys.stderr)
        return NOT_CONVERGED
    except (RumflowError, OSError) as error:
        print(f"rumflow: {error}", file=sys.stderr)
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
