"""Experiments I and II of the paper: conjugate gradients against a frozen barrier.

H = B^T P B + (K B)^T D (K B), with D two-valued and P the observed menus, is solved as in the middle of an interior
point run that has almost ended. Experiment I varies the share of observed menus; experiment II sets the preconditioners
side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.core.problem import NO_WEIGHTS, Stop
from rumflow.core.reduced import add_largest, fill_largest
from rumflow.core.transforms import moebius, moebius_adjoint, zeta_adjoint
from rumflow.solvers.interior.cg import System, apply_hessian, build_system, pcg
from studies.experiments.files import Row, draw, markdown_table, read_csv, write_csv

SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LABELS = {
    "none": "none",
    "jacobi": "Jacobi",
    "tree": "tree, max(D, 1): the paper's",
    "tree-scaled": "tree, D + T: ours",
}


_NOTES_1 = """## Where theory and measurement differ

* The paper's theorem promises r + 1 iterations for data of rank r, so a handful at 1 % of the menus. That needs a
  preconditioner equal to the barrier term (K B)^T D (K B). A tree leaves out 2^n - 1 of its N edges, so
  M^-1 (K B)^T D (K B) is not the identity, and most of the iterations at 1 % are spent on the barrier, whatever the data.
* Iterations do grow with the rank for the paper's diagonal max(D, 1), with about the printed slope. The growth is not a
  property of the data: that diagonal ignores the data term, whose own diagonal T reaches 2^(n-1). With D + T, in the
  diagonal and in the weights of the tree, the line is nearly flat.
* The eigenvalues of a data block are 1 and |D|; the paper prints |D| + 1.
* The residual is measured in the norm of M^-1 and computed afresh at the end; the paper does not say which norm it used.
"""

_NOTES_2 = """The paper prints: 1e9 to 1e4 in fewer than 25 iterations for its tree; no convergence in 500 for none and Jacobi.

## Where theory and measurement differ

* The paper says *maximum* spanning tree here. Its own argument and algorithm need the minimum: the co-tree must hold the
  large D.
* None and Jacobi do not stand still: they too lose five orders, in many times the iterations. What the tree gains is a
  large factor.
* The residual norm in these coordinates is not what conjugate gradients reduce. It jumps from step to step, so counts of
  iterations to a threshold are uncertain by a few for the trees and by many for the others.
