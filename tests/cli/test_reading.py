"""Commands read choices: layouts, pipes, groups, names, encodings, and doubts that are said once."""

import json

import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.cli.reading import name_of
from tests.reference.commands import COUNTS, run, start


def test_layouts_from_the_command_line(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("first,second,answer\ntea,milk,1\nmilk,juice,2\ntea,juice,9\ntea,milk,2\n", encoding="utf-8")
    options = ["--menu", "first,second", "--choice", "answer", "--missing", "9", "--base", "1"]
    assert main(["project", str(path), *options]) == 0
    printed = capsys.readouterr()
    assert "1 row without a recorded choice is left out" in printed.err
    assert "Traceback" not in printed.err


def test_names_of_groups_are_distinct(capsys, tmp_path):
    assert name_of(("x, y", "z")) != name_of(("x", "y, z"))
    assert name_of(("a", "b")) == "a, b"
    assert name_of((("a", "b"), 'c"')) == 'a, b, "c"""'
    path = tmp_path / "two.csv"
    path.write_text(
        "first,second,menu,item,count\n"
        + "".join(f"{g},ab,{x},5\n" for g in ('"x, y",z', 'x,"y, z"', "p,q") for x in "ab"),
        encoding="utf-8",
    )
    reading = ["--by", "group", "--group", "first,second", "--json"]
    code, printed, _ = run(capsys, "project", path, *reading)
    assert code == 0
    assert [r["name"] for r in json.loads(printed)["results"]] == ['"x, y", z', 'x, "y, z"', "p, q"]
    code, printed, _ = run(capsys, "test", path, *reading, "--n-boot", 9)
    assert code == 0
    assert len(json.loads(printed)["results"]) == 3


def test_what_is_said_of_groups_holds_when_they_are_taken_apart(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("group,menu,choice\n" + "".join(f"{g},ab,{x}\n" for g in "pqr" for x in "ab"), encoding="utf-8")
    _, _, err = run(capsys, "project", path, "--by", "group")
    assert "3 groups" in err
    assert "together" not in err


def test_a_file_named_twice(capsys, counts):
    code, _, err = run(capsys, "test", counts, counts)
    assert code == 1
    assert "named twice" in err


def test_layouts_of_several_columns(capsys, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("a1,a2,pick\ntea,milk,1\ntea,milk,2\nmilk,juice,1\ntea,juice,9\n", encoding="utf-8")
    reading = ["--menu", "a1,a2", "--choice", "pick", "--base", "1", "--missing", "9"]
    code, printed, err = run(capsys, "project", path, *reading, "--json")
    assert code == 0, err
    assert json.loads(printed)["choices"] == 3


def test_doubts_about_the_data_are_said_once(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("group,menu,choice\n" + "".join(f'g{k},"a,b",{"ab"[k % 2]}\n' for k in range(30)), encoding="utf-8")
    for quiet in ([], ["-q"], ["--json"]):
        code, _, err = run(capsys, "project", path, "--group", "group", *quiet)
        assert code == 0
        assert err.count("is it a group?") == 1
        assert "UserWarning" not in err


def test_choices_from_a_pipe(counts):
    process = start("test", "-", "--n-boot", "19", "--seed", "1", "--json")
    printed, err = process.communicate(COUNTS, timeout=120)
    assert process.returncode == 0, err
    assert json.loads(printed)["pvalue"] == rf.rum_test(rf.ChoiceData.from_csv(counts), n_boot=19, seed=1).pvalue


@pytest.mark.parametrize("encoding", ["none", "", "\x00", "rot13"])
def test_encodings_that_are_none(capsys, counts, encoding):
    code, _, err = run(capsys, "project", counts, "--encoding", encoding)
    assert code == 1
    assert "--encoding" in err


def test_empty_fields_as_codes_for_missing_choices(capsys, tmp_path):
    path = tmp_path / "choices.csv"
    path.write_text("menu,choice\n" + 5 * '"a,b",a\n' + 4 * '"a,b",b\n' + 2 * '"a,b",\n', encoding="utf-8")
    code, out, _ = run(capsys, "project", path, "--missing", "", "--json")
    assert code == 0
    assert json.loads(out)["choices"] == 9


def grouped(tmp_path):
    path = tmp_path / "grouped.csv"
    rows = [("north", "a|b|none", "a", 6), ("north", "a|b|none", "b", 4), ("north", "a|b|none", "none", 90)]
    rows += [("north", "a|none", "a", 5), ("north", "b|none", "none", 7)]
    rows += [
        ("south", "a|b|none", "a", 1),
        ("south", "a|b|none", "b", 9),
        ("south", "a|b", "a", 2),
        ("south", "a|b", "b", 3),
    ]
    path.write_text("group,menu,item,count\n" + "".join(f"{g},{m},{x},{c}\n" for g, m, x, c in rows), encoding="utf-8")
    return path


def test_one_group_alone_and_items_left_out(capsys, tmp_path):
    path = grouped(tmp_path)
    code, text, err = run(capsys, "project", path, "--only", "south", "--leave-out", "none", "--json")
    assert code == 0
    answer = json.loads(text)
    assert (answer["items"], answer["menus"], answer["choices"]) == (
        ["a", "b"],
        1,
        15,
    )  # {a, b, none} and {a, b} are one
    assert "only group south: 2 menus, 15 choices" in answer["understood"]["notes"]
    assert "without none: 2 items, 1 menu, 15 choices" in answer["understood"]["notes"]
    for command in ("explain", "report", "test", "bounds", "compare"):
        more = {"report": ["-o", tmp_path / "page.html"], "bounds": ["--for", "a,b"], "test": ["--n-boot", 19]}
        code, _, err = run(capsys, command, path, "--only", "north", *more.get(command, []))
        assert code == 0, err
        assert "only group north: 3 menus, 112 choices" in err
    code, _, err = run(capsys, "explain", path, "--only", "west")
    assert code == 1
    assert "there is no such group; there are north; south" in err
    code, _, err = run(capsys, "explain", path, "--leave-out", "nothing")
    assert code == 1
    assert "--leave-out: item 'nothing' is unknown" in err
    code, _, err = run(capsys, "project", path, "--group", "no", "--subject", "group", "--only", "south")
    assert code == 0
    assert "only subject south" in err


def test_only_needs_groups_or_subjects(capsys, counts):
    code, _, err = run(capsys, "explain", counts, "--only", "a")
    assert code == 1
    assert "have no group" in err
    counts.write_text("menu,choice\na|b,a\na|b,b\n", encoding="utf-8")
    assert "have no group" in run(capsys, "explain", counts, "--only", "a")[2]


def test_twice_names_the_columns_that_may_tell_rows_apart(capsys, tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("season,menu,item,count\nwet,a|b,a,3\nwet,a|b,b,4\ndry,a|b,a,3\n", encoding="utf-8")
    code, _, err = run(capsys, "project", path)
    assert code == 1
    assert "columns without a use are season" in err
