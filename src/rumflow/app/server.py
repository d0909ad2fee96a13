"""The page's server: on this machine only, and only for whoever knows the token in its address.

Every request must name this machine as its host (else a name that is made to point here could read answers), come from the page
itself (no other origin), and have the token. Uploads are streamed to a private folder under names that the browser has no part
in; no path that it sends is ever opened.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from rumflow.app.jobs import CANCELLED, Jobs
from rumflow.data.packed import unpacks_to_more
from rumflow.text import visible
from rumflow.version import __version__

HOST = "127.0.0.1"

#: Uploads that are kept (older ones are removed), bytes of a question, and how much larger than an upload its content may be.
MOST_UPLOADS, MOST_QUESTION, MOST_UNPACKED = 6, 1 << 20, 8

_PAGES = {
    "": ("rumflow.app", "page.html", "text/html"),
    "app.js": ("rumflow.app", "app.js", "text/javascript"),
    "fields.js": ("rumflow.app", "fields.js", "text/javascript"),
    "app.css": ("rumflow.app", "app.css", "text/css"),
    "report.css": ("rumflow.report", "style.css", "text/css"),
    "report.js": ("rumflow.report", "script.js", "text/javascript"),
}
_FILES = {"html": "text/html", "csv": "text/csv", "tex": "application/x-tex"}
_ENDINGS = (".gz", ".xlsx", ".parquet", ".pq", ".soc", ".soi", ".toc", ".toi")

# Styles may be inline, since pictures and the report have them; scripts may not.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Refused(Exception):
    """A request that is not answered: the status and, for people, the reason."""


class AppServer(ThreadingMixIn, TCPServer):
    """The server, its folder and its worker; `close` leaves nothing behind."""

    daemon_threads = allow_reuse_address = True

    def __init__(self, port: int = 0, most_bytes: int = 256 << 20) -> None:
        super().__init__((HOST, port), _Handler)
        self.most_bytes: int = most_bytes
        self.token: str = secrets.token_urlsafe(24)
        self.port: int = int(self.server_address[1])
        self.address: str = f"http://{HOST}:{self.port}/{self.token}/"
        self.folder: Path = Path(tempfile.mkdtemp(prefix="rumflow-app-"))
        self.uploads: dict[str, tuple[Path, str]] = {}  # the file, and what its owner calls it
        self.jobs: Jobs = Jobs(str(self.folder))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away in the middle is no error."""

    def close(self) -> None:
        """Stop listening, end the worker, remove the folder."""
        self.server_close()
        self.jobs.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Handler(BaseHTTPRequestHandler):
    server: AppServer
    server_version, sys_version, protocol_version = "rumflow", "", "HTTP/1.1"
    timeout = 120  # seconds that a silent connection is kept

    def log_message(self, format: str, *args: Any) -> None:
        """Requests hold the token: they are not printed."""

    def do_GET(self) -> None:
        """Pages, jobs and files."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Uploads, questions, and cancelling them."""
        self._answer(self._post)

    def _answer(self, make: Any) -> None:
        try:
            make(*self._allowed())
        except Refused as fault:
            self.close_connection = True  # what is left of the request is not read
            self._send_json({"error": fault.args[1]}, fault.args[0])

    def _allowed(self) -> tuple[list[str], str]:
        """The parts of the address behind the token, and the name in its query; an error where the page did not send this."""
        host, url = self.headers.get("Host", ""), urlsplit(self.path)
        token, *rest = url.path.lstrip("/").split("/")
        if host not in (f"{HOST}:{self.server.port}", f"localhost:{self.server.port}"):
            raise Refused(HTTPStatus.FORBIDDEN, "wrong host")
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise Refused(HTTPStatus.FORBIDDEN, "wrong origin")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "wrong address: open the one that rumflow app printed")
        if rest != [""] and self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN, "wrong site")
        return rest, parse_qs(url.query).get("name", [""])[0]

    def _get(self, rest: list[str], name: str) -> None:
        job = self.server.jobs.all.get(rest[1]) if len(rest) > 1 else None
        if len(rest) == 1 and rest[0] in _PAGES:
            home, page, kind = _PAGES[rest[0]]
            self._send((files(home) / page).read_bytes(), kind)
        elif rest == ["answers"]:
            asked = [(own, one) for own, one in self.server.jobs.all.items() if one.kind == "ask"]
            found = [own for own, one in asked if one.state != CANCELLED and "error" not in one.answer]
            more = {"read": self._read_before(), "most_bytes": self.server.most_bytes, "version": __version__}
            self._send_json({"answers": found} | more)
        elif job is not None and rest[0] == "job" and len(rest) == 2:
            self._send_json(self.server.jobs.about(job) | {"title": job.content.get("title"), "answer": job.answer})
        elif job is not None and rest[0] == "file" and rest[2:] in ([one] for one in _FILES) and "html" in job.answer:
            content = Path(job.content["folder"], f"answer.{rest[2]}").read_bytes()
            shown = quote("-".join(re.findall(r"\w+", job.content["title"]))[:80])
            self._send(
                content, _FILES[rest[2]], {"Content-Disposition": f"attachment; filename*=UTF-8''{shown}.{rest[2]}"}
            )
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _read_before(self) -> list[dict[str, Any]]:
        """Files that were read and are still here, as the page names them, each as it was read last."""
        keys = {str(path): key for key, (path, _) in self.server.uploads.items()}
        good = [one for one in list(self.server.jobs.all.values()) if one.kind == "read" and "items" in one.answer]
        read = [one.content for one in good if one.content["path"] in keys]
        return [{"upload": keys[one["path"]], "name": one["name"], "options": one["options"]} for one in read]

    def _post(self, rest: list[str], name: str) -> None:
        if rest == ["upload"]:
            return self._send_json({"upload": self._upload(name)})
        content = self._body()
        if rest == ["job"]:
            if job := self.server.jobs.add(*self._job(content)):
                return self._send_json({"job": job})
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many questions are waiting; cancel one of them")
        if len(rest) != 2 or rest[0] not in ("cancel", "forget"):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        getattr(self.server.jobs, rest[0])(rest[1])
        self._send_json({})

    def _job(self, content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The kind of a job, and what the worker is told; files are named by what `_upload` returned."""
        kind, options, values = (content.get(name) for name in ("kind", "options", "values"))
        if kind == "start":
            return "start", {}
        path, name = self.server.uploads.get(str(content.get("upload")), ("", str(content.get("dataset"))))
        if not path and content.get("dataset") is None:
            raise Refused(HTTPStatus.GONE, "this file is no longer here: choose it again")
        source = {"path": str(path), "name": name, "options": options}
        if kind == "read":
            return "read", source
        if kind not in ("ask", "cost") or not isinstance(values, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "this is not a question")
        question, title, said = (visible(content.get(own, ""))[:400] for own in ("question", "title", "said"))
        asked = {"question": question, "values": values, "source": source, "title": title or question, "said": said}
        return kind, asked | (
            {"folder": tempfile.mkdtemp(prefix="answer-", dir=self.server.folder)} if kind == "ask" else {}
        )

    def _length(self, most: int) -> int:
        text = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,15}", text, re.ASCII) or self.headers.get("Transfer-Encoding"):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the length of the content is needed")
        if int(text) > most:
            self.rfile.read(min(int(text), 1 << 24))  # else a browser does not hear the reason
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most / 1e6:,.0f} MB can be sent")
        return int(text)

    def _body(self) -> dict[str, Any]:
        with suppress(ValueError, RecursionError):
            content = json.loads(self.rfile.read(self._length(MOST_QUESTION)))
            if isinstance(content, dict):
                return content
        raise Refused(HTTPStatus.BAD_REQUEST, "JSON is needed")

    def _upload(self, name: str) -> str:
        """Stream the body to a file of the private folder, whose name the browser has no part in but for a known ending."""
        left, key, uploads = self._length(self.server.most_bytes), secrets.token_hex(8), self.server.uploads
        shown = visible(re.split(r"[/\\]", name)[-1])[-100:] or "data.csv"
        path = self.server.folder / (key + next((own for own in _ENDINGS if shown.lower().endswith(own)), ".csv"))
        try:
            with path.open("xb") as file:
                while left:
                    piece = self.rfile.read(min(left, 1 << 16))
                    if not piece:
                        raise Refused(HTTPStatus.BAD_REQUEST, "the file ended in the middle")
                    left -= file.write(piece)
            if unpacks_to_more(path, MOST_UNPACKED * self.server.most_bytes):
                raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "what is packed in this file is too large")
        except (Refused, OSError) as fault:
            path.unlink(missing_ok=True)
            if isinstance(fault, Refused):
                raise
            raise Refused(HTTPStatus.INSUFFICIENT_STORAGE, f"the file cannot be kept: {fault.strerror}") from None
        uploads[key] = path, shown
        for old in list(uploads)[:-MOST_UPLOADS]:
            uploads.pop(old)[0].unlink(missing_ok=True)
        return key

    def _send_json(self, content: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(json.dumps(content).encode(), "application/json", {}, status)

    def _send(self, content: bytes, kind: str, more: Any = (), status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        length = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(content))}
        for name, value in (_HEADERS | length | dict(more)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
