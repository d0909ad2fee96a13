"""Simulated classics: the same numbers every time, and what is said of them is true."""

import pytest

import rumflow as rf


@pytest.mark.parametrize(
    ("name", "rejected"), [("decoy", True), ("cycle", True), ("stock_outs", False), ("households", False)]
)
def test_what_is_said_of_them(name, rejected):
    data = rf.datasets.load(name)
    assert rf.rum_test(data, n_boot=99, seed=0).rejects(0.05) is rejected
    assert "fixed seed" in data.description.licence


def test_the_same_every_time():
    assert rf.datasets.load("decoy").counts[0, :2].tolist() == [134.0, 166.0]
    for name in ("decoy", "cycle", "stock_outs"):
        assert rf.datasets.load(name).equals(rf.datasets.load(name))
    assert (
        rf.datasets.load("households").probabilities.tolist() == rf.datasets.load("households").probabilities.tolist()
    )
