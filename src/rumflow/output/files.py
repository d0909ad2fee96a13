"""Files, written whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import IO, Any, Literal

from rumflow.errors import InputError
from rumflow.output.frames import only_text, optional
from rumflow.output.markup import to_html, to_latex, to_markdown, to_page
from rumflow.text import escape_unseen, visible

#: What the endings of names mean.
FORMS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json", ".tex": "tex", ".html": "html"}
FORMS |= {".md": "md", ".xlsx": "xlsx"}

#: What a spreadsheet takes for the beginning of a formula.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def write_whole(
    path: str | Path, write: Callable[[IO[bytes]], object], inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Let `write` fill a binary file and put it in place of `path` when it is complete: on an error the old file stays.

    A symbolic link stays and the file it points to is replaced; a device or a pipe is written into. `inputs` are the files
    that were read: none of them is overwritten.
    """
    try:
        mode = _mode(path, inputs)
        if mode is not None and not stat.S_ISREG(mode):
            with tempfile.TemporaryFile() as whole:
                write(whole)
                whole.seek(0)
                with open(path, "wb") as device:
                    shutil.copyfileobj(whole, device)
            return
        target = Path(os.path.realpath(path))
        _sweep(target.parent)
        partial = target.with_name(f".{os.getpid()}.{threading.get_ident()}.part")
        try:
            file, locked = _open_locked(partial)
            with file:
                write(file)
                file.flush()
                if mode is not None:
                    partial.chmod(stat.S_IMODE(mode))
                if locked:  # in its place before the lock ends
                    os.replace(partial, target)
            if not locked:
                os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror or fault}); name another file") from None


def _open_locked(path: Path) -> tuple[IO[bytes], bool]:
    """A new file, and whether it is locked: it may be gone before it is, where somebody sweeps."""
    while True:
        file = open(path, "wb")  # noqa: SIM115 -- the caller closes it
        locked = _lock(file, wait=True)
        if not locked or (path.exists() and os.path.samestat(os.fstat(file.fileno()), os.stat(path))):
            return file, locked
        file.close()


def _lock(file: IO[bytes], wait: bool) -> bool:
    """Whether this process holds the lock of a file: it ends with the process, however that ends."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):  # another one writes, or the system has no locks
        return False
    return True


def _sweep(folder: Path) -> None:
    """Remove the files that writers left here who were ended in the middle."""
    for left in folder.glob(".*.part"):
        if re.fullmatch(r"\.\d+\.\d+\.part", left.name):
            with suppress(OSError), open(left, "rb") as file:
                if _lock(file, wait=False):
                    left.unlink()


def check_target(path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise before the work starts where `write_whole` would refuse to write."""
    try:
        mode = _mode(path, inputs)
    except OSError as fault:
        raise InputError(f"{path}: cannot be written ({fault.strerror or fault}); name another file") from None
    regular = mode is None or stat.S_ISREG(mode)  # replaced by a new file: the folder must be writable
    if not os.access(Path(os.path.realpath(path)).parent if regular else path, os.W_OK):
        raise InputError(f"{path}: cannot be written (no permission); name another file")


def _mode(path: str | Path, inputs: Iterable[str | os.PathLike[str]]) -> int | None:
    """The kind and the permissions of what stands at `path`, None where nothing does; an error where it must not be written."""
    if not str(path):
        raise InputError("the name of the file to write is empty")
    try:
        found = os.stat(path)
    except FileNotFoundError:
        folder = Path(os.path.realpath(path)).parent
        if not folder.is_dir():
            raise InputError(f"{path}: cannot be written: there is no folder {folder}") from None
        return None
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{path} is a folder; name a file")
    if not stat.S_ISREG(found.st_mode):
        return found.st_mode
    for one in inputs:
        if os.path.exists(one) and os.path.samefile(one, path):
            raise InputError(f"{path} is the file that was read; name another file, so that the data are not lost")
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):  # /dev/stdout sent to a file is written into
        return stat.S_IFIFO
    return found.st_mode


