"""Forward and backward pass of `RUMLayer` against other differentiable layers, on the same inputs.

    python -m studies.benchmarks.layers --batch 256 --out studies/results/layers.csv    in place of the rows of these tools

Rivals (each optional): moreau, cvxpylayers (default solver, and on moreau), qpth, proxsuite, and Pi-net (JAX, `pinet-hcnn`),
which splits the constraints (Douglas and Rachford) and stops after a number of steps. Every tool runs in a process of its own,
with a limit on CPU seconds and memory. Times are CPU seconds of all threads; rivals get a smaller batch (printed) and are
compared by the time per sample. Where the tool takes sparse matrices, two formulations of the projection are tried:

    rho    min 1/2 |r - z|^2,  C r = 1, K r >= 0
    flow   min 1/2 |r - z|^2,  r = Z k, k a unit flow, k >= 0        (variables r and k)

`rumflow softmax` has inputs of its own: a softmax within each menu, which is what networks say before and during training.
They are closer to RUM, on larger faces, and take longer.

Errors are measured against central differences of the certified projection, in four random directions.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import rumflow as rf
from rumflow.core.threads import thread_count
from rumflow.core.transforms import moebius
from studies.benchmarks.record import save, stamp

TOOLS = {
    "rumflow": ("cold",),
    "rumflow softmax": ("cold",),
    "rumflow warm": ("second pass",),
    "rumflow smoothed": ("mu = 1e-3",),
    "rumflow jax": ("cold",),
    "pinet": ("100 steps", "1000 steps"),
    "moreau": ("rho", "flow"),
    "cvxpylayers on moreau": ("rho", "flow"),
    "cvxpylayers": ("rho", "flow"),
    "qpth": ("rho",),
    "proxsuite": ("rho",),
}
RIVALS = ("jax", "pinet-hcnn", "moreau", "cvxpylayers", "cvxpy", "diffcp", "qpth", "proxsuite")
COLUMNS = (
    *("tool", "form", "n", "batch", "note", "forward", "backward"),
    *("output_error", "violation", "gradient_error", "ms_per_sample"),
)
BATCHES = {"pinet": 32, "moreau": 16, "cvxpylayers on moreau": 8, "cvxpylayers": 4, "qpth": 1, "proxsuite": 1}


def cpu_seconds() -> float:
    """CPU seconds of all threads so far.

    Not `time.process_time`: in a process with a limit on its CPU seconds that clock moves only every few milliseconds, and passes
    that are shorter seem to take no time at all.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def inputs(n: int, batch: int, seed: int) -> np.ndarray:
    """What an untrained network might say: the uniform chooser plus noise."""
    lattice = rf.Lattice(n)
    sizes = np.bitwise_count(lattice.cells[:, 0].astype(np.uint32))
    return 1 / sizes + 0.3 * np.random.default_rng(seed).normal(size=(batch, lattice.n_cells))


def softmax_inputs(n: int, batch: int, seed: int) -> np.ndarray:
    """What a network says that ends with `MenuSoftmax`: items have utilities, and menus scores that differ a little from them."""
    lattice = rf.Lattice(n)
    rng = np.random.default_rng(seed)
    utilities = rng.normal(size=(batch, n))
    scores = np.exp(utilities[:, lattice.cells[:, 1]] + 0.3 * rng.normal(size=(batch, lattice.n_cells)))
    menus = lattice.cells[:, 0]
    totals = np.array([np.bincount(menus, row, lattice.n_menus) for row in scores])
    return scores / totals[:, menus]