"""


def _barrier(n: int, rng: np.random.Generator, free: float) -> Array:
    """D: 1e6 on a random 80 % of the edges, `free` on the others."""
    count = n << (n - 1)
    scaling = np.full(count, free)
    scaling[rng.choice(count, round(0.8 * count), replace=False)] = 1e6
    return scaling.reshape(n, -1)


def _reduced(n: int, rng: np.random.Generator) -> Array:
    """A standard normal vector in the paper's coordinates, 0 at each menu's largest item."""
    xi = rng.standard_normal((n, 1 << (n - 1)))
    for x, row in enumerate(xi):
        row[: 1 << x] = 0.0
    return xi


def _observe(n: int, share: float, rng: np.random.Generator) -> tuple[Array, int, int]:
    """Weights 1 on a random share of the menus and 0 elsewhere, how many menus, and the rank, the sum of |E| - 1 over
    them."""
    lattice = Lattice(n)
    chosen = 1 + rng.choice(lattice.n_menus - 1, max(1, round(share * (lattice.n_menus - 1))), replace=False)
    seen = np.zeros(lattice.shape)
    seen[chosen] = 1.0
    return lattice.to_internal(seen), len(chosen), int((lattice.membership[chosen].sum(axis=1) - 1).sum())


def run_exp1(
    out_dir: str | Path,
    seeds: Iterable[int] = range(5),
    n: int = 10,
    shares: Sequence[float] = SHARES,
    preconditioners: Sequence[str] = ("tree", "tree-scaled"),
    progress: Callable[[str], None] | None = None,
) -> dict[str, dict[str, float]]:
    """The frozen barrier: D is 1e6 or 1, b random, iterations to a relative residual of 1e-10 against the rank of the
    data.

    Writes exp1.csv, exp1.png and exp1.md into `out_dir`. Returns for each preconditioner the slope of the iterations in
    the rank and the mean iterations at the smallest and the largest share.
    """
    rows: list[Row] = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        scaling = _barrier(n, rng, 1.0)
        for share in shares:
            weights, menus, rank = _observe(n, share, rng)
            rhs = zeta_adjoint(_reduced(n, rng))  # of flow space: B^T K^T of it is b
            for name in preconditioners:
                system = build_system(scaling, NO_WEIGHTS if share == 1.0 else weights, name)
                begin = time.perf_counter()
                result = pcg(system, rhs, Stop(1e-10))
                rows.append(
                    {
                        "seed": seed,
                        "n": n,
                        "preconditioner": name,
                        "share": share,
                        "menus": menus,
                        "rank": rank,
                        "iterations": result.iterations,
                        "status": result.status,
                        "seconds": round(time.perf_counter() - begin, 4),
                    }
                )
        if progress is not None:
            progress(f"exp1: seed {seed} done")
    out = Path(out_dir)
    write_csv(out / "exp1.csv", rows)
    return render_exp1(out)


def render_exp1(out_dir: str | Path) -> dict[str, dict[str, float]]:
    """Figure and page of experiment I from its CSV."""
    out = Path(out_dir)
    rows = read_csv(out / "exp1.csv")
    names = list(dict.fromkeys(row["preconditioner"] for row in rows))
    shares = sorted({row["share"] for row in rows})

    def values(name: str, column: str, share: float | None = None) -> Array:
        picked = [row[column] for row in rows if row["preconditioner"] == name and share in (None, row["share"])]
        return np.array(picked, float)

    summary: dict[str, dict[str, float]] = {}
    for name in names:
        slope = 0.0 if len(shares) < 2 else float(np.polyfit(values(name, "rank"), values(name, "iterations"), 1)[0])
        first, last = (float(values(name, "iterations", share).mean()) for share in (shares[0], shares[-1]))
        worst = float(values(name, "iterations", shares[-1]).max())
        summary[name] = {"slope": slope, "sparse": first, "full": last, "full_worst": worst}

    def paint(axes: Any) -> None:
        for name in names:
            axes.plot(values(name, "rank"), values(name, "iterations"), "o", ms=3, label=LABELS.get(name, name))
        axes.axhline(210, color="grey", lw=0.8, ls="--", label="printed in the paper, full data: about 210")
        axes.set_xlabel("rank of the observed data")
        axes.set_ylabel("iterations to 1e-10")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)

    figure = draw(out / "exp1.png", paint)
    seeds, n = sorted({row["seed"] for row in rows}), rows[0]["n"]
    ranks = [round(float(values(names[0], "rank", share).mean())) for share in shares]
    page = [
        "# Experiment I: iterations against the rank of the data\n",
        f"Frozen barrier, n = {n}: D = 1e6 on a random 80 % of the edges and 1 on the rest; b standard normal; relative "
        f"residual 1e-10. {len(seeds)} seeds ({', '.join(map(str, seeds))}); raw numbers in `exp1.csv`.\n",
        *(["![iterations against rank](exp1.png)\n"] if figure else ["(No figure: matplotlib is not installed.)\n"]),
        markdown_table(
            ["", "paper, printed", *(LABELS.get(name, name) for name in names)],
            [
                [
                    "slope, iterations per unit of rank",
                    "about 0.04",
                    *(f"{summary[name]['slope']:.4f}" for name in names),
                ],
                [
                    f"iterations, {shares[0]:.0%} of the menus",
                    "-",
                    *(f"{summary[name]['sparse']:.0f}" for name in names),
                ],
                [f"iterations, {shares[-1]:.0%}", "about 210", *(f"{summary[name]['full']:.0f}" for name in names)],
            ],
        ),
        "Mean iterations by share of observed menus:\n",
        markdown_table(
            ["menus", "rank", *(LABELS.get(name, name) for name in names)],
            [
                [f"{share:.0%}", rank, *(f"{values(name, 'iterations', share).mean():.0f}" for name in names)]
                for share, rank in zip(shares, ranks, strict=True)
            ],
        ),
        _NOTES_1,
    ]
    (out / "exp1.md").write_text("\n".join(page), encoding="utf-8")
    return summary


def run_exp2(
    out_dir: str | Path,
    seeds: Iterable[int] = range(5),
    n: int = 8,
    iterations: int = 800,
    preconditioners: Sequence[str] = ("none", "jacobi", "tree", "tree-scaled"),
    progress: Callable[[str], None] | None = None,
) -> dict[str, dict[str, float]]:
    """The stress test: D is 1e6 or 0.01, b = H x for a standard normal x; ||H x_k - b|| in the paper's coordinates,
    step by step.

    Writes exp2.csv, exp2.png and exp2.md into `out_dir`. Returns for each preconditioner the iterations (the worst
    seed's) until the residual is below 1e-5 of its first value and until it is below 1e4, infinity where it never is.
    """
    rows: list[Row] = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        scaling = _barrier(n, rng, 1e-2)
        solution = _reduced(n, rng)
        fill_largest(solution, n)  # B x ...
        flow = moebius(solution)  # ... and K B x, the flow that belongs to x
        for name in preconditioners:
            system = build_system(scaling, NO_WEIGHTS, name)
            rows += [
                {"seed": seed, "n": n, "preconditioner": name, "iteration": i, "residual": f"{value:.6e}"}
                for i, value in enumerate(_history(system, flow, iterations))
            ]
        if progress is not None:
            progress(f"exp2: seed {seed} done")
    out = Path(out_dir)
    write_csv(out / "exp2.csv", rows)
    return render_exp2(out)


def _history(system: System, solution: Array, iterations: int) -> list[float]:
    """||H x_k - b|| in the paper's coordinates for b = H x, step by step, until it has lost nine orders."""
    rhs, image = np.empty_like(solution), np.empty_like(solution)
    apply_hessian(system, solution, rhs)
    norms = [float(np.linalg.norm(_reduced_residual(rhs)))]

    def watch(_iteration: int, _error: float, flow: Array) -> bool:
        apply_hessian(system, flow, image)
        norms.append(float(np.linalg.norm(_reduced_residual(rhs - image))))
        return norms[-1] <= 1e-9 * norms[0]

    pcg(system, rhs, Stop(0.0), max_iterations=iterations, callback=watch)
    return norms


def _reduced_residual(flow_residual: Array) -> Array:
    """B^T K^T r for r in the internal layout: a residual of flow space in the paper's coordinates, 0 at each menu's
    largest item."""
    rows = moebius_adjoint(flow_residual.copy())
    add_largest(rows, len(rows), -1.0)
    for x, row in enumerate(rows):
        row[: 1 << x] = 0.0  # the menus whose largest item is x
    return rows


def render_exp2(out_dir: str | Path) -> dict[str, dict[str, float]]:
    """Figure and page of experiment II from its CSV."""
    out = Path(out_dir)
    rows = read_csv(out / "exp2.csv")
    names = list(dict.fromkeys(row["preconditioner"] for row in rows))
    seeds = sorted({row["seed"] for row in rows})
    history = {
        (name, seed): np.array(
            [r["residual"] for r in rows if r["preconditioner"] == name and r["seed"] == seed], float
        )
        for name in names
        for seed in seeds
    }

    def reached(curve: Array, goal: float) -> float:
        below = np.flatnonzero(curve <= goal)
        return float(below[0]) if len(below) else float("inf")

    summary: dict[str, dict[str, float]] = {}
    for name in names:
        curves = [history[name, seed] for seed in seeds]
        summary[name] = {
            "start": max(curve[0] for curve in curves),
            "five_orders": max(reached(curve, 1e-5 * curve[0]) for curve in curves),
            "below_1e4": max(reached(curve, 1e4) for curve in curves),
            "at_25": max(curve[min(25, len(curve) - 1)] for curve in curves),
            "at_300": max(curve[min(300, len(curve) - 1)] for curve in curves),
        }

    def paint(axes: Any) -> None:
        for i, name in enumerate(names):
            for seed in seeds:
                label = LABELS.get(name, name) if seed == seeds[0] else None
                axes.semilogy(history[name, seed], color=f"C{i}", lw=1, label=label)
        axes.axhline(1e4, color="grey", lw=0.8, ls="--")
        axes.set_xlabel("iteration")
        axes.set_ylabel("residual ||H x - b||")
        axes.legend(frameon=False)

    figure = draw(out / "exp2.png", paint)
    longest = max(len(curve) for curve in history.values()) - 1

    def count(number: float) -> str:
        return f"{number:.0f}" if np.isfinite(number) else f"not in {longest}"

    page = [
        "# Experiment II: the stress test\n",
        f"n = {rows[0]['n']}: D = 1e6 on a random 80 % of the edges, 0.01 on the rest; b = H x for a standard normal x; "
        "the residual in the paper's coordinates, computed from the solution at every step. "
        f"{len(seeds)} seeds ({', '.join(map(str, seeds))}), the worst of them below; raw numbers in `exp2.csv`.\n",
        *(["![residual against iteration](exp2.png)\n"] if figure else ["(No figure: matplotlib is not installed.)\n"]),
        markdown_table(
            [
                "preconditioner",
                "first residual",
                "after 25",
                "after 300 or at the end",
                "iterations to 1e-5 of the first",
                "to 1e4",
            ],
            [
                [
                    LABELS.get(name, name),
                    *(f"{summary[name][key]:.1e}" for key in ("start", "at_25", "at_300")),
                    *(count(summary[name][key]) for key in ("five_orders", "below_1e4")),
                ]
                for name in names
            ],
        ),
        _NOTES_2,
    ]
    (out / "exp2.md").write_text("\n".join(page), encoding="utf-8")
    return summary
