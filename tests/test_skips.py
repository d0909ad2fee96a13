"""A skipped test fails the run, unless the skip is on the list of `conftest.py`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = [
    ("import pytest\npytest.skip('nobody knows why', allow_module_level=True)", "", 1),
    ("import pytest\ndef test_a():\n    pytest.importorskip('a_package_of_the_test_extra')", "", 1),
    ("import pytest\ndef test_a(data_folder):\n    pass", "", 0),
    ("import pytest\ntorch = pytest.importorskip('torch_that_is_not_there', reason='PyTorch is not installed')", "", 0),
    (
        "import pytest\ntorch = pytest.importorskip('torch_that_is_not_there', reason='PyTorch is not installed')",
        ".",
        1,
    ),
    ("import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert False", "", 0),
]


@pytest.mark.parametrize(("text", "data", "code"), CASES)
def test_skips(text, data, code, tmp_path):
    here = Path(__file__).parent
    (tmp_path / "conftest.py").write_text((here / "conftest.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "test_one.py").write_text(text, encoding="utf-8")
    (tmp_path / "test_two.py").write_text("def test_that_passes():\n    pass\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    environment = os.environ | {"RUMFLOW_DATA": data, "RUMFLOW_TESTS_WITHOUT": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == code, run.stdout
    assert ("without leave" in run.stdout) == bool(code)
