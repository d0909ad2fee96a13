"""Files are written whole or not at all, through links, into devices, never over the input."""

import csv
import json
import os
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import rumflow as rf
from rumflow.output.files import harmless, json_text, write_csv, write_table, write_whole
from tests.reference.systems import not_on_windows

TABLE = {"menu": ["a,b", "c"], "value": [1, 2.5]}


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old", encoding="utf-8")

    def fail(file):
        file.write(b"half")
        raise ZeroDivisionError

    for target in (path, tmp_path / "new.txt"):
        with pytest.raises(ZeroDivisionError):
            write_whole(target, fail)
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@not_on_windows
def test_links_are_written_through(tmp_path):
    real, link, chain = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "chain.csv"
    real.write_text("old", encoding="utf-8")
    real.chmod(0o640)
    link.symlink_to("real.csv")
    chain.symlink_to("link.csv")
    write_table(TABLE, chain)
    assert chain.is_symlink()
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8").splitlines() == ["menu,value", '"a,b",1', "c,2.5"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling.csv"
    dangling.symlink_to(tmp_path / "not yet.csv")
    write_table(TABLE, dangling)
    assert (tmp_path / "not yet.csv").exists()
    assert dangling.is_symlink()
    circle = tmp_path / "circle"
    circle.symlink_to("circle")
    with pytest.raises(rf.InputError, match="cannot be written"):
        write_table(TABLE, circle)


@not_on_windows
def test_devices_and_pipes_are_written_into(tmp_path):
    write_table(TABLE, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    null = tmp_path / "null"
    try:
        os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        write_table(TABLE, null)
        assert stat.S_ISCHR(os.stat(null).st_mode)
    except PermissionError:
        pass
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_table(TABLE, pipe)
    reader.join(10)
    assert read[0].startswith(b"menu,value")
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


@not_on_windows
def test_the_input_is_not_overwritten(tmp_path):
    path, link = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text("data", encoding="utf-8")
    link.symlink_to(path)
    for target in (path, link, tmp_path / "." / "in.csv"):
        with pytest.raises(rf.InputError, match="is the file that was read"):
            write_table(TABLE, target, inputs=[tmp_path / "other.csv", path])
    assert path.read_text(encoding="utf-8") == "data"
    write_table(TABLE, "/dev/null", inputs=["/dev/null", "-"])


@pytest.mark.parametrize(
    ("name", "words"), [(".", "is a folder"), ("no/such/a.csv", "there is no folder"), ("x" * 300, "cannot be written")]
)
def test_where_nothing_can_be_written(tmp_path, monkeypatch, name, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rf.InputError, match=words):
        write_table(TABLE, name)
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_an_error_of_ours():
    if not os.path.exists("/dev/full"):
        pytest.skip("no such device here")
    with pytest.raises(rf.InputError, match="No space left"):
        write_table(TABLE, "/dev/full")


def test_every_kind_of_table(tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    for name in ("a.json", "a.csv", "a.parquet", "x" * 251 + ".csv"):
        write_table(TABLE, tmp_path / name)
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))[1] == {"menu": "c", "value": 2.5}
    assert pyarrow.read_table(tmp_path / "a.parquet").to_pydict() == {"menu": ["a,b", "c"], "value": [1.0, 2.5]}
    with pytest.raises(rf.InputError, match=r"must end in \.csv, \.parquet"):
        write_table(TABLE, tmp_path / "a.txt")
    write_whole(tmp_path / "a.npz", lambda file: np.savez(file, a=np.arange(3)))
    assert np.load(tmp_path / "a.npz")["a"].tolist() == [0, 1, 2]


