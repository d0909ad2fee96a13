"""Arguments that several commands share, and whole numbers that are checked where they are read."""

from __future__ import annotations

from argparse import Action, ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from collections.abc import Callable
from typing import Any

from rumflow.check import check_replicates, check_seconds, check_tol, check_whole
from rumflow.data.readers.roles import ROLES
from rumflow.data.readers.settings import SETTINGS, Setting
from rumflow.output.files import FORMS

#: Everything that says how to read menus and choices, and how to read budgets.
_READING: tuple[str, ...] = (*(one.name for one in SETTINGS if one.name != "encoding"), "leave_out", "separator")
READING = (*(role.name for role in ROLES), *_READING)
BUDGETS = ("budget", "shares", "quantities", "expenditure", "instrument", "at_median")


class Checked(Action):
    """For `action=`: a number, or a word, checked as the argument of the same name is in Python, and refused in the same words.

    check   a function of `rumflow.check`, called with the value and the name of the option.
    """

    def __init__(self, *args: Any, check: Callable[[Any, str], Any], **options: Any) -> None:
        super().__init__(*args, **options)
        self.check = check

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        """Check and keep."""
        setattr(namespace, self.dest, self.check(number_or_text(values), option or self.dest))


def number_or_text(text: str) -> int | float | str:
    """What a word of the command line means.

    >>> number_or_text("3"), number_or_text("3.0"), number_or_text("three")
    (3, 3.0, 'three')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def whole_number(least: int, most: int | None = None) -> Callable[[Any, str], int]:
    """For `check=`: a whole number in a range."""
    return lambda value, name: check_whole(value, name, least, most)


def _by(text: str) -> str:
    if sorted(part.strip() for part in text.split(",")) not in (["group"], ["subject"], ["group", "subject"]):
        raise ArgumentTypeError(
            f"{text!r}: accepted are group, subject and group,subject; for a column of groups say --group {text} --by group"
        )
    return text


def add_data(
    parser: ArgumentParser,
    by: bool = False,
    several: bool = False,
    budgets: bool = False,
    quiet: str = "do not print how the data were read, nor progress",
) -> None:
    """What to read and how; `quiet` says what `--quiet` does."""
    text = (
        "a CSV (also .gz), Excel (.xlsx) or Parquet file, or orders (.soc .soi .toc .toi); "
        "datasets:NAME; - for CSV from standard input"
    )
    if several:
        parser.add_argument("data", nargs="+", help=text + "; several are tested separately, or --together")
    else:
        parser.add_argument("data", help=text)
    if by:
        parser.add_argument(
            "--by", metavar="WHAT", type=_by, help="group, subject or group,subject: each one separately"
        )
    roles = parser.add_argument_group(
        "columns",
        "What the columns mean is recognised by name and content; who names the roles of a layout turns that off. 'no' says that "
        "there is no such column.",
    )
    for role in ROLES:
        metavar = "COLUMNS" if role.several else "COLUMN"
        roles.add_argument(f"--{role.name.replace('_', '-')}", metavar=metavar, help=role.what)
    group = parser.add_argument_group("reading the data")
    for one in SETTINGS:
        _add_setting(group, one)
    also = "; with --prices some of the budgets, with commas" if budgets else ""
    group.add_argument(
        "--only",
        metavar="NAME",
        help=f"only the group with this name (or subject, if there are no groups){also}",
    )
    group.add_argument(
        "--leave-out",
        metavar="ITEMS",
        help="items to remove from every menu, with the choices of them; with commas, labels that hold one in quotes",
    )
    group.add_argument("--separator", help="between the items of a menu")
    group.add_argument("--delimiter", help="between the fields of a line")
    if budgets:
        _add_budgets(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help=quiet)


def _add_setting(group: Any, one: Setting) -> None:
    """One of the settings that a file has on every page."""
    name = f"--{one.name.replace('_', '-')}"
    if one.name == "encoding":  # any that Python knows
        group.add_argument(name, default=one.start, help=f"{one.help} (default {one.start})")
    elif one.name == "clean":
        group.add_argument(name, action="store_true", help=one.help)
    elif one.name == "menus":
        more = "; also a JSON file with the menus that ids refer to, or subsets:1,2,3 for all subsets by size"
        group.add_argument(name, metavar=one.metavar, help=one.help + more)
    else:
        group.add_argument(name, choices=one.values or None, metavar=one.metavar, help=one.help)


def _add_budgets(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("budgets: households and prices instead of menus and choices")
    group.add_argument(
        "--prices", metavar="FILE", help="a file of prices, one row per budget; the data are then households"
    )
    group.add_argument("--budget", metavar="COLUMN", help="column of the budget, such as the year, in both files")
    group.add_argument("--shares", metavar="COLUMNS", help="expenditure shares of the goods")
    group.add_argument("--quantities", metavar="COLUMNS", help="quantities of the goods, instead of shares")
    group.add_argument(
        "--expenditure", metavar="COLUMN", help="total expenditure, to smooth over; 'no': plain frequencies"
    )
    group.add_argument(
        "--instrument", metavar="COLUMN", help="what moves expenditure but not tastes, such as a wage: corrects for it"
    )
    group.add_argument(
        "--degree",
        action=Checked,
        check=whole_number(0, 10),
        default=3,
        help="of the polynomial in log expenditure (3)",
    )
    group.add_argument(
        "--at-median", action="store_true", help="prices are as paid: divide them by each budget's median expenditure"
    )


def add_seed(parser: ArgumentParser, default: int | None) -> None:
    """`--seed`."""
    text = "a fresh one" if default is None else str(default)
    parser.add_argument(
        "--seed",
        action=Checked,
        check=whole_number(0),
        default=default,
        help=f"seed of the random numbers (default {text})",
    )


def add_sampling(
    parser: ArgumentParser,
    n_boot: int,
    what: str,
    *,
    least: int = 1,
    seed: int | None = 0,
) -> None:
    """`--n-boot`, `--cluster` and `--seed`: how samples are drawn."""
    parser.add_argument(
        "--n-boot",
        action=Checked,
        check=lambda value, name: check_replicates(value, name, least),
        default=n_boot,
        metavar="B",
        help=f"{what} (default {n_boot})",
    )
    parser.add_argument(
        "--cluster",
        action=BooleanOptionalAction,
        default="auto",
        help="resample whole subjects (default: where they are known and made several choices)",
    )
    add_seed(parser, seed)


def add_stopping(parser: ArgumentParser, seconds: str) -> None:
    """`--tol` and `--max-seconds`: when a projection ends; `seconds` says what the time is for."""
    parser.add_argument(
        "--tol", action=Checked, check=check_tol, default=1e-9, help="certified relative gap (default 1e-9)"
    )
    parser.add_argument("--max-seconds", action=Checked, check=check_seconds, help=seconds)


def add_json(parser: ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_out(parser: ArgumentParser, what: str, required: bool = False) -> None:
    """`--out`."""
    endings = ", ".join(FORMS)
    parser.add_argument("-o", "--out", metavar="FILE", required=required, help=f"write {what} to a file: {endings}")
