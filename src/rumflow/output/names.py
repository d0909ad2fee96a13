"""Menus and rankings of many items in few words."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

#: Texts longer than this are cut; those of tables, where lines are wrapped, only if they are longer than the second.
LENGTH, WRAPPED = 60, 240


def name_menu(
    items: Sequence[Hashable],
    menu: Iterable[Hashable],
    length: int = LENGTH,
    name: Callable[[Hashable], str] = str,
) -> str:
    """A menu in words: {tea, milk}; of five items or more "all 6 items" or "all but tea"; a long one is cut.

    >>> name_menu("abcdef", "abcde"), name_menu("abcdef", "abc"), name_menu(range(99), range(50), 20)
    ('all but f', '{a, b, c}', '{0, 1, ... 48 more}')
    """
    members = list(menu)
    inside = set(members)
    missing = [x for x in items if x not in inside]
    if len(items) >= 5 and not missing:
        return f"all {len(items)} items"
    whole = "{" + ", ".join(map(name, members)) + "}"
    but = "all but " + ", ".join(map(name, missing))
    shorter = len(but) < len(whole) and len(whole) > min(length, LENGTH)
    if len(items) >= 5 and len(members) > 2 and (len(missing) <= 2 or shorter) and len(but) <= length:
        return but
    return whole if len(whole) <= length else "{" + _cut(members, ", ", length - 2, name) + "}"


def list_menu(items: Sequence[Hashable], menu: Sequence[Hashable], length: int = 2 * LENGTH) -> str:
    """A menu with its items listed, as menus are that are compared with each other; a long one as `name_menu` has it.

    >>> list_menu("abcdef", "abcde"), list_menu(range(99), range(98))
    ('{a, b, c, d, e}', 'all but 98')
    """
    whole = "{" + ", ".join(map(str, menu)) + "}"
    return whole if len(whole) <= length else name_menu(items, menu, length)


def name_order(
    order: Sequence[Hashable],
    decided: int | None = None,
    length: int = 100,
    name: Callable[[Hashable], str] = str,
    separator: str = " > ",
) -> str:
    """A ranking, best item first; where only the first items are `decided`, the others are not named; a long one is cut.

    >>> name_order(["tea", "milk", "water"]), name_order(range(9), 2)
    ('tea > milk > water', '0 > 1 > the others')
    """
    whole = decided is None or decided >= len(order)
    labels = list(order if whole else order[:decided])
    text = separator.join([*map(name, labels), *([] if whole else ["the others"])])
    return text if len(text) <= length else _cut(list(order), separator, length, name)


def _cut(labels: Sequence[Hashable], separator: str, length: int, name: Callable[[Hashable], str]) -> str:
    room, shown = length - len(f"... {len(labels)} more"), list[str]()
    for label in labels:
        room -= len(name(label)) + len(separator)
        if shown and room < 0:
            break
        shown.append(name(label))
    return separator.join([*shown, f"... {len(labels) - len(shown)} more"])
