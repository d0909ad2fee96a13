import numpy as np

import rumflow as rf
from rumflow.report.cost import cost_text, usual_level


def test_the_cost_in_words():
    data = rf.datasets.load("economist")
    assert "About 1 second on an idle machine" in cost_text(data, 1)
    assert "minutes" in cost_text(data, 10**9)


def test_the_usual_level():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    assert usual_level(data) == 0.95
    assert usual_level(rf.ChoiceData(data.items, data.membership, data.frequencies, np.ones(2))) is None
    slow = rf.ChoiceData.from_counts({tuple(range(k, k + 12)): {x: 5 for x in range(k, k + 12)} for k in range(28)})
    assert usual_level(slow) is None
