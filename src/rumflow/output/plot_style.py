"""What all pictures share: colours, new axes, names of items that fit, keys."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

from rumflow.errors import InputError
from rumflow.output.frames import optional
from rumflow.output.names import name_menu
from rumflow.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: For texts with labels in them, which are never TeX, whatever dollar signs they hold and whoever draws with TeX.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}

BLUE, RED, GREY, ORANGE, GREEN = "#2f6fb0", "#c8402f", "#8a8f98", "#d98c1f", "#3f9b63"
CYCLE = [BLUE, ORANGE, GREEN, RED, "#8660b5", "#5aa9c9", "#b8729a", "#8c7a4f", GREY, "#4f6d46"]


def find_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The Axes given, or those of a new figure of this size."""
    if ax is None:
        return new_axes(width, height)
    if not hasattr(ax, "transAxes"):
        hint = ""
        if isinstance(ax, str | os.PathLike):
            hint = f'; to save a picture: ax = result.plot(); ax.figure.savefig("{os.fspath(ax)}")'
        raise InputError(f"ax={ax!r}: matplotlib Axes are needed, or None for a new figure{hint}")
    return ax


def new_axes(width: float, height: float) -> Axes:
    """The Axes of a new figure."""
    pyplot = optional("matplotlib.pyplot", "plots")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes: Axes = ax
    return axes


def shorten(label: object, length: int = 18) -> str:
    """A label that fits: cut in the middle of long texts, with what cannot be seen written out."""
    text = visible(label)
    if len(text) <= length:
        return text
    head = (length - 1) * 2 // 3
    return text[:head].rstrip() + "…" + text[-(length - 1 - head) :].lstrip()


class Names:
    """Short names for items: their labels where a menu of all fits on a line, else letters with a key.

    Of more items than there are letters labels are shortened, and menus with them.
    """

    def __init__(self, items: Sequence[Hashable], length: int = 44, letters: bool = False) -> None:
        self.items: list[Hashable] = list(items)
        many = len(self.items) > len(ascii_uppercase)
        self.coded: bool = not many and (letters or sum(len(str(x)) + 2 for x in self.items) > length)
        size = 14 if many else length
        self.short: dict[Hashable, str] = {
            x: ascii_uppercase[k] if self.coded else shorten(x, size) for k, x in enumerate(self.items)
        }
        self.length: int = 58 - max(map(len, self.short.values())) if many else length

    def item(self, label: Hashable) -> str:
        """One item."""
        return f"{self.short[label]}" if label in self.short else shorten(label)

    def menu(self, menu: Iterable[Hashable]) -> str:
        """A menu: {tea, milk}, or {A, C} where letters stand for the labels; one that is too long for the picture is cut."""
        members = list(menu)
        if len(self.items) <= len(ascii_uppercase):
            return "{" + ", ".join(self.item(x) for x in members) + "}"
        return name_menu(self.items, members, self.length, self.item)

    def key(self) -> list[str]:
        """What the letters mean; empty where there are none."""
        return [f"{self.short[x]} = {shorten(x, 28)}" for x in self.items] if self.coded else []


def key_of(items: Sequence[Hashable]) -> list[tuple[str, str, str]]:
    """Letter, label and colour of each item in pictures, where there are letters enough."""
    few = len(items) <= len(ascii_uppercase)
    return [(ascii_uppercase[k], visible(x), CYCLE[k % len(CYCLE)]) for k, x in enumerate(items)] if few else []


def legend_below(ax: Axes, handles: list[Any], points: float = 2.0) -> None:
    """A key `points` under the picture, in as many columns as fit."""
    transforms = optional("matplotlib.transforms", "plots")
    longest = max(min(len(str(handle.get_label())), 32) for handle in handles)
    columns = max(1, min(len(handles), 92 // (longest + 8)))
    hidden = all(getattr(handle, "get_color", str)() == "none" for handle in handles)
    figure: Any = ax.get_figure()
    down = transforms.ScaledTranslation(0, -points / 72, figure.dpi_scale_trans)
    legend = ax.legend(
        handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=ax.transAxes + down, ncols=columns,
        frameon=False, fontsize=7.5, handlelength=0 if hidden else 1.2, handletextpad=0 if hidden else 0.6, columnspacing=1.2,
    )  # fmt: skip
    for text in legend.get_texts():
        text.update(PLAIN)


def letters_below(ax: Axes, names: Names, points: float) -> None:
    """What the letters mean, where letters stand for labels."""
    if names.coded:
        legend_below(ax, [line("none", text) for text in names.key()], points)


def line(color: str, label: str) -> Any:
    """A line for a key."""
    return optional("matplotlib.lines", "plots").Line2D([], [], color=color, linewidth=3, label=label)


def patch(color: str, label: str) -> Any:
    """A patch of colour for a key."""
    return optional("matplotlib.patches", "plots").Patch(color=color, label=label)


def finish(ax: Axes, title: str, side: Literal["left", "right"] = "left", size: float = 11) -> Axes:
    """A title, and no frame but the two axes."""
    ax.set_title(title, loc=side, fontsize=size, **PLAIN)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
