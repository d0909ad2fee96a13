"""`rumflow bench`: how fast projections are on this machine."""

from __future__ import annotations

import argparse
import time

import numpy as np

from rumflow.cli.answers import answer, check_out, columns_of, table_of
from rumflow.cli.arguments import Checked, add_json, add_out, add_seed, whole_number
from rumflow.core.threads import thread_count
from rumflow.data import simulate
from rumflow.output.result import records_of
from rumflow.projection.single import project
from rumflow.projection.status import Status
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
    rows = []
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
            if fit.interrupted:
                raise KeyboardInterrupt
        good &= fit.status is Status.OPTIMAL
        gap = 0.0 if fit.inside else fit.gap / fit.objective
        rows.append((n, n << (n - 1), float(np.median(times)), gap, len(fit.rankings.weights), fit.distance))
    columns = columns_of(("n", "cells", "seconds", "relative_gap", "rankings", "distance"), rows)
    document = {"family": arguments.family, "threads": thread_count(), "version": __version__}
    title = f"Projection of {arguments.family} data, all menus, {thread_count()} threads, rumflow {__version__}"
    return answer(
        arguments,
        lambda: document | {"results": records_of(columns)},
        lambda: [table_of(title, columns)],
        columns,
        good,
    )
