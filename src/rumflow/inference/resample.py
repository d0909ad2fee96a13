"""Bootstrap samples around a centre: new frequencies for every slot of a `Sample`.

Replicate i draws from `SeedSequence(seed, spawn_key=(..., i))`, so it is the same whoever computes
it, when, and with which others.

CellSampler   choices are independent. "menu": as many choices from each menu as were observed. "row": the sizes of a group's
              menus are drawn first, one multinomial over all its choices. Then draws="null" takes the choices from the centre,
              with what was not recorded as a category of its own; draws="empirical" takes them from the observed frequencies p
              and moves these: p* - p + centre.
UnitSampler   whole units (rows with weights, or all the choices of a subject). draws="empirical": drawn with replacement within
              strata, and moved to the centre. draws="null": every unit u keeps its menus and weights, and its deviations from
              the centre get a random sign v_u (the wild cluster bootstrap with the null imposed, Cameron, Gelbach, Miller 2008):

                  p*(D, x) = centre(D, x) + f_D sum_u v_u (count_u(D, x) - count_u(D) centre(D, x)) / N_D

              The centre has followed the choices, which makes deviations too small; f_D = sqrt(m / (m - 1)), with m the units
              behind the menu (at least 2), gives that back where they are few.
              Rows by "row" are drawn with replacement first, each draw with a sign of its own, so that N_D varies.

Resampling the observed choices gives no noise to a menu with one choice, which draws from the null do.
A menu whose choices all fail to be drawn *vanishes*: its frequencies are NaN in that replicate.

Choices are drawn group by group, and within a group menu by menu and item by item in the order of their labels, however the
items of the data are listed: the same seed then gives the same replicates.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from rumflow.check import check_option
from rumflow.core.arrays import Array, Ints
from rumflow.core.compile import kernel
from rumflow.core.menus import Menus
from rumflow.data.choices import ChoiceData
from rumflow.data.design import people_and_choices
from rumflow.data.labels import label_order
from rumflow.data.ties import second_halves, tied_shares
from rumflow.errors import InputError
from rumflow.inference.sample import Sample, places

RESAMPLE = ("menu", "row", "cluster")

# Up to this many choices in total, drawing them one by one beats a binomial per cell: from a list, or (per cell) by search.
_SINGLY, _SEARCHED = 1 << 16, 8


def require_replicates_for(confidence: float, n_boot: int, share: float = 1.0) -> None:
    """Raise where the smallest p-value, 1 / (1 + n_boot), does not reach 1 - confidence, or a share of that."""
    least = int(np.ceil(1 / (share * (1 - confidence)) - 1e-9)) - 1  # 1 / (1 - 0.9) is more than 10
    if n_boot < least:
        raise InputError(f"n_boot={n_boot}: with confidence {confidence:g} at least {least} replicates are needed")


@kernel
def _search_choices(uniform, cumulative, sizes, counts):
    """Counts of each menu's choices, one uniform number per choice, by its place among the cumulated shares."""
    t = 0
    counts[:] = 0
    for u in range(sizes.shape[0]):
        for _ in range(sizes[u]):
            x = 0
            while uniform[t] >= cumulative[u, x]:
                x += 1
            counts[u, x] += 1
            t += 1


@kernel
def _repeat_choices(uniform, observed, first, sizes, counts):
    """The same from a list of the observed choices, menu after menu: no search. The fastest way, for whole counts."""
    t = 0
    counts[:] = 0
    for u in range(sizes.shape[0]):
        begin = first[u]
        length = first[u + 1] - begin
        for _ in range(sizes[u]):
            counts[u, observed[begin + int(uniform[t] * length)]] += 1
            t += 1


class Sampler(Protocol):
    """Draws replicates."""

    n_independent: Array  # (units,): the number of independent draws behind each menu
    draws: str  # how it draws, in words

    def draw(self, generators: Sequence[np.random.Generator], centre: Array) -> Array:
        """(b, S): frequencies of the slots around a centre (S,), one row per generator; NaN where a menu vanished."""
        ...


