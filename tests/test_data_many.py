"""Hundreds of items: everything that data can do, exactly and without anything of size 2^n."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.data import interop, simulate
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Rows
from rumflow.data.menus import masks_of, membership_of, sort_keys, tally, unique_menus

N = 300


@pytest.fixture(scope="module")
def shop():
    """300 items in no natural order, 300 menus of 285, 3,000 choices one by one."""
    counted = simulate.stock_outs(N, 300, 0.05, draws=10, seed=0)
    items = tuple(f"product {k}" for k in np.random.default_rng(0).permutation(N))
    menu, item = np.nonzero(np.nan_to_num(counted.counts))
    times = counted.counts[menu, item].astype(int)
    menu, item = np.repeat(menu, times), np.repeat(item, times)
    subject = np.concatenate([np.arange(50), np.random.default_rng(1).integers(50, size=len(menu) - 50)])
    rows = Rows(menu.astype(np.int32), item.astype(np.int16), np.ones(len(menu)), subject.astype(np.int32), None,
                tuple(range(50)))  # fmt: skip
    return ChoiceData(items, counted.membership, counted.counts, counted.totals, rows)


def only_counts(data):
    return ChoiceData(data.items, data.membership, data.counts, data.totals)


def same(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.membership, b.membership)
    np.testing.assert_array_equal(a.counts, b.counts)


@given(st.integers(1, 80), st.integers(1, 30), st.integers(0, 9))
def test_menus_in_the_order_of_their_masks(n, m, seed):
    """Python's whole numbers have any length: they are the plain twin."""
    rng = np.random.default_rng(seed)
    membership = rng.random((m, n)) < 0.5
    membership[rng.integers(m, size=3)] = membership[0]
    masks = [sum(1 << x for x in range(n) if row[x]) for row in membership]
    different, number = unique_menus(membership)
    assert [sum(1 << x for x in range(n) if row[x]) for row in different] == sorted(set(masks))
    assert [sorted(set(masks))[k] for k in number] == masks
    assert np.argsort(sort_keys(membership), kind="stable").tolist() == sorted(range(m), key=lambda k: masks[k])
    if n <= 62:
        assert masks_of(membership).tolist() == masks
        np.testing.assert_array_equal(membership_of(np.array(masks), n), membership)


def test_tally_against_a_loop(rng):
    membership = rng.random((6, 9)) < 0.7
    menu = rng.integers(6, size=100)
    choice = np.array([rng.choice(np.flatnonzero(membership[k])) for k in menu])
    weight = rng.random(100)
    counts = np.where(membership, 0.0, np.nan)
    for m, x, w in zip(menu, choice, weight, strict=True):
        counts[m, x] += w
    np.testing.assert_allclose(tally(membership, menu, choice, weight), counts, rtol=1e-13)


def test_masks_end_at_62_items():
    for n in (62, 63):
        data = simulate.random_menus(n, 9, 40, seed=0)
        assert data.to_frame(backend="dict").keys() >= (
            {"menu_mask", "menu"} if n == 62 else {"menu_id", "item_number"}
        )
        assert ChoiceData.from_frame(data.to_frame(backend="dict")).equals(data)
        if n == 62:
            assert (np.diff(data.masks) > 0).all()
            assert data.masks.tolist() == [sum(1 << x for x in menu) for menu in data.menus]
        else:
            with pytest.raises(rf.InputError, match=r"data\.membership.*data\.menus"):
                _ = data.masks


def test_arrays_over_all_menus_end_at_30_items(shop):
    for call in (shop.to_array, shop.to_matrix, lambda: ChoiceData.from_matrix(np.zeros((7, 31)))):
        with pytest.raises(rf.InputError, match="at most 30 items"):
            call()
    assert "300 items, 300 menus, 3000 observations" in repr(shop)


def test_counts(shop):
    table = {menu: {x: c for x, c in zip(shop.items, row, strict=True) if c > 0}
             for menu, row in zip(shop.menus, shop.counts, strict=True)}  # fmt: skip
    same(ChoiceData.from_counts(table, items=shop.items), shop)