def matrices(n: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """K and C over the cells."""
    lattice = rf.Lattice(n)
    unit = lattice.cells_to_internal(np.eye(lattice.n_cells))
    k = lattice.internal_to_cells(np.array([moebius(row) for row in unit])).T
    c = sp.csr_matrix(
        (np.ones(lattice.n_cells), (lattice.cells[:, 0] - 1, np.arange(lattice.n_cells))),
        shape=(lattice.n_menus - 1, lattice.n_cells),
    )
    return sp.csr_matrix(k), c


def flow_matrices(n: int) -> tuple[sp.csr_matrix, sp.csr_matrix, np.ndarray]:
    """Z, and the conservation of flow: A k = b."""
    lattice = rf.Lattice(n)
    k, _ = matrices(n)
    z = sp.csr_matrix(np.rint(np.linalg.inv(k.toarray())))
    menu, item = lattice.cells.T
    edge = np.arange(lattice.n_cells)
    a = sp.csr_matrix((np.ones(lattice.n_cells), (menu, edge)), shape=(lattice.n_menus, lattice.n_cells))
    a = a - sp.csr_matrix((np.ones(lattice.n_cells), (menu ^ (1 << item), edge)), shape=a.shape)
    b = np.zeros(lattice.n_menus)
    b[-1] = 1.0
    return z, a.tocsr()[1:], b[1:]


def make_layer(tool: str, form: str, n: int, batch: int):
    """A function from z to the projection, for one of the tools."""
    import torch

    cells = rf.Lattice(n).n_cells
    if tool.startswith("rumflow"):
        from rumflow.torch import RUMLayer

        return RUMLayer(n, warm_start=tool.endswith("warm"), smoothing=1e-3 if tool.endswith("smoothed") else 0.0)
    k, c = matrices(n)
    if tool == "moreau":
        import moreau
        from moreau.torch import Solver

        if form == "rho":
            p = sp.identity(cells, format="csr")
            a, b = sp.vstack([c, -k]).tocsr(), np.concatenate([np.ones(c.shape[0]), np.zeros(cells)])
            zero = c.shape[0]
        else:
            z, div, out = flow_matrices(n)
            p = sp.block_diag([sp.identity(cells), sp.csr_matrix((cells, cells))]).tocsr()
            empty = sp.csr_matrix((div.shape[0], cells))
            a = sp.bmat([[sp.identity(cells), -z], [empty, div], [None, -sp.identity(cells)]]).tocsr()
            b = np.concatenate([np.zeros(cells), out, np.zeros(cells)])
            zero = cells + div.shape[0]
        cones = moreau.Cones(num_zero_cones=zero, num_nonneg_cones=cells)
        settings = moreau.Settings(device="cpu", batch_size=batch)
        index = [torch.tensor(v, dtype=torch.int64) for v in (p.indptr, p.indices, a.indptr, a.indices)]
        solver = Solver(p.shape[0], a.shape[0], *index, cones, settings)
        values = [torch.tensor(np.tile(v, (batch, 1))) for v in (p.data, a.data, b)]

        def layer(z):
            q = torch.nn.functional.pad(-z, (0, p.shape[0] - cells))
            return solver.solve(values[0], values[1], q, values[2]).x[:, :cells]

        return layer
    if tool.startswith("cvxpylayers"):
        import cvxpy as cp
        from cvxpylayers.torch import CvxpyLayer

        r, target = cp.Variable(cells), cp.Parameter(cells)
        if form == "rho":
            constraints = [c @ r == 1, k @ r >= 0]
        else:
            z, div, out = flow_matrices(n)
            flow = cp.Variable(cells, nonneg=True)
            constraints = [r == z @ flow, div @ flow == out]
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(r - target)), constraints)
        solver = "MOREAU" if tool.endswith("moreau") else None
        made = CvxpyLayer(problem, parameters=[target], variables=[r], solver=solver)
        return lambda z: made(z)[0]
    dense = [torch.tensor(m.toarray()) for m in (k, c)]
    one, nothing, eye = (
        torch.ones(c.shape[0], dtype=torch.float64),
        torch.zeros(cells, dtype=torch.float64),
        torch.eye(cells).double(),
    )
    if tool == "qpth":
        from qpth.qp import QPFunction

        return lambda z: QPFunction(verbose=-1)(eye, -z, -dense[0], nothing, dense[1], one)
    from proxsuite.torch.qplayer import QPFunction

    most = torch.full((cells,), 1e20, dtype=torch.float64)
    return lambda z: QPFunction()(eye, -z, dense[1], one, dense[0], nothing, most)[0]


