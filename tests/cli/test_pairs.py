"""The command `pairs`."""

import json

import rumflow as rf
from rumflow.cli.main import main
from tests.reference.conflicts import CYCLE


def test_the_command(tmp_path, capsys):
    path, out = tmp_path / "votes.csv", tmp_path / "conditions.csv"
    data = rf.ChoiceData.from_counts({menu: own for menu, own in CYCLE.items() if len(menu) == 2})
    data.to_csv(path)
    assert main(["pairs", str(path), "--n-boot", "19", "--seed", "2", "-q", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "How transitive are these pairs?" in text
    assert out.read_text(encoding="utf-8").startswith("condition,triples,distance,ratio,ratio_lower,pvalue\n")
    assert main(["pairs", str(path), "--n-boot", "19", "--seed", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pvalue"] == rf.transitivity(data, 19, seed=2).pvalue
    assert found["understood"]


def test_larger_menus_are_refused(tmp_path, capsys):
    path = tmp_path / "choices.csv"
    path.write_text("menu,choice\na|b|c,a\na|b,b\n", encoding="utf-8")
    assert main(["pairs", str(path), "-q"]) == 1
    assert "transitivity is about pairs" in capsys.readouterr().err
