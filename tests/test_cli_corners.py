"""Corners of the commands: links, devices, interrupts, names of groups, numbers beyond sense, broken surroundings."""

import itertools
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.cli.reading import name_of

COUNTS = "menu,item,count\n" + "".join(
    f"{m},{x},{c}\n"
    for m, x, c in [("ab", "a", 6), ("ab", "b", 4), ("bc", "b", 6), ("bc", "c", 4), ("ac", "a", 1), ("ac", "c", 9)]
)


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS)
    return path


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


def start(*arguments, **options):
    command = [sys.executable, "-m", "rumflow", *map(str, arguments)]
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    return subprocess.Popen(command, text=True, **{**pipes, **options})


# Files.


@pytest.mark.parametrize("command", ["project", "report"])
def test_files_are_written_through_links(capsys, counts, tmp_path, command):
    target, link = tmp_path / "there.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    assert run(capsys, command, counts, *out(command, link))[0] == 0
    assert link.is_symlink()
    assert len(target.read_text()) > 100


@pytest.mark.parametrize("command", ["project", "report", "simulate"])
def test_pipes_and_devices_are_written_into(capsys, counts, tmp_path, command):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
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


@pytest.mark.parametrize("command", ["project", "report", "test", "bounds"])
def test_the_input_is_not_overwritten(capsys, counts, tmp_path, command):
    link = tmp_path / "link.csv"
    link.symlink_to(counts)
    for path in (counts, link):
        code, _, err = run(capsys, command, counts, *out(command, path))
        assert code == 1
        assert "is the file that was read" in err
    assert counts.read_text() == COUNTS


def test_the_input_is_not_overwritten_through_a_pipe(counts):
    with counts.open() as file:
        done = start("project", "-", "--out", counts, stdin=file)
        _, err = done.communicate()
    assert done.returncode == 1
    assert "is the file that was read" in err
    assert counts.read_text() == COUNTS


@pytest.mark.parametrize("command", ["project", "report", "test", "bounds", "simulate", "bench"])
def test_files_that_cannot_be_written(capsys, counts, tmp_path, command):
    data = {"simulate": ["noisy"], "bench": []}.get(command, [counts])
    for path, why in ((tmp_path, "is a folder"), (tmp_path / "no" / "x.csv", "no folder"), (counts / "x", "written")):
        begin = time.perf_counter()
        code, printed, err = run(capsys, command, *data, *out(command, path, 100_000))
        assert code == 1
        assert why in err
        assert printed == ""
        assert time.perf_counter() - begin < 5  # said before the work


def out(command, path, n_boot=9):
    more = {"bounds": ["--for", "a,b,c"], "test": ["--n-boot", n_boot], "report": ["--n-boot", n_boot]}
    return ["--out", path, *more.get(command, [])]


def test_a_full_disk_does_not_lose_the_answer(capsys, counts):
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    code, printed, err = run(capsys, "project", counts, "--out", "/dev/full")
    assert code == 1
    assert "Distance to the nearest" in printed
    assert "No space left" in err


def test_tables_for_people_hold_no_formula(capsys, tmp_path):
    data = tmp_path / "formulas.csv"
    data.write_text(
        "group,menu,item,count\n"
        + "".join(f'@SUM(A1),"=1+1|@b",{x},{c}\n+c,"=1+1|@b",{x},{c}\n' for x, c in (("=1+1", 3), ("@b", 4)))
    )
    reading = ["--separator", "|", "-q"]
    for arguments in (["project"], ["project", "--by", "group"], ["test", "--by", "group", "--n-boot", 9]):
        path = tmp_path / "out.csv"
        code, _, err = run(capsys, arguments[0], data, *arguments[1:], *reading, "--out", path)
        assert code == 0, err
        cells = [
            cell for line in path.read_text().splitlines() for cell in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', line)
        ]
        assert not [cell for cell in cells if cell.strip('"')[:1] in "=@+" and cell]
        assert any(cell.strip('"').startswith(("'=", "'@")) for cell in cells)


# Interrupts.


