"""Data from the command line, and answers back to it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.data.choices import ChoiceData
from rumflow.data.labels import all_subsets
from rumflow.errors import InputError


def read_data(arguments: argparse.Namespace, path: str | None = None) -> ChoiceData:
    """The file named on the command line (or `path`); how it was read goes to standard error."""
    options: dict[str, Any] = {}
    for role in ("menu", "choice", "count", "weight", "total", "subject", "observation"):
        value = getattr(arguments, role)
        if value is not None:
            options[role] = False if value == "no" else value
    if arguments.group is not None:
        options["group"] = False if arguments.group == "no" else split_labels(arguments.group)
    for name in ("available", "items"):
        if getattr(arguments, name) is not None:
            options[name] = split_labels(getattr(arguments, name))
    if arguments.menus is not None:
        options["menus"] = _menus(arguments.menus)
    for name in ("outside_option", "separator", "base"):
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    delimiter = {"tab": "\t", "\\t": "\t"}.get(arguments.delimiter, arguments.delimiter)
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"--delimiter {delimiter!r}: one character is needed, or 'tab'")
    data = ChoiceData.from_csv(
        path or arguments.data, delimiter=delimiter, encoding=arguments.encoding, clean=arguments.clean, **options
    )
    if not arguments.quiet and not arguments.json:
        print(data.understood, file=sys.stderr)
    return data


def parts_of(data: ChoiceData, by: str) -> dict[str, ChoiceData]:
    """The data of each group or subject, by name."""
    names = split_labels(by)
    return {name_of(key): part for key, part in data.split(names).items()}


def name_of(key: object) -> str:
    """The name of a group: its parts with commas."""
    return ", ".join(name_of(k) for k in key) if isinstance(key, tuple) else str(key)


def split_labels(text: str) -> list[str]:
    """Labels separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _menus(text: str) -> Any:
    if text.startswith("subsets:"):
        return all_subsets(split_labels(text.removeprefix("subsets:")))
    try:
        menus = json.loads(Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"--menus {text}: give subsets:1,2,3, or a JSON file with a list of menus or a mapping of ids to menus ({error})"
        ) from None
    if not isinstance(menus, list | dict):
        raise InputError(f"--menus {text}: the file must hold a list of menus, or a mapping of ids to menus")
    return menus


def print_json(content: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    print(json.dumps(content, indent=2, default=_plain, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else str(value)


def show_progress(arguments: argparse.Namespace) -> bool:
    """A progress line where somebody looks."""
    return sys.stderr.isatty() and not arguments.quiet and not arguments.json


def say_written(path: str | Path, arguments: argparse.Namespace) -> None:
    """Name a file that was written."""
    if not arguments.json:
        print(f"written: {path}", file=sys.stderr)
