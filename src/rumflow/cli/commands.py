"""What each command does: read, compute, print; no numerics of its own."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from rumflow.cli.analysis import bounds, project, test
from rumflow.cli.others import bench, completion, demo, report, reproduce, simulate

COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": demo,
    "project": project,
    "test": test,
    "bounds": bounds,
    "simulate": simulate,
    "report": report,
    "reproduce": reproduce,
    "bench": bench,
    "completion": completion,
}

__all__ = ["COMMANDS"]
