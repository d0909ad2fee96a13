"""What the library says to people at the shell: options of the command instead of arguments of Python.

Texts of the library name its arguments as they are called there, `max_seconds` or `count='n'`; sometimes the option follows in
brackets. All that the commands print of them, errors, notes and how data were read, passes through `shell_words`. Menus, items
of the data and what was typed stay as they are, whatever they are called.
"""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from ast import literal_eval
from collections.abc import Sequence

#: What can be done in Python only, and what is called otherwise at the shell.
PHRASES = (
    ("; the best point so far is the attribute `fit` of this error, or pass throw=False", ""),
    ("; pass throw=False to get all of them with their certified gaps", ""),
    (", ask for a larger tol, or pass the rankings so far as start", ", or ask for a larger tol"),
    (": pass the rankings so far as start to continue", ""),
    ("read them with a subject column, or pass one id per row", "name the column of the subjects with --subject"),
    ("with sizes=, or in the file (counts, or a column total)", "in the file (counts, or a column total)"),
    (", or whole sample sizes as sizes=", ", or whole sample sizes"),
    ("with group= when reading them", "with --group"),  # also where these words were typed, which stay as they are
    ("with subject= when reading them", "with --subject"),
    ("ChoiceData with counts", "counts of choices"),
    (" (rows=True keeps every row)", ""),
    ("cluster=False (--no-cluster in the shell)", "--no-cluster"),
    ("accepted with set='cone' is", "accepted with this --convention is"),
    ("max_size, must", "max_size, --must"),
    ("leave route out", "omit --route"),
    ("omit route", "omit --route"),
    ("larger tol", "larger --tol"),
    ("name them with price=, or leave the other columns out", "leave the other columns out"),
    (", or name the price columns in the order of the goods, price=[...]", ""),
)

#: Advice that a command without the option cannot follow.
_ADVICE = {
    "tol": r"(, or )?ask for a larger --tol(, (or )?)?",
    "max_seconds": r"allow more time with max_seconds, (or )?|(?<=time was up): allow more of it",
    "most": r"; a larger most takes more",
}

#: What is said of a time limit that nobody has set at the shell: the library has its own for what may take for ever.
_LIMIT = "the time limit max_seconds came first: allow more time"

#: Arguments whose option has another name, and what of the arguments of a command is no option.
_RENAMED = {"n_jobs": "jobs"}
_NO_OPTIONS = {"command", "data", "family", "shell", "run", "parser", "words", "labels", "target", "target_item"}

_VALUE = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[-+\w]*(?:\.\w+)*"""
_ENDINGS = {"": "", "[...]": "", "True": "", "False": " no", "None": " none"}


def shell_words(text: str, arguments: Namespace | None = None) -> str:
    """A text of the library in the words of the command whose arguments these are.

    >>> shell_words("say count='n' (--count) or clean=True, or take fewer n_boot", Namespace(count="", clean=0, n_boot=9))
    'say --count n or --clean, or take fewer --n-boot'
    """
    from rumflow.data.readers.roles import ROLES  # loads NumPy, which `rumflow --help` does without

    for python, shell in PHRASES:
        text = text.replace(python, shell)
    text = text.removesuffix(", or None")
    options = set() if arguments is None else vars(arguments).keys() - _NO_OPTIONS
    if getattr(arguments, "max_seconds", None) is None:
        more = " with max_seconds" if "max_seconds" in options else ""
        text = text.replace(_LIMIT, f"time was up: allow more of it{more}")
    for name, advice in _ADVICE.items():
        if name not in options:
            text = re.sub(advice, "", text)
    if "outside" in options:  # what earns nothing, which need not be on every menu
        text = re.sub("^outside_option", "--outside", text)
    names = [*options, *(name for name, option in _RENAMED.items() if option in options)]
    if not names:
        return text
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    def put_back(part: str) -> str:
        return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], part)

    text = re.sub(_protected(arguments, names), keep, text)
    name = rf"(?<![\w'\"-])({'|'.join(sorted(names, key=len, reverse=True))})"
    # The option itself follows where it is called otherwise: cluster='clan' (--subject).
    text = re.sub(
        rf"\b\w+=({_VALUE}) \((--[a-z-]+)[^(),]*\)", lambda found: found[2] + _ending(put_back(found[1])), text
    )
    text = re.sub(rf"(\b\w+=(?:{_VALUE})) \(--[^()]*\)", r"\1", text)
    text = re.sub(rf"{name}=({_VALUE})", lambda found: _option(found[1]) + _ending(put_back(found[2])), text)
    text = re.sub(rf"^{name}(?=: )", lambda found: _option(found[1]), text)
    # Words that are no English and no names of columns are arguments wherever they are.
    odd = "|".join(one for one in names if "_" in one and one not in {role.name for role in ROLES})
    if odd:
        text = re.sub(rf"(?<![\w'\"-])({odd})(?![\w.=:])( \(--[^()]*\))?", lambda found: _option(found[1]), text)
    text = re.sub(r"(--[a-z-]+), \1\b", r"\1", text)
    return put_back(text)


def _protected(arguments: Namespace | None, names: Sequence[str]) -> str:
    """Menus in braces, and those labels of the data and words of the command line that look like arguments."""
    words = [str(label) for label in getattr(arguments, "labels", ())]
    words += [word for word in getattr(arguments, "words", ()) if not word.startswith("-")]
    alike = {word for word in words if any(name in word for name in names)}
    each = (rf"(?<!\w){re.escape(word)}(?!\w)" for word in sorted(alike, key=len, reverse=True))
    return "|".join([r"\{[^{}]*\}", *each])


def _option(name: str) -> str:
    return "--" + _RENAMED.get(name, name).replace("_", "-")


def _ending(value: str) -> str:
    """The value of an argument, as it is written behind the option."""
    if value in _ENDINGS:
        return _ENDINGS[value]
    if value[0] == "[":
        listed = literal_eval(value.replace(", ...", ""))
        return " " + shlex.quote(",".join(map(str, listed)) + ",..." * (", ..." in value))
    if value in ("''", '""'):
        return ' ""'  # which every shell takes for an empty word
    return " " + (shlex.quote(literal_eval(value)) if value[0] in "'\"" else value)
