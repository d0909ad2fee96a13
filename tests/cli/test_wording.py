"""Texts of the library as they are printed by the commands: options instead of arguments."""

import ast
import re
from argparse import Namespace
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.cli.parser import make_parser
from rumflow.cli.wording import PHRASES, shell_words
from tests.reference.commands import run

#: What nobody can type at the shell.
PYTHON = re.compile(r"\b[a-z_]+=|`|\b[a-z]+_[a-z_]+\b|throw|start\b|None|True|False|ChoiceData")


def arguments(command):
    more = {"simulate": ["noisy", "--out", "x.csv"], "assort": ["x.csv", "--revenue", "a=1"]}
    return make_parser().parse_args([command, *more.get(command, ["x.csv"])])


@pytest.mark.parametrize("command", ["project", "compare", "bounds", "test", "explain", "report", "assort"])
@pytest.mark.parametrize("status", list(rf.Status))
def test_statuses_advise_what_the_command_can_do(command, status):
    given = arguments(command)
    text = shell_words(status.explanation, given)
    for name in ("tol", "max_seconds"):
        option = f"--{name.replace('_', '-')}"
        assert option not in text or hasattr(given, name)
    assert not PYTHON.search(text), text
    assert not re.search(r"[:,;] *$|: or |, ,", text), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("at_median (--at-median): it is needed", "--at-median: it is needed"),
        ("name it with choice= (--choice)", "name it with --choice"),
        ("say base=0 or base=1 (--base). Or", "say --base 0 or --base 1. Or"),
        ("say base='label' or degree=0.5", "say --base label or --degree 0.5"),
        ("give quantities (quantities=, --quantities)", "give quantities (--quantities)"),
        ("shares= and quantities= (--shares, --quantities) are given", "--shares and --quantities are given"),
        ("say count='a b' (--count a b), or count=False", "say --count 'a b', or --count no"),
        ("cluster='clan' (--subject): there is no such column", "--subject clan: there is no such column"),
        ("name the column in choice=[...]", "name the column in --choice"),
        ("without intervals, confidence=None (--confidence none)", "without intervals, --confidence none"),
        ("functional: nothing is asked", "--functional: nothing is asked"),
        ("--max-seconds=0: a positive number is needed, or None", "--max-seconds=0: a positive number is needed"),
    ],
)
def test_arguments_are_options(text, words):
    assert shell_words(text, arguments("bounds")) == words


@pytest.mark.parametrize(
    "text",
    [
        "data: choices are needed",
        "no menu column found among menu_id, status_quo",
        "the choice 'menu=3' is not in the menu {a}",
        "n_boot.csv: there is no such file",
        "--together needs several groups (--by group) or several files",
        "max_seconds: the status of a fit",
        "path=x is no option of this command",
    ],
)
def test_what_is_no_argument_stays(text):
    assert shell_words(text, arguments("bounds")) == text


def test_words_of_the_command_line_may_be_values():
    """A column that is called as an option is."""
    given = arguments("bounds")
    given.words = ["choice"]
    assert shell_words("cluster='choice' (--subject): no such column", given) == "--subject choice: no such column"
    assert shell_words("say count='choice'", given) == "say --count choice"


def test_workers_have_another_name():
    assert shell_words("n_jobs: other than 1 needs joblib", arguments("test")) == "--jobs: other than 1 needs joblib"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["assort", "--revenue", "a=1,b=2,c=3"], "--outside is required"),
        (
            ["assort", "--revenue", "a=1,b=2", "--outside", "c", "--must", "a,b", "--max-size", 1],
            "--max-size, --must and",
        ),
        (["test", "--cluster", "--n-boot", 9], "name the column of the subjects with --subject"),
        (["explain", "--cluster"], "--cluster: these data have no subjects; name their column with --subject"),
        (["explain", "--n-boot", 5], "--n-boot 5: no test of so few replicates rejects at --level 0.05"),
        (["bounds", "--for", "a,b,c", "--n-boot", 3], "--n-boot 3: with confidence 0.95"),
        (["project", "--route", "lattice", "--axis", "a,b,c"], "is projected on a graph; omit --route"),
        (["project", "--only", "x"], "name its column with --group"),
        (
            ["test", "--draws", "null", "--convention", "kitamura-stoye"],
            "accepted with this --convention is 'empirical'",
        ),
    ],
)
def test_errors_of_commands(capsys, counts, words, message):
    code, _, err = run(capsys, words[0], counts, *words[1:], "-q")
    assert code == 1
    assert message in err
    known = r"SinglePeaked\(.*?\)"
    assert not PYTHON.search(re.sub(known, "", err.removeprefix("rumflow: "))), err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("menu,choice\na|b,c\n", "pass --outside-option c"),
        (
            "menu,choice\na|b,\na|b,a\n",
            "name it with --outside-option; rows where",
        ),
        ("menu,choice\na|b,A\na|b,b\n", "or pass --clean, which takes"),
        ("x,y\n1,2\n", "--menu"),
    ],
)
def test_errors_of_readers(capsys, tmp_path, content, message):
    path = tmp_path / "data.csv"
    path.write_text(content, encoding="utf-8")
    code, _, err = run(capsys, "project", path)
    assert code == 1
    assert message in err
    assert not re.search(r"\b[a-z_]+=|\(--", err), err


