"""The populations that are not rejected at a level: a joint confidence set of the recorded probabilities.

Let T be sums of cells of a menu: every recorded cell by itself, and for every recorded item of a menu the share of choices that
earn as much or more. Each is the share of some of the choices from one menu. A population rho is rejected when some sum is
further from the data than chance makes the furthest of them all,

    max over sums k of  |T_k p - T_k rho| / s_k(rho)  >  z,      s_k(rho)^2 = T_k rho (1 - T_k rho) / N_k + 1 / N^2,

with N_k the choices behind a share (fewer where subjects repeat or choices are weighted: as many as give the same variance) and
z the quantile of the same maximum in samples of a known population: drawn from the point that the test draws from, the model's
nearest to the data, tightened (`rumflow.inference.replicate`). At the truth the maximum is one over noise alone, with no facet
of the model near or far in it, so plain draws give its quantile. Where N_k comes from the draws, by subject or with weights, z
is larger by what Student's t has over the normal for the smallest N. The last term, a choice more or less, is for rare items:
their shares jump by whole choices, and would set z for all others.

For one sum the inequality is a range of T_k rho, the interval of Wilson (1927): the set is bounded by planes, and worst cases
are linear programmes (`rumflow.solvers.range_programs`).

The truth is in this set with the given probability. Then every menu earns at least its worst case over the set, all of them at
once: a menu may be searched for, and the promise of the one that is found holds as it stands. An interval of `rumflow.bounds` is
narrower, but holds for one menu that was chosen before the data were seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse, special

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.memory import require_memory
from rumflow.core.patience import check_patience
from rumflow.core.seeds import entropy
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import find_menus
from rumflow.inference.confidence import PLAIN, BoundsOptions
from rumflow.inference.conflicts.subsets import effective_choices
from rumflow.inference.replicate import tightened_centre
from rumflow.inference.resample import CellSampler, generators, make_sampler, resolve_cluster
from rumflow.inference.sample import build_sample, testable

_TOL = 1e-9
_PIECE = 256  # replicates at a time


class Band(NamedTuple):
    """Sums of recorded cells, and the ranges in which populations have them that are not rejected."""

    sums: Any  # (k, m n), sparse: over the cells of menus (m, n), row after row
    least: Array  # (k,)
    most: Array  # (k,)

    def holds(self, values: Array) -> bool:
        """Are probabilities (m, n) not rejected?"""
        own = self.sums @ values.reshape(-1)
        return bool(((own >= self.least - _TOL) & (own <= self.most + _TOL)).all())


def find_band(
    data: ChoiceData,
    menus: Mask,
    seen: Mask,
    values: Array,
    options: BoundsOptions,
) -> Band:
    """The set for some menus of the data and the cells that count; `values`: what each item earns.

    Of the options the level, the replicates with their seed and clusters, model and route are used.
    """
    confidence, n_boot, cluster = options.level_for(data), options.n_boot, resolve_cluster(options.cluster, [data])
    assert confidence is not None
    sample = build_sample(data, "counts", PLAIN, None, options.model, options.route, remainders=False)
    sampler = make_sampler(sample, [data], "menu", cluster)
    tau = sample.taus("auto", sampler.n_independent)[0]
    centre, _ = tightened_centre(sample, tau, _TOL)
    check_patience()
    rows = find_menus(menus, sample.menus)[sample.unit_menu]
    number = rows[sample.unit] * menus.shape[1] + sample.item
    used = np.flatnonzero(seen.reshape(-1)[number])
    sums, unit = _sums(sample.unit[used], values[sample.item[used]], sample.menu_sizes)
    sums = sums @ _pick(used, len(sample.unit))
    one = 1.0 / sampler.n_independent[unit]
    require_memory(32.0 * n_boot * len(unit), f"a level by {n_boot:,} replicates", "take fewer replicates (n_boot)")
    drawn = np.empty((n_boot, sums.shape[0]))
    number_of_seed = entropy(options.seed)
    for first in range(0, n_boot, _PIECE):
        check_patience()
        piece = range(first, min(first + _PIECE, n_boot))
        noise = np.nan_to_num(sampler.draw(generators(number_of_seed, (), piece), centre) - centre)
        drawn[first : piece.stop] = (sums @ noise.T).T
    share = sums @ centre
    variance, each = share * (1.0 - share), one.copy()  # each: 1 / N_k
    few, tail = 1.0, 0.5 * (1.0 + confidence)
    if not isinstance(sampler, CellSampler):
        # The draws may by chance have less noise than so many independent choices, and few of them know their own noise badly.
        if cluster is None or cluster is False:
            kish = effective_choices(data, by_subject=False)[testable(data)]
            one = 1.0 / kish[unit]
        np.divide((drawn**2).mean(axis=0), variance, out=each, where=variance > 1e-12)
        each = np.maximum(each, one)
        few = float(special.stdtrit(max(1.0 / one.max() - 1.0, 1.0), tail) / special.ndtri(tail))
    highest = np.sort((np.abs(drawn) / np.sqrt(each * variance + one**2)).max(axis=1))
    # At least the quantile of one share: a subject alone has no noise to draw.
    z = few * max(highest[int(np.ceil(confidence * (1 + n_boot) - 1e-9)) - 1], special.ndtri(tail))
    low, high = wilson(sums @ sample.frequency, each, one, float(z))
    return Band(sparse.csr_matrix(sums @ _pick(number, menus.size)), low, high)


def wilson(share: Array, each: Array, one: Array, z: float) -> tuple[Array, Array]:
    """All t with |share - t| <= z sqrt(each t (1 - t) + one^2), from and to."""
    square = z * z
    middle = (share + 0.5 * square * each) / (1.0 + square * each)
    room = np.sqrt(np.maximum(middle**2 - (share**2 - square * one**2) / (1.0 + square * each), 0.0))
    return np.maximum(middle - room, 0.0), np.minimum(middle + room, 1.0)


def _sums(unit: Ints, values: Array, sizes: Array) -> tuple[Any, Ints]:
    """(k, slots): every slot by itself, and those of its unit that earn as much or more; and the unit of each sum.

    sizes   (units,): the number of items of each menu; the sum of all of them is 1 for everybody.
    """
    rows, units = [sparse.identity(len(unit), format="csr")], [unit]
    for one in np.unique(unit):
        own = np.flatnonzero(unit == one)
        more = values[own][None, :] >= values[own][:, None]
        count = more.sum(axis=1)
        several = np.unique(more[(count > 1) & (count < sizes[one])], axis=0)
        rows.append(sparse.csr_matrix(several.astype(float)) @ _pick(own, len(unit)))
        units.append(np.full(len(several), one))
    return sparse.vstack(rows, "csr"), np.concatenate(units)


def _pick(columns: Ints, width: int) -> Any:
    """A matrix that puts each number into its column."""
    return sparse.csr_matrix((np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), width))
