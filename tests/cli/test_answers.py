"""Answers of commands: files through links and devices, full disks, JSON, exit codes."""

import json
import os
import re
import stat
import threading
from pathlib import Path

import pytest

from tests.reference.commands import COUNTS, out, run, start
from tests.reference.systems import not_on_windows


@not_on_windows
@pytest.mark.parametrize("command", ["project", "report"])
def test_files_are_written_through_links(capsys, counts, tmp_path, command):
    target, link = tmp_path / "there.csv", tmp_path / "link.csv"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    assert run(capsys, command, counts, *out(command, link))[0] == 0
    assert link.is_symlink()
    assert len(target.read_text(encoding="utf-8")) > 100


@not_on_windows
@pytest.mark.parametrize("command", ["project", "report", "simulate"])
def test_pipes_and_devices_are_written_into(capsys, counts, tmp_path, command):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    assert run(capsys, command, "noisy" if command == "simulate" else counts, *out(command, pipe))[0] == 0
    reader.join(10)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert len(read[0]) > 100
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.open("wb").close()
    except PermissionError:
        return
    assert run(capsys, command, "noisy" if command == "simulate" else counts, *out(command, device))[0] == 0
    assert stat.S_ISCHR(device.stat().st_mode)


@not_on_windows
@pytest.mark.parametrize("command", ["project", "report", "test", "bounds"])
def test_the_input_is_not_overwritten(capsys, counts, tmp_path, command):
    link = tmp_path / "link.csv"
    link.symlink_to(counts)
    for path in (counts, link):
        code, _, err = run(capsys, command, counts, *out(command, path))
        assert code == 1
        assert "is the file that was read" in err
    assert counts.read_text(encoding="utf-8") == COUNTS


@not_on_windows
def test_the_input_is_not_overwritten_through_a_pipe(counts):
    with counts.open(encoding="utf-8") as file:
        done = start("project", "-", "--out", counts, stdin=file)
        _, err = done.communicate()
    assert done.returncode == 1
    assert "is the file that was read" in err
    assert counts.read_text(encoding="utf-8") == COUNTS


@pytest.mark.parametrize("command", ["project", "report", "test", "bounds", "simulate", "bench"])
def test_files_that_cannot_be_written(capsys, counts, tmp_path, command, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the work began")

    for name in ("rumflow.data.choices.ChoiceData.from_csv", "rumflow.cli.simulate.draw", "rumflow.cli.bench.project"):
        monkeypatch.setattr(name, work)
    data = {"simulate": ["noisy"], "bench": []}.get(command, [counts])
    for path, why in ((tmp_path, "is a folder"), (tmp_path / "no" / "x.csv", "no folder"), (counts / "x", "written")):
        code, printed, err = run(capsys, command, *data, *out(command, path))
        assert code == 1
        assert why in err
        assert printed == ""


def test_a_full_disk_does_not_lose_the_answer(capsys, counts):
    if not Path("/dev/full").exists():
        pytest.skip("no such device here")
    code, printed, err = run(capsys, "project", counts, "--out", "/dev/full")
    assert code == 1
    assert "Distance to the nearest" in printed
    assert "No space left" in err


def test_tables_for_people_hold_no_formula(capsys, tmp_path):
    data = tmp_path / "formulas.csv"
    data.write_text(
        "group,menu,item,count\n"
        + "".join(f'@SUM(A1),"=1+1|@b",{x},{c}\n+c,"=1+1|@b",{x},{c}\n' for x, c in (("=1+1", 3), ("@b", 4))),
        encoding="utf-8",
    )
    reading = ["--separator", "|", "-q"]
    for arguments in (["project"], ["project", "--by", "group"], ["test", "--by", "group", "--n-boot", 9]):
        path = tmp_path / "out.csv"
        code, _, err = run(capsys, arguments[0], data, *arguments[1:], *reading, "--out", path)
        assert code == 0, err
        cells = [
            cell
            for line in path.read_text(encoding="utf-8").splitlines()
            for cell in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', line)
        ]
        assert not [cell for cell in cells if cell.strip('"')[:1] in "=@+" and cell]
        assert any(cell.strip('"').startswith(("'=", "'@")) for cell in cells)


def test_json_has_no_infinite_numbers(capsys, counts):
    code, out, _ = run(capsys, "compare", counts, "--above", "a>b", "--json")
    assert code == 0
    assert json.loads(out, parse_constant=pytest.fail)["models"][1]["loglik"] is None
