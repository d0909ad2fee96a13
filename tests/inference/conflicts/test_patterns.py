"""Classic patterns are named where their definition holds."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.conflicts.patterns import find_pattern
from tests.reference.examples import DECOY

#: Shares in per cent, the menus of the first conflict, its pattern and the items in it.
PATTERNS = [
    # The added item is taken least of all.
    ({"xy": (40, 60), "xyz": (55, 40, 5)}, "attraction", {"target": "x", "decoy": "z"}),
    # The same, with x gaining from y as well.
    ({"xy": (40, 60), "xyz": (55, 40, 5), "xz": (50, 50)}, "compromise", {"target": "x", "added": "z"}),
    # The same, but x does not gain from y.
    ({"xy": (40, 60), "xyz": (55, 40, 5), "xz": (90, 10)}, "attraction", {"target": "x", "decoy": "z"}),
    # The added item has taken the place of y.
    ({"xy": (40, 60), "xyz": (50, 20, 30)}, "similarity", {"target": "x", "added": "z", "rival": "y"}),
    # Ties: not less than every other, so no decoy; y lost more than z won.
    ({"xy": (40, 60), "xyz": (50, 25, 25)}, "similarity", {"target": "x", "added": "z", "rival": "y"}),
    # z is neither least, nor at least as much as one who lost more than it won.
    ({"xyv": (30, 60, 10), "xyvz": (40, 45, 5, 10)}, "regularity", {"target": "x"}),
    # Two items were added.
    ({"xy": (40, 60), "xyzv": (55, 35, 5, 5)}, "regularity", {"target": "x"}),
    # Neither menu is inside the other.
    ({"xyz": (80, 10, 10), "xyv": (10, 80, 10)}, "reversal", {"first": ("x",), "second": ("y",)}),
    # Circles of three and of four pairs.
    ({"xy": (80, 20), "yz": (80, 20), "xz": (20, 80)}, "cycle", {"circle": ("x", "y", "z")}),
    ({"xy": (80, 20), "yz": (80, 20), "zv": (80, 20), "xv": (20, 80)}, "cycle", {"circle": ("x", "y", "z", "v")}),
    # Pairs and a triple: no classic pattern.
    ({"xy": (80, 20), "yz": (80, 20), "xyzv": (5, 40, 50, 5)}, None, None),
]


@pytest.mark.parametrize(("shares", "pattern", "items"), PATTERNS)
def test_patterns_are_named_where_their_definition_holds(shares, pattern, items):
    counts = {tuple(menu): dict(zip(menu, own, strict=True)) for menu, own in shares.items()}
    found = rf.explain(rf.ChoiceData.from_counts(counts, items=list("xyzv")), level=None)
    assert found.conflict
    first = found.conflicts[0]
    if pattern is None:
        assert all(one.pattern is None or one.pattern.name == "regularity" for one in found.conflicts)
        return
    assert found.pattern == pattern
    assert first.pattern.items == items
    assert first.inequality.value > first.inequality.bound


def test_few_added_items_are_named_and_many_counted():
    for more, words in (("zvwu", "z, v, w and u are on offer"), ("zvwut", "5 more items are on offer")):
        menu = tuple("xy" + more)
        large = dict.fromkeys(menu, 1) | {"x": 60}
        data = rf.ChoiceData.from_counts({("x", "y"): {"x": 40, "y": 60}, menu: large})
        assert words in rf.explain(data, level=None).conflicts[0].pattern.text


def pattern_of(table, coefficients=None, rows=None):
    counts = {tuple(menu): dict(zip(menu, own, strict=True)) for menu, own in table.items()}
    data = rf.ChoiceData.from_counts(counts, items=list("xyzvw"))
    chosen = tuple(range(len(data.menus))) if rows is None else rows
    cells = [("".join(menu), x) for menu in data.menus for x in menu]
    return find_pattern(data, chosen, np.array([float(cell in (coefficients or ())) for cell in cells]))


def test_patterns_in_words():
    assert pattern_of({"xy": (40, 60), "xyz": (55, 40, 5)}).text == (
        "x is taken by 40.0 % from {x, y}, but by 55.0 % when z is on offer as well, which is itself taken least of all (5.0 %): "
        "a decoy."
    )
    assert pattern_of({"xy": (40, 60), "xyz": (50, 20, 30)}).text == (
        "x is taken by 40.0 % from {x, y}, but by 50.0 % when z is on offer as well, which wins 30.0 % and costs y more than "
        "that: y falls from 60.0 % to 20.0 %."
    )
    assert pattern_of({"xy": (40, 60), "xyzv": (55, 35, 5, 5)}).text == (
        "x is taken by 40.0 % from {x, y}, but by 55.0 % when z and v are on offer as well: more on offer made it more popular."
    )
    assert pattern_of({"xy": (40, 60), "xz": (50, 50), "xyz": (55, 40, 5)}, rows=(0, 2)).text == (
        "x is taken by 40.0 % from {x, y}, but by 55.0 % when z is on offer as well; and from {x, z} it is taken by 50.0 %. x "
        "gains whichever of the other two is added, as an item between two extremes does."
    )
    reversal = pattern_of({"xyz": (80, 10, 10), "xyv": (10, 80, 10)}, [("xyz", "x"), ("xyz", "z"), ("xyv", "y")])
    assert reversal.text == (
        "x is taken from {x, y, z} and y from {x, y, v}, though all of them are on both: too many people would have to change "
        "their mind."
    )
    circle = [("xy", "x"), ("yz", "y"), ("xz", "z")]
    found = pattern_of({"xy": (80, 20), "yz": (80, 20), "xz": (20, 80)}, circle)
    assert found.text == (
        "Preferences form a cycle: x over y by 80.0 %, y over z by 80.0 %, z over x by 80.0 %. No ranking agrees with "
        "all 3 of these choices."
    )


def test_what_is_no_pattern():
    assert pattern_of({"xy": (40, 60), "zv": (55, 45)}) is None  # nothing in common
    assert pattern_of({"xy": (40, 60), "xyz": (40, 50, 10)}) is None  # nothing rises
    circle = [("xy", "x"), ("yz", "y"), ("xz", "z")]
    assert pattern_of({"xy": (80, 20), "yz": (60, 40), "xz": (40, 60)}, circle) is None  # 2.0 is not more than 2
    assert pattern_of({"xy": (80, 20), "yz": (80, 20), "xz": (20, 80)}, circle[:2]) is None
    assert pattern_of({"xy": (80, 20), "yz": (80, 20), "xz": (80, 20)}, [("xy", "x"), ("yz", "y"), ("xz", "x")]) is None
    assert pattern_of({"xy": (80, 20), "yz": (80, 20), "xzv": (20, 70, 10)}, [*circle[:2], ("xzv", "z")]) is None
    # A rival has lost as much as the added item has won, not more: plain regularity; as often taken as it: a rival.
    assert pattern_of({"xyv": (30, 50, 20), "xyvz": (40, 25, 10, 25)}).name == "regularity"
    assert pattern_of({"xyv": (30, 50, 20), "xyvz": (45, 22, 11, 22)}).name == "similarity"
    assert pattern_of({"xyv": (10, 60, 30), "xyvz": (30, 20, 20, 30)}).items["rival"] == "y"


def test_a_pair_of_which_the_other_item_was_recorded():
    """Of {x, y} only y has a count: x beats it with the rest."""
    member = np.array([[True, True, False], [True, False, True], [False, True, True]])
    counts = np.array([[np.nan, 20.0, np.nan], [20.0, np.nan, 80.0], [np.nan, 80.0, 20.0]])
    data = rf.ChoiceData(("x", "y", "z"), member, counts, np.full(3, 100.0))
    c = np.array([1.0, 0, 0, 1.0, 1.0, 0])
    found = find_pattern(data, (0, 1, 2), c)
    assert found.items == {"circle": ("x", "y", "z")}
    assert "x over y by 80.0 %" in found.text
    # Two menus may come in either order.
    assert find_pattern(DECOY, (1, 0), np.zeros(5)) == find_pattern(DECOY, (0, 1), np.zeros(5))


def test_patterns_are_those_of_rankings():
    """On the axis a, b, c, d who takes a from {a, b, d} has their peak there. Rankings need not."""
    data = rf.ChoiceData.from_counts(
        {("a", "b", "c"): {"a": 20, "b": 40, "c": 40}, ("a", "b", "d"): {"a": 40, "b": 40, "d": 20}}
    )
    found = rf.explain(data, level=None, model=rf.SinglePeaked("abcd"))
    assert len(found.conflicts) == 1
    assert found.pattern is None
    assert rf.explain(data, level=None).conflicts == ()
