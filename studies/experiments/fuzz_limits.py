"""Rounds of the fuzzer about size and time: many menus (to 10^6), many items (to 10^5), limits of time and Ctrl-C.

Every round draws a data set and, for the first three, a model (all rankings, those with known preferences, or the triangle
inequalities), and asks one of these things of them:

    estimate     of its cost: within 2 s and 500 MB, or "too many to estimate"
    limit        a projection with `max_seconds`: within max(2 s, a fifth) of it, with its bounds
    interrupt    a projection that Ctrl-C ends: within 2 s, with what there is
    assortment   the best assortment with `max_seconds`, or until Ctrl-C, of menus of a structure: blocks, nested, pairs, a giant
    next menu    what to ask next about such menus, until Ctrl-C

Seconds count where they pass on the clock and are used by this process: others may keep the processor busy meanwhile.
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import numpy as np

import rumflow as rf
from rumflow.core.menus import Menus

Rng = np.random.Generator

_ESTIMATE_SECONDS, _ESTIMATE_BYTES = 2.0, 500e6
_INTERRUPT_SECONDS = 2.0
_SEARCH_BYTES = 8e9
_LATTICE_ITEMS = 18  # projections on the lattice of more items take more memory than a fuzzer should


class LimitBroken(Exception):
    """Something took longer, or more memory, than it may."""


def make_menus(rng: Rng, most_menus: float, most_items: float) -> rf.ChoiceData:
    """Choices from menus of one of several kinds: any of few items, pairs or small menus of many, windows of an axis.

    Pairs are some of many items, or all of some hundreds.
    """
    kind = ("subsets", "pairs", "all pairs", "small", "itineraries", "windows")[int(rng.integers(6))]
    if kind == "subsets":
        n = int(rng.integers(10, 25))
        m = int(min(10 ** rng.uniform(1, np.log10(most_menus)), 1 << (n - 1)))
        masks = rng.integers(3, 1 << n, m)
        menu, item = np.nonzero((masks[:, None] >> np.arange(n)) & 1)
    elif kind == "all pairs":
        n = int(rng.integers(30, min(500, np.sqrt(2 * most_menus)) + 1))
        m = n * (n - 1) // 2
        menu, item = np.repeat(np.arange(m), 2), np.stack(np.triu_indices(n, 1), axis=1).reshape(-1)
    else:
        n = 100 if kind in ("itineraries", "windows") else int(10 ** rng.uniform(1.4, np.log10(most_items)))
        m = int(10 ** rng.uniform(1, np.log10(min(most_menus, 1e5))))
        size = {"pairs": 2, "small": int(rng.integers(3, 5))}.get(kind, 30)
        start = rng.integers(0, n, m)[:, None]
        item = (start + np.arange(size)) % n if kind == "windows" else rng.integers(0, n, (m, size))
        shown = np.arange(size) < rng.integers(min(5, size), size + 1, m)[:, None]
        menu, item = np.nonzero(shown)[0], item[shown]
    menus = Menus.from_cells(menu.astype(np.int64), item, m, n)[0].unique()[0]
    counts = np.zeros(len(menus.item))
    draws = 1 if rng.random() < 0.5 else 20
    for _ in range(draws):
        counts[menus.start[:-1] + (rng.random(len(menus)) * menus.sizes).astype(np.int64)] += 1.0
    return rf.ChoiceData.from_cells(tuple(range(n)), menus, counts, np.full(len(menus), float(draws)))


def make_model(rng: Rng, data: rf.ChoiceData) -> rf.Model | None:
    """The triangle inequalities for pairs, always where there are all; else now and then a chain of known preferences."""
    pairs = bool((data.offered.sizes == 2).all())
    if pairs and (2 * len(data.totals) == data.n * (data.n - 1) or rng.random() < 0.5):
        return rf.TriangleInequalities()
    if rng.random() < 0.7:
        return None
    chain = rng.choice(data.n, int(rng.integers(2, min(data.n, 50) + 1)), replace=False).tolist()
    return rf.RandomUtility(above=itertools.pairwise(chain))


def make_structure(rng: Rng, size: int) -> tuple[str, rf.ChoiceData]:
    """Choices from menus of one of several structures, of about so many items."""
    kind = ("blocks", "nested", "pairs", "giant")[int(rng.integers(4))]
    menus: list[tuple[int, ...]]
    if kind == "blocks":
        drawn = [7 * k + rng.choice(7, rng.integers(2, 6), False) for k in range(-(-size // 7)) for _ in range(12)]
        menus = [tuple(sorted(menu.tolist())) for menu in drawn]
    elif kind == "nested":
        menus = [tuple(range(k)) for k in range(2, min(size, 1500), 3)]
    elif kind == "pairs":
        menus = [(2 * k, 2 * k + 1) for k in range(size // 2)]
    else:
        menus = [tuple(range(10 * size)), (0, 1)]
    draws = 3000 if kind == "giant" else 20
    counts = {}
    for menu in dict.fromkeys(menus):
        taken = rng.multinomial(draws, rng.dirichlet(np.ones(len(menu))))
        counts[menu] = dict(zip(menu, taken.tolist(), strict=True))
    return kind, rf.ChoiceData.from_counts(counts)


class Watch:
    """Seconds that passed on the clock and that this process used, whichever is less."""

    def __init__(self) -> None:
        self._wall, self._used = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        """So far."""
        return min(time.perf_counter() - self._wall, time.process_time() - self._used)


def fuzz_limits(rng: Rng, folder: Path) -> str:
    """One data set, and an estimate, a limit or an interrupt."""
    what = ("estimate", "limit", "interrupt", "assortment", "next menu")[int(rng.integers(5))]
    if what in ("assortment", "next menu"):
        return search_menus(rng, what)
    data = make_menus(rng, *((1e6, 1e5) if what == "estimate" else (1e5, 1e5)))
    if not (data.offered.sizes > 1).any():
        return f"{what}: no choice"
    model = make_model(rng, data)
    name = f"{len(data.totals):,} menus of {data.n:,} items{f', {model.name}' if model else ''}"
    if what == "estimate":
        return estimate(data, model, name)
    if data.n <= 24 and rf.estimate_cost(data, model=model).route == "lattice" and data.n > _LATTICE_ITEMS:
        return f"{what}: a lattice of many items"
    return (limit if what == "limit" else interrupt)(rng, data, model, name)


def estimate(data: rf.ChoiceData, model: rf.Model | None, name: str) -> str:
    """An estimate keeps to its time and memory."""
    before, watch = peak_bytes(), Watch()
    cost = rf.estimate_cost(data, model=model)
    seconds, more = watch.seconds(), peak_bytes() - before
    if seconds > _ESTIMATE_SECONDS or more > _ESTIMATE_BYTES:
        raise LimitBroken(f"the estimate of {name} took {seconds:.1f} s and {more / 1e6:.0f} MB")
    if np.isnan(cost.seconds) != cost.note.startswith("too many to estimate"):
        raise LimitBroken(f"the estimate of {name} is {cost!r}")
    return f"estimate: {cost.route}{', too many' if cost.note else ''}"


def limit(rng: Rng, data: rf.ChoiceData, model: rf.Model | None, name: str) -> str:
    """A projection ends when it is asked to, with a lower and an upper bound."""
    asked = float(rng.choice([0.1, 0.5, 2.0]))
    watch = Watch()
    fit = rf.project(data, model=model, max_seconds=asked, throw=False)
    seconds = watch.seconds()
    if seconds > asked + max(2.0, 0.2 * asked):
        raise LimitBroken(f"{name}, max_seconds={asked:g}: {seconds:.1f} s ({fit.method}, {fit.status})")
    check_fit(fit, name)
    return f"limit: {fit.method}, {fit.status}"


@contextmanager
def ctrl_c(after: float) -> Iterator[list[Watch]]:
    """Ctrl-C after some seconds, if the block has not ended by then; once it was pressed the list holds the time since."""
    pressed: list[Watch] = []

    def send() -> None:
        pressed[:] = [Watch()]
        os.kill(os.getpid(), signal.SIGINT)

    def dropped(lost: sys.UnraisableHookArgs) -> None:
        """Python drops what is raised in the callback of a weak reference, Ctrl-C as well: it is pressed again."""
        if lost.exc_type is KeyboardInterrupt:
            Timer(0.1, send).start()

    timer = Timer(after, send)
    hook, sys.unraisablehook = sys.unraisablehook, dropped
    try:
        timer.start()
        yield pressed
        timer.cancel()
        timer.join()
    except KeyboardInterrupt:  # in the block, or after it
        timer.join()
    finally:
        sys.unraisablehook = hook


def interrupt(rng: Rng, data: rf.ChoiceData, model: rf.Model | None, name: str) -> str:
    """Ctrl-C is heard, and a fit comes back."""
    fit: rf.Projection | None = None
    with ctrl_c(float(rng.uniform(0.0, 3.0))) as pressed:
        fit = rf.project(data, model=model, max_seconds=5.0, throw=False)
    seconds = pressed[0].seconds() if pressed else 0.0
    if seconds > _INTERRUPT_SECONDS:
        raise LimitBroken(f"{name}: {seconds:.1f} s from Ctrl-C to the answer")
    if fit is None:  # it came after the fit, or before the function had begun
        return "interrupt: beside the projection"
    check_fit(fit, name)
    return f"interrupt: {fit.method}, {fit.status}"


def search_menus(rng: Rng, what: str, size: int | None = None) -> str:
    """A search among menus ends when it is asked to, by a limit or by Ctrl-C, with an answer or an error of the library."""
    kind, data = make_structure(rng, int(10 ** rng.uniform(1.5, 4)) if size is None else size)
    name = f"{what}, {kind}, {len(data.totals):,} menus of {data.n:,} items"
    asked = float(rng.choice([0.5, 2.0, 5.0]))
    before, end = peak_bytes(), "interrupted"
    if what == "assortment" and rng.random() < 0.5:
        watch = Watch()
        end = search(data, what, asked)
        late, most = watch.seconds() - asked, max(2.0, 0.2 * asked)
    else:
        with ctrl_c(float(rng.uniform(0.2, 8.0))) as pressed:
            end = search(data, what, None)
        late, most = pressed[0].seconds() if pressed else 0.0, _INTERRUPT_SECONDS
    if late > most:
        raise LimitBroken(f"{name}: {late:.1f} s after it was to end, by Ctrl-C or after {asked:g} s")
    if peak_bytes() - before > _SEARCH_BYTES:
        raise LimitBroken(f"{name}: {(peak_bytes() - before) / 1e9:.1f} GB")
    return f"{what}: {kind}, {end}"


def search(data: rf.ChoiceData, what: str, seconds: float | None) -> str:
    """How it ended: with an answer, or an error, also where memory is short."""
    try:
        if what == "next menu":
            rf.next_menu(data)
            return "answer"
        revenue = {item: 1.0 + k % 17 for k, item in enumerate(data.items)}
        found = rf.best_assortment(data, revenue, data.items[-1], max_seconds=seconds)
    except (rf.InputError, rf.NotConvergedError) as error:
        return type(error).__name__
    if not 0 <= found.gap < np.inf:
        raise LimitBroken(f"{what}: {found!r}")
    return f"answer{found.reason and ', '}{found.reason}"


def check_fit(fit: rf.Projection, name: str) -> None:
    """Probabilities add up, and the bounds of the distance are bounds."""
    sums = fit.observations.menus.sums(fit.fitted_cells)
    if not (np.abs(sums - 1.0) < 1e-9).all() or not 0.0 <= fit.lower_distance <= fit.distance < np.inf:
        raise LimitBroken(f"{name}: {fit!r} with sums of {sums.min()} to {sums.max()}")


def peak_bytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
