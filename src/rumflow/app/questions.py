"""The questions of the page: what is asked for, which function answers, and which command does.

A question is an entry of `QUESTIONS`. Items come from the page as their numbers, never as texts, so that labels may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rumflow.check import check_whole
from rumflow.data.calls import DATA, GROUPS, Call, Unsayable, listed, option, options_of
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import format_menu
from rumflow.data.readers.coding import typed_number
from rumflow.data.readers.settings import check_choice
from rumflow.errors import InputError
from rumflow.inference.confidence import has_counts
from rumflow.output.names import name_order
from rumflow.report.cost import REPLICATES


class Field(NamedTuple):
    """Something to fill in.

    kind   number, choice, text, item, items or values (a number for each item).
    """

    name: str
    label: str
    kind: str
    text: str  # what it is for, in a sentence
    start: Any = None  # what stands there first
    choices: tuple[tuple[Any, str], ...] = ()
    least: int = 0
    most: int = 100_000


class Plan(NamedTuple):
    """What is run for an answer."""

    call: Call
    commands: list[list[str]]  # the words of each, without the file
    projections: int  # about as many as the answer takes
    unsaid: str = ""  # why no command can say it


class Question(NamedTuple):
    """An entry of the table; `needs` says why it cannot be asked of these data."""

    name: str
    title: str
    text: str
    fields: tuple[Field, ...]
    plan: Callable[[Asked], Plan]
    needs: Callable[[ChoiceData], str] = lambda data: ""
    about: str = ""  # the title once these fields are filled in


#: Values that are left to the package.
_LEFT_OUT = {"cluster": "auto", "max_size": None, "outside_option": None}


class Asked:
    """The answers to a question's fields, checked; numbers and choices are options of the function and of the command."""

    def __init__(self, fields: Sequence[Field], values: Mapping[str, Any], data: ChoiceData) -> None:
        self.data: ChoiceData = data
        self.unsaid = ""
        self.values: dict[str, Any] = {
            field.name: self._check(field, values.get(field.name, field.start)) for field in fields
        }
        plain = [field.name for field in fields if field.kind in ("number", "choice") or field.name in _LEFT_OUT]
        self.options: dict[str, Any] = {name: self[name] for name in plain if self[name] != _LEFT_OUT.get(name, ())}

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def _check(self, field: Field, value: Any) -> Any:
        if field.kind == "number":
            return None if value in (None, "") else check_whole(value, field.name, field.least, field.most)
        if field.kind == "choice":
            return check_choice(field.name, value, field.choices)
        if field.kind == "item":
            return None if value in (None, "") else self._item(field, value)
        if field.kind == "values":
            given = value if isinstance(value, dict) else {}
            return {
                (item := self._item(field, key)): typed_number(own, f"{field.name}: {item}")
                for key, own in given.items()
            }
        return [self._item(field, one) for one in value or []]

    def _item(self, field: Field, value: Any) -> Any:
        try:
            return self.data.items[range(len(self.data.items))[int(value)]]
        except (ValueError, TypeError, IndexError):
            raise InputError(f"{field.name}: there is no item number {value!r:.20}") from None

    def say(self, *labels: Any, also: str = "") -> str:
        """Labels as commands take them; what they cannot name is remembered, and no command is shown."""
        try:
            return listed(labels, self.data.items, also)
        except Unsayable as fault:
            self.unsaid = str(fault)
            return ""

    def plan(self, call: Call, words: Sequence[str], projections: int = 1, more: Sequence[str] = ()) -> Plan:
        """The call, and the command with the same options; `more` makes a second command."""
        said = [*words, *([] if self.unsaid else options_of(call))]
        return Plan(call, [] if self.unsaid else [said, *([[*said, *more]] if more else [])], projections, self.unsaid)


_FINER = "More give a finer p-value and take longer; 999 are usual."
_SAMPLES = Field("n_boot", "Simulated samples", "number", _FINER, 499)
_SLOWER = "With few choices the answer may be chance; to allow for it takes longer."
_LEVELS = ((None, "do not allow for chance (quick)"), (0.9, "90 %"), (0.95, "95 %"), (0.99, "99 %"))
_LEVEL = Field("confidence", "Confidence", "choice", _SLOWER, None, _LEVELS)


