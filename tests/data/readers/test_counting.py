"""Counts, weights, totals and groups are used where they are named, or where the table can mean nothing else."""

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData

LONG = {"id": [1, 1, 2, 2], "alt": ["a", "b", "a", "b"], "choice": [1, 0, 0, 1]}
ROWS = {"menu": ["a|b", "a|b", "a|b", "b|c"], "choice": ["a", "b", "b", "c"]}


@pytest.mark.parametrize("name", ["n", "freq", "count", "times", "share"])
def test_an_attribute_of_alternatives_is_no_count(name):
    data = ChoiceData.from_frame(LONG | {name: [5, 7, 3, 2]})
    assert data.n_observations == 2
    assert data.understood.unused == (name,)
    assert data.understood.warnings == ()  # it differs within a choice: no count
    told = ChoiceData.from_frame(LONG | {name: [5, 5, 3, 3]}).understood.warnings
    assert f"column {name!r} is not used as a count; count={name!r} (--count {name}) would" in told
    with pytest.raises(rf.InputError, match=rf"row 1: column '{name}' is 7, but 5 in another row of observation 1"):
        ChoiceData.from_frame(LONG | {name: [5, 7, 3, 2]}, count=name)
    assert ChoiceData.from_frame(LONG | {name: [5, 5, 3, 3]}, count=name).n_observations == 8


@pytest.mark.parametrize("role", ["weight", "subject", "group"])
def test_what_differs_within_an_observation_is_an_error(role):
    with pytest.raises(rf.InputError, match="row 3: column 'x' is 2, but 3 in another row of observation 2"):
        ChoiceData.from_frame(LONG | {"x": [5, 5, 3, 2]}, **{role: "x"})
    data = ChoiceData.from_frame(LONG | {"x": [5, 5, 3, 3]}, **{role: "x"})
    assert data.understood.roles[role] == "x"
    assert data.n_observations == (8 if role == "weight" else 2)
    if role != "weight":
        assert getattr(data.rows, role + "s") == (5, 3)
        assert len(data.split(role)) == 2


def test_weights_only_where_they_are_named():
    table = ROWS | {"weight": [2, 3, 4, 5]}
    data = ChoiceData.from_frame(table)
    assert data.n_observations == 4
    assert (
        "column 'weight' is not used; weight='weight' (--weight weight) counts each choice so often"
        in data.understood.warnings
    )
    assert ChoiceData.from_frame(table, weight="weight").n_observations == 14
    assert ChoiceData.from_frame(table, weight=False).understood.warnings == ()
    with pytest.raises(rf.InputError, match=r"count='n' and weight='weight' are both given"):
        ChoiceData.from_frame(table | {"n": [1] * 4}, count="n", weight="weight")


@pytest.mark.parametrize("values", [["heavy", 1], [-2, 1], [None, 1]])
def test_bad_weights_name_the_row(tmp_path, values):
    table = {"menu": ["a|b", "a|b"], "choice": ["a", "b"], "weight": values[::-1]}
    with pytest.raises(rf.InputError, match="row 1"):
        ChoiceData.from_frame(table, weight="weight")
    long = LONG | {"weight": [1, 1, values[0], values[0]]}
    with pytest.raises(rf.InputError, match="row 2"):
        ChoiceData.from_frame(long, weight="weight")


def test_counts_that_can_be_nothing_else():
    items = {"menu": ["a|b", "a|b", "b|c"], "item": ["a", "b", "c"], "n": [5, 7, 3]}
    assert ChoiceData.from_frame(items).n_observations == 15
    different = {"menu": ["a|b", "a|b", "b|c"], "choice": ["a", "b", "c"], "n": [5, 7, 3]}
    assert ChoiceData.from_frame(different).understood.roles["count"] == "n"
    with pytest.raises(
        rf.InputError, match=r"'n' may hold how often something was chosen; say count='n' .* count=False"
    ):
        ChoiceData.from_frame(ROWS | {"n": [5, 7, 3, 1]})
    assert ChoiceData.from_frame(ROWS | {"n": [5, 7, 3, 1]}, count=False).n_observations == 4
    # The layout is named: nothing is guessed, but a table that would be counts is asked about.
    assert ChoiceData.from_frame(ROWS | {"n": [5, 7, 3, 1]}, menu="menu", choice="choice").n_observations == 4
    with pytest.raises(rf.InputError, match="'n' may hold"):
        ChoiceData.from_frame(different, menu="menu", choice="choice")
    both = items | {"choice": [0, 1, 1]}
    with pytest.raises(rf.InputError, match="'n' may hold"):
        ChoiceData.from_frame(both)
    ids = {"menu_id": [1, 1, 2, 2], "item": list("abbc"), "choice": [1, 0, 0, 1], "n": [5, 7, 3, 1]}
    with pytest.raises(rf.InputError, match="'n' may hold"):
        ChoiceData.from_frame(ids)