def check_form(path: str | Path) -> str:
    """The form that the ending of a name asks for; a device or a pipe takes CSV."""
    ending = Path(path).suffix.lower()
    if ending in FORMS:
        if ending == ".xlsx":
            optional("openpyxl", "excel")
        return FORMS[ending]
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        regular = True
    if regular:
        raise InputError(
            f"{path}: the name must end in {', '.join([*FORMS][:-1])} or {[*FORMS][-1]}, which says the form"
        )
    return "csv"


def write_table(table: Mapping[str, Any], path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """A table for people: columns in the form that the ending of the name says, see `FORMS`.

    In CSV a text that a spreadsheet would take for a formula is preceded by an apostrophe; `write_csv` writes texts as they are.
    """
    check_target(path, inputs)
    form = check_form(path)
    if form == "parquet":
        write_parquet(table, path, inputs)
    elif form == "xlsx":
        _write_xlsx(table, path, inputs)
    elif form == "csv":
        harmless_table = {harmless(name): [harmless(v) for v in column] for name, column in table.items()}
        write_csv(harmless_table, path, inputs)
    else:
        write_text(_TEXTS[form](table), path, inputs)


def write_text(text: str, path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """A text; what has no code in UTF-8, a lone surrogate, is written as in Python and JSON."""
    write_whole(path, lambda file: file.write(text.encode(errors="backslashreplace")), inputs)


def _json(table: Mapping[str, Any]) -> str:
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return json_text(rows, 1)


def json_text(content: Any, indent: int, ascii_only: bool = False) -> str:
    """JSON; numbers that it does not have (infinite, not a number) are null, and what a terminal would act on is escaped."""
    text = json.dumps(plain(content), indent=indent, allow_nan=False, ensure_ascii=ascii_only)
    return escape_unseen(text, lambda found: f"\\u{ord(found[0]):04x}")


def plain(value: Any) -> Any:
    """Lists, mappings, texts and numbers, as JSON holds them."""
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key if isinstance(key, str | int | float) else str(key): plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(own) for own in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


_TEXTS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "json": _json,
    "tex": lambda table: to_latex(table) + "\n",
    "html": lambda table: to_page(to_html(table)),
    "md": lambda table: to_markdown(table) + "\n",
}


def _write_xlsx(table: Mapping[str, Any], path: str | Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    book = optional("openpyxl", "excel").Workbook()
    sheet = book.active
    rows = [list(table), *zip(*table.values(), strict=True)]
    for i, row in enumerate(rows, 1):
        for j, value in enumerate(map(plain, row), 1):
            if isinstance(value, str):
                sheet.cell(i, j, visible(value)).data_type = "s"  # a text, also where it looks like a formula
            else:
                sheet.cell(i, j, value)
    write_whole(path, book.save, inputs)


def harmless(value: Any) -> Any:
    """A text that no spreadsheet runs as a formula: an apostrophe goes before one that would be; numbers stay."""
    if not isinstance(value, str) or not value.startswith(FORMULA_SIGNS):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def write_csv(
    table: Mapping[str, Any],
    path: str | Path,
    inputs: Iterable[str | os.PathLike[str]] = (),
    quoting: Literal[0, 2] = csv.QUOTE_MINIMAL,
) -> None:
    """Columns as CSV, every text exactly as it is; `quoting` as in the module csv."""

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, quoting=quoting)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        text.detach()

    with only_text(path, table):
        write_whole(path, write, inputs)


def write_parquet(table: Mapping[str, Any], path: str | Path, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Columns as Parquet, with their types."""
    arrow, parquet = optional("pyarrow", "data"), optional("pyarrow.parquet", "data")
    try:
        with only_text(path, table):
            columns = arrow.table(dict(table))
    except (arrow.ArrowException, OverflowError) as fault:
        raise InputError(
            f"{path}: a column cannot be written as Parquet ({str(fault).splitlines()[0][:120]})"
        ) from None
    write_whole(path, lambda file: parquet.write_table(columns, file), inputs)
