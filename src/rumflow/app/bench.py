"""What the worker does: describe data, answer questions, write the files to download."""

from __future__ import annotations

import os
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from rumflow.app.describe import describe, explain_fault, page_words
from rumflow.app.questions import BY_NAME, QUESTIONS, Asked, Field, Plan
from rumflow.data.calls import Reading, Unsayable
from rumflow.data.choices import ChoiceData
from rumflow.data.datasets import published, simulated
from rumflow.data.readers.roles import ROLES
from rumflow.data.readers.settings import SETTINGS, options_from
from rumflow.errors import InputError, RumflowError
from rumflow.output.files import write_text
from rumflow.report.answers import answer_html
from rumflow.report.cost import cost_text
from rumflow.report.render import answer_page, numbered_labels
from rumflow.report.take_away import write_tables

#: Data that are kept read, so that questions need not read them again.
_KEPT = 3


class Bench:
    """What the worker can do; the data read last are kept."""

    def __init__(self) -> None:
        self._data: dict[str, ChoiceData] = {}

    def _load(self, reading: Reading) -> ChoiceData:
        if repr(reading) not in self._data:
            data = reading.load()
            if not isinstance(data, ChoiceData):
                raise InputError(f"{reading.name} are budgets, and this page is about menus; see rumflow test --help")
            self._data = dict([*self._data.items(), (repr(reading), data)][-_KEPT:])
        return self._data[repr(reading)]

    def start(self) -> dict[str, Any]:
        """What the page is made of: roles, settings, questions, and data sets that are here already."""
        sets = {**published.SETS, **simulated.SETS}  # the others are downloaded
        found = {name: own.title for name, (make, own) in sets.items() if isinstance(make(), ChoiceData)}
        return {
            "roles": [role._asdict() for role in ROLES],
            "settings": [Field(one.name, one.label, one.kind, *one[2:5])._asdict() for one in SETTINGS],
            "questions": [
                {name: getattr(one, name) for name in ("name", "title", "text", "about")}
                | {"fields": [field._asdict() for field in one.fields]}
                for one in QUESTIONS
            ],
            "datasets": [{"name": name, "title": title} for name, title in found.items()],
        }

    def read(self, path: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
        """A file or a data set, for step 1."""
        return describe(Reading(path, name, options_from(options)), self._load)

    def ask(self, question: str, values: Any, source: Any, folder: str = "", **words: str) -> dict[str, Any]:
        """A question about a source; `words` are its title and what was said, for people, and files go into the folder."""
        one = BY_NAME.get(question)
        if one is None:
            return {"error": f"there is no question {question[:20]!r}", "field": ""}
        try:
            reading = Reading(source["path"], source["name"], options_from(source["options"]))
            data = self._load(reading)
            if reason := one.needs(data):
                return {"error": reason, "field": ""}
            plan = one.plan(Asked(one.fields, values, data))
            if not folder:
                return {"cost": cost_text(data, plan.projections)}
            os.chdir(folder)
            return make_answer(plan, reading, data, **{"title": one.title, "said": ""} | words)
        except (RumflowError, OSError) as fault:
            text = str(fault).replace(source["path"] or "\0", source["name"])
            return explain_fault(text, [field.name for field in one.fields])

    cost = ask  # without a folder: only what it will cost


def make_answer(plan: Plan, reading: Reading, data: ChoiceData, title: str, said: str) -> dict[str, Any]:
    """Run it; what the page shows, and the files to download, in the current folder."""
    groups, unsaid = data.understood.to_dict()["roles"].get("group"), plan.unsaid
    try:
        commands = [reading.command(words, groups if "--by" in words else None) for words in plan.commands]
    except Unsayable as fault:
        commands, unsaid = [], str(fault)
    lines, labels = reading.lines(plan.call), numbered_labels(data.items)
    if plan.call.name == "make_report":
        if reading.path:  # the file as people know it
            data = data.replace(understood=replace(data.understood, source=reading.name))
        how = {"command": "\n".join(commands) or lines, "title": reading.title, "words": page_words}
        plan.call.run(data, progress=True, **how)
        page = Path("report.html").rename("answer.html").read_text(encoding="utf-8")
        body = page.partition("</header>")[2].partition("<footer>")[0]
    else:
        result = plan.call.run(data, progress=True)
        body = (f"<p>{escape(said)}</p>" if said else "") + answer_html(result, page_words)
        write_text(answer_page(title, body, labels), "answer.html")
    write_tables(body, "answer")
    said_with = {"python": lines, "commands": commands, "unsaid": unsaid, "file": reading.path and reading.name}
    return {"html": body, "labels": labels, **said_with}
