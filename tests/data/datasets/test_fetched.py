"""Public files: from RUMFLOW_DATA, or downloaded, here from a server on this machine; always checked."""

import sys
import threading
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest

import rumflow as rf
from rumflow.data.datasets import fetched

TEXT = "Choice,walk,bus\n1,1,1\n2,1,1\n2,0,1\n"


def test_the_files_that_are_there(data_folder):
    assert data_folder.exists()
    sizes = {name: rf.datasets.load(name).n_observations for name in fetched.SETS}
    assert sizes == {"abkk": 3 * 4099, "sfwork": 5029, "sfshop": 3157, "mg_2019": 32 * 11 * 160}
    for frame in fetched.FRAMES:
        assert rf.datasets.fetch_abkk(frame).equals(rf.datasets.fetch_abkk(frame).replace())
        assert rf.datasets.fetch_abkk(frame).n_observations == 4099
    assert rf.datasets.fetch_sfwork().equals(rf.datasets.load("sfwork"))
    assert rf.datasets.fetch_sfshop().description == rf.datasets.load("sfshop").description
    assert rf.datasets.fetch_mg_2019().description.name == "mg_2019"


def test_frames_have_names():
    with pytest.raises(rf.InputError, match="frame='x': accepted are None, 'high', 'medium' and 'low'"):
        rf.datasets.fetch_abkk("x")


@pytest.fixture
def public(tmp_path, monkeypatch):
    """A file on a server of this machine, and a way to download as pooch does, where pooch is not installed."""
    folder = tmp_path / "public"
    folder.mkdir()
    (folder / "small.csv").write_text(TEXT, encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    monkeypatch.delenv("RUMFLOW_DATA", raising=False)
    try:
        import pooch

        monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache" / name)
    except ImportError:
        monkeypatch.setitem(
            sys.modules, "pooch", SimpleNamespace(retrieve=retrieve, os_cache=lambda name: tmp_path / name)
        )
    address = f"http://127.0.0.1:{server.server_port}/small.csv"
    yield fetched.PublicFile("a/small.csv", sha256(TEXT.encode()).hexdigest(), address)
    server.shutdown()
    server.server_close()
    thread.join()


def retrieve(url, known_hash, fname, path):
    """What pooch.retrieve does."""
    target = Path(path) / fname
    if not target.exists():
        with urlopen(url, timeout=10) as answer:
            content = answer.read()
        if f"sha256:{sha256(content).hexdigest()}" != known_hash:
            raise ValueError("another hash")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return str(target)


def test_a_file_is_downloaded_once(public, monkeypatch):
    path = fetched.find_file(public)
    assert path.read_text(encoding="utf-8") == TEXT
    assert fetched.find_file(public._replace(address=public.address.replace("small", "gone"))) == path
    monkeypatch.setitem(fetched.FILES, "sfwork", public)
    assert rf.datasets.load("sfwork").n_observations == 3


def test_another_file_at_the_address(public):
    with pytest.raises(
        rf.InputError, match=r"could not be fetched .*; download it by hand to a/small\.csv in a folder"
    ):
        fetched.find_file(public._replace(checksum="0" * 64))


def test_no_such_address(public):
    with pytest.raises(rf.InputError, match=r"gone\.csv could not be fetched .*404"):
        fetched.find_file(public._replace(address=public.address.replace("small", "gone")))


def test_a_folder_of_the_user(tmp_path, monkeypatch, public):
    monkeypatch.setenv("RUMFLOW_DATA", str(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "small.csv").write_text(TEXT, encoding="utf-8")
    assert fetched.find_file(public._replace(address="http://nowhere.invalid/")) == tmp_path / "a" / "small.csv"
    (tmp_path / "a" / "small.csv").write_text(TEXT + "1,1,1\n", encoding="utf-8")
    with pytest.raises(rf.InputError, match=r"this is not the published file: its checksum \(SHA-256\) must be"):
        fetched.find_file(public)


def test_a_file_that_is_public_in_another_format_only(monkeypatch, tmp_path):
    monkeypatch.setenv("RUMFLOW_DATA", str(tmp_path))
    with pytest.raises(rf.InputError, match=r"as an R file only .* set RUMFLOW_DATA"):
        rf.datasets.fetch_mg_2019()


def test_without_pooch(monkeypatch):
    monkeypatch.delenv("RUMFLOW_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(rf.InputError, match=r"pooch is needed .* pip install \"rumflow\[fetch\]\""):
        rf.datasets.load("sfwork")
