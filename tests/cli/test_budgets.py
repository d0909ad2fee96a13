"""Budgets on the command line: the same answers as in Python, options and their names."""

import json
from pathlib import Path

import numpy as np
import pytest

import rumflow as rf
from rumflow.cli.main import main


def answer(capsys, *words):
    assert main([str(word) for word in words]) == 0
    return json.loads(capsys.readouterr().out)


def test_commands_say_what_the_library_says(budget_files, capsys, tmp_path):
    data = rf.BudgetData.from_csv(budget_files[0], budget_files[2])
    found = answer(capsys, "project", *budget_files, "--json", "--out", tmp_path / "fit.csv")
    assert found["distance"] == pytest.approx(rf.project(data).distance)
    assert found["patches"] == len(data.patches)
    assert (tmp_path / "fit.csv").exists()
    found = answer(
        capsys, "test", *budget_files, "--n-boot", 9, "--seed", 1, "--convention", "kitamura-stoye", "--json"
    )
    test = rf.rum_test(data, n_boot=9, seed=1, convention="kitamura-stoye")
    assert found["statistic"] == pytest.approx(test.statistic)
    assert found["pvalues"][0] == test.pvalue
    assert found["types"] == str(test.n_types)
    plain = answer(
        capsys,
        "test",
        *budget_files,
        "--n-boot",
        9,
        "--seed",
        1,
        "--expenditure",
        "no",
        "--subject",
        "family",
        "--cluster",
        "--json",
    )
    assert plain["degree"] == 0
    options = ["--instrument", "family", "--degree", 2, "--n-boot", 9, "--seed", 1]
    found = answer(capsys, "test", *budget_files, *options, "--json")
    corrected = rf.BudgetData.from_csv(budget_files[0], budget_files[2], instrument="family", degree=2)
    assert found["statistic"] == pytest.approx(rf.rum_test(corrected, n_boot=9, seed=1).statistic)
    new = np.mean(data.prices, axis=0)
    found = answer(capsys, "bounds", *budget_files, "--for", ",".join(map(str, new)), "--json")
    assert [row["upper"] for row in found["bounds"]] == pytest.approx(rf.bounds(data, new).upper.tolist(), abs=1e-8)
    assert main(["test", *budget_files, "--n-boot", "9", "--only", "1990,1991", "-q"]) == 0
    assert "2 budgets" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["project", "--weights", "inverse-variance"], "none and counts"),
        (["test", "--by", "group"], "without --by"),
        (["project", "--axis", "a,b"], "--axis does not go with --prices"),
        (["bounds", "--for", "a,b"], "prices of a new budget"),
        (["test", "--only", "1990,1999"], "budget '1999' is unknown"),
        (["project", "--shares", "share1,food"], "--shares food: "),
        (["project", "--quantities", "food"], "--quantities food: "),
        (["project", "--quantities", "share1", "--shares", "share1"], "one of them is accepted"),
        (["project", "--budget", "wave"], "--budget wave: "),
        (["test", "--instrument", "wage"], "--instrument wage: "),
        (["test", "--instrument", "family", "--degree", "0"], "leave the instrument out"),
        (["test", "--subject", "clan"], "--subject clan: "),
        (["test", "--weight", "w"], "--weight does not go with --prices"),
        (["project", "--outside-option", "x"], "--outside-option does not go with --prices"),
        (["test", "--together"], "--together does not go with --prices"),
    ],
)
def test_wrong_words_are_named(budget_files, capsys, words, message):
    assert main([words[0], *budget_files, *words[1:]]) == 1
    assert message in capsys.readouterr().err


def test_fields_between_tabs(budget_files, capsys):
    whole = answer(capsys, "project", *budget_files, "--json")
    for path in (Path(budget_files[0]), Path(budget_files[2])):
        path.write_text(path.read_text(encoding="utf-8").replace(",", "\t"), encoding="utf-8")
    assert answer(capsys, "project", *budget_files, "--json", "--delimiter", "tab")["distance"] == whole["distance"]
    assert main(["project", *budget_files, "--delimiter", "tabs"]) == 1
    assert "--delimiter 'tabs': one character is needed, or 'tab'" in capsys.readouterr().err


def test_options_of_budgets_need_prices(budget_files, capsys):
    assert main(["test", budget_files[0], "--shares", "share1,share2"]) == 1
    assert "--shares goes with --prices" in capsys.readouterr().err


def test_options_are_named_as_they_are_on_the_command_line(budget_files, capsys, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("year,food,energy\n1990,1,2\n", encoding="utf-8")
    assert main(["project", str(other), *budget_files[1:]]) == 1
    assert "name them with --shares or --quantities;" in capsys.readouterr().err
    other.write_text("wave,share1,share2,share3\n1990,1,0,0\n", encoding="utf-8")
    assert main(["project", str(other), *budget_files[1:]]) == 1
    assert "name it with --budget" in capsys.readouterr().err
    assert main(["project", *budget_files]) == 0
    assert "\nnot used: family\n" in capsys.readouterr().err
    assert main(["bounds", *budget_files, "--for", "90,90,90", "-q"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.endswith("are these prices divided by its expenditure?")
