"""The oldest versions that pyproject.toml allows, as requirements: `python .ci/oldest.py > build/oldest.txt`.

Without torch, which has packages of its own for each processor, and with what the tests need.
"""

import re
import tomllib
from pathlib import Path

EXTRAS = ("data", "fetch", "frames", "plots", "report", "cli", "excel", "parallel", "sklearn", "jax")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
wanted = [*project["dependencies"], *(line for name in EXTRAS for line in extras[name])]
wanted += [line for line in extras["test"] if re.match(r"pytest|hypothesis|clarabel|choix|xlogit|playwright", line)]
for line in dict.fromkeys(wanted):
    print(re.sub(r">=([\d.]+)$", r"==\1", line) if ">=" in line else line)
