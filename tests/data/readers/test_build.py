"""Readers and writers of choice data: every format, exact round trips, real files."""

import csv
import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import all_subsets
from rumflow.errors import InputError

MENUS = [("tea", "milk"), ("tea", "juice"), ("milk", "juice"), ("tea", "milk", "juice")]
ITEMS = ("tea", "milk", "juice")


def choices(seed=0, size=200):
    rng = np.random.default_rng(seed)
    menus = [MENUS[k] for k in rng.integers(0, len(MENUS), size)]
    return menus, [menu[rng.integers(len(menu))] for menu in menus]


def expected(menus, picks, weights=None):
    counts = {}
    for k, (menu, pick) in enumerate(zip(menus, picks, strict=True)):
        counts.setdefault(menu, dict.fromkeys(menu, 0))[pick] += 1 if weights is None else weights[k]
    return ChoiceData.from_counts(counts, items=ITEMS)


def same_counts(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.masks, b.masks)
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.totals, b.totals)


def write(path, header, rows, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("separator", [",", ";", "|", "/", " ", "+"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_menus_as_text(tmp_path, separator, delimiter):
    menus, picks = choices()
    rows = [(separator.join(m), p) for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["menu", "choice"], rows, delimiter), items=ITEMS)
    same_counts(data, expected(menus, picks))
    assert len(data.rows.menu) == len(rows)
    assert "menu = 'menu'" in data.understood


@pytest.mark.parametrize("style", [json.dumps, str, lambda m: "{" + ", ".join(m) + "}"])
def test_menus_as_lists_in_text(tmp_path, style):
    menus, picks = choices()
    rows = [(style(list(m)), p) for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["set", "selected"], rows), items=ITEMS)
    same_counts(data, expected(menus, picks))


def test_columns_by_content(tmp_path):
    menus, picks = choices()
    rows = [(k, ",".join(m), p, "x") for k, (m, p) in enumerate(zip(menus, picks, strict=True))]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["row", "what", "took", "note"], rows), items=ITEMS)
    same_counts(data, expected(menus, picks))


