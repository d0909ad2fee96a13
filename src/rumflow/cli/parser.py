"""The arguments of `rumflow COMMAND`, one for each entry of `COMMANDS`.

Each command is a module of this folder with an `EXAMPLE`, `add_arguments(parser)` and `run(arguments)`, which returns the exit
code. Only the module of the command that is called is loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from importlib import import_module
from typing import NoReturn

from rumflow.cli.answers import BAD_INPUT
from rumflow.text import visible
from rumflow.version import __version__

COMMANDS = {
    "read": "how a file is read, what it holds, what could go wrong, and what to run next",
    "demo": "simulated data with a known violation, projected and explained",
    "project": "the nearest random utility model, how far it is and what drives the distance",
    "test": "bootstrap test: could these choices come from a population of utility maximisers?",
    "explain": "which menus are in conflict with each other, why, and how much each of them matters",
    "pairs": "how transitive choices from pairs are: triangle inequalities, majorities, cycles",
    "compare": "how far the data are from several models: all rankings, known preferences, single-peaked ones",
    "bounds": "what any random utility model near the data predicts for a menu that was not offered",
    "assort": "the assortment with the highest revenue in the worst case, over all models that fit the data best",
    "simulate": "write simulated choices to a file",
    "app": "a page in the browser, on this machine: data in, questions asked, answers taken away",
    "report": "one self-contained HTML page about a data set",
    "compile": "compile everything now, so that nobody waits for it later",
    "bench": "how fast projections are on this machine",
    "completion": "print a shell completion script",
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the list of all options."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"rumflow: {visible(message.removeprefix('argument '))} (see {self.prog} --help)\n")


class _Help(argparse.HelpFormatter):
    """Wraps everything but the example, which is there to be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("example:\n") else super()._fill_text(text, width, indent)


def make_parser(commands: Collection[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The command line, with the arguments of some of the commands."""
    top = _Parser(
        prog="rumflow",
        allow_abbrev=False,
        description="Are these choices rational, how far are they from rational, and what is the nearest rational model?",
        epilog="exit codes: 0 done, 1 wrong input or usage, 2 not converged, 130 interrupted",
    )
    top.add_argument("--version", action="version", version=f"rumflow {__version__}")
    parsers = top.add_subparsers(dest="command", metavar="command", required=True)
    for name, text in COMMANDS.items():
        one = parsers.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + "." * (not text.endswith("?")),
            allow_abbrev=False,
            formatter_class=_Help,
        )
        if name in commands:
            module = import_module(f"rumflow.cli.{name}")
            one.epilog = f"example:\n  {module.EXAMPLE}"
            one.set_defaults(run=module.run, parser=top)
            module.add_arguments(one)
    return top
