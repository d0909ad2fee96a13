"""`rumflow`: run a command, and turn what goes wrong into a line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING

from rumflow.errors import NotConvergedError, RumflowError
from rumflow.text import visible_lines

if TYPE_CHECKING:
    from argparse import Namespace


def _leave(number: int, frame: FrameType | None) -> None:
    # NumPy makes an ImportError of a KeyboardInterrupt while it loads. There is nothing to clean up yet.
    os.write(2, b"rumflow: interrupted\n")
    os._exit(130)


def _complain(text: str, arguments: Namespace | None) -> None:
    from rumflow.cli.wording import shell_words

    print(f"rumflow: {visible_lines(shell_words(text, arguments))}", file=sys.stderr)


def _prepare_streams() -> None:
    """Let streams that are closed swallow what is written, and those of few characters write the others as Python does."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 -- until the process ends
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code is 0, 1 (input or usage), 2 (not converged) or 130 (interrupted)."""
    code = _run(argv)
    if argv is None and (patience := sys.modules.get("rumflow.core.patience")):
        patience.end_process(code)
    return code


def _run(argv: list[str] | None) -> int:
    arguments: Namespace | None = None
    _prepare_streams()
    alone = argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if alone:
            signal.signal(signal.SIGINT, _leave)
        from rumflow.cli.parser import COMMANDS, make_parser

        words = sys.argv[1:] if argv is None else list(argv)
        if not words:
            make_parser(()).print_help()
            return 1
        # The completion script names the options of all commands.
        arguments = make_parser(COMMANDS if words[0] == "completion" else words[:1]).parse_args(words)
        arguments.words = words
        if alone:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # of the parser
        return 1 if stop.code else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stop:
        _complain(str(stop) or "interrupted", arguments)
        return 130
    except NotConvergedError as error:
        # Ctrl-C in the middle of a solve ends a command that has no use for half an answer like Ctrl-C elsewhere.
        _complain("interrupted" if error.interrupted else str(error), arguments)
        return 130 if error.interrupted else 2
    except (RumflowError, OSError) as error:
        _complain(str(error), arguments)
        return 1
    except MemoryError as error:
        print(f"rumflow: not enough memory: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
