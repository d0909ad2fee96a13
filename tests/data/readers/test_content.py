"""What the first rows tell: which columns tell rows apart, and which tell choices apart."""

import numpy as np

from rumflow.data.readers.content import Sample, is_number
from rumflow.data.readers.sources import FrameSource


def sample(table):
    return Sample(next(FrameSource(table).chunks(list(table))))


def test_rows_that_are_different():
    rows = sample({"a": [1, 1, 2, 2], "b": ["x", "y", "x", "y"], "c": [None, None, 3.5, 3.5]})
    assert rows.different(["a", "b"])
    assert not rows.different(["a", "c"])
    assert rows.joined(["a", "c"]).tolist() == [0, 0, 1, 1]
    assert rows.values("c") == [3.5]
    assert not rows.numeric("b")
    assert rows.numeric("a")


def test_columns_that_tell_choices_apart():
    rows = sample(
        {
            "person": [1, 1, 1, 1],
            "task": [1, 1, 2, 2],
            "row": [1, 2, 3, 4],
            "alt": list("abab"),
            "choice": [1, 0, 0, 1],
            "label": list("aabb"),
            "moving": list("abbb"),
        }
    )
    assert rows.observations(["task"], "alt", "choice")
    assert rows.observations(["person", "task"], "alt", "choice")
    assert not rows.observations(["person"], "alt", "choice")  # an alternative twice
    assert not rows.observations(["row"], "alt", "choice")  # one row a choice
    assert rows.observations(["task"], "alt", "label")
    assert not rows.observations(["task"], "alt", "moving")
    assert rows.one_each("task", "choice")
    assert not rows.one_each("person", "choice")


def test_values_that_come_back():
    rows = sample({"who": [1, 1, 2, 2], "one": [1, 1, 1, 1], "each": [1, 2, 3, 4]})
    own = np.arange(4)
    assert rows.repeated("who", own)
    assert not rows.repeated("one", own)  # nobody to tell apart
    assert not rows.repeated("each", own)
    assert not rows.repeated("who", np.array([0, 0, 1, 1]))  # one choice each
    assert is_number("1e5")
    assert not is_number("five")
