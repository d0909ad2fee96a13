"""Sample sizes of menus: the sums of counts, given totals, or 1 where shares were recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from rumflow.core.arrays import Array, Mask
from rumflow.data.readers.coding import KeyCounter
from rumflow.data.readers.interpret import Meaning
from rumflow.data.readers.roles import SHARES, Options, Roles, plain
from rumflow.data.readers.sources import Source
from rumflow.errors import InputError
from rumflow.output.names import apart_from


class Sums:
    """What was counted under each key, and the totals that were given."""

    def __init__(self, source: Source, roles: Roles, options: Options) -> None:
        self.source: Source = source
        self.roles: Roles = roles
        self.options: Options = options
        self.counter: KeyCounter = KeyCounter()
        self.totals: dict[int, float] = {}

    def menu_totals(self, counts: Array, shown: Mask, meaning: Meaning) -> Array:
        """Sample sizes: those of the column of totals, else the sums, or 1 where some cell is missing and counts are shares.

        With totals, items that have no row are not recorded in menus whose counts stay below the total. `counts` changes.
        """
        menus = meaning.menus
        if self.totals and not (self.roles.subject or self.roles.group):
            given = np.zeros(len(menus))
            owner: dict[int, int] = {}
            for key, total in self.totals.items():
                m = int(meaning.menu[key])
                one = owner.setdefault(m, key)
                if self.totals[one] != total:
                    here, there = (self.source.where(self.counter.first[k]) for k in (key, one))
                    raise InputError(
                        f"{here}: menu {meaning.name(m)}: column {self.roles.total!r} is {apart_from(total, self.totals[one])}, "
                        f"but {self.totals[one]:g} in {there}; the total of a menu must be the same in all of its rows"
                    )
                given[m] = total
            if not (counts > 1).any() and ((counts > 0) & (counts < 1)).any() and (given > 1).any():
                counts *= given[menus.menu]  # shares beside their sample sizes
            sums = menus.sums(counts)
            slack = 1e-6 * np.maximum(given, 1.0)
            counts[(sums < given - slack)[menus.menu] & ~shown] = np.nan
            self._fill_rest(counts, given - sums, meaning)
            sums, known = menus.sums(counts), menus.count(np.isnan(counts)) == 0
            for m in np.flatnonzero((sums > given + slack) | (known & (sums < given - slack))).tolist():
                raise InputError(
                    f"{self.source.name}: menu {meaning.name(m)}: the counts add up to "
                    f"{apart_from(sums[m], given[m])}, but column {self.roles.total!r} says {given[m]:g}; counts must not exceed "
                    "the total, and fill it where every item has one"
                )
            return np.where(known, sums, given)
        sums = menus.sums(counts)
        missing = menus.count(np.isnan(counts))
        partial = missing > 0
        if self._holds_shares():
            self._refuse_odd_shares(sums, partial, meaning)
            whole = (~partial & (sums > 0))[menus.menu]
            counts[whole] /= sums[menus.menu[whole]]  # rounded ones add up to 1, too
            sums = menus.sums(counts)
        for m in np.flatnonzero(partial & (sums > 1 + 1e-9)).tolist():
            first = self.counter.first[int(np.argmax((meaning.menu == m) & (self.counter.unknown > 0)))]
            raise InputError(
                f"{self.source.where(first)}: menu {meaning.name(m)} has items without a count, so the others must be "
                f"shares, but they add up to {apart_from(sums[m], 1)}; write 0 for an item never chosen, or give the number of "
                "choices in a column 'total'"
            )
        return np.where(partial, np.where(missing == menus.sizes, 0.0, 1.0), sums)

    def _fill_rest(self, counts: Array, rest: Array, meaning: Meaning) -> None:
        """Where only the outside option of a menu has no count, it has what is left of the total."""
        if self.options.outside_option is None:
            return
        menus, unknown = meaning.menus, np.isnan(counts)
        outside = [str(item) for item in meaning.items].index(str(self.options.outside_option))
        alone = unknown & (menus.item == outside) & (menus.count(unknown) == 1)[menus.menu]
        counts[alone] = rest[menus.menu[alone]]

    def _holds_shares(self) -> bool:
        """Is the column of counts called a share? (By subject, group or id of a menu several shares are added up: not then.)"""
        roles = self.roles
        named = roles.counted and roles.weight and not self.options.count and plain(roles.weight) in SHARES
        return bool(named) and not (roles.subject or roles.group or roles.listed)

    def _refuse_odd_shares(self, sums: Array, partial: Any, meaning: Meaning) -> None:
        """Shares of a menu add up to 1, up to two digits each."""
        name = self.roles.weight
        slack = 0.005 * meaning.menus.sizes + 1e-9
        for m in np.flatnonzero(~partial & (sums > 0) & (np.abs(sums - 1.0) > slack)).tolist():
            raise InputError(
                f"{self.source.name}: menu {meaning.name(m)}: the shares of column "
                f"{name!r} add up to {apart_from(sums[m], 1)}, not to 1; divide per cents by 100, leave the cell of a share "
                f"that is not known empty; say count={name!r} (--count {name}) for numbers of choices, count=False where the "
                "column is no count"
            )
