"""Tables with a column for each place of a menu, whose outcome names the place: `A`, `B`, `C` and "B"; or pairs and results.

`find_places` recognises, by the arguments or by the names of columns,

* an outcome that names the column of the item chosen, by its name or by the end of it: `model_a`, `model_b` and "a"; or, of a
  pair, the item itself;
* the result of a pair: 1, 0 and .5, which is what the first one scores; win, loss, draw; 1-0, 0-1, 1/2-1/2; home, away, draw;
  1, 0 and -1; 1, X and 2;
* how often each of a pair won: `win1`, `win2`, and `ties` where there were any;
* winner and loser, with a column that marks ties.

`read_places` rewrites the table with one row for each choice. A tie is no choice: ties="outcome" makes it an outcome of its pair
(`rumflow.data.ties`), ties="half" gives each of the tied items its part of the choice, ties="drop" leaves such rows out, and
without a word they are an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from rumflow.data.labels import TIE as TIE_LABEL
from rumflow.data.readers.coded import Coded
from rumflow.data.readers.coding import as_flag
from rumflow.data.readers.roles import NAMES, Options, plain
from rumflow.data.readers.sources import Chunk, FrameSource, Source
from rumflow.data.readers.texts import empty_words, missing, note_on_empty
from rumflow.data.understood import Understood
from rumflow.errors import InputError

#: The place of an outcome in which nobody was chosen.
TIE = -1

#: Rows that are looked at before the columns are known.
MOST_SEEN = 20_000

TIE_WORDS = {"tie", "tied", "draw", "drawn", "equal", "same", "indifferent", "="}

#: Results of a pair that are no names of places: what the first scores, and the like.
SCORES = {"1": 0, "0": 1, "0.5": TIE}
RESULTS = (
    {"1-0": 0, "0-1": 1, "1/2-1/2": TIE, "0.5-0.5": TIE},
    {"win": 0, "loss": 1, "draw": TIE, "tie": TIE},
    {"win": 0, "lose": 1, "draw": TIE, "tie": TIE},
)
#: Numbers that mean this only where the column is called a result, or another of the codes is there: -1 or X.
CODES = ({"1": 0, "0": TIE, "-1": 1}, {"1": 0, "x": TIE, "d": TIE, "2": 1})
#: Letters that mean this only where the columns are called so: win, loss, draw, tie; home, away, draw.
LETTERS = ({"w": 0, "l": 1, "d": TIE, "t": TIE}, {"h": 0, "a": 1, "d": TIE, "x": TIE})

_OUTCOME = ("result", "outcome", "score", "winner", "win", "won", *NAMES["choice"])
_SCORE = ("result", "outcome", "score")
_TIES = ("tie", "ties", "draw", "draws", "tied", "drawn", "is_tie", "is_draw")
_PAIRS = (("home", "away"), ("home_team", "away_team"), ("left", "right"), ("white", "black"), ("first", "second"))
_NUMBERED = re.compile(r"(?P<stem>.*?)(?:[_ .-]?(?:\d+|a|b)|[_ .-][c-z])$", re.IGNORECASE)
_FIRST_TWO = re.compile(r".*?(?:1|2|a|b)$", re.IGNORECASE)
_ITEMS = ("player", "item", "team", "model", "option", "object", "alternative", "alt", "candidate", "stimulus")
_WON = re.compile(r"wins?|won", re.IGNORECASE)


class Places(NamedTuple):
    """The columns of such a table."""

    menu: list[str]  # of the items, by place
    outcome: str | None = None  # of the place that won
    coding: dict[str, int] = {}  # by value of that column the place, or `TIE`  # noqa: RUF012
    wins: list[str] = []  # how often each place won, and perhaps how often there was a tie  # noqa: RUF012
    tie: str | None = None  # 1 where there was a tie; else the first place won

    @property
    def used(self) -> set[str]:
        """All of them."""
        return {*self.menu, *self.wins, *(c for c in (self.outcome, self.tie) if c)}


def find_places(source: Source, options: Options, sample: Chunk) -> Places | None:
    """The columns, where the table is of this kind; None where it is not, or where choices are labels or numbers."""
    finder = _Finder(source, options, sample)
    if options.menu not in (None, True) and isinstance(options.menu, str | bool):
        return None
    if isinstance(options.menu, Sequence):
        return finder.of_menu(list(options.menu))
    if options.available or options.observation or options.menus is not None:
        return None
    if any(name in finder.called for role in ("menu", "mask", "menu_id") for name in NAMES[role]):
        return None
    return finder.marked_ties() or finder.pair() or finder.letters()


class _Values(dict[str, set[str]]):
    """The different values of each column of the sample, found when they are asked for."""

    def __init__(self, sample: Chunk) -> None:
        self.sample = sample

    def __missing__(self, name: str) -> set[str]:
        column = self.sample.columns[name]
        some = column.values if isinstance(column, Coded) else as_list(column[:MOST_SEEN])
        try:
            different = set(some)
        except TypeError:  # lists and the like
            different = set(map(str, some))
        self[name] = {code for v in different if (code := as_code(v))}
        return self[name]


class _Finder:
    def __init__(self, source: Source, options: Options, sample: Chunk) -> None:
        self.source, self.options = source, options
        self.values = _Values(sample)
        self.called = {plain(name): name for name in reversed(source.columns)}

    def of_menu(self, menu: list[str]) -> Places | None:
        """With the columns of the items given."""
        if len(menu) < 2 or not set(menu) <= set(self.source.columns):
            return None
        choice = self.options.choice
        if isinstance(choice, Sequence) and not isinstance(choice, str):
            fits = len(choice) == len(menu) or (len(choice) == len(menu) + 1 == 3)
            return Places(menu, wins=list(choice)) if fits and set(choice) <= set(self.source.columns) else None
        names = self._outcomes(menu)
        if not names:
            return self._wins(menu) if len(menu) == 2 and choice is None else None
        coding = self._coding(menu, names[0])
        if not coding and len(names) == 1:
            self._refuse_codes(menu, names[0])
        return Places(menu, names[0], coding) if coding else None

    def _outcomes(self, menu: list[str]) -> list[str]:
        """The columns that may hold the result: as named, or by their names."""
        choice = self.options.choice
        names = [choice] if isinstance(choice, str) else [c for c in map(self.called.get, _OUTCOME) if c]
        return [c for c in names if c in self.source.columns and c not in menu]

    def _labelled(self, menu: list[str]) -> Places | None:
        """The winner by its label, and no tie among the results."""
        items = {v for c in menu for v in self.values[c]}
        for outcome in self._outcomes(menu)[:1]:
            codes = self.values[outcome] - set(map(as_code, self.options.missing_codes))
            if codes <= items and not codes <= {"0", "1", "2"}:  # these may be numbers of places
                return Places(menu, outcome, dict.fromkeys(items, len(menu)))
        return None

    def _refuse_codes(self, menu: list[str], outcome: str) -> None:
        """An error where the result of a pair has codes that are neither known, nor items, nor numbers of the two places."""
        given = {as_code(self.options.outside_option), *map(as_code, self.options.missing_codes)}
        codes, items = self.values[outcome] - given, {v for c in menu for v in self.values[c]}
        if (
            len(menu) != 2
            or plain(outcome) not in _SCORE
            or codes & items
            or codes <= {"1", "2"}
            or codes <= {"0", "1"}
        ):
            return
        some = ", ".join(sorted(codes)[:6]) + (", ..." if len(codes) > 6 else "")
        raise InputError(
            f"{self.source.name}: {menu[0]} and {menu[1]} are a pair, but {outcome} has the codes {some}; recode it as 1, 0 and "
            "0.5 (what the first one scores) or as H, A and D"
            + ("" if self._home(menu) else " beside columns home and away")
        )

    @staticmethod
    def _home(menu: list[str]) -> bool:
        return [plain(c)[0] for c in menu] == ["h", "a"]

    def pair(self) -> Places | None:
        """Two columns of items by their names, and their result."""
        if isinstance(self.options.choice, Sequence) and not isinstance(self.options.choice, str):
            return None
        for menu in self._pairs():
            found = self._wins(menu) or self.of_menu(menu) or self._labelled(menu)
            if found is not None:
                return found
        return None

    def _pairs(self) -> list[list[str]]:
        """Columns that are called like two places, and hold labels of the same kind."""
        found = [[self.called[a], self.called[b]] for a, b in _PAIRS if a in self.called and b in self.called]
        stems: dict[str, list[str]] = {}
        for name in self.source.columns:
            if (match := _NUMBERED.fullmatch(name)) and match["stem"] and not _WON.search(name):
                stems.setdefault(match["stem"].lower(), []).append(name)
        found += [names for names in stems.values() if len(names) == 2 and all(map(_FIRST_TWO.fullmatch, names))]
        return [menu for menu in found if self._items(menu)]

    def _items(self, menu: list[str]) -> bool:
        """Do the columns hold the same items, by content or (where these are numbers) by name?"""
        match = _NUMBERED.fullmatch(menu[0])
        named = bool(match and plain(match["stem"]) in _ITEMS)
        return named or (all(map(self._labels, menu)) and bool(self.values[menu[0]] & self.values[menu[1]]))

    def _wins(self, menu: list[str]) -> Places | None:
        """How often each of a pair won, by the names of columns."""
        if self.options.choice is not None:
            return None
        wins = [c for c in self.source.columns if _WON.search(c) and c not in menu and self._counts(c)]
        ties = [c for c in self.source.columns if plain(c) in _TIES and self._counts(c)]
        return Places(menu, wins=[*wins, *ties]) if len(wins) == 2 and len(ties) <= 1 else None

    def letters(self) -> Places | None:
        """A choice whose values are names of columns that hold labels."""
        given = self.options.choice
        choice = (
            given if isinstance(given, str) else next((c for c in map(self.called.get, NAMES["choice"]) if c), None)
        )
        if choice is None or choice not in self.source.columns:
            return None
        chosen = self.values[choice]
        menu = [c for c in self.source.columns if c != choice and as_code(c) in chosen and self._labels(c)]
        if len(menu) < 2 or len(menu) < len(chosen - TIE_WORDS):
            return None
        if all(len(c) == 1 for c in menu):  # letters that were never chosen
            menu = [c for c in self.source.columns if c in menu or (len(c) == 1 and c.isalpha() and self._labels(c))]
        coding = self._coding(menu, choice)
        return Places(menu, choice, coding) if coding else None

    def marked_ties(self) -> Places | None:
        """Winner and loser, and a column that marks ties."""
        winner, loser = self.called.get("winner"), self.called.get("loser")
        tie = next((self.called[c] for c in _TIES if c in self.called and self._flags(self.called[c])), None)
        return Places([winner, loser], tie=tie) if winner and loser and tie and self.options.choice is None else None

    def _coding(self, menu: list[str], outcome: str) -> dict[str, int]:
        """What the values of the outcome mean; {} where they are labels or numbers of places."""
        items = {v for c in menu for v in self.values[c]}
        values = self.values[outcome]
        tied = {v for v in values if v not in items and (v in TIE_WORDS or v.split(" ")[0] in TIE_WORDS)}
        # Other values are reported with their line, unless they are items.
        names = next((style for style in _place_names(menu) if values & set(style)), {})
        if names and not values <= items and not (values - set(names)) & items:
            if both := values & items:
                raise InputError(
                    f"{self.source.name}: {min(both)!r} in column {outcome!r} is an item and the name of a place; rename the "
                    f"columns {', '.join(menu)}"
                )
            letters = {v for v in values & {"x", "d"} if len(menu) == 2 and v not in items and v not in names}
            return names | dict.fromkeys(tied | letters, TIE)
        if len(menu) == 2 and not values <= items:
            for result in self._results(menu, outcome):
                if values <= set(result):
                    return dict(result)
        if tied and values - tied <= items:
            return dict.fromkeys(tied, TIE) | dict.fromkeys(items, len(menu))  # labels
        return {}

    def _results(self, menu: list[str], outcome: str) -> list[dict[str, int]]:
        """The codes of results that can be meant."""
        called = plain(outcome) in _SCORE
        found = [
            *RESULTS,
            *([SCORES] if called or "0.5" in self.values[outcome] else []),
            *(LETTERS[:1] if called else []),
        ]
        seen = self.values[outcome]
        if self.options.base is None and not seen & {v for c in menu for v in self.values[c]}:
            found += [code for code, signs in zip(CODES, ({"-1"}, {"x", "d"}), strict=True) if called or signs & seen]
        return [*found, LETTERS[1]] if self._home(menu) else found

    def _flags(self, column: str) -> bool:
        return all(as_flag(v) is not None for v in self.values[column])

    def _labels(self, column: str) -> bool:
        return not self._flags(column) and not all(map(_number, self.values[column]))

    def _counts(self, column: str) -> bool:
        return bool(self.values[column]) and all(v.isdecimal() for v in self.values[column])


def _place_names(menu: list[str]) -> list[dict[str, int]]:
    """The names of the places: those of the columns, or what is left of them without the part that all of them share."""
    texts = [as_code(c) for c in menu]
    begin, end = _shared(texts), _shared([text[::-1] for text in texts])
    styles = [texts, [t[begin:].strip("_ .-") for t in texts], [t[: len(t) - end].strip("_ .-") for t in texts]]
    named = [style for style in styles if all(style) and not any(map(_number, style)) and len({*style}) == len(menu)]
    return [{text: k for k, text in enumerate(style)} for style in named]


def _shared(texts: list[str]) -> int:
    """How many characters all of them begin with."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False)))


