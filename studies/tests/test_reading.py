"""Times of reading: every way counts the same choices."""

import csv

import numpy as np
import pytest

from studies.experiments.reading import WAYS, main, way_of, write


@pytest.mark.parametrize("layout", ["rows", "alternatives"])
def test_every_way_counts_the_same(tmp_path, layout):
    for name in ("pandas", "polars", "pyarrow", "narwhals"):
        pytest.importorskip(name)
    path = tmp_path / "table.csv"
    write(path, layout, 2000)
    data = way_of("from_csv", layout, str(path))()
    want = sorted(data.count[data.count > 0].tolist())
    assert data.equals(way_of("from_frame", layout, str(path))())
    assert sorted(way_of("pandas", layout, str(path))().tolist()) == want
    assert sorted(way_of("polars", layout, str(path))()["len"].to_list()) == want
    assert np.isclose(sum(want), 2000 if layout == "rows" else 500)


def test_times_are_stored(tmp_path):
    for name in ("pandas", "polars", "pyarrow", "narwhals"):
        pytest.importorskip(name)
    assert main(["--rows", "1000", "--out", str(tmp_path / "reading.csv")]) == 0
    with open(tmp_path / "reading.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["way"] for row in rows] == list(WAYS) * 2
    assert all(float(row["peak_mib"]) > 10 for row in rows)
