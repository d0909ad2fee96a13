"""The jobs that `studies/benchmarks/before_after.py` compares between two source trees, followed over commits.

`asv run --quick --dry-run -E existing` tries it with what is installed here.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))  # asv knows this folder only

from studies.benchmarks.jobs import JOBS


class Jobs:
    """Seconds of each job; what it compiles and its data are made before the clock starts."""

    params = (list(JOBS),)
    param_names = ("job",)

    def setup(self, job: str) -> None:
        """Prepare the call, and run it once."""
        self.call = JOBS[job]()
        self.call()

    def time_job(self, job: str) -> None:
        """What is measured."""
        self.call()
