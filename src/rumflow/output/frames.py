"""Data frames of any usual library, and the import of libraries that are not required."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rumflow.errors import InputError
from rumflow.text import visible

BACKENDS = ("pandas", "polars", "pyarrow", "dict")


def optional(module: str, extra: str) -> Any:
    """Import an optional dependency, or say what to install."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".", maxsplit=1)[0]
        raise InputError(f'{package} is needed for this and is not installed: pip install "rumflow[{extra}]"') from None


def make_frame(table: Mapping[str, Any], backend: str) -> Any:
    """A dict of columns as a frame of the backend."""
    from rumflow.check import check_option  # loads NumPy, which `rumflow --help` does without

    check_option(backend, "backend", BACKENDS)
    if backend == "dict":
        return dict(table)
    module = optional(backend, "data")
    with only_text(backend, table):
        if backend == "pandas":
            return module.DataFrame(table)
        if backend == "polars":
            return module.DataFrame(table, strict=False)
        return module.table(table)


@contextmanager
def only_text(place: object, table: Mapping[str, Any]) -> Iterator[None]:
    """An error that names the text that has no code in UTF-8."""
    try:
        yield
    except UnicodeEncodeError:
        texts = (text for text in _texts([*table, *table.values()]) if re.search("[\ud800-\udfff]", text))
        named = f"'{visible(next(texts)[:60])}'"
        raise InputError(f"{place}: the text {named} holds a character that no text has; rename it") from None


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """All texts in lists of lists."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Iterable):
            yield from _texts(value)