def generators(seed: int, key: tuple[int, ...], indices: Sequence[int] | range) -> list[np.random.Generator]:
    """One independent generator per replicate, at its beginning.

    A thread that asks again for the same ones gets the same objects, set back: to make one takes ten times as long, and every
    tau and every set of menus draws with the same random numbers. They must be used before they are asked for again.
    """
    known: dict[tuple[int, ...], tuple[np.random.Generator, Any]] = _generators.__dict__.setdefault("known", {})
    if len(known) > _MOST_GENERATORS:
        known.clear()
    found = []
    for i in indices:
        own = known.get((seed, *key, i))
        if own is None:
            made = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(*key, i))))
            own = known[seed, *key, i] = made, made.bit_generator.state
        else:
            own[0].bit_generator.state = own[1]
        found.append(own[0])
    return found


_generators = threading.local()
_MOST_GENERATORS = 2048


class CellSampler:
    """Independent choices, drawn menu by menu or all at once."""

    def __init__(self, sample: Sample, by: str, draws: str, tied: Array | None = None) -> None:
        for u in np.flatnonzero((sample.sizes != np.round(sample.sizes)) | (sample.sizes < 1)):
            raise InputError(
                f"menu {sample.menu_name(int(u))}: the sample size {sample.sizes[u]:g} is not a whole number of choices, "
                "so none can be resampled; give data with one row per choice (weights are kept by row), "
                "or whole sample sizes as sizes="
            )
        if sample.sizes.max() <= 1 and ((sample.frequency > 0) & (sample.frequency < 1)).any():
            raise InputError(
                "every menu has sample size 1 but its frequencies are fractions: these are probabilities without sample sizes; "
                "give the number of choices from each menu with sizes=, or in the file (counts, or a column total)"
            )
        self.draws = draws
        self.n_independent: Array = sample.sizes
        # Units in the order in which they are drawn, with their slots side by side; the last column is what was not recorded.
        rank, position = drawing_order(sample)
        order = np.argsort(position)
        self._sizes = sample.sizes[order].astype(np.int64)
        self._groups = sample.unit_group[order] if by == "row" else None
        self._unit = position[sample.unit]
        slots = np.lexsort((np.append(rank, len(rank))[sample.item], self._unit))  # item -1, a remainder, comes last
        first = np.searchsorted(self._unit[slots], np.arange(len(order)))
        self._place = np.empty(len(slots), np.int64)
        self._place[slots] = np.arange(len(slots)) - first[self._unit[slots]]
        self._frequency = sample.frequency
        self._tied = None if tied is None else tied[order]  # by unit: the share of ties, which count half for each item
        self._first = np.concatenate([[0], np.cumsum(self._sizes)])
        self.observed: NDArray[np.int32] | None = self._list_choices() if draws == "empirical" else None

    def _list_choices(self) -> NDArray[np.int32] | None:
        """The observed choices one by one, where the counts are whole and not too many."""
        counts = self._shares(self._frequency) * self._sizes[:, None]
        whole = np.round(counts).astype(np.int64)
        if self._sizes.sum() > _SINGLY or (whole.sum(axis=1) != self._sizes).any():
            return None
        if not np.allclose(whole, counts, rtol=0, atol=1e-6):
            return None
        cells = np.tile(np.arange(whole.shape[1], dtype=np.int32), len(whole))
        return np.repeat(cells, whole.reshape(-1))

    def _shares(self, p: Array) -> Array:
        """(units, places): the chance of every cell of a menu, and of the unrecorded rest in the last place.

        Where ties count half for each item of a pair they are the rest: as often as they were observed, or as often as the chance
        of the weaker item allows.
        """
        shares = np.zeros((len(self._sizes), int(self._place.max()) + 2))
        shares[self._unit, self._place] = p
        if self._tied is not None:
            half = self._tied / 2
            np.minimum.at(half, self._unit, p)
            shares[self._unit, self._place] -= half[self._unit]
        shares[:, -1] = 1.0 - shares.sum(axis=1)
        shares[shares < 1e-12] = 0.0
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def draw(self, generators: Sequence[np.random.Generator], centre: Array) -> Array:
        """(b, S) frequencies."""
        null = self.draws == "null"
        shares = self._shares(centre if null else self._frequency)
        cumulative = np.cumsum(shares, axis=1)
        # Rounding must not leave a draw without a choice: from the last cell with a share on, the sum is past 1.
        last = shares.shape[1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
        cumulative[np.arange(shares.shape[1]) >= last[:, None]] = 2.0
        most = min(_SINGLY, _SEARCHED * len(self._unit)) if null else _SINGLY
        counts = np.empty((len(generators), *shares.shape), np.int64)
        totals = np.empty((len(generators), len(self._sizes)), np.int64)
        for i, rng in enumerate(generators):
            totals[i] = self._sizes if self._groups is None else self.draw_sizes(rng)
            number = int(totals[i].sum())
            if number > most:
                counts[i] = rng.multinomial(totals[i], shares)
            elif self.observed is not None:
                _repeat_choices(rng.random(number), self.observed, self._first, totals[i], counts[i])
            else:
                _search_choices(rng.random(number), cumulative, totals[i], counts[i])
        with np.errstate(invalid="ignore"):
            frequencies: Array = counts[:, self._unit, self._place] / totals[:, self._unit]
            if self._tied is not None:
                halves = np.where(self._tied[self._unit] > 0, counts[:, self._unit, -1] / 2, 0.0)
                frequencies += halves / totals[:, self._unit]
        return frequencies if null else frequencies - self._frequency + centre

    def draw_sizes(self, rng: np.random.Generator) -> Ints:
        """How many of a group's choices come from each menu, where that is random."""
        assert self._groups is not None
        sizes = np.empty_like(self._sizes)
        for group in range(int(self._groups.max()) + 1):
            own = self._groups == group
            total = int(self._sizes[own].sum())
            sizes[own] = rng.multinomial(total, self._sizes[own] / total)
        return sizes


class UnitSampler:
    """Units with all their choices, drawn with replacement within strata, or with a random sign each, or both (`both`)."""

    def __init__(
        self,
        sample: Sample,
        table: sparse.csr_matrix,
        strata: Ints,
        n_independent: Array,
        draws: str,
        both: bool = False,
    ) -> None:
        self.table = table  # (units drawn, slots + menus): what a unit adds to the count of a slot and of its menu
        self._unit = sample.unit
        self._frequency = sample.frequency
        self.strata: list[NDArray[np.intp]] = [np.flatnonzero(strata == s) for s in range(int(strata.max()) + 1)]
        self.n_independent = n_independent
        self.draws = draws
        self._both = both
        few = np.maximum(n_independent, 2.0)
        self._stretch = np.sqrt(few / (few - 1.0))[sample.unit]

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.table.shape[0])

    def draw(self, generators: Sequence[np.random.Generator], centre: Array) -> Array:
        """(b, S) frequencies."""
        null = self.draws == "null"
        times = np.ones((len(generators), self.n_units))
        signed = np.zeros_like(times) if null else times
        for row, signs, rng in zip(times, signed, generators, strict=True):
            if null and not self._both:
                signs[:] = _signs(rng, len(signs))
                continue
            for members in self.strata:
                count = len(members)
                drawn = rng.integers(count, size=count)
                row[members] = np.bincount(drawn, minlength=count)
                if null:
                    signs[members] = np.bincount(drawn, _signs(rng, count), count)
        counts, totals = self._sums(signed)
        size = self._sums(times)[1] if null else totals
        with np.errstate(invalid="ignore", divide="ignore"):
            if null:
                return np.asarray(
                    np.where(size > 0, centre + self._stretch * (counts - totals * centre) / size, np.nan)
                )
            return np.asarray(np.where(size > 0, counts / size, np.nan) - self._frequency + centre)

    def _sums(self, times: Array) -> tuple[Array, Array]:
        """(b, S) each: what units so many times make of the count of every slot, and of its menu."""
        sums = np.asarray(self.table.T.dot(times.T)).T
        slots = len(self._unit)
        return sums[:, :slots], sums[:, slots:][:, self._unit]


