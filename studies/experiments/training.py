"""Five models of choice trained on the same simulated choices with features: what each costs, and what it predicts.

A catalogue of 50 items with 6 features; buyers with 4 features, of three kinds. A buyer of kind k has the utilities

    u_k(x, a) = <b_k, a> + x^T M_k a + h_k(a),     h_k(a) = 1.5 sin(<c_k, a>)

the kinds have shares softmax(C x), and each buyer takes one item from a menu. This is a mixture of logits, so it is rational, and
it is not linear. Two designs:

    a menu each    every buyer has a menu of 8 items of his own, drawn at random
    few menus      there are eight menus of 6 items, and every buyer has one of them

    MNL            one logit, linear in features and products of features
    masked MLP     a network that sees buyer and menu gives a score for every item; softmax over the menu. It need not be rational
    MixtureRUM     ten logits whose utilities a network computes from buyer and item, with shares from the buyer
    FlowRUM        one such utility, and what departs from it on the arcs of the graph of the eight menus (few menus only)
    projection     one such utility, and what departs from it on every cell, softmax over menus, projected (few menus only)

All are trained by Adam on batches of 128, the projection for fewer epochs; the epoch is chosen on buyers who are used for nothing
else, and the loss (mean of -log p of the choices) is that of others again. *Lines* are those of the model in this file, without
blank ones.

    python -m studies.experiments training --out studies/results
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.experiments.files import Row, markdown_table, read_csv, write_csv

if TYPE_CHECKING:
    from torch import Tensor

DESIGNS = ("a menu each", "few menus")
MODELS = ("MNL", "masked MLP", "MixtureRUM", "FlowRUM", "projection")
_ITEMS, _FEATURES, _PERSON, _KINDS, _MENUS = 50, 6, 4, 3, 8
_EVERY = 3  # epochs between two measurements


class Market:
    """Buyers, their menus and choices."""

    def __init__(self, design: str, seed: int, buyers: int) -> None:
        import torch

        rng = np.random.default_rng([seed, DESIGNS.index(design)])
        self.few = design == "few menus"
        items, person = rng.normal(size=(_ITEMS, _FEATURES)), rng.normal(size=(buyers, _PERSON))
        size = 6 if self.few else 8
        drawn = np.argsort(rng.random((_MENUS if self.few else buyers, _ITEMS)), axis=1)[:, :size]
        self.menus = [tuple(sorted(menu)) for menu in drawn.tolist()] if self.few else []
        own = rng.integers(0, _MENUS, buyers) if self.few else np.arange(buyers)
        available = np.zeros((buyers, _ITEMS), np.bool_)
        available[np.arange(buyers)[:, None], drawn[own]] = True
        linear, bend = rng.normal(size=(2, _KINDS, _FEATURES))
        cross = 0.5 * rng.normal(size=(_KINDS, _PERSON, _FEATURES))
        shares = np.exp(person @ rng.normal(size=(_PERSON, _KINDS)))
        shares /= shares.sum(axis=1, keepdims=True)
        plain = items @ linear.T + 1.5 * np.sin(items @ bend.T)  # (items, kinds)
        utility = plain.T + np.einsum("bp,kpf,if->bki", person, cross, items)
        scores = np.where(available[:, None], utility, -np.inf)
        logits = np.exp(scores - scores.max(axis=2, keepdims=True))
        rho = (shares[:, :, None] * logits / logits.sum(axis=2, keepdims=True)).sum(axis=1)
        choice = (rho.cumsum(axis=1) > rng.random((buyers, 1)) * rho.sum(axis=1, keepdims=True)).argmax(axis=1)
        self.truth = -np.log(rho[np.arange(buyers), choice])  # the loss of the truth itself, buyer by buyer
        self.person, self.items = torch.tensor(person).float(), torch.tensor(items).float()
        self.available, self.choice = torch.tensor(available), torch.tensor(choice)


def _models() -> dict[str, Any]:
    """The models, each with `logp`: (buyers, items) log-probabilities, minus infinity off the menu; and perhaps a `loss`."""
    import torch
    from torch import nn

    from rumflow.torch import ChoiceLikelihood, FlowRUM, MenuSoftmax, MixtureRUM, RUMLayer

    def pair(person: Tensor, items: Tensor) -> Tensor:
        return torch.cat([person[:, None].expand(-1, len(items), -1), items.expand(len(person), -1, -1)], -1)

    def network(outputs: int, inputs: int = _PERSON + _FEATURES) -> nn.Sequential:
        return nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, outputs))

    class MNL(nn.Module):
        def __init__(self, market: Market) -> None:
            super().__init__()
            self.items, self.mixture = market.items, MixtureRUM(1)
            self.linear = nn.Linear(_FEATURES * (1 + _PERSON), 1)

        def logp(self, person: Tensor, available: Tensor) -> Any:
            cross = (person[:, None, :, None] * self.items[None, :, None, :]).flatten(2)
            utility = self.linear(torch.cat([self.items.expand(len(person), -1, -1), cross], -1))
            return self.mixture(utility.transpose(1, 2), person.new_zeros(len(person), 1), available)

    class MaskedMLP(nn.Module):
        def __init__(self, market: Market) -> None:
            super().__init__()
            self.body = network(_ITEMS, _PERSON + _ITEMS)

        def logp(self, person: Tensor, available: Tensor) -> Any:
            scores = self.body(torch.cat([person, available.float()], -1))
            return scores.masked_fill(~available, -torch.inf).log_softmax(-1)

    class Mixture(nn.Module):
        def __init__(self, market: Market) -> None:
            super().__init__()
            self.items, self.mixture = market.items, MixtureRUM(10)
            self.of_item, self.of_person = network(10), nn.Linear(_PERSON, 10)

        def logp(self, person: Tensor, available: Tensor) -> Any:
            utility = self.of_item(pair(person, self.items)).transpose(1, 2)
            return self.mixture(utility, self.of_person(person), available)

    class Flow(nn.Module):
        def __init__(self, market: Market) -> None:
            super().__init__()
            self.items, self.flow = market.items, FlowRUM.of(None, market.menus, _ITEMS)
            self.of_item, self.residual = network(1), network(len(self.flow.arcs), _PERSON)
            nn.init.zeros_(list(self.residual.parameters())[-2])

        def logp(self, person: Tensor, available: Tensor) -> Any:
            utility = self.of_item(pair(person, self.items))[..., 0]
            rho = self.flow(utility, self.residual(person))
            return self.flow.at(rho, available).log()

    class Projected(nn.Module):
        def __init__(self, market: Market) -> None:
            super().__init__()
            self.items, self.layer = market.items, RUMLayer(_ITEMS, market.menus, warm_start=True, support=1e-3)
            self.softmax, self.likelihood = MenuSoftmax(_ITEMS, market.menus), ChoiceLikelihood(self.layer)
            self.of_item, self.residual = network(1), network(len(self.layer.cells), _PERSON)
            self.item = torch.tensor(self.layer.cells[:, 1].astype(np.int64))

        def shares(self, person: Tensor) -> Any:
            utility = self.of_item(pair(person, self.items))[..., 0]
            return self.softmax(utility[:, self.item] + self.residual(person))

        def logp(self, person: Tensor, available: Tensor) -> Any:
            return self.layer.at(self.layer(self.shares(person)), available).log()

        def loss(self, person: Tensor, available: Tensor, choice: Tensor) -> Any:
            return self.likelihood(self.shares(person), available=available, choice=choice)

    return dict(zip(MODELS, (MNL, MaskedMLP, Mixture, Flow, Projected), strict=True))


def count_lines(model: type) -> int:
    """Lines of code of a class."""
    return sum(bool(line.strip()) for line in inspect.getsource(model).splitlines())


def run_training(
    out_dir: str | Path,
    seeds: Iterable[int] = range(2),
    train: int = 2000,
    held_out: int = 1000,
    epochs: int = 42,
    layer_epochs: int = 9,
    rate: float = 2e-3,
    progress: Callable[[str], None] | None = None,
    models: Sequence[str] = MODELS,
) -> list[Row]:
    """Train every model on both designs; writes training.csv (after each) and training.md into `out_dir`. Needs PyTorch."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows: list[Row] = []
    try:
        for seed in seeds:
            for design in DESIGNS:
                market = Market(design, seed, train + 2 * held_out)
                for name in models:
                    if market.few or name in MODELS[:3]:
                        most = layer_epochs if name == "projection" else epochs
                        row = _train(name, market, seed, train, held_out, most, rate)
                        sizes = {"train": train, "held_out": held_out, "epochs": most}
                        rows.append({"design": design, "seed": seed, **row, **sizes})
                        write_csv(Path(out_dir) / "training.csv", rows)
                        if progress is not None:
                            progress(
                                f"training: {design}, seed {seed}, {name}: {row['excess']:.4f}, {row['seconds']:.2f} s"
                            )
    finally:
        torch.set_num_threads(threads)
    render_training(out_dir)
    return rows


