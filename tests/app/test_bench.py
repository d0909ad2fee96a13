import csv
import re
import shlex
from pathlib import Path

import pytest

import rumflow as rf
from rumflow.app.bench import Bench
from rumflow.app.describe import page_words
from rumflow.app.questions import QUESTIONS
from rumflow.cli.main import main
from rumflow.output.files import write_table
from rumflow.output.result import as_texts
from rumflow.report.answers import answer_html
from rumflow.report.take_away import tables_of
from tests.app.conftest import drinks

VALUES = {
    "rational": {"n_boot": 9},
    "chance": {"n_boot": 19},
    "predict": {"menu": [0, 2, 3]},
    "leave": {"item": 3},
    "assort": {"revenue": {"0": "3", "1": "2,5", "3": 1.25}, "outside_option": 2, "max_size": 2},
    "models": {"axis": {"0": "1", "1": "2", "3": "3", "2": "4"}, "above": 3, "below": 0, "n_boot": 9},
    "groups": {"n_boot": 19},
}


def columns(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture(scope="module")
def bench():
    return Bench()


@pytest.mark.parametrize("name", [question.name for question in QUESTIONS])
def test_lines_and_commands_give_the_same_numbers(name, bench, tmp_path, monkeypatch, capsys):
    """The tables to download are those of the page, and of the lines of Python, whose numbers are those of the command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drinks.csv").write_text(drinks(), encoding="utf-8")
    (tmp_path / "answer").mkdir()
    source = {"path": str(tmp_path / "drinks.csv"), "name": "drinks.csv", "options": {"group": "age"}}
    answer = bench.ask(name, VALUES.get(name, {}), source, str(tmp_path / "answer"), title="Why?", said="What: <this>")
    assert "error" not in answer, answer
    assert (name == "rational") != answer["html"].startswith("<p>What: &lt;this&gt;</p>")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(answer["python"], names)
    result = names["result"]
    written = Path("answer/answer.csv").read_text(encoding="utf-8")
    shown = [cell.text for table in tables_of(answer["html"]) for row in table.rows for cell in row]
    assert all(text.lstrip("+-") in written for text in shown)
    assert not re.search(r"\btaus?\b|\bbytes\b", written)
    if name != "rational":
        with_words = tables_of(answer_html(result, page_words))
        assert [cell.text for table in with_words for row in table.rows for cell in row] == shown
        write_table(as_texts(result.table), "answer/table.csv")
    assert answer["commands"]
    for command in answer["commands"]:
        words = shlex.split(command)
        out = [] if name == "rational" else ["--out", "out.csv"]
        assert main([*words[1:], "--json", *out]) == 0
        said = capsys.readouterr().out
        if name == "rational":
            assert f'"distance": {result["distance"]}' in said
            assert f'"pvalue": {result["pvalue"]}' in said
        else:
            compare(name, columns("answer/table.csv"), columns("out.csv"), "--together" in words)
    assert (tmp_path / "answer/answer.tex").read_text(encoding="utf-8").count("% needs") >= 1
    assert "<title>" in (tmp_path / "answer/answer.html").read_text(encoding="utf-8")


def compare(name, table, other, together):
    """The command's table has more rows (all menus), other names of columns (groups), or the same numbers."""
    if name == "distance":
        shares = dict(zip(zip(other["menu"], other["item"], strict=True), other["fitted"], strict=True))
        for menu, item, fitted in zip(table["menu"], table["item"], table["fitted"], strict=True):
            assert shares[menu, item] == fitted
    elif name == "groups":
        assert other["statistic"][0] == table["statistic"][0 if together else 1]
        assert other["pvalue" if together else "p_value"][0] == table["pvalue"][0 if together else 1]
    else:
        assert {key: own for key, own in other.items() if key != "seconds"} == {
            key: table[key] for key in other if key != "seconds"
        }


def test_a_report_in_the_words_of_the_page(bench, tmp_path):
    rows = "".join(f"{k % 9},a|b,{'ab'[k % 2]}\n{k % 9},a|b|c,{'abc'[k % 3]}\n" for k in range(60))
    (tmp_path / "0.csv").write_text("person,menu,choice\n" + rows, encoding="utf-8")
    source = {"path": str(tmp_path / "0.csv"), "name": "mine.csv", "options": {}}
    answer = bench.ask("rational", {"n_boot": 19}, source, str(tmp_path))
    shown = re.sub(r"<(pre|details|svg).*?</\1>", "", answer["html"], flags=re.DOTALL)
    assert "9 subjects made 120 choices" in shown
    assert "“People who chose several times”: count as one choice after the other (in “Could it be chance?”)" in shown
    assert not re.search(r"cluster|--|\btau\b", re.sub(r"<!--.*?-->", "", shown))
    assert "tau" in answer["html"]  # for those who know the theory
    assert answer["file"] == "mine.csv"


def test_faults_are_answers(bench, tmp_path):
    source = {"path": "", "name": "economist", "options": {}}
    assert bench.ask("nothing", {}, source)["error"] == "there is no question 'nothing'"
    assert bench.ask("predict", {"menu": []}, source, "")["field"] == "menu"
    assert "no groups" in bench.ask("groups", {}, source, "")["error"]
    assert "no data set" in bench.ask("distance", {}, source | {"name": "x"}, "")["error"]
    with pytest.raises(rf.InputError, match="accepted are"):
        bench.read("", "economist", {"ties": 3})


def test_scripts_in_labels_are_text(bench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil = "<img src=x onerror=alert(1)>"
    rows = "".join(f"{evil};b,{evil}\n{evil};b;c,b\nb;c,c\n" for _ in range(6))
    (tmp_path / "0.csv").write_text("menu,choice\n" + rows, encoding="utf-8")
    source = {"path": str(tmp_path / "0.csv"), "name": "<script>.csv", "options": {}}
    for name, values in (("distance", {}), ("conflicts", {}), ("predict", {"menu": [0, 1]})):
        answer = bench.ask(name, values, source, str(tmp_path))
        assert "<img" not in answer["html"]
        assert "<img" not in (tmp_path / "answer.html").read_text(encoding="utf-8")


def test_the_start(bench):
    start = bench.start()
    names = {one["name"] for one in start["datasets"]}
    assert {"economist", "tversky_1969"} <= names
    for name in names:
        assert "error" not in bench.read("", name, {})
    assert [role["name"] for role in start["roles"]][:2] == ["menu", "choice"]
