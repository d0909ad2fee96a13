"""Layouts met in published files: each is read in one call, or the error names the argument that decides."""

import csv
import warnings

import numpy as np
import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.data.choices import ChoiceData

ITEMS = ("tea", "milk", "juice")
MENUS = [("tea", "milk"), ("tea", "juice"), ("milk", "juice"), ("tea", "milk", "juice")]


def choices(size=60, seed=0):
    rng = np.random.default_rng(seed)
    menus = [MENUS[k] for k in rng.integers(0, 4, size)]
    return menus, [menu[rng.integers(len(menu))] for menu in menus]


MENUS_SEEN, PICKS = choices()


def expected(menus=MENUS_SEEN, picks=PICKS, items=ITEMS):
    counts = {}
    for menu, pick in zip(menus, picks, strict=True):
        counts.setdefault(menu, dict.fromkeys(menu, 0))[pick] += 1
    return ChoiceData.from_counts(counts, items=items)


def same(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.membership, b.membership)
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.totals, b.totals)


def read(table, tmp_path, kind, **options):
    """The table as a CSV file or as a frame."""
    if kind == "frame":
        return ChoiceData.from_frame(table, **options)
    with open(tmp_path / "a.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows([["" if v is None else v for v in row] for row in zip(*table.values(), strict=True)])
    return ChoiceData.from_csv(tmp_path / "a.csv", **options)


both = pytest.mark.parametrize("kind", ["csv", "frame"])


def columns(menus=MENUS_SEEN, width=3):
    """a1, a2, a3: one column per offered item, None where a menu is shorter."""
    return {f"a{k + 1}": [m[k] if k < len(m) else None for m in menus] for k in range(width)}


@both
def test_one_column_per_offered_item(tmp_path, kind):
    table = {**columns(), "choice": PICKS, "age": [30] * len(PICKS)}
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], items=ITEMS)
    same(data, expected())
    assert "menu = 'a1, a2, a3'" in data.understood
    with pytest.raises(rf.InputError, match=r"no column 'a9' \(given as menu\)"):
        read(table, tmp_path, kind, menu=["a1", "a9"])


@both
@pytest.mark.parametrize("base", [0, 1])
def test_the_choice_as_a_position_among_the_columns(tmp_path, kind, base):
    """A gap in the columns counts as a place."""
    menus, picks = [*MENUS_SEEN, ("tea", "juice")], [*PICKS, "juice"]
    table = columns(menus)
    table["a2"][-1], table["a3"][-1] = None, "juice"
    place = [menu.index(pick) + base for menu, pick in zip(MENUS_SEEN, PICKS, strict=True)]
    table["choice"] = [*place, 2 + base]
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], items=ITEMS)
    same(data, expected(menus, picks))
    assert f"positions in the menu, counted from {base}" in data.understood


@both
def test_positions_that_fit_both_ways_are_asked_about(tmp_path, kind):
    table = {**columns(width=3), "choice": [1] * len(PICKS)}
    with pytest.raises(rf.InputError, match="base=0 or base=1"):
        read(table, tmp_path, kind, menu=["a1", "a2", "a3"])
    data = read(table, tmp_path, kind, menu=["a1", "a2", "a3"], base=1, items=ITEMS)
    same(data, expected(picks=[menu[0] for menu in MENUS_SEEN]))


@both
def test_numbers_that_may_be_labels_or_positions_are_asked_about(tmp_path, kind):
    table = {"a1": [2, 1, 3], "a2": [1, 2, 1], "choice": [2, 1, 1]}
    with pytest.raises(rf.InputError, match=r"labels or positions .* say base='label' or base=1"):
        read(table, tmp_path, kind, menu=["a1", "a2"])
    by_label = read(table, tmp_path, kind, menu=["a1", "a2"], base="label")
    assert by_label.counts.tolist()[0] == [1, 1, pytest.approx(np.nan, nan_ok=True)]
    by_place = read(table, tmp_path, kind, menu=["a1", "a2"], base=1)
    assert by_place.items == (1, 2, 3)
    assert by_place.counts[0, :2].tolist() == [2, 0]
    plain = {"a1": [2, 1, 3], "a2": [1, 4, 1], "choice": [2, 4, 3]}  # 4 is no position
    assert read(plain, tmp_path, kind, menu=["a1", "a2"]).items == (1, 2, 3, 4)


