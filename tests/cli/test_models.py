"""Models on the command line that are refused."""

import json

import pytest

import rumflow as rf
from tests.reference.commands import run


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--above", "a"), "--above 'a': give two items"),
        (("--above", "a>z"), "item 'z' is unknown"),
        (("--above", "a>b", "--above", "b>a"), "cycle"),
        (("--axis", "a,b"), "item 'c' of the data is missing"),
        (("--axis", "a,b", "--above", "a>b"), "two models"),
        (("--above", "a>b", "--route", "lattice"), "omit --route"),
        (("--route", "short"), "invalid choice"),
        (("--signs", "price=-1"), "--signs goes with --attributes FILE"),
        (("--model", "linear"), "--model goes with --attributes FILE"),
        (("--model", "logit"), "invalid choice"),
        (("--attributes", "nowhere.csv"), "--attributes nowhere.csv: "),
        (("--axis", "a,b", "--triangle"), "--axis and --triangle are two models"),
        (("--triangle",), "is about pairs"),
        (("--triangle", "--route", "graph"), "is projected on inequalities; omit --route"),
    ],
)
def test_models_that_are_refused(capsys, shop, options, message):
    code, out, err = run(capsys, "project", shop, "-q", *options)
    assert (code, out) == (1, "")
    assert message in err


def write_attributes(folder, text):
    path = folder / "attributes.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("name,price\na,1\n", (), "there is no column 'item' among name, price"),
        ("item,price\na,1,2\n", (), "row 2: 2 fields are needed, not 3"),
        (
            "item,price\na,1\nb,much\n",
            (),
            "row 3: price is 'much', not a number; every column beside 'item' and 'menu'",
        ),
        ("item,price,price\na,1,2\n", (), "column 'price' appears twice"),
        ("item,price\n", (), "attributes: the table has no rows"),
        ("", (), "the file is empty"),
        ("item,price\na,1\n", (), "attributes: item 'b' has none"),
        ("item,price\na,1\n", ("--signs", "price"), "--signs 'price': NAME=1, NAME=-1 or NAME=0 is needed"),
        ("item,price\na,1\n", ("--signs", "size=1"), "signs: attribute 'size' is unknown: the attributes are price"),
        ("item,price\na,1\n", ("--axis", "a,b"), "--axis and --attributes are two models"),
    ],
)
def test_attributes_that_are_refused(capsys, shop, tmp_path, text, options, message):
    path = write_attributes(tmp_path, text)
    code, out, err = run(capsys, "project", shop, "-q", "--attributes", path, *options)
    assert (code, out) == (1, "")
    assert message in err.replace("--signs: ", "signs: ").replace("--attributes: ", "attributes: ")


def test_attributes_in_every_command(capsys, tmp_path):
    """The same numbers as in Python; bounds also for an item that nobody was offered."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("a", "b", "c"): {"a": 3, "b": 5, "c": 2}})
    shop = tmp_path / "choices.csv"
    data.to_csv(shop)
    path = write_attributes(tmp_path, "item,price,size\na,1,2\nb,2,3.1\nc,3,3.5\nd,1.5,2.9\n")
    given = {"a": (1, 2), "b": (2, 3.1), "c": (3, 3.5), "d": (1.5, 2.9)}
    model = rf.LinearUtility(given, [-1, 0])
    options = ["--attributes", path, "--signs", "price=-1", "--json"]
    code, out, err = run(capsys, "project", shop, *options)
    assert code == 0
    assert err.count("attributes.csv: 4 items with price, size\n") == 1
    assert json.loads(out)["distance"] == pytest.approx(rf.project(data, model=model).distance)
    code, out, _ = run(capsys, "project", shop, "--model", "lexicographic", *options)
    rule = rf.Lexicographic(given, signs=[-1, 1])
    assert json.loads(out)["distance"] == pytest.approx(rf.project(data, model=rule).distance)
    code, out, _ = run(capsys, "compare", shop, *options)
    assert [row["model"] for row in json.loads(out)["models"]] == ["all rankings", "linear utility"]
    expected = rf.bounds(data, ["a", "d"], model=model, confidence=None)
    code, out, _ = run(capsys, "bounds", shop, "--for", "a,d", "--confidence", "none", *options)
    found = json.loads(out)["bounds"]
    assert [row["upper"] for row in found] == pytest.approx(expected.upper.tolist())
    code, out, _ = run(capsys, "bounds", shop, "--functional", "2:a,d:d", "--confidence", "none", *options)
    assert json.loads(out)["bounds"][0]["upper"] == pytest.approx(2 * expected["d"][1])
    for command in (["test", "--n-boot", "19"], ["explain", "--level", "none"]):
        assert run(capsys, command[0], shop, *command[1:], *options)[0] == 0


def test_assortments_of_a_model(capsys, tmp_path):
    """The same as in Python."""
    counts = {("out", "a", "b"): {"out": 3, "a": 4, "b": 3}, ("out", "b", "c"): {"out": 4, "b": 3, "c": 3}}
    data = rf.ChoiceData.from_counts(counts)
    shop = tmp_path / "choices.csv"
    data.to_csv(shop)
    path = write_attributes(tmp_path, "item,price,size\nout,0,0\na,1,2\nb,2,3.1\nc,3,3.5\n")
    model = rf.LinearUtility({"out": (0, 0), "a": (1, 2), "b": (2, 3.1), "c": (3, 3.5)}, [-1, 1])
    options = [
        "--must",
        "a,c",
        "--revenue",
        "a=1,b=2,c=4",
        "--outside",
        "out",
        "--attributes",
        path,
        "--signs",
        "price=-1,size=1",
        "--json",
    ]
    code, out, _ = run(capsys, "assort", shop, *options)
    expected = rf.best_assortment(data, {"a": 1, "b": 2, "c": 4}, "out", must=["a", "c"], model=model)
    assert code == 0
    assert json.loads(out)["lower"] == pytest.approx(expected.lower)
    every = rf.best_assortment(data, {"a": 1, "b": 2, "c": 4}, "out", must=["a", "c"])
    assert expected.lower > every.lower + 0.01
