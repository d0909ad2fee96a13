"""`rumflow app`: a page on this machine for people who do not program."""

from __future__ import annotations

import argparse
import signal
import webbrowser
from types import FrameType

from rumflow.cli.answers import OK
from rumflow.cli.arguments import Checked, whole_number
from rumflow.errors import InputError
from rumflow.output.frames import optional

EXAMPLE = "rumflow app"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the page is."""
    number, size = whole_number(0, 65535), whole_number(1, 100_000)
    parser.add_argument("--port", action=Checked, check=number, default=0, help="of the page (default: a free one)")
    text = "largest file that the page takes (default 256)"
    parser.add_argument("--max-upload", action=Checked, check=size, default=256, metavar="MB", help=text)
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


def run(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from rumflow.app.server import AppServer

    for name in ("jinja2", "matplotlib"):
        optional(name, "report")
    for name in ("SIGTERM", "SIGHUP"):  # the latter where a terminal is closed; Windows has none
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _stop)
    try:
        server = AppServer(arguments.port, arguments.max_upload * 1_000_000)
    except OSError as fault:
        raise InputError(f"--port {arguments.port}: cannot be used ({fault.strerror or fault})") from None
    try:
        print(f"The page is at {server.address}\nIt is for this machine only. Ctrl-C ends it.", flush=True)
        if not arguments.no_browser:
            webbrowser.open(server.address)
        server.serve_forever()
    except KeyboardInterrupt:
        print("\nThe page has ended; its files are removed.")
    finally:
        server.close()
    return OK


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
