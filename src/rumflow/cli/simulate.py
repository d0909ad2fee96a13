"""`rumflow simulate`: simulated choices to a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rumflow.check import check_number
from rumflow.cli.answers import OK, check_out, print_json, say_written
from rumflow.cli.arguments import Checked, add_json, add_seed, whole_number
from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.core.memory import require_memory
from rumflow.core.seeds import generator
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.data.readers.settings import split_labels
from rumflow.data.simulate import dirichlet, mixed_logit, observed_menus, rankings_mixture
from rumflow.errors import InputError

EXAMPLE = "rumflow simulate noisy -n 5 --draws 200 --items tea,milk,juice,water,cola --seed 1 --out choices.csv"

FAMILIES: dict[str, Callable[..., Array]] = {
    "noisy": rankings_mixture,
    "rankings": rankings_mixture,
    "logit": mixed_logit,
    "dirichlet": dirichlet,
}

_ROW_BYTES = 250  # of one choice while its row is made and written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to simulate."""
    parser.add_argument(
        "family",
        choices=list(FAMILIES),
        help="noisy: samples from a mixture of rankings; rankings: the same mixture, exactly; logit: a mixed logit; "
        "dirichlet: no rationality at all",
    )
    parser.add_argument("-n", action=Checked, check=whole_number(2, 16), default=4, help="number of items (default 4)")
    parser.add_argument(
        "--draws",
        action=Checked,
        check=whole_number(1, 10**15),
        default=100,
        help="choices from each menu (default 100)",
    )
    parser.add_argument(
        "--share",
        action=Checked,
        check=lambda value, name: check_number(value, name, 0, 1, "(]"),
        default=1.0,
        help="share of the menus that are offered (default 1)",
    )
    parser.add_argument("--items", metavar="LABELS", help="labels of the items, separated by commas")
    parser.add_argument(
        "--form", choices=["rows", "long"], default="rows", help="one row per choice, or counts by menu and item"
    )
    add_seed(parser, None)
    parser.add_argument(
        "-o", "--out", metavar="FILE", required=True, help="write the choices to a file: .csv or .parquet"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Draw and write."""
    check_out(arguments)
    path = Path(arguments.out)
    if path.suffix.lower() not in ("", ".csv", ".parquet", ".pq"):  # without an ending: a device or a pipe
        raise InputError(f"--out {path}: choices are written as .csv or .parquet")
    data = draw(arguments)
    form = "long" if data.rows is None else "rows"
    if path.suffix.lower() in (".parquet", ".pq"):
        data.to_parquet(path, form)
    else:
        data.to_csv(path, form)
    if arguments.json:
        print_json(
            {"out": str(path), "items": list(data.items), "menus": len(data.totals), "choices": data.n_observations}
        )
    else:
        print(repr(data))
    say_written(arguments)
    return OK


def draw(arguments: argparse.Namespace) -> ChoiceData:
    """Choices drawn as the command line says; with rows where they are to be written one by one."""
    n, rng = arguments.n, generator(arguments.seed)
    labels = split_labels(arguments.items) if arguments.items else [f"item {k + 1}" for k in range(n)]
    if len(labels) != n:
        raise InputError(f"--items: {len(labels)} labels for -n {n} items")
    rho = FAMILIES[arguments.family](n, seed=rng)
    lattice = Lattice(n)
    offered = observed_menus(n, arguments.share, rng).any(axis=1) & (lattice.membership.sum(axis=1) >= 2)
    masks = np.flatnonzero(offered)
    exact = arguments.family == "rankings"
    single = arguments.form == "rows" and not exact  # shares are no whole numbers of choices
    if single:
        total = arguments.draws * len(masks)
        require_memory(
            _ROW_BYTES * total, f"{total:,} choices, one row for each,", "take fewer --draws, or --form long"
        )
    shares = rho[masks] / rho[masks].sum(axis=1, keepdims=True)
    counts = arguments.draws * shares if exact else rng.multinomial(arguments.draws, shares).astype(float)
    matrix = np.full(lattice.shape, np.nan)
    matrix[masks] = np.where(lattice.membership[masks], counts, 0.0)
    data = ChoiceData.from_matrix(matrix, labels)
    if not single:
        return data
    menu, item, count = data.cells
    times = count.astype(np.int64)
    order = rng.permutation(int(times.sum()))
    rows = Rows(
        np.repeat(menu, times)[order].astype(np.int32),
        np.repeat(item, times)[order].astype(np.int32),
        np.ones(len(order)),
    )
    return data.replace(rows=rows)
