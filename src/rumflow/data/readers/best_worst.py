"""Tables of best-worst scaling: the best choices, or the worst ones, and never both as if they were independent.

The worst item of a menu is the best one of the reversed ranking: worst choices of a population are random utility, too. But both
choices of a row come from one ranking, so they are read one at a time.
"""

from __future__ import annotations

from dataclasses import replace

from rumflow.data.readers.roles import NAMES, Options, plain
from rumflow.data.readers.sources import Source
from rumflow.errors import InputError

WHAT = (None, "best", "worst")

_NAMES = {
    "best": ("best", "most", "best_choice", "choice_best", "best_item", "most_preferred", "most_important"),
    "worst": ("worst", "least", "worst_choice", "choice_worst", "worst_item", "least_preferred", "least_important"),
}

NOTE = "choices are the worst items: random utility of the reversed rankings"


def choose_best_or_worst(source: Source, options: Options) -> Options:
    """The options with the column of the best choices, or of the worst ones, as the choice."""
    called = {plain(name): name for name in reversed(source.columns)}
    found = {what: next((called[n] for n in names if n in called), None) for what, names in _NAMES.items()}
    if options.choice is not None:
        return options
    if options.what is not None:
        column = found[options.what]
        if column is None:
            raise InputError(
                f"{source.name}: what={options.what!r}: no column is called {', '.join(_NAMES[options.what][:3])} or the like; "
                "name it with choice= (--choice)"
            )
        return replace(options, choice=column)
    if found["best"] and found["worst"] and not any(name in called for name in NAMES["choice"]):
        raise InputError(
            f"{source.name}: {found['best']!r} are best and {found['worst']!r} are worst choices, both from one ranking and so "
            "not independent; say what='best' or what='worst' (--what), which reads the choices of the reversed rankings"
        )
    return options