def _train(name: str, market: Market, seed: int, train: int, held_out: int, epochs: int, rate: float) -> Row:
    import torch

    torch.manual_seed(seed)
    kind = _models()[name]
    model = kind(market)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    generator = torch.Generator().manual_seed(seed)
    parts = [slice(train, train + held_out), slice(train + held_out, train + 2 * held_out)]

    def nll(own: Any) -> Any:
        logp = model.logp(market.person[own], market.available[own])
        return -logp.gather(-1, market.choice[own][:, None])[:, 0]

    def gradient(own: Any) -> None:
        optimiser.zero_grad()
        if hasattr(model, "loss"):
            loss = model.loss(market.person[own], market.available[own], market.choice[own])
        else:
            loss = nll(own).mean()
        loss.backward()

    gradient(torch.arange(2))  # compiles
    best, found, spent, at = np.inf, np.inf, 0.0, 0
    for epoch in range(1, epochs + 1):
        begin = time.process_time()
        for own in torch.randperm(train, generator=generator).split(128):
            gradient(own)
            optimiser.step()
        spent += time.process_time() - begin
        if epoch % _EVERY and epoch < epochs:
            continue
        model.eval()
        with torch.no_grad():
            chosen, held = (float(torch.cat([nll(own) for own in torch.arange(part.start, part.stop).split(500)]).mean())
                            for part in parts)  # fmt: skip
        model.train()
        if chosen < best:
            best, found, at = chosen, held, epoch
    return {
        "model": name, "loss": found, "excess": found - float(market.truth[parts[1]].mean()), "epoch": at,
        "seconds": spent / epochs, "lines": count_lines(kind),
    }  # fmt: skip


