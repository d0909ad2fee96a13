"""Data frames of pandas whose index says something: its levels are columns like the others."""

from __future__ import annotations

from typing import Any


def with_index(frame: Any) -> Any:
    """The frame with the levels of its index as columns, where it has several levels or a name; anything else as it is.

    A series becomes a frame, with its values in a column `count` unless it has a name. Columns of several levels are called by
    all of them, with an underscore between.
    """
    index: Any = getattr(frame, "index", None)
    if not hasattr(frame, "reset_index") or not hasattr(index, "nlevels"):
        return frame
    if not hasattr(frame, "columns"):
        frame = frame.to_frame("count" if frame.name is None else frame.name)
    if index.nlevels > 1 or index.name is not None:
        frame = frame.reset_index()
    if getattr(frame.columns, "nlevels", 1) > 1:
        names = ["_".join(str(part) for part in name if str(part)) for name in frame.columns]
        frame = frame.set_axis(names, axis=1)
    return frame
