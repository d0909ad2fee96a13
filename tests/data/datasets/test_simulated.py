"""Simulated classics: the same numbers every time, and what is said of them is true."""

import pytest

import rumflow as rf
from tests.reference.commands import run


@pytest.mark.parametrize(
    ("name", "rejected"), [("decoy", True), ("cycle", True), ("stock_outs", False), ("households", False)]
)
def test_what_is_said_of_them(name, rejected):
    data = rf.datasets.load(name)
    assert rf.rum_test(data, n_boot=99, seed=0).rejects(0.05) == rejected
    assert "fixed seed" in data.description.licence


def test_the_same_every_time():
    assert rf.datasets.load("decoy").counts[0, :2].tolist() == [134.0, 166.0]
    for name in ("decoy", "cycle", "stock_outs"):
        assert rf.datasets.load(name).equals(rf.datasets.load(name))
    assert (
        rf.datasets.load("households").probabilities.tolist() == rf.datasets.load("households").probabilities.tolist()
    )


def test_on_the_command_line(capsys):
    code, printed, said = run(capsys, "test", "datasets:decoy", "--n-boot", 19, "--seed", 0)
    assert code == 0
    assert "rejected at the 5 % level" in printed
    assert said.startswith("datasets:decoy: A decoy that helps a target\n")
    assert run(capsys, "project", "datasets:cycle", "--leave-out", "c")[0] == 0
    assert run(capsys, "test", "datasets:households", "--prices", "datasets:households", "--n-boot", 9)[0] == 0


REFUSED = [
    (("project", "datasets:x"), "there is no data set 'x'; there are tversky_1969"),
    (
        ("project", "datasets:households"),
        "datasets:households are households and prices; add --prices datasets:households",
    ),
    (("project", "datasets:decoy", "--menu", "m"), "--menu is for files; datasets:decoy needs no options to be read"),
    (("project", "datasets:households", "--prices", "p.csv"), "the prices of datasets:households are not in a file"),
    (("project", "datasets:decoy", "--prices", "datasets:decoy"), "the prices of datasets:decoy are not in a file"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED)
def test_refused_on_the_command_line(capsys, words, message):
    code, _, said = run(capsys, *words)
    assert code == 1
    assert message in said