UNKNOWN = ["buyers", "sold", "sales", "quantity", "votes", "wins", "y", "k", "0"]
CELLS = {"menu": ["a|b", "a|b", "b|c", "b|c"], "item": list("abbc")}
ASKED = r"is '{0}' how often '{1}' was chosen\? Then say count='{0}' \(--count {0}\); .*count=False \(--count no\)"


@pytest.mark.parametrize("name", UNKNOWN)
def test_counts_under_an_unknown_name(tmp_path, name):
    table = CELLS | {name: [5, 7, 3, 0]}
    data = ChoiceData.from_frame(table)
    assert data.understood.roles == {"menu": "menu", "choice": "item", "count": name}
    assert data.n_observations == 15
    (tmp_path / "a.csv").write_text(
        "\n".join(",".join(map(str, row)) for row in [table, *zip(*table.values(), strict=True)]), encoding="utf-8"
    )
    assert ChoiceData.from_csv(tmp_path / "a.csv").equals(data)
    chosen = {"menu": CELLS["menu"], "choice": CELLS["item"], name: [5, 7, 3, 1]}
    with pytest.raises(rf.InputError, match=ASKED.format(name, "choice")):
        ChoiceData.from_frame(chosen)
    assert ChoiceData.from_frame(chosen, count=name).n_observations == 16
    assert ChoiceData.from_frame(chosen, count=False).n_observations == 4
    with pytest.raises(rf.InputError, match=ASKED.format(name, "item")):
        ChoiceData.from_frame({c: v[:3] for c, v in table.items()})  # an item has no row
    ids = {"menu_id": [1, 1, 2, 2], "item": CELLS["item"], name: [5, 7, 3, 0]}
    assert ChoiceData.from_frame(ids).n_observations == 15


@pytest.mark.parametrize(
    "more",
    [
        {"buyers": [5, 7, 3, 0], "stock": [9, 8, 9, 8]},
        {"buyers": [5, 7, 3, 0], "store": list("xyxy")},
        {"buyers": [1, 0, 0, 1]},
        {"price": [5, 7, 3, 2]},
        {"buyers": [0.4, 0.6, 1.0, 0.0]},
    ],
)
def test_what_may_be_counts_beside_items_is_asked_about(more):
    with pytest.raises(rf.InputError, match=ASKED[:4]):
        ChoiceData.from_frame(CELLS | more)


def test_a_known_and_a_likely_name_are_asked_about():
    with pytest.raises(rf.InputError, match="'n' and 'sold' may hold how often"):
        ChoiceData.from_frame(CELLS | {"n": [5, 7, 3, 2], "sold": [1, 2, 3, 5]})
    assert ChoiceData.from_frame(CELLS | {"n": [5, 7, 3, 2], "stock": [1, 2, 3, 5]}).n_observations == 17


def test_counts_of_several_stores_are_asked_about():
    table = {"menu": ["a|b"] * 4, "product": list("abab"), "sold": [5, 7, 3, 2], "store": list("xxyy")}
    with pytest.raises(rf.InputError, match=ASKED.format("sold", "product")):
        ChoiceData.from_frame(table)
    assert ChoiceData.from_frame(table, count="sold", group="store").counts.tolist() == [[8, 9]]


def test_an_item_that_is_named_is_not_the_one_chosen():
    rows = {"menu": ROWS["menu"], "item": ROWS["choice"]}
    with pytest.raises(
        rf.InputError, match=r"alternative='item' .* is the item of a row, .* choice='item' \(--choice item\)"
    ):
        ChoiceData.from_frame(rows, alternative="item", menu="menu")
    with pytest.raises(rf.InputError, match=ASKED.format("sold", "item")):
        ChoiceData.from_frame(rows | {"sold": [3, 4, 5, 6]}, alternative="item", menu="menu")
    assert ChoiceData.from_frame(rows, choice="item", menu="menu").n_observations == 4


