"""Data frames of pandas whose index says something: its levels are columns like the others."""

from __future__ import annotations

from typing import Any

from rumflow.data.readers.roles import NAMES, plain


def with_index(frame: Any) -> Any:
    """The frame with the levels of its index as columns, where it has several levels or a name; anything else as it is.

    A series becomes a frame, with its values in a column `count` unless it has a name; so does the only column of a frame that
    has no name but the number 0, beside an index of menus and items. Columns of several levels are called by all of them, with
    an underscore between, and numbers as names are texts.
    """
    index: Any = getattr(frame, "index", None)
    if not hasattr(frame, "reset_index") or not hasattr(index, "nlevels"):
        return frame
    if not hasattr(frame, "columns"):
        frame = frame.to_frame("count" if _nameless(frame.name) else frame.name)
    elif len(frame.columns) == 1 and _nameless(frame.columns[0]) and _menus_and_items(index):
        frame = frame.set_axis(["count"], axis=1)
    if index.nlevels > 1 or index.name is not None:
        frame = frame.reset_index()
    if getattr(frame.columns, "nlevels", 1) > 1:
        names = ["_".join(str(part) for part in name if str(part)) for name in frame.columns]
        frame = frame.set_axis(names, axis=1)
    elif not all(isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    return frame


def counted_values(frame: Any) -> str | None:
    """The name under which a series of numbers by menu and item holds its counts; None for anything else."""
    index: Any = getattr(frame, "index", None)
    if not hasattr(frame, "to_frame") or not hasattr(index, "nlevels") or hasattr(frame, "columns"):
        return None
    numbers = getattr(getattr(frame, "dtype", None), "kind", "") in "iuf"
    return str(frame.name) if numbers and not _nameless(frame.name) and _menus_and_items(index) else None


def _nameless(name: Any) -> bool:
    return name is None or (isinstance(name, int) and name == 0)


def _menus_and_items(index: Any) -> bool:
    """Are there levels for the menu and for the item?"""
    names = {plain(str(name)) for name in index.names}
    return bool(names & {*NAMES["menu"], *NAMES["menu_id"]}) and bool(names & {*NAMES["choice"], *NAMES["alternative"]})