def _alone(name: str, *words: str, page: Sequence[str] = ()) -> Callable[[Asked], Plan]:
    """The plan of a function of the data alone; or of one that writes them to a page, with the conflicts beside the test."""

    def plan(asked: Asked) -> Plan:
        samples = asked.values.get("n_boot", 2_000 if asked.values.get("level") else 0) + 1
        seed = {} if name == "project" else {"seed": 0}
        call = Call(name, (DATA, *page), asked.options | seed, "rumflow.report" if page else "rumflow")
        return asked.plan(call, words, 2 * samples if page else samples)

    return plan


def _predict(asked: Asked) -> Plan:
    if len(menu := asked["menu"]) < 2:
        raise InputError("menu: tick two items or more")
    call = Call("bounds", (DATA, menu), {**asked.options, "seed": 0})
    return asked.plan(call, ["bounds", *option("--for", asked.say(*menu))], _replicates(asked, len(menu)))


def _leave(asked: Asked) -> Plan:
    item, menu = asked["item"], asked["menu"]
    if item is None:
        raise InputError("item: say which one goes")
    asked.say()  # can items be told apart?
    words = ["bounds", *option("--remove", item), *(option("--for", asked.say(*menu)) if menu else [])]
    call = Call("diversion", (DATA, item, *([menu] if menu else [])), {**asked.options, "seed": 0})
    return asked.plan(call, words, _replicates(asked, len(asked.data.items)))


def _replicates(asked: Asked, items: int) -> int:
    """About so many projections are behind the intervals."""
    return 1 if asked["confidence"] is None else REPLICATES * items


def _assort(asked: Asked) -> Plan:
    if asked["outside_option"] is None:
        raise InputError(
            "outside_option: say which. Where nobody wrote down how many bought nothing, the data do not say how many buy, and "
            "no assortment can be valued"
        )
    revenue = {label: value for label, value in asked["revenue"].items() if label != asked["outside_option"]}
    asked.say(asked["outside_option"])
    missing = [item for item in asked.data.items if item not in revenue and item != asked["outside_option"]]
    if missing:
        raise InputError(f"revenue: nothing is typed in for {format_menu(missing)}; every item needs a number")
    said = ",".join(f"{asked.say(label)}={value!r}" for label, value in revenue.items())
    given = {name: value for name, value in asked.options.items() if value is not None}
    call = Call("best_assortment", (DATA, revenue), {**given, "seed": 0})
    return asked.plan(call, ["assort", *option("--revenue", said)], _replicates(asked, len(revenue)))


def _models(asked: Asked) -> Plan:
    models: dict[str, Any] = {"all rankings": Call("RandomUtility")}
    words, axis = ["compare"], sorted(asked["axis"], key=asked["axis"].__getitem__)
    if above := [item for item in (asked["above"], asked["below"]) if item is not None]:
        if len(above) != 2:
            raise InputError("below: choose two items, the better one first")
        asked.say(*above, also=">")
        models[name := " > ".join(map(str, above))] = Call("RandomUtility", ([tuple(above)],))
        words += option("--above", name)
    if axis:
        models[f"single-peaked: {name_order(axis, length=40, separator=', ')}"] = Call("SinglePeaked", (axis,))
        words += option("--axis", asked.say(*axis))
    call = Call("compare_models", (DATA, models), {**asked.options, "seed": 0})
    return asked.plan(call, words, len(models) * (asked["n_boot"] + 1))


def _groups(asked: Asked) -> Plan:
    groups = 1 if asked.data.rows is None else len(asked.data.rows.groups)
    call = Call("compare_groups", (GROUPS,), {**asked.options, "seed": 0})
    return asked.plan(call, ["test", "--by", "group"], 3 * groups * (asked["n_boot"] + 1), ["--together"])


def _uncounted(data: ChoiceData) -> str:
    return "" if has_counts(data) else "The numbers of choices are not known, so chance cannot be judged."