def test_numbers_of_choices_that_are_not_known(capsys, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("menu,item,count\na|b,a,0.5\na|b,b,1.2\na|c,a,2.5\na|c,c,0.2\n", encoding="utf-8")
    code, _, err = run(capsys, "test", path, "--n-boot", 9, "-q")
    assert code == 1
    assert "or whole sample sizes\n" in err
    path.write_text("menu,item,share\na|b,a,0.5\na|b,b,0.5\n", encoding="utf-8")
    code, _, err = run(capsys, "assort", path, "--revenue", "a=1", "--outside", "b", "--confidence", 0.9, "-q")
    assert code == 1
    assert err == "rumflow: --confidence 0.9: a level needs counts of choices\n"
    code, _, err = run(capsys, "test", path, "--n-boot", 9, "-q")
    assert code == 1
    assert "give the number of choices from each menu in the file" in err


def test_an_error_of_the_solver(capsys, monkeypatch, counts):
    """Projections that are not asked for their best point raise: nobody at the shell has the error's attributes."""
    data = rf.simulate.random_menus(18, 40, 9, seed=2)
    monkeypatch.setattr("rumflow.cli.bounds.bounds", lambda *a, **o: rf.project(data, max_seconds=1e-6))
    code, _, err = run(capsys, "bounds", counts, "--for", "a,b", "-q")
    assert code == 2
    assert "attribute" not in err
    assert "throw" not in err
    assert "start" not in err


def test_notes_of_results(capsys, tmp_path, counts):
    path = tmp_path / "subjects.csv"
    rows = [(s, menu, menu[2 * (s % 2)]) for s in range(8) for menu in ("a|b", "b|c", "c|a")]
    path.write_text(
        "subject,menu,choice\n" + "".join(f"{s},{menu},{item}\n" for s, menu, item in rows), encoding="utf-8"
    )
    code, out, _ = run(capsys, "test", path, "--n-boot", 9, "--seed", 1)
    assert code == 0
    assert "To take choices as independent, say --no-cluster." in out
    code, out, _ = run(capsys, "test", path, "--n-boot", 9, "--seed", 1, "--no-cluster")
    assert code == 0
    assert "To keep the choices of a subject together, say --cluster." in out
    code, out, _ = run(capsys, "assort", counts, "--revenue", "a=1,b=2", "--outside", "c")
    assert code == 0
    assert " --confidence 0.95 takes chance into account" in out
    assert "confidence=0.95" not in out


def test_every_phrase_is_one_of_the_library():
    """A sentence that was changed there has to be changed here."""
    texts = []
    for path in Path(rf.__file__).parent.rglob("*.py"):
        if path.parent.name == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts.append("".join(str(part.value) for part in parts if isinstance(part, ast.Constant)))
    for phrase, _ in PHRASES:
        assert any(phrase in text for text in texts), phrase


def test_labels_that_look_like_arguments_stay(capsys, tmp_path):
    path = tmp_path / "data.csv"
    pair, three = "tea|outside_option", "tea|outside_option|seed=1"
    path.write_text(
        f"menu,item,count\n{pair},tea,30\n{pair},outside_option,70\n"
        f"{three},tea,50\n{three},outside_option,30\n{three},seed=1,20\n",
        encoding="utf-8",
    )
    for words in (
        ["test", path, "--n-boot", 99],
        ["explain", path, "--n-boot", 99],
        ["project", path],
        ["assort", path, "--revenue", "tea=1", "--outside", "outside_option"],
        ["assort", path, "--revenue", "seed=1=3", "--outside", "outside_option"],
        ["bounds", path, "--for", "tea,max_size"],
    ):
        _, out, err = run(capsys, *words)
        assert "outside_option" in out + err
        assert "--outside-option" not in out + err
        assert "--seed" not in out + err


def test_menus_stay_where_labels_are_not_known():
    text = "menu {n_boot, seed=1}: the item is unknown; pass seed=2"
    assert shell_words(text, arguments("bounds")) == "menu {n_boot, seed=1}: the item is unknown; pass --seed 2"


def test_a_time_limit_is_named_only_where_it_was_given():
    text = rf.Status.MAX_SECONDS.explanation
    given = arguments("project")
    assert shell_words(text, given) == "time was up: allow more of it with --max-seconds, or ask for a larger --tol"
    given.max_seconds = 3.0
    assert shell_words(text, given).startswith("the time limit --max-seconds came first: allow more time, or")
    assert shell_words(text, arguments("bounds")) == "time was up"


def test_what_can_be_named_in_python_only_is_not_advised(capsys, tmp_path):
    given = arguments("bounds")
    assert shell_words("3 further candidates were left out; a larger most takes more.", given) == (
        "3 further candidates were left out."
    )
    households, prices = tmp_path / "households.csv", tmp_path / "prices.csv"
    households.write_text("year,share_food,share_fuel\n1,0.5,0.5\n2,0.4,0.6\n", encoding="utf-8")
    prices.write_text("year,p_food,p_fuel,p_rent\n1,1,2,3\n2,2,1,3\n", encoding="utf-8")
    code, _, said = run(capsys, "test", households, "--prices", prices, "--n-boot", 9)
    assert code == 1
    assert said.splitlines()[-1].endswith("for 2 goods (share_food, share_fuel); leave the other columns out")
    prices.write_text("year,p_food,p_rent\n1,1,2\n2,2,1\n", encoding="utf-8")
    code, _, said = run(capsys, "test", households, "--prices", prices, "--n-boot", 9)
    assert code == 1
    assert said.splitlines()[-1].endswith("have fuel; give both the same names")


def test_what_was_typed_does_not_hide_an_option():
    arguments = Namespace(by="group", group=None, words=["test", "a.csv", "--by", "group"])
    text = "these data have no group: name its column with group= when reading them"
    assert shell_words(text, arguments) == "these data have no group: name its column with --group"


def test_an_empty_word_is_in_quotes_of_every_shell():
    assert shell_words("left out with missing=''", Namespace(missing=None)) == 'left out with --missing ""'