def render_training(out_dir: str | Path) -> None:
    """Page of the study from its CSV."""
    out = Path(out_dir)
    rows = read_csv(out / "training.csv")
    seeds = len({row["seed"] for row in rows})
    text = [
        "# Five models trained on choices with features\n",
        f"Simulated: {_ITEMS} items with {_FEATURES} features, {rows[0]['train']} buyers to train on, {rows[0]['held_out']} to "
        "choose the epoch and as many others to report the loss on; buyers are of three kinds whose utilities are not linear. "
        + (f"Means over {seeds} seeds; " if seeds > 1 else "One market of each kind; ")
        + "*excess* is the held-out loss beyond that of the truth itself, "
        "seconds are CPU seconds of an epoch with one thread, lines those of the model in `studies/experiments/training.py`.\n",
    ]
    for design in DESIGNS:
        table = []
        for name in MODELS:
            own = [row for row in rows if (row["design"], row["model"]) == (design, name)]
            if own:
                mean = {
                    key: float(np.mean([row[key] for row in own])) for key in ("loss", "excess", "epoch", "seconds")
                }
                spread = float(np.std([row["excess"] for row in own]))
                table.append(
                    [
                        name,
                        f"{mean['loss']:.4f}",
                        f"{mean['excess']:.4f}" + (f" ± {spread:.4f}" if seeds > 1 else ""),
                        f"{mean['epoch']:.0f} of {own[0]['epochs']}",
                        f"{mean['seconds']:.2f}",
                        own[0]["lines"],
                    ]
                )
        title = "A menu for each buyer" if design == DESIGNS[0] else f"{_MENUS} menus"
        head = ["model", "held-out loss", "excess", "best epoch", "seconds an epoch", "lines"]
        text += [f"## {title}\n", markdown_table(head, table)]
    text.append(
        "`FlowRUM` and the projection need a list of menus and its choice graph, which grows where menus overlap: eight menus "
        "of six items have thousands of arcs. `MixtureRUM` and the others take any menu. "
        "Where the best epoch is the last, a model was still improving. The masked network sees the menu and "
        "need not be rational; the other models are, whatever they have learnt.\n"
    )
    (out / "training.md").write_text("\n".join(text), encoding="utf-8")