def _ungrouped(data: ChoiceData) -> str:
    groups = () if data.rows is None else data.rows.groups
    return _uncounted(data) if len(groups) > 1 else "The data have no groups: choose their column at “Group” in step 1."


_OPEN = "Nothing is assumed but that everybody has a ranking and takes the best item on offer."
QUESTIONS = (
    Question(
        "rational", "Are these choices rational?", "The whole report: the answer, its reasons and pictures on one page.",
        (_SAMPLES._replace(text="How many, to judge chance; 0 leaves the test out."),),
        _alone("make_report", "report", "-o", "report.html", page=["report.html"]),
    ),
    Question(
        "distance", "How far are they from rational?", "The nearest rational model, and the shares that it misses.",
        (Field("weights", "Menus count", "choice", "Large samples may count more than small ones.", None,
               ((None, "all the same"), ("counts", "by their number of choices"))),), _alone("project", "project"),
    ),
    Question(
        "chance", "Could it be chance?", "A test: how often would rational people give samples as odd as this one?",
        (_SAMPLES._replace(start=999, least=1),
         Field("cluster", "People who chose several times", "choice", "One person chooses alike, so people are drawn whole.",
               "auto", (("auto", "are drawn whole where they are known"), (False, "count as one choice after the other")))),
        _alone("rum_test", "test"), _uncounted,
    ),
    Question(
        "conflicts", "Which menus contradict each other?", "The smallest sets of menus that no rational population explains.",
        (Field("level", "What counts as a conflict", "choice", "A strict level shows only what is hardly chance.", 0.05,
               ((0.05, "not chance, at 5 %"), (0.01, "not chance, at 1 %"), (None, "any difference, also by chance"))),
         Field("most", "Conflicts to list", "number", "At most so many are looked for.", 3, least=1, most=20)),
        _alone("explain", "explain"),
    ),
    Question(
        "predict", "What would be chosen from a menu?", f"Also one that was never offered. {_OPEN}",
        (Field("menu", "Items on the menu", "items", "Tick two or more."), _LEVEL), _predict,
        about="What would be chosen from {menu}?",
    ),
    Question(
        "leave", "What if a product goes?", f"Who gains when an item is taken away. {_OPEN}",
        (Field("item", "What goes", "item", "The item that is no longer offered."),
         Field("menu", "From which menu", "items", "None ticked: the largest menu in the data that has it."), _LEVEL), _leave,
        about="What if {item} goes?",
    ),
    Question(
        "assort", "What should be offered?", f"The assortment with the highest revenue in the worst case. {_OPEN}",
        (Field("revenue", "Revenue of each item", "values", "What one sale earns. You can paste a column of a spreadsheet."),
         Field("outside_option", "Item that means buying nothing", "item",
               "It earns nothing. Is there none? Then name it in step 1, at “Buying nothing”."),
         Field("max_size", "At most so many items", "number", "Empty: as many as you like.", None, least=1), _LEVEL), _assort,
        about="What should be offered, if at most {max_size}?",
    ),
    Question(
        "models", "Which model fits?", "All rankings, beside models that say more about people.",
        (Field("axis", "Items in order", "values", "Along an axis, such as from cheap to dear: everybody has a favourite, and "
               "likes others less the further they are from it. Number the items, or leave all empty."),
         Field("above", "Everybody prefers", "item", "An item that all like better; leave empty for no such model."),
         Field("below", "to", "item", "The item that all like less."),
         _SAMPLES._replace(start=0, text="For a test of each model; 0 compares without tests.")),
        _models, about="Which model fits, also if everybody prefers {above} to {below}?",
    ),
    Question(
        "groups", "Do groups differ?", "Each group by itself, all as one, and whether they choose alike.",
        (_SAMPLES._replace(start=199, least=19),), _groups, _ungrouped,
    ),
    Question("next", "Which menu should be offered next?", "Unseen menus by how much their answer would tell.", (),
             _alone("next_menu", "bounds", "--next")),
)  # fmt: skip
BY_NAME = {question.name: question for question in QUESTIONS}
