"""Distances of real data sets, against enumeration of all rankings."""

import csv
from itertools import combinations

import numpy as np
import pytest

import rumflow as rf


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_mask(rows, n):
    counts = np.zeros((1 << n, n))
    letters = sorted({row["alternative"] for row in rows})
    for row in rows:
        counts[int(row["menu_mask"]), letters.index(row["alternative"])] += float(row["count"])
    return rf.ChoiceData.from_matrix(counts)


def lotteries(folder, frame):
    # All subsets of {1..5} by size, then lexicographic; item 0 is in every menu.
    menus = [sum(1 << x for x in menu) | 1 for size in range(6) for menu in combinations(range(1, 6), size)]
    counts = np.zeros((64, 6))
    for row in read(folder / "abkk_lotteries" / f"menu_choice_{frame}.csv"):
        counts[menus[int(row["x1"]) - 1], int(row["x2"])] += 1
    return rf.ChoiceData.from_matrix(counts)


def availability(folder, name):
    rows = read(folder / "sfwork_sfshop" / f"{name}.csv")
    modes = [key for key in rows[0] if key != "Choice"]
    counts = np.zeros((1 << len(modes), len(modes)))
    for row in rows:
        counts[sum(1 << x for x, mode in enumerate(modes) if row[mode] == "1"), int(row["Choice"]) - 1] += 1
    return rf.ChoiceData.from_matrix(counts, modes)


def load(folder, dataset, group):
    if dataset == "abkk_lotteries":
        return lotteries(folder, group)
    if dataset == "sfwork_sfshop":
        return availability(folder, group)
    rows = read(folder / "ranch" / f"{dataset}.csv")
    keys = [key for key in rows[0] if key in ("domain", "block", "subject")]
    rows = [row for row in rows if "|".join(row[key] for key in keys) == group]
    return by_mask(rows, len({row["alternative"] for row in rows}))


def test_squared_distances(data_folder):
    expected = read(data_folder / "l2_distances.csv")
    assert len(expected) == 61
    for row in expected:
        data = load(data_folder, row["dataset"], row["group"])
        assert len([m for m in data.masks if m & (m - 1)]) == int(row["menus"])
        fit = rf.project(data)
        assert fit.gap <= max(1e-9 * fit.objective, fit.certificate.floor)
        assert 2 * fit.objective == pytest.approx(float(row["d2_simplex"]), rel=2e-6, abs=1e-12), row
