"""Data as the page shows them: rows of the file, what columns mean, menus with shares, and what could go wrong beside each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from rumflow.app.questions import QUESTIONS, Field
from rumflow.data.calls import Reading
from rumflow.data.choices import ChoiceData
from rumflow.data.preflib import is_preflib
from rumflow.data.readers.opening import first_rows, open_source
from rumflow.data.readers.roles import ROLES
from rumflow.data.summary import DataSummary
from rumflow.errors import InputError
from rumflow.output.files import plain
from rumflow.text import visible

#: Rows and columns of the preview, menus and shares of a menu that are shown.
MOST_ROWS, MOST_COLUMNS, MOST_MENUS, MOST_SHARES = 8, 200, 40, 12

#: What people call the choice of nothing.
OUTSIDE = ("nothing", "none", "no purchase", "no choice", "no buy", "opt out", "outside", "outside option")

#: What can be said about a file beside the roles of its columns; the names are those of `ChoiceData.from_csv`.
SETTINGS = (
    Field("encoding", "Letters", "choice", "Change it where letters such as é look wrong.", "utf-8",
          (("utf-8", "UTF-8"), ("latin-1", "Western (latin-1)"), ("utf-16", "UTF-16"))),
    Field("ties", "Ties", "choice", "What a tie between two items is to be.", None,
          ((None, "there are none"), ("half", "half a choice for each"), ("drop", "left out"),
           ("outcome", "an outcome of its own"))),
    Field("what", "Best and worst", "choice", "Which choices to read where there are both.", None,
          ((None, "there is one kind"), ("best", "the best"), ("worst", "the worst"))),
    Field("missing", "Code for no answer", "text", "Such as 9: these rows are left out. Of columns of counts: not on offer."),
    Field("base", "Numbers as choices", "choice", "Whether they count places, and from where.", None,
          ((None, "find out"), (0, "count from 0"), (1, "count from 1"), ("label", "are names"))),
    Field("outside_option", "Buying nothing", "text", "A name for it, such as nothing, where people could leave without one. "
          "It is put on every menu; rows without a choice, or what is left of the total, mean it."),
    Field("clean", "Sloppy spelling", "choice", "Labels that differ only by blanks or capitals are one.", False,
          ((False, "no"), (True, "yes"))),
    Field("items", "Names of the items", "text", "In the order of the bits, with commas, where menus are bit masks."),
    Field("menus", "Menus by number", "text", "In order, such as tea,milk; tea,juice. Of rankings: pairs (the usual) or all."),
    Field("unranked", "Items that a ranking leaves out", "choice", "Whether they come last or were not shown.", None,
          ((None, "come last"), ("not offered", "were not shown"))),
)  # fmt: skip
_ROLES = [role.name for role in ROLES]
_FIELDS = {one.name: one for question in QUESTIONS for one in question.fields if one.name not in _ROLES}
_FIELDS |= {one.name: one for one in SETTINGS}


def clean_options(given: Any) -> dict[str, Any]:
    """What the page may say about a file: roles as columns or False, settings among those offered; what is empty is left out."""
    options: dict[str, Any] = {}
    asked = given if isinstance(given, dict) else {}
    for role in ROLES:
        value = asked.get(role.name)
        columns = value if isinstance(value, list) else [value]
        if value is False or (value and all(isinstance(one, str) and one for one in columns)):
            options[role.name] = value if value is False or len(columns) > 1 else columns[0]
    for field in SETTINGS:
        value = asked.get(field.name, field.start)
        if field.kind != "text":
            value = field.check(value)
        if value not in (field.start, ""):
            options[field.name] = str(value) if field.kind == "text" else value
    split: dict[str, Any] = {
        name: [part.strip() for part in options[name].split(",")] for name in ("missing", "items") if name in options
    }
    if set(options.get("menus", "")) & {",", ";"}:
        split["menus"] = [[item.strip() for item in menu.split(",")] for menu in options["menus"].split(";")]
    return options | split


def preview(reading: Reading) -> dict[str, Any]:
    """The columns of a file and its first rows, as texts."""
    if not reading.path or is_preflib(reading.path):
        return {"columns": [], "rows": []}
    source = open_source(reading.path, None, reading.options.get("encoding", "utf-8"))
    rows = first_rows(source, MOST_ROWS, MOST_COLUMNS)
    return {"columns": source.columns, "rows": [["" if v is None else visible(v)[:80] for v in row] for row in rows]}


def describe(reading: Reading, load: Callable[[Reading], ChoiceData]) -> dict[str, Any]:
    """How a file is read, for the page; where it cannot be read, why, and beside which field to say so."""
    found: dict[str, Any] = {"name": reading.name, "columns": [], "rows": []}
    try:
        found |= preview(reading)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            data = load(reading)
    except (InputError, OSError, UnicodeError) as fault:
        text = str(fault).replace(reading.path or "\0", reading.name)
        return found | explain_fault(text, [*_ROLES, *(one.name for one in SETTINGS)])
    summary = DataSummary(data)
    understood = data.understood.to_dict() | {"source": reading.name}
    said = list(dict.fromkeys([*summary.cautions, *(str(one.message) for one in caught)]))
    if understood["unused"]:
        said.append(f"Not used: {', '.join(map(visible, understood['unused']))}.")
    more = {
        "understood": understood | {"notes": [page_words(note) for note in understood["notes"]]},
        "cautions": [{"about": _about(text), "text": page_words(text)} for text in said],
        "items": [visible(label) for label in data.items],
        "menus": [
            {"total": total, "items": len(shares), "shares": [(visible(x), own) for x, own in shares[:MOST_SHARES]]}
            for total, shares in summary.largest(MOST_MENUS)
        ],
        "n_menus": len(data.totals),
        "choices": float(data.totals.sum()),
        "subjects": summary.subjects,
        "groups": len(summary.groups),
        "outside": _outside(data, reading.options.get("outside_option")),
        "questions": {one.name: one.needs(data) for one in QUESTIONS},
    }
    return {**found, **plain(more)}


def _outside(data: ChoiceData, said: Any) -> int | None:
    """The number of the item that means buying nothing, as step 1 said or as it is called."""
    names = [visible(label).casefold() for label in data.items]
    wanted = OUTSIDE if said is None else [str(said).casefold()]
    return next((names.index(name) for name in wanted if name in names), None)


def _about(text: str) -> str:
    """Beside what a caution stands: a role, the columns or the menus."""
    if re.search(r"\bsubjects?\b|\bperson", text):
        return "subject"
    named = re.match(r".*?\b(" + "|".join(_ROLES) + r")=", text)
    return named[1] if named else "columns" if text.startswith("Not used") else "menus"


def explain_fault(text: str, fields: list[str]) -> dict[str, Any]:
    """An error in the words of the page, the field that it names first, and all that it names."""
    named = re.findall(r"(?<![\w'\"])(" + "|".join(fields) + r")(?:=|:\s)", text) if fields else []
    field = named[0] if named else ""
    return {"error": page_words(text.removeprefix(f"{field}: ")), "field": field, "named": named}


def page_words(text: str) -> str:
    """A text of the library in the words of the page: fields by their labels, and no options of commands.

    >>> page_words("name it with choice= (--choice), or say subject=False; ties='half' (--ties) halves ties")
    'name it with “choice”, or say “subject”: there is none; “Ties”: half a choice for each halves ties'
    """
    text = re.sub(r" \(--[^()]*\)", "", text)
    return re.sub(r"\b([a-z_]+)=('[^']*'|\[[^\]]*\]|-?\d[\d.]*\b|True\b|False\b|(?=[ ,;.)]|$))", _field_words, text)


def _field_words(found: re.Match[str]) -> str:
    """An argument of Python as a field of the page, and its value as the page calls it."""
    name, value = found[1], found[2]
    field = _FIELDS.get(name)
    label = name.replace("_", " ") if field is None else field.label
    words = {"True": "yes", "False": "there is none"}
    if field:
        words |= {"True": text for own, text in field.choices if own == field.start}
        words |= {repr(own): text for own, text in field.choices}
    return f"“{label}”" + (f": {words.get(value, value)}" if value else "")
