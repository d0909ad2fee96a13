"""The same choices in five layouts, beside columns that mislead, are the same data, or the reader asks."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.data.choices import ChoiceData

ITEMS = ("tea", "milk", "juice")
MENUS = [("tea", "milk"), ("tea", "juice"), ("milk", "juice"), ITEMS]
EXTRA = [
    "n",
    "freq",
    "weight",
    "id",
    "subject",
    "period",
    "male",
    "urban",
    "total",
    "share",
    "w",
    "hhid",
    "case",
    "price",
]


@st.composite
def choices(draw):
    rows = draw(st.lists(st.tuples(st.sampled_from(MENUS), st.integers(0, 2)), min_size=1, max_size=12))
    made = [(menu, menu[k % len(menu)]) for menu, k in rows]
    return [*made, made[0]]  # a row comes back: these are no counts


def long_table(rows):
    cells = [(k, x, int(x == pick)) for k, (menu, pick) in enumerate(rows) for x in menu]
    table = dict(zip(("chid", "alt", "choice"), map(list, zip(*cells, strict=True)), strict=True))
    return table, {"observation": "chid", "alternative": "alt", "choice": "choice"}


def rows_table(rows):
    return {"menu": ["|".join(m) for m, _ in rows], "choice": [p for _, p in rows]}, {
        "menu": "menu",
        "choice": "choice",
    }


def wide_table(rows):
    table = {f"{x}_av": [int(x in m) for m, _ in rows] for x in ITEMS} | {"choice": [p for _, p in rows]}
    return table, {"available": [f"{x}_av" for x in ITEMS], "choice": "choice"}


def coded_table(rows):
    """Codes in the order juice, tea, milk, columns in the order of ITEMS."""
    codes = {"juice": 1, "tea": 2, "milk": 3}
    table = {f"{x}_av": [int(x in m) for m, _ in rows] for x in ITEMS} | {"choice": [codes[p] for _, p in rows]}
    return table, {"available": ["juice_av", "tea_av", "milk_av"], "choice": "choice", "base": 1}


def counts_table(rows):
    counts = Counter(rows)
    cells = [(m, x, counts.get((m, x), 0)) for m in dict.fromkeys(m for m, _ in rows) for x in m]
    table = {
        "menu": ["|".join(m) for m, _, _ in cells],
        "item": [x for _, x, _ in cells],
        "count": [c for _, _, c in cells],
    }
    return table, {"menu": "menu", "alternative": "item", "count": "count"}


LAYOUTS = [long_table, rows_table, wide_table, coded_table, counts_table]


def counts_of(data):
    cells = zip(*(part.tolist() for part in data.cells), strict=True)
    return {(frozenset(data.menus[m]), data.items[x]): c for m, x, c in cells if c}


@settings(max_examples=150)
@given(choices(), st.sampled_from(LAYOUTS), st.data())
def test_layouts_are_read_as_they_were_written_or_asked_about(rows, layout, data):
    table, named = layout(rows)
    size = len(next(iter(table.values())))
    for name in data.draw(st.lists(st.sampled_from(EXTRA), unique=True, max_size=4)):
        if name not in table:
            table[name] = data.draw(
                st.lists(st.integers(0, 1 if name in ("male", "urban") else 5), min_size=size, max_size=size)
            )
    order = data.draw(st.permutations(list(table)))
    table = {name: table[name] for name in order}
    truth = {(frozenset(m), p): c for (m, p), c in Counter(rows).items()}
    assert counts_of(ChoiceData.from_frame(table, **named)) == truth
    try:
        found = ChoiceData.from_frame(table)
    except rf.InputError:
        return
    assert counts_of(found) == truth, str(found.understood)
    used = [c for own in found.understood.roles.values() for c in ([own] if isinstance(own, str) else own)]
    assert sorted([*used, *found.understood.unused]) == sorted(table)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_without_misleading_columns_are_read_at_once(layout):
    rows = [(menu, pick) for menu in MENUS for pick in menu] * 2
    table, _ = layout(rows)
    if layout is coded_table:
        with pytest.raises(rf.InputError, match="name the columns in the order of the codes"):
            ChoiceData.from_frame(table)
    else:
        assert counts_of(ChoiceData.from_frame(table)) == {(frozenset(m), p): 2 for m, p in rows}
