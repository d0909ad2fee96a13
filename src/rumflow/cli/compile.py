"""`rumflow compile`: compile the kernels now, so that nobody waits for them later; for images, clusters and shared folders.

Each step calls a part of the library on small data, which compiles what that part needs, or finds it on disk. Kernels of rare
cases, such as a derivative where types of weight 0 are missing, take a second each when they are first met.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from rumflow.cli.answers import answer, columns_of, table_of
from rumflow.cli.arguments import add_json
from rumflow.core.kernel_files import kept_on_disk
from rumflow.data import simulate
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.inference import (
    best_assortment,
    bounds,
    explain,
    fit_likelihood,
    rationalizable_share,
    rum_test,
    subject_scores,
    transitivity,
)
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.models.triangle_inequalities import TriangleInequalities
from rumflow.output.result import records_of
from rumflow.projection.batch import project_many
from rumflow.projection.single import project

EXAMPLE = "NUMBA_CACHE_DIR=/shared/kernels rumflow compile --layers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to compile."""
    parser.description = (
        f"{parser.description} Into the folder that NUMBA_CACHE_DIR names, else beside the package, else into the user's cache. "
        "Takes about a minute of one core and 9 MB where nothing is on disk yet, seconds where everything is."
    )
    parser.add_argument(
        "--layers", action="store_true", help="also what layers need, 15 seconds more; PyTorch must be installed"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing while it works")
    add_json(parser)
    parser.set_defaults(out=None)


def run(arguments: argparse.Namespace) -> int:
    """Go through the steps."""
    steps = STEPS | (_layers() if arguments.layers else {})
    rows = []
    if not arguments.quiet:
        print("rumflow: about a minute of one core where nothing is on disk yet", file=sys.stderr, flush=True)
    for k, (name, step) in enumerate(steps.items()):
        if not arguments.quiet:
            print(f"rumflow: {name} ({k + 1} of {len(steps)})", file=sys.stderr, flush=True)
        begin, worked = time.perf_counter(), time.process_time()
        step()
        rows.append((name, round(time.perf_counter() - begin, 1), round(time.process_time() - worked, 1)))
    columns = columns_of(("part", "seconds", "processor_seconds"), rows)
    folder, size = kept_on_disk()
    passed, worked = (sum(columns[name]) for name in ("seconds", "processor_seconds"))
    note = f"{passed:.0f} s in all, {worked:.0f} s of the processor; {size / 2**20:.0f} MB in {folder or 'no folder'}"
    shown = {
        "part": columns["part"],
        "time": [f"{seconds:.1f} s" for seconds in columns["seconds"]],
        "processor time": [f"{seconds:.1f} s" for seconds in columns["processor_seconds"]],
    }
    return answer(
        arguments,
        lambda: {"folder": folder, "bytes": size, "results": records_of(columns)},
        lambda: [table_of("Kernels on disk", shown, note)],
    )


def _shares() -> None:
    """Arrays over all menus: few items, more items, weights, the cone, a stack, derivatives, the interior point method."""
    for n in (4, 9):
        array = simulate.dirichlet(n, seed=1)
        for weights in (None, np.where(array > 0, 2.0, 1.0)):
            fit = project(array, weights)
            fit.vjp(fit.jvp(array))
            assert len(fit.rankings.weights)
        project_many([array, array], cone=True)
    project(simulate.mixed_logit(4, draws=50, seed=0), method="ipm")


def _many_items() -> None:
    """Arrays of so many items that certificates, and from 16 on the passes, take other ways; rankings drawn from a fit."""
    for n in (13, 16):
        fit = project(simulate.dirichlet(n, seed=1))
        fit.vjp(fit.rho)
    fit.sample(1, seed=0)


def _menus() -> None:
    """Some of the menus: graphs small and large, known preferences, bounds where the graph is too large."""
    data = simulate.random_menus(9, 6, 3, seed=0)
    fit = project(data, route="graph")
    fit.vjp(fit.jvp(data.frequencies))
    project(data, model=RandomUtility([(0, 1)]), route="graph")
    project(data, model=SinglePeaked(data.items))
    project(data, route="bounded", throw=False, max_seconds=2.0)
    project(simulate.random_menus(20, 30, 6, draws=50, seed=0), route="graph")


def _pairs() -> None:
    data = simulate.random_menus(8, 14, 2, draws=3, seed=0)  # so few that some inequality is violated
    project(data, model=TriangleInequalities())
    project(data, throw=False)
    transitivity(data)


def _test() -> None:
    rum_test(_choices(), n_boot=19, seed=0)
    for draws in (5, 200):  # few choices are drawn one by one
        rum_test(simulate.random_menus(9, 6, 3, draws=draws, seed=0), n_boot=19, seed=0)
    menus = ["tea|milk", "milk|beer", "tea|beer", "tea|milk|beer"] * 10
    chosen = [menu.split("|")[k % 3 % 2] for k, menu in enumerate(menus)]
    people = ChoiceData.from_frame({"menu": menus, "choice": chosen, "subject": [k // 4 for k in range(40)]}, rows=True)
    rum_test(people, n_boot=19, seed=0)
    subject_scores(people)


def _answers() -> None:
    data = _choices()
    bounds(data, ("a", "c"), n_boot=39, seed=0)
    best_assortment(data, {"a": 3.0, "b": 0.0, "c": 1.0}, outside_option="b")
    rationalizable_share(data)


def _explain() -> None:
    explain(_choices(), seed=0)


def _likelihood() -> None:
    fit_likelihood(_choices())


def _budgets() -> None:
    data = BudgetData.from_shares(
        np.array([[1.0, 2.0], [2.0, 1.0]]), np.repeat([0, 1], 20), np.random.default_rng(0).dirichlet([1, 1], 40)
    )
    rum_test(data, n_boot=19, seed=0)
    random = np.random.default_rng(0)
    subject_scores(random.uniform(1, 2, (20, 3)), prices=random.uniform(1, 2, (20, 3)), subject=np.repeat([0, 1], 10))


def _choices() -> ChoiceData:
    """A conflict, so that everything has something to do."""
    return ChoiceData.from_counts(
        {
            ("a", "b"): {"a": 40, "b": 10},
            ("b", "c"): {"b": 40, "c": 10},
            ("a", "b", "c"): {"a": 5, "b": 20, "c": 25},
        }
    )


def _layers() -> dict[str, Callable[[], None]]:
    try:
        import torch

        from rumflow.torch import AxiomLayer, RUMLayer
    except ImportError:
        raise InputError("--layers needs PyTorch, which is not installed: pip install 'rumflow[torch]'") from None

    def use() -> None:
        layers = [
            RUMLayer(4),
            RUMLayer(9),
            RUMLayer(4, smoothing=1e-3),
            AxiomLayer(RandomUtility(), [(0, 1), (1, 2), (0, 1, 2)], 3),
        ]
        for layer in layers:
            z = torch.rand(2, len(layer.cells), dtype=torch.float64, requires_grad=True)
            (gradient,) = torch.autograd.grad((layer(z) ** 2).sum(), z, create_graph=True)
            gradient.sum().backward()

    return {"layers": use}


STEPS: dict[str, Callable[[], None]] = {
    "shares from all menus": _shares,
    "shares of many items": _many_items,
    "choices from some menus": _menus,
    "pairs": _pairs,
    "test": _test,
    "bounds and assortments": _answers,
    "conflicts": _explain,
    "likelihood": _likelihood,
    "budgets": _budgets,
}
