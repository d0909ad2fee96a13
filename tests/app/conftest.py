"""A file of choices, and a page that is served while a module's tests run."""

import json
import threading
import time
from http.client import HTTPConnection

import pytest

from rumflow.app.server import AppServer

#: How often each item of a menu is chosen: tea more often beside juice, as no rational population does.
COUNTS = {"tea;milk": (24, 56), "tea;juice": (40, 40), "milk;juice": (44, 36), "tea;milk;juice": (48, 20, 12)}
COUNTS["tea;milk;juice;nothing"] = (30, 20, 14, 16)


def drinks():
    """A table of 400 choices of two groups; nothing means buying nothing."""
    lines = ["menu,choice,age"]
    for menu, counts in COUNTS.items():
        for item, count in zip(menu.split(";"), counts, strict=True):
            lines += [f"{menu},{item},{('young', 'old')[k % 2]}" for k in range(count)]
    return "\n".join(lines) + "\n"


class Client:
    """Talks to a server as its page does, and as nobody should."""

    def __init__(self, server):
        self.server = server

    def request(self, method, path, body=None, **headers):
        """The status, the headers and the content of an answer to a request for this very path."""
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            connection.request(
                method, path, body, headers={name.replace("_", "-"): own for name, own in headers.items()}
            )
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path):
        return self.request("GET", f"/{self.server.token}/{path}")

    def post(self, path, content):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        status, _, text = self.request("POST", f"/{self.server.token}/{path}", body)
        return status, json.loads(text)

    def upload(self, content, name="drinks.csv"):
        return self.post(f"upload?name={name}", content if isinstance(content, bytes) else content.encode())

    def job(self, **content):
        status, answer = self.post("job", content)
        assert status == 200, answer
        return answer["job"]

    def state(self, job):
        return json.loads(self.get(f"job/{job}")[2])

    def wait(self, job, *states):
        """Until a job is done, or in one of these states."""
        while (now := self.state(job))["state"] not in (states or ("done", "cancelled")):
            time.sleep(0.02)
        return now

    def answer(self, **content):
        return self.wait(self.job(**content))["answer"]


@pytest.fixture(scope="package")
def client():
    """One server with one worker for all tests of the folder."""
    server = AppServer(most_bytes=1_000_000)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Client(server)
    server.shutdown()
    server.close()
    assert not server.folder.exists()
