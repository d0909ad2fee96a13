import shlex

import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.data.calls import DATA, Call, Reading, Unsayable, listed, option


def test_a_call_is_its_text():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    call = Call("compare_models", (DATA, {"it's": Call("SinglePeaked", (["a", "b", "c"],))}), {"n_boot": 0})
    assert call.text == "rf.compare_models(data, {\"it's\": rf.SinglePeaked(['a', 'b', 'c'])}, n_boot=0)"
    same = eval(call.text, {"rf": rf, "data": data})
    assert call.run(data).table["distance"] == same.table["distance"]


def test_labels_that_commands_cannot_name():
    assert listed(["a", 3]) == "a,3"
    for label in ("a,b", " a", ""):
        with pytest.raises(Unsayable, match="cannot name"):
            listed([label])
    with pytest.raises(Unsayable):
        listed(["a>b"], also=">")
    assert option("--for", "-x,y") == ["--for=-x,y"]


READINGS = [
    ({"menu": "offered now", "choice": "taken"}, "offered now,taken\na|b,a\na|b|c,b\n"),
    ({"menu": ["p", "q"], "choice": "c", "subject": False, "missing": ["9"]}, "p,q,c,person\na,b,a,1\na,c,9,1\nb,c,b,2\n"),
    ({"clean": True, "outside_option": "none", "base": "label"}, "menu,choice\na|b,A\na|c,\n"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text"), READINGS)
def test_lines_and_command_read_alike(options, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "my file's.csv"
    (tmp_path / name).write_text(text, encoding="utf-8")
    reading = Reading(str(tmp_path / name), name, options)
    data, names = reading.load(), {}
    exec(reading.lines(Call("project", (DATA,))), names)
    assert names["data"].menus == data.menus
    assert names["data"].totals.tolist() == data.totals.tolist()
    words = shlex.split(reading.command(["read", "--out", "out.csv"]))[1:]
    assert main([*words, "-q"]) == 0
    assert rf.ChoiceData.from_csv("out.csv").n_observations == data.n_observations
    capsys.readouterr()


def test_data_sets():
    reading = Reading("", "economist", {})
    assert reading.load().n_observations == rf.datasets.load("economist").n_observations
    assert reading.command(["test", "--seed", "0"]) == "rumflow test datasets:economist --seed 0"
    assert "rf.datasets.load('economist')" in reading.lines(Call("project", (DATA,)))
    with pytest.raises(rf.InputError, match="no data set"):
        Reading("", "nowhere", {}).load()


def test_a_column_that_is_called_no():
    with pytest.raises(Unsayable, match="called 'no'"):
        Reading("/x", "x.csv", {"menu": "no"}).command(["read"])
