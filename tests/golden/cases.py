"""Three hundred random problems through every public door: what each gives is stored beside this file and must stay the same.

    python -m tests.golden.cases            compare with what is stored, and say where bits differ
    python -m tests.golden.cases --write    store what this version gives

A case is a name and a function without arguments that returns numbers. Only public names are used, so that the same file runs
on any version of rumflow.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import rumflow as rf

STORED = Path(__file__).with_name("results.json")
Numbers = dict[str, np.ndarray]
Case = tuple[str, Callable[[], Numbers]]


_MOST = 24  # numbers that are stored of an array


def _numbers(**values: object) -> Numbers:
    return {name: _some(np.asarray(value, np.float64).reshape(-1)) for name, value in values.items()}


def _some(values: np.ndarray) -> np.ndarray:
    """The array, or of a long one some entries and the sum of the squares of all."""
    if len(values) <= _MOST:
        return values
    chosen = np.linspace(0, len(values) - 1, _MOST - 1).astype(np.int64)
    return np.append(values[chosen], (values * values).sum())


def _choices(n: int, share: float, draws: int, seed: int, partial: bool = False) -> rf.ChoiceData:
    """A sample of some of the menus of n items, with unequal sizes; `partial`: some cells are not recorded."""
    rng = np.random.default_rng(seed)
    truth = rf.simulate.rankings_mixture(n, 5, seed=seed)
    masks = np.flatnonzero(np.bitwise_count(np.arange(1 << n)) >= 2)
    masks = np.sort(rng.choice(masks, max(2, round(share * len(masks))), replace=False))
    counts = {}
    for mask in masks.tolist():
        members = [x for x in range(n) if mask >> x & 1]
        size = int(rng.integers(draws // 2, 2 * draws))
        drawn = rng.multinomial(size, truth[mask, members] / truth[mask, members].sum())
        counts[tuple(f"i{x}" for x in members)] = dict(zip([f"i{x}" for x in members], drawn.tolist(), strict=True))
    data = rf.ChoiceData.from_counts(counts, items=[f"i{x}" for x in range(n)])
    if not partial:
        return data
    hidden = data.counts.copy()
    large = np.flatnonzero(data.membership.sum(axis=1) > 2)[::2]
    hidden[large, data.membership[large].argmax(axis=1)] = np.nan
    return rf.ChoiceData(data.items, data.membership, hidden, data.totals)


def _panel(seed: int, subjects: int = 30, n: int = 4) -> rf.ChoiceData:
    """Choices one by one, by subjects who are ranked once."""
    rng = np.random.default_rng(seed)
    menus = [("a", "b"), ("a", "b", "c"), ("b", "c", "d"), ("a", "b", "c", "d"), ("c", "d")]
    rows: dict[str, list[object]] = {"menu": [], "choice": [], "subject": [], "group": []}
    for subject in range(subjects):
        rank = rng.permutation(n)
        for menu in menus:
            numbers = ["abcd".index(x) for x in menu]
            best = min(numbers, key=lambda x: rank[x]) if rng.random() < 0.8 else int(rng.choice(numbers))
            rows["menu"].append(",".join(menu))
            rows["choice"].append("abcd"[best])
            rows["subject"].append(subject)
            rows["group"].append("early" if subject % 2 else "late")
    return rf.ChoiceData.from_frame(rows, group="group")


def _shop(seed: int) -> rf.ChoiceData:
    """Choices from menus that all hold the outside option."""
    rng = np.random.default_rng(seed)
    menus = [("a", "none"), ("b", "none"), ("a", "c", "none"), ("b", "c", "none")]
    drawn = {menu: rng.multinomial(60, rng.dirichlet(np.ones(len(menu)))).tolist() for menu in menus}
    return rf.ChoiceData.from_counts({menu: dict(zip(menu, row, strict=True)) for menu, row in drawn.items()})


def _budgets(seed: int, years: int = 4, each: int = 40, smooth: bool = False) -> rf.BudgetData:
    rng = np.random.default_rng(seed)
    prices = np.exp(rng.normal(0, 0.2, (years, 3)))
    budget = np.repeat(np.arange(years), each)
    shares = rng.dirichlet([2.0, 4.0, 6.0], len(budget))
    spent = np.exp(rng.normal(0, 0.5, len(budget)))
    return rf.BudgetData.from_shares(prices, budget, shares, spent if smooth else None)


def _fit(fit: rf.Projection) -> Numbers:
    return _numbers(distance=fit.distance, fitted=np.nan_to_num(fit.fitted, nan=-1.0), optimal=fit.status == "optimal")


def _test(test: object) -> Numbers:
    return _numbers(
        statistic=test.statistic, pvalues=test.pvalues, taus=test.taus, null=np.sort(test.null_distribution)[-5:]
    )


def _model(kind: int, data: rf.ChoiceData, seed: int) -> object:
    rng = np.random.default_rng(seed)
    if kind == 0:
        return rf.RandomUtility(above=[(data.items[0], data.items[-1])])
    if kind == 1:
        return rf.SinglePeaked(data.items)
    menus = [menu for menu in data.menus if len(menu) > 1]
    orders = [rng.permutation(len(data.items)).tolist() for _ in range(8)]
    best = [
        [min(menu, key=lambda item, order=order: order[data.items.index(item)]) for menu in menus] for order in orders
    ]
    if kind == 2:
        return rf.Types(best)
    arcs = [(0, 1, [(j, item) for j, item in enumerate(row)]) for row in best]
    return rf.ChoiceGraph(2, arcs)


def projections() -> Iterator[Case]:
    """`project` on the lattice, on graphs, with bounds; complete, incomplete, weighted; derivatives."""
    for seed in range(36):
        n = 3 + seed % 5
        family = rf.simulate.dirichlet if seed % 2 else rf.simulate.noisy_rankings
        yield f"complete {seed}", lambda n=n, f=family, s=seed: _fit(rf.project(f(n, seed=s)))
    for seed in range(32):
        data = _choices(4 + seed % 4, 0.5, 30, seed, partial=seed % 4 == 3)
        weights = (None, "counts")[seed % 2]
        yield f"incomplete {seed}", lambda d=data, w=weights: _fit(rf.project(d, w))
    for seed in range(10):
        array = rf.simulate.dirichlet(5, seed=seed)
        weights = np.random.default_rng(seed).uniform(0.1, 3.0, array.shape) * (
            np.arange(32)[:, None] >> np.arange(5) & 1
        )
        yield f"weighted {seed}", lambda a=array, w=weights: _fit(rf.project(a, w))
    for seed in range(4):
        array = rf.simulate.noisy_rankings(6, draws=300, seed=seed)
        yield f"interior point {seed}", lambda a=array: _fit(rf.project(a, method="ipm"))
    for seed in range(12):
        data = rf.simulate.random_menus(10 + seed, 12, 4 + seed % 3, draws=20, seed=seed)
        yield f"graph {seed}", lambda d=data, w=(None, "counts")[seed % 2]: _fit(rf.project(d, w))
    for seed in range(8):
        data = _choices(5, 0.6, 30, seed, partial=seed % 2 == 1)
        yield f"forced graph {seed}", lambda d=data: _fit(rf.project(d, "counts", route="graph"))
    for seed in range(3):
        data = rf.simulate.random_menus(7, 8, 3, draws=10, seed=seed)
        yield (
            f"bounded {seed}",
            lambda d=data: _numbers(distance=rf.project(d, route="bounded", tol=1e-6, throw=False).distance),
        )
    for seed in range(16):
        data = _choices(4, 0.8, 30, seed)
        model, weights = _model(seed % 4, data, seed), (None, "counts")[seed % 2]
        yield f"model {seed}", lambda d=data, m=model, w=weights: _fit(rf.project(d, w, model=m))
    for seed in range(10):
        data = _choices(4 + seed % 3, 0.7, 30, seed)
        route = ("lattice", "graph")[seed % 2]
        yield f"derivative {seed}", lambda d=data, r=route, s=seed: _derivative(rf.project(d, "counts", route=r), s)
    for seed in range(4):
        array = rf.simulate.noisy_rankings(4, draws=None if seed % 2 else 50, seed=seed)
        yield f"derivative of complete {seed}", lambda a=array, s=seed: _derivative(rf.project(a), s)


def _derivative(fit: rf.Projection, seed: int) -> Numbers:
    shape = fit.rho.shape if fit.method != "graph" else fit.frequencies.shape
    rng = np.random.default_rng(seed)
    t = rng.normal(size=shape)
    if fit.method != "graph":
        t[(np.arange(len(t))[:, None] >> np.arange(t.shape[1]) & 1) == 0] = 0.0
    clean = np.nan_to_num
    return _numbers(jvp=clean(fit.jvp(t)), vjp=clean(fit.vjp(t)), rankings=len(fit.rankings.weights) > 0)


def stacks() -> Iterator[Case]:
    """`project_many`, on the simplex and on the cone."""
    for seed in range(14):
        n = 3 + seed % 4
        stack = np.array([rf.simulate.dirichlet(n, seed=100 * seed + i) for i in range(6)])
        weights = None if seed % 2 else np.random.default_rng(seed).uniform(0.5, 2.0, stack.shape[1:])
        if weights is not None:
            weights *= np.arange(1 << n)[:, None] >> np.arange(n) & 1
        yield f"stack {seed}", lambda a=stack, w=weights, c=seed % 4 > 1: _stack(rf.project_many(a, w, cone=c))


def _stack(batch: rf.ProjectionBatch) -> Numbers:
    own = _numbers(distance=batch.distance, rho=batch.rho, flow=batch.flow.sum())
    return own if batch.cone else own | _numbers(jvp=batch.jvp(batch.rho))


def tests() -> Iterator[Case]:
    """`rum_test` and its kin."""
    for seed in range(21):
        data = _choices(4 + seed % 2, 0.6, 30, seed, partial=seed % 5 == 4)
        options = [
            {},
            {"weights": None},
            {"weights": "inverse-variance"},
            {"tau": [0.0, 0.2, "mean"]},
            {"draws": "empirical"},
            {"resample": "row", "weights": None},
            {"convention": "abkk"},
        ][seed % 7]
        yield f"test {seed}", lambda d=data, o=options, s=seed: _test(rf.rum_test(d, 49, seed=s, threads=1, **o))
    for seed in range(6):
        panel = _panel(seed)
        options = [{"cluster": True}, {"resample": "row"}, {"cluster": True, "draws": "empirical"}][seed % 3]
        yield f"panel {seed}", lambda d=panel, o=options, s=seed: _test(rf.rum_test(d, 49, seed=s, threads=1, **o))
    for seed in range(8):
        data = _choices(4, 0.8, 40, seed)
        model = _model(seed % 4, data, seed)
        yield f"test of a model {seed}", lambda d=data, m=model, s=seed: _test(rf.rum_test(d, 29, seed=s, model=m))
    for seed in range(4):
        data = rf.simulate.random_menus(12, 10, 4, draws=15, seed=seed)
        route = (None, "lattice")[seed % 2]
        yield f"test on a graph {seed}", lambda d=data, r=route, s=seed: _test(rf.rum_test(d, 19, seed=s, route=r))
    yield (
        "test with bounds",
        lambda: _test(rf.rum_test(rf.simulate.random_menus(7, 6, 3, draws=10, seed=1), 19, seed=1, route="bounded")),
    )
    for seed in range(6):
        budgets = _budgets(seed, smooth=seed % 2 == 1)
        options = {"convention": "kitamura-stoye"} if seed % 3 == 2 else {}
        yield f"budgets {seed}", lambda d=budgets, o=options, s=seed: _test(rf.rum_test(d, 29, seed=s, **o))
    for seed in range(4):
        budgets = _budgets(seed, years=5)
        yield f"budgets projected {seed}", lambda d=budgets: _fit(rf.project(d, "counts"))
    for seed in range(3):
        groups = _panel(seed, 40).split()
        yield f"groups {seed}", lambda g=groups, s=seed: _test(rf.rum_test(g, 29, seed=s, cluster=False))
        yield (
            f"many {seed}",
            lambda g=groups, s=seed: _numbers(p=rf.rum_test_many(g, 29, seed=s, cluster=False).pvalues),
        )
        yield (
            f"compared groups {seed}",
            lambda g=groups, s=seed: _compared(rf.compare_groups(g, 19, seed=s, cluster=False)),
        )
    for seed in range(4):
        data = _choices(4, 0.8, 40, seed)
        models = {"all": None, "above": _model(0, data, seed), "peaked": _model(1, data, seed)}
        yield (
            f"compared models {seed}",
            lambda d=data, m=models: _table(rf.compare_models(d, m, n_boot=19, seed=3).table),
        )


def _compared(found: object) -> Numbers:
    return _numbers(pooled=found.together.pvalue, groups=found.each.pvalues)


def _table(table: dict[str, list[object]]) -> Numbers:
    return {
        name: np.array([np.nan if value is None else value for value in values], np.float64)
        for name, values in table.items()
        if all(value is None or isinstance(value, int | float) for value in values) and name != "seconds"
    }


def likelihoods() -> Iterator[Case]:
    """`fit_likelihood`, its ratio test, and the share that can be rational."""
    for seed in range(12):
        data = _choices(4 + seed % 2, 0.7, 30, seed, partial=seed % 4 == 3)
        model = _model(seed % 3, data, seed) if seed % 2 and seed % 4 != 3 else None
        yield f"likelihood {seed}", lambda d=data, m=model: _likelihood(d, m)
    for seed in range(2):
        data = _choices(4, 0.5, 30, seed)
        yield (
            f"likelihood ratio {seed}",
            lambda d=data, s=seed: _numbers(p=rf.fit_likelihood(d).lr_test(9, seed=s, threads=1).pvalue),
        )
    for seed in range(6):
        data = _choices(4, 0.7, 30, seed)
        model = _model(seed % 4, data, seed) if seed % 2 else None
        yield (
            f"rational share {seed}",
            lambda d=data, m=model: _numbers(share=rf.rationalizable_share(d, model=m).share),
        )


def _likelihood(data: rf.ChoiceData, model: object) -> Numbers:
    try:
        fit = rf.fit_likelihood(data, model=model)
    except rf.InputError:
        return _numbers(impossible=1.0)
    return _numbers(loglik=fit.loglik, fitted=np.nan_to_num(fit.fitted, nan=-1.0), saturated=fit.loglik_saturated)


def decisions() -> Iterator[Case]:
    """`bounds`, `diversion`, `next_menu`, `best_assortment`, `explain`."""
    for seed in range(10):
        data = _choices(4 + seed % 2, 0.5, 30, seed)
        route = (None, "graph")[seed % 2]
        menu = data.items[: 2 + seed % 3]
        yield (
            f"bounds {seed}",
            lambda d=data, m=menu, r=route: _bounds(rf.bounds(d, m, confidence=None, route=r)),
        )
    for seed in range(4):
        data = _choices(4, 0.4, 40, seed)
        yield (
            f"intervals {seed}",
            lambda d=data, s=seed: _bounds(
                rf.bounds(d, d.items[:2], d.items[0], n_boot=39, seed=s, interval="distance")
            ),
        )
    for seed in range(4):
        data = _choices(4, 0.6, 30, seed)
        functional = {(("i0", "i1"), "i0"): 1.0, (("i1", "i2", "i3"), "i2"): -2.0}
        yield f"functional {seed}", lambda d=data, f=functional: _bounds(rf.bounds(d, functional=f, confidence=None))
    for seed in range(4):
        data = _choices(4, 0.6, 30, seed)
        model = _model(seed % 2, data, seed)
        yield (
            f"bounds of a model {seed}",
            lambda d=data, m=model: _bounds(rf.bounds(d, ["i0", "i2"], confidence=None, model=m)),
        )
    for seed in range(3):
        data = _choices(4, 0.6, 30, seed)
        yield f"diversion {seed}", lambda d=data: _table(rf.diversion(d, "i1", confidence=None).table)
        yield f"next menu {seed}", lambda d=data: _table(rf.next_menu(d, most=8).table)
        shop = _shop(seed)
        revenue = {"a": 3.0, "b": 2.0, "c": 1.5, "none": 0.0}
        yield f"assortment {seed}", lambda d=shop, r=revenue: _assortment(rf.best_assortment(d, r, "none"))
    for seed in range(10):
        data = _choices(4, 0.7, 60, seed)
        model = _model(seed % 4, data, seed) if seed % 3 == 2 else None
        level = None if seed % 2 else 0.05
        yield (
            f"explanation {seed}",
            lambda d=data, m=model, v=level: _explained(rf.explain(d, v, 39, halves=2, model=m, threads=1)),
        )


def _bounds(found: object) -> Numbers:
    own = _numbers(lower=found.lower, upper=found.upper)
    if found.confidence_lower is not None:
        own |= _numbers(low=found.confidence_lower, high=found.confidence_upper)
    return own


def _assortment(found: object) -> Numbers:
    return _numbers(lower=found.lower, upper=found.upper, size=len(found.menu))


def _explained(found: object) -> Numbers:
    return _numbers(
        distance=found.distance,
        pvalue=-1.0 if found.pvalue is None else found.pvalue,
        conflicts=[len(conflict.menus) for conflict in found.conflicts],
        values=[conflict.inequality.value for conflict in found.conflicts],
        shares=found.influence["share"],
    )


def layers() -> Iterator[Case]:
    """Layers of PyTorch and JAX, forward and backward."""
    for seed in range(16):
        options = [
            {},
            {"menus": [3, 5, 14, 15]},
            {"smoothing": 1e-2},
            {"menus": [3, 5, 14, 15], "all_menus": True},
        ][seed % 4]
        yield f"layer {seed}", lambda o=options, s=seed: _layer(o, s)
    for seed in range(8):
        yield f"layer of a model {seed}", lambda s=seed: _axiom_layer(s)
    for seed in range(3):
        yield f"jax {seed}", lambda s=seed: _jax(s)


def _layer(options: dict[str, object], seed: int) -> Numbers:
    import torch

    from rumflow.torch import RUMLayer

    rng = np.random.default_rng(seed)
    layer = RUMLayer(4, **options)
    size = 32 if "menus" not in options else 11
    weights = rng.uniform(0.5, 2.0, size) if seed >= 8 else None
    layer = RUMLayer(4, weights=weights, **options)
    z = torch.tensor(rng.uniform(0, 1, (5, size)), requires_grad=True)
    y = layer(z)
    (gradient,) = torch.autograd.grad(y, z, torch.tensor(rng.normal(size=tuple(y.shape))))
    return _numbers(y=y.detach().numpy(), gradient=gradient.numpy())


def _axiom_layer(seed: int) -> Numbers:
    import torch

    from rumflow.torch import AxiomLayer, ChoiceLikelihood

    rng = np.random.default_rng(seed)
    menus = [("a", "b"), ("a", "b", "c"), ("b", "c", "d"), ("a", "d")]
    model = [rf.RandomUtility([("a", "d")]), rf.SinglePeaked("abcd"), rf.RandomUtility(), rf.SinglePeaked("badc")][
        seed % 4
    ]
    layer = AxiomLayer(model, menus, "abcd", weights=rng.uniform(0.5, 2.0, 10) if seed > 3 else None)
    z = torch.tensor(rng.uniform(0, 1, (4, 10)), requires_grad=True)
    y = layer(z)
    (gradient,) = torch.autograd.grad(y, z, torch.tensor(rng.normal(size=(4, 10))))
    loss = ChoiceLikelihood(layer)(z, torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2, 3]))
    return _numbers(y=y.detach().numpy(), gradient=gradient.numpy(), loss=loss.detach().numpy())


def _jax(seed: int) -> Numbers:
    import jax

    jax.config.update("jax_enable_x64", True)
    from rumflow.jax import project_cells

    z = np.random.default_rng(seed).uniform(0, 1, (3, 32))
    gradient = jax.grad(lambda v: (project_cells(v, 4) ** 2).sum())(z)
    return _numbers(y=project_cells(z, 4), gradient=gradient)


def cases() -> Iterator[Case]:
    """All of them."""
    for family in (projections, stacks, tests, likelihoods, decisions, layers):
        yield from family()


def load() -> dict[str, dict[str, list[str]]]:
    """What is stored: numbers as text that keeps every bit."""
    return dict(json.loads(STORED.read_text(encoding="utf-8")))


def compare(stored: dict[str, list[str]], found: Numbers) -> float:
    """How far results are from the stored ones, relative to 1 and to their size; 0: the same bits."""
    if set(stored) != set(found):
        return float("inf")
    worst = 0.0
    for name, texts in stored.items():
        old, new = np.array([float.fromhex(text) for text in texts]), found[name]
        if old.shape != new.shape or (np.isnan(old) != np.isnan(new)).any():
            return float("inf")
        with np.errstate(invalid="ignore"):
            far = np.where(old == new, 0.0, np.abs(new - old) / np.maximum(np.abs(old), 1.0))
        worst = max(worst, float(np.nan_to_num(far, nan=0.0, posinf=np.inf).max(initial=0.0)))
    return worst


def main() -> None:
    """Compare, or store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store what this version gives")
    parser.add_argument("--only", default="", help="cases whose name begins with this")
    given = parser.parse_args()
    stored = {} if given.write else load()
    results, same, count, begin = {}, 0, 0, time.perf_counter()
    for name, case in cases():
        if not name.startswith(given.only):
            continue
        count += 1
        started = time.perf_counter()
        found = case()
        if time.perf_counter() - started > 1.0:
            print(f"{name}: {time.perf_counter() - started:.1f} s", flush=True)
        results[name] = {key: [float(v).hex() for v in values] for key, values in found.items()}
        if not given.write:
            far = compare(stored[name], found)
            same += far == 0
            if far:
                print(f"{name}: differs by {far:.1e}", flush=True)
    if given.write:
        STORED.write_text(json.dumps(results, indent=0) + "\n", encoding="utf-8")
    print(f"{count} cases, {count if given.write else same} with the same bits, {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
