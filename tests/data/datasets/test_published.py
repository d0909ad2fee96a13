"""Tables typed in from papers, against the files of RanCh where these are."""

import csv
from itertools import combinations

import pytest

import rumflow as rf

FILES = {"tversky_1969": "T_1969_counts", "tversky_1972": "T_1972_counts", "regenwetter_2011": "RDS_2011_counts"}


@pytest.mark.parametrize("name", FILES)
def test_every_figure(data_folder, name):
    data = rf.datasets.load(name)
    found = {}
    for k in range(len(data.rows.menu)):
        group = data.rows.groups[data.rows.group[k]] if data.rows.group is not None else ""
        subject = data.rows.subjects[data.rows.subject[k]]
        menu = "".join(data.menus[data.rows.menu[k]])
        found[group, subject, menu, data.items[data.rows.choice[k]]] = data.rows.weight[k]
    with open(data_folder / "ranch" / f"{FILES[name]}.csv", newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row.get("domain") != "Noncash"]
    want = {
        (row.get("domain", ""), int(row["subject"]), row["menu"], row["alternative"]): float(row["count"])
        for row in rows
        if row["count"] != "0"
    }
    assert found == want


def test_sizes_of_the_tables():
    data = rf.datasets.load("tversky_1969")
    assert data.menus == sorted(combinations("abcde", 2), key=lambda pair: (pair[1], pair[0]))
    assert data.totals.tolist() == [160.0] * 10
    data = rf.datasets.load("tversky_1972")
    assert {menu: total for menu, total in zip(data.menus, data.totals.tolist(), strict=True)} == {
        ("x", "z"): 480.0,
        ("y", "z"): 480.0,
        ("x", "y", "z"): 720.0,
    }
    data = rf.datasets.load("regenwetter_2011")
    assert data.totals.tolist() == [720.0] * 10
    assert data.rows.groups == ("Cash 1", "Cash 2")


def test_the_decoy_of_the_weekly():
    data = rf.datasets.load("economist")
    assert data.counts[data.menus.index(("web", "both"))].tolist()[:2] == [68.0, 32.0]
    assert rf.rum_test(data, n_boot=99, seed=0).rejects(0.05)
