"""`rumflow bench`: how fast projections are on this machine."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from rumflow.cli.answers import NOT_CONVERGED, OK, check_out, headings, print_json, records_of, rows_of, write_out
from rumflow.cli.arguments import Checked, add_json, add_out, add_seed, whole_number
from rumflow.core.threads import thread_count
from rumflow.data import simulate
from rumflow.output.tables import Table, show
from rumflow.projection.results import Status
from rumflow.projection.single import project
from rumflow.version import __version__

EXAMPLE = "rumflow bench --max-n 12"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Sizes and the kind of data."""
    parser.add_argument(
        "--max-n", action=Checked, check=whole_number(2, 22), default=10, help="largest number of items (default 10)"
    )
    parser.add_argument(
        "--family", choices=["noisy", "dirichlet"], default="noisy", help="kind of data (default noisy)"
    )
    add_seed(parser, 0)
    add_json(parser)
    add_out(parser, "the timings")


def run(arguments: argparse.Namespace) -> int:
    """Time projections of growing size."""
    check_out(arguments)
    family = simulate.noisy_rankings if arguments.family == "noisy" else simulate.dirichlet
    columns: dict[str, list[Any]] = {k: [] for k in ("n", "cells", "seconds", "relative_gap", "rankings", "distance")}
    project(family(3, seed=arguments.seed), throw=False)  # compiles or loads the kernels
    good = True
    most = arguments.max_n
    for n in range(min(3, most), most + 1) if most <= 12 else range(4, most + 1, 2):
        array = family(n, seed=arguments.seed)
        tol = 1e-9 if n <= 12 else 1e-7
        times = []
        for _ in range(5 if n <= 8 else 1):
            begin = time.perf_counter()
            fit = project(array, tol=tol, throw=False)
            times.append(time.perf_counter() - begin)
        if fit.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        good &= fit.status is Status.OPTIMAL
        row = (
            n,
            n << (n - 1),
            float(np.median(times)),
            0.0 if fit.inside else fit.gap / fit.objective,
            len(fit.rankings.weights),
            fit.distance,
        )
        for key, value in zip(columns, row, strict=True):
            columns[key].append(value)
    if arguments.json:
        print_json(
            {
                "family": arguments.family,
                "threads": thread_count(),
                "version": __version__,
                "results": records_of(columns),
            }
        )
    else:
        title = f"Projection of {arguments.family} data, all menus, {thread_count()} threads, rumflow {__version__}"
        show([Table(title, headings(columns), rows_of(columns))])
    write_out(columns, arguments)
    return OK if good else NOT_CONVERGED
