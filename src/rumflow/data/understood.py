"""How a table was read: its layout, what every column means, what the codes of choices stand for, and what was not used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rumflow.data.labels import Item


@dataclass(frozen=True)
class Understood:
    """How a table was read; empty, and false, for data that were made in Python.

    `str()` gives it as text, `to_dict()` for JSON.

    Attributes
    ----------
    source : str
        The file, or "the data frame".
    layout : str
        What a row is, in words.
    roles : mapping
        By role (menu, choice, subject, ...) the column, or a tuple of columns.
    coding : mapping
        By code of a choice the label that it stands for, for all codes; empty where choices are labels.
    unused : tuple of str
        The columns that no role took.
    notes : tuple of str
        What else was understood, and how large the data are.
    warnings : tuple of str
        What may be wrong, and what to do about it.

    Examples
    --------
    >>> import rumflow as rf
    >>> table = {"menu": ["tea|milk", "tea|milk"], "choice": ["tea", "milk"], "price": [3, 4]}
    >>> understood = rf.ChoiceData.from_frame(table).understood
    >>> understood.roles, understood.unused
    ({'menu': 'menu', 'choice': 'choice'}, ('price',))
    """

    source: str = ""
    layout: str = ""
    roles: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    coding: Mapping[Any, Item] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != UNREAD

    def __str__(self) -> str:
        roles = ", ".join(f"{role} = {_joined(columns)!r}" for role, columns in self.roles.items())
        lines = [": ".join(filter(None, [self.source, "; ".join(filter(None, [self.layout, roles]))]))]
        if self.coding:
            lines.append("codes: " + ", ".join(f"{code} = {label}" for code, label in self.coding.items()))
        lines += [*self.notes, *self.warnings]
        if self.unused:
            lines.append(f"not used: {', '.join(self.unused)}")
        return "\n".join(filter(None, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON holds them: columns as texts or lists, codes as texts.

        Returns
        -------
        dict
        """
        return {
            "source": self.source,
            "layout": self.layout,
            "roles": {role: own if isinstance(own, str) else list(own) for role, own in self.roles.items()},
            "coding": {
                str(code): label if isinstance(label, int) else str(label) for code, label in self.coding.items()
            },
            "unused": list(self.unused),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    def noting(self, notes: Sequence[str]) -> Understood:
        """The same with more notes."""
        return replace(self, notes=(*self.notes, *notes))


#: What data have that were made in Python.
UNREAD = Understood()


def _joined(columns: str | tuple[str, ...]) -> str:
    return columns if isinstance(columns, str) else ", ".join(columns)
