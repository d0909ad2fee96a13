"""What columns can mean: the names by which they are found, what the caller may say about them, and the roles that come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rumflow.data.labels import Item, check_items
from rumflow.data.readers.coding import clean_value
from rumflow.errors import InputError

#: Names of columns of counts that promise shares.
SHARES = ("share", "shares", "probability", "prob")

# fmt: off
NAMES: dict[str, tuple[str, ...]] = {
    "mask": (
        "mask", "menu_mask", "bitmask", "bit_mask", "menu_bits",
    ),
    "menu": (
        "menu", "menus", "choice_set", "choiceset", "set", "assortment", "offered", "alternatives",
        "options", "slate", "offer", "available", "items",
    ),
    "menu_id": (
        "menu_id", "choice_set_id", "assortment_id", "offer_id", "set_id", "slate_id",
    ),
    "number": (
        "item_number",
    ),
    "status_quo": (
        "status_quo", "statusquo", "default_option", "default_item",
    ),
    "losers": (
        "losers", "loser", "rejected", "not_chosen", "unchosen",
    ),
    "choice": (
        "choice", "chosen", "choose", "selected", "selection", "pick", "picked", "winner", "decision",
        "response", "purchase", "bought",
    ),
    "item": (
        "item", "alternative", "alt", "alts", "option", "object", "product", "mode",
    ),
    "count": (
        "count", "counts", "freq", "frequency", "frequencies", "times", "n_choices", "n", "number", "num",
        *SHARES,
    ),
    "weight": (
        "weight", "weights", "w", "sample_weight",
    ),
    "total": (
        "total", "totals", "menu_total", "sample_size",
    ),
    "subject": (
        "subject", "subjects", "subject_id", "person", "person_id", "respondent", "respondent_id",
        "participant", "participant_id", "user", "user_id", "individual", "panel", "panels", "household",
        "customer", "customer_id", "consumer",
    ),
    "group": (
        "group", "groups", "domain", "block", "frame", "treatment", "period", "wave", "condition",
        "dataset", "study", "experiment",
    ),
    "observation": (
        "id", "ids", "obs", "observation", "observation_id", "chid", "choice_id", "custom_id", "case",
        "task", "situation", "occasion", "session", "session_id", "trip_id",
    ),
}
# fmt: on

#: What marks an availability column: at the beginning or at the end of its name.
AFFIX = re.compile(
    r"^(?:av|avail|availability|available)[_ .:-]+|[_ .:-]+(?:av|avail|availability|available)$", re.IGNORECASE
)

#: What marks 0/1 columns that say which item was chosen.
CHOSEN = re.compile(
    r"^(?:choice|chosen|chose|picked|selected)[_ .:-]+|[_ .:-]+(?:choice|chosen|picked|selected)$", re.IGNORECASE
)


@dataclass(frozen=True)
class Options:
    """What the caller said. A role is a column name, None (find it) or False (there is none)."""

    menu: str | Sequence[str] | bool | None = None
    choice: str | Sequence[str] | Mapping[str, Item] | bool | None = None
    item: str | bool | None = None
    count: str | bool | None = None
    weight: str | bool | None = None
    total: str | bool | None = None
    subject: str | bool | None = None
    observation: str | bool | None = None
    menu_id: str | bool | None = None
    status_quo: str | bool | None = None
    group: str | Sequence[str] | bool | None = None
    available: Sequence[str] | Mapping[str, Item] | None = None
    items: Sequence[Item] | None = None
    menus: Sequence[Iterable[Item]] | Mapping[Any, Iterable[Item]] | None = None
    outside_option: Item | None = None
    missing: Item | Sequence[Item] | None = None
    separator: str | None = None
    base: int | str | None = None
    clean: bool = False
    rows: bool | None = None

    def __post_init__(self) -> None:
        if self.items is not None:
            check_items(self.items)
        if self.outside_option is not None:
            check_items([self.outside_option])
        if self.base not in (None, 0, 1, "label") or isinstance(self.base, bool):
            raise InputError(
                f"base={self.base!r}: accepted are 0 and 1 (choices are numbers counted from there) and 'label'"
            )

    @property
    def missing_codes(self) -> set[str]:
        """The codes of a choice that was not recorded, as text."""
        given = self.missing
        if given is None:
            return set()
        many = isinstance(given, Iterable) and not isinstance(given, str | bytes)
        return {str(clean_value(v)).strip() for v in (given if many else [given])}  # type: ignore[union-attr]


def make_options(options: dict[str, Any]) -> Options:
    """Reading options from keyword arguments; an unknown one is an error that lists those accepted."""
    known = list(Options.__dataclass_fields__)
    for name in options:
        if name not in known:
            raise InputError(f"{name}= is not an option for reading data; accepted are {', '.join(known)}")
    return Options(**options)


@dataclass
class Roles:
    """The columns and their meaning. `form` is choices, counts, availability, losers, alternatives or matrix.

    `extra` says what stands in the one column beside menu and choice: the bit "mask" of the menu, the "number" of the item, or
    the "status quo".
    """

    form: str
    menu: str | None = None
    menu_columns: list[str] = field(default_factory=list)  # one column per offered item
    listed: bool = False  # `menu` is an id, and the menu is what stands in its rows
    extra: str = ""
    extra_column: str | None = None
    choice: str | None = None
    choice_columns: dict[str, Item] = field(default_factory=dict)  # 0/1 columns: 1 for the item chosen
    weight: str | None = None
    counted: bool = False  # the weight column holds counts
    total: str | None = None
    subject: str | None = None
    observation: str | None = None
    group: list[str] = field(default_factory=list)
    available: dict[str, Item] = field(default_factory=dict)

    @property
    def by_mask(self) -> bool:
        """Are the menus bit masks?"""
        return self.extra == "mask" and self.menu is None and not self.menu_columns

    def columns(self) -> list[str]:
        """Every column to read, each once."""
        single = [self.menu, self.extra_column, self.choice, self.weight, self.total, self.subject, self.observation]
        several = [*self.menu_columns, *self.choice_columns, *self.group, *self.available]
        return list(dict.fromkeys([c for c in single if c] + several))


def plain(name: str) -> str:
    """A column name in lower case with underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