def read_places(source: Source, options: Options, places: Places) -> tuple[Source, Options]:
    """The same choices with a row for each, and the options that read them."""
    table = _Rows(source, options, places)
    for chunk in source.chunks(source.columns):
        table.add(chunk)
    return table.finish()


class _Rows:
    """Rows (menu, choice, weight) with the columns that have nothing to do with places."""

    def __init__(self, source: Source, options: Options, places: Places) -> None:
        self.source, self.options, self.places = source, options, places
        self.others = [c for c in source.columns if c not in places.used]
        self.menu: list[tuple[Any, ...]] = []
        self.choice: list[Any] = []
        self.weight: list[float] = []
        self.n_rows = 0  # of the table
        self.position: list[int] = []
        self.carried: dict[str, list[Any]] = {name: [] for name in self.others}
        self.empty: set[str] = set()  # words such as NA that were taken for empty places
        self.n_empty = 0  # rows with such words

    def add(self, chunk: Chunk) -> None:
        """Read a piece of the table."""
        self.n_rows += len(chunk)
        columns = {name: as_list(chunk.columns[name]) for name in self.source.columns}
        for k, position in enumerate(chunk.positions.tolist()):
            row = {name: columns[name][k] for name in self.places.used}
            if words := empty_words(row[c] for c in self.places.menu):
                self.empty.update(words)
                self.n_empty += 1
            for choice, part in self._choices(row, position):
                self.menu.append(tuple(row[c] for c in self.places.menu if not _nothing(row[c])))
                self.choice.append(choice)
                self.weight.append(part)
                self.position.append(position)
                for name in self.others:
                    self.carried[name].append(columns[name][k])

    def _choices(self, row: dict[str, Any], position: int) -> list[tuple[Any, float]]:
        """The items chosen in one row of the table, and how often, or which part of a choice each is."""
        places = self.places
        items = [row[c] for c in places.menu]
        if places.wins:
            numbers = [self._count(row, c, position) for c in places.wins]
            found = [(item, number) for item, number in zip(items, numbers, strict=False) if number]
            return found + (
                self._tied(items, position, numbers[-1]) if len(numbers) > len(items) and numbers[-1] else []
            )
        if places.tie is not None:
            marked = as_flag(as_code(row[places.tie]))
            if marked is None:
                raise InputError(f"{self.source.where(position)}: column {places.tie!r} must be 1 for a tie, else 0")
            return self._tied(items, position) if marked else [(items[0], 1.0)]
        value = as_code(row[str(places.outcome)])
        if value in self.options.missing_codes:
            return []
        place = places.coding.get(value, TIE if value in TIE_WORDS else None)
        if place is None:
            known = ", ".join(repr(code) for code in places.coding)
            raise InputError(
                f"{self.source.where(position)}: {value!r} in column {places.outcome!r} is unknown; accepted are {known}"
            )
        if place == TIE:
            return self._tied(items, position)
        if place == len(items):
            return [(row[str(places.outcome)], 1.0)]
        if _nothing(items[place]):
            word = "".join(empty_words([items[place]]))
            raise InputError(
                f"{self.source.where(position)}: the outcome is {value!r}, but {places.menu[place]!r} is empty"
                + (f" ({word} counts as empty: rename it to keep it as an item)" if word else "")
            )
        return [(items[place], 1.0)]

    def _count(self, row: dict[str, Any], column: str, position: int) -> float:
        value = as_code(row[column])
        if not value.isdecimal():
            raise InputError(
                f"{self.source.where(position)}: {value!r} in column {column!r} is not a number of wins or ties"
            )
        return float(value)

    def _tied(self, items: list[Any], position: int, times: float = 1.0) -> list[tuple[Any, float]]:
        if self.options.ties is None:
            raise InputError(
                f"{self.source.where(position)}: a tie between {' and '.join(map(str, items))}; say ties='half' (each gets its "
                "part of the choice, as if ties were broken by lot), ties='outcome' (a pair has the outcomes a, b and tie) or "
                "ties='drop' (such rows are left out)"
            )
        shown = [item for item in items if not _nothing(item)]
        if self.options.ties == "drop":
            return []
        if self._as_outcome:
            if len(shown) == 2:
                return [(TIE_LABEL, times)]
            if self.options.ties == "outcome":
                raise InputError(
                    f"{self.source.where(position)}: a tie of {len(shown)} items; ties='outcome' is for pairs: say "
                    "ties='half' or ties='drop'"
                )
        return [(item, times / len(shown)) for item in shown]

    @property
    def _as_outcome(self) -> bool:
        """Are ties of pairs read as an outcome? Half wins are made of it (`rumflow.data.ties.settle`)."""
        return self.options.ties == "outcome" or (self.options.ties == "half" and len(self.places.menu) == 2)

    def finish(self) -> tuple[Source, Options]:
        """The table that was made."""
        if not self.menu:
            raise InputError(f"{self.source.name}: there are only ties, and ties='drop' leaves them out")
        menu, choice = ", ".join(self.places.menu), self.places.outcome or ", ".join(self.places.wins) or "winner"
        table: dict[str, Any] = {**self.carried, menu: self.menu, choice: self.choice}
        inner = replace(self.options, menu=menu, choice=choice, ties=None, missing=None, base="label")
        if self._as_outcome and (self.options.ties == "outcome" or TIE_LABEL in self.choice):
            table[menu] = [(*items, TIE_LABEL) if len(items) == 2 else items for items in self.menu]
            if self.options.items is not None:
                inner = replace(inner, items=(*self.options.items, TIE_LABEL))
        if any(part != 1 for part in self.weight):
            given = self.options.weight
            if isinstance(given, str):
                table[given] = [float(w) * part for w, part in zip(table[given], self.weight, strict=True)]
            else:
                name = "number of choices" if self.places.wins else "part of a choice"
                table[name] = self.weight
                inner = replace(inner, weight=name)
        made = Rewritten(table, self.source, self.position, self.n_rows)
        if self.empty:
            made.notes = (note_on_empty(self.empty, self.places.menu, self.n_empty),)
        return made, inner