def test_tables_for_people_hold_no_formulas(tmp_path):
    nasty = ["=1+1", "+1x", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "a=b", "-3.5", "+7"]
    assert [harmless(v) for v in nasty] == [*("'" + v for v in nasty[:5]), *nasty[5:]]
    assert [harmless(v) for v in (-1, None, -2.5)] == [-1, None, -2.5]
    write_table({"item": nasty, "=x": [-1] * len(nasty)}, tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["item", "'=x"]
    assert not [r for r in rows if r[0][0] in "=+-@\t" and r[0] not in ("-3.5", "+7")]
    write_csv({"item": nasty}, tmp_path / "b.csv")
    with open(tmp_path / "b.csv", newline="", encoding="utf-8") as file:
        assert [r[0] for r in csv.reader(file)][1:] == nasty


def test_workbooks(tmp_path, monkeypatch):
    """Texts are texts, also those that look like formulas; what is no number is empty."""
    openpyxl = pytest.importorskip("openpyxl")
    table = {"item": ["=1+1", "a\x1bb", "é"], "=x": [1, 2.5, None], "y": [float("nan"), float("inf"), True]}
    write_table(table, tmp_path / "a.xlsx")
    rows = [
        [(cell.value, cell.data_type) for cell in row] for row in openpyxl.load_workbook(tmp_path / "a.xlsx").active
    ]
    assert rows[0] == [("item", "s"), ("=x", "s"), ("y", "s")]
    assert rows[1] == [("=1+1", "s"), (1, "n"), (None, "n")]
    assert rows[2] == [("a\\x1bb", "s"), (2.5, "n"), (None, "n")]
    assert rows[3] == [("é", "s"), (None, "n"), (True, "b")]


def test_workbooks_need_their_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(rf.InputError, match=r"openpyxl is needed .*rumflow\[excel\]"):
        write_table(TABLE, tmp_path / "a.xlsx")


def test_lone_surrogates(tmp_path):
    """They have no code in any file; JSON and texts write them as Python does."""
    pytest.importorskip("pyarrow")
    table = {"item": ["tea", "a\ud800b"], "value": [1, 2]}
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(rf.InputError, match=r"the text 'a\\ud800b' holds a character that no text has"):
            write_table(table, tmp_path / name)
    write_table(table, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))[1]["item"] == "a\ud800b"
    for name in ("a.tex", "a.md", "a.html"):
        write_table(table, tmp_path / name)
        assert "ud800b" in (tmp_path / name).read_text(encoding="utf-8")
    assert sorted(os.listdir(tmp_path)) == ["a.html", "a.json", "a.md", "a.tex"]


KILLED = """
import os, signal, sys
from rumflow.output.files import write_whole
def write(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_whole(sys.argv[1], write)
"""


@not_on_windows
def test_what_a_killed_writer_left_is_removed_at_the_next_write(tmp_path):
    import fcntl

    subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.csv"], check=False)
    left = os.listdir(tmp_path)
    assert len(left) == 1
    assert left[0].endswith(".part")
    (tmp_path / ".mine.part").write_text("of somebody else", encoding="utf-8")
    with open(tmp_path / ".1.2.part", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)  # somebody writes at this moment
        write_table(TABLE, tmp_path / "b.csv")
        assert sorted(os.listdir(tmp_path)) == [".1.2.part", ".mine.part", "b.csv"]
    write_table(TABLE, tmp_path / "b.csv")
    assert sorted(os.listdir(tmp_path)) == [".mine.part", "b.csv"]


def test_many_writers_of_one_folder(tmp_path):
    """Nobody removes what another one writes."""
    names = [tmp_path / f"{k}.csv" for k in range(8)]
    threads = [threading.Thread(target=lambda k=k: [write_table(TABLE, names[k]) for _ in range(20)]) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(os.listdir(tmp_path)) == sorted(name.name for name in names)


def test_json_escapes_what_a_terminal_would_act_on():
    text = json_text({"a\x9b": "tea\u202e\x1b[31m é"}, 2)
    assert "\x9b" not in text
    assert "\u202e" not in text
    assert "é" in text
    assert json.loads(text) == {"a\x9b": "tea\u202e\x1b[31m é"}
