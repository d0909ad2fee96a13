"""Results that are older than the code are found, and rows that are computed again are compared with what is stored."""

import re
import subprocess

import pytest

from studies.benchmarks import stale
from studies.benchmarks.record import RESULTS
from studies.experiments import again
from studies.experiments.files import append_csv, read_csv, write_csv
from studies.experiments.size import METHODS, PROCEDURES, Case


@pytest.mark.slow
def test_every_file_of_results_says_what_it_describes():
    assert {path.stem for path in RESULTS.glob("*.csv")} == set(stale.DESCRIBES)
    known = stale.imports().keys()
    for modules in stale.DESCRIBES.values():
        assert known >= set(modules or ())


def test_every_file_says_when_it_was_measured():
    for name, modules in stale.DESCRIBES.items():
        if modules is not None:
            found = stale.measured(name)
            assert found, name
            assert all(re.fullmatch(r"[0-9a-f]{7,}\+?", row["commit"]) for row in found), name


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


@pytest.mark.slow
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


def test_what_was_not_said_stays_unknown(tmp_path):
    path = tmp_path / "some.csv"
    write_csv(path, [{"a": 1, "versions": "old"}])
    (row,) = read_csv(path)
    assert (row["commit"], row["date"], row["versions"]) == ("", "", "old")


def test_a_row_with_other_columns_is_not_appended(tmp_path):
    path = tmp_path / "some.csv"
    append_csv(path, {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="has the columns a, b, the new row has a, c"):
        append_csv(path, {"a": 1, "c": 2})
    assert read_csv(path) == [{"a": 1, "b": 2}]


def test_changed_modules_are_found_in_the_history(tmp_path, monkeypatch):
    source = tmp_path / "src" / "rumflow"
    source.mkdir(parents=True)
    texts = {"one": "x = 1\n", "two": "x = 1\n", "three": "x = 1\n"} | {"moved": "def f():\n    return 'as it was'\n"}
    for name, text in texts.items():
        (source / f"{name}.py").write_text(text, encoding="utf-8")

    def git(*words):
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    first = git("rev-parse", "HEAD")
    (source / "one.py").write_text("x = 2\n", encoding="utf-8")
    (source / "two.py").write_text("x = 1  # as before\n", encoding="utf-8")
    (source / "new.py").write_text("x = 1\n", encoding="utf-8")
    (source / "folder").mkdir()
    (source / "moved.py").rename(source / "folder" / "elsewhere.py")
    git("add", ".")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "second")
    monkeypatch.setattr(stale, "ROOT", tmp_path)
    monkeypatch.setattr(stale, "SOURCE", source)
    assert stale.changed.__wrapped__(first) == {"one", "new"}
    assert stale.changed.__wrapped__(first + "+") == {"one", "new"}
    assert stale.changed.__wrapped__(git("rev-parse", "HEAD")) == frozenset()
    assert stale.changed.__wrapped__("0" * 40) is None


@pytest.mark.slow
def test_rows_computed_again_with_the_code_of_today_count(tmp_path, monkeypatch):
    monkeypatch.setattr(stale, "RESULTS", tmp_path)
    monkeypatch.setattr(stale, "changed", lambda commit: frozenset({"inference.test"} if commit == "aaa" else ()))
    (tmp_path / "size.csv").write_text("n,rejected\n3,0.1\n", encoding="utf-8")
    lines = ["file,row,apart,commit", "size,3,0.2,aaa", "size,3,0.0,bbb"]
    (tmp_path / "again.csv").write_text("\n".join(lines[:2]) + "\n", encoding="utf-8")
    assert stale.judge("size") == ("older", "inference.test")
    (tmp_path / "again.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert stale.judge("size") == ("current", "")
    (tmp_path / "again.csv").write_text("\n".join([*lines, "size,4,0.2,bbb"]) + "\n", encoding="utf-8")
    assert stale.judge("size") == ("differs", "4")
    (tmp_path / "again.csv").unlink()
    assert stale.judge("size")[0] == "unknown"
