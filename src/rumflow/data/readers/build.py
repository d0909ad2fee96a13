"""From a source of rows to choice data: find the columns, count the rows, understand the menus."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array, Ints, Mask
from rumflow.core.menus import add_up
from rumflow.data.counted import Counted, Rows, check_totals
from rumflow.data.labels import MOST_ITEMS, TIE, format_menu
from rumflow.data.matrix import from_matrix
from rumflow.data.menus import unique_menus
from rumflow.data.readers.alternatives import collect_alternatives
from rumflow.data.readers.best_worst import NOTE, choose_best_or_worst
from rumflow.data.readers.coded import Coded
from rumflow.data.readers.coders import Coder
from rumflow.data.readers.coding import to_flags, to_numbers
from rumflow.data.readers.columns import Recogniser
from rumflow.data.readers.interpret import Interpreter, Meaning
from rumflow.data.readers.labels import Distinct
from rumflow.data.readers.places import describe_places, find_places, read_places
from rumflow.data.readers.roles import NAMES, WIDE, Options, Roles, plain
from rumflow.data.readers.sources import Chunk, Source
from rumflow.data.readers.sums import Sums
from rumflow.data.readers.texts import empty_words, note_on_empty, numbers_if_whole
from rumflow.data.readers.wide import describe_wide, read_wide
from rumflow.data.ties import settle
from rumflow.data.understood import Understood
from rumflow.errors import InputError
from rumflow.output.names import how_many

#: Rows are kept one by one up to this number, unless the caller says otherwise.
KEEP_ROWS = 5_000_000
MAX_DIFFERENT = 1 << 20


def read(source: Source, options: Options) -> Counted:
    """Read a source into counts of choices."""
    sample = next(source.chunks(source.columns), None)
    if sample is None:
        raise InputError(f"{source.name}, line 2: there are no rows after the header; at least one is needed")
    options = choose_best_or_worst(source, options)
    counts = getattr(source, "counts", None)  # of a series by menu and item, whatever its name
    if counts is not None and options.count is None and options.weight is None and plain(counts) not in NAMES["count"]:
        options = replace(options, count=counts)
    if isinstance(options.count, list) and len(options.count) == 1:
        options = replace(options, count=options.count[0])
    if not isinstance(options.count, list) and (places := find_places(source, options, sample)) is not None:
        found: Counted = read(*read_places(source, options, places))
        found = replace(found, understood=describe_places(found.understood, options, places))
        return settle(found, options.ties or "outcome")
    if isinstance(options.count, list):
        found = read(*read_wide(source, options, options.count))
        full = bool((found.offered.sizes == len(found.items)).all())
        return replace(found, understood=describe_wide(found.understood, options, source, options.count, full))
    roles = Recogniser(source, options, sample).run()
    del sample
    if roles.form == "matrix":
        return _read_matrix(source, options)
    if roles.form == "alternatives":
        own, inner = collect_alternatives(source, roles, options)
        table = _Accumulator(own, inner, replace(options, base="label", missing=None), roles)
    else:
        table = _Accumulator(source, roles, options, roles)
    if roles.choice is None and not roles.choice_columns:
        raise InputError(f"{source.name}: no choice column found; name it with choice= (--choice)")
    for chunk in table.source.chunks(table.roles.columns()):
        table.add(chunk)
    return table.finish()


@dataclass
class _RowBuffer:
    """Pieces of what is kept of every row."""

    key: list[NDArray[np.int32]] = field(default_factory=list)
    weight: list[Array] = field(default_factory=list)
    subject: list[NDArray[np.int32]] = field(default_factory=list)
    group: list[NDArray[np.int32]] = field(default_factory=list)
    position: list[NDArray[np.int64]] = field(default_factory=list)


class _Accumulator(Sums):
    """Counts the rows of a source; `found` are the roles of the table as it was given, for what is said about it."""

    def __init__(self, source: Source, roles: Roles, options: Options, found: Roles) -> None:
        super().__init__(source, roles, options)
        self.found = found
        self.menu, self.extra, self.choice, self.subject, self.group = Coder(), Coder(), Coder(), Coder(), Coder()
        self.missing_codes, self.n_missing = options.missing_codes, 0
        self.kept = _RowBuffer()
        self.n_rows = 0
        self.keep = options.rows is not False and (
            roles.form != "counts" or bool(roles.subject or roles.group) or options.rows is True
        )

    def add(self, chunk: Chunk) -> None:
        """Count a chunk."""
        roles = self.roles
        if self.missing_codes:
            chunk = self._recorded(chunk)
            if len(chunk) == 0:
                return
        columns = chunk.columns
        zero = np.zeros(len(chunk), np.int64)
        if roles.form == "availability":
            different, number = unique_menus(self._flags(chunk, roles.available, "availability"))
            menu = self.menu.encode([tuple(np.flatnonzero(row).tolist()) for row in different])[number]
        elif roles.menu_columns:
            parts = [_listed(columns[name]) for name in roles.menu_columns]
            menu = self.menu.encode(list(zip(*parts, strict=True)))
        else:
            menu = zero if roles.menu is None else self.menu.encode(columns[roles.menu])
        extra = zero if roles.extra_column is None else self.extra.encode(columns[roles.extra_column])
        choice = self._picked(chunk) if roles.choice is None else self.choice.encode(columns[roles.choice])
        self._refuse_many(chunk, choice)
        weights = None
        if roles.weight is not None:
            weights = to_numbers(
                self.source, roles.weight, columns[roles.weight], chunk.positions, optional=roles.form == "counts"
            )
        keys = self.counter.add([menu, extra, choice], weights, chunk.positions)
        if roles.total is not None:
            numbers = to_numbers(self.source, roles.total, columns[roles.total], chunk.positions, optional=False)
            for key, total, position in zip(keys.tolist(), numbers.tolist(), chunk.positions.tolist(), strict=True):
                if self.totals.setdefault(key, total) != total and not (roles.subject or roles.group):
                    raise InputError(f"{self.source.where(position)}: column {roles.total!r} differs within a menu")
        self.n_rows += len(chunk)
        if self.keep and self.options.rows is None and self.n_rows > KEEP_ROWS:
            self.keep, self.kept, self.subject, self.group = False, _RowBuffer(), Coder(), Coder()
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

    def _recorded(self, chunk: Chunk) -> Chunk:
        """The rows whose choice is not one of the codes for a missing one."""
        if self.roles.choice is None:
            return chunk
        coder = Coder()
        codes = coder.encode(chunk.columns[self.roles.choice])
        keep = np.array([("" if v is None else str(v).strip()) not in self.missing_codes for v in coder.values])[codes]
        self.n_missing += int((~keep).sum())
        return Chunk({name: _kept(column, keep) for name, column in chunk.columns.items()}, chunk.positions[keep])

    def _flags(self, chunk: Chunk, names: Iterable[str], what: str) -> Mask:
        """(rows, columns) of 0/1 columns."""
        names = list(names)
        inside = np.empty((len(chunk), len(names)), np.bool_)
        for x, name in enumerate(names):
            inside[:, x] = to_flags(self.source, chunk.columns[name], chunk.positions, f"{what} column {name!r}")
        return inside

    def _picked(self, chunk: Chunk) -> Ints:
        """The choice given by 0/1 columns: the label of the column with a 1, None where there is none."""
        flags = self._flags(chunk, self.roles.choice_columns, "choice")
        count = flags.sum(axis=1)
        if (count > 1).any():
            row = int(np.argmax(count > 1))
            names = [name for name, flag in zip(self.roles.choice_columns, flags[row], strict=True) if flag]
            raise InputError(
                f"{self.source.where(int(chunk.positions[row]))}: {count[row]} choice columns are 1 ({', '.join(names[:4])}); "
                "exactly one must be"
            )
        codes = self.choice.encode([None, *self.roles.choice_columns.values()])
        return codes[np.where(count == 1, flags.argmax(axis=1) + 1, 0)]

    def _refuse_many(self, chunk: Chunk, choice: Ints) -> None:
        if len(self.choice) > 2 * MOST_ITEMS:
            row = int(np.argmax(choice >= MOST_ITEMS))
            some = ", ".join(str(v)[:20] for v in self.choice.values[:3])
            raise InputError(
                f"{self.source.where(int(chunk.positions[row]))}: column {self.roles.choice!r} holds more than "
                f"{2 * MOST_ITEMS:,} different choices ({some}, ...); data can hold at most {MOST_ITEMS:,} items: is this the "
                "choice column?"
            )
        if max(len(self.menu), len(self.extra)) > MAX_DIFFERENT:
            raise InputError(
                f"{self.source.where(int(chunk.positions[-1]))}: column {self.roles.menu!r} holds more than "
                f"{MAX_DIFFERENT:,} different menus; is this the menu column?"
            )

    def finish(self) -> Counted:
        """Understand the menus and add up."""
        if self.n_rows == 0:
            left = f"; {self.n_missing:,} rows have no recorded choice" if self.n_missing else ""
            raise InputError(
                f"{self.source.name}, line 2: there are no rows after the header; at least one is needed{left}"
            )
        counter, roles = self.counter, self.roles
        where = lambda k: self.source.where(counter.first[k])  # noqa: E731
        table = Distinct(self.menu.values or [None], self.extra.values, self.choice.values, counter.keys, where)
        meaning = Interpreter(self.source.name, self.source.text, roles, self.options, table).run()
        self._refuse_duplicates(meaning)
        menus = meaning.menus
        counts = add_up(meaning.cell, counter.weight, len(menus.item))
        hidden = counter.unknown == counter.rows
        hide, shown = np.zeros(len(counts), bool), np.zeros(len(counts), bool)
        hide[meaning.cell[hidden]] = True
        shown[meaning.cell[~hidden]] = True
        counts[hide & ~shown] = np.nan
        if hidden.any() and (roles.subject or roles.group):
            raise InputError(
                f"{where(int(np.argmax(hidden)))}: the count is missing; counts by subject or group must be "
                "complete: write 0 for an item never chosen"
            )
        totals = self.menu_totals(counts, shown, meaning)
        check_totals(meaning.items, menus, totals, f"{self.source.name}: ")
        observed = totals > 0
        if not observed.any():
            raise InputError(f"{self.source.name}: every count is 0; at least one menu needs a choice")
        number = np.cumsum(observed) - 1
        dropped = np.flatnonzero(~observed & (menus.sizes > 1))
        if len(dropped):
            some = ", ".join(map(meaning.name, dropped[:3].tolist()))
            meaning.notes.append(f"{len(dropped)} menus have no choices and count as not offered: {some}")
        if roles.form == "availability" and not roles.ordered:
            chosen = add_up(menus.item, np.nan_to_num(counts), len(meaning.items))
            self._ask_about_items(
                [label for label, total in zip(meaning.items, chosen.tolist(), strict=True) if total == 0]
            )
        rows = self._rows(number[meaning.menu], meaning) if self.keep else None
        text = self._describe(meaning, int(observed.sum()), float(totals.sum()), rows)
        if not observed.all():
            menus, cells = menus.take(np.flatnonzero(observed))
            counts, totals = counts[cells], totals[observed]
        return Counted(meaning.items, menus, counts, totals, rows, text)

    def _empty_places(self) -> list[str]:
        """A note where words such as NA were taken for empty places of a menu."""
        if not self.roles.menu_columns:
            return list(getattr(self.source, "notes", ()))
        words = [empty_words(menu) for menu in self.menu.values]
        if not any(words):
            return []
        rows = int(self.counter.rows[np.array([bool(own) for own in words])[self.counter.keys[:, 0]]].sum())
        return [note_on_empty({word for own in words for word in own}, self.roles.menu_columns, rows)]

    def _ask_about_items(self, never: list[Any]) -> None:
        """0/1 columns may be attributes: one that is never chosen, and whose name does not say that it is an item, may be one."""
        columns = [column for column, label in self.roles.available.items() if label in never]
        if columns and not self.roles.marked:
            items = [column for column in self.roles.available if column not in columns]
            raise InputError(
                f"{self.source.name}: {', '.join(columns[:6])} {'hold' if len(columns) > 1 else 'holds'} 0 and 1 but "
                f"{'are' if len(columns) > 1 else 'is'} never chosen: an item, or something else? Name the columns of "
                f"the items, such as "
                f"available={items[:8]!r} (--available)"
            )

    def _refuse_duplicates(self, meaning: Meaning) -> None:
        if self.roles.form != "counts" or not self.kept.position:
            return
        kept = self.kept
        key = np.concatenate(kept.key)
        # Ids tell menus apart that hold the same items: their counts are added up.
        cell = key if self.roles.listed else meaning.cell[key]
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
            menu, item = int(meaning.menu[key[order[k]]]), meaning.item[key[order[k]]]
            unused = self._unused()[:6]
            spelled = (
                [self.menu.values[self.counter.keys[key[order[i]]][0]] for i in (k, k + 1)] if self.roles.menu else []
            )
            if len(set(map(str, spelled))) == 2:
                one, other = (str(value)[:40] for value in sorted(spelled, key=str))
                raise InputError(
                    f"{self.source.where(second)}: {one!r} and {other!r} in column {self.roles.menu!r} spell one menu, so item "
                    f"{meaning.items[item]!r} has two counts (first in {self.source.where(first)}); write the items of a menu in "
                    f"one order and add the counts of each item up, or name the column that tells the two apart as group= "
                    "(--group)"
                )
            raise InputError(
                f"{self.source.where(second)}: menu {meaning.name(menu)}, item "
                f"{meaning.items[item]!r} appears twice (first in {self.source.where(first)}); add the counts up, or name "
                f"the column that tells the two apart as group= or subject= (--group, --subject)"
                + (f"; columns without a use are {', '.join(unused)}" if unused else "")
            )

    def _rows(self, menu_of_key: NDArray[np.int64], meaning: Meaning) -> Rows:
        kept = self.kept
        key = np.concatenate(kept.key)
        weight = np.concatenate(kept.weight) if kept.weight else np.ones(len(key))
        use = ~np.isnan(weight) & (weight > 0)
        key, weight = key[use], weight[use]
        return Rows(
            menu_of_key[key].astype(np.int32),
            meaning.item[key].astype(np.int32),
            weight,
            np.concatenate(kept.subject)[use] if kept.subject else None,
            np.concatenate(kept.group)[use] if kept.group else None,
            self._names(self.subject) if kept.subject else (),
            self._names(self.group) if kept.group else (),
        )

    def _unused(self) -> tuple[str, ...]:
        """The columns that no role took."""
        used = set(self.found.columns())
        return tuple(str(name) for name in self.source.columns if name not in used)

    def _names(self, coder: Coder) -> tuple[Any, ...]:
        """The subjects or groups; in text files whole numbers where all of them are, column by column."""
        names = coder.values
        if not self.source.text:
            return tuple(names)
        if isinstance(names[0], tuple):
            return tuple(zip(*(numbers_if_whole(part) for part in zip(*names, strict=True)), strict=True))
        return tuple(numbers_if_whole(names))

    def _describe(self, meaning: Meaning, menus: int, total: float, rows: Rows | None) -> Understood:
        """What was understood."""
        roles, found = self.roles, self.found
        forms = {
            "choices": "one row per choice",
            "counts": "counts by menu and item",
            "availability": f"one row per choice, {len(roles.available)} availability columns",
            "losers": "one row per choice: winner and losers",
            "alternatives": "one row per alternative",
        }
        worst = [NOTE] if self.options.what == "worst" else []
        lines, doubts = [*meaning.notes, *self._empty_places(), *worst], [*found.doubts, *meaning.doubts]
        items = [item for item in meaning.items if item != TIE]  # an outcome, no item
        lines.append(
            f"{len(items)} items {format_menu(items)}, {how_many(menus, 'menu')}, {total:g} choices in "
            f"{getattr(self.source, 'n_rows', self.n_rows):,} rows"
        )
        if rows is not None and rows.subject is not None:
            lines.append(f"{len(rows.subjects)} subjects")
        if rows is not None and rows.group is not None and len(rows.groups) > 1:
            lines.append(f"{len(rows.groups)} groups")
        if self.n_missing:
            number = "1 row" if self.n_missing == 1 else f"{self.n_missing:,} rows"
            lines.append(f"{number} without a recorded choice {'is' if self.n_missing == 1 else 'are'} left out")
        if roles.group and self.keep and self.n_rows >= 20 and 2 * len(self.group) > self.n_rows:
            text = (
                f"{self.source.name}: group column {', '.join(roles.group)} has {len(self.group):,} different values in "
                f"{self.n_rows:,} rows; is it a group? Name others with group=, or none with group=False (--group no)"
            )
            warnings.warn(text, UserWarning, stacklevel=5)
            doubts.append(text)
        if not self.keep and self.n_rows > KEEP_ROWS and roles.form != "counts":
            lines.append(f"more than {KEEP_ROWS:,} rows: only counts are kept (rows=True keeps every row)")
        return Understood(
            self.source.name,
            forms[found.form],
            found.by_name(),
            meaning.coding,
            self._unused(),
            tuple(lines),
            tuple(doubts),
        )


def _listed(column: Any) -> Any:
    return column if not isinstance(column, Coded) else [None if c < 0 else column.values[c] for c in column.codes]


def _kept(column: Any, keep: NDArray[np.bool_]) -> Any:
    """Some rows of a column."""
    if isinstance(column, Coded):
        return Coded(column.codes[keep], column.values)
    return column[keep] if isinstance(column, np.ndarray) else list(compress(column, keep.tolist()))


def _read_matrix(source: Source, options: Options) -> Counted:
    """A table with one column per item and one row per menu: the matrix of `from_matrix`."""
    pieces = []
    for chunk in source.chunks(source.columns):
        columns = [to_numbers(source, c, chunk.columns[c], chunk.positions, optional=True) for c in source.columns]
        pieces.append(np.column_stack(columns))
    matrix = np.vstack(pieces)
    n = matrix.shape[1]
    if len(matrix) not in (1 << n, (1 << n) - 1):
        raise InputError(
            f"{source.name}, line 1: no menu column found among {', '.join(source.columns[:12])}; name it with "
            f"menu= (--menu){WIDE}. As a matrix of counts, {n} items would need {2**n - 1} or {2**n} rows, not {len(matrix)}"
        )
    try:
        data = from_matrix(matrix, source.columns if options.items is None else options.items)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from None
    size = f"{n} items {format_menu(data.items)}, {how_many(len(data.totals), 'menu')}, {data.totals.sum():g} choices"
    layout = "a matrix of counts, one row per menu (bit mask), one column per item"
    return replace(data, understood=Understood(source.name, layout, notes=(size,)))
