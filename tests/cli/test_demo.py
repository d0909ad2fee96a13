"""The command `demo`."""

import json

from tests.reference.commands import run


def test_demo(capsys):
    code, out, _ = run(capsys, "demo", "--seed", 2)
    assert code == 0
    for words in (
        "Distance to the nearest random utility model",
        "Block-Marschak inequalities that fail",
        "Certificate",
        "among many",
    ):
        assert words in out
    code, out, _ = run(capsys, "demo", "--json")
    answer = json.loads(out)
    assert answer["distance"] > 5 * answer["distance_without_effect"]
    worst = answer["violations"][0]
    assert worst["item"] == "coffee"
    assert "cocoa" not in worst["menu"]
    assert run(capsys, "demo", "--json")[1] == out
