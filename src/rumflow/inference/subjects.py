"""How consistent is each person? Scores by subject, beside those of somebody who chooses at random from the same menus.

For choices from menus: the largest share of choices that one ranking makes (Houtman and Maks 1985), the fewest swaps (Apesteguia
and Ballester 2015), and the number of cycles of two or three items in what was chosen over what. For purchases: Afriat's
efficiency index. `rumflow.core.consistency` has the mathematics. A person with few choices is consistent by chance, so each
score stands beside its mean among random choosers who face the same menus, or the same budgets with all shares of expenditure
equally likely.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.check import as_floats, check_whole
from rumflow.core.arrays import Array, Ints
from rumflow.core.consistency import MOST_ITEMS, score_choices, score_purchases
from rumflow.core.patience import check_interrupt
from rumflow.core.seeds import Seed, entropy
from rumflow.core.threads import run_threads, thread_count
from rumflow.data.accept import DataLike, as_data
from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import label_order, tie_number
from rumflow.errors import InputError
from rumflow.output.names import how_many
from rumflow.output.result import Result
from rumflow.output.tables import Table

_PIECE = 256  # persons that a thread scores at a time
_RANDOM = 100_000  # random choosers in all, where nothing else is asked for
_MOST_EACH = 100


@dataclass(frozen=True, eq=False, repr=False)
class SubjectScores(Result):
    """How consistent each subject is.

    Attributes
    ----------
    kind : {"choices", "purchases"}
        What was scored.
    subjects : tuple
        The subjects.
    observations : ndarray
        Choices, or purchases, of each subject; menus of one item do not count.
    score : ndarray
        The largest share of choices that one ranking makes; for purchases Afriat's efficiency index. NaN where more than 24
        items are tangled in cycles.
    chance : ndarray
        The mean score of random choosers with the same menus or budgets.
    swaps : ndarray or None
        The fewest items passed over, over all choices.
    cycles : ndarray or None
        Cycles of two or three items in what was chosen over what.
    random : int
        Random choosers for each subject.
    notes : tuple of str
        What the reader should know.
    seed : int
        The seed of the random choosers.
    seconds : float
        Time taken.

    Examples
    --------
    >>> import rumflow as rf
    >>> votes = {"subject": [1, 1, 1, 2, 2, 2], "menu": ["a|b", "b|c", "a|c"] * 2, "choice": ["a", "b", "a", "a", "b", "c"]}
    >>> rf.subject_scores(votes, seed=0).score.round(2).tolist()
    [1.0, 0.67]
    """

    kind: str
    subjects: tuple[Any, ...]
    observations: Array
    score: Array
    chance: Array
    swaps: Array | None
    cycles: Array | None
    random: int
    notes: tuple[str, ...]
    seed: int
    seconds: float
    _named = ("kind", "random", "notes", "seed", "seconds")
    _listed = "subjects"

    @property
    def table(self) -> dict[str, list[Any]]:
        """One row per subject: subject, observations, score, chance, and for choices swaps and cycles."""
        columns = {"subject": list(self.subjects), "observations": self.observations.tolist()}
        columns |= {"score": self.score.tolist(), "chance": self.chance.tolist()}
        more = {} if self.swaps is None or self.cycles is None else {"swaps": self.swaps, "cycles": self.cycles}
        return columns | {name: own.tolist() for name, own in more.items()}

    def parts(self) -> list[str | Table]:
        """Return what holds for all subjects, and the notes."""
        known = self.score[~np.isnan(self.score)]
        what = "choices one ranking makes" if self.kind == "choices" else "Afriat's efficiency index"
        table = Table(
            f"How consistent is each subject? ({how_many(len(self.subjects), 'subject')}, "
            f"{self.observations.sum():,.6g} {self.kind})",
            ["", "mean", "lowest", "median", "fully consistent"],
        )
        if len(known):
            full = f"{100 * (known >= 1 - 1e-12).mean():.1f} %"
            table.add(what, *(f"{f(known):.3f}" for f in (np.mean, np.min, np.median)), full)
            chance = self.chance[~np.isnan(self.chance)]
            table.add("the same of random choosers", *(f"{f(chance):.3f}" for f in (np.mean, np.min, np.median)), "")
        for name, own in (("swaps", self.swaps), ("cycles", self.cycles)):
            if own is not None and (~np.isnan(own)).any():
                table.add(name, *(f"{f(own):.3g}" for f in (np.nanmean, np.nanmin, np.nanmedian)), "")
        certain = self.chance >= 1 - 1e-12  # anybody is consistent there
        beaten = int(((self.score <= self.chance) & ~certain).sum())
        verb = "is" if beaten == 1 else "are"
        words = f"{how_many(beaten, 'subject')} {verb} no more consistent than a random chooser is on average."
        if certain.any():
            words += (
                f" {how_many(int(certain.sum()), 'subject')} had no occasion to be inconsistent: no random chooser was."
            )
        return [table, words, *self.notes]

    def __repr__(self) -> str:
        return f"SubjectScores({how_many(len(self.subjects), 'subject')}, mean score {np.nanmean(self.score):.4g})"


def subject_scores(
    data: DataLike,
    *,
    prices: ArrayLike | None = None,
    subject: ArrayLike | None = None,
    n_random: int | None = None,
    seed: Seed = None,
    rng: Seed = None,
    threads: int | None = None,
) -> SubjectScores:
    """Score how consistent each subject is.

    Parameters
    ----------
    data : ChoiceData, BudgetData, or array_like of shape (m, goods)
        Choices with subjects (ties are left out, and a note says so); budgets with households of several purchases
        (`cluster`); or quantities bought, with `prices` and `subject`.
    prices : array_like of shape (m, goods), optional
        Prices of each purchase, where `data` are quantities.
    subject : array_like of shape (m,), optional
        Who bought, where `data` are quantities; None: one person.
    n_random : int, optional
        Random choosers for each subject; None: 100, or fewer where that makes more than 100,000 in all.
    seed, rng : int or numpy.random.Generator, optional
        Of the random choosers; None draws one, which is kept in the result. Two names of the same: give one.
    threads : int, optional
        Number of threads.

    Returns
    -------
    SubjectScores

    Raises
    ------
    InputError
        If it is not known who chose, or an argument is not accepted.

    Examples
    --------
    Two purchases that contradict each other:

    >>> import rumflow as rf
    >>> found = rf.subject_scores([[1, 2], [2, 1]], prices=[[1, 2], [2, 1]], seed=0)
    >>> found.score.tolist()
    [0.8]
    """
    begin = time.perf_counter()
    if n_random is not None:
        check_whole(n_random, "n_random", 1)
    number, workers = entropy(seed, rng), thread_count(threads)
    task = _make_task(data, prices, subject)
    count = len(task.labels)
    each = n_random or int(np.clip(_RANDOM // max(count, 1), 1, _MOST_EACH))
    found = np.full((count, 4), np.nan)
    chance = np.zeros(count)

    def work(piece: int) -> None:
        low, high = piece * _PIECE, min((piece + 1) * _PIECE, count)
        found[low:high] = task.score(low, high, None)
        rng = np.random.default_rng([number, piece])
        for _ in range(each):
            check_interrupt()
            chance[low:high] += task.score(low, high, rng)[:, 1]

    run_threads(work, range(-(-count // _PIECE)), workers)
    unknown, notes = int(np.isnan(found[:, 1]).sum()), list(task.notes)
    if unknown:
        notes.append(
            f"{how_many(unknown, 'subject')} with more than {MOST_ITEMS} items tangled in cycles: no score; split the items, or "
            "look at the cycles."
        )
    of_menus = task.kind == "choices"
    return SubjectScores(
        kind=task.kind,
        subjects=task.labels,
        observations=found[:, 0],
        score=found[:, 1],
        chance=chance / each,
        swaps=found[:, 2] if of_menus else None,
        cycles=found[:, 3] if of_menus else None,
        random=each,
        notes=tuple(notes),
        seed=number,
        seconds=time.perf_counter() - begin,
    )


class _Task(NamedTuple):
    """Who is scored, and how: `score(low, high, rng)` of some subjects, at random where there is a generator."""

    kind: str
    labels: tuple[Any, ...]
    score: Callable[[int, int, np.random.Generator | None], Array]
    notes: Sequence[str] = ()


def _make_task(data: DataLike, prices: ArrayLike | None, subject: ArrayLike | None) -> _Task:
    if prices is not None:
        return _of_quantities(data, prices, subject)
    if subject is not None:
        raise InputError("subject: accepted beside quantities and prices only; choices bring their subjects")
    data = as_data(data)
    if isinstance(data, BudgetData):
        return _of_budgets(data)
    if isinstance(data, ChoiceData):
        return _of_choices(data)
    raise InputError(f"data: choices, budgets, or quantities with prices= are needed, not {type(data).__name__}")


def _of_choices(data: ChoiceData) -> _Task:
    notes = list[str]()
    if data.outcomes is not None or tie_number(data.items) >= 0:
        before, data = data.n_observations, data.resolve_ties("drop")
        notes.append(
            f"{before - data.n_observations:g} of {before:g} choices are ties, which no ranking makes: left out."
        )
    rows, sizes = data.rows, data.offered.sizes
    if rows is None or rows.subject is None:
        raise InputError("data: it is not known who chose; name the column of subjects with subject= when reading them")
    kept = np.flatnonzero(sizes[rows.menu] > 1)
    order = kept[np.argsort(rows.subject[kept], kind="stable")]
    who, menu = rows.subject[order], rows.menu[order].astype(np.int64)
    choice, weight = rows.choice[order].astype(np.int64), rows.weight[order]
    own, begin = np.unique(who, return_index=True)
    if len(own) == 0:
        raise InputError("no menu of two items or more was observed, so there is nothing to score")
    first = np.append(begin, len(who)).astype(np.int64)
    start, item = data.offered.start, data.offered.item.astype(np.int64)

    def score(low: int, high: int, rng: np.random.Generator | None) -> Array:
        part = slice(first[low], first[high])
        taken = choice[part]
        if rng is not None:
            taken = item[start[menu[part]] + rng.integers(sizes[menu[part]])]
        found = np.empty((high - low, 4))
        score_choices(start, item, first[low : high + 1] - first[low], menu[part], taken, weight[part], data.n, found)
        found[:, 1] /= found[:, 0]
        return found

    return _Task("choices", tuple(rows.subjects[k] for k in own), score, notes)


def _of_budgets(data: BudgetData) -> _Task:
    households, prices = data.households, data.prices
    if households is None or prices is None or households.cluster is None:
        raise InputError(
            "data: Afriat's index needs several purchases of each household: budgets with prices and cluster=, or quantities "
            "with prices= and subject="
        )
    faced = prices[households.budget]
    return _of_quantities(households.shares / faced, faced, households.cluster)


def _of_quantities(data: DataLike, prices: ArrayLike, subject: ArrayLike | None) -> _Task:
    quantities, paid = as_floats(data, "data"), as_floats(prices, "prices")
    if quantities.ndim != 2 or quantities.shape != paid.shape or not quantities.size:
        raise InputError(
            f"prices: as many are needed as quantities, (purchases, goods); these have shapes {paid.shape} and {quantities.shape}"
        )
    who = np.zeros(len(paid), np.int64) if subject is None else np.asarray(subject)
    if who.shape != (len(paid),):
        raise InputError(f"subject: one is needed for each of the {len(paid)} purchases, not shape {who.shape}")
    spent = (paid * quantities).sum(axis=1)
    if not (np.isfinite(paid).all() and (paid > 0).all() and np.isfinite(quantities).all() and (quantities >= 0).all()):
        raise InputError("data: prices must be positive, quantities 0 or more, and all of them finite")
    if (spent == 0).any():
        raise InputError(f"data: purchase {int(np.argmax(spent == 0))} spends nothing")
    labels = list(dict.fromkeys(who.tolist()))
    own = [labels[k] for k in label_order(labels)]
    at = {label: k for k, label in enumerate(own)}
    number = np.array([at[label] for label in who.tolist()], np.int64)
    order = np.argsort(number, kind="stable")
    first: Ints = np.searchsorted(number[order], np.arange(len(own) + 1)).astype(np.int64)
    paid, quantities, spent = paid[order], quantities[order], spent[order]

    def score(low: int, high: int, rng: np.random.Generator | None) -> Array:
        part = slice(first[low], first[high])
        bought = quantities[part]
        if rng is not None:
            bought = rng.dirichlet(np.ones(paid.shape[1]), len(bought)) * spent[part, None] / paid[part]
        found = np.full((high - low, 4), np.nan)
        index = np.empty(high - low)
        score_purchases(first[low : high + 1] - first[low], paid[part], np.ascontiguousarray(bought), index)
        found[:, 0], found[:, 1] = np.diff(first[low : high + 1]), index
        return found

    return _Task("purchases", tuple(own), score)
