"""Texts of users, such as labels, as terminals, pages and pictures can show them."""

from __future__ import annotations

import re
from collections.abc import Callable

#: Characters that move the cursor, break lines, turn the direction of writing, or are no characters (lone surrogates).
_UNSEEN = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff"
_IN_LABELS = re.compile(f"[{_UNSEEN}]")
_IN_TEXTS = re.compile(f"(?!\\n)[{_UNSEEN}]")


def visible(value: object) -> str:
    """A label as text, with what cannot be seen written as in Python.

    >>> visible("tea\\x1b[31m"), visible("a\\nb"), visible(3)
    ('tea\\\\x1b[31m', 'a\\\\nb', '3')
    """
    return _IN_LABELS.sub(_escape, str(value))


def visible_lines(text: str) -> str:
    """The same for a text of several lines."""
    return escape_unseen(text, _escape)


def escape_unseen(text: str, escape: Callable[[re.Match[str]], str]) -> str:
    """A text of several lines with other escapes than those of Python."""
    return _IN_TEXTS.sub(escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
