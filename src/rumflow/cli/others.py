"""The commands demo, simulate, report, reproduce, bench and completion."""

from __future__ import annotations

import argparse
import inspect
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.cli.reading import print_json, read_data, say_written, show_progress, split_labels
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Rows
from rumflow.errors import InputError
from rumflow.output.tables import Table, show

OK, NOT_CONVERGED = 0, 2


def demo(arguments: argparse.Namespace) -> int:
    """`rumflow demo`."""
    from rumflow.cli import demo as module

    result = module.run(arguments.seed)
    if arguments.json:
        print_json(module.as_dict(result, arguments.seed))
    else:
        show(module.tables(result))
    return OK


def simulate(arguments: argparse.Namespace) -> int:
    """`rumflow simulate`."""
    data = simulated(arguments)
    path = Path(arguments.out)
    if path.suffix.lower() in (".parquet", ".pq"):
        data.to_parquet(path, arguments.form)
    elif path.suffix.lower() == ".json":
        raise InputError("--out: choices are written as .csv or .parquet")
    else:
        data.to_csv(path, arguments.form)
    if arguments.json:
        print_json(
            {"out": str(path), "items": list(data.items), "menus": len(data.masks), "choices": data.n_observations}
        )
    else:
        print(repr(data))
        say_written(path, arguments)
    return OK


def simulated(arguments: argparse.Namespace) -> ChoiceData:
    """Choices drawn as the command line says."""
    from rumflow.core.lattice import Lattice
    from rumflow.data import simulate as families

    n, rng = arguments.n, np.random.default_rng(arguments.seed)
    labels = split_labels(arguments.items) if arguments.items else [f"item {k + 1}" for k in range(n)]
    if len(labels) != n:
        raise InputError(f"--items: {len(labels)} labels for -n {n} items")
    if not 2 <= n <= 16:
        raise InputError(f"-n {n}: from 2 to 16 items can be simulated to a file")
    if arguments.draws < 1:
        raise InputError(f"--draws {arguments.draws}: at least 1 choice from each menu is needed")
    if not 0 < arguments.share <= 1:
        raise InputError(f"--share {arguments.share}: a number above 0 and at most 1 is needed")
    rho = {
        "noisy": lambda: families.rankings_mixture(n, seed=rng),
        "rankings": lambda: families.rankings_mixture(n, seed=rng),
        "logit": lambda: families.mixed_logit(n, seed=rng),
        "dirichlet": lambda: families.dirichlet(n, seed=rng),
    }[arguments.family]()
    lattice = Lattice(n)
    offered = families.observed_menus(n, arguments.share, rng).any(axis=1) & (lattice.membership.sum(axis=1) >= 2)
    masks = np.flatnonzero(offered)
    shares = rho[masks] / rho[masks].sum(axis=1, keepdims=True)
    exact = arguments.family == "rankings"
    counts = arguments.draws * shares if exact else rng.multinomial(arguments.draws, shares).astype(float)
    matrix = np.full(lattice.shape, np.nan)
    matrix[masks] = np.where(lattice.membership[masks], counts, 0.0)
    data = ChoiceData.from_matrix(matrix, labels)
    if exact or arguments.form == "long":
        arguments.form = "long"
        return data
    menu, item = np.nonzero(np.nan_to_num(data.counts))
    times = data.counts[menu, item].astype(np.int64)
    order = rng.permutation(int(times.sum()))
    rows = Rows(
        np.repeat(menu, times)[order].astype(np.int32),
        np.repeat(item, times)[order].astype(np.int16),
        np.ones(len(order)),
    )
    return ChoiceData(data.items, data.membership, data.counts, data.totals, rows)


def report(arguments: argparse.Namespace) -> int:
    """`rumflow report`."""
    from rumflow.report import make_report

    data = read_data(arguments)
    command = f"rumflow report {arguments.data} -o {arguments.out} --n-boot {arguments.n_boot} --seed {arguments.seed}"
    result = make_report(
        data,
        arguments.out,
        title=arguments.title or Path(arguments.data).stem,
        n_boot=arguments.n_boot,
        seed=arguments.seed,
        command=command,
        progress=show_progress(arguments),
    )
    if arguments.json:
        print_json({"out": arguments.out, **result})
    else:
        say_written(arguments.out, arguments)
    return OK


