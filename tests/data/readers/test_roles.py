"""Roles of columns: one list, from which the options, the page and the docstring say the same; the same rules for all of them."""

import re
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.cli.parser import make_parser
from rumflow.data.choices import ChoiceData
from rumflow.data.readers.roles import LAYOUTS, NAMES, PERSONS, ROLES, Options, make_options, plain
from tests.reference.commands import run

PAGE = Path(__file__).parents[3] / "docs" / "data-formats.md"
TABLE = {"menu": ["a|b", "a|b", "b|c"], "choice": ["a", "b", "c"]}


def test_page_docstring_options_and_arguments_are_one_list():
    rows = [f"| `{r.name}` | `--{r.name.replace('_', '-')}` | {r.what} |" for r in ROLES]
    assert "\n".join(["| argument | option | column |", "|---|---|---|", *rows]) + "\n\n" in PAGE.read_text(
        encoding="utf-8"
    )
    words = " ".join(ChoiceData.from_frame.__doc__.split())
    for role in ROLES:
        assert re.search(rf" {role.name} : str[a-zA-Z, ]*, optional Column: {re.escape(role.what)}\.", words), role.name
        assert role.name in Options.__dataclass_fields__
    parsers = make_parser()._subparsers._group_actions[0].choices
    for command in ("project", "test", "explain", "compare", "bounds", "assort", "report"):
        options = {name: a for a in parsers[command]._actions for name in a.option_strings}
        for role in ROLES:
            assert options[f"--{role.name.replace('_', '-')}"].help == role.what
            assert options[f"--{role.name.replace('_', '-')}"].metavar == ("COLUMNS" if role.several else "COLUMN")
        assert not parsers[command].allow_abbrev


def test_names_of_roles_are_plain_and_layouts_are_made_of_roles():
    for names in [*NAMES.values(), PERSONS]:
        assert all(plain(name) == name for name in names)
        assert len(set(names)) == len(names)
    assert set().union(*LAYOUTS) <= {role.name for role in ROLES}


@pytest.mark.parametrize("role", [role.name for role in ROLES])
def test_false_is_accepted_and_anything_else_refused(role):
    if role not in ("menu", "choice"):
        assert ChoiceData.from_frame(TABLE, **{role: False}).n_observations == 3
    for bad in (3, b"x", [], object(), *([] if role == "group" else [True])):
        with pytest.raises(rf.InputError, match=rf"{role}=.*: the name of a column is needed"):
            ChoiceData.from_frame(TABLE, **{role: bad})
    with pytest.raises(rf.InputError, match=rf"no column 'zz' \(given as {role}\)"):
        ChoiceData.from_frame(TABLE, **{role: "zz"})


def test_no_in_the_shell_is_false(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('menu,choice,subject,count\n"a,b",a,1,5\n"a,b",a,1,7\n"b,c",c,2,1\n', encoding="utf-8")
    code, _, err = run(capsys, "project", path)
    assert code == 1
    assert "say --count count where it does, --count no where each row is one choice" in err
    code, _, err = run(capsys, "project", path, "--count", "no", "--subject", "no")
    assert code == 0
    assert "3 choices in 3 rows" in err
    assert "not used: subject, count" in err
    assert "persons" not in err
    code, _, err = run(capsys, "project", path, "--item", "choice")  # was read as --items
    assert code == 1
    assert "unrecognized arguments: --item" in err


def test_columns_named_twice_and_the_old_name_of_alternatives(tmp_path):
    with pytest.raises(rf.InputError, match="group: column 'choice' is named twice"):
        make_options({"group": ["choice", "choice"]})
    long = {"id": [1, 1], "product": ["a", "b"], "choice": [1, 0]}
    path = tmp_path / "long.csv"
    path.write_text("id,product,choice\n1,a,1\n1,b,0\n", encoding="utf-8")
    for reader, source in ((ChoiceData.from_csv, path), (ChoiceData.from_frame, long)):
        with pytest.warns(DeprecationWarning, match="item= is called alternative=") as told:
            data = reader(source, item="product")
        assert told[0].filename == __file__  # else the filters of Python hide it
    assert data.understood.roles["alternative"] == "product"


@pytest.mark.parametrize(
    ("menus", "words"),
    [
        ([["a", "b", "a"]], "menus: menu 1 has item 'a' twice"),
        ([3], "menus: menu 1 is 3; give each menu as a list of items"),
        ([["a", "b"], None], "menus: menu 2 is None"),
        ({"x": ["a", None]}, "menus: menu x holds None, which is no item"),
        (3, "a list of menus is needed"),
        ("ab", "a list of menus is needed"),
        ([], "a list of menus is needed"),
    ],
)
def test_menus_that_are_none(menus, words):
    with pytest.raises(rf.InputError, match=re.escape(words)):
        ChoiceData.from_frame({"m": [1, 1], "choice": ["a", "b"]}, menu="m", choice="choice", menus=menus)


def test_menus_in_a_file_for_the_shell(capsys, tmp_path):
    (tmp_path / "a.csv").write_text("m,c\n1,a\n1,b\n", encoding="utf-8")
    for content, words in (
        ("[null]", "menu 1 is None"),
        ("[[null]]", "holds None"),
        ("[3]", "menu 1 is 3"),
        ("null", "must hold"),
    ):
        (tmp_path / "menus.json").write_text(content, encoding="utf-8")
        code, _, err = run(
            capsys, "project", tmp_path / "a.csv", "--menu", "m", "--choice", "c", "--menus", tmp_path / "menus.json"
        )
        assert code == 1
        assert words in err
        assert "Traceback" not in err
    menus = (iter(m) for m in [["a", "b"]])
    data = ChoiceData.from_csv(tmp_path / "a.csv", menu="m", choice="c", menus=list(menus))
    assert data.menus == [("a", "b")]
