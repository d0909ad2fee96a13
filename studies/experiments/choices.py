"""Networks that learn choice probabilities, against the baseline that is rational by construction.

A context of 8 numbers goes in, the choice probabilities of some menus come out. Two *teachers*, both random utility models:

    logits     a mixture of three logits, utilities and shares by a network
    projected  the projection of a network's raw outputs: few rankings, many probabilities of exactly 0

and two kinds of data: *shares*, the teacher's probabilities of all menus at 128 contexts (squared error), and *choices*, one
from one menu at each of 512 contexts (likelihood); half as many for 8 items. Students have the same body and differ in the
last step:

    softmax              softmax within each menu
    softmax, projected   the same network, its outputs projected when it is tested
    softmax, layer       softmax within each menu, then projected in the network (`ChoiceLikelihood` for choices)
    mixture of logits    ten logits and their shares: random utility without any projection

*Error* is the mean squared error per cell at 128 contexts not seen; *loss* the expected negative log-likelihood of a choice
there, all probabilities mixed with 1 % of equal shares so that a 0 costs much instead of infinitely much; `excess` is the loss
less that of the truth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rumflow.core.lattice import items_of
from studies.experiments.files import Row, draw, markdown_table, read_csv, write_csv
from studies.experiments.logits import mix_logits

if TYPE_CHECKING:
    from torch import Tensor, nn

STUDENTS = ("softmax", "softmax, projected", "softmax, layer", "mixture of logits")
TEACHERS, DATA = ("logits", "projected"), ("shares", "choices")
#: Items, the number of menus (0: all of them), and what contexts and epochs are divided by.
SIZES = ((5, 0, 1), (6, 10, 1), (8, 0, 2))
_CONTEXT, _WIDTH, _RATE, _TEST, _EQUAL = 8, 64, 3e-3, 128, 0.01
_BATCH = {"shares": 16, "choices": 32}


class _Task:
    """Menus, teacher and data of one seed."""

    def __init__(self, seed: int, n: int, menus: int, teacher: str, data: str, train: int) -> None:
        import torch
        from torch import nn

        from rumflow.torch import RUMLayer

        self.torch, self.n, self.seed, self.data = torch, n, seed, data
        rng = np.random.default_rng(seed)
        large = [mask for mask in range(1, 1 << n) if mask.bit_count() > 1]
        self.menus = sorted(rng.choice(large, menus, replace=False).tolist()) if menus else None
        own = self.menus or range(1, 1 << n)
        items = [items_of(mask) for mask in own]
        self.menu = torch.tensor([row for row, menu in enumerate(items) for _ in menu])
        self.item = torch.tensor([x for menu in items for x in menu])
        self.name = (
            torch.tensor(own) if self.menus is None else torch.arange(len(items))
        )  # as `ChoiceLikelihood` has it
        self.equal = 1.0 / torch.bincount(self.menu)[self.menu].double()
        self.offered = torch.zeros(len(items), n, dtype=torch.bool)
        self.offered[self.menu, self.item] = True
        self.layer = RUMLayer(n, self.menus)
        torch.manual_seed(seed)
        self.x = torch.randn(train + _TEST, _CONTEXT, dtype=torch.float64)
        with torch.no_grad():
            if teacher == "logits":
                body = nn.Sequential(nn.Linear(_CONTEXT, 32), nn.Tanh(), nn.Linear(32, 3 * (n + 1))).double()
                self.y = self.mix_logits(4.0 * body(self.x), 3)
            else:
                body = nn.Sequential(nn.Linear(_CONTEXT, 64), nn.Tanh(), nn.Linear(64, len(self.menu))).double()
                self.y = self.layer(body(self.x))
        self.train = train
        self.rows = torch.randint(len(items), (train,))
        shares = torch.zeros(train, n, dtype=torch.float64)
        places = self.menu == self.rows[:, None]
        shares[places.nonzero()[:, 0], self.item[places.nonzero()[:, 1]]] = self.y[:train][places]
        self.chosen = torch.multinomial(shares, 1)[:, 0]
        self.cell = ((self.menu == self.rows[:, None]) & (self.item == self.chosen[:, None])).double().argmax(-1)

    def mix_logits(self, outputs: Tensor, parts: int) -> Tensor:
        """(B, parts (n + 1)) numbers to the probabilities (B, M) of a mixture of logits."""
        return mix_logits(outputs, parts, self.offered, self.menu, self.item)

    def student(self, method: str) -> tuple[nn.Module, Callable[[Tensor], Tensor], list[nn.Module]]:
        """Body, the last step from its outputs to probabilities, and the layer if there is one."""
        from torch import nn

        from rumflow.torch import MenuSoftmax, RUMLayer

        self.torch.manual_seed(1000 + self.seed)
        outputs = 10 * (self.n + 1) if method == "mixture of logits" else len(self.menu)
        body = nn.Sequential(
            nn.Linear(_CONTEXT, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, outputs)
        ).double()
        if method == "mixture of logits":
            return body, lambda z: self.mix_logits(z, 10), []
        head = MenuSoftmax(self.n, self.menus)
        return body, head, [RUMLayer(self.n, self.menus, warm_start=True, threads=1)] if "layer" in method else []

    def learn(self, method: str, epochs: int, every: int) -> Iterator[tuple[int, str, Row]]:
        """Train a student; yields epoch, method and measurements."""
        from rumflow.torch import ChoiceLikelihood

        torch = self.torch
        body, last, layers = self.student(method)
        likelihood = ChoiceLikelihood(layers[0]) if layers else None  # type: ignore[arg-type]
        optimiser = torch.optim.Adam(body.parameters(), lr=_RATE)
        generator = torch.Generator().manual_seed(2000 + self.seed)
        largest = 0.0
        for epoch in range(epochs + 1):
            if epoch % every == 0 or epoch == epochs:
                with torch.no_grad():
                    p = last(body(self.x[self.train :]))
                    if layers:
                        p = self.layer(p)
                    yield epoch, method, self.measure(p) | {"largest_loss": largest}
                    if method == "softmax":
                        yield epoch, "softmax, projected", self.measure(self.layer(p)) | {"largest_loss": largest}
            if epoch == epochs:
                return
            for rows in torch.randperm(self.train, generator=generator).split(_BATCH[self.data]):
                optimiser.zero_grad()
                p = last(body(self.x[rows]))
                if self.data == "shares":
                    loss = ((layers[0](p) if layers else p) - self.y[rows]).square().mean()
                elif likelihood is not None:
                    loss = likelihood(p, self.name[self.rows[rows]], self.chosen[rows])
                else:
                    loss = -p.gather(-1, self.cell[rows, None]).log().mean()
                loss.backward()
                gradients = [parameter.grad for parameter in body.parameters() if parameter.grad is not None]
                finite = bool(torch.isfinite(loss)) and all(bool(torch.isfinite(g).all()) for g in gradients)
                if not finite:
                    raise FloatingPointError(f"{method}, seed {self.seed}, epoch {epoch}: loss {float(loss.detach())}")
                largest = max(largest, float(loss.detach()))
                optimiser.step()

    def measure(self, p: Tensor) -> Row:
        """Error, loss, and loss above that of the truth, on contexts not seen."""
        y = self.y[self.train :]
        menus = len(self.offered)

        def loss(q: Tensor) -> float:
            return float(-(y * ((1 - _EQUAL) * q + _EQUAL * self.equal).log()).sum(-1).mean() / menus)

        return {"error": float((p - y).square().mean()), "loss": loss(p), "excess": loss(p) - loss(y)}


def run_choices(
    out_dir: str | Path,
    seeds: Iterable[int] = range(3),
    sizes: Sequence[tuple[int, int, int]] = SIZES,
    contexts: tuple[int, int] = (128, 512),
    epochs: tuple[int, int] = (40, 15),
    points: int = 5,
    progress: Callable[[str], None] | None = None,
) -> list[Row]:
    """Train every student on all tasks and seeds; writes choices.csv, choices.png and choices.md into `out_dir`.

    `contexts` and `epochs` are those of shares and of choices. A loss or gradient that is not finite is an error. Needs PyTorch.
    """
    import torch

    rows: list[Row] = []
    out = Path(out_dir)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # these networks are small: threads would only wait for each other
    try:
        for n, menus, part in sizes:
            for teacher in TEACHERS:
                for data, whole, passes in zip(DATA, contexts, epochs, strict=True):
                    train, most = whole // part, passes // part
                    for seed in seeds:
                        begin = time.process_time()
                        task = _Task(seed, n, menus, teacher, data, train)
                        for method in STUDENTS:
                            if method == "softmax, projected":
                                continue
                            start = time.process_time()
                            for epoch, name, found in task.learn(method, most, max(1, most // points)):
                                case = {"n": n, "menus": menus or (1 << n) - 1, "teacher": teacher, "data": data}
                                spent = round(time.process_time() - start, 2)
                                rows.append(
                                    {**case, "seed": seed, "method": name, "epoch": epoch, **found, "cpu": spent}
                                )
                        write_csv(out / "choices.csv", rows)  # what is done is kept
                        if progress is not None:
                            progress(
                                f"choices: n = {n}, {teacher}, {data}, seed {seed}: {time.process_time() - begin:.0f} s"
                            )
    finally:
        torch.set_num_threads(threads)
    return render_choices(out)


def render_choices(out_dir: str | Path) -> list[Row]:
    """Figure and page from the CSV; the last measurements, means over seeds."""
    out = Path(out_dir)
    rows = read_csv(out / "choices.csv")
    cases = list(dict.fromkeys((row["n"], row["menus"], row["teacher"], row["data"]) for row in rows))
    summary: list[Row] = []
    for case in cases:
        own = [row for row in rows if (row["n"], row["menus"], row["teacher"], row["data"]) == case]
        last = max(row["epoch"] for row in own)
        for method in STUDENTS:
            end = [row for row in own if row["method"] == method and row["epoch"] == last]
            found = {key: float(np.mean([row[key] for row in end])) for key in ("error", "excess", "cpu")}
            key = "excess" if case[3] == "choices" else "error"
            epochs = {row["epoch"] for row in own}
            curve = [[row[key] for row in own if row["method"] == method and row["epoch"] == epoch] for epoch in epochs]
            found["best"] = float(np.min(np.mean(curve, axis=1)))
            spread = float(np.std([row[key] for row in end]))
            names = dict(zip(("n", "menus", "teacher", "data"), case, strict=True))
            summary.append({**names, "method": method, **found, "spread": spread})
    figure = draw(out / "choices.png", lambda axes: _paint(axes, rows, cases), (12.0, 3.2 * ((len(cases) + 3) // 4)))
    (out / "choices.md").write_text(_page(rows, cases, summary, figure), encoding="utf-8")
    return summary


def _paint(axes: Any, rows: Sequence[Row], cases: Sequence[tuple[Any, ...]]) -> None:
    figure = axes.figure
    figure.clf()
    panels = figure.subplots((len(cases) + 3) // 4, 4, squeeze=False).reshape(-1)
    for panel, case in zip(panels, cases, strict=False):
        own = [row for row in rows if (row["n"], row["menus"], row["teacher"], row["data"]) == case]
        measure = "excess" if case[3] == "choices" else "error"
        for method, colour in zip(STUDENTS, ("#2e8b57", "#b0a020", "#7d3fa8", "#c0392b"), strict=True):
            epochs = sorted({row["epoch"] for row in own if row["method"] == method})
            curve = [np.mean([r[measure] for r in own if r["method"] == method and r["epoch"] == e]) for e in epochs]
            panel.plot(epochs, curve, color=colour, lw=1.3, label=method)
        panel.set_yscale("log")
        panel.set_title(f"{case[0]} items, {case[1]} menus; {case[2]}; {case[3]}", fontsize=7)
        panel.set_xlabel("epoch", fontsize=7)
        panel.set_ylabel("excess loss" if measure == "excess" else "squared error", fontsize=7)
    panels[0].legend(frameon=False, fontsize=7)


def _page(rows: Sequence[Row], cases: Sequence[tuple[Any, ...]], summary: Sequence[Row], figure: bool) -> str:
    seeds = sorted({row["seed"] for row in rows})
    parts = [
        "# Layers against mixtures of logits\n",
        "What is compared is told in `studies/experiments/choices.py`. The same body for all students, nothing tuned for any; "
        f"means over {len(seeds)} seeds on contexts not seen, ± the standard deviation over seeds. Raw numbers at every "
        "measurement: `choices.csv`. No loss and no gradient was infinite or NaN: the run would have stopped.\n",
        "![learning curves](choices.png)\n" if figure else "(No figure: matplotlib is not installed.)\n",
    ]
    lines: list[list[object]] = []
    early: list[list[object]] = []
    for case in cases:
        own = [row for row in summary if (row["n"], row["menus"], row["teacher"], row["data"]) == case]
        key = "excess" if case[3] == "choices" else "error"
        best = min(row[key] for row in own)
        marks = ["**" if row[key] == best else "" for row in own]
        cells = [f"{m}{row[key]:.2e}{m} ± {row['spread']:.0e}" for m, row in zip(marks, own, strict=True)]
        lines.append([*case, "excess loss" if key == "excess" else "squared error", *cells, f"{own[2]['cpu']:.0f}"])
        least = min(row["best"] for row in own)
        early.append(
            [*case, *(f"**{row['best']:.2e}**" if row["best"] == least else f"{row['best']:.2e}" for row in own)]
        )
    header = ["items", "menus", "teacher", "data"]
    parts.append("After the last epoch:\n")
    parts.append(markdown_table([*header, "measure", *STUDENTS, "seconds, layer"], lines))
    parts.append(
        "At the best of the epochs measured, picked on the test set for all students alike, as with early stopping:\n"
    )
    parts.append(markdown_table([*header, *STUDENTS], early))
    for teacher in TEACHERS:
        for data in DATA:
            key = "excess" if data == "choices" else "error"
            own = [row for row in summary if row["teacher"] == teacher and row["data"] == data]
            told = []
            for column in (key, "best"):
                layer, mixture = (
                    [row[column] for row in own if row["method"] == name] for name in ("softmax, layer", STUDENTS[3])
                )
                told.append(", ".join(f"{a / b:.2f}" for a, b in zip(layer, mixture, strict=True)))
            what = "excess loss" if key == "excess" else "error"
            parts.append(
                f"* Teacher *{teacher}*, {data}: the layer has {told[0]} times the {what} of the mixture of logits after the "
                f"last epoch, {told[1]} at the best one."
            )
    return "\n".join(parts) + "\n"
