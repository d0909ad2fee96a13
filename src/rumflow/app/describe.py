"""Data as the page shows them: rows of the file, what columns mean, menus with shares, and what could go wrong beside each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from rumflow.app.questions import BY_NAME, QUESTIONS
from rumflow.data.calls import Reading
from rumflow.data.choices import ChoiceData
from rumflow.data.design import number_of_outside
from rumflow.data.preflib import is_preflib
from rumflow.data.readers.opening import first_rows, open_source
from rumflow.data.readers.roles import ROLES, WIDE
from rumflow.data.readers.settings import SETTINGS
from rumflow.data.summary import DataSummary
from rumflow.errors import InputError
from rumflow.output.files import plain
from rumflow.report.cost import usual_level
from rumflow.text import visible

#: Rows and columns of the preview, menus and shares of a menu that are shown.
MOST_ROWS, MOST_COLUMNS, MOST_MENUS, MOST_SHARES = 8, 200, 40, 12

#: Notes of the reader that repeat the facts of the page.
_COUNTED = re.compile(r"[\d,]+ (items|subjects|groups)\b")

_ROLES = [role.name for role in ROLES]
_ASKED = [one for question in QUESTIONS for one in question.fields if one.name not in _ROLES]
_FIELDS: dict[str, Any] = {one.name: one for one in _ASKED} | {one.name: one for one in SETTINGS}


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
        unused = ", ".join(map(visible, understood["unused"]))
        said.append(
            f"Not used: {unused}. Does one of them say who chose, or name groups? Choose it below and read again."
        )
    more = {
        "understood": understood
        | {"notes": [page_words(note) for note in understood["notes"] if not _COUNTED.match(note)]},
        "cautions": [{"about": _about(text), "text": page_words(text)} for text in said],
        "items": [visible(label) for label in data.items],
        "menus": [
            {"total": total, "items": len(shares), "shares": [(visible(x), own) for x, own in shares[:MOST_SHARES]]}
            for total, shares in summary.largest(MOST_MENUS)
        ],
        "facts": {"items": len(data.items), "menus": summary.menus, "choices": summary.choices}
        | {"subjects": summary.subjects, "groups": len(summary.groups)},
        "outside": number_of_outside(data, reading.options.get("outside_option")),
        "starts": {"confidence": usual_level(data)},
        "questions": {one.name: one.needs(data) for one in QUESTIONS},
    }
    return {**found, **plain(more)}


def _about(text: str) -> str:
    """Beside what a caution stands: a role, the columns or the menus."""
    if re.search(r"\bsubjects?\b|\bperson", text):
        return "subject"
    named = re.match(r".*?\b(" + "|".join([*_ROLES, "outside_option"]) + r")=", text)
    return named[1] if named else "columns" if text.startswith("Not used") else "menus"


def explain_fault(text: str, fields: list[str]) -> dict[str, Any]:
    """An error in the words of the page, the field that it names first, and all that it names."""
    named = re.findall(r"(?<![\w'\"])(" + "|".join(fields) + r")(?:=|:\s)", text) if fields else []
    field = "" if not named else "count" if WIDE in text else named[0]
    return {"error": page_words(text.removeprefix(f"{field}: ")), "field": field, "named": named}


def page_words(text: str) -> str:
    """A text of the library in the words of the page: fields by their labels, and no options of commands.

    >>> page_words("name it with choice= (--choice), or say subject=False; ties='half' (--ties) halves ties")
    'name it with “Choice”, or say “Subject”: there is none; “Ties”: half a choice for each halves ties'
    """
    tick = "; where each item has a column of how often it was chosen, choose “several columns …” here and tick them"
    text = re.sub(r" \(--[^()]*\)", "", text.replace(WIDE, tick))
    text = re.sub(r"\{([^{}]*)\}", r"\1", text)  # menus
    return re.sub(r"\b([a-z_]+)=('[^']*'|\[[^\]]*\]|-?\d[\d.]*\b|True\b|False\b|(?=[ ,;.)]|$))", _field_words, text)


def _field_words(found: re.Match[str]) -> str:
    """An argument of Python as a field of the page, and its value as the page calls it."""
    name, value = found[1], found[2]
    field = _FIELDS.get(name)
    label = name.replace("_", " ").capitalize() if field is None else field.label
    words = {"True": "yes", "False": "there is none"}
    if field:
        own = {repr(one): text for one, text in field.choices}
        words |= {"True": own.get(repr(field.start), "yes")} | own
    home = f" (in “{BY_NAME['chance'].title}”)" if name == "cluster" else ""  # no other question has it
    return f"“{label}”" + (f": {words.get(value, value)}" if value else "") + home
