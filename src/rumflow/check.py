"""Which arguments are accepted: one function for each kind, called by every function, layer and command that takes one.

Each returns the value that is used from there on, or raises an `InputError` that names the argument, what was given and what is
accepted. `name` is what the caller calls the argument: `tol` in Python, `--tol` on the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.errors import InputError
from rumflow.text import visible

#: Numbers beyond this would overflow when squared.
LARGEST = 1e150

#: How much weights may differ: rounding in the heavy cells hides what happens in cells lighter by more.
MOST_SPREAD = 1e12

#: More than this is a typing mistake: every thread takes memory, every replicate time.
MOST_THREADS, MOST_REPLICATES = 1024, 10_000_000


# Numbers


def check_number(value: object, name: str, low: float, high: float, ends: str = "()", also: str = "") -> float:
    """A finite number in an interval: `ends` says which of its ends belong to it, `also` what else the caller accepts.

    >>> check_number(1, "mix", 0, 1, "[]")
    1.0
    """
    if type(value) is float:
        number = value
    else:
        real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        number = float(value) if real else np.nan  # type: ignore[arg-type]
    above = low <= number if ends[0] == "[" else low < number
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        raise InputError(f"{name}={_short(value)}: {_interval(low, high, ends)} is needed{also}")
    return number


def is_whole(value: object) -> bool:
    """Is this a whole number, and not a truth value?"""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _interval(low: float, high: float, ends: str) -> str:
    if np.isinf(low):
        return "a finite number"
    if np.isinf(high):
        return f"a number, {low:g} or more," if ends[0] == "[" else "a positive number"
    return {
        "()": f"a number between {low:g} and {high:g}",
        "[]": f"a number from {low:g} to {high:g}",
        "[)": f"a number from {low:g} to below {high:g}",
        "(]": f"a number above {low:g} and at most {high:g}",
    }[ends]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def check_tol(tol: object, name: str = "tol") -> float:
    """A relative tolerance."""
    return check_number(tol, name, 0, 1)


def check_absolute_tol(tol: object, name: str = "tol") -> float:
    """A tolerance in the units of what it is about."""
    return check_number(tol, name, 0, np.inf)


def check_seconds(seconds: object, name: str = "max_seconds") -> float | None:
    """A time limit in seconds, or None for none."""
    return None if seconds is None else check_number(seconds, name, 0, np.inf, also=", or None")


def check_level(level: object, name: str = "level", below: float = 1, also: str = "") -> float:
    """The level of a test, or the confidence of an interval."""
    return check_number(level, name, 0, below, also=also)


def check_whole(value: object, name: str, least: int = 0, most: int | None = None, of: str = "", also: str = "") -> int:
    """A whole number in a range; `of` says of what, `also` what else the caller accepts."""
    if not (is_whole(value) and least <= value and (most is None or value <= most)):  # type: ignore[operator]
        accepted = f", {least} or more," if most is None else f" from {least} to {most:,}"
        raise InputError(f"{name}={_short(value)}: a whole number{of}{accepted} is needed{also}")
    return int(value)  # type: ignore[call-overload, no-any-return]


def check_replicates(n_boot: object, name: str = "n_boot", least: int = 1) -> int:
    """A number of bootstrap replicates."""
    return check_whole(n_boot, name, least, MOST_REPLICATES, " of replicates")


def check_threads(threads: object, name: str = "threads") -> int | None:
    """A number of threads, or None for as many as there are processors."""
    also = ", or None for all processors"
    return None if threads is None else check_whole(threads, name, 1, MOST_THREADS, " of threads", also)


def check_n_jobs(n_jobs: object, name: str = "n_jobs") -> int:
    """A number of workers: 1 for threads of this process, -1 for all processors."""
    if not is_whole(n_jobs) or not 0 < abs(n_jobs) <= MOST_THREADS:  # type: ignore[arg-type]
        raise InputError(
            f"{name}={_short(n_jobs)}: a number of workers up to {MOST_THREADS:,} is needed (1: threads of this process, "
            "-1: all processors)"
        )
    return int(n_jobs)  # type: ignore[call-overload, no-any-return]


def check_seed(seed: object, name: str = "seed") -> None:
    """Something that random numbers can start from."""
    fine = seed is None or (type(seed) is int and seed >= 0)
    if not (fine or isinstance(seed, np.random.SeedSequence | np.random.Generator)):
        check_whole(seed, name, 0, also=", or a numpy Generator or SeedSequence, or None")


# Words


def check_option(value: object, name: str, accepted: Collection[str | None], also: str = "") -> str | None:
    """One of a few words; `also` is what else the caller accepts."""
    if not (value is None or isinstance(value, str)) or value not in accepted:
        words = [*map(repr, accepted), *([also] if also else [])]
        one = len(words) == 1
        text = words[0] if one else f"{', '.join(words[:-1])} and {words[-1]}"
        raise InputError(f"{name}={_short(value)}: accepted {'is' if one else 'are'} {text}")
    return value


# Items and menus


def format_menu(menu: Iterable[Hashable]) -> str:
    """A menu as text: {tea, milk}; the middle of a very long one is left out."""
    labels = [visible(item) for item in menu]
    if len(labels) > 40:
        labels = [*labels[:20], f"... {len(labels) - 21} more ...", labels[-1]]
    return "{" + ", ".join(labels) + "}"


def check_different(labels: Sequence[Hashable], name: str) -> None:
    """Labels, none of them twice."""
    seen: set[Hashable] = set()
    for label in labels:
        if not isinstance(label, Hashable):
            raise InputError(f"{name}: item {label!r}: a label is text or a number, not {type(label).__name__}")
        if label in seen:
            raise InputError(f"{name}: item {label!r} appears twice")
        seen.add(label)


def check_item(item: Hashable, items: Sequence[Hashable] | Mapping[Hashable, int], name: str = "") -> int:
    """The number of an item given by its label; `items` are the labels, or a mapping of labels to numbers."""
    if not ((is_whole(item) if isinstance(items, range) else isinstance(item, Hashable)) and item in items):
        where = f"{name}: " if name else ""
        raise InputError(f"{where}item {item!r} is unknown: the items are {format_menu(items)}")
    return items[item] if isinstance(items, Mapping) else items.index(item)


def as_menu(menu: Iterable[Hashable] | None, name: str = "menu", least: int = 1) -> tuple[Hashable, ...]:
    """A menu as a tuple of different labels, at least this many.

    >>> as_menu(["a", "b"])
    ('a', 'b')
    """
    if menu is None or isinstance(menu, str | bytes) or not isinstance(menu, Iterable):
        raise InputError(f"{name}={_short(menu)}: a list of items is needed, such as ['tea', 'milk']")
    members = tuple(menu)
    check_different(members, name)
    if len(members) < least:
        items = "one item is" if least == 1 else f"{least} items are"
        raise InputError(f"{name}={format_menu(members)}: at least {items} needed")
    return members


def check_menu(
    menu: Iterable[Hashable] | None,
    items: Sequence[Hashable] | Mapping[Hashable, int],
    name: str = "menu",
    least: int = 1,
) -> NDArray[np.int64]:
    """The item numbers of a menu given by labels, in its order."""
    place = items if isinstance(items, Mapping | range) else {label: x for x, label in enumerate(items)}
    members = as_menu(menu, name, least)
    return np.array([check_item(item, place, name) for item in members], np.int64)


# Tables of numbers


def nan_where_masked(values: Any) -> Any:
    """A NumPy masked array with NaN where it is masked, also inside lists and tuples; anything else as it is.

    `np.asarray` would drop the mask without a word.
    """
    masked = sys.modules.get("numpy.ma")
    if masked is None:  # not loaded: nobody can have made one
        return values
    if isinstance(values, masked.MaskedArray):
        return values.astype(np.float64).filled(np.nan)
    if isinstance(values, list | tuple) and any(hasattr(v, "mask") or isinstance(v, list | tuple) for v in values):
        return [nan_where_masked(v) for v in values]
    return values


def as_floats(values: object, name: str) -> NDArray[np.float64]:
    """An array of real numbers."""
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values
    try:
        array = np.asarray(nan_where_masked(values))  # masked: not observed
        if array.dtype.kind not in "biufO" or isinstance(values, str):
            raise TypeError
        return np.asarray(array, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name}: an array of real numbers is needed (rf.ChoiceData.from_csv and from_frame read files and tables), not "
            f"{type(values).__name__}"
        ) from None


def require_weights(weights: NDArray[np.float64], name: Callable[[int], str]) -> None:
    """Raise where weights are negative, not finite, all 0, or too far apart; `name` says which cell an entry belongs to."""
    bad = ~(weights <= LARGEST) | (weights < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"weights: {name(i)} has weight {weights.flat[i]:g}; weights must be finite and 0 or more, at most {LARGEST:g}"
        )
    seen = np.flatnonzero(weights > 0)
    if len(seen) == 0:
        raise InputError("weights: every weight is 0, so no cell is observed; at least one must be positive")
    low, high = (int(seen[find(weights.flat[seen])]) for find in (np.argmin, np.argmax))
    if weights.flat[high] > MOST_SPREAD * weights.flat[low]:
        raise InputError(
            f"weights: {name(high)} has weight {weights.flat[high]:g} and {name(low)} has {weights.flat[low]:g}; they may "
            f"differ by a factor of {MOST_SPREAD:g}, beyond that double precision certifies nothing about the lighter one: "
            "bring them closer together, or leave the lighter one out (weight 0)"
        )
