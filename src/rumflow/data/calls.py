"""What can be run on data, as lines of Python and as a command: both are written from one description, which can also be run.

The words of a command are the inverse of what `rumflow.cli` reads; where it has no words for something, such as a label that
holds a comma, there is no command.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from rumflow.data.readers.roles import ROLES

#: What stands before the name of a data set where a command expects a file.
DATASET = "datasets:"

#: Options of commands that have another name than the argument of Python; their values are labels.
_RENAMED = {"outside_option": "outside"}


class Unsayable(ValueError):
    """The command line has no words for this; the lines of Python have."""


class Name(NamedTuple):
    """The data, or their groups by name, in the lines of Python."""

    text: str

    def run(self, data: Any) -> Any:
        """What the name stands for."""
        return data if self.text == "data" else data.split("group")


DATA, GROUPS = Name("data"), Name('data.split("group")')


@dataclass(frozen=True)
class Call:
    """A function of the package and its arguments, which may be calls themselves."""

    name: str
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    home: str = "rumflow"

    @property
    def text(self) -> str:
        """As Python.

        >>> Call("bounds", (DATA, ["tea", "milk"]), {"seed": 0}).text
        "rf.bounds(data, ['tea', 'milk'], seed=0)"
        """
        given = [_code(value) for value in self.args] + [f"{key}={_code(own)}" for key, own in self.options.items()]
        return f"{'rf' if self.home == 'rumflow' else self.home}.{self.name}({', '.join(given)})"

    def run(self, data: Any, **more: Any) -> Any:
        """Call it; `more` is what changes no number, such as progress."""
        own = {key: _value(value, data) for key, value in self.options.items()}
        function = attrgetter(self.name)(import_module(self.home))
        return function(*(_value(value, data) for value in self.args), **own, **more)


def _code(value: Any) -> str:
    if isinstance(value, Call | Name):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_code(own)}" for key, own in value.items()) + "}"
    return repr(value)


def _value(value: Any, data: Any) -> Any:
    if isinstance(value, Call | Name):
        return value.run(data)
    return {key: _value(own, data) for key, own in value.items()} if isinstance(value, dict) else value


def option(name: str, value: object) -> list[str]:
    """An option of a command; in one word where the value looks like an option itself."""
    text = str(value)
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def options_of(call: Call) -> list[str]:
    """The options of a function as those of its command.

    >>> options_of(Call("best_assortment", (), {"outside_option": "none", "cluster": False, "seed": 0}))
    ['--outside', 'none', '--no-cluster', '--seed', '0']
    """
    words = []
    for key, value in call.options.items():
        name = _RENAMED.get(key, key).replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        else:
            said = "none" if value is None else listed([value]) if key in _RENAMED else value
            words += option(f"--{name}", said)
    return words


def listed(labels: Sequence[Any], items: Sequence[Any] = (), also: str = "") -> str:
    """Labels of items, with commas, as commands take them; an error where one of them holds a comma or blanks at its ends."""
    texts = [str(label) for label in labels]
    if len({str(item) for item in items}) < len(items):
        raise Unsayable("the command line cannot tell items apart whose labels are a number and the same text")
    for text in texts:
        if not text or text != text.strip() or any(mark in text for mark in "," + also):
            raise Unsayable(
                f"the command line cannot name {text!r}, which has blanks at its ends or one of {',' + also}"
            )
    return ",".join(texts)


class Reading(NamedTuple):
    """A file and how it is read, or a data set of the package (no path)."""

    path: str
    name: str  # as people know it; of a data set its name
    options: dict[str, Any]

    def load(self) -> Any:
        """The data."""
        return self._call(self.path).run(None)

    def _call(self, path: str) -> Call:
        """Of the function that reads the data."""
        return Call("ChoiceData.from_csv", (path,), self.options) if self.path else Call("datasets.load", (self.name,))

    @property
    def title(self) -> str:
        """As the command `report` calls its page."""
        return Path(self.name.removesuffix(".gz")).stem if self.path else DATASET + self.name

    def lines(self, call: Call) -> str:
        """The lines of Python that give the same answer."""
        more = "" if call.home == "rumflow" else f"import {call.home}\n"
        return f"import rumflow as rf\n{more}\ndata = {self._call(self.name).text}\nresult = {call.text}\n"

    def command(self, words: Sequence[str], groups: Any = None) -> str:
        """The command that gives the same answer; `groups`: the columns of the groups, where it is about them."""
        if not self.path:
            return shlex.join(["rumflow", words[0], DATASET + self.name, *words[1:]])
        options = {"group": groups, **self.options} if groups else self.options
        name = f"./{self.name}" if self.name.startswith("-") else self.name
        reading = [word for key, value in options.items() for word in _reading_words(key, value)]
        return shlex.join(["rumflow", words[0], name, *reading, *words[1:]])


def _reading_words(name: str, value: Any) -> list[str]:
    role = next((own for own in ROLES if own.name == name), None)
    if value in ("no", ["no"]) or (role and isinstance(value, list) and "no" in value):
        raise Unsayable("the command line has no name for a column called 'no'")
    words = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [words] if value else [words, "no"]
    if name == "menus" and isinstance(value, list):
        return option(words, ";".join(listed(menu, also=";") for menu in value))
    columns = value if isinstance(value, list) else [value]
    return option(words, listed(columns) if role and role.several else ",".join(map(str, columns)))