def test_gzip_and_bom(tmp_path):
    menus, picks = choices()
    text = "\ufeffmenu,choice\n" + "".join(f'"{",".join(m)}",{p}\n' for m, p in zip(menus, picks, strict=True))
    with gzip.open(tmp_path / "a.csv.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    same_counts(ChoiceData.from_csv(tmp_path / "a.csv.gz", items=ITEMS), expected(menus, picks))


@pytest.mark.parametrize("base", [0, 1])
def test_availability(tmp_path, base):
    menus, picks = choices()
    rows = [[ITEMS.index(p) + base, *(int(x in m) for x in ITEMS)] for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_csv(write(tmp_path / "a.csv", ["Choice", *ITEMS], rows))
    same_counts(data, expected(menus, picks))
    named = [[p, *("yes" if x in m else "no" for x in ITEMS)] for m, p in zip(menus, picks, strict=True)]
    header = ["picked", *(f"{x}_av" for x in ITEMS)]
    same_counts(ChoiceData.from_csv(write(tmp_path / "b.csv", header, named)), expected(menus, picks))


def test_availability_beside_other_flags():
    """Columns marked as availability are taken, other 0/1 columns are not."""
    table = {
        "CHOICE": [1, 2, 3, 3],
        "MALE": [0, 1, 1, 0],
        "CAR_AV": [1, 1, 0, 1],
        "SM_AV": [1, 1, 1, 0],
        "TRAIN_AV": [1, 0, 1, 1],
    }
    data = ChoiceData.from_frame(table)
    assert data.items == ("CAR", "SM", "TRAIN")
    plain = {"pick": ["x", "y", "x"], "x": [1, 1, 1], "y": [1, 1, 0], "z": [1, 0, 1]}
    assert "never chosen: z" in ChoiceData.from_frame(plain, choice="pick").understood


def test_bit_masks(tmp_path):
    menus, picks = choices()
    rows = [(sum(1 << ITEMS.index(x) for x in m), p) for m, p in zip(menus, picks, strict=True)]
    path = write(tmp_path / "a.csv", ["menu_mask", "choice"], rows)
    same_counts(ChoiceData.from_csv(path, items=ITEMS), expected(menus, picks))
    numbered = [(mask, ITEMS.index(p)) for mask, p in rows]
    data = ChoiceData.from_csv(write(tmp_path / "b.csv", ["mask", "choice"], numbered))
    assert data.items == (0, 1, 2)
    np.testing.assert_array_equal(data.counts, expected(menus, picks).counts)


def test_winner_and_losers():
    menus, picks = choices()
    pairs = [(p, [x for x in m if x != p]) for m, p in zip(menus, picks, strict=True)]
    data = ChoiceData.from_pairs(pairs, items=ITEMS)
    same_counts(data, expected(menus, picks))
    same_counts(ChoiceData.from_pairs(data.to_pairs(), items=ITEMS), data)


def test_one_row_an_alternative():
    menus, picks = choices()
    table = {"id": [], "alt": [], "choice": []}
    for k, (menu, pick) in enumerate(zip(menus, picks, strict=True)):
        for item in menu:
            table["id"].append(k)
            table["alt"].append(item)
            table["choice"].append(int(item == pick))
    data = ChoiceData.from_frame(table, items=ITEMS)
    same_counts(data, expected(menus, picks))
    assert "one row an alternative" in data.understood


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
    data = ChoiceData.from_frame(frame, items=ITEMS)
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


def test_clean_merges_spellings():
    table = {"menu": ["Tea,milk", "tea,milk ", "TEA,Milk"], "choice": ["Tea", "milk", "TEA"]}
    data = ChoiceData.from_frame(table, clean=True)
    assert data.items == ("milk", "tea")
    with pytest.raises(rf.InputError, match=r"differ only by blanks or case.*clean=True"):
        ChoiceData.from_frame(table)


AMBIGUOUS = [
    ({"menu": ["a,b"], "menus": ["a,b"], "choice": ["a"]}, "could be column 'menu' or 'menus'; say which"),
    ({"menu": ["a,b"], "choice": ["a"], "count": [1], "weight": [1]}, "count='count' or weight='weight'"),
    ({"choice": [1, 1], "x": [1, 0], "y": [1, 1], "z": [1, 1]}, "no error"),
    ({"choice": [1, 1], "x": [1, 1], "y": [1, 1], "z": [1, 0]}, "base=0 or base=1"),
    ({"mask": [3, 7], "choice": [1, 1]}, "base=0 or base=1"),
    ({"mask": [3, 7], "choice": ["x", "y"]}, "pass items="),
    ({"p": ["a,b"], "q": ["a"], "r": ["b"]}, "'p' and 'q' or 'p' and 'r'; say which"),
]


@pytest.mark.parametrize(("table", "message"), AMBIGUOUS)
def test_ambiguity_shows_the_options(table, message):
    if message == "no error":
        assert ChoiceData.from_frame(table).items == ("x", "y", "z")
        return
    with pytest.raises(rf.InputError, match=message):
        ChoiceData.from_frame(table)


LABELS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8).filter(
        lambda s: s.strip() == s and s.lower() not in ("na", "nan")
    ),
    min_size=2,
    max_size=5,
    unique_by=lambda s: "".join(s.split()).casefold(),
)


@st.composite
def any_data(draw):
    items = tuple(draw(LABELS | st.just(list(range(4)))))
    n = len(items)
    masks = sorted(draw(st.sets(st.integers(1, 2**n - 1), min_size=1, max_size=6)))
    counts = np.full((len(masks), n), np.nan)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    whole = draw(st.booleans())
    for k, mask in enumerate(masks):
        inside = [x for x in range(n) if mask >> x & 1]
        counts[k, inside] = rng.integers(0, 50, len(inside)) if whole else rng.random(len(inside))
        counts[k, inside[0]] += 1
    return ChoiceData(items, ~np.isnan(counts), counts, np.nansum(counts, axis=1))


