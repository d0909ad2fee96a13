"""What cannot matter does not: a test is the same after additions without influence, and in any order of items and menus."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf


@st.composite
def tables(draw):
    """Choices from menus of four items that can contradict each other, with unequal samples."""
    items = ["a", "b", 3, 10]
    menus = draw(
        st.lists(st.sets(st.sampled_from(items), min_size=2, max_size=4), min_size=3, max_size=7, unique_by=frozenset)
    )
    counts = {}
    for menu in menus:
        own = draw(st.lists(st.integers(0, 40), min_size=len(menu), max_size=len(menu)).filter(any))
        counts[tuple(sorted(menu, key=str))] = dict(zip(sorted(menu, key=str), own, strict=True))
    return counts


@st.composite
def irrelevant(draw, counts):
    """Additions without influence: chains of pairs and triples that hang on one item, and items that nobody takes."""
    found = {}
    for k in range(draw(st.integers(0, 3))):
        dead = f"dead {k}"
        counts = {(*menu, dead): own | {dead: 0} for menu, own in counts.items()}
    ends = [draw(st.sampled_from(["a", "b", 3, "elsewhere"]))]
    for k in range(draw(st.integers(0, 5))):
        new = [f"new {k}", f"more {k}"][: draw(st.integers(1, 2))]
        menu = (draw(st.sampled_from(ends)), *new)
        own = draw(st.lists(st.sampled_from([0, 1, 7, 10**6]), min_size=len(menu), max_size=len(menu)).filter(any))
        found[menu] = dict(zip(menu, own, strict=True))
        ends += new
    if draw(st.booleans()):
        found["alone",] = {"alone": 5}
    return counts | found


def read(counts, order=None):
    """The data, with items and menus in another order where a seed is given."""
    items = list(dict.fromkeys(x for menu in counts for x in menu))
    menus = list(counts)
    if order is not None:
        rng = np.random.default_rng(order)
        items = [items[k] for k in rng.permutation(len(items))]
        menus = [menus[k] for k in rng.permutation(len(menus))]
    return rf.ChoiceData.from_counts({menu: counts[menu] for menu in menus}, items=items)


def numbers(test):
    return test.statistic, test.taus, test.pvalues.tolist(), test.null_distributions.tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_additions_without_influence_and_the_order_of_items_change_nothing(data):
    counts = data.draw(tables())
    plain = rf.rum_test(read(counts), n_boot=19, seed=7)
    more = data.draw(irrelevant(counts))
    found = rf.rum_test(read(more, data.draw(st.integers(0, 99))), n_boot=19, seed=7)
    if any("nothing to test" in note for note in plain.notes):
        assert (found.statistic, found.pvalue) == (plain.statistic, plain.pvalue) == (0.0, 1.0)
    else:
        assert numbers(found) == numbers(plain)


@settings(max_examples=25, deadline=None)
@given(tables(), st.integers(0, 99), st.sampled_from(["recentred", "kitamura-stoye"]), st.sampled_from(["menu", "row"]))
def test_published_conventions_draw_in_the_order_of_labels(counts, order, convention, resample):
    """Their statistics have the items in the order of the data, so they are equal up to rounding."""
    first, second = (
        rf.rum_test(read(counts, k), n_boot=19, seed=7, convention=convention, resample=resample) for k in (None, order)
    )
    np.testing.assert_allclose(second.statistic, first.statistic, rtol=1e-6, atol=1e-6)
    assert second.taus == first.taus
    np.testing.assert_allclose(second.null_distributions, first.null_distributions, rtol=1e-5, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 99), st.integers(0, 99), st.sampled_from(["subject", "weight"]))
def test_single_choices_in_any_order_of_items(seed, order, kind):
    rng = np.random.default_rng(seed)
    menus = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c"), ("c", "z")]
    rows = [(menus[rng.integers(5)], s) for s in range(40) for _ in range(2)]
    choice = [menu[rng.integers(len(menu))] for menu, _ in rows]
    more = (
        {"subject": [s for _, s in rows]}
        if kind == "subject"
        else {"weight": rng.uniform(0.5, 2.0, len(rows)).tolist()}
    )
    found = []
    for number in (None, order):
        items = list("abcz") if number is None else np.random.default_rng(number).permutation(list("abcz")).tolist()
        table = {"menu": [list(menu) for menu, _ in rows], "choice": choice, **more}
        data = rf.ChoiceData.from_frame(table, items=items, **({"weight": "weight"} if kind == "weight" else {}))
        assert list(data.items) == items
        found.append(rf.rum_test(data, n_boot=19, seed=3))
    np.testing.assert_allclose(found[1].null_distributions, found[0].null_distributions, rtol=1e-9, atol=1e-9)
    assert found[1].pvalues.tolist() == found[0].pvalues.tolist()
