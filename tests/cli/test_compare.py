"""The command `compare`."""

import json

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.models.single_peaked import SinglePeaked
from rumflow.projection.single import project
from tests.reference.commands import run


def test_compare(capsys, shop, tmp_path):
    table, picture = tmp_path / "table.json", tmp_path / "models.svg"
    axis = ",".join("abcdefghij")
    options = ["--above", "a>b,a>c", "--above", "a>b", "--axis", axis, "--out", table, "--picture", picture]
    code, out, _ = run(capsys, "compare", shop, *options)
    assert code == 0
    for name in ("all rankings", "a > b, a > c", "a > b ", "single-peaked: a, b, c"):
        assert name in out
    rows = json.loads(table.read_text(encoding="utf-8"))
    distances = [row["distance"] for row in rows]
    assert distances[0] < distances[2] < distances[1]  # fewer types, further away
    assert "<svg" in picture.read_text(encoding="utf-8")
    code, out, _ = run(capsys, "compare", shop, "--axis", axis, "--json")
    data = ChoiceData.from_csv(shop)
    expected = [project(data).distance, project(data, model=SinglePeaked("abcdefghij")).distance]
    assert [row["distance"] for row in json.loads(out)["models"]] == pytest.approx(expected, rel=1e-8)
    code, out, _ = run(capsys, "compare", shop, "--axis", axis, "--n-boot", 19, "--seed", 2, "-q")
    assert code == 0
    assert "p-value" in out
    assert "0.0500" in out
    assert run(capsys, "compare", shop, "--picture", tmp_path / "models.txt")[0] == 1
    assert run(capsys, "compare", shop, "--max-seconds", 1e-9)[0] == 2


def test_cluster_without_tests_is_an_error(capsys, tmp_path):
    path = tmp_path / "subjects.csv"
    path.write_text(
        "menu,choice,subject\n" + "".join(f"a|b,{x},{s}\na|b|c,{x},{s}\n" for s in range(4) for x in "ab"),
        encoding="utf-8",
    )
    code, _, err = run(capsys, "compare", path, "--cluster")
    assert code == 1
    assert "--n-boot 199" in err
    code, text, _ = run(capsys, "compare", path, "--cluster", "--n-boot", 19, "--json")
    assert code == 0
    assert (
        json.loads(text)["models"][0]["pvalue"]
        == rf.rum_test(rf.ChoiceData.from_csv(path), 19, cluster=True, seed=0).pvalue
    )