@pytest.mark.parametrize("form", ["long", "rows"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow", "dict"])
def test_files_and_frames(tmp_path, shop, form, kind):
    data = shop if form == "rows" else only_counts(shop)
    begin = time.perf_counter()
    if kind in ("csv", "parquet"):
        if kind == "parquet":
            pytest.importorskip("pyarrow")
        getattr(data, f"to_{kind}")(tmp_path / f"a.{kind}", form)
        again = ChoiceData.from_csv(tmp_path / f"a.{kind}")
    else:
        if kind != "dict":
            pytest.importorskip(kind)
            pytest.importorskip("narwhals")
        again = ChoiceData.from_frame(data.to_frame(form, kind))
    assert time.perf_counter() - begin < 30  # a second alone
    same(again, data)
    if form == "rows":
        np.testing.assert_array_equal(again.rows.menu, data.rows.menu)
        np.testing.assert_array_equal(again.rows.choice, data.rows.choice)
        assert [again.rows.subjects[s] for s in again.rows.subject] == data.rows.subject.tolist()


def test_availability_columns(tmp_path, shop):
    """300 columns of 0 and 1."""
    inside = shop.membership[shop.rows.menu]
    table = {str(x): inside[:, k].astype(int) for k, x in enumerate(shop.items)}
    table["choice"] = [shop.items[x] for x in shop.rows.choice]
    same(ChoiceData.from_frame(table), shop)


def test_split(shop):
    parts = shop.split("subject")
    assert len(parts) == 50
    assert sum(part.n_observations for part in parts.values()) == 3_000
    total = {}
    for part in parts.values():
        for menu, total_of in zip(part.membership, part.totals, strict=True):
            total[menu.tobytes()] = total.get(menu.tobytes(), 0) + total_of
    assert [total[menu.tobytes()] for menu in shop.membership] == shop.totals.tolist()


def test_other_libraries(shop):
    same(ChoiceData.from_pairs(shop.to_pairs(), items=shop.items), shop)
    same(interop.from_choix(*interop.to_choix(shop), items=shop.items), shop)
    same(interop.from_torch_choice(**interop.to_torch_choice(shop), items=shop.items), shop)
    few = only_counts(shop)
    same(interop.from_xlogit(**interop.to_xlogit(few, constants=False), items=shop.items), shop)


def test_wrong_choices_of_other_libraries():
    with pytest.raises(rf.InputError, match="choice 1: an item appears twice"):
        interop.from_choix(3, [(0, (1,)), (0, (1, 1))])
    with pytest.raises(rf.InputError, match="choice 0: an item appears twice"):
        interop.from_choix(3, [(0, (0, 1))])
    with pytest.raises(rf.InputError, match="at least one"):
        interop.from_choix(3, [])
    with pytest.raises(rf.InputError, match="not available in session 1"):
        interop.from_torch_choice([0, 1], [0, 1], [[1, 1], [1, 0]])
    with pytest.raises(rf.InputError, match=r"session_index\[1\] = 5"):
        interop.from_torch_choice([0, 1], [0, 5], [[1, 1], [1, 0]])
    with pytest.raises(rf.InputError, match="alternative 'b' twice"):
        interop.from_xlogit([1, 0, 0], ["a", "b", "b"], [0, 0, 0])


def test_a_menu_id_in_counts_and_item_numbers_that_clash():
    table = {"menu_id": [1, 1, 2, 2], "item": ["b", "a", "b", "a"], "item_number": [0, 1, 0, 1], "count": [1, 2, 3, 4]}
    assert ChoiceData.from_frame(table).items == ("b", "a")
    with pytest.raises(rf.InputError, match="row 2: 1 in column 'item_number'"):
        ChoiceData.from_frame(table | {"item_number": [0, 1, 1, 0]})
    with pytest.raises(rf.InputError, match="two items the same number"):
        ChoiceData.from_frame(table | {"item_number": [0, 0, 0, 0]})


def test_shapes_are_checked():
    with pytest.raises(rf.InputError, match="boolean array"):
        ChoiceData(("a", "b"), np.array([3]), np.ones((1, 2)), np.array([2.0]))
