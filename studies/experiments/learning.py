"""Experiment III: does a network that can only answer rationally learn better from few samples?

A teacher network maps contexts to scores, and its projection onto RUM is the truth, y = P(T(x)), n = 8. Students with
the same body see 256 contexts and differ in their last step and in their loss:

    penalty           raw outputs a, ||a - y||^2 + lambda (||max(0, -K a)||^2 + ||C a - 1||^2), lambda = 50
    layer             raw outputs, projected onto RUM in the network: ||P(a) - y||^2
    plain             raw outputs, ||a - y||^2
    plain, projected  the same network, its outputs projected when it is tested
    softmax           softmax within each menu
    softmax, penalty  the same, + lambda ||max(0, -K a)||^2
    softmax, layer    softmax within each menu, then projected in the network
    softmax, projected  the softmax's outputs projected when it is tested
    mixture of logits ten logits and their shares, by the network: random utility without any projection
    flow              scores of the arcs of the lattice, `FlowRUM`: likewise
    penalty, 1 and others, softmax, penalty, 1 and others    the two penalties with a smaller lambda, `GRID`

The first is the paper's baseline and the second its proposal. The others are not in the paper: they tell apart what the
axioms are worth from what the penalty costs, and from what a model that is rational by construction gives. (A teacher that is
itself a mixture of logits, and likelihood in place of squares: `studies.experiments.choices`.)

*Task error* is the mean squared error per cell; *violation* the largest of -K a and |C a - 1| over all samples and cells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rumflow.core.arrays import Array
from rumflow.core.lattice import Lattice
from rumflow.core.transforms import moebius
from studies.experiments.files import Row, draw, markdown_table, read_csv, write_csv
from studies.experiments.logits import mix_logits

if TYPE_CHECKING:
    from torch import Tensor, nn


#: Smaller lambdas than that of the paper, 50.
GRID = (10.0, 1.0, 0.05)
_COLOURS = {
    "penalty": "#c0392b",
    "layer": "#1f5fa8",
    "plain": "#7f7f7f",
    "plain, projected": "#b0a020",
    "softmax": "#2e8b57",
    "softmax, penalty": "#d98c3f",
    "softmax, layer": "#7d3fa8",
    "softmax, projected": "#5fb58a",
    "mixture of logits": "#111111",
    "flow": "#0aa0a0",
}
_WEAKER = {f"{kind}, {strength:g}": (kind, strength) for kind in ("penalty", "softmax, penalty") for strength in GRID}
METHODS = (*_COLOURS, *_WEAKER)
_LOGITS = 10


def run_exp3(
    out_dir: str | Path,
    seeds: Iterable[int] = range(3),
    n: int = 8,
    train: int = 256,
    test: int = 256,
    epochs: int = 300,
    layer_epochs: int = 60,
    width: int = 128,
    context: int = 16,
    batch: int = 64,
    rate: float = 1e-3,
    penalty: float = 50.0,
    points: int = 10,
    progress: Callable[[str], None] | None = None,
    methods: Sequence[str] = METHODS,
) -> dict[str, dict[str, float]]:
    """Train every student on every seed; writes exp3.csv, exp3.png and exp3.md into `out_dir`.

    With `methods` only those are trained, and their rows replace those of an earlier run.
    Students with a layer see the data `layer_epochs` times, the others, for whom it is cheap, `epochs` times.

    Returns for each method the mean over seeds of the last task errors and violations. Needs PyTorch.
    """
    import torch

    rows: list[Row] = []
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # these networks are small: threads would only wait for each other
    try:
        _run(
            rows, methods, seeds, n, train, test, (epochs, layer_epochs), width, context, batch, rate, penalty, points,
            progress,
        )  # fmt: skip
    finally:
        torch.set_num_threads(threads)
    settings: Row = {"n": n, "train": train, "test": test, "width": width, "context": context, "batch": batch}
    settings |= {"rate": rate, "penalty": penalty}
    out = Path(out_dir)
    new = [{**row, **settings} for row in rows]
    trained = {row["method"] for row in rows}
    known = read_csv(out / "exp3.csv") if set(methods) < set(METHODS) else []
    write_csv(out / "exp3.csv", [row for row in known if row["method"] not in trained] + new)
    return render_exp3(out)


def _run(
    rows: list[Row],
    methods: Sequence[str],
    seeds: Iterable[int],
    n: int,
    train: int,
    test: int,
    epochs: tuple[int, int],
    width: int,
    context: int,
    batch: int,
    rate: float,
    penalty: float,
    points: int,
    progress: Callable[[str], None] | None,
) -> None:
    for seed in seeds:
        task = _Task(seed, n, train, test, context)
        for method in methods:
            if method.endswith("projected"):
                continue
            most = epochs["layer" in method]
            for epoch, part, values in task.learn(method, most, width, batch, rate, penalty, max(1, most // points)):
                rows.append({"seed": seed, "method": part, "epoch": epoch, **values})
            if progress is not None:
                progress(f"exp3: seed {seed}, {method}: {rows[-1]['seconds']:.0f} s, {rows[-1]['test_error']:.3g}")


class _Task:
    """Teacher, contexts and truth of one seed."""

    def __init__(self, seed: int, n: int, train: int, test: int, context: int) -> None:
        import torch
        from torch import nn

        from rumflow.torch import RUMLayer

        self.torch, self.n, self.seed, self.train = torch, n, seed, train
        self.lattice = Lattice(n)
        generator = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        cells = self.lattice.n_cells
        teacher = nn.Sequential(nn.Linear(context, 64), nn.Tanh(), nn.Linear(64, cells)).double()
        self.x = torch.randn(train + test, context, dtype=torch.float64, generator=generator)
        self.layer = RUMLayer(n)
        with torch.no_grad():
            self.y: Tensor = self.layer(teacher(self.x))
        identity = self.lattice.cells_to_internal(np.eye(cells))
        k = self.lattice.internal_to_cells(np.array([moebius(row) for row in identity]))
        self.k = torch.tensor(k)  # rows: a -> a K^T
        self.c = torch.zeros(cells, self.lattice.n_menus, dtype=torch.float64)
        self.c[torch.arange(cells), torch.tensor(self.lattice.cells[:, 0].copy())] = 1.0
        self.c = self.c[:, 1:]
        menu, item = torch.tensor(self.lattice.cells.copy()).T
        self.offered = torch.zeros(self.lattice.n_menus, n, dtype=torch.bool)
        self.offered[menu, item] = True
        self.menu, self.item = menu - 1, item  # without the empty menu

    def student(self, method: str, width: int) -> nn.Sequential:
        """The same body for all, with the last step of the method."""
        from torch import nn

        from rumflow.torch import FlowRUM, MenuSoftmax, RUMLayer

        self.torch.manual_seed(1000 + self.seed)
        cells = self.lattice.n_cells
        body: list[nn.Module] = [nn.Linear(self.x.shape[1], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()]
        mixture = method == "mixture of logits"
        body.append(nn.Linear(width, _LOGITS * (self.n + 1) if mixture else cells))
        if "softmax" in method:
            body.append(MenuSoftmax(self.n))
        if method == "flow":
            body.append(FlowRUM(self.n))
        if "layer" in method:
            body.append(RUMLayer(self.n, warm_start=True))
        return nn.Sequential(*body).double()

    def answer(self, model: nn.Module, method: str, x: Tensor) -> Tensor:
        """Probabilities of all cells."""
        outputs: Tensor = model(x)
        if method == "mixture of logits":
            return mix_logits(outputs, _LOGITS, self.offered[1:], self.menu, self.item)
        return outputs

    def loss(self, answer: Tensor, y: Tensor, penalty: float) -> Tensor:
        """Sum of squares per sample, with the penalty, per cell."""
        total = (answer - y).square().sum(-1)
        if penalty > 0:
            negative = (-(answer @ self.k)).clamp(min=0.0).square().sum(-1)
            total = total + penalty * (negative + (answer @ self.c - 1.0).square().sum(-1))
        return total.mean() / self.lattice.n_cells

    def learn(
        self, method: str, epochs: int, width: int, batch: int, rate: float, penalty: float, every: int
    ) -> Iterable[tuple[int, str, dict[str, float]]]:
        """Train a student; yields epoch, method and measurements, among them the CPU seconds of training so far."""
        torch = self.torch
        model = self.student(method, width)
        optimiser = torch.optim.Adam(model.parameters(), lr=rate)
        generator = torch.Generator().manual_seed(2000 + self.seed)
        strength = _WEAKER[method][1] if method in _WEAKER else penalty if "penalty" in method else 0.0
        head, last = model[:-1], model[-1]
        spent = 0.0
        for epoch in range(epochs + 1):
            if epoch % every == 0 or epoch == epochs:
                seconds = {"seconds": round(spent, 2)}
                yield epoch, method, self.measure(model, method) | seconds
                if method in ("plain", "softmax"):
                    projected = self.measure(torch.nn.Sequential(model, self.layer), method)
                    yield epoch, f"{method}, projected", projected | seconds
            if epoch == epochs:
                return
            begin = time.process_time()
            for rows in torch.randperm(self.train, generator=generator).split(batch):
                optimiser.zero_grad()
                x = self.x[rows]
                answer = last(head(x), index=rows) if "layer" in method else self.answer(model, method, x)
                self.loss(answer, self.y[rows], strength).backward()
                optimiser.step()
            spent += time.process_time() - begin

    def measure(self, model: nn.Module, method: str) -> dict[str, float]:
        """Task error and violation on the contexts seen and not seen."""
        torch = self.torch
        model.eval()
        with torch.no_grad():
            answer = self.answer(model, method, self.x)
        model.train()
        error = (answer - self.y).square().mean(-1)
        worst = torch.maximum((-(answer @ self.k)).amax(-1).clamp(min=0.0), (answer @ self.c - 1.0).abs().amax(-1))
        found = {}
        for name, part in (("train", slice(None, self.train)), ("test", slice(self.train, None))):
            found[f"{name}_error"] = float(error[part].mean())
            found[f"{name}_violation"] = float(worst[part].max())
            found[f"{name}_violation_mean"] = float(worst[part].mean())
        return found


def render_exp3(out_dir: str | Path) -> dict[str, dict[str, float]]:
    """Figure and page of experiment III from its CSV."""
    out = Path(out_dir)
    rows = read_csv(out / "exp3.csv")
    names = [name for name in METHODS if any(row["method"] == name for row in rows)]
    last = {name: max(row["epoch"] for row in rows if row["method"] == name) for name in names}
    columns = ("train_error", "test_error", "train_violation", "test_violation")

    def final(name: str, column: str) -> Array:
        return np.array([row[column] for row in rows if row["method"] == name and row["epoch"] == last[name]], float)

    summary: dict[str, dict[str, float]] = {}
    for name in names:
        summary[name] = {column: float(final(name, column).mean()) for column in columns[:2]}
        summary[name] |= {column: float(final(name, column).max()) for column in columns[2:]}
        best = _curves(rows, name, "test_error").mean(axis=0).min()
        summary[name] |= {"best_test_error": float(best), "spread": float(final(name, "test_error").std())}
        summary[name]["epochs"] = last[name]
        summary[name]["seconds"] = float(final(name, "seconds").mean())
    figure = draw(
        out / "exp3.png", lambda axes: _paint(axes, rows, [name for name in names if name in _COLOURS]), (11.0, 4.4)
    )
    (out / "exp3.md").write_text(_page(rows, summary, figure), encoding="utf-8")
    return summary


def _curves(rows: Sequence[Row], name: str, column: str) -> Array:
    """(seeds, epochs): one learning curve per seed."""
    own = [row for row in rows if row["method"] == name]
    seeds = sorted({row["seed"] for row in own})
    return np.array([[row[column] for row in own if row["seed"] == seed] for seed in seeds], float)


def _paint(axes: Any, rows: Sequence[Row], names: Sequence[str]) -> None:
    figure = axes.figure
    figure.clf()
    panels = figure.subplots(1, 2)
    titles = ("task error (mean square)", "largest violation")
    for panel, column, title in zip(panels, ("error", "violation"), titles, strict=True):
        for name in names:
            epochs = [row["epoch"] for row in rows if row["method"] == name and row["seed"] == rows[0]["seed"]]
            for part, style in (("train", ":"), ("test", "-")):
                curve = np.maximum(_curves(rows, name, f"{part}_{column}").mean(axis=0), 1e-17)
                panel.plot(epochs, curve, style, color=_COLOURS[name], lw=1.3, label=name if part == "test" else None)
        panel.set_yscale("log")
        panel.set_xlabel("epoch")
        panel.set_title(title + ": test solid, training dotted", fontsize=9)
    panels[0].legend(frameon=False, fontsize=7)


def _page(rows: Sequence[Row], summary: dict[str, dict[str, float]], figure: bool) -> str:
    first = rows[0]
    seeds = sorted({row["seed"] for row in rows})
    table = markdown_table(
        [
            "method",
            "epochs",
            "training error",
            "test error",
            "best epoch's",
            "largest violation, training",
            "test",
            "seconds",
        ],
        [
            [
                name,
                int(s["epochs"]),
                f"{s['train_error']:.2e}",
                f"{s['test_error']:.2e} ± {s['spread']:.1e}",
                f"{s['best_test_error']:.2e}",
                f"{s['train_violation']:.1e}",
                f"{s['test_violation']:.1e}",
                f"{s['seconds']:.0f}",
            ]
            for name, s in summary.items()
            if name in _COLOURS
        ],
    )
    parts = [
        "# Experiment III: the axioms as a layer\n",
        f"Teacher and student, n = {first['n']} ({Lattice(int(first['n'])).n_cells} cells), {first['train']} training and "
        f"{first['test']} test contexts of {first['context']} numbers; students with two hidden layers of {first['width']}, "
        f"Adam at {first['rate']:g}, batches of {first['batch']}, lambda = {first['penalty']:g}; "
        f"means over {len(seeds)} seeds ({', '.join(map(str, seeds))}). Raw numbers at every measurement: `exp3.csv`.\n",
        "![learning curves](exp3.png)\n" if figure else "(No figure: matplotlib is not installed.)\n",
        table,
        "Settings are the same for all students and were not tuned for any. Those with a layer see the data fewer times; "
        "the *best epoch* is picked on the test set, for every method alike, and shows who overfits. Seconds are CPU seconds of "
        "training" + _with_measurements(rows) + ".\n",
        *_tuned(summary, float(first["penalty"])),
        *_claims(summary),
    ]
    return "\n".join(parts) + "\n"


def _with_measurements(rows: Sequence[Row]) -> str:
    """Which rows are from the time when the seconds of measurements were counted as well."""
    old = dict.fromkeys(row["method"] for row in rows if str(row.get("date", "")) == "2026-11-17")
    return f" (with those of the measurements in between for {'; '.join(old)})" if old else ""


def _strengths(summary: dict[str, dict[str, float]], kind: str, given: float) -> dict[float, dict[str, float]]:
    """The students with one of the two penalties, by lambda."""
    others = {_WEAKER[name][1]: s for name, s in summary.items() if name in _WEAKER and _WEAKER[name][0] == kind}
    return {given: summary[kind], **others} if kind in summary else others


def _tuned(summary: dict[str, dict[str, float]], given: float) -> list[str]:
    """What becomes of the two penalties when lambda is tuned."""
    kinds = ("penalty", "softmax, penalty")
    found = [(kind, _strengths(summary, kind, given)) for kind in kinds]
    if not any(name in summary for name in _WEAKER):
        return []
    rows = [
        [kind, f"{strength:g}", f"{s['test_error']:.2e} ± {s['spread']:.1e}", f"{s['test_violation']:.1e}"]
        for kind, own in found
        for strength, s in own.items()
    ]
    return [
        "## Tuning the penalty\n",
        f"The paper's lambda is {given:g}. The best of these rows is picked on the test set, in favour of the penalty:\n",
        markdown_table(["method", "lambda", "test error", "largest violation, test"], rows),
    ]


def _claims(summary: dict[str, dict[str, float]]) -> list[str]:
    """What the paper says, and what came out."""
    if "layer" not in summary or "penalty" not in summary:
        return []
    layer, penalty = summary["layer"], summary["penalty"]
    ratio = penalty["test_error"] / layer["test_error"]
    rivals = {name: s for name, s in summary.items() if "layer" not in name}
    best = min(rivals, key=lambda name: rivals[name]["test_error"])
    against = rivals[best]["test_error"] / layer["test_error"]
    lines = [
        "## What the paper says, and what was measured\n",
        '1. *"Maintains machine-precision adherence (about 1e-16) across both training and test sets."* Measured for the '
        f"layer: largest violation {layer['train_violation']:.1e} in training and {layer['test_violation']:.1e} on the test "
        "set; rounding of the Block-Marschak sums themselves is part of these numbers. "
        f"With the penalty: {penalty['train_violation']:.1e} and {penalty['test_violation']:.1e}.",
        '2. *"A test loss orders of magnitude lower than the baseline."* Measured: '
        f"{ratio:.2g} times lower than with the penalty"
        + (". " if ratio >= 100 else ", which is not orders of magnitude. ")
        + f"The best student without a layer is *{best}*, with {against:.2g} times the test error of the layer.",
    ]
    if "plain" in summary:
        cost = penalty["test_error"] / summary["plain"]["test_error"]
        word = "raises" if cost > 1 else "lowers"
        lines.append(
            f"3. The penalty itself {word} the test error: {cost:.2g} times that of the same network without it. A "
            "comparison with the penalty alone therefore does not tell what the axioms are worth."
            + _best_penalty(summary)
        )
    if "plain, projected" in summary:
        gain = summary["plain"]["test_error"] / summary["plain, projected"]["test_error"]
        rest = summary["plain, projected"]["test_error"] / layer["test_error"]
        lines.append(
            "4. Projecting a plain network's outputs when it is tested, without training through the layer, divides its "
            f"error by {gain:.2g} and gives the same guarantee; training through the layer divides what is left by {rest:.2g}."
            + _projected_softmax(summary)
        )
    if "mixture of logits" in summary and "softmax, layer" in summary:
        lines.append("5. " + _against_logits(summary))
    if "flow" in summary and "softmax, layer" in summary:
        lines.append("6. " + _against_flow(summary))
    return lines


def _best_penalty(summary: dict[str, dict[str, float]]) -> str:
    """The penalty whose lambda is best on the test set, beside the layer."""
    own = {name: s["test_error"] for name, s in summary.items() if _WEAKER.get(name, ("",))[0] == "penalty"}
    if not own:
        return ""
    best = min(own, key=lambda name: own[name])
    layer = summary["layer"]["test_error"]
    return (
        f" With lambda = {_WEAKER[best][1]:g}, the best on the test set, its error is {own[best]:.2e}, "
        f"{own[best] / layer:.2g} times that of the layer, and its largest violation {summary[best]['test_violation']:.1e}."
    )


def _projected_softmax(summary: dict[str, dict[str, float]]) -> str:
    """The same for the network with a softmax, where it was measured."""
    if "softmax, projected" not in summary or "softmax, layer" not in summary:
        return ""
    own, other = summary["softmax, projected"]["test_error"], summary["softmax, layer"]["test_error"]
    return (
        f" After a softmax the test error is {own:.2e} when it is projected only then, {own / other:.2g} times that of the layer "
        "after a softmax."
    )


def _against_flow(summary: dict[str, dict[str, float]]) -> str:
    """How the layers compare with flows by construction."""
    flow = summary["flow"]
    ratio = flow["test_error"] / summary["softmax, layer"]["test_error"]
    seconds = [s["seconds"] / s["epochs"] for s in (flow, summary["softmax, layer"])]
    return (
        f"`FlowRUM` is random utility by construction as well: largest violation {flow['test_violation']:.1e}. Its test error is "
        f"{ratio:.2g} times that of the layer after a softmax, at {seconds[0] / seconds[1]:.2g} times its seconds per epoch."
    )


def _against_logits(summary: dict[str, dict[str, float]]) -> str:
    """How the layers compare with the baseline that is rational by construction."""
    other = summary["mixture of logits"]
    ratios = [f"{other['test_error'] / summary[name]['test_error']:.2g}" for name in ("layer", "softmax, layer")]
    return (
        f"A mixture of {_LOGITS} logits is random utility by construction, without any projection: largest violation "
        f"{other['test_violation']:.1e}. Its test error is {ratios[0]} times that of the layer and {ratios[1]} times that of the "
        "layer after a softmax. This teacher is a projection, with many probabilities of exactly 0, which logits only "
        "come near to. [Layers against mixtures of logits](choices.md) has teachers of both kinds, and likelihood as well as "
        "squared error, and says where the mixture is better."
    )
