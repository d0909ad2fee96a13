"""What can be read only once, and what never ends."""

import contextlib
import csv
import gzip
import os
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from tests.data.readers.test_broken import broken
from tests.reference.public_layouts import LAYOUTS
from tests.reference.systems import not_on_windows

GOOD = b'menu,choice\n"tea,milk",tea\n"tea,juice",juice\n"milk,juice",milk\n' + b'"tea,milk",milk\n' * 50_000
READ = "import sys; from rumflow.data.choices import ChoiceData; print(ChoiceData.from_csv(sys.argv[1]).n_observations)"


def feed(path, content):
    """Write into a pipe from another thread."""

    def run():
        with contextlib.suppress(BrokenPipeError), open(path, "wb") as file:
            file.write(content)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@not_on_windows
@pytest.mark.parametrize("packed", [False, True])
def test_pipe(tmp_path, packed):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = feed(pipe, gzip.compress(GOOD) if packed else GOOD)
    data = ChoiceData.from_csv(pipe)
    thread.join(10)
    assert data.n_observations == 50_003
    assert str(pipe) in str(data.understood)


@not_on_windows
def test_parquet_through_a_pipe(tmp_path):
    pytest.importorskip("pyarrow")
    data = ChoiceData.from_counts({("a", "b"): {"a": 2, "b": 3}})
    data.to_parquet(tmp_path / "a.parquet")
    os.mkfifo(tmp_path / "pipe")
    for read in (ChoiceData.from_csv, ChoiceData.from_parquet):
        thread = feed(tmp_path / "pipe", (tmp_path / "a.parquet").read_bytes())
        assert read(tmp_path / "pipe").equals(data)
        thread.join(10)


@pytest.mark.parametrize("path", ["-", pytest.param("/dev/stdin", marks=not_on_windows)])
@pytest.mark.parametrize("how", ["pipe", "file"])
def test_standard_input(tmp_path, path, how):
    (tmp_path / "a.csv").write_bytes(GOOD)
    with open(tmp_path / "a.csv", "rb") as file:
        given = {"input": GOOD} if how == "pipe" else {"stdin": file}
        done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, timeout=120, check=True, **given)
    assert done.stdout.strip() == b"50003.0"


@not_on_windows
def test_process_substitution(tmp_path):
    (tmp_path / "a.csv").write_bytes(GOOD)
    command = f'{sys.executable} -c "{READ}" <(cat {tmp_path / "a.csv"})'
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=120, check=True)
    assert done.stdout.strip() == b"50003.0"


