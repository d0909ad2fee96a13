"""Data frames of any usual library, and the import of libraries that are not required."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumflow.errors import InputError

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
    if backend == "pandas":
        return module.DataFrame(table)
    if backend == "polars":
        return module.DataFrame(table, strict=False)
    return module.table(table)