@given(any_data())
def test_round_trips_are_exact(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("trip")
    all_numbers = all(isinstance(x, str) and x.lstrip("-").isdigit() for x in data.items)
    options = {"items": data.items} if all_numbers else {}
    data.to_csv(folder / "a.csv")
    again = ChoiceData.from_csv(folder / "a.csv", **options)
    assert again.equals(data), again.understood
    assert ChoiceData.from_frame(data.to_frame(backend="dict")).equals(data)
    same_counts(ChoiceData.from_matrix(data.to_matrix(), data.items), data)


@given(any_data())
def test_round_trips_through_frames_are_exact(tmp_path_factory, data):
    pytest.importorskip("narwhals")
    for backend in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(backend)
        assert ChoiceData.from_frame(data.to_frame(backend=backend)).equals(data)
    path = tmp_path_factory.mktemp("trip") / "a.parquet"
    data.to_parquet(path)
    assert ChoiceData.from_parquet(path).equals(data)
    assert ChoiceData.from_csv(path).equals(data)


@pytest.mark.parametrize("kind", ["csv", "parquet", "dict"])
def test_rows_round_trip(tmp_path, kind):
    menus, picks = choices()
    table = {
        "menu": [",".join(m) for m in menus],
        "choice": picks,
        "weight": [1 + k % 2 / 2 for k in range(len(picks))],
        "subject": [f"s{k % 9}" for k in range(len(picks))],
        "domain": ["one" if k % 2 else "two" for k in range(len(picks))],
        "block": [f"b{k % 3}" for k in range(len(picks))],
    }
    data = ChoiceData.from_frame(table, items=ITEMS)
    assert len(data.split()) == 6
    assert len(data.split(("group", "subject"))) == 18
    if kind == "dict":
        again = ChoiceData.from_frame(data.to_frame("rows", "dict"))
    elif kind == "csv":
        data.to_csv(tmp_path / "a.csv", "rows")
        again = ChoiceData.from_csv(tmp_path / "a.csv")
    else:
        pytest.importorskip("pyarrow")
        data.to_parquet(tmp_path / "a.parquet", "rows")
        again = ChoiceData.from_parquet(tmp_path / "a.parquet")
    assert again.equals(data)


def test_partial_data_round_trip(tmp_path):
    matrix = np.full((8, 3), np.nan)
    matrix[3, :2], matrix[7, 0] = (0.25, 0.75), 0.5
    data = ChoiceData.from_matrix(matrix, ITEMS)
    data.to_csv(tmp_path / "a.csv")
    assert ChoiceData.from_csv(tmp_path / "a.csv").equals(data)


def test_streaming_keeps_memory_bounded(tmp_path):
    """A small version of the 50-million-row run: several batches, the same counts as all at once."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    menus, picks = choices(size=700_000)
    parquet.write_table(arrow.table({"menu": [",".join(m) for m in menus], "choice": picks}), tmp_path / "a.parquet")
    data = ChoiceData.from_parquet(tmp_path / "a.parquet", items=ITEMS, rows=False)
    assert data.rows is None
    same_counts(data, expected(menus, picks))


def test_real_files(data_folder):
    want = {}
    with open(data_folder / "l2_distances.csv") as file:
        want = {(row["dataset"], row["group"]): float(row["d2_simplex"]) for row in csv.DictReader(file)}
    found = {}
    for name in ("SFwork", "SFshop"):
        found["sfwork_sfshop", name] = ChoiceData.from_csv(data_folder / "sfwork_sfshop" / f"{name}.csv")
    for frame in ("high", "medium", "low"):
        found["abkk_lotteries", frame] = ChoiceData.from_csv(
            data_folder / "abkk_lotteries" / f"menu_choice_{frame}.csv",
            menu="x1", choice="x2", menus=all_subsets(range(1, 6)), outside_option=0,
        )  # fmt: skip
    for name in ("MG_2019_counts", "T_1972_counts", "T_1969_counts", "RDS_2011_counts"):
        data = ChoiceData.from_csv(data_folder / "ranch" / f"{name}.csv")
        by = [b for b in ("group", "subject") if getattr(data.rows, b) is not None]
        for key, part in data.split(by).items():
            parts = [
                p for k in (key if isinstance(key, tuple) else (key,)) for p in (k if isinstance(k, tuple) else (k,))
            ]
            found[name, "|".join(map(str, parts))] = part
    assert set(want) <= set(found)
    for key, value in want.items():
        assert rf.project(found[key]).distance ** 2 == pytest.approx(value, rel=1e-6, abs=1e-9), key


def test_menus_in_any_order_are_the_same_data():
    counts = {("a", "b"): {"a": 5, "b": 7}, ("b", "c"): {"b": 2, "c": 9}, ("a", "c"): {"a": 4, "c": 4}}
    data = rf.ChoiceData.from_counts(counts)
    order = np.array([2, 0, 1])
    rows = rf.ChoiceData.from_frame({"menu": ["b,c", "a,b", "a,c", "a,b"], "choice": ["c", "a", "a", "b"]}).rows
    mixed = ChoiceData(data.items, data.membership[order], data.counts[order], data.totals[order])
    assert mixed.menus == data.menus
    assert np.array_equal(mixed.counts, data.counts, equal_nan=True)
    assert np.array_equal(mixed.totals, data.totals)
    one = ChoiceData(data.items, data.membership, data.counts, data.totals, rows)
    place = np.argsort(order)
    other = ChoiceData(
        *(x[order] if i else x for i, x in enumerate((data.items, data.membership, data.counts, data.totals))),
        rows._replace(menu=place[rows.menu].astype(np.int32)),
    )
    assert np.array_equal(one.rows.menu, other.rows.menu)


def test_without_items():
    counts = {
        ("a", "b", "none"): {"a": 3, "b": 1, "none": 6},
        ("a", "b"): {"a": 2, "b": 2},
        ("b", "none"): {"b": 0, "none": 4},
        ("a", "c", "none"): {"a": 5, "c": 1, "none": 0},
    }
    data = rf.ChoiceData.from_counts(counts, items=["a", "none", "b", "c"])
    left = data.without(["none"])
    assert left.equals(rf.ChoiceData.from_counts({("a", "b"): {"a": 5, "b": 3}, ("a", "c"): {"a": 5, "c": 1}}))
    assert data.without("none").equals(left)
    with pytest.raises(InputError, match="item 'nil' is unknown"):
        data.without(["nil"])
    with pytest.raises(InputError, match="no choice left"):
        data.without(["a", "b", "c", "none"])
    partial = rf.ChoiceData.from_matrix([*[[np.nan] * 3] * 6, [0.5, np.nan, 0.25]])
    assert partial.without([2]).totals.tolist() == [0.75]  # what was not recorded stays so
    with pytest.raises(InputError, match="does not say how often"):
        partial.without([1])


def test_without_items_keeps_single_choices():
    frame = {
        "menu": ["a,b,c", "a,b,c", "b,c", "a,c"],
        "choice": ["c", "a", "b", "c"],
        "subject": [1, 2, 2, 3],
        "weight": [1, 2, 3, 4],
    }
    data = rf.ChoiceData.from_frame(frame).without(["c"])
    kept = {"menu": ["a,b", "b"], "choice": ["a", "b"], "subject": [2, 2], "weight": [2, 3]}
    other = rf.ChoiceData.from_frame(kept)
    assert data.menus == other.menus == [("b",), ("a", "b")]
    assert np.array_equal(data.counts, other.counts, equal_nan=True)
    assert [data.rows.subjects[s] for s in data.rows.subject] == [2, 2]
    assert data.rows.weight.tolist() == [2, 3]


def test_columns_without_a_use_are_named(tmp_path):
    rows = [("a|b", "a", "monday", 3), ("a|b", "b", "sunday", 5)]
    more = ChoiceData.from_csv(write(tmp_path / "more.csv", ["menu", "choice", "date", "revenue"], rows))
    assert more.understood.splitlines()[-1] == "not used: date, revenue"
    assert "2 items {a, b}, 1 menu, 2 choices" in more.understood
    assert "not used" not in ChoiceData.from_frame({"menu": ["a|b"], "choice": ["a"]}).understood
    wide = {"menu": ["a|b"], "choice": ["a"]} | {f"x{k}": ["?"] for k in range(14)}
    names = ", ".join(f"x{k}" for k in range(12))
    assert ChoiceData.from_frame(wide).understood.splitlines()[-1] == f"not used: {names}, ... 2 more"
    long = {"trip": [1, 1, 2, 2], "alternative": list("abab"), "chosen": [1, 0, 0, 1], "note": list("wxyz")}
    found = ChoiceData.from_frame(long, observation="trip", item="alternative", choice="chosen")
    assert found.understood.splitlines()[-1] == "not used: note"
