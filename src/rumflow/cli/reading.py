"""Data from the command line."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumflow.check import check_menu
from rumflow.cli.answers import say_understood
from rumflow.cli.arguments import BUDGETS, LISTS, ROLES
from rumflow.cli.wording import shell_words
from rumflow.errors import InputError
from rumflow.output.names import how_many

if TYPE_CHECKING:
    from rumflow.data.choices import ChoiceData


def read_data(arguments: argparse.Namespace, path: str | None = None) -> ChoiceData:
    """The file named on the command line (or `path`); how it was read goes to standard error."""
    from rumflow.data.choices import ChoiceData

    for name in BUDGETS:
        if getattr(arguments, name, None):
            raise InputError(f"--{name.replace('_', '-')} goes with --prices, which makes the data households")
    options: dict[str, Any] = {}
    for role in (*ROLES, *LISTS):
        value = getattr(arguments, role)
        if value is not None:
            columns = split_labels(value) if role in LISTS else []
            options[role] = False if value == "no" else columns if len(columns) > 1 else value
    for name in ("available", "items"):
        if getattr(arguments, name) is not None:
            options[name] = split_labels(getattr(arguments, name))
    if arguments.missing is not None:  # an empty field may be such a code
        options["missing"] = [part.strip() for part in arguments.missing.split(",")]
    if arguments.menus is not None:
        options["menus"] = _menus(arguments.menus)
    if arguments.base is not None:
        options["base"] = "label" if arguments.base == "label" else int(arguments.base)
    for name in ("outside_option", "separator"):
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    delimiter = {"tab": "\t", "\\t": "\t"}.get(arguments.delimiter, arguments.delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"--delimiter {delimiter!r}: one character is needed, or 'tab'")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        data = ChoiceData.from_csv(
            arguments.data if path is None else path,
            delimiter=delimiter,
            encoding=arguments.encoding,
            clean=arguments.clean,
            **options,
        )
    data = _narrow(data, arguments)
    said = say_understood(data, arguments)
    for text in dict.fromkeys(shell_words(str(one.message), arguments) for one in caught):
        if text not in said:
            print(f"rumflow: {text}", file=sys.stderr)
    return data


def _narrow(data: ChoiceData, arguments: argparse.Namespace) -> ChoiceData:
    """What `--only` and `--leave-out` leave of the data."""
    told = [data.understood]
    if arguments.only is not None:
        rows = data.rows
        kind = "subject" if rows is not None and rows.group is None and rows.subject is not None else "group"
        parts = parts_of(data, kind)
        if arguments.only not in parts:
            names = "; ".join(list(parts)[:6]) + ("; ..." if len(parts) > 6 else "")
            raise InputError(f"--only {arguments.only}: there is no such {kind}; there are {names}")
        data = parts[arguments.only]
        told.append(
            f"only {kind} {arguments.only}: {how_many(len(data.totals), 'menu')}, {data.n_observations:g} choices"
        )
    if arguments.leave_out is not None:
        data = data.without(labels_of_data(data, "--leave-out", arguments.leave_out))
        menus = how_many(len(data.totals), "menu")
        told.append(f"without {arguments.leave_out}: {data.n} items, {menus}, {data.n_observations:g} choices")
    return data.replace(understood="\n".join(told)) if len(told) > 1 else data


def say_resampling(data: ChoiceData, arguments: argparse.Namespace) -> None:
    """Where subjects are known and not resampled whole: that they could be."""
    known = data.rows is not None and data.rows.subject is not None and len(data.rows.subjects) > 1
    apart = "subject" in (getattr(arguments, "by", None) or "")
    if known and not apart and not (arguments.cluster or arguments.quiet or arguments.json):
        print("choices are resampled one by one; --cluster resamples whole subjects", file=sys.stderr)


def parts_of(data: ChoiceData, by: str) -> dict[str, ChoiceData]:
    """The data of each group or subject, by name."""
    return {name_of(key): part for key, part in data.split(split_labels(by)).items()}


def name_of(key: object) -> str:
    """The name of a group: its parts with commas, a part that holds a comma in quotes as in a CSV file.

    >>> name_of(("x, y", "z")), name_of(("x", "y, z"))
    ('"x, y", z', 'x, "y, z"')
    """
    if not isinstance(key, tuple):
        return str(key)
    texts = [name_of(part) if isinstance(part, tuple) else str(part) for part in key]
    plain = [isinstance(part, tuple) or not set(text) & set(',"') for part, text in zip(key, texts, strict=True)]
    return ", ".join(t if ok else '"' + t.replace('"', '""') + '"' for t, ok in zip(texts, plain, strict=True))


def split_labels(text: str) -> list[str]:
    """Labels separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def labels_of_data(data: ChoiceData, option: str, text: str, single: bool = False) -> list[Any]:
    """Labels of the data from text: one, or several with commas."""
    by_text = {str(label): label for label in data.items}
    labels = [by_text.get(label, label) for label in ([text] if single else split_labels(text))]
    check_menu(labels, data.items, option)
    return labels


def _menus(text: str) -> Any:
    from rumflow.data.labels import all_subsets

    if text.startswith("subsets:"):
        return all_subsets(split_labels(text.removeprefix("subsets:")))
    try:
        menus = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"--menus {text}: give subsets:1,2,3, or a JSON file with a list of menus or a mapping of ids to menus ({error})"
        ) from None
    if not isinstance(menus, list | dict):
        raise InputError(f"--menus {text}: the file must hold a list of menus, or a mapping of ids to menus")
    return menus