def test_an_interrupted_report_leaves_the_old_page(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    page.write_text("old")
    data = tmp_path / "noisy.csv"
    assert main(["simulate", "noisy", "-n", "6", "--seed", "1", "--out", str(data)]) == 0
    # Compiled beforehand: what is tested is the interruption of the work.
    assert main(["report", str(data), "-o", str(tmp_path / "first.html"), "--n-boot", "10", "-q"]) == 0
    process = start("report", data, "-o", page, "--n-boot", "5000000")
    while "items" not in process.stderr.readline():
        pass
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert page.read_text() == "old"
    # Where some replicates are done the test has an answer, but the page would not be the one that was asked for.
    monkeypatch.setattr("rumflow.report.page.rum_test", lambda *_, **__: SimpleNamespace(interrupted=True))
    assert main(["report", str(data), "-o", str(page), "-q"]) == 130
    assert page.read_text() == "old"


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.5])
def test_interrupted_while_it_starts(seconds):
    """From the moment the command is called: while NumPy, Numba and the kernels are loaded."""
    script = (
        "import os, signal, sys, threading; from rumflow.cli.main import main; "
        "sys.argv = ['rumflow', 'demo']; "
        f"threading.Timer({seconds}, os.kill, (os.getpid(), signal.SIGINT)).start(); sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("rumflow: interrupted\n")
    assert done.returncode in (130, -signal.SIGINT)


def test_an_interrupt_ends_the_groups(capsys, tmp_path, monkeypatch):
    from rumflow.cli import project as command

    path = tmp_path / "groups.csv"
    path.write_text("group,menu,item,count\n" + "".join(f"{g},ab,{x},5\n" for g in "pqr" for x in "ab"))
    interrupted = SimpleNamespace(
        misfits=lambda _: [], distance=0.1, gap=1.0, status=rf.Status.INTERRUPTED, problem=None, inside=False
    )
    monkeypatch.setattr(command, "project", lambda *_, **__: interrupted)
    code, printed, _ = run(capsys, "project", path, "--by", "group", "--json")
    assert code == 2
    assert len(json.loads(printed)["results"]) == 1


# Groups and pipes.


def test_names_of_groups_are_distinct(capsys, tmp_path):
    assert name_of(("x, y", "z")) != name_of(("x", "y, z"))
    assert name_of(("a", "b")) == "a, b"
    assert name_of((("a", "b"), 'c"')) == 'a, b, "c"""'
    path = tmp_path / "two.csv"
    path.write_text(
        "first,second,menu,item,count\n"
        + "".join(f"{g},ab,{x},5\n" for g in ('"x, y",z', 'x,"y, z"', "p,q") for x in "ab")
    )
    reading = ["--by", "group", "--group", "first,second", "--json"]
    code, printed, _ = run(capsys, "project", path, *reading)
    assert code == 0
    assert [r["name"] for r in json.loads(printed)["results"]] == ['"x, y", z', 'x, "y, z"', "p, q"]
    code, printed, _ = run(capsys, "test", path, *reading, "--n-boot", 9)
    assert code == 0
    assert len(json.loads(printed)["results"]) == 3


def test_what_is_said_of_groups_holds_when_they_are_taken_apart(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("group,menu,choice\n" + "".join(f"{g},ab,{x}\n" for g in "pqr" for x in "ab"))
    _, _, err = run(capsys, "project", path, "--by", "group")
    assert "3 groups" in err
    assert "together" not in err


def test_a_file_named_twice(capsys, counts):
    code, _, err = run(capsys, "test", counts, counts)
    assert code == 1
    assert "named twice" in err


def test_layouts_of_several_columns(capsys, tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("a1,a2,pick\ntea,milk,1\ntea,milk,2\nmilk,juice,1\ntea,juice,9\n")
    reading = ["--menu", "a1,a2", "--choice", "pick", "--base", "1", "--missing", "9"]
    code, printed, err = run(capsys, "project", path, *reading, "--json")
    assert code == 0, err
    assert json.loads(printed)["choices"] == 3


def test_doubts_about_the_data_are_said_once(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("group,menu,choice\n" + "".join(f'g{k},"a,b",{"ab"[k % 2]}\n' for k in range(30)))
    for quiet in ([], ["-q"], ["--json"]):
        code, _, err = run(capsys, "project", path, *quiet)
        assert code == 0
        assert err.count("is it a group?") == 1
        assert "UserWarning" not in err


def test_choices_from_a_pipe(counts):
    process = start("test", "-", "--n-boot", "19", "--seed", "1", "--json")
    printed, err = process.communicate(COUNTS, timeout=120)
    assert process.returncode == 0, err
    assert json.loads(printed)["pvalue"] == rf.rum_test(rf.ChoiceData.from_csv(counts), n_boot=19, seed=1).pvalue


# Numbers beyond sense.


def test_numbers_beyond_sense(capsys, counts, tmp_path):
    for arguments, words in [
        (["test", counts, "--n-boot", "99999999999"], "--n-boot=99999999999"),
        (["report", counts, "--n-boot", "99999999999", "-o", tmp_path / "x.html"], "--n-boot=99999999999"),
        (["test", counts, "--n-boot", "0"], "--n-boot"),
        (["test", counts, "--n-boot", "9" * 6000], "--n-boot"),
        (["simulate", "noisy", "--draws", "100000000", "-n", "12", "--out", tmp_path / "x.csv"], "fewer --draws"),
        (["simulate", "noisy", "--draws", "9" * 30, "--out", tmp_path / "x.csv"], "--draws"),
        (["simulate", "noisy", "--seed", "-5", "--out", tmp_path / "x.csv"], "--seed"),
        (["simulate", "noisy", "--share", "nan", "--out", tmp_path / "x.csv"], "--share"),
        (["bounds", counts, "--for", "a,b,c", "--confidence", "7"], "confidence"),
        (["project", counts, "--tol", "nan"], "tol"),
        (["project", counts, "--max-seconds", "-1"], "--max-seconds=-1"),
        (["project", counts, "--top", "-1"], "--top"),
        (["test", counts, "--jobs", "0"], "--jobs=0"),
    ]:
        code, printed, err = run(capsys, *arguments)
        assert code == 1, arguments
        assert words in err
        assert len(err.splitlines()) <= 4
        assert printed == ""
    assert not (tmp_path / "x.csv").exists()
    many = ["simulate", "noisy", "--draws", 10**12, "-n", 5, "--form", "long", "--seed", 1, "--out", tmp_path / "x.csv"]
    assert run(capsys, *many)[0] == 0
    assert rf.ChoiceData.from_csv(tmp_path / "x.csv").n_observations == 26 * 10**12


@pytest.mark.parametrize("n_boot", [True, 0, 2.5, "9", None, 10**11])
def test_numbers_of_replicates(counts, n_boot):
    with pytest.raises(rf.InputError, match="n_boot"):
        rf.rum_test(rf.ChoiceData.from_csv(counts), n_boot=n_boot)


def test_memory_of_many_tests_is_asked_for_first(counts, monkeypatch):
    monkeypatch.setattr("rumflow.core.memory.available_memory", lambda: 2**30)
    data = rf.ChoiceData.from_csv(counts)
    with pytest.raises(rf.InputError, match=r"9 tests needs about .* take fewer replicates"):
        rf.rum_test_many([data] * 9, n_boot=10**7)


# The rest.


def test_projection_by_inverse_variance_is_the_statistic_of_the_test(capsys, tmp_path):
    path = tmp_path / "data.csv"
    assert main(["simulate", "dirichlet", "-n", "4", "--seed", "2", "--share", "0.7", "--out", str(path)]) == 0
    capsys.readouterr()
    data = rf.ChoiceData.from_csv(path)
    for weights in ("inverse-variance", "counts"):
        distance = json.loads(run(capsys, "project", path, "--weights", weights, "--json")[1])["distance"]
        statistic = rf.rum_test(data, n_boot=1, seed=0, weights=weights).statistic
        assert distance**2 == pytest.approx(statistic, rel=1e-8)
    assert "(weighted)" in run(capsys, "project", path, "--weights", "inverse-variance")[1]


def test_a_report_says_how_it_was_made(capsys, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    data, page = tmp_path / "my data.csv", tmp_path / "page.html"
    data.write_text(COUNTS)
    assert run(capsys, "report", data, "--menu", "menu", "-o", page, "--n-boot", 0)[0] == 0
    command = re.search(r"rumflow report .* --n-boot 0", page.read_text()).group()
    assert f"{data}&#39; --menu menu -o" in command


def test_convention_is_public():
    assert rf.Convention(set="cone").set == "cone"
    assert "Convention" in dir(rf)
    with pytest.raises(AttributeError, match="nothing"):
        _ = rf.nothing


@pytest.mark.parametrize("threads", ["x", 0, -1, 1.5, True, 10**9])
def test_numbers_of_threads(threads):
    rho = rf.simulate.dirichlet(3, 0)
    for work in (lambda: rf.project(rho, threads=threads), lambda: rf.project_many([rho], threads=threads)):
        with pytest.raises(rf.InputError, match="threads="):
            work()


@pytest.mark.parametrize("text", ["x", "0", "-1", "1.5", "²", "1" * 40])
def test_numbers_of_threads_in_the_environment(monkeypatch, text):
    monkeypatch.setenv("RUMFLOW_THREADS", text)
    with pytest.raises(rf.InputError, match="RUMFLOW_THREADS"):
        rf.project_many([rf.simulate.dirichlet(3, 0)])
    monkeypatch.setenv("RUMFLOW_THREADS", "2")
    assert np.isfinite(rf.project_many([rf.simulate.dirichlet(3, 0)], threads=np.int64(1)).objective).all()


KERNEL = """
import resource, sys
if sys.argv[1] == "full":  # no file may grow beyond 4 KiB: as on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
if sys.argv[1] == "nowhere":
    import numba.core.caching as caching
    caching.CacheImpl._locator_classes = []
    caching.CodeLibraryCacheImpl._locator_classes = caching.CompileResultCacheImpl._locator_classes = []
from rumflow import Lattice
print(Lattice(2).to_internal([[0, 0], [1, 0], [0, 1], [0.25, 0.75]]).tolist())
"""


@pytest.mark.parametrize("disk", ["full", "nowhere", "missing", "damaged"])
def test_without_room_for_compiled_kernels(tmp_path, disk):
    """Slow, but right, and said once."""
    folder = tmp_path / "cache"
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null/no" if disk == "missing" else str(folder)}

    def compute(how):
        command = [sys.executable, "-c", KERNEL, how]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "[[1.0, 0.25], [1.0, 0.75]]\n"
        return done.stderr

    if disk == "damaged":
        compute("fine")
        files = list(folder.rglob("*.nb*"))
        assert files
        for k, file in enumerate(files):
            file.write_bytes(file.read_bytes()[: 100 * (k % 2)])
        assert compute("fine") == ""
        return
    err = compute(disk)
    assert err.count("cannot be kept on disk") == (0 if disk == "missing" else 1)


def test_citation_and_changelog_agree():
    root = Path(__file__).parents[1]
    citation = (root / "CITATION.cff").read_text()
    assert f"\nversion: {rf.__version__}\n" in citation
    heading = re.search(
        rf"^## {re.escape(rf.__version__)} \((.*)\)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    released = re.search(r"^date-released: (.*)$", citation, re.MULTILINE)
    assert (heading.group(1) == "unreleased") == (released is None)
    assert released is None or released.group(1) == heading.group(1)


@pytest.mark.parametrize("encoding", ["none", "", "\x00", "rot13"])
def test_encodings_that_are_none(capsys, counts, encoding):
    code, _, err = run(capsys, "project", counts, "--encoding", encoding)
    assert code == 1
    assert "encoding=" in err


def test_empty_fields_as_codes_for_missing_choices(capsys, tmp_path):
    path = tmp_path / "choices.csv"
    path.write_text("menu,choice\n" + 5 * '"a,b",a\n' + 4 * '"a,b",b\n' + 2 * '"a,b",\n')
    code, out, _ = run(capsys, "project", path, "--missing", "", "--json")
    assert code == 0
    assert json.loads(out)["choices"] == 9


def test_intervals_show_their_progress(capsys, counts, monkeypatch):
    monkeypatch.setattr("rumflow.cli.bounds.show_progress", lambda arguments: True)
    monkeypatch.setattr("rumflow.output.progress.time.perf_counter", itertools.count().__next__)
    code, out, err = run(capsys, "bounds", counts, "--for", "a,b,c", "--item", "a", "--n-boot", "19")
    assert code == 0
    assert "values tested at most" in err
    assert err.endswith("\n")
    assert "confidence" in out


def test_json_has_no_infinite_numbers(capsys, counts):
    code, out, _ = run(capsys, "compare", counts, "--above", "a>b", "--json")
    assert code == 0
    assert json.loads(out, parse_constant=pytest.fail)["models"][1]["loglik"] is None


@pytest.mark.parametrize("number", ["99999999999", "10000000"])
def test_intervals_of_too_many_replicates_are_refused_at_once(capsys, tmp_path, number, monkeypatch):
    monkeypatch.setattr("rumflow.core.memory.available_memory", lambda: 1 << 28)
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS)
    code, _, err = run(capsys, "bounds", path, "--for", "a,b,c", "--n-boot", number)
    assert code == 1
    assert "replicates" in err


# Parts of the data.


def grouped(tmp_path):
    path = tmp_path / "grouped.csv"
    rows = [("north", "a|b|none", "a", 6), ("north", "a|b|none", "b", 4), ("north", "a|b|none", "none", 90)]
    rows += [("north", "a|none", "a", 5), ("north", "b|none", "none", 7)]
    rows += [
        ("south", "a|b|none", "a", 1),
        ("south", "a|b|none", "b", 9),
        ("south", "a|b", "a", 2),
        ("south", "a|b", "b", 3),
    ]
    path.write_text("group,menu,item,count\n" + "".join(f"{g},{m},{x},{c}\n" for g, m, x, c in rows))
    return path


def test_one_group_alone_and_items_left_out(capsys, tmp_path):
    path = grouped(tmp_path)
    code, text, err = run(capsys, "project", path, "--only", "south", "--leave-out", "none", "--json")
    assert code == 0
    answer = json.loads(text)
    assert (answer["items"], answer["menus"], answer["choices"]) == (
        ["a", "b"],
        1,
        15,
    )  # {a, b, none} and {a, b} are one
    assert "only group south: 2 menus, 15 choices" in answer["understood"]
    assert "without none: 2 items, 1 menu, 15 choices" in answer["understood"]
    for command in ("explain", "report", "test", "bounds", "compare"):
        more = {"report": ["-o", tmp_path / "page.html"], "bounds": ["--for", "a,b"], "test": ["--n-boot", 19]}
        code, _, err = run(capsys, command, path, "--only", "north", *more.get(command, []))
        assert code == 0, err
        assert "only group north: 3 menus, 112 choices" in err
    code, _, err = run(capsys, "explain", path, "--only", "west")
    assert code == 1
    assert "there is no such group; there are north; south" in err
    code, _, err = run(capsys, "explain", path, "--leave-out", "nothing")
    assert code == 1
    assert "--leave-out: item 'nothing' is unknown" in err
    code, _, err = run(capsys, "project", path, "--group", "no", "--subject", "group", "--only", "south")
    assert code == 0
    assert "only subject south" in err


def test_only_needs_groups_or_subjects(capsys, counts):
    code, _, err = run(capsys, "explain", counts, "--only", "a")
    assert code == 1
    assert "have no group" in err
    counts.write_text("menu,choice\na|b,a\na|b,b\n")
    assert "have no group" in run(capsys, "explain", counts, "--only", "a")[2]


def test_twice_names_the_columns_that_may_tell_rows_apart(capsys, tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("season,menu,item,count\nwet,a|b,a,3\nwet,a|b,b,4\ndry,a|b,a,3\n")
    code, _, err = run(capsys, "project", path)
    assert code == 1
    assert "columns without a use are season" in err


def test_long_labels_are_not_cut_in_tables(capsys, tmp_path):
    names = [f"room {k} with a view of the sea and two beds" for k in range(6)]
    path = tmp_path / "rooms.csv"
    menus = [names[:3], names[1:5], names]
    rows = [f"{'|'.join(menu)},{item},{5 + k}" for menu in menus for k, item in enumerate(menu)]
    path.write_text("menu,item,count\n" + "\n".join(rows) + "\n")
    code, text, _ = run(capsys, "bounds", path, "--next", "-q")
    assert code == 0
    rows = re.split(r"\n(?=\{|everything except)", text.split("---\n")[-1].rpartition("\nwidth:")[0])
    told = [" ".join(re.sub(r" +[0-9.]+ +[0-9.]+$", "", row, flags=re.M).split()) for row in rows]
    assert len(told) == len(set(told)) == 10
    assert all(row.startswith(("{", "everything except ")) and "..." not in row for row in told)


def test_shares_without_sample_sizes(capsys, tmp_path):
    path, page = tmp_path / "shares.csv", tmp_path / "page.html"
    path.write_text("menu,item,count\na|b,a,0.25\na|b,b,0.75\na|b|c,a,0.5\na|b|c,b,0.25\na|b|c,c,0.25\n")
    code, text, err = run(capsys, "report", path, "-o", page, "--json")
    assert code == 0, err
    assert json.loads(text)["pvalue"] is None
    assert "How many choices are behind the shares is not known." in page.read_text()
    code, _, err = run(capsys, "test", path)
    assert code == 1
    assert "in the file (counts, or a column total)" in err


def test_a_billion_choices_and_one(capsys, tmp_path):
    path = tmp_path / "unequal.csv"
    rows = [
        ("a|b", "a", 10**6),
        ("a|b", "b", 1),
        ("b|c", "b", 2),
        ("a|c", "c", 3),
        ("a|b|c", "a", 1),
        ("a|b|c", "b", 10**9),
    ]
    path.write_text("menu,item,count\n" + "".join(f"{menu},{item},{count}\n" for menu, item, count in rows))
    code, text, err = run(capsys, "explain", path, "--n-boot", 39, "--halves", 2, "--json")
    assert code == 0, err
    assert json.loads(text)["conflicts"]
    code, text, err = run(capsys, "bounds", path, "--for", "b,c", "--item", "b", "--n-boot", 39, "--json")
    assert code == 0, err
    (only,) = json.loads(text)["bounds"]
    assert only["from"] is None or only["from"] <= only["lower"]
    path.write_text(path.read_text().replace("1000000000", "10000000000"))
    code, _, err = run(capsys, "bounds", path, "--for", "b,c", "--n-boot", 39)
    assert code == 1
    assert "--confidence none" in err
    path.write_text(path.read_text().replace("10000000000", "9000000000000"))
    code, _, err = run(capsys, "test", path, "--n-boot", 39)
    assert code == 1
    assert "menu {a, b, c} has weight 9e+12 and menu {b, c} has 2;" in err


@pytest.mark.parametrize("command", ["test", "explain", "bounds", "assort", "report", "compare"])
def test_subjects_that_are_not_resampled_whole_are_pointed_out(capsys, tmp_path, command):
    path = tmp_path / "subjects.csv"
    path.write_text("menu,choice,subject\n" + "".join(f"a|b,{x},{s}\na|b|c,{x},{s}\n" for s in range(4) for x in "ab"))
    more = {"bounds": ["--for", "a,c"], "assort": ["--revenue", "b=1,c=2", "--outside", "a", "--confidence", 0.9]}
    more |= {"report": ["-o", tmp_path / "page.html"], "explain": ["--halves", 2]}
    words = [command, path, *more.get(command, []), "--n-boot", 19]
    hint = "--cluster in the shell" if command == "test" else "--cluster resamples whole subjects"
    _, text, err = run(capsys, *words)
    assert hint in (text if command == "test" else err)
    assert "--cluster" not in "".join(run(capsys, *words, "--cluster")[1:])
    if command == "test":  # of one subject there is nothing to resample whole
        assert "--cluster resamples" not in run(capsys, *words, "--by", "subject")[2]


def test_cluster_without_tests_is_an_error(capsys, tmp_path):
    path = tmp_path / "subjects.csv"
    path.write_text("menu,choice,subject\n" + "".join(f"a|b,{x},{s}\na|b|c,{x},{s}\n" for s in range(4) for x in "ab"))
    code, _, err = run(capsys, "compare", path, "--cluster")
    assert code == 1
    assert "--n-boot 199" in err
    code, text, _ = run(capsys, "compare", path, "--cluster", "--n-boot", 19, "--json")
    assert code == 0
    assert (
        json.loads(text)["models"][0]["pvalue"]
        == rf.rum_test(rf.ChoiceData.from_csv(path), 19, cluster=True, seed=0).pvalue
    )
