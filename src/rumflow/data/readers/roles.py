"""What columns can mean: the names by which they are found, what the caller may say about them, and the roles that come out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rumflow.check import check_option
from rumflow.data.labels import Item, check_items
from rumflow.data.readers.coders import clean_value
from rumflow.data.ties import TIES
from rumflow.errors import InputError
from rumflow.renamed import warn_renamed

#: Names of columns of counts that promise shares.
SHARES = ("share", "shares", "probability", "prob")


class Role(NamedTuple):
    """What a column can mean, and how people say it."""

    name: str
    what: str
    several: bool = False  # a list of columns is accepted


#: Everything that can be named when data are read: arguments in Python, options in the shell, and a table of the pages.
ROLES = (
    Role("menu", "the items on offer, or one column for each place in the menu", True),
    Role("choice", "the item chosen (a row for each alternative: 1 where it was), or 0/1 columns, one for each item", True),
    Role("alternative", "the item of the row, in tables of counts or with a row for each alternative"),
    Role("observation", "which rows are one choice, in tables with a row for each alternative", True),
    Role("available", "0/1 columns, one for each item, in the order of the codes; one where each alternative has a row", True),
    Role("losers", "the items that the choice was preferred to, where there is no menu"),
    Role("count", "how often the item was chosen, or one column for each item, empty where it was not on offer", True),
    Role("weight", "how much a choice counts"),
    Role("total", "the number of choices from the menu, such as visitors, where only some counts are known"),
    Role("subject", "who chose"),
    Role("group", "which part of the data the row belongs to", True),
    Role("menu_id", "an id of the menu, which holds the items in the rows of that id"),
    Role("status_quo", "an item that is in the menu of its row, listed or not; a missing choice means it"),
)  # fmt: skip

#: What to do with a table that has a column of counts for each item.
WIDE = "; where each item has a column of how often it was chosen, name these columns with count= (--count)"

#: Whoever names one of these sets of roles has said what the layout is: nothing else is guessed.
LAYOUTS = (
    {"menu", "choice"},
    {"menu", "alternative", "count"},
    {"menu_id", "alternative", "count"},
    {"menu_id", "choice", "count"},
    {"observation", "alternative", "choice"},
    {"available", "choice"},
    {"losers", "choice"},
)

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
        "choice", "chosen", "choose", "chose", "selected", "selection", "pick", "picked", "winner", "decision",
        "response", "purchase", "bought", "product_picked", "product_chosen", "product_selected", "product_bought", "item_picked",
        "item_chosen", "item_selected", "item_bought", "option_chosen", "option_picked", "option_selected", "picked_product",
        "chosen_product", "selected_product", "picked_item", "chosen_item", "selected_item", "chosen_option", "selected_option",
        "chosen_alternative", "selected_alternative",
    ),
    "alternative": (
        "item", "alternative", "alt", "alts", "alt_id", "altid", "altnum", "alternative_id", "option", "object",
        "product", "mode",
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
        "id", "ids", "obs", "obs_id", "observation", "observation_id", "chid", "choice_id", "custom_id", "case", "case_id",
        "caseid", "casenum", "task", "situation", "occasion", "session", "session_id", "trip_id",
    ),
    "availability": (
        "available", "availability", "avail", "av",
    ),
}

#: Columns that may be persons; they are pointed out where their values come back, and used only where they are named.
PERSONS = (
    *NAMES["subject"],
    "id", "ids", "hhid", "hh_id", "household_id", "perid", "per_id", "pid", "uid", "subj", "subj_id", "subjid", "resp", "resp_id",
    "respid", "respondentid", "personid", "userid", "individual_id", "indiv", "ind_id", "panelist", "panelist_id", "panel_id",
    "consumer_id", "customerid", "buyer", "buyer_id", "shopper", "shopper_id", "member", "member_id", "client", "client_id",
    "patient", "patient_id", "student", "student_id", "worker", "worker_id", "worker_code", "voter", "voter_id", "judge", "rater",
    "traveler", "traveler_id", "traveller", "commuter", "decision_maker", "agent", "agent_id",
)
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
    alternative: str | bool | None = None
    observation: str | Sequence[str] | bool | None = None
    available: str | Sequence[str] | Mapping[str, Item] | bool | None = None
    losers: str | bool | None = None
    count: str | Sequence[str] | bool | None = None
    weight: str | bool | None = None
    total: str | bool | None = None
    subject: str | bool | None = None
    group: str | Sequence[str] | bool | None = None
    menu_id: str | bool | None = None
    status_quo: str | bool | None = None
    items: Sequence[Item] | None = None
    menus: Sequence[Iterable[Item]] | Mapping[Any, Iterable[Item]] | None = None
    outside_option: Item | None = None
    missing: Item | Sequence[Item] | None = None
    separator: str | None = None
    base: int | str | None = None
    ties: str | None = None
    what: str | None = None
    clean: bool = False
    rows: bool | None = None

    def __post_init__(self) -> None:
        for role in ROLES:
            self._check_role(role, getattr(self, role.name))
        check_option(self.ties, "ties", (None, *TIES))
        check_option(self.what, "what", (None, "best", "worst"))
        if self.items is not None:
            check_items(self.items)
        if self.menus is not None:
            _check_menus(self.menus)
        if self.outside_option is not None:
            check_items([self.outside_option])
        if self.base not in (None, 0, 1, "label") or isinstance(self.base, bool):
            raise InputError(
                f"base={self.base!r}: accepted are 0 and 1 (choices are numbers counted from there) and 'label'"
            )

    def _check_role(self, role: Role, given: Any) -> None:
        """An error unless this is a column, several where that is accepted, None or False."""
        if given is None or given is False or (given is True and role.name == "group") or isinstance(given, str):
            return
        known = isinstance(given, Mapping) and role.name in ("available", "choice")
        if role.several and (known or (isinstance(given, Sequence) and not isinstance(given, bytes))) and len(given):
            twice = next((name for k, name in enumerate(given) if name in list(given)[:k]), None)
            if twice is not None:
                raise InputError(f"{role.name}: column {twice!r} is named twice")
            return
        several = ", or a list of names" if role.several else ""
        raise InputError(
            f"{role.name}={given!r}: the name of a column is needed{several}; None finds it, False says that there is none"
        )

    @property
    def named(self) -> set[str]:
        """The roles whose columns the caller named."""
        return {role.name for role in ROLES if getattr(self, role.name) not in (None, True, False)}

    @property
    def complete(self) -> bool:
        """Did the caller name the roles of a layout?"""
        return any(layout <= self.named for layout in LAYOUTS)

    @property
    def missing_codes(self) -> set[str]:
        """The codes of a choice that was not recorded, as text."""
        given = self.missing
        if given is None:
            return set()
        many = isinstance(given, Iterable) and not isinstance(given, str | bytes)
        return {str(clean_value(v)).strip() for v in (given if many else [given])}  # type: ignore[union-attr]


def _check_menus(menus: Any) -> None:
    """An error unless these are menus by id: lists of items, none of them twice or missing."""
    if isinstance(menus, str | bytes) or not isinstance(menus, Sequence | Mapping) or not len(menus):
        raise InputError(f"menus={str(menus)[:40]!r}: a list of menus is needed, or a mapping of ids to menus")
    for name, menu in menus.items() if isinstance(menus, Mapping) else enumerate(menus, 1):
        if isinstance(menu, bytes) or not isinstance(menu, str | Iterable):
            raise InputError(f"menus: menu {name} is {menu!r}; give each menu as a list of items")
        items = [menu] if isinstance(menu, str) else list(menu)
        for k, item in enumerate(items):
            if item is None or isinstance(item, list | dict | set | bool):
                raise InputError(f"menus: menu {name} holds {item!r}, which is no item: items are texts or numbers")
            if item in items[:k]:
                raise InputError(f"menus: menu {name} has item {item!r} twice; list it once")


def make_options(options: dict[str, Any]) -> Options:
    """Reading options from keyword arguments; an unknown one is an error that lists those accepted."""
    known = list(Options.__dataclass_fields__)
    if "item" in options:
        # Where it was written: make_options is called by the methods of ChoiceData that read.
        warn_renamed("item=", "alternative=", stacklevel=4)
        options = {"alternative" if name == "item" else name: value for name, value in options.items()}
    for name in options:
        if name not in known:
            raise InputError(f"{name}= is not an option for reading data; accepted are {', '.join(known)}")
    if isinstance(options.get("menus"), list | tuple):  # what can be read only once, too
        lists = [list(m) if isinstance(m, Iterable) and not isinstance(m, str | bytes) else m for m in options["menus"]]
        options = options | {"menus": lists}
    plain_lists = {name: _as_list(options[name]) for name in options if name in {role.name for role in ROLES}}
    return Options(**options | plain_lists)


def _as_list(given: Any) -> Any:
    """Names of columns in any collection (an index of pandas, say) as a list."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return list(given)
    return given


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
    alternative: str | None = None  # with one row for each alternative
    observation: list[str] = field(default_factory=list)  # the columns that together say which rows are one choice
    group: list[str] = field(default_factory=list)
    available: dict[str, Item] = field(default_factory=dict)
    ordered: bool = False  # the caller named the available columns, and so gave the order of the codes
    marked: bool = False  # their names say that they are availability
    doubts: list[str] = field(default_factory=list)  # what may be wrong, and what to do about it

    @property
    def by_mask(self) -> bool:
        """Are the menus bit masks?"""
        return self.extra == "mask" and self.menu is None and not self.menu_columns

    def columns(self) -> list[str]:
        """Every column to read, each once."""
        single = [self.menu, self.alternative, self.extra_column, self.choice, self.weight, self.total, self.subject]
        several = [*self.observation, *self.menu_columns, *self.choice_columns, *self.group, *self.available]
        return list(dict.fromkeys([c for c in single if c] + several))

    def by_name(self) -> dict[str, str | tuple[str, ...]]:
        """The column, or the columns, of every role that has any."""
        named: dict[str, str | tuple[str, ...] | None] = {
            "observation": self.observation[0] if len(self.observation) == 1 else tuple(self.observation),
            "menu": self.menu or tuple(self.menu_columns),
            self.extra.replace(" ", "_"): self.extra_column,
            "alternative": self.alternative,
            "choice": self.choice or tuple(self.choice_columns),
            "available": tuple(self.available),
            "count" if self.counted else "weight": self.weight,
            "total": self.total,
            "subject": self.subject,
            "group": self.group[0] if len(self.group) == 1 else tuple(self.group),
        }
        return {role: column for role, column in named.items() if column}


def plain(name: str) -> str:
    """A column name in lower case with underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
