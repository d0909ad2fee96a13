"""Readers of choice data: frames, counts, matrices, streams of rows, outside options, shares."""

import time

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS, choices, expected, same_counts, write
from tests.reference.shops import only_counts, same_shop


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", "dict"])
@pytest.mark.parametrize("kind", ["list", "set", "text"])
def test_frames(backend, kind):
    if backend != "dict":
        pytest.importorskip(backend)
        pytest.importorskip("narwhals")
    menus, picks = choices()
    if kind == "set" and backend not in ("pandas", "dict"):
        pytest.skip("no set columns there")
    cast = {"list": list, "set": set, "text": ",".join}[kind]
    weights = [0.5 + k % 3 for k in range(len(picks))]
    table = {
        "menu": [cast(m) for m in menus],
        "choice": picks,
        "weight": weights,
        "subject": [k % 7 for k in range(len(picks))],
    }
    if backend == "pandas":
        frame = pytest.importorskip("pandas").DataFrame(table)
    elif backend == "polars":
        frame = pytest.importorskip("polars").DataFrame(table).lazy()
    elif backend == "pyarrow":
        frame = pytest.importorskip("pyarrow").table(table)
    else:
        frame = table
    data = ChoiceData.from_frame(frame, items=ITEMS, weight="weight")
    same_counts(data, expected(menus, picks, weights))
    assert data.rows.subjects == tuple(range(7))
    parts = data.split("subject")
    assert sum(part.n_observations for part in parts.values()) == pytest.approx(sum(weights))


def test_long_counts_with_unobserved_cells():
    table = {
        "menu": ["a,b", "a,b", "a,b,c", "a,b,c", "a,b,c"],
        "item": list("ababc"),
        "count": [0.25, 0.75, 0.5, None, None],
    }
    data = ChoiceData.from_frame(table)
    np.testing.assert_array_equal(data.counts[1], [0.5, np.nan, np.nan])
    assert data.totals.tolist() == [1, 1]


def test_matrix_file(tmp_path):
    matrix = expected(*choices()).to_matrix()
    text = ["" if np.isnan(v) else f"{v:g}" for v in matrix.ravel()]
    rows = np.array(text, object).reshape(matrix.shape).tolist()
    same_counts(ChoiceData.from_csv(write(tmp_path / "a.csv", ITEMS, rows)), expected(*choices()))


def test_outside_option():
    table = {"menu": ["a,b", "a", "b", "a,b"], "choice": ["a", "none", "b", ""]}
    data = ChoiceData.from_frame(table, outside_option="none")
    assert data.items == ("none", "a", "b")
    assert data.menus == [("none", "a"), ("none", "b"), ("none", "a", "b")]
    assert data.counts[2].tolist() == [1, 1, 0]


