"""What can be said about a table beside the roles of its columns, for everybody who says it in texts: commands and the page.

`SETTINGS` is one table for both. A setting with choices is one of them, whose words are for people; the others are texts, and
`Setting.mean` says what a text stands for in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from rumflow.data.readers.roles import ROLES
from rumflow.errors import InputError


class Setting(NamedTuple):
    """Something that can be said; the names are those of `ChoiceData.from_csv`."""

    name: str
    label: str  # of its field on the page
    text: str  # what it is for, in a sentence
    start: Any = None  # what holds where nothing is said
    choices: tuple[tuple[Any, str], ...] = ()  # values and what people call them
    mean: Callable[[str], Any] = str  # what a text stands for
    metavar: str | None = None  # of the option

    @property
    def kind(self) -> str:
        """Of its field on the page."""
        return "choice" if self.choices else "text"

    @property
    def help(self) -> str:
        """As commands say it."""
        return self.text[0].lower() + self.text[1:].rstrip(".")

    @property
    def values(self) -> list[str]:
        """The values that commands accept."""
        return [str(value) for value, _ in self.choices if value is not None]

    def read(self, text: str) -> Any:
        """What a text stands for."""
        return (
            next((value for value, _ in self.choices if str(value) == text), None) if self.choices else self.mean(text)
        )


def check_choice(name: str, value: Any, choices: tuple[tuple[Any, str], ...]) -> Any:
    """One of the choices, of the same type."""
    if not any(value == own and type(value) is type(own) for own, _ in choices):
        raise InputError(f"{name}={value!r}: accepted are {', '.join(str(own) for own, _ in choices)}")
    return value


#: A field and what ends it: in quotes, in which two of them are one, as in a CSV file; or whatever there is up to the next comma.
_FIELD = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(,|\Z)', re.DOTALL)


def split_labels(text: str) -> list[str]:
    """Labels separated by commas; one with a comma in it is in quotes, as in a CSV file.

    >>> split_labels('"Brown, Ale", stout'), split_labels('5" pipe,"so ""good"" tea"')
    (['Brown, Ale', 'stout'], ['5" pipe', 'so "good" tea'])
    """
    found, place, more = [], 0, True
    while more:
        field = _FIELD.match(text, place)
        assert field is not None  # the second half matches everything
        found.append(field[2].strip() if field[1] is None else field[1].replace('""', '"'))
        place, more = field.end(), bool(field[3])
    return [label for label in found if label]


def join_labels(labels: Iterable[str]) -> str:
    """The text that `split_labels` takes apart again.

    >>> join_labels(["Brown, Ale", "stout"])
    '"Brown, Ale",stout'
    """
    return ",".join(
        '"' + label.replace('"', '""') + '"' if "," in label or label[:1] == '"' or label != label.strip() else label
        for label in labels
    )


def split_codes(text: str) -> list[str]:
    """Codes separated by commas, of which an empty field may be one."""
    return [part.strip() for part in text.split(",")]


def split_menus(text: str) -> str | list[list[str]]:
    """Menus separated by semicolons; of orders the words pairs and all.

    >>> split_menus("tea,milk; tea,juice"), split_menus("pairs")
    ([['tea', 'milk'], ['tea', 'juice']], 'pairs')
    """
    if not set(text) & {",", ";"}:
        return text
    return [split_labels(menu) for menu in text.split(";")]


#: In the order of the page.
SETTINGS = (
    Setting("encoding", "Letters", "How the text is encoded; change it where letters such as é look wrong.", "utf-8",
            (("utf-8", "UTF-8"), ("latin-1", "Western (latin-1)"), ("utf-16", "UTF-16"))),
    Setting("ties", "Ties", "What a tie between two items is to be.", None,
            ((None, "there are none"), ("half", "half a choice for each"), ("drop", "left out"),
             ("outcome", "an outcome of its own"))),
    Setting("what", "Best and worst", "Which choices to read where there are best and worst ones.", None,
            ((None, "there is one kind"), ("best", "the best"), ("worst", "the worst"))),
    Setting("missing", "Code for no answer", "Of a choice that was not recorded, such as 9: these rows are left out; of "
            "columns of counts: not on offer.", mean=split_codes, metavar="CODES"),
    Setting("base", "Numbers as choices", "Whether choices that are numbers count places, and from where.", None,
            ((None, "find out"), (0, "count from 0"), (1, "count from 1"), ("label", "are names"))),
    Setting("outside_option", "Buying nothing", "A name for it, such as nothing, where people could leave without one: it is "
            "put on every menu, and rows without a choice, or what is left of the total, mean it.", metavar="ITEM"),
    Setting("clean", "Sloppy spelling", "Labels that differ only by blanks or capitals are one.", False,
            ((False, "no"), (True, "yes"))),
    Setting("items", "Names of the items", "In order, with commas, labels that hold one in quotes; where menus are bit "
            "masks, of bit 0, bit 1 and so on.",
            mean=split_labels, metavar="LABELS"),
    Setting("menus", "Menus by number", "In order, such as tea,milk;tea,juice; of rankings pairs (the usual) or all.",
            mean=split_menus, metavar="WHAT"),
    Setting("unranked", "Not ranked", "Whether items that a ranking leaves out come last or were not shown.", "below",
            (("below", "come last"), ("not offered", "were not shown"))),
)  # fmt: skip


def options_from(given: object) -> dict[str, Any]:
    """What somebody filled in about a file, as options: roles as columns or False, settings among those offered.

    What is empty is left out, and so is what nobody asked for.
    """
    options: dict[str, Any] = {}
    asked = given if isinstance(given, dict) else {}
    for role in ROLES:
        value = asked.get(role.name)
        columns = value if isinstance(value, list) else [value]
        if value is False or (value and all(isinstance(one, str) and one for one in columns)):
            options[role.name] = value if value is False or len(columns) > 1 else columns[0]
    for one in SETTINGS:
        value = asked.get(one.name, one.start)
        if one.choices:
            value = check_choice(one.name, value, one.choices)
        if value not in (one.start, ""):
            options[one.name] = value if one.choices else one.read(str(value))
    return options
