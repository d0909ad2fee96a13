import pytest

import rumflow as rf

WEEKS = """week,tea,milk,juice,visitors,region
1,30,20,10,100,n
2,,40,22,120,n
3,33,19,,90,s
4,28,22,9,95,s
"""
COLUMNS = ["tea", "milk", "juice"]


def read(tmp_path, text=WEEKS, **options):
    path = tmp_path / "weeks.csv"
    path.write_text(text, encoding="utf-8")
    return rf.ChoiceData.from_csv(path, count=COLUMNS, **options)


def shares(data):
    """By menu the counts of its items."""
    rows = zip(data.menus, data.counts, strict=True)
    return {menu: {item: row[data.items.index(item)] for item in menu} for menu, row in rows}


def test_an_empty_field_was_not_on_offer(tmp_path):
    data = read(tmp_path)
    assert shares(data) == {
        ("juice", "milk"): {"juice": 22, "milk": 40},
        ("milk", "tea"): {"milk": 19, "tea": 33},
        ("juice", "milk", "tea"): {"juice": 19, "milk": 42, "tea": 58},
    }
    assert data.understood.roles == {"count": tuple(COLUMNS)}
    assert data.understood.unused == ("week", "visitors", "region")
    assert data.understood.warnings == ()


def test_what_is_left_of_the_total_is_the_outside_option(tmp_path):
    data = read(tmp_path, total="visitors", outside_option="nothing", group="region")
    assert [counts["nothing"] for counts in shares(data).values()] == [120 - 62, 90 - 52, 195 - 119]
    assert data.totals.tolist() == [120, 90, 195]
    assert {name: part.n_observations for name, part in data.split("group").items()} == {"n": 220, "s": 185}
    with pytest.raises(rf.InputError, match="name it with outside_option="):
        read(tmp_path, total="visitors")
    with pytest.raises(rf.InputError, match="line 4: the counts add up to 152, more than the 90"):
        read(tmp_path, WEEKS.replace("33", "133"), total="visitors", outside_option="nothing")


def test_zeros_that_mean_not_on_offer(tmp_path):
    text = WEEKS.replace(",,", ",0,")
    full = read(tmp_path, text)
    assert len(full.menus) == 1
    assert "missing='0'" in full.understood.warnings[0]
    assert shares(read(tmp_path, text, missing="0")) == shares(read(tmp_path))


def test_what_is_refused(tmp_path):
    with pytest.raises(rf.InputError, match="no column 'beer'"):
        rf.ChoiceData.from_frame({"tea": [1], "milk": [2]}, count=["tea", "beer"])
    with pytest.raises(rf.InputError, match="menu= does not go with"):
        read(tmp_path, menu="week")
    with pytest.raises(rf.InputError, match="'n' in column 'region' is not a number"):
        rf.ChoiceData.from_csv(tmp_path / "weeks.csv", count=["tea", "region"])
    with pytest.raises(rf.InputError, match="hold no counts"):
        rf.ChoiceData.from_frame({"tea": [None], "milk": [None]}, count=["tea", "milk"])
    with pytest.raises(rf.InputError, match="name these columns with count="):
        rf.ChoiceData.from_csv(tmp_path / "weeks.csv")
