"""Where compiled kernels are kept on disk: the folders, and the files of a kernel.

Numba keeps machine code in files that it finds again by an index. What is different here: one shared folder for environments with
the same versions, files that no kill and no other process can mix up, and folders that are only read.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from rumflow.version import __version__

_OLD = 3600.0  # seconds after which nobody is between the two steps of `KernelIndex.save` any more


class KernelIndex(IndexDataCacheFile):
    """Numba's files of a kernel: one with machine code for each key, and an index of keys and files.

    A file that cannot be read counts as missing: cut short, or with types that no longer exist. `before` are indices in other
    folders that are only read.

    A file of machine code is named after what it was made of, and is there before the index knows it. So nothing that ends a
    process in between, or that another process writes meanwhile, leaves a key with the code of another; at worst a key is lost
    from the index, and compiled once more.
    """

    def __init__(
        self, folder: str, name: str, content: str, place: str = "", before: Sequence[KernelIndex] = ()
    ) -> None:
        super().__init__(folder, name, content)
        self._name, self._place, self._before = name, place, before

    def load(self, key: Any) -> Any:
        """The machine code of a key, here or in a folder that is only read; None where there is none."""
        found = super().load(key)
        if found is not None:
            _folders.setdefault(self._place, set()).add(self._cache_path)
            return found
        return next((data for data in (index.load(key) for index in self._before) if data is not None), None)

    def save(self, key: Any, data: Any) -> None:
        """Write machine code, then the index that names it."""
        made_of = hashlib.sha1(self._source_stamp.encode() + self._dump(key)).hexdigest()
        name = f"{self._name}.{made_of[:16]}.nbc"
        self._save_data(name, data)
        known = self._load_index()
        if not known and Path(self._index_path).exists():
            self._remove_others(name)
        self._save_index({**known, key: name})
        _folders.setdefault(self._place, set()).add(self._cache_path)

    def _remove_others(self, name: str) -> None:
        """The index is of another state of the sources, and so are the files: all but those that others may be writing now."""
        for file in Path(self._cache_path).glob(f"{glob.escape(self._name)}.*.nbc"):
            with contextlib.suppress(OSError):  # gone, or open on Windows
                if file.name != name and file.stat().st_mtime < time.time() - _OLD:
                    file.unlink()

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # unpickling raises anything
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            return super()._load_data(name)
        except Exception as error:
            raise OSError from error  # for the caller, which takes this for a missing file


_folders: dict[str, set[str]] = {}  # by kind of place, where this process has read or written kernels


def kept_on_disk() -> tuple[str, int]:
    """The folder that holds the kernels which this process has used, and the bytes of all kernels in it.

    Where some were read in a folder that cannot be written to, and others written elsewhere: both, in one text.
    """
    files = {file for folders in _folders.values() for folder in folders for file in Path(folder).glob("*.nb[ci]")}
    where = " and ".join(os.path.commonpath(folders) for folders in _folders.values())
    return where, sum(file.stat().st_size for file in files)


# Names of these classes differ between versions of Numba.
_NumbaFiles: Any = FunctionCache._impl_class
_NamedFolder: Any = _NumbaFiles._locator_classes[0]


class _SharedFolder(_NamedFolder):  # type: ignore[misc]
    """The folder that NUMBA_CACHE_DIR names, for all environments with the same versions, wherever they are installed.

    Numba would make a folder for each path of the sources, and every new environment would compile again.
    """

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = shared_folder()


def shared_folder() -> str:
    """Inside what NUMBA_CACHE_DIR names; empty where it is not set."""
    settings: Any = numba.config
    folder = f"rumflow-{__version__}-numba-{numba.__version__}"
    return str(Path(settings.CACHE_DIR) / folder) if settings.CACHE_DIR else ""


class _Nowhere(_NamedFolder):  # type: ignore[misc]
    """Where no folder can be written to: those that are only read may hold kernels all the same."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        found = cls.__new__(cls)
        found._py_file, found._lineno, found._cache_path = py_file, py_func.__code__.co_firstlineno, ""
        return found

    def get_source_stamp(self) -> str:
        return ""  # the fingerprint of the kernel takes its place

    def ensure_cache_path(self) -> None:
        raise OSError("no folder can be written to")


class KernelFiles(_NumbaFiles):  # type: ignore[misc]
    """Numba's choice of a folder: the first of these that can be written to."""

    _locator_classes = (_SharedFolder, *_NumbaFiles._locator_classes[1:], _Nowhere)