def _signs(rng: np.random.Generator, count: int) -> Array:
    return np.asarray(2.0 * rng.integers(2, size=count) - 1.0)


def drawing_order(sample: Sample) -> tuple[Ints, Ints]:
    """(n,) and (units,): the place of each item in the order of labels, and of each unit among those drawn."""
    menus = sample.projector.cells.offered
    rank = np.argsort(label_order(sample.items))
    keys = Menus.from_cells(menus.menu, rank[menus.item], len(menus), menus.n_items)[0].keys()
    return rank, np.argsort(np.lexsort((keys[sample.unit_menu], sample.unit_group)))


def repeated_choices(groups: Sequence[ChoiceData], sample: Sample | None = None) -> tuple[int, float] | None:
    """How many subjects made how many choices from menus of a sample (None: from menus of two or more items).

    None where that is not known of all choices, where there is one subject only, and where nobody chose twice.
    """
    counts = None
    if sample is not None:
        counts = [np.zeros(len(data.offered), np.bool_) for data in groups]
        for g, own in enumerate(counts):
            own[sample.unit_row[sample.unit_group == g]] = True
    people, choices = people_and_choices(groups, counts)
    return (people, choices) if 1 < people < choices else None


def resolve_cluster(cluster: Any, groups: Sequence[ChoiceData], sample: Sample | None = None) -> Any:
    """What is resampled whole: "auto" is True where subjects are known and made several choices, else None."""
    if not (isinstance(cluster, str) and cluster == "auto"):
        return cluster
    return None if repeated_choices(groups, sample) is None else True


