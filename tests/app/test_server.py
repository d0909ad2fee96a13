import gzip
import io
import json
import re
import socket
import stat
import zipfile

import pytest

import rumflow as rf
from rumflow.app.server import AppServer
from tests.app.conftest import drinks


def test_from_upload_to_download(client):
    status, answer = client.upload(drinks())
    assert status == 200
    source = {"upload": answer["upload"], "options": {"group": "age"}}
    data = client.answer(kind="read", **source)
    assert data["name"] == "drinks.csv"
    assert data["items"] == ["juice", "milk", "nothing", "tea"]
    assert data["facts"]["groups"] == 2
    cost = client.answer(kind="cost", question="distance", values={}, **source)
    assert cost == {"cost": "About 1 second on an idle machine, longer on a busy one. It can be cancelled at any time."}
    title = "How far, <b>tea</b>? (drinks.csv)"
    job = client.job(kind="ask", question="distance", values={}, title=title, said="Menus count: 1", **source)
    now = client.wait(job)
    assert (now["title"], now["before"]) == (title, 0)
    assert now["seconds"] >= 0
    assert "<svg" in now["answer"]["html"]
    status, headers, content = client.get(f"file/{job}/csv")
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''How-far-b-tea-b-drinks-csv.csv"
    assert content.startswith(b"menu,item,chosen by,nearest,points")
    assert client.get(f"file/{job}/tex")[2].startswith(b"% needs")
    assert client.get(f"file/{job}/html")[2].startswith(b"<!DOCTYPE html>")
    assert b"<h1>How far, &lt;b&gt;tea&lt;/b&gt;? (drinks.csv)</h1>" in client.get(f"file/{job}/html")[2]
    session = json.loads(client.get("answers")[2])
    assert job in session["answers"]
    assert session["read"][-1] == source | {"name": "drinks.csv"}  # offered again when the page is loaded again
    folders = sorted(client.server.folder.iterdir())
    assert client.post(f"forget/{job}", {})[0] == 200
    assert job not in json.loads(client.get("answers")[2])["answers"]
    assert client.get(f"file/{job}/csv")[0] == 404
    assert len(sorted(client.server.folder.iterdir())) == len(folders) - 1


def test_a_wrong_role_is_corrected(client):
    text = "menu,choice,taken\n" + "a;b,5,a\nb;c,5,b\na;c,5,c\n" * 5
    upload = client.upload(text)[1]["upload"]
    fault = client.answer(kind="read", upload=upload, options={})
    assert fault["error"]
    good = client.answer(kind="read", upload=upload, options={"menu": "menu", "choice": "taken"})
    assert good["items"] == ["a", "b", "c"]
    assert good["understood"]["roles"]["choice"] == "taken"


def test_pages_and_headers(client):
    for path, kind in (
        ("", "text/html"),
        ("app.js", "text/javascript"),
        ("app.css", "text/css"),
        ("report.css", "text/css"),
    ):
        status, headers, content = client.get(path)
        assert (status, headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")
        assert content
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe-inline" not in re.search("script-src[^;]*", headers["Content-Security-Policy"])[0]
        assert "Access-Control-Allow-Origin" not in headers
    page = client.get("")[2].decode()
    assert not re.search(r"https?://|\son[a-z]+=|<script>", page)


ATTACKS = [
    ("another origin", {"Origin": "http://evil.example"}, 403),
    ("another port", {"Origin": "http://127.0.0.1:1"}, 403),
    ("a file's origin", {"Origin": "null"}, 403),
    ("another site", {"Sec_Fetch_Site": "cross-site"}, 403),
    ("wrong host", {"Host": "evil.example"}, 403),
    ("host without port", {"Host": "127.0.0.1"}, 403),
]


@pytest.mark.parametrize(("name", "headers", "status"), ATTACKS)
def test_who_is_not_the_page_is_refused(name, headers, status, client):
    own = f"/{client.server.token}/answers"
    assert client.request("GET", own)[0] == 200
    found = client.request("GET", own, **headers)
    assert found[0] == status
    assert "Access-Control-Allow-Origin" not in found[1]
    assert client.request("POST", f"/{client.server.token}/upload?name=x", b"a", **headers)[0] == status


@pytest.mark.parametrize("path", ["/", "/answers", "/x/answers", "//answers", "/%00/answers", "/%C3%A9/"])
def test_without_the_token_nothing_is_shown(path, client):
    assert client.request("GET", path)[0] == 403
    assert client.server.token.encode() not in client.request("GET", path)[2]
    assert client.request("POST", path, b"{}")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "file/x/../../../etc/passwd",
        "%2e%2e/page.html",
        "server.py",
        "job/../answers",
        "file/x/csv",
        "job",
        "page.html",
    ],
)
def test_no_path_is_opened(path, client):
    assert client.get(path)[0] == 404
    assert client.post(path, {})[0] in (400, 404, 410)