@both
def test_0_1_choice_columns(tmp_path, kind):
    flags = {f"choice_{x}": [int(p == x) for p in PICKS] for x in ITEMS}
    offered = {f"av_{x}": [int(x in m) for m in MENUS_SEEN] for x in ITEMS}
    same(read({**offered, **flags}, tmp_path, kind), expected())
    texts = {"menu": ["|".join(m) for m in MENUS_SEEN], **flags}
    same(read(texts, tmp_path, kind, choice=list(flags), items=ITEMS), expected())
    renamed = {"menu": texts["menu"], **{f"c{k}": flags[f"choice_{x}"] for k, x in enumerate(ITEMS)}}
    mapping = {f"c{k}": x for k, x in enumerate(ITEMS)}
    same(read(renamed, tmp_path, kind, choice=mapping, items=ITEMS), expected())
    flags["choice_tea"][5] = flags["choice_milk"][5] = 1
    with pytest.raises(rf.InputError, match=r"(line 7|row 5): 2 choice columns are 1"):
        read({**offered, **flags}, tmp_path, kind)
    flags = {name: [0, *column[1:]] for name, column in flags.items()}
    flags["choice_tea"][5], flags["choice_milk"][5], flags["choice_juice"][5] = 0, 0, 0
    with pytest.raises(rf.InputError, match="no choice is given"):
        read({**offered, **flags}, tmp_path, kind)


@both
def test_a_row_per_alternative_beside_its_menu(tmp_path, kind):
    table = {"menu": [], "item": [], "chosen": []}
    for menu, pick in zip(MENUS_SEEN, PICKS, strict=True):
        for item in menu:
            table["menu"].append("|".join(menu))
            table["item"].append(item)
            table["chosen"].append(int(item == pick))
    same(read(table, tmp_path, kind, items=ITEMS), expected())


@both
def test_status_quo_column(tmp_path, kind):
    """The status quo belongs to the menu of its row, listed or not; a missing choice keeps it."""
    table = {
        "menu": ["milk|juice", "milk", "tea|milk", "juice"],
        "status_quo": ["tea", "tea", "tea", "milk"],
        "choice": ["tea", None, "milk", "status quo"],
    }
    data = read(table, tmp_path, kind, items=ITEMS)
    assert data.menus == [("tea", "milk"), ("milk", "juice"), ("tea", "milk", "juice")]
    assert np.nansum(data.counts, axis=0).tolist() == [2, 2, 0]
    renamed = {"menu": table["menu"], "kept": table["status_quo"], "choice": table["choice"]}
    renamed["choice"] = [*renamed["choice"][:3], "kept"]
    same(read(renamed, tmp_path, kind, status_quo="kept", items=ITEMS), data)
    flags = {"menu": table["menu"], "sq": [0, 1, 0, 1], "choice": ["milk", "milk", "tea", "juice"]}
    with pytest.raises(rf.InputError, match="holds 0 and 1"):
        read(flags, tmp_path, kind, status_quo="sq")


@both
def test_codes_for_missing_choices(tmp_path, kind):
    """Swissmetro: 0 unknown, then the numbers of the modes."""
    table = {
        "TRAIN_AV": [1, 1, 1, 1, 0],
        "SM_AV": [1, 1, 1, 1, 1],
        "CAR_AV": [1, 0, 1, 1, 1],
        "CHOICE": [0, 1, 2, 3, 0],
        "AGE": [3, 2, 5, 4, 1],
    }
    data = read(table, tmp_path, kind, missing=0)
    assert data.items == ("TRAIN", "SM", "CAR")
    assert data.n_observations == 3
    assert "2 rows without a recorded choice are left out" in data.understood
    with pytest.raises(rf.InputError, match="missing=0"):
        read(table, tmp_path, kind, base=1)
    texts = {"menu": ["a,b", "a,b", "a,b"], "choice": ["a", "?", "refused"]}
    assert read(texts, tmp_path, kind, missing=["?", "refused"]).n_observations == 1
    with pytest.raises(rf.InputError, match="no recorded choice"):
        read(texts, tmp_path, kind, missing=["?", "refused", "a"])