def make_sampler(sample: Sample, groups: Sequence[ChoiceData], resample: str, cluster: Any) -> Sampler:
    """The sampler for data, by menu, by row, or by cluster; how it draws is said by the sample's convention.

    cluster   True, False, None or ids, see `resolve_cluster` for "auto".
    """
    draws = sample.convention.draws
    if cluster is not None and cluster is not False:
        resample = "cluster"
    check_option(resample, "resample", RESAMPLE)
    rows = [getattr(group, "rows", None) for group in groups]
    if resample == "cluster":
        return _clusters(sample, groups, rows, cluster)
    single = [getattr(getattr(group, "outcomes", None) or group, "rows", None) for group in groups]  # a tie is one row
    weights = [np.ones(1) if r is None or r.weight is None else np.asarray(r.weight, float) for r in single]
    if all((w == np.round(w)).all() for w in weights):
        # Whole weights say how many equal choices a row stands for.
        return CellSampler(sample, resample, draws, _unit_ties(sample, groups))
    # Fractions are survey weights, and each row is a unit; strata are menus, or groups.
    if any(r is None for r in rows):
        raise InputError(
            "some groups have weighted rows and others counts only: give all of them as rows, or all as counts"
        )
    slot, unit, weight, keep = locate_rows(sample, groups, rows)
    # The two halves of a tie are one choice.
    halves = np.concatenate([second_halves(group) for group in groups])[keep]
    choice, of_choice = np.cumsum(~halves) - 1, unit[~halves]
    menu = drawing_order(sample)[1]
    _, strata = np.unique(menu[of_choice] if resample == "menu" else sample.unit_group[of_choice], return_inverse=True)
    table = _table(sample, choice, slot, unit, weight)
    return UnitSampler(sample, table, strata, np.bincount(of_choice).astype(float), draws, resample == "row")


def _unit_ties(sample: Sample, groups: Sequence[ChoiceData]) -> Array | None:
    """(units,): the share of ties, where they count half for both items of a pair; None where there is none."""
    tied = np.zeros(len(sample.sizes))
    for g, group in enumerate(groups):
        if getattr(group, "outcomes", None) is not None:
            own = sample.unit_group == g
            tied[own] = tied_shares(group)[sample.unit_row[own]]
    tied[np.bincount(sample.unit, minlength=len(tied)) != 2] = 0.0
    return tied if tied.any() else None