def test_streaming_keeps_memory_bounded(tmp_path):
    """A small version of the 50-million-row run: several batches, the same counts as all at once."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    menus, picks = choices(size=700_000)
    parquet.write_table(arrow.table({"menu": [",".join(m) for m in menus], "choice": picks}), tmp_path / "a.parquet")
    data = ChoiceData.from_parquet(tmp_path / "a.parquet", items=ITEMS, rows=False)
    assert data.rows is None
    same_counts(data, expected(menus, picks))


def test_a_choice_that_differs_in_case_only(tmp_path):
    (tmp_path / "c.csv").write_text("menu,choice\nTrain|Bike,train\nTrain|Bike,Bike\n", encoding="utf-8")
    with pytest.raises(rf.InputError, match=r"'train' is not in the menu .* which has 'Train'; .*--clean"):
        rf.ChoiceData.from_csv(tmp_path / "c.csv")
    assert len(rf.ChoiceData.from_csv(tmp_path / "c.csv", clean=True).items) == 2


@pytest.mark.parametrize("column", ["share", "Probability"])
def test_shares_that_do_not_add_up_to_one_are_refused(column):
    table = {"menu": ["tea,milk", "tea,milk"], "item": ["tea", "milk"], column: [0.4, 0.7]}
    with pytest.raises(
        rf.InputError, match=rf"\{{milk, tea\}}: the shares of column '{column}' add up to 1.1, not to 1"
    ):
        rf.ChoiceData.from_frame(table)
    assert rf.ChoiceData.from_frame(table, count=column).totals.tolist() == [
        1.1
    ]  # named by the user: numbers of choices


def test_shares_may_be_rounded():
    third = {"menu": ["a,b,c"] * 3, "item": ["a", "b", "c"], "share": [0.33, 0.33, 0.33]}
    data = rf.ChoiceData.from_frame(third)
    assert data.totals.tolist() == [1.0]
    assert data.frequencies.tolist() == [[pytest.approx(1 / 3)] * 3]


def test_shares_by_group_by_id_and_in_part_are_not_added_up():
    two = {"menu": ["a,b"] * 4, "item": ["a", "b"] * 2, "share": [0.4, 0.6, 0.5, 0.5], "group": ["x", "x", "y", "y"]}
    assert rf.ChoiceData.from_frame(two).totals.tolist() == [2.0]
    ids = {"menu_id": [1, 1, 2, 2], "item": ["a", "b", "a", "b"], "share": [0.4, 0.6, 0.5, 0.5]}
    assert rf.ChoiceData.from_frame(ids).totals.tolist() == [2.0]
    part = {"menu": ["a,b,c"] * 3 + ["a,b"] * 2, "item": ["a", "b", "c", "a", "b"], "share": [0.4, 0.3, None, 0.0, 0.0]}
    data = rf.ChoiceData.from_frame(part)  # c was not recorded, and nobody chose from {a, b}
    assert data.menus == [("a", "b", "c")]
    assert np.isnan(data.counts[0, 2])


@pytest.mark.parametrize("form", ["long", "rows"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow", "dict"])
def test_files_and_frames(tmp_path, large_shop, form, kind):
    data = large_shop if form == "rows" else only_counts(large_shop)
    begin = time.process_time()
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
    assert time.process_time() - begin < 60  # a second
    same_shop(again, data)
    if form == "rows":
        np.testing.assert_array_equal(again.rows.menu, data.rows.menu)
        np.testing.assert_array_equal(again.rows.choice, data.rows.choice)
        assert [again.rows.subjects[s] for s in again.rows.subject] == data.rows.subject.tolist()


def test_availability_columns(tmp_path, large_shop):
    """300 columns of 0 and 1."""
    inside = large_shop.membership[large_shop.rows.menu]
    table = {str(x): inside[:, k].astype(int) for k, x in enumerate(large_shop.items)}
    table["choice"] = [large_shop.items[x] for x in large_shop.rows.choice]
    same_shop(ChoiceData.from_frame(table, available=[str(x) for x in large_shop.items]), large_shop)


def test_a_menu_id_in_counts_and_item_numbers_that_clash():
    table = {"menu_id": [1, 1, 2, 2], "item": ["b", "a", "b", "a"], "item_number": [0, 1, 0, 1], "count": [1, 2, 3, 4]}
    assert ChoiceData.from_frame(table).items == ("b", "a")
    with pytest.raises(rf.InputError, match="row 2: 1 in column 'item_number'"):
        ChoiceData.from_frame(table | {"item_number": [0, 1, 1, 0]})
    with pytest.raises(rf.InputError, match="two items the same number"):
        ChoiceData.from_frame(table | {"item_number": [0, 0, 0, 0]})


def test_one_menu_in_two_orders():
    table = {"menu": ["gin|milk"] * 2 + ["milk|gin"] * 2, "item": ["gin", "milk"] * 2, "count": [1, 2, 3, 4]}
    with pytest.raises(
        rf.InputError, match=r"'gin\|milk' and 'milk\|gin' in column 'menu' spell one menu.*add the counts"
    ):
        ChoiceData.from_frame(table)
    with pytest.raises(rf.InputError, match="appears twice"):
        ChoiceData.from_frame(table | {"menu": ["gin|milk"] * 4})
