import csv
import re
import shlex

import pytest

import rumflow as rf
from rumflow.app.bench import Bench, cost_text
from rumflow.app.questions import QUESTIONS
from rumflow.cli.main import main
from rumflow.output.result import as_texts
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
    """The table to download, the result of the lines of Python, and the file that the command writes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "drinks.csv").write_text(drinks(), encoding="utf-8")
    (tmp_path / "answer").mkdir()
    source = {"path": str(tmp_path / "drinks.csv"), "name": "drinks.csv", "options": {"group": "age"}}
    answer = bench.ask(name, VALUES.get(name, {}), source, str(tmp_path / "answer"), title="Why?", said="What: <this>")
    assert "error" not in answer, answer
    assert (name == "rational") != answer["html"].startswith("<p>What: &lt;this&gt;</p>")
    monkeypatch.chdir(tmp_path)
    table, names = columns("answer/answer.csv"), {}
    exec(answer["python"], names)
    result = names["result"]
    if name == "rational":
        result = {"what": list(result), "value": list(result.values())}
        del result["what"][-1], result["value"][-1], table["what"][-1], table["value"][-1]  # bytes of the page
    own = result if name == "rational" else as_texts(result.table)
    for key in own.keys() - {"seconds"}:
        assert table[key] == ["" if value is None or str(value) == "nan" else str(value) for value in own[key]], key
    assert answer["commands"]
    for command in answer["commands"]:
        words = shlex.split(command)
        out = [] if name == "rational" else ["--out", "out.csv"]
        assert main([*words[1:], "--json", *out]) == 0
        said = capsys.readouterr().out
        if name == "rational":
            assert f'"distance": {result["value"][0]}' in said
            assert f'"pvalue": {result["value"][2]}' in said
        else:
            compare(name, table, columns("out.csv"), "--together" in words)
    assert (tmp_path / "answer/answer.tex").read_text(encoding="utf-8").startswith("% needs")
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
    assert "“People who chose several times”" in shown
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


def test_the_start_and_the_cost(bench):
    start = bench.start()
    names = {one["name"] for one in start["datasets"]}
    assert {"economist", "tversky_1969"} <= names
    for name in names:
        assert "error" not in bench.read("", name, {})
    assert [role["name"] for role in start["roles"]][:2] == ["menu", "choice"]
    data = rf.datasets.load("economist")
    assert "About 1 second on an idle machine" in cost_text(data, 1)
    assert "minutes" in cost_text(data, 10**9)
