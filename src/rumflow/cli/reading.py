"""Data from the command line."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rumflow.check import check_menu
from rumflow.cli.answers import say_understood
from rumflow.cli.arguments import BUDGETS
from rumflow.cli.wording import shell_words
from rumflow.data.calls import DATASET
from rumflow.data.labels import count_items
from rumflow.data.readers.roles import ROLES
from rumflow.data.readers.settings import SETTINGS, split_labels, split_menus
from rumflow.errors import InputError
from rumflow.output.names import how_many
from rumflow.text import visible_lines

if TYPE_CHECKING:
    from rumflow.data.choices import ChoiceData


def read_data(arguments: argparse.Namespace, path: str | None = None) -> ChoiceData:
    """The file named on the command line (or `path`); how it was read goes to standard error."""
    from rumflow.data.choices import ChoiceData

    for name in BUDGETS:
        if getattr(arguments, name, None):
            raise InputError(f"--{name.replace('_', '-')} goes with --prices, which makes the data households")
    meanings: dict[str, Callable[[str], Any]] = {
        role.name: columns_or_none if role.several else column_or_none for role in ROLES
    }
    meanings |= {one.name: one.read for one in SETTINGS if one.name not in ("encoding", "clean")}
    meanings |= {"menus": _menus, "separator": str, "delimiter": delimiter_of}
    options = given_options(arguments, meanings)
    name = arguments.data if path is None else path
    if name.startswith(DATASET):
        return _load(name, arguments, options)
    if arguments.only is not None or "group" in (getattr(arguments, "by", None) or ""):
        options.setdefault("group", True)  # whoever asks for groups means the columns that are called so
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        data = ChoiceData.from_csv(
            name,
            encoding=arguments.encoding,
            clean=arguments.clean,
            **options,
        )
    data = _narrow(data, arguments)
    said = say_understood(data, arguments)
    for text in dict.fromkeys(shell_words(str(one.message), arguments) for one in caught):
        if text not in said:
            print(f"rumflow: {visible_lines(text)}", file=sys.stderr)
    return data


def _load(name: str, arguments: argparse.Namespace, options: Mapping[str, Any]) -> ChoiceData:
    """A data set that the package knows."""
    from rumflow.data.accept import as_data
    from rumflow.data.budgets import BudgetData

    for option in options:
        raise InputError(f"--{option.replace('_', '-')} is for files; {name} needs no options to be read")
    data = as_data(name)
    if isinstance(data, BudgetData):
        raise InputError(f"{name} are households and prices; add --prices {name}")
    data = _narrow(data, arguments)
    say_understood(data, arguments)
    return data


def given_options(arguments: argparse.Namespace, meanings: Mapping[str, Callable[[str], Any]]) -> dict[str, Any]:
    """Those of the options that are given, by name, and what their texts mean."""
    texts = {name: getattr(arguments, name) for name in meanings}
    return {name: meanings[name](text) for name, text in texts.items() if text is not None}


def column_or_none(text: str) -> str | bool:
    """The name of a column; False where there is to be none."""
    return False if text == "no" else text


def delimiter_of(text: str) -> str:
    """The character between fields."""
    character = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(character) != 1:
        raise InputError(f"--delimiter {text!r}: one character is needed, or 'tab'")
    return character


def columns_or_none(text: str) -> str | bool | list[str]:
    """The names of one column or of several; False where there is to be none."""
    columns = split_labels(text)
    quoted = len(columns) == 1 and columns[0] != text.strip()
    return columns if len(columns) > 1 else columns[0] if quoted else column_or_none(text)


def _narrow(data: ChoiceData, arguments: argparse.Namespace) -> ChoiceData:
    """What `--only` and `--leave-out` leave of the data."""
    understood, told = data.understood, []
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
        data = data.without(menu_of_data(data, "--leave-out", arguments.leave_out))
        menus = how_many(len(data.totals), "menu")
        told.append(
            f"without {arguments.leave_out}: {count_items(data.items)}, {menus}, {data.n_observations:g} choices"
        )
    return data.replace(understood=understood.noting(told)) if told else data


def say_resampling(data: ChoiceData, arguments: argparse.Namespace) -> None:
    """Where nobody said how, and subjects made several choices: that they are resampled whole."""
    from rumflow.inference.resample import repeated_choices

    apart = "subject" in (getattr(arguments, "by", None) or "")
    if apart or arguments.cluster != "auto" or arguments.quiet or arguments.json:
        return
    if repeated_choices([data]) is not None:
        print("whole subjects are resampled; --no-cluster resamples choices one by one", file=sys.stderr)


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


def labels_of_data(data: ChoiceData, option: str, texts: Sequence[str]) -> list[Any]:
    """Labels of the data, given as text."""
    return labels_among(data.items, option, texts)


def labels_among(items: Sequence[Any], option: str, texts: Sequence[str]) -> list[Any]:
    """Labels of items, given as text."""
    by_text = {str(label): label for label in items}
    labels = [by_text.get(text, text) for text in texts]
    check_menu(labels, items, option)
    return labels


def menu_of_data(data: ChoiceData, option: str, text: str) -> list[Any]:
    """Labels of the data, with commas between them."""
    return labels_of_data(data, option, split_labels(text))


def item_of_data(data: ChoiceData, option: str, text: str) -> Any:
    """One label of the data."""
    return labels_of_data(data, option, [text])[0]


def _menus(text: str) -> Any:
    from rumflow.data.labels import all_subsets

    if text in ("pairs", "all"):
        return text
    if text.startswith("subsets:"):
        return all_subsets(split_labels(text.removeprefix("subsets:")))
    if not isinstance(menus := split_menus(text), str) and not Path(text).exists():
        return menus
    try:
        menus = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"--menus {text}: give menus such as a,b;a,c, subsets:1,2,3, or a JSON file with a list of menus or a mapping of ids "
            f"to menus; for files of orders pairs and all are accepted as well ({error})"
        ) from None
    if not isinstance(menus, list | dict):
        raise InputError(f"--menus {text}: the file must hold a list of menus, or a mapping of ids to menus")
    return menus