def make_jax(tool: str, form: str, n: int):
    """The same for tools of JAX, in double precision."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if tool == "rumflow jax":
        from rumflow.jax import project_cells

        return lambda z: project_cells(z, n)
    import pinet

    k, c = (jnp.asarray(m.toarray())[None] for m in matrices(n))
    zero, most = jnp.zeros((1, k.shape[1], 1)), jnp.full((1, k.shape[1], 1), jnp.inf)
    layer = pinet.Project(
        eq_constraint=pinet.EqualityConstraint(c, jnp.ones((1, c.shape[1], 1))),
        ineq_constraint=pinet.AffineInequalityConstraint(k, zero, most),
    )
    steps = int(form.split(maxsplit=1)[0])
    # As many steps backward as forward: the implicit system is solved by iteration as well.
    options = {"n_iter": steps, "n_iter_bwd": steps}
    return lambda z: layer.call(y_raw=pinet.ProjectionInstance(x=z[..., None]), **options)[0].x[..., 0]


def jax_pass(tool: str, form: str, n: int):
    """What runs both passes: the answer, the gradient, and the seconds of each."""
    import jax

    layer = make_jax(tool, form, n)
    alone = jax.jit(layer)

    @jax.jit
    def both(z, g):
        y, back = jax.vjp(layer, z)
        return y, back(g)[0]

    def run(z: np.ndarray, g: np.ndarray):
        begin = cpu_seconds()
        jax.block_until_ready(alone(z))
        middle = cpu_seconds()
        y, gradient = jax.block_until_ready(both(z, g))
        end = cpu_seconds()
        forward = middle - begin
        return np.asarray(y), np.asarray(gradient), forward, max(end - middle - forward, 0.0)

    return run


def torch_pass(tool: str, form: str, n: int, batch: int):
    """The same for tools of PyTorch."""
    import torch

    layer = make_layer(tool, form, n, batch)

    def run(z: np.ndarray, g: np.ndarray):
        point = torch.tensor(z)
        if tool.endswith("warm"):
            layer.warm.clear()
            layer(point)
            point = torch.tensor(step(z))
        point.requires_grad_()
        begin = cpu_seconds()
        y = layer(point)
        middle = cpu_seconds()
        (gradient,) = torch.autograd.grad(y, point, torch.tensor(g))
        return y.detach().numpy(), gradient.numpy(), middle - begin, cpu_seconds() - middle

    return run


def step(z: np.ndarray) -> np.ndarray:
    """What a step of training might do."""
    return z + 1e-3 * np.random.default_rng(1).normal(size=z.shape)


def measure(tool: str, form: str, n: int, batch: int, seed: int, repeats: int) -> dict[str, float]:
    """Seconds and errors of one tool."""
    z = (softmax_inputs if tool.endswith("softmax") else inputs)(n, batch, seed)
    rng = np.random.default_rng(seed + 1)
    g = rng.normal(size=z.shape)
    run = jax_pass(tool, form, n) if tool in ("rumflow jax", "pinet") else torch_pass(tool, form, n, batch)
    forward, backward = [], []
    for i in range(repeats + 1):  # the first pass loads and compiles; it counts only where it takes very long
        y, gradient, ahead, back = run(z, g)
        long = ahead + back > 30.0
        if i or long:
            forward.append(ahead)
            backward.append(back)
        if long:
            break
    own = step(z) if tool.endswith("warm") else z
    few = min(batch, 4)
    exact = rf.project_many(own[:few], tol=1e-13, throw=False)
    answer = y[:few]
    lattice = rf.Lattice(n)
    flows = np.array([moebius(row) for row in lattice.cells_to_internal(answer)])
    totals = np.array([np.bincount(lattice.cells[:, 0], row, lattice.n_menus)[1:] for row in answer])
    result = {
        "forward": float(np.median(forward)),
        "backward": float(np.median(backward)),
        "output_error": float(np.abs(answer - exact.rho).max()),
        "violation": float(max(-flows.min(), np.abs(totals - 1).max())),
    }
    if "smoothed" not in tool:
        worst = 0.0
        for _ in range(4):
            t = rng.normal(size=(few, z.shape[1]))
            up, down = (rf.project_many(own[:few] + h * t, tol=1e-13, throw=False).rho for h in (1e-6, -1e-6))
            reference = ((up - down) * g[:few]).sum(axis=1) / 2e-6
            here = (gradient[:few] * t).sum(axis=1)
            worst = max(worst, float(np.abs(here - reference).max() / np.abs(reference).max()))
        result["gradient_error"] = worst
    return result


def one(arguments: argparse.Namespace) -> None:
    """Run one tool in this process and print its numbers."""
    if not arguments.tool.startswith("rumflow"):
        limit = int(arguments.memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (int(arguments.timeout), int(arguments.timeout) + 5))
    repeats = arguments.repeats if arguments.tool.startswith("rumflow") else 1
    print(
        "RESULT "
        + json.dumps(measure(arguments.tool, arguments.form, arguments.n, arguments.batch, arguments.seed, repeats))
    )


def run(tool: str, form: str, batch: int, arguments: argparse.Namespace) -> dict[str, object]:
    """One tool in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "studies.benchmarks.layers",
        "--tool",
        tool,
        "--form",
        form,
        "--batch",
        str(batch),
        "--n",
        str(arguments.n),
    ]
    command += ["--seed", str(arguments.seed), "--repeats", str(arguments.repeats), "--memory", str(arguments.memory)]
    command += ["--timeout", str(arguments.timeout)]
    with tempfile.TemporaryFile("w+") as log:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, text=True, check=False)
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"note": f"more than {arguments.timeout:g} s for a batch of {batch}"}
        for line in done.stdout.splitlines():
            if line.startswith("RESULT "):
                return dict(json.loads(line[7:]))
        log.seek(0)
        last = [line for line in log.read().splitlines() if line.strip()][-1:] or [f"exit code {done.returncode}"]
        return {"note": f"failed: {last[0][:150]}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=8)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--timeout", type=float, default=180.0, help="CPU seconds for a tool, with all it loads and compiles"
    )
    parser.add_argument("--memory", type=float, default=8.0, help="GiB a rival may take")
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tool", help=argparse.SUPPRESS)
    parser.add_argument("--form", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.tool:
        one(arguments)
        return
    rows = []
    for tool in arguments.tools:
        batch = arguments.batch if tool.startswith("rumflow") else min(arguments.batch, BATCHES[tool])
        for form in TOOLS[tool]:
            found = run(tool, form, batch, arguments)
            row: dict[str, object] = {"tool": tool, "form": form, "n": arguments.n, "batch": batch, "note": "", **found}
            if "forward" in found:
                row["ms_per_sample"] = 1e3 * (float(found["forward"]) + float(found["backward"])) / batch  # type: ignore[arg-type]
            rows.append(row)
            print(json.dumps(row), flush=True)
    report(rows)
    if arguments.out:
        own = stamp(thread_count(), *RIVALS)
        save(
            arguments.out,
            [{name: row.get(name, "") for name in COLUMNS} | own for row in rows],
            ["tool", "form", "n", "batch"],
        )


def report(rows: list[dict[str, object]]) -> None:
    """How many times faster, per sample, forward and backward together."""
    own = next((row for row in rows if row["tool"] == "rumflow" and "ms_per_sample" in row), None)
    if own is None:
        return
    print(f"\n{'tool':24}{'form':14}{'ms a sample':>14}{'times rumflow':>15}{'output error':>14}{'gradient error':>16}")
    for row in rows:
        if "ms_per_sample" not in row:
            print(f"{row['tool']:24}{row['form']:14}  {row['note']}")
            continue
        ratio = float(row["ms_per_sample"]) / float(own["ms_per_sample"])  # type: ignore[arg-type]
        gradient = row.get("gradient_error", float("nan"))
        print(
            f"{row['tool']:24}{row['form']:14}{row['ms_per_sample']:14.3f}{ratio:15.1f}{row['output_error']:14.1e}{gradient:16.1e}"
        )


if __name__ == "__main__":
    main()
