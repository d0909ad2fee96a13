"""`rumflow read`: how a file is read, what it holds, what could go wrong, what to run next."""

from __future__ import annotations

import argparse
import shlex
from html import escape
from pathlib import Path

from rumflow.cli.answers import OK, answer, check_out, inputs_of, reword, say_written
from rumflow.cli.arguments import add_data, add_json, add_out
from rumflow.cli.reading import read_data
from rumflow.data.summary import DataSummary
from rumflow.output.files import write_text
from rumflow.output.markup import to_page
from rumflow.output.result import html_of

EXAMPLE = "rumflow read choices.csv --out choices.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data."""
    add_data(parser, quiet="no effect: how the data were read is what this command prints")
    add_json(parser)
    add_out(parser, "shares by menu, or with .html everything that is printed,")


def run(arguments: argparse.Namespace) -> int:
    """Read, describe."""
    check_out(arguments)
    quiet, arguments.quiet = arguments.quiet, True  # how it was read is part of the answer
    data = read_data(arguments)
    arguments.quiet = quiet
    found = DataSummary(data, shlex.join(_reading(arguments.words)))
    page = bool(arguments.out) and Path(arguments.out).suffix.lower() == ".html"
    answer(arguments, found.to_dict, found.parts, None if page else found.to_frame("dict"))
    if page:
        title = "Choices" if arguments.data == "-" else Path(arguments.data).name
        body = [f"<h1>{escape(title)}</h1>", *(html_of(reword(part, arguments)) for part in found.parts())]
        write_text(to_page("\n".join(body), title), arguments.out, inputs_of(arguments))
        say_written(arguments)
    return OK


def _reading(words: list[str]) -> list[str]:
    """The file and how it is read: what other commands need as well."""
    kept, rest = [], iter(words[1:])
    for word in rest:
        if word in ("-o", "--out"):
            next(rest)
        elif word not in ("--json", "-q", "--quiet") and not word.startswith(("-o", "--out=")):
            kept.append(word)
    return kept