def _clusters(sample: Sample, groups: Sequence[ChoiceData], rows: Sequence[Any], cluster: Any) -> UnitSampler:
    given: list[ArrayLike | None]
    if cluster is None or cluster is True:
        given = [None if r is None or r.subject is None else _labels(r) for r in rows]
        if any(ids is None for ids in given):
            raise InputError(
                "cluster: the data do not say which subject made which choice; read them with a subject column, "
                "or pass one id per row"
            )
    elif len(groups) == 1:
        given = [cluster]
    else:
        given = list(cluster)
        if len(given) != len(groups):
            raise InputError(f"cluster: {len(given)} arrays of ids for {len(groups)} groups; one per group is needed")
    ids: list[NDArray[Any]] = []
    for own, choices in zip(given, rows, strict=True):
        if choices is None:
            raise InputError(
                "cluster: the data are counts, without one row per choice, so whole subjects cannot be resampled; "
                "build them from rows (ChoiceData.from_frame, from_csv)"
            )
        array = np.asarray(own)
        if isinstance(own, str):
            raise InputError(
                f"cluster={own!r}: one id for each of the {len(choices.menu)} rows is needed, or True for the subjects that "
                "were read with the data (subject= of ChoiceData.from_frame and from_csv), or 'auto' for these where they "
                "made several choices, or False"
            )
        if array.shape != (len(choices.menu),):
            raise InputError(
                f"cluster: one id for each of the {len(choices.menu)} rows is needed; got shape {array.shape}"
            )
        ids.append(array.astype(str))
    slot, unit, weight, keep = locate_rows(sample, groups, rows)
    label, who = np.unique(np.concatenate(ids)[keep], return_inverse=True)
    group_of = sample.unit_group[unit]
    # Subjects of one group only are drawn within their group; where one is in several, all are drawn together.
    strata = np.full(len(label), -1)
    strata[who] = group_of
    if (strata[who] != group_of).any():
        strata[:] = 0
    _, strata = np.unique(strata, return_inverse=True)
    pairs = np.unique(np.stack([unit, who]), axis=1)[0]
    if len(label) < 2:
        raise InputError("cluster: there is only one subject; resampling by subject needs at least two")
    table = _table(sample, who, slot, unit, weight)
    return UnitSampler(sample, table, strata, np.bincount(pairs).astype(float), sample.convention.draws)


def _labels(rows: Any) -> ArrayLike:
    """The subject of every row by label, so that groups can share subjects."""
    names = getattr(rows, "subjects", ())
    subject = np.asarray(rows.subject)
    return np.array([str(name) for name in names])[subject] if len(names) else subject


def locate_rows(
    sample: Sample, groups: Sequence[ChoiceData], rows: Sequence[Any]
) -> tuple[Ints, Ints, Array, NDArray[np.bool_]]:
    """Slot (-1: not recorded), unit and weight of each row of all groups from a unit; and which rows those are."""
    units, items, weights = [], [], []
    for g, (group, own) in enumerate(zip(groups, rows, strict=True)):
        unit_of = np.full(len(group.totals), -1)
        of_group = np.flatnonzero(sample.unit_group == g)
        unit_of[sample.unit_row[of_group]] = of_group
        units.append(unit_of[np.asarray(own.menu)])
        items.append(places(group.items, sample.items)[np.asarray(own.choice)])
        weights.append(np.ones(len(own.menu)) if own.weight is None else np.asarray(own.weight, float))
    unit, item, weight = (np.concatenate(column) for column in (units, items, weights))
    keep = unit >= 0
    unit, item = unit[keep], item[keep]
    stride = len(sample.items) + 1
    key = sample.unit * stride + np.where(sample.item < 0, stride - 1, sample.item)
    at = np.minimum(np.searchsorted(key, unit * stride + item), len(key) - 1)
    slot = np.where((item >= 0) & (key[at] == unit * stride + item), at, -1)
    return slot, unit, weight[keep], keep


def _table(sample: Sample, row: Ints, slot: Ints, unit: Ints, weight: Array) -> sparse.csr_matrix:
    slots, units = len(sample.unit), len(sample.sizes)
    seen = slot >= 0
    return sparse.csr_matrix(
        (
            np.concatenate([weight[seen], weight]),
            (np.concatenate([row[seen], row]), np.concatenate([slot[seen], slots + unit])),
        ),
        shape=(int(row.max()) + 1, slots + units),
    )
