"""Published files are read as they are, in Python and on the command line."""

import csv
import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import all_subsets
from tests.reference.commands import run


def modes(path):
    """The columns of the modes, which are in the order of their codes."""
    with open(path, encoding="utf-8") as file:
        return next(csv.reader(file))[1:]


def test_real_files(data_folder):
    want = {}
    with open(data_folder / "l2_distances.csv", encoding="utf-8") as file:
        want = {(row["dataset"], row["group"]): float(row["d2_simplex"]) for row in csv.DictReader(file)}
    found = {}
    for name in ("SFwork", "SFshop"):
        path = data_folder / "sfwork_sfshop" / f"{name}.csv"
        found["sfwork_sfshop", name] = ChoiceData.from_csv(path, available=modes(path))
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


def test_commands_on_real_files(capsys, data_folder):
    abkk = data_folder / "abkk_lotteries" / "menu_choice_high.csv"
    code, out, _ = run(
        capsys,
        "project",
        abkk,
        "--menu",
        "x1",
        "--choice",
        "x2",
        "--menus",
        "subsets:1,2,3,4,5",
        "--outside-option",
        0,
        "--json",
    )
    assert code == 0
    assert json.loads(out)["distance"] ** 2 == pytest.approx(0.0447840779, rel=1e-6)
    frames = [data_folder / "abkk_lotteries" / f"menu_choice_{frame}.csv" for frame in ("high", "medium", "low")]
    reading = ["--menu", "x1", "--choice", "x2", "--menus", "subsets:1,2,3,4,5", "--outside-option", 0]
    options = ["--convention", "abkk", "--n-boot", 9, "--seed", 0, "--json"]
    code, out, _ = run(capsys, "test", *frames, "--together", *reading, *options)
    assert code == 0
    assert json.loads(out)["statistic"] == pytest.approx(3231.592, abs=1e-3)
    code, out, _ = run(capsys, "test", *frames, *reading, *options)
    found = [r["statistic"] for r in json.loads(out)["results"]]
    np.testing.assert_allclose(found, [143.76, 200.82, 130.68], atol=0.005)
    for path in data_folder.glob("ranch/*.csv"):
        assert run(capsys, "project", path, "-q")[0] == 0
    for path in data_folder.glob("sfwork_sfshop/*.csv"):
        code, _, err = run(capsys, "project", path, "-q")
        assert code == 1
        assert "other orders fit as well" in err  # the two kinds of shared rides are always on offer together
        assert run(capsys, "project", path, "-q", "--available", ",".join(modes(path)))[0] == 0
