"""Files of preflib.org with orders: .soc and .soi (strict, complete or not), .toc and .toi (with ties).

A line `5: 2,{1,3},4` says that five people rank item 2 first, then 1 and 3 as equals, then 4. Lines with `#` before them tell the
names: `# ALTERNATIVE NAME 1: ebi`. Older files have no such lines: they begin with the number of items, a line `1,ebi` for each,
a line of three totals, and then orders `5,2,{1,3},4`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from rumflow.data.labels import Item
from rumflow.data.readers.files import local_file
from rumflow.errors import InputError

ENDINGS = (".soc", ".soi", ".toc", ".toi")

_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*)", re.IGNORECASE)
_VOTERS = re.compile(r"#\s*NUMBER VOTERS\s*:\s*(\d+)", re.IGNORECASE)
_HEADER = re.compile(rb"#\s*(FILE NAME|TITLE|DATA TYPE|NUMBER ALTERNATIVES|ALTERNATIVE NAME 1)\s*:", re.IGNORECASE)
_ENTRY = re.compile(r"\{[^{}]*\}|[^,{}]+")


class PrefLib(NamedTuple):
    """What a file says: different orders, best first, each a list of labels or of lists of tied labels."""

    name: str
    items: list[Item]
    orders: list[list[list[Item]]]
    counts: list[int]
    warnings: tuple[str, ...] = ()


def is_preflib(path: object) -> bool:
    """Has a file one of the endings, or as .txt the header of such a file?"""
    if not isinstance(path, str | Path):
        return False
    if str(path).lower().endswith(".txt") and Path(path).is_file():
        with open(path, "rb") as file:
            return _HEADER.match(file.read(200).removeprefix(b"\xef\xbb\xbf").lstrip()) is not None
    return str(path).lower().endswith(ENDINGS)


def read_preflib(path: str | Path, encoding: str = "utf-8") -> PrefLib:
    """Read a file of orders."""
    file = local_file(path)
    try:
        lines = file.path.read_text(encoding=encoding).splitlines()
    except (UnicodeDecodeError, LookupError) as error:
        raise InputError(f"{file.name}: this is not {encoding} text ({error}); pass encoding='latin-1'") from None
    numbered = [(k, line.strip()) for k, line in enumerate(lines, 1) if line.strip()]
    if not numbered:
        raise InputError(f"{file.name} is empty; a file of orders is needed")
    modern = numbered[0][1].startswith("#")
    names, body = _modern(numbered) if modern else _old(file.name, numbered)
    labels = _labels(names)
    orders, counts = [], []
    for k, line in body:
        where = f"{file.name}, line {k}"
        count, order = _split(line, ":" if modern else ",", where)
        orders.append([_group(entry, labels, where) for entry in order])
        counts.append(count)
    if not orders:
        raise InputError(f"{file.name}: there are no orders; a line such as '5: 1,2,3' for each is needed")
    said = [int(match[1]) for _, line in numbered if (match := _VOTERS.match(line))]
    warnings = [
        f"{file.name}: NUMBER VOTERS is {number}, but the orders are those of {sum(counts)}; is the file complete?"
        for number in said[:1]
        if number != sum(counts)
    ]
    return PrefLib(file.name, list(labels.values()), orders, counts, tuple(warnings))


def _modern(numbered: list[tuple[int, str]]) -> tuple[dict[int, str], list[tuple[int, str]]]:
    found = [_NAME.match(line) for _, line in numbered]
    names = {int(match[1]): match[2].strip() for match in found if match}
    return names, [(k, line) for k, line in numbered if not line.startswith("#")]


def _old(name: str, numbered: list[tuple[int, str]]) -> tuple[dict[int, str], list[tuple[int, str]]]:
    first, text = numbered[0]
    if not text.isdecimal() or len(numbered) < int(text) + 2:
        raise InputError(
            f"{name}, line {first}: {text[:40]!r}: a file of orders begins with lines '# ...' or with the number of items"
        )
    names = {}
    for k, line in numbered[1 : int(text) + 1]:
        number, _, label = line.partition(",")
        if not number.strip().isdecimal():
            raise InputError(
                f"{name}, line {k}: {line[:40]!r}: the number of an item and its name are needed, as in '1,tea'"
            )
        names[int(number)] = label.strip()
    return names, numbered[int(text) + 2 :]


def _labels(names: dict[int, str]) -> dict[int, Item]:
    """Labels by number: the names, or the numbers where two items have the same name."""
    different = len(set(names.values())) == len(names) and all(names.values())
    return {number: name if different else number for number, name in sorted(names.items())}


def _split(line: str, mark: str, where: str) -> tuple[int, list[str]]:
    """The number of people and the entries of their order."""
    number, found, order = line.partition(mark)
    entries = _ENTRY.findall(order)
    left = _ENTRY.sub("", order).replace(",", "").strip()
    if not (found and number.strip().isdecimal() and int(number) > 0 and entries) or left:
        raise InputError(
            f"{where}: {line[:40]!r} is not a number of people and their order, as in '5{mark} 2,{{1,3}},4'"
        )
    return int(number), [entry.strip() for entry in entries if entry.strip()]


def _group(entry: str, labels: dict[int, Item], where: str) -> list[Item]:
    group: list[Item] = []
    for text in entry.strip("{}").split(","):
        number = text.strip()
        if not number.isdecimal() or int(number) not in labels:
            raise InputError(f"{where}: item {number!r} is unknown: the items are numbered 1 to {len(labels)}")
        group.append(labels[int(number)])
    return group
