"""From a source of rows to choice data: find the columns, count the rows, understand the menus."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.core.lattice import MAX_ITEMS, items_of
from rumflow.data.choices import ChoiceData
from rumflow.data.labels import Item, Rows, format_menu
from rumflow.data.readers.coding import Coder, KeyCounter, to_numbers
from rumflow.data.readers.columns import Options, Recogniser, Roles, as_flag
from rumflow.data.readers.menus import Distinct, Interpreter, Meaning
from rumflow.data.readers.sources import Chunk, Source
from rumflow.errors import InputError

#: Rows are kept one by one up to this number, unless the caller says otherwise.
KEEP_ROWS = 5_000_000
MAX_DIFFERENT = 1 << 20


def read(source: Source, options: Options) -> ChoiceData:
    """Read a source into choice data."""
    sample = next(source.chunks(source.columns), None)
    if sample is None:
        raise InputError(f"{source.name}, line 2: there are no rows after the header; at least one is needed")
    roles = Recogniser(source, options, sample).run()
    if roles.form == "matrix":
        return _read_matrix(source, options)
    if roles.form == "alternatives":
        from rumflow.data.readers.alternatives import read_alternatives

        return read_alternatives(source, roles, options)
    if roles.choice is None:
        raise InputError(f"{source.name}: no choice column found; name it with choice= (--choice)")
    table = _Accumulator(source, roles, options)
    for chunk in source.chunks(roles.columns()):
        table.add(chunk)
    return table.finish()


@dataclass
class _Kept:
    """Pieces of what is kept of every row."""

    key: list[NDArray[np.int32]] = field(default_factory=list)
    weight: list[Array] = field(default_factory=list)
    subject: list[NDArray[np.int32]] = field(default_factory=list)
    group: list[NDArray[np.int32]] = field(default_factory=list)
    position: list[NDArray[np.int64]] = field(default_factory=list)


class _Accumulator:
    def __init__(self, source: Source, roles: Roles, options: Options) -> None:
        self.source, self.roles, self.options = source, roles, options
        self.menu, self.mask, self.choice, self.subject, self.group = Coder(), Coder(), Coder(), Coder(), Coder()
        self.counter = KeyCounter()
        self.kept = _Kept()
        self.n_rows = 0
        self.totals: dict[int, float] = {}
        self.keep = options.rows is not False and (
            roles.form != "counts" or bool(roles.subject or roles.group) or options.rows is True
        )

    def add(self, chunk: Chunk) -> None:
        """Count a chunk."""
        roles, columns = self.roles, chunk.columns
        zero = np.zeros(len(chunk), np.int64)
        if roles.form == "availability":
            menu = self.menu.encode(self._flags(chunk))
        else:
            menu = zero if roles.menu is None else self.menu.encode(columns[roles.menu])
        mask = zero if roles.mask is None else self.mask.encode(columns[roles.mask])
        choice = self.choice.encode(columns[str(roles.choice)])
        self._refuse_many(chunk, menu, choice)
        weights = None
        if roles.weight is not None:
            weights = to_numbers(
                self.source, roles.weight, columns[roles.weight], chunk.positions, optional=roles.form == "counts"
            )
        keys = self.counter.add([menu, mask, choice], weights, chunk.positions)
        if roles.total is not None:
            numbers = to_numbers(self.source, roles.total, columns[roles.total], chunk.positions, optional=False)
            for key, total, position in zip(keys.tolist(), numbers.tolist(), chunk.positions.tolist(), strict=True):
                if self.totals.setdefault(key, total) != total and not (roles.subject or roles.group):
                    raise InputError(f"{self.source.where(position)}: column {roles.total!r} differs within a menu")
        self.n_rows += len(chunk)
        if self.keep and self.options.rows is None and self.n_rows > KEEP_ROWS:
            self.keep, self.kept = False, _Kept()
        if self.keep or (roles.form == "counts" and self.n_rows <= KEEP_ROWS):
            self._keep(chunk, keys, weights)

    def _keep(self, chunk: Chunk, keys: NDArray[np.int64], weights: Array | None) -> None:
        roles, kept = self.roles, self.kept
        kept.key.append(keys.astype(np.int32))
        if weights is not None:
            kept.weight.append(weights)
        if roles.subject is not None:
            kept.subject.append(self.subject.encode(chunk.columns[roles.subject]).astype(np.int32))
        if roles.group:
            parts = [chunk.columns[name] for name in roles.group]
            codes = self.group.encode(parts[0] if len(parts) == 1 else list(zip(*map(_listed, parts), strict=True)))
            kept.group.append(codes.astype(np.int32))
        if roles.form == "counts":
            kept.position.append(chunk.positions)

    def _flags(self, chunk: Chunk) -> NDArray[np.int64]:
        """The bit masks of 0/1 availability columns."""
        mask = np.zeros(len(chunk), np.int64)
        if len(self.roles.available) > MAX_ITEMS:
            raise InputError(
                f"{self.source.name}: {len(self.roles.available)} availability columns; at most {MAX_ITEMS} items "
                "are possible: "
                "name them with available= (--available)"
            )
        for x, name in enumerate(self.roles.available):
            coder = Coder()
            codes = coder.encode(chunk.columns[name])
            flags = [as_flag(value) for value in coder.values]
            if None in flags:
                wrong = flags.index(None)
                row = int(np.argmax(codes == wrong))
                raise InputError(
                    f"{self.source.where(int(chunk.positions[row]))}: {coder.values[wrong]!r} in availability "
                    f"column {name!r}; "
                    "it must be 0 or 1"
                )
            mask |= np.array(flags, np.int64)[codes] << x
        return mask

    def _refuse_many(self, chunk: Chunk, menu: NDArray[np.int64], choice: NDArray[np.int64]) -> None:
        if len(self.choice) > 8 * MAX_ITEMS:
            row = int(np.argmax(choice >= MAX_ITEMS))
            some = ", ".join(str(v)[:20] for v in self.choice.values[:3])
            raise InputError(
                f"{self.source.where(int(chunk.positions[row]))}: column {self.roles.choice!r} holds more than "
                f"{8 * MAX_ITEMS} different choices ({some}, ...); at most {MAX_ITEMS} items are possible: is this "
                "the choice column?"
            )
        if max(len(self.menu), len(self.mask)) > MAX_DIFFERENT:
            raise InputError(
                f"{self.source.where(int(chunk.positions[-1]))}: column {self.roles.menu!r} holds more than "
                f"{MAX_DIFFERENT:,} different "
                "menus; is this the menu column?"
            )

    def finish(self) -> ChoiceData:
        """Understand the menus and add up."""
        if self.n_rows == 0:
            raise InputError(f"{self.source.name}, line 2: there are no rows after the header; at least one is needed")
        counter, roles = self.counter, self.roles
        where = lambda k: self.source.where(counter.first[k])  # noqa: E731
        table = Distinct(self.menu.values or [None], self.mask.values, self.choice.values, counter.keys, where)
        meaning = Interpreter(self.source.name, self.source.text, roles, self.options, table).run()
        self._refuse_duplicates(meaning)
        masks, menu_of_key = np.unique(meaning.masks, return_inverse=True)
        n = len(meaning.items)
        inside = (masks[:, None] >> np.arange(n) & 1).astype(bool)
        counts = np.where(inside, 0.0, np.nan)
        np.add.at(counts, (menu_of_key, meaning.choices), counter.weight)
        hidden = counter.unknown == counter.rows
        hide = np.zeros(counts.shape, bool)
        hide[menu_of_key[hidden], meaning.choices[hidden]] = True
        shown = np.zeros(counts.shape, bool)
        shown[menu_of_key[~hidden], meaning.choices[~hidden]] = True
        counts[hide & ~shown] = np.nan
        if hidden.any() and (roles.subject or roles.group):
            raise InputError(
                f"{where(int(np.argmax(hidden)))}: the count is missing; counts by subject or group must be "
                "complete: write 0 for an item "
                "never chosen"
            )
        totals = self._totals(masks, counts, inside, menu_of_key, meaning.items)
        observed = totals > 0
        if not observed.any():
            raise InputError(f"{self.source.name}: every count is 0; at least one menu needs a choice")
        number = np.cumsum(observed) - 1
        dropped = [format_menu(meaning.items[x] for x in items_of(m)) for m in masks[~observed]]
        if dropped:
            listed = [d for d in dropped if "," in d]
            if listed:
                meaning.notes.append(
                    f"{len(listed)} menus have no choices and count as not offered: {', '.join(listed[:3])}"
                )
        if roles.form == "availability":
            never = [
                str(label) for label, total in zip(meaning.items, np.nansum(counts, axis=0), strict=True) if total == 0
            ]
            if never:
                meaning.notes.append(
                    f"never chosen: {', '.join(never)} (name the 0/1 columns with available= if these are not items)"
                )
        rows = self._rows(number[menu_of_key], meaning) if self.keep else None
        text = self._describe(meaning, int(observed.sum()), float(totals.sum()), rows)
        return ChoiceData(meaning.items, masks[observed], counts[observed], totals[observed], rows, text)

    def _totals(
        self,
        masks: NDArray[np.int64],
        counts: Array,
        inside: NDArray[np.bool_],
        menu_of_key: NDArray[np.int64],
        items: tuple[Item, ...],
    ) -> Array:
        """Sample sizes; where a cell is not observed they come from the column of totals, else counts are shares."""
        sums = np.nansum(counts, axis=1)
        partial = (np.isnan(counts) & inside).any(axis=1)
        if self.totals:
            given = np.zeros(len(masks))
            for key, total in self.totals.items():
                given[menu_of_key[key]] = max(given[menu_of_key[key]], total)
            if not (self.roles.subject or self.roles.group):
                return np.where(partial, given, sums)
        for m in np.flatnonzero(partial):
            if sums[m] > 1 + 1e-9:
                first = self.counter.first[int(np.argmax((menu_of_key == m) & (self.counter.unknown > 0)))]
                raise InputError(
                    f"{self.source.where(first)}: menu {format_menu(items[x] for x in items_of(masks[m]))} has "
                    "items without a count, "
                    f"so the others must be shares, but they add up to {sums[m]:g}; write 0 for an item never "
                    "chosen, or give "
                    "the number of choices in a column 'total'"
                )
        return np.where(partial & (np.isnan(counts) | ~inside).all(axis=1), 0.0, np.where(partial, 1.0, sums))

    def _refuse_duplicates(self, meaning: Meaning) -> None:
        if self.roles.form != "counts" or not self.kept.position:
            return
        kept = self.kept
        cell = (meaning.masks << 6 | meaning.choices)[np.concatenate(kept.key)]
        parts = [cell] + [np.concatenate(c).astype(np.int64) for c in (kept.subject, kept.group) if c]
        order = np.lexsort(parts)
        same = np.ones(len(order) - 1, bool)
        for part in parts:
            same &= part[order][1:] == part[order][:-1]
        if same.any():
            at = np.flatnonzero(same)
            k = at[np.argmin(order[at + 1])]
            positions = np.concatenate(kept.position)
            first, second = sorted((int(positions[order[k]]), int(positions[order[k + 1]])))
            mask, item = int(cell[order[k]]) >> 6, int(cell[order[k]]) & 63
            raise InputError(
                f"{self.source.where(second)}: menu {format_menu(meaning.items[x] for x in items_of(mask))}, item "
                f"{meaning.items[item]!r} stands twice (first in {first}); add the counts up, or name the column "
                "that tells the two "
                "apart as group= or subject="
            )

    def _rows(self, menu_of_key: NDArray[np.int64], meaning: Meaning) -> Rows:
        kept = self.kept
        key = np.concatenate(kept.key)
        weight = np.concatenate(kept.weight) if kept.weight else np.ones(len(key))
        use = ~np.isnan(weight) & (weight > 0)
        key, weight = key[use], weight[use]
        return Rows(
            menu_of_key[key].astype(np.int32),
            meaning.choices[key].astype(np.int16),
            weight,
            np.concatenate(kept.subject)[use] if kept.subject else None,
            np.concatenate(kept.group)[use] if kept.group else None,
            tuple(self.subject.values) if kept.subject else (),
            tuple(self.group.values) if kept.group else (),
        )

    def _describe(self, meaning: Meaning, menus: int, total: float, rows: Rows | None) -> str:
        """What was understood, as text."""
        roles = self.roles
        forms = {
            "choices": "one row a choice",
            "counts": "counts by menu and item",
            "availability": f"one row a choice, {len(roles.available)} availability columns",
            "losers": "one row a choice: winner and losers",
        }
        named = {"menu": roles.menu, "mask": roles.mask, "choice": roles.choice}
        named |= {"total": roles.total, "subject": roles.subject, "group": ", ".join(roles.group) or None}
        named["count" if roles.counted else "weight"] = roles.weight
        lines = [
            f"{self.source.name}: {forms[roles.form]}; " + ", ".join(f"{k} = {v!r}" for k, v in named.items() if v)
        ]
        lines += meaning.notes
        lines.append(
            f"{len(meaning.items)} items {format_menu(meaning.items)}, {menus} menus, {total:g} choices in "
            f"{self.n_rows:,} rows"
        )
        if rows is not None and rows.subject is not None:
            lines.append(f"{len(rows.subjects)} subjects")
        if rows is not None and rows.group is not None and len(rows.groups) > 1:
            lines.append(f"{len(rows.groups)} groups, taken together here; split() or --by group separates them")
        if not self.keep and self.n_rows > KEEP_ROWS and roles.form != "counts":
            lines.append(f"more than {KEEP_ROWS:,} rows: only counts are kept (rows=True keeps every row)")
        return "\n".join(lines)


def _listed(column: Any) -> Any:
    return column if not hasattr(column, "codes") else [None if c < 0 else column.values[c] for c in column.codes]


def _read_matrix(source: Source, options: Options) -> ChoiceData:
    """A table with a column an item and a row a menu: the matrix of `from_matrix`."""
    pieces = []
    for chunk in source.chunks(source.columns):
        columns = [to_numbers(source, c, chunk.columns[c], chunk.positions, optional=True) for c in source.columns]
        pieces.append(np.column_stack(columns))
    matrix = np.vstack(pieces)
    n = matrix.shape[1]
    if len(matrix) not in (1 << n, (1 << n) - 1):
        raise InputError(
            f"{source.name}, line 1: no menu column found among {', '.join(source.columns[:12])}; name it with "
            "menu= (--menu). As a "
            f"matrix of counts, {n} items would need {2**n - 1} or {2**n} rows, not {len(matrix)}"
        )
    try:
        data = ChoiceData.from_matrix(matrix, source.columns if options.items is None else options.items)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    text = f"{source.name}: a matrix of counts, a row a menu (bit mask), a column an item\n{data!r}"
    return ChoiceData(data.items, data.masks, data.counts, data.totals, None, text)
