"""Who gains where an item leaves: against linear programmes over all rankings, words, intervals."""

from dataclasses import replace

import pytest

import rumflow as rf
from tests.reference.enumeration import Enumeration, random_data
from tests.reference.examples import FITS


@pytest.mark.parametrize("observed", [True, False])
def test_diversion_agrees_with_enumeration(observed):
    checked = 0
    for seed in range(8):
        world = Enumeration(random_data(4, seed, 3))
        menu = None if observed else ("a", "c", "d")
        found = rf.diversion(world.fit, "a", menu)
        if found.observed != observed:
            continue
        rest = tuple(x for x in found.menu if x != "a")
        own = world.value({(found.menu, "a"): 1.0})
        assert found.share == pytest.approx(world.range(own), abs=1e-7)
        for k, item in enumerate(rest):
            gain = world.value({(rest, item): 1.0, (found.menu, item): -1.0})
            assert found.gains[item] == pytest.approx(world.range(gain), abs=1e-7)
            ratio = (found.ratio_lower[k], found.ratio_upper[k])
            if found.share[0] > 1e-6:
                assert ratio == pytest.approx(world.ratio(gain, own), abs=1e-6)
                checked += 1
            else:
                assert ratio == (0.0, 1.0)
    assert checked >= 4


def test_ratios_where_the_own_share_is_not_known():
    """Of a on {a, c, d} only a range is known, and it is above 0: ratios are quotients of two unknowns."""
    counts = {("a", "b", "c", "d"): {"a": 0.4, "b": 0.2, "c": 0.3, "d": 0.1}, ("c", "d"): {"c": 0.6, "d": 0.4}}
    world = Enumeration(rf.ChoiceData.from_counts(counts))
    found = rf.diversion(world.fit, "a", ("a", "c", "d"))
    assert 0.1 < found.share[0] < found.share[1] - 0.1
    own = world.value({(("a", "c", "d"), "a"): 1.0})
    for k, item in enumerate(("c", "d")):
        gain = world.value({(("c", "d"), item): 1.0, (("a", "c", "d"), item): -1.0})
        assert (found.ratio_lower[k], found.ratio_upper[k]) == pytest.approx(world.ratio(gain, own), abs=1e-6)
    assert found.ratio_lower[0] > 0.01


def test_diversion_words_and_intervals():
    data = rf.ChoiceData.from_counts(
        {("tea", "milk", "beer"): {"tea": 50, "milk": 30, "beer": 20}, ("milk", "beer"): {"milk": 60, "beer": 40}}
    )
    found = rf.diversion(data, "tea", n_boot=19, confidence=0.9, seed=1)
    assert found.menu == ("tea", "milk", "beer")
    assert found.gains["milk"] == pytest.approx((0.3, 0.3))
    assert found.ratio_lower == pytest.approx([0.6, 0.4])
    low, high = found.table["from"][0], found.table["to"][0]
    assert low <= 0.3 <= high
    assert "Who gains when tea leaves" in found.summary()
    assert list(found.to_frame().columns) == list(found.table)
    with pytest.raises(rf.InputError, match="item 'rum' is unknown"):
        rf.diversion(data, "rum")
    with pytest.raises(rf.InputError, match="it must have 'tea'"):
        rf.diversion(data, "tea", ("milk", "beer"))


def test_the_only_other_item_takes_all():
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 30, "b": 50, "c": 20}})
    found = rf.diversion(data, "a", ("a", "b"), confidence=None)
    assert found.gains.lower[0] < found.gains.upper[0]
    assert found.table["ratio_lower"] == found.table["ratio_upper"] == [1.0]


def test_a_projection_has_its_own_options():
    data = rf.ChoiceData.from_counts({("o", "a", "b"): {"o": 30, "a": 50, "b": 20}, ("o", "a"): {"o": 60, "a": 40}})
    fit = rf.project(data)
    for options in ({"model": rf.SinglePeaked(["o", "a", "b"])}, {"weights": "counts"}, {"route": "graph"}):
        with pytest.raises(rf.InputError, match="already has weights, model and route"):
            rf.bounds(fit, ("a", "b"), **options)
    gone = rf.diversion(data, "b", weights="counts", confidence=None)
    assert len(gone.table["item"]) == 2


def test_ratios_where_nobody_may_take_the_item():
    """From {a, b, c} nobody takes c: of those who would, nothing is known."""
    data = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 5, "b": 5, "c": 0}})
    found = rf.diversion(data, "c", confidence=None)
    assert found.ratio_lower.tolist() == [0.0, 0.0]
    assert found.ratio_upper.tolist() == [1.0, 1.0]
    assert found.as_table().title == "Who gains when c leaves {a, b, c}; its share there is 0.000"
    largest = rf.diversion(FITS, "a", confidence=None)
    assert largest.menu == ("a", "b", "c")
    unseen = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}}, items=["a", "b", "c"])
    assert rf.diversion(unseen, "c", confidence=None).menu == ("a", "b", "c")
    with pytest.raises(rf.InputError, match=r"menu=\{c\}: at least 2 items are needed"):
        rf.diversion(FITS, "c", ("c",))


def test_shares_that_are_nearly_known():
    found = rf.diversion(FITS, "c", confidence=None)
    for width, text in ((4e-4, "0.200"), (6e-4, "0.200 to 0.201")):
        title = replace(found, share=(0.2, 0.2 + width)).as_table().title
        assert title == f"Who gains when c leaves {{a, b, c}}; its share there is {text}"
    gains = replace(found.gains, notes=("", "mind this"))
    assert replace(found, gains=gains).as_table().note.endswith("turn to this item. b: mind this.")
