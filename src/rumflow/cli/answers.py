"""Answers of the commands: exit codes, JSON, progress, files written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rumflow.cli.wording import shell_words
from rumflow.output.files import check_form, check_target, json_text, write_table
from rumflow.output.tables import Table, show
from rumflow.text import visible_lines

if TYPE_CHECKING:
    from rumflow.data.budgets import BudgetData
    from rumflow.data.choices import ChoiceData
    from rumflow.inference.bounds_result import Bounds

#: What is less than this in a table of probabilities is rounding.
ROUNDING = 1e-12

OK, BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 0, 1, 2, 130


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON document on standard output; numbers that JSON does not have (infinite, not a number) are null."""
    text = json_text(content, 2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:  # characters that only the escapes of JSON can write there
        text = json_text(content, 2, ascii_only=True)
    print(text)


def answer(
    arguments: argparse.Namespace,
    document: Callable[[], Mapping[str, Any]],
    parts: Callable[[], Sequence[Table | str]],
    table: Mapping[str, list[Any]] | None = None,
    good: bool = True,
    interrupted: bool = False,
) -> int:
    """Print a result, as JSON or as tables and paragraphs, and write the file of `--out`.

    The exit code is returned; `good`: all of it converged; `interrupted`: Ctrl-C ended it, and this is what was done by then.
    """
    if arguments.json:
        print_json(document())
    else:
        show([reword(part, arguments) for part in parts()])
    if table is not None:
        write_out(table, arguments)
    if interrupted:
        print("rumflow: interrupted; the answer is what was done by then", file=sys.stderr)
        return INTERRUPTED
    return OK if good else NOT_CONVERGED


def reword(part: Table | str, arguments: argparse.Namespace) -> Table | str:
    """A part of the answer in the words of the command."""
    if isinstance(part, str):
        return shell_words(part, arguments)
    return replace(part, note=shell_words(part.note, arguments))


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Rows as columns."""
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def table_of(title: str, columns: Mapping[str, list[Any]], note: str = "") -> Table:
    """Columns as a table, their names as words."""
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Table(title, [name.replace("_", " ") for name in columns], rows, note)


def show_progress(arguments: argparse.Namespace) -> bool:
    """A progress line where standard error is a terminal."""
    return sys.stderr.isatty() and not arguments.quiet and not arguments.json


def say_understood(data: ChoiceData | BudgetData, arguments: argparse.Namespace) -> str:
    """How the data were read, on standard error unless it is not wanted; what was said is returned."""
    arguments.labels = data.items
    said = "" if arguments.quiet or arguments.json else visible_lines(shell_words(str(data.understood), arguments))
    if said:
        print(said, file=sys.stderr)
    return said


def check_out(arguments: argparse.Namespace) -> None:
    """Before the work starts: can the file of `--out` be written, and is it none of those that are read?"""
    if arguments.out:
        check_target(arguments.out, inputs_of(arguments))
        check_form(arguments.out)


def write_out(table: Mapping[str, list[Any]], arguments: argparse.Namespace) -> None:
    """Write the file of `--out`, if it is asked for; after the answer is printed, so that a full disk does not lose it."""
    if arguments.out:
        sys.stdout.flush()
        write_table(table, arguments.out, inputs_of(arguments))
        say_written(arguments)


def say_written(arguments: argparse.Namespace) -> None:
    """Name the file that was written."""
    if not arguments.json:
        print(f"written: {arguments.out}", file=sys.stderr)


def inputs_of(arguments: argparse.Namespace) -> list[str]:
    """The files that are read."""
    data = getattr(arguments, "data", [])
    files = [data] if isinstance(data, str) else data
    more = [getattr(arguments, name, None) for name in ("menus", "prices", "revenue")]
    return ["/dev/stdin" if file == "-" else file for file in files] + [file for file in more if file]


def _without_rounding(value: Any) -> Any:
    """Of a probability what is more than rounding."""
    return 0.0 if isinstance(value, float) and abs(value) < ROUNDING else value


def answer_bounds(
    found: Bounds, arguments: argparse.Namespace, title: str, facts: dict[str, Any], seconds: float
) -> int:
    """Intervals and sharp bounds as a table, as JSON beside the `facts`, and in the file of `--out`."""
    columns = {name: list(map(_without_rounding, column)) for name, column in found.table.items() if name != "note"}
    note = "lower, upper: over all members of the model that fit the data best, without sampling error."
    if found.confidence is not None:
        note = f"from, to: {100 * found.confidence:g} % confidence. {note}"
    note = " ".join([note, *found.remarks()])
    document = found.to_dict() | {"notes": found.remarks()} | facts | {"seconds": seconds}
    parts = [table_of(title, columns, note)]
    return answer(arguments, lambda: document, lambda: parts, found.table, interrupted=found.interrupted)