def test_names_from_the_browser_name_no_file(client):
    for name in ("..%2F..%2Fetc%2Fcron.csv", "%2Fetc%2Fpasswd", "..%5C..%5Cx.csv", "x%00.csv", "", "a" * 3000):
        upload = client.upload("menu,choice\na;b,a\n", name)[1]["upload"]
        path, shown = client.server.uploads[upload]
        assert path.parent == client.server.folder
        assert re.fullmatch(r"[0-9a-f]{16}\.csv", path.name)
        assert not re.search(r"[/\x00]", shown)
    assert client.answer(kind="read", upload=upload, options={"menus": "/etc/passwd"})["error"]
    assert len(client.server.uploads) <= 6
    files = [path for path in client.server.folder.iterdir() if path.is_file()]
    assert len(files) == len(client.server.uploads)  # older ones are gone
    assert stat.S_IMODE(client.server.folder.stat().st_mode) == 0o700


def test_uploads_are_limited(client):
    before = len(list(client.server.folder.iterdir()))
    status, answer = client.upload(b"a" * 1_000_001)
    assert (status, answer["error"]) == (413, "at most 1 MB can be sent")
    bomb = gzip.compress(bytes(9_000_000))
    assert len(bomb) < 20_000
    assert client.upload(bomb, "x.csv.gz")[0] == 413
    assert client.upload(gzip.compress(b"a") + bomb, "x.gz")[0] == 413  # behind a harmless part
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/workbook.xml", bytes(9_000_000))
    assert client.upload(book.getvalue(), "x.xlsx")[0] == 413
    assert len(list(client.server.folder.iterdir())) == before


def test_two_gigabytes_are_refused_before_they_are_sent(client):
    server, before = client.server, len(list(client.server.folder.iterdir()))
    with socket.create_connection(("127.0.0.1", server.port), 60) as line:
        head = f"POST /{server.token}/upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {2 << 30}\r\n\r\n"
        line.sendall(head.encode() + bytes(1 << 24))
        assert b" 413 " in line.recv(100)
    assert len(list(server.folder.iterdir())) == before


@pytest.mark.parametrize(
    "header", ["", "Content-Length: -1", "Content-Length: x", "Transfer-Encoding: chunked\r\nContent-Length: 3"]
)
def test_a_body_of_unknown_length(header, client):
    server = client.server
    with socket.create_connection(("127.0.0.1", server.port), 10) as line:
        line.sendall(
            f"POST /{server.token}/upload HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{header}\r\n\r\n".encode()
        )
        assert b" 411 " in line.recv(100)


def test_an_upload_that_breaks_off_leaves_no_file(client):
    server = client.server
    before = sorted(server.folder.iterdir())
    with socket.create_connection(("127.0.0.1", server.port), 10) as line:
        head = f"POST /{server.token}/upload?name=x HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 100\r\n\r\n"
        line.sendall(head.encode() + b"menu")
        line.shutdown(socket.SHUT_WR)
        assert b" 400 " in line.recv(100)
    assert sorted(server.folder.iterdir()) == before


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"null", b"[" * 100_000])
def test_questions_that_are_none(content, client):
    assert client.post("job", content)[0] == 400


def test_jobs_that_are_none(client):
    assert client.post("job", {"kind": "read", "upload": "x"})[0] == 410
    assert client.post("job", {"kind": "eval", "dataset": "economist", "values": {}})[0] == 400
    assert client.post("job", {"kind": "ask", "dataset": "economist"})[0] == 400
    assert client.post("cancel/x", {})[0] == 200
    assert client.request("DELETE", f"/{client.server.token}/answers")[0] == 501
    assert "there is no question" in client.answer(kind="ask", dataset="economist", question="x", values={})["error"]
    assert "no data set" in client.answer(kind="read", dataset="/etc/passwd")["error"]


def test_a_port_that_is_taken(client):
    with pytest.raises(OSError, match="in use"):
        AppServer(client.server.port)


def test_results_are_those_of_the_library(client):
    answer = client.answer(kind="ask", dataset="economist", question="chance", values={"n_boot": 19})
    found = rf.rum_test(rf.datasets.load("economist"), n_boot=19, seed=0)
    assert f"{found.pvalue:.4g}" in answer["html"]
