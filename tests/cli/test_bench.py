"""The command `bench`."""

import json

from tests.reference.commands import run


def test_bench(capsys):
    code, out, _ = run(capsys, "bench", "--max-n", 5, "--json")
    assert code == 0
    assert [r["n"] for r in json.loads(out)["results"]] == [3, 4, 5]
