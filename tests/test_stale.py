"""Results that are older than the code are found, and rows that are computed again are compared with what is stored."""

import pytest
from benchmarks import stale
from benchmarks.record import RESULTS
from experiments import again
from experiments.files import read_csv, write_csv
from experiments.size import METHODS, PROCEDURES, Case


def test_every_file_of_results_says_what_it_describes():
    assert {path.stem for path in RESULTS.glob("*.csv")} == set(stale.DESCRIBES)
    for modules in stale.DESCRIBES.values():
        assert stale.imports().keys() >= set(modules or ())


def test_every_file_says_when_it_was_measured():
    for name, modules in stale.DESCRIBES.items():
        if modules is not None:
            found = stale.commits(name)
            assert found, name
            assert all(len(commit.rstrip("+")) >= 7 for commit in found), name


@pytest.mark.parametrize(
    ("new", "same"),
    [
        ('"""Other words."""\n\n\ndef f(x):\n    """Add."""\n    return x + 1  # one\n', True),
        ('"""Words."""\ndef f(x):\n    return (x +\n            1)\n', True),
        ('def f(x):\n    return x + 1\n\n\nerror = f"{f} says so"\n', False),
        ('"""Words."""\ndef f(x):\n    return x + 2\n', False),
        ('"""Words."""\ndef f(x):\n    return x - 1\n', False),
        ('"""Words."""\ndef g(x):\n    return x + 1\n', False),
    ],
)
def test_words_do_not_count_and_code_does(new, same):
    assert stale.same_code('"""Words."""\ndef f(x):\n    """Increase."""\n    return x + 1\n', new) is same


@pytest.mark.parametrize(("new", "same"), [("'such as this'", True), ("'null'", False), ("f'{x} was found'", False)])
def test_texts_for_people_do_not_count(new, same):
    assert stale.same_code("x = 1\ny = 'a sentence'\n", f"x = 1\ny = {new}\n") is same


def test_texts_with_numbers_in_them_do_not_count():
    assert stale.same_code("y = f'{x} was found'\n", "y = f'found {x:.3g} of {z}'\n")
    assert not stale.same_code("y = f'{x}.csv'\n", "y = f'{x}.png'\n")


def test_what_is_imported_counts():
    found = stale.reach(["projection.single"])
    assert {"projection.single", "solvers.dispatch", "core.paths"} <= found
    assert not any(name.startswith(("cli", "report", "inference")) for name in found)


def test_a_change_in_what_is_imported_makes_results_older(monkeypatch):
    monkeypatch.setattr(stale, "changed", lambda commit: frozenset({"core.paths", "cli.main"}))
    assert stale.judge("compare") == ("older", "core.paths")
    monkeypatch.setattr(stale, "changed", lambda commit: frozenset({"cli.main"}))
    assert stale.judge("compare") == ("current", "")
    monkeypatch.setattr(stale, "changed", lambda commit: None)
    assert stale.judge("compare")[0] == "unknown"
    assert stale.judge("mutants") == ("record", "")


def test_a_row_computed_again_is_compared():
    case = Case(3, 5, "equal", "all", "2")
    rate = METHODS["screen"](case, PROCEDURES["default"], 40)
    row = {**case._asdict(), "procedure": "default", "method": "screen", "data_sets": 40, "rejected": round(rate, 5)}
    assert again.compare("size", row)["apart"] == 0
    assert again.compare("size", row | {"rejected": rate + 0.1})["apart"] == pytest.approx(0.1)


def test_rows_that_are_written_again_keep_their_origin(tmp_path):
    path = tmp_path / "some.csv"
    write_csv(path, [{"a": 1, "commit": "12e345678", "date": "2001-02-03", "versions": "old"}, {"a": 2}])
    first, second = read_csv(path)
    assert (first["commit"], first["date"], first["versions"]) == ("12e345678", "2001-02-03", "old")
    assert second["commit"] != "12e345678"
