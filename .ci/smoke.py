"""An installed rumflow, tried without anything else of the project: `python .ci/smoke.py`, run by `make dist`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import rumflow as rf

assert "site-packages" in rf.__file__, f"this is the source, not what was installed: {rf.__file__}"
data = rf.ChoiceData.from_counts({("a", "b"): {"a": 31, "b": 9}, ("a", "b", "c"): {"a": 5, "b": 15, "c": 20}})
fit = rf.project(data)
assert fit.gap <= 1e-9
assert 0 < fit.distance < 1
assert 0 < rf.rum_test(data, n_boot=9, seed=1).pvalue <= 1
with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "choices.csv")
    for words in (["--version"], ["demo"], ["simulate", "noisy", "-n", "4", "--out", path], ["project", path]):
        subprocess.run([sys.executable, "-m", "rumflow", *words], check=True, stdout=subprocess.DEVNULL)
print("works:", rf.__version__, rf.__file__)