class Rewritten(FrameSource):
    """Rows that come from those of another table, which errors name."""

    def __init__(self, table: dict[str, Any], source: Source, position: list[int], n_rows: int) -> None:
        super().__init__(table, source.name, source.text)
        self._source, self._position, self.n_rows = source, position, n_rows
        self.notes: tuple[str, ...] = ()  # on how it was rewritten

    def where(self, position: int) -> str:
        """The row of the other table."""
        return self._source.where(self._position[position])


def describe_places(understood: Understood, options: Options, places: Places) -> Understood:
    """How the table was read, in terms of its own columns."""
    roles: dict[str, str | tuple[str, ...]] = {"menu": tuple(places.menu)}
    roles |= {"choice": places.outcome} if places.outcome else {"choice": tuple(places.wins)} if places.wins else {}
    roles |= {"ties": places.tie} if places.tie else {}
    roles |= {role: column for role, column in understood.roles.items() if role not in ("menu", "choice", "weight")}
    if isinstance(options.weight, str):
        roles["weight"] = options.weight
    coding = {
        code: "a tie" if k == TIE else f"the item in {places.menu[k]}"
        for code, k in places.coding.items()
        if k < len(places.menu)
    }
    layout = "one row per choice, one column per place of the menu"
    if places.wins:
        layout = "one row per pair, with the numbers of wins"
    notes = understood.notes
    if options.ties is not None:
        made = {
            "half": "each of the tied items gets its part of the choice, as if by lot",
            "drop": "left out",
            "outcome": f"an outcome of their own, {TIE_LABEL}",
        }
        notes = (f"ties: {made[options.ties]}", *notes)
    return replace(understood, layout=layout, roles=roles, coding=coding, notes=notes)


def _nothing(item: Any) -> bool:
    """Is a place of the menu empty?"""
    return not as_code(item) or missing(item)


def as_code(value: Any) -> str:
    """A value as text, the same for 1, 1.0 and "1"; empty where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(int(value))
    text = str(value).strip().lower()
    try:
        return f"{float(text):g}" if text not in ("nan", "inf", "infinity") else text
    except ValueError:
        return text


def as_list(column: Any) -> list[Any]:
    """A column as a list."""
    if isinstance(column, Coded):
        return [None if c < 0 else column.values[c] for c in column.codes.tolist()]
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