def reproduce(arguments: argparse.Namespace) -> int:
    """`rumflow reproduce`."""
    from rumflow import reproduce as module

    names = ["exp1", "exp2", "exp3", "power"] if arguments.what == "all" else [arguments.what]
    done: dict[str, Any] = {}
    for name in names:
        run = getattr(module, f"run_{name}", None)
        if run is None:
            raise InputError(f"reproduce {name}: this experiment is not part of this version")
        begin = time.perf_counter()
        loud = not arguments.json and "progress" in inspect.signature(run).parameters
        run(Path(arguments.out), **({"progress": lambda text: print(text, file=sys.stderr)} if loud else {}))
        done[name] = {"seconds": time.perf_counter() - begin, "folder": arguments.out}
        if not arguments.json:
            print(f"{name}: done in {done[name]['seconds']:.0f} s, see {arguments.out}")
    if arguments.json:
        print_json(done)
    return OK


def bench(arguments: argparse.Namespace) -> int:
    """`rumflow bench`."""
    from rumflow import __version__
    from rumflow.core.threads import thread_count
    from rumflow.data import simulate as families
    from rumflow.output.files import write_table
    from rumflow.projection.results import Status
    from rumflow.projection.single import project

    if not 2 <= arguments.max_n <= 22:
        raise InputError(f"--max-n {arguments.max_n}: from 2 to 22 items can be timed")
    family = families.noisy_rankings if arguments.family == "noisy" else families.dirichlet
    columns: dict[str, list[Any]] = {k: [] for k in ("n", "cells", "seconds", "relative_gap", "rankings", "distance")}
    project(family(3, seed=arguments.seed), throw=False)  # compiles or loads the kernels
    good = True
    for n in (
        range(3, arguments.max_n + 1)
        if arguments.max_n <= 12
        else [*range(4, 13, 2), *range(14, arguments.max_n + 1, 2)]
    ):
        array = family(n, seed=arguments.seed)
        tol = 1e-9 if n <= 12 else 1e-7
        times = []
        for _ in range(5 if n <= 8 else 1):
            begin = time.perf_counter()
            fit = project(array, tol=tol, throw=False)
            times.append(time.perf_counter() - begin)
        good &= fit.status is Status.OPTIMAL
        row = (
            n,
            fit.lattice.n_cells,
            float(np.median(times)),
            0.0 if fit.inside else fit.gap / fit.objective,
            len(fit.rankings.weights),
        )
        for key, value in zip(columns, (*row, fit.distance), strict=True):
            columns[key].append(value)
    if arguments.out:
        write_table(columns, arguments.out)
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    if arguments.json:
        results = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"family": arguments.family, "threads": thread_count(), "version": __version__, "results": results})
    else:
        title = f"Projection of {arguments.family} data, all menus, {thread_count()} threads, rumflow {__version__}"
        show([Table(title, [c.replace("_", " ") for c in columns], rows)])
    return OK if good else NOT_CONVERGED


def completion(arguments: argparse.Namespace) -> int:
    """`rumflow completion`."""
    from rumflow.cli.main import parser

    top = parser()
    words: dict[str, list[str]] = {}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, one in action.choices.items():
                options = [o for a in one._actions for o in a.option_strings if o.startswith("--")]
                words[name] = options + [
                    str(c) for a in one._actions if not a.option_strings and a.choices for c in a.choices
                ]
    print(_script(arguments.shell, words))
    return OK


def _script(shell: str, words: dict[str, list[str]]) -> str:
    if shell == "fish":
        lines = [f"complete -c rumflow -n __fish_use_subcommand -a {name}" for name in words]
        for name, options in words.items():
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            lines += [
                f"complete -c rumflow {seen} " + (f"-l {o[2:]}" if o.startswith("--") else f"-a {o}") for o in options
            ]
        return "\n".join(lines)
    cases = "\n".join(f'    {name}) words="{" ".join(options)}" ;;' for name, options in words.items())
    head = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return f"""{head}_rumflow() {{
  local words cur="${{COMP_WORDS[COMP_CWORD]}}"
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="{" ".join(words)}" ;;
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{" ".join(words)}"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _rumflow rumflow"""
