"""The command `read`: words, JSON, tables and a page; what it says to run can be run."""

import json
import shlex

from tests.reference.commands import run


def write(path):
    menus = ["a|b", "a|b|c"]
    rows = [f"{who};{menu};{menu[2 * ((who + k) % 2)]};{who}" for who in range(30) for k, menu in enumerate(menus)]
    path.write_text("Person;Shown;Took;Price\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


ROLES = ("--subject", "Person", "--menu", "Shown", "--choice", "Took")


def test_what_a_file_holds(capsys, tmp_path):
    path = write(tmp_path / "odd name.csv")
    code, out, err = run(capsys, "read", path, *ROLES)
    assert (code, err) == (0, "")
    for words in (
        "How it was read",
        "3 items, 2 menus, 60 choices",
        "not used: Price",
        "30 subjects",
        "What could go wrong",
    ):
        assert words in out
    told = [line.strip() for line in out.splitlines() if line.startswith("  rumflow ")]
    assert any("rumflow test" in line for line in told)
    for line in told:
        words = shlex.split(line)
        more = ["--n-boot", "39"] if words[1] in ("test", "explain") else []
        if words[1] != "report":
            assert run(capsys, *words[1:], *more)[0] == 0


def test_forms(capsys, tmp_path):
    path = write(tmp_path / "choices.csv")
    code, out, _ = run(capsys, "read", path, *ROLES, "--json", "--out", tmp_path / "a.csv")
    answer = json.loads(out)
    assert code == 0
    assert answer["items"] == ["a", "b", "c"]
    assert answer["understood"]["unused"] == ["Price"]
    given = shlex.join([str(path), *ROLES])
    assert answer["next"][0]["shell"] == f"rumflow project {given}"
    assert answer["next"][-1]["shell"] == f"rumflow report {given} -o report.html"
    assert len((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()) == 1 + len(answer["cells"])
    code, out, err = run(capsys, "read", path, *ROLES, "--out", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>choices.csv</h1>" in page
    assert "tests resample whole subjects. To take choices as independent, say --no-cluster." in page
    assert f"written: {tmp_path / 'a.html'}" in err
    assert run(capsys, "read", path, *ROLES, "--out", tmp_path / "a.pdf")[0] == 1
    assert run(capsys, "read", tmp_path / "no.csv")[0] == 1


def test_short_forms(capsys, tmp_path):
    path = write(tmp_path / "choices.csv")
    for words in (["-o", tmp_path / "a.csv"], [f"-o{tmp_path / 'b.csv'}"]):
        code, out, _ = run(capsys, "read", path, *ROLES, "-q", *words)
        assert code == 0
        assert f"  rumflow project {shlex.join([str(path), *ROLES])}\n" in out
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == (tmp_path / "b.csv").read_text(encoding="utf-8")
    assert run(capsys, "project", path, *ROLES, "-o", tmp_path / "c.csv")[0] == 0
    assert (tmp_path / "c.csv").exists()


def test_numbers_under_an_unknown_name_are_asked_about(capsys, tmp_path):
    path = tmp_path / "sold.csv"
    path.write_text("menu,choice,sold\na|b,a,30\na|b,b,10\n", encoding="utf-8")
    code, _, err = run(capsys, "read", path)
    assert code == 1
    assert (
        "is 'sold' how often 'choice' was chosen? Then say --count sold; where each row is one choice, say --count no"
        in err
    )
    assert run(capsys, "read", path, "--count", "sold")[0] == 0
