"""The command `explain`: models, budgets, options."""

import json

import pytest

import rumflow as rf
from rumflow.cli.main import main
from tests.reference.conflicts import CYCLE


def test_budgets_from_the_shell_say_what_patches_are(capsys, tmp_path):
    prices, households = tmp_path / "prices.csv", tmp_path / "households.csv"
    prices.write_text("year,price_a,price_b\n1,1,2\n2,2,1\n", encoding="utf-8")
    rows = ["1,0.1,0.45"] * 60 + ["1,0.9,0.05"] * 40 + ["2,0.45,0.1"] * 60 + ["2,0.05,0.9"] * 40
    households.write_text("year,quantity_a,quantity_b\n" + "\n".join(rows) + "\n", encoding="utf-8")
    code = main(["explain", str(households), "--prices", str(prices), "--degree", "0", "--halves", "0", "-q"])
    text = capsys.readouterr().out
    assert code == 0
    assert "Patches: 1/1 (below 2); 2/1 (below 1)." in text
    assert main(["explain", str(households), "--prices", str(prices), "--triangle", "-q"]) == 1
    assert "--triangle does not go with --prices: budgets determine the model" in capsys.readouterr().err


def test_command_line(capsys, tmp_path):
    path = tmp_path / "choices.csv"
    counts = {"a|b": {"a": 80, "b": 20}, "a|b|c": {"a": 50, "b": 30, "c": 20}}
    path.write_text(
        "menu,item,count\n" + "".join(f"{menu},{x},{k}\n" for menu, own in counts.items() for x, k in own.items()),
        encoding="utf-8",
    )
    assert main(["explain", str(path), "--level", "none", "--axis", "a,b,c", "-q"]) == 0
    assert "No population of people with single-peaked preferences" in capsys.readouterr().out
    assert main(["explain", str(path), "--level", "none", "--above", "a>b", "-q"]) == 0
    assert "who all prefer a over b" in capsys.readouterr().out
    assert main(["explain", str(path), "--above", "a>b", "--axis", "a,b,c", "-q"]) == 1
    assert "two models" in capsys.readouterr().err


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain") / "choices.csv"
    rf.ChoiceData.from_counts(CYCLE | {("a", "b", "d"): {"a": 60, "b": 20, "d": 20}}).to_csv(path)
    return str(path)


def test_the_command(file, tmp_path, capsys):
    out = tmp_path / "influence.csv"
    options = ["--n-boot", "39", "--halves", "2", "--seed", "4"]
    assert main(["explain", file, *options, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "Preferences form a cycle" in text
    assert "Influence of the menus" in text
    assert out.read_text(encoding="utf-8").startswith(
        "menu,choices,share,distance_without,pvalue_without,named,conflicts"
    )
    assert main(["explain", file, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["conflicts"][0]["pattern"]["name"] == "cycle"
    assert found["seed"] == 4
    assert len(found["influence"]) == 4
    assert main(["explain", file, "--level", "none", "-q"]) == 0
    assert "No population of utility maximisers" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--level", "much"], "--level='much'"),
        (["--level", "0.9"], "level=0.9"),
        (["--n-boot", "3"], "take 19 or more"),
        (["--cluster"], "subject"),
    ],
)
def test_wrong_options_are_named(file, options, words, capsys):
    assert main(["explain", file, "-q", *options]) == 1
    assert words in capsys.readouterr().err
