"""The command `project`: output, models, groups, weights, exit codes."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.cli import models
from rumflow.cli.main import main
from rumflow.data import simulate
from rumflow.data.choices import ChoiceData
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.projection.single import project
from tests.reference.bounded_cases import small_data
from tests.reference.commands import run


def test_command_line(tmp_path, capsys):
    small_data().to_csv(tmp_path / "choices.csv")
    assert main(["project", str(tmp_path / "choices.csv"), "--route", "bounded"]) == 0
    shown = capsys.readouterr()
    assert "route bounded" in shown.out
    assert "optimal" in shown.out
    assert "rankings by search, and bounds" in shown.err
    assert main(["project", str(tmp_path / "choices.csv"), "--route", "bounded", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["method"] == "bounded"
    assert found["gap"] <= 1e-9 * found["objective"] + 1e-12
    limited = ["--max-seconds", "1e-6", "--tol", "1e-12"]
    assert main(["project", str(tmp_path / "choices.csv"), "--route", "bounded", *limited]) == 2
    assert "max_seconds" in capsys.readouterr().out


def test_project(capsys, choices, tmp_path):
    code, out, err = run(capsys, "project", choices)
    assert code == 0
    assert "4 items {tea, milk, juice, cola}" in err
    assert "largest differences" in out
    for ending in ("csv", "json", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        path = tmp_path / f"fit.{ending}"
        code, out, err = run(capsys, "project", choices, "--json", "--out", path)
        assert code == 0
        assert err == ""
        assert path.stat().st_size > 100
    answer = json.loads(out)
    assert answer["status"] == "optimal"
    rows = json.loads((tmp_path / "fit.json").read_text(encoding="utf-8"))
    assert len(rows) == 4 * 8 - 4
    squares = sum((r["observed"] - r["fitted"]) ** 2 for r in rows)
    assert np.sqrt(squares) == pytest.approx(answer["distance"], rel=1e-9)


def test_project_with_a_model(capsys, shop):
    data = ChoiceData.from_csv(shop)
    for options, model, words in [
        ((), None, "nearest random utility model"),
        (("--route", "lattice"), None, "nearest random utility model"),
        (("--above", "a>b", "--above", "c > d>e"), RandomUtility([("a", "b"), ("c", "d"), ("d", "e")]), "c above d"),
        (("--axis", ",".join("jihgfedcba")), SinglePeaked("jihgfedcba"), "single-peaked preferences"),
    ]:
        code, out, _ = run(capsys, "project", shop, "--json", *options)
        assert code == 0
        assert json.loads(out)["distance"] == pytest.approx(project(data, model=model).distance, rel=1e-8)
        code, out, err = run(capsys, "project", shop, *options)
        assert code == 0
        assert words in out
        assert "about" not in err  # short work is not announced


def test_project_pairs_onto_inequalities(capsys, tmp_path):
    data = simulate.random_menus(8, 20, 2, draws=4, seed=0)
    path = tmp_path / "pairs.csv"
    data.to_csv(path)
    read = ChoiceData.from_csv(path)
    distance = project(read, model=TriangleInequalities()).distance
    code, out, _ = run(capsys, "project", path, "--triangle", "--json")
    answer = json.loads(out)
    assert (code, answer["method"], answer["rankings"]) == (0, "inequalities", None)
    assert answer["distance"] == pytest.approx(distance)
    code, out, _ = run(capsys, "project", path, "--triangle")
    assert code == 0
    assert f"nearest shares that obey the triangle inequalities: {distance:.6g}" in out
    assert "Rankings" not in out
    code, out, _ = run(capsys, "compare", path, "--triangle", "-q", "--json")
    assert [row["model"] for row in json.loads(out)["models"]] == ["all rankings", "triangle inequalities"]
    code, out, _ = run(capsys, "test", path, "--triangle", "-q", "--n-boot", 19)
    assert code == 0
    assert "The triangle inequality is" in out


def test_project_a_hundred_items(capsys, tmp_path, monkeypatch):
    data = simulate.stock_outs(100, 30, seed=0)
    path, out_file = tmp_path / "shop.csv", tmp_path / "fitted.csv"
    data.to_csv(path)
    monkeypatch.setattr(models, "LONG", 0.0)
    code, out, err = run(capsys, "project", path, "--out", out_file)
    assert code == 0
    assert re.search(r"rumflow: a graph of [\d,]+ nodes and [\d,]+ arcs, \d+ MB, about [\d.]+ s", err)
    assert "everything except " in out
    assert "the others" in out
    assert max(map(len, out.splitlines())) < 200
    lines = out_file.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "menu_id,menu,item,observed,fitted,count"
    assert len(lines) == 1 + data.membership.sum()
    code, out, err = run(capsys, "project", path, "--json")
    assert (code, err) == (0, "")
    fit = project(data)
    found = json.loads(out)
    assert found["distance"] == pytest.approx(fit.distance)
    assert len(found["rankings"]) == len(fit.rankings.weights)


def test_project_each_group(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text(
        "domain,menu,item,count\n" + "".join(f"{g},ab,{x},{5 + k}\n" for k, g in enumerate("pqr") for x in "ab"),
        encoding="utf-8",
    )
    code, out, _ = run(capsys, "project", path, "--by", "group", "--json")
    assert code == 0
    assert [r["name"] for r in json.loads(out)["results"]] == ["p", "q", "r"]
    code, _, err = run(capsys, "project", path, "--by", "store")
    assert code == 1
    assert "--group store --by group" in err
    code, _, err = run(capsys, "project", path, "--by", "subject")
    assert code == 1
    assert "no subject" in err


def test_not_converged_is_exit_code_2(capsys, tmp_path):
    path = tmp_path / "big.csv"
    assert (
        main(
            ["simulate", "dirichlet", "-n", "9", "--draws", "200", "--seed", "0", "--form", "long", "--out", str(path)]
        )
        == 0
    )
    code, out, _ = run(capsys, "project", path, "--max-seconds", "1e-9")
    assert code == 2
    assert "max_seconds" in out


def test_an_interrupt_ends_the_groups(capsys, tmp_path, monkeypatch):
    from rumflow.cli import project as command

    path = tmp_path / "groups.csv"
    path.write_text(
        "group,menu,item,count\n" + "".join(f"{g},ab,{x},5\n" for g in "pqr" for x in "ab"), encoding="utf-8"
    )
    interrupted = SimpleNamespace(
        misfits=lambda _: [], distance=0.1, gap=1.0, status=rf.Status.OPTIMAL, interrupted=True, inside=False
    )
    monkeypatch.setattr(command, "project", lambda *_, **__: interrupted)
    code, printed, _ = run(capsys, "project", path, "--by", "group", "--json")
    assert code == 130
    assert len(json.loads(printed)["results"]) == 1


def test_projection_by_inverse_variance_is_the_statistic_of_the_test(capsys, tmp_path):
    path = tmp_path / "data.csv"
    assert main(["simulate", "dirichlet", "-n", "4", "--seed", "2", "--share", "0.7", "--out", str(path)]) == 0
    capsys.readouterr()
    data = rf.ChoiceData.from_csv(path)
    for weights in ("inverse-variance", "counts"):
        distance = json.loads(run(capsys, "project", path, "--weights", weights, "--json")[1])["distance"]
        statistic = rf.rum_test(data, n_boot=1, seed=0, weights=weights).statistic
        assert distance**2 == pytest.approx(statistic, rel=1e-8)
    assert "(weighted)" in run(capsys, "project", path, "--weights", "inverse-variance")[1]


def test_shares_without_sample_sizes(capsys, tmp_path):
    path, page = tmp_path / "shares.csv", tmp_path / "page.html"
    path.write_text(
        "menu,item,count\na|b,a,0.25\na|b,b,0.75\na|b|c,a,0.5\na|b|c,b,0.25\na|b|c,c,0.25\n", encoding="utf-8"
    )
    code, text, err = run(capsys, "report", path, "-o", page, "--json")
    assert code == 0, err
    assert json.loads(text)["pvalue"] is None
    assert "The number of choices is not known." in page.read_text(encoding="utf-8")
    code, _, err = run(capsys, "test", path)
    assert code == 1
    assert "in the file (counts, or a column total)" in err


def test_a_billion_choices_and_one(capsys, tmp_path):
    path = tmp_path / "unequal.csv"
    rows = [
        ("a|b", "a", 10**6),
        ("a|b", "b", 1),
        ("b|c", "b", 2),
        ("a|c", "c", 3),
        ("a|b|c", "a", 1),
        ("a|b|c", "b", 10**9),
    ]
    path.write_text(
        "menu,item,count\n" + "".join(f"{menu},{item},{count}\n" for menu, item, count in rows), encoding="utf-8"
    )
    code, text, err = run(capsys, "explain", path, "--n-boot", 39, "--halves", 2, "--json")
    assert code == 0, err
    assert json.loads(text)["conflicts"]
    code, text, err = run(capsys, "bounds", path, "--for", "b,c", "--item", "b", "--n-boot", 39, "--json")
    assert code == 0, err
    (only,) = json.loads(text)["bounds"]
    assert only["from"] is None or only["from"] <= only["lower"]
    path.write_text(path.read_text(encoding="utf-8").replace("1000000000", "10000000000"), encoding="utf-8")
    code, _, err = run(capsys, "bounds", path, "--for", "b,c", "--n-boot", 39)
    assert code == 1
    assert "--confidence none" in err
    path.write_text(path.read_text(encoding="utf-8").replace("10000000000", "9000000000000"), encoding="utf-8")
    code, _, err = run(capsys, "test", path, "--n-boot", 39)
    assert code == 1
    assert "menu {a, b, c} has weight 9e+12 and menu {b, c} has 2;" in err


def test_one_bad_group_does_not_end_the_table(capsys, tmp_path, monkeypatch):
    from rumflow.cli import project as command

    path = tmp_path / "groups.csv"
    path.write_text(
        "group,menu,item,count\n" + "".join(f"{g},ab,{x},{5 + k}\n" for k, g in enumerate("pqr") for x in "ab"),
        encoding="utf-8",
    )

    def refuse(data, *arguments, **options):
        if data.n_observations == 12:
            raise rf.InputError("this group is odd")
        return rf.project(data, *arguments, **options)

    monkeypatch.setattr(command, "project", refuse)
    code, out, _ = run(capsys, "project", path, "--by", "group")
    assert code == 0
    assert "not projected: q (this group is odd)" in out
    code, out, _ = run(capsys, "project", path, "--by", "group", "--json")
    assert [r["name"] for r in json.loads(out)["results"]] == ["p", "r"]
    assert json.loads(out)["refused"] == {"q": "this group is odd"}