@both
@pytest.mark.parametrize("style", ["[{}]", "({})", "{{{}}}", "{}"])
def test_menus_such_as_0_1_2(tmp_path, kind, style):
    menus = [tuple(ITEMS.index(x) for x in menu) for menu in MENUS_SEEN]
    picks = [ITEMS.index(p) for p in PICKS]
    for separator in (",", ", "):
        table = {"menu": [style.format(separator.join(map(str, m))) for m in menus], "choice": picks}
        same(read(table, tmp_path, kind), expected(menus, picks, (0, 1, 2)))


def test_text_menus_with_whole_choices():
    """Texts hold no types: '5' of a text menu is the choice 5."""
    data = ChoiceData.from_frame({"menu": ["5,7", "5,9", "7,9"], "choice": [5, 9, 7]})
    assert data.items == (5, 7, 9)
    named = ChoiceData.from_frame({"menu": ["5,x", "5,9", "x,9"], "choice": [5, 9, "x"]})
    assert named.items == ("5", "9", "x")
    lists = ChoiceData.from_frame({"menu": ["[5, 7]", "[5, 9]"], "choice": ["5", "9"]})
    assert lists.items == (5, 7, 9)
    position = ChoiceData.from_frame({"menu": ["tea,milk", "milk,juice", "tea,juice"], "choice": [1, 2, 2]})
    assert np.nansum(position.counts) == 3
    assert "counted from 1" in position.understood
    assert dict(zip(position.items, np.nansum(position.counts, axis=0), strict=True)) == {
        "tea": 1,
        "juice": 2,
        "milk": 0,
    }


@both
def test_menus_by_id_are_the_items_in_their_rows(tmp_path, kind):
    table = {"menu_id": [], "item": [], "count": []}
    whole = expected()
    for k, (menu, counts) in enumerate(zip(whole.menus, whole.counts, strict=True)):
        for item in menu:
            table["menu_id"].append(f"shop {k}")
            table["item"].append(item)
            table["count"].append(counts[ITEMS.index(item)])
    data = read(table, tmp_path, kind, items=ITEMS)
    same(data, whole)
    assert "the items in the rows of its 'menu_id'" in data.understood


