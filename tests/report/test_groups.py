import pytest

import rumflow as rf
from rumflow.report.groups import MOST_GROUPS, MOST_ROWS, differences_table, group_differences, largest_difference


def data_of(tea, cola=5):
    return rf.ChoiceData.from_counts(
        {
            ("tea", "milk"): {"tea": tea, "milk": 10 - tea},
            ("tea", "milk", "cola"): {"tea": 5, "milk": 10 - cola, "cola": cola},
        }
    )


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_the_largest_difference_is_first():
    groups = {"young": data_of(9), "old": data_of(2, 8)}
    found = group_differences(groups)
    assert [one.item for one in found] == ["tea", "milk", "cola", "tea"]
    assert [one.size for one in found] == pytest.approx([0.7, 0.2, 0.2, 0])
    (table,) = differences_table(found)
    assert table.columns == ["menu", "item", "old", "young"]
    assert texts(table)[0] == ["tea, milk", "tea", "20.0 % of 10", "90.0 % of 10"]
    assert largest_difference(found) == [
        "The largest difference: 90.0 % of young and 20.0 % of old took tea from tea and milk."
    ]


def test_menus_that_few_groups_have_are_left_out():
    other = rf.ChoiceData.from_counts({("tea", "cola"): {"tea": 4, "cola": 6}})
    assert group_differences({"a": data_of(5), "b": other}) == []
    assert differences_table([]) == largest_difference([]) == []
    found = group_differences({"a": data_of(5), "b": data_of(4), "c": other})
    assert {len(one.shares) for one in found} == {2}
    assert texts(differences_table(found)[0])[0][-1] == ""


def test_many_groups_and_groups_that_choose_alike():
    groups = {f"g{k}": data_of(k % 10) for k in range(1, 12)}
    found = group_differences(groups)
    assert len(found) <= MOST_ROWS
    assert len(found[0].groups) == MOST_GROUPS
    assert found[0].groups == sorted(found[0].groups, key=lambda name: int(name[1:]))
    assert largest_difference(group_differences({"a": data_of(5), "b": data_of(5)})) == []
