"""`rumflow pairs`: how transitive are choices from pairs?"""

from __future__ import annotations

import argparse

from rumflow.cli.answers import answer, check_out, show_progress
from rumflow.cli.arguments import Checked, add_data, add_json, add_out, add_sampling, whole_number
from rumflow.cli.reading import read_data, say_resampling
from rumflow.inference import transitivity

EXAMPLE = "rumflow pairs votes.csv --seed 1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data, and how they are tested."""
    add_data(parser)
    parser.add_argument(
        "--most",
        action=Checked,
        check=whole_number(1),
        default=10,
        help="majority triangles to list at most (default 10)",
    )
    add_sampling(parser, 999, "replicates of the test, and simulated samples for weak transitivity")
    add_json(parser)
    add_out(parser, "the conditions")


def run(arguments: argparse.Namespace) -> int:
    """Read, measure, print."""
    check_out(arguments)
    data = read_data(arguments)
    say_resampling(data, arguments)
    found = transitivity(
        data,
        arguments.n_boot,
        most=arguments.most,
        cluster=arguments.cluster,
        seed=arguments.seed,
        progress=show_progress(arguments),
    )
    return answer(
        arguments,
        lambda: found.to_dict() | {"understood": data.understood.to_dict()},
        found.parts,
        found.to_frame("dict"),
        interrupted=found.interrupted,
    )