@both
def test_groups_nearly_as_many_as_rows(tmp_path, kind):
    table = {
        "menu": ["|".join(m) for m in MENUS_SEEN],
        "choice": PICKS,
        "experiment": [f"e{k}" for k in range(len(PICKS))],
    }
    with pytest.warns(UserWarning, match=r"'?experiment'? has 60 different values in 60 rows"):
        data = read(table, tmp_path, kind)
    assert "is it a group?" in data.understood
    table["experiment"] = [f"e{k % 3}" for k in range(len(PICKS))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(table, tmp_path, kind)


LOOK_ALIKE = [
    ("caf\u00e9", "cafe\u0301", "how accents are written"),
    ("tea", "te\u200ba", "cannot be seen"),
    ("tea", "\ufefftea", "cannot be seen"),
    ("tea", "te\u00ada", "cannot be seen"),
    ("\u00e9", "e\u0301", "how accents are written"),
]


@pytest.mark.parametrize(("one", "other", "words"), LOOK_ALIKE)
def test_labels_that_look_alike_are_pointed_out(one, other, words):
    table = {"menu": [[one, "milk"], [other, "milk"]], "choice": [one, other]}
    with pytest.raises(rf.InputError, match=words) as caught:
        ChoiceData.from_frame(table)
    assert "\\" in str(caught.value)  # the mark is shown by its number
    assert "clean=True" in str(caught.value)
    assert ChoiceData.from_frame(table, clean=True).n == 2


def test_a_mark_that_cannot_be_seen_is_pointed_out():
    data = ChoiceData.from_frame({"menu": [["te\u200ba", "milk"]], "choice": ["milk"]})
    assert r"'te\u200ba' holds a character that cannot be seen" in data.understood
    family = "\U0001f468\u200d\U0001f469"  # a joiner belongs to the picture
    assert "seen" not in ChoiceData.from_frame({"menu": [[family, "milk"]], "choice": ["milk"]}).understood


def test_masked_arrays_are_not_observed():
    full = expected().to_matrix()
    mask = np.zeros(full.shape, bool)
    mask[2] = True  # the menu {tea, milk}
    hidden = np.where(mask, np.nan, full)
    same(ChoiceData.from_matrix(np.ma.array(np.nan_to_num(full), mask=mask | np.isnan(full)), ITEMS),
         ChoiceData.from_matrix(hidden, ITEMS))  # fmt: skip
    rows = [np.ma.array(row, mask=m) for row, m in zip(np.nan_to_num(full), mask | np.isnan(full), strict=True)]
    same(ChoiceData.from_matrix(rows, ITEMS), ChoiceData.from_matrix(hidden, ITEMS))
    shares = np.ma.array([[1, 0], [0, 1], [0.5, 0.3]], mask=[[0, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(ChoiceData.from_matrix(shares).counts[2], [0.5, np.nan])
    table = {
        "menu": ["a,b", "a,b", "a,b,c", "a,b,c", "a,b,c"],
        "item": list("ababc"),
        "count": np.ma.array([0.25, 0.75, 0.5, 9, 9], mask=[0, 0, 0, 1, 1]),
    }
    np.testing.assert_array_equal(ChoiceData.from_frame(table).counts[1], [0.5, np.nan, np.nan])
    picks = {"menu": ["a,b", "a,b"], "choice": np.ma.array(["a", "b"], mask=[0, 1])}
    with pytest.raises(rf.InputError, match="row 1: no choice is given"):
        ChoiceData.from_frame(picks)


@pytest.mark.parametrize(
    "value", [1e308, 2.0**63, float("inf"), 2.0**53 + 2, 10**400], ids=lambda v: f"{len(str(v))} digits"
)
def test_counts_beyond_double_precision(value):
    for make in (
        lambda: ChoiceData.from_counts({("a", "b"): {"a": value, "b": 1}}),
        lambda: ChoiceData.from_matrix([[1, 0], [0, 1], [value, 2]]),
        lambda: ChoiceData.from_frame({"menu": ["a,b", "a,b"], "item": ["a", "b"], "count": [value, 1]}),
        lambda: ChoiceData.from_frame({"menu": ["a,b", "a,b"], "choice": ["a", "b"], "weight": [value, 1]}),
    ):
        with pytest.raises(rf.InputError, match=r"2\^53 = 9007199254740992|not a number|is needed"):
            make()
    half = {("a", "b"): {"a": 2.0**52, "b": 2.0**52}}
    assert ChoiceData.from_counts(half).n_observations == 2.0**53
    with pytest.raises(rf.InputError, match=r"menu \{a, b\}: its total is .* 2\^53 = 9007199254740992"):
        ChoiceData.from_counts({("a", "b"): {"a": 2.0**53, "b": 2.0**53}})


def test_numbers_of_thousands_of_digits():
    long = 7 * 10**6000
    with pytest.raises(rf.InputError, match="bits cannot be a label"):
        ChoiceData.from_frame({"menu": [[1, long], [1, long]], "choice": [1, 1]})
    digits = "7" * 6000
    data = ChoiceData.from_frame({"menu": [f"1,{digits}", f"1,{digits}9"], "choice": ["1", f"{digits}9"]})
    assert data.items == ("1", digits, digits + "9")


def test_parquet_with_records(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    records = [{"x": 1, "y": [2]}, {"x": 2, "y": [3]}]
    table = {"menu": ["a,b", "a,b"], "choice": ["a", "b"], "who": records}
    parquet.write_table(arrow.table(table), tmp_path / "a.parquet")
    assert ChoiceData.from_csv(tmp_path / "a.parquet").n_observations == 2
    for role in ("menu", "choice", "subject", "group", "weight"):
        with pytest.raises(rf.InputError, match=r"neither a label nor a menu|not a number"):
            ChoiceData.from_csv(tmp_path / "a.parquet", **{role: "who"})


def test_options_that_are_no_labels():
    table = {"menu": ["a,b"], "choice": ["a"]}
    for options in ({"items": ["a", ["b"]]}, {"items": ["a", "a", "b"]}, {"outside_option": {"a"}}):
        with pytest.raises(rf.InputError, match=r"a label is text or a number|appears twice"):
            ChoiceData.from_frame(table, **options)
    with pytest.raises(rf.InputError, match="base='x'"):
        ChoiceData.from_frame(table, base="x")


def test_layouts_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("first,second,answer\ntea,milk,1\nmilk,juice,2\ntea,juice,9\ntea,milk,2\n")
    options = ["--menu", "first,second", "--choice", "answer", "--missing", "9", "--base", "1"]
    assert main(["project", str(path), *options]) == 0
    printed = capsys.readouterr()
    assert "1 row without a recorded choice is left out" in printed.err
    assert "Traceback" not in printed.err
