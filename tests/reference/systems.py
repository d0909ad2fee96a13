"""What only some operating systems have; the reasons are among those that `tests/conftest.py` allows."""

import sys

import pytest

not_on_windows = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files, signals or shell")
only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space")