def test_row_numbers_are_no_counts():
    rows = {"menu": ["a|b", "a|b", "a|b", "b|c"], "choice": ["a", "b", "b", "c"]}
    data = ChoiceData.from_frame(rows | {"n": [1, 2, 3, 4]})
    assert data.understood.warnings == ("column 'n' numbers the rows and is not used",)
    assert data.n_observations == 4
    different = {"menu": ["a|b", "a|b", "b|c"], "choice": ["a", "b", "c"], "line": [1, 2, 3]}
    assert ChoiceData.from_frame(different).n_observations == 3


def test_counts_and_weights_have_a_clause_each():
    with pytest.raises(rf.InputError) as caught:
        ChoiceData.from_frame(ROWS | {"n": [5, 7, 3, 1], "weight": [2, 3, 4, 5]})
    first, second = str(caught.value).split(". ")
    assert "'n'" in first
    assert "weight" not in first
    assert (
        second == "'weight' may hold how much each choice counts; say weight='weight' (--weight weight) where it does"
    )


def test_groups_only_where_they_are_named_or_needed():
    data = ChoiceData.from_frame(ROWS | {"period": [1, 1, 2, 2]})
    assert data.rows.group is None
    assert (
        "column 'period' is not used; group='period' (--group period) keeps the groups apart"
        in data.understood.warnings
    )
    with pytest.raises(rf.InputError, match="name its column with group="):
        data.split()
    assert len(ChoiceData.from_frame(ROWS | {"period": [1, 1, 2, 2]}, group="period").split()) == 2
    assert len(ChoiceData.from_frame(ROWS | {"period": [1, 1, 2, 2]}, group=True).split()) == 2
    table = {"period": [1, 1, 2, 2], "menu": ["a|b"] * 4, "item": list("abab"), "count": [1, 2, 3, 4]}
    data = ChoiceData.from_frame(table)
    assert data.understood.roles["group"] == "period"
    assert data.counts.tolist() == [[4, 6]]
    assert (
        ChoiceData.from_frame(table | {"menu": ["a|b"] * 2 + ["a|b|c"] * 2}).rows is None
    )  # the menus tell the rows apart
    with pytest.raises(rf.InputError, match="appears twice"):
        ChoiceData.from_frame(table, group=False)


def test_totals_go_with_counts():
    table = {"menu": ["a|b|c"] * 2, "item": ["a", "b"], "count": [3, 4], "total": [10, 10]}
    assert ChoiceData.from_frame(table).totals.tolist() == [10]
    assert ChoiceData.from_frame(table, total=False).totals.tolist() == [7]
    with pytest.raises(rf.InputError, match=r"total='total' .* goes with counts by menu and item"):
        ChoiceData.from_frame(ROWS | {"total": [1] * 4}, total="total")


def test_files_that_rumflow_wrote_come_back(tmp_path):
    table = ROWS | {"w": [2, 3, 4, 5], "who": [1, 1, 2, 2], "when": [1, 2, 1, 2]}
    data = ChoiceData.from_frame(table, weight="w", subject="who", group="when")
    data.to_csv(tmp_path / "a.csv", "rows")
    again = ChoiceData.from_csv(tmp_path / "a.csv")
    assert again.equals(data)
    assert again.understood.roles["weight"] == "weight"


def test_columns_that_end_in_group_are_pointed_out_and_not_used():
    table = {"menu": ["a;b", "a;b;c"] * 4, "choice": ["a", "b"] * 4, "Age group": ["18-34", "35+"] * 4}
    data = rf.ChoiceData.from_frame(table)
    assert data.understood.warnings == (
        "column 'Age group' is not used; group='Age group' (--group 'Age group') keeps the groups apart",
    )
    assert data.rows.groups == ()
    assert "Age group" in data.understood.unused
    counts = {"menu": ["ab", "ab"] * 2, "item": ["a", "b"] * 2, "count": [3, 4, 5, 6], "age_group": [1, 1, 2, 2]}
    with pytest.raises(rf.InputError, match="appears twice"):  # not guessed
        rf.ChoiceData.from_frame(counts)