@not_on_windows
def test_errors_name_the_stream(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for content, words in ((b'menu,choice\n"a,b",c\n', "line 2"), (b"", "empty"), (b"\0" * 9000, "zero bytes")):
        thread = feed(tmp_path / "pipe", content)
        with pytest.raises(rf.InputError, match=words) as caught:
            ChoiceData.from_csv(tmp_path / "pipe")
        assert "pipe" in str(caught.value)
        thread.join(10)


@not_on_windows
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null"])
def test_devices_that_hold_no_table(device):
    with pytest.raises(rf.InputError, match=r"zero bytes|empty"):
        ChoiceData.from_csv(device)


@pytest.mark.parametrize("start", [b"", b"menu,choice\n", b'menu,choice\n"a,b",a\n"', b"caf\xe9"])
def test_a_line_without_end(tmp_path, start):
    """Half a gigabyte in one line: refused early, in little memory."""
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(start)
        for _ in range(64):
            file.write(b"a" * (1 << 23))
    tracemalloc.start()
    begin = time.process_time()
    with pytest.raises(rf.InputError, match=r"longer than 16 MiB|not utf-8 text|field larger"):
        ChoiceData.from_csv(path)
    assert time.process_time() - begin < 60
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()


def test_gzip_is_told_by_content(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(GOOD))
    (tmp_path / "b.csv.gz").write_bytes(GOOD)
    assert ChoiceData.from_csv(tmp_path / "a.csv").n_observations == 50_003
    assert ChoiceData.from_csv(tmp_path / "b.csv.gz").n_observations == 50_003


def test_lines_that_are_empty_without_end(tmp_path):
    """A gzip file of a few kilobytes may hold any number of them."""
    path = tmp_path / "empty.csv.gz"
    path.write_bytes(gzip.compress(b"menu,choice\na|b,a\n" + b"\n" * 3_000_000))
    begin = time.process_time()
    with pytest.raises(rf.InputError, match=r"line 1000003: more than 1,000,000 empty lines in a row"):
        ChoiceData.from_csv(path)
    assert time.process_time() - begin < 20  # a second
    path.write_bytes(gzip.compress(b"menu,choice\na|b,a\n" + b"\n" * 1_000 + b"a|b,b\n"))
    assert ChoiceData.from_csv(path).n_observations == 2


def outcome(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ChoiceData.from_csv(path, **options)
        except rf.InputError as fault:
            return str(fault)


def both_ways(monkeypatch, path, **options):
    """What the file gives by Arrow and row by row."""
    fast = outcome(path, **options)
    with monkeypatch.context() as patch:
        patch.setattr("rumflow.data.readers.sources.TextSource._by_arrow", lambda self, wanted: iter(()))
        slow = outcome(path, **options)
    if isinstance(slow, str):
        assert fast == slow
    else:
        assert fast.equals(slow)
        assert fast.understood == slow.understood
    return fast


def test_both_readers_are_equal_on_layouts_and_broken_files(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    for layout in LAYOUTS:
        path = tmp_path / "layout.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=layout.delimiter).writerows(
                [list(layout.table), *zip(*layout.table.values(), strict=True)]
            )
        for options in ({}, *([layout.options] if layout.options else [])):
            both_ways(monkeypatch, path, **options)
    for name, content, _ in broken():
        path = tmp_path / (name if "." in name else f"{name}.csv")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        both_ways(monkeypatch, path)


@pytest.mark.parametrize(
    "text",
    [
        'menu,choice\n"a,b",a\n\n\n"a,b",x\n',  # empty lines
        'menu,choice\n"a,b", a\na|b,b\n',  # a blank after the comma
        'menu,choice\n"a\nb,c",c\n"c,d",x\n',  # a line break in a label
        'menu,choice\n"a""b,c",c\n"c,d",d\n',
        'menu,choice,note\n"a,b",a, "x,y"\n"a,b",b,z\n',
        "menu,choice\r\na|b,a\r\na|b,b\r\n",
        "menu,choice\ra|b,a\ra|b,b\r",
        "\ufeffmenu,choice\na|b,a\na|b,b\n",
        "\n\nmenu,choice\na|b,a\na|b,z\n",
        'menu,"choice"\na|b,a\na|b,NA\n',
        "menu;choice\na|b;a\na|b;b",
        "menu,choice\na|b,a\na|b\n",
    ],
)
def test_both_readers_are_equal_on_odd_texts(tmp_path, monkeypatch, text):
    pytest.importorskip("pyarrow")
    path = tmp_path / "odd.csv"
    path.write_bytes(text.encode())
    both_ways(monkeypatch, path)


def test_lines_are_named_far_into_a_file_and_after_a_switch(tmp_path, monkeypatch):
    """The first chunks by Arrow, the rest row by row: nothing is lost, nothing is twice."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("rumflow.data.readers.sources.CHUNK", 1000)
    rows = [f"a|b,{'ab'[k % 3 == 0]},{k % 7}" for k in range(5300)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["menu,choice,subject", *rows, ""]), encoding="utf-8")
    assert both_ways(monkeypatch, path).n_observations == 5300
    rows[4100] = "a|b, a,3"
    path.write_text("\n".join(["menu,choice,subject", *rows, ""]), encoding="utf-8")
    assert both_ways(monkeypatch, path).n_observations == 5300
    rows[4500] = "a|b,z,3"
    path.write_text("\n".join(["menu,choice,subject", *rows, ""]), encoding="utf-8")
    assert "line 4502: the choice 'z'" in both_ways(monkeypatch, path)
    rows[4500] = "a|b,a"
    path.write_text("\n".join(["menu,choice,subject", *rows, ""]), encoding="utf-8")
    assert "line 4502: 2 fields, but the header has 3" in both_ways(monkeypatch, path)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_are_the_same_as_dicts(backend):
    module = pytest.importorskip(backend)
    pytest.importorskip("narwhals")
    make = module.table if backend == "pyarrow" else module.DataFrame
    for layout in LAYOUTS:
        if layout.options:
            given = ChoiceData.from_frame(layout.table, **layout.options)
            found = ChoiceData.from_frame(make(layout.table), **layout.options)
            assert found.equals(given)
            assert found.understood == given.understood
    odd = {"menu": [["a", "b"], ["a", "b"], ["b", "c"]], "choice": ["a", None, "c"], "subject": [None, 2, 2]}
    options = {"outside_option": "none", "subject": "subject"}
    assert ChoiceData.from_frame(make(odd), **options).equals(ChoiceData.from_frame(odd, **options))
