"""Calls whose time is measured, each with its data made beforehand: shared by scaling, before_after and history.

A job is a function that prepares and returns a call; the call returns numbers, which before_after compares to the bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rumflow as rf

Call = Callable[[], np.ndarray]


def complete(family: str, n: int, draws: int | None = 100, tol: float = 1e-9, threads: int | None = None) -> Call:
    """One projection of shares on all menus: a sample of 50 rankings (noisy), random shares, or a known answer."""
    if family == "known":
        data = rf.simulate.known_projection(n, seed=1, distance=0.1).data[None]
        return lambda: rf.project_many(data, tol=tol, threads=threads).flow
    array = (
        rf.simulate.dirichlet(n, seed=1)
        if family == "dirichlet"
        else rf.simulate.noisy_rankings(n, draws=draws, seed=1)
    )
    return lambda: rf.project(array, tol=tol, threads=threads).flow


def stack(n: int, batch: int, threads: int | None = None) -> Call:
    """Many projections over the same cells: samples of 100 choices a menu."""
    data = np.array([rf.simulate.noisy_rankings(n, seed=i) for i in range(batch)])
    return lambda: rf.project_many(data, threads=threads).flow


def incomplete(data: rf.ChoiceData, route: str | None = None, threads: int | None = None) -> Call:
    """One projection of choices from some of the menus."""
    return lambda: np.nan_to_num(rf.project(data, route=route, threads=threads).fitted)


def layer(n: int, batch: int, softmax: float = 0.0, shared: float = 0.0, smoothing: float = 0.0) -> Call:
    """A layer of PyTorch, forward and backward, at what an untrained network might say: the uniform chooser and noise, or a
    softmax in each menu, of utilities of items (of size `shared`) and scores of cells (of size `softmax`)."""
    import torch

    from rumflow.torch import RUMLayer

    cells = rf.Lattice(n).cells
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(batch, len(cells)))
    if softmax:
        scores = np.exp(shared * rng.normal(size=(batch, n))[:, cells[:, 1]] + softmax * noise)
        data = scores / np.array([np.bincount(cells[:, 0], row) for row in scores])[:, cells[:, 0]]
    else:
        data = 1 / np.bitwise_count(cells[:, 0].astype(np.uint32)) + 0.3 * noise
    z = torch.tensor(data)
    g = torch.tensor(rng.normal(size=tuple(z.shape)))
    one = RUMLayer(n, smoothing=smoothing)

    def call() -> np.ndarray:
        point = z.clone().requires_grad_()
        y = one(point)
        (gradient,) = torch.autograd.grad(y, point, g)
        return np.stack([y.detach().numpy(), gradient.numpy()])

    return call


def bootstrap(data: rf.ChoiceData | rf.BudgetData, n_boot: int, threads: int | None = None) -> Call:
    """A test with its replicates."""
    return lambda: np.array([rf.rum_test(data, n_boot=n_boot, seed=1, threads=threads).pvalue])


def explanation() -> Call:
    """The conflict of three menus, with all that `explain` does."""
    counts = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    data = rf.ChoiceData.from_counts(counts | {("b", "c"): {"b": 40, "c": 60}})
    return lambda: np.array([rf.explain(data, seed=0).pvalue])


def some_menus(n: int, share: float, draws: int = 100, seed: int = 1) -> rf.ChoiceData:
    """`draws` choices by 50 rankings from a share of all menus of n items, drawn at random."""
    rng = np.random.default_rng(seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, max(1, round(share * len(masks))), replace=False))
    shares = rf.simulate.noisy_rankings(n, draws=draws, seed=seed)[masks]
    member = (masks[:, None] >> np.arange(n) & 1).astype(bool)
    return rf.ChoiceData(
        tuple(range(n)), member, np.where(member, draws * shares, np.nan), np.full(len(masks), float(draws))
    )


def households(years: int, goods: int = 3, each: int = 300, seed: int = 0) -> rf.BudgetData:
    """Cobb-Douglas households that face other prices every year."""
    rng = np.random.default_rng(seed)
    prices = np.exp(rng.normal(0, 0.15, (years, goods)))
    budget = np.repeat(np.arange(years), each)
    return rf.BudgetData.from_shares(prices, budget, rng.dirichlet(2.0 + 2 * np.arange(goods), len(budget)))


#: What is compared between two versions, and followed over time.
JOBS: dict[str, Callable[[], Call]] = {
    **{
        f"project {family} n={n}": lambda family=family, n=n: complete(family, n)  # type: ignore[misc]
        for n in (6, 8, 10)
        for family in ("known", "dirichlet", "noisy")
    },
    "project_many n=6, stack of 1000": lambda: stack(6, 1000),
    "project 20 items, 50 menus of 8": lambda: incomplete(rf.simulate.random_menus(20, 50, 8, seed=0)),
    "project 50 items, 50 menus of 25": lambda: incomplete(rf.simulate.random_menus(50, 50, 25, seed=0)),
    "test 5 items, 99 replicates": lambda: bootstrap(some_menus(5, 1.0), 99),
    "test 4 items, 999 replicates": lambda: bootstrap(some_menus(4, 1.0), 999),
    "test 6 items, 999 replicates": lambda: bootstrap(some_menus(6, 1.0), 999),
    "test 20 items, 30 menus of 6, 19 replicates": lambda: bootstrap(rf.simulate.random_menus(20, 30, 6, seed=0), 19),
    "test 50 items, 50 menus of 25, 9 replicates": lambda: bootstrap(rf.simulate.random_menus(50, 50, 25, seed=0), 9),
    "test budgets of 9 years, 99 replicates": lambda: bootstrap(households(9), 99),
    "explain three menus": explanation,
    "layer n=8, batch 256, forward and backward": lambda: layer(8, 256),
    "layer n=6, batch 256": lambda: layer(6, 256),
    "layer n=8, batch 64, softmax": lambda: layer(8, 64, 0.3, 1.0),
    "layer n=10, batch 4": lambda: layer(10, 4),
    "layer n=10, batch 4, softmax": lambda: layer(10, 4, 0.3),
    "layer n=10, batch 4, softmax of utilities": lambda: layer(10, 4, 0.3, 1.0),
    "layer n=12, batch 1, softmax": lambda: layer(12, 1, 0.3),
    "layer n=8, batch 64, smoothed": lambda: layer(8, 64, smoothing=1e-3),
    "project noisy n=18": lambda: complete("noisy", 18, tol=1e-7),
}

#: The job that takes seconds.
LONG = "project noisy n=18"
