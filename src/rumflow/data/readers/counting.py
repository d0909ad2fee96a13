"""Counts, weights, totals, subjects and groups: what changes how much a row counts, and with what.

They are used where the caller names them, or where the table can mean nothing else: a menu, an item and a count; rows
(menu, choice) that are all different beside a count; groups that tell equal rows of counts apart; files that rumflow wrote. A
column that only has such a name is asked about where both readings are likely, and otherwise pointed out.
"""

from __future__ import annotations

from collections.abc import Sequence

from rumflow.data.readers.content import is_number
from rumflow.data.readers.long import LongTables
from rumflow.data.readers.roles import NAMES, SHARES, Roles, plain
from rumflow.errors import InputError


class Counting(LongTables):
    """What the rows count, and whose choices they are."""

    def people(self, roles: Roles) -> None:
        """Subjects that are called so, and groups that are named."""
        subject, group = self.options.subject, self.options.group
        if isinstance(subject, str):
            roles.subject = subject
        elif subject is None and not self.strict:
            names = [c for c in self.called("subject") if c not in roles.columns()]
            exact = [c for c in names if plain(c) == NAMES["subject"][0]]
            roles.subject = names[0] if len(names) == 1 else exact[0] if len(exact) == 1 else None
        if isinstance(group, str):
            roles.group = [group]
        elif isinstance(group, list):
            roles.group = group
        elif group is True or (group is None and self._own(roles)):
            roles.group = self.called("group")
        elif group is None:
            for name in [c for c in self.called("group") if len(self.sample.values(c)) > 1]:
                roles.doubts.append(
                    f"column {name!r} is not used; group={name!r} (--group {name}) keeps the groups apart"
                )

    def _own(self, roles: Roles) -> bool:
        """Did rumflow write this table? Its columns then mean what they are called."""
        beside = roles.extra == "number" or (roles.extra == "mask" and roles.menu is not None)
        return not self.strict and beside and {"choice", "item"} & {plain(c) for c in [roles.choice] if c} != set()

    def numbers(self, roles: Roles, found: dict[str, str | None]) -> None:
        """Counts, weights and totals: those that are named, and those that can be nothing else."""
        count, weight, total = self.options.count, self.options.weight, self.options.total
        if isinstance(count, str) and isinstance(weight, str):
            raise InputError(
                f"{self.source.name}: count={count!r} and weight={weight!r} are both given; one of them is accepted"
            )
        if roles.weight is not None and isinstance(weight, str):
            raise InputError(
                f"{self.source.name}: weight={weight!r} (--weight) goes with one row for each choice; where each "
                f"alternative has its row, "
                "name observation= and alternative= as well"
            )
        if isinstance(count, str) or isinstance(weight, str):
            roles.weight, roles.counted = (count, True) if isinstance(count, str) else (weight, False)  # type: ignore[assignment]
            roles.counted &= roles.form != "alternatives"
        elif self._own(roles) and weight is None and (own := self.called("weight")):
            roles.weight = own[0]
        else:
            self._look_for_counts(roles, found)
            for name in self.called("weight") if weight is None else []:
                roles.doubts.append(
                    f"column {name!r} is not used; weight={name!r} (--weight {name}) counts each choice so often"
                )
        if isinstance(total, str) and not (roles.counted and not roles.subject and not roles.group):
            raise InputError(
                f"{self.source.name}: total={total!r} (--total) goes with counts by menu and item, without subject and group"
            )
        if isinstance(total, str):
            roles.total = total
        elif total is None and roles.counted and not (self.strict or roles.subject or roles.group):
            names = self.called("total")
            if len(names) > 1:
                raise self.ambiguous("total", names)
            roles.total = names[0] if names else None

    def _look_for_counts(self, roles: Roles, found: dict[str, str | None]) -> None:
        """Columns that are called like counts: used, asked about, or pointed out."""
        names = [c for c in self.called("count") if c not in roles.columns()] if self.options.count is None else []
        if not names:
            if roles.listed:
                raise self.missing("count")
            return
        by_item = roles.choice is not None and roles.choice == found["alternative"] and roles.weight is None
        if not by_item:
            names = [name for name in names if any(map(is_number, self.sample.values(name)))]
        if roles.form == "alternatives" or not names:
            roles.doubts += [_not_counted(name) for name in names]
            return
        rows = [*roles.menu_columns, *roles.choice_columns, *roles.available]
        rows += [c for c in (roles.menu, roles.extra_column, roles.choice) if c]
        apart = self.sample.different(rows)  # beside persons or groups, rows of single choices may all be different
        groups = self.called("group") if by_item and self.options.group is None and not self.strict else []
        rows += [c for c in (roles.subject, *roles.group) if c]
        if groups and not roles.group and not self.sample.different(rows) and self.sample.different([*rows, *groups]):
            roles.group = groups  # without them the same item of a menu would have two counts
            roles.doubts = [text for text in roles.doubts if not any(f"group={name!r}" in text for name in groups)]
        if self.strict and not apart:
            roles.doubts += [_not_counted(name) for name in names]
            return
        weights = self.called("weight") if self.options.weight is None else []
        sure = roles.weight is None and not self.strict and (apart or by_item) and not weights
        if sure and len(names) > 1:
            names = [c for c in names if plain(c) not in SHARES] or names
        if not sure or len(names) > 1:
            raise self._ask_count(names, weights)
        roles.weight, roles.counted = names[0], True

    def _ask_count(self, names: Sequence[str], weights: Sequence[str]) -> InputError:
        or_weight = f" or weight={weights[0]!r} (--weight {weights[0]})" if weights else ""
        return InputError(
            f"{self.source.name}: {' and '.join(map(repr, names[:4]))} may hold how often something was chosen; say "
            f"count={names[0]!r} (--count {names[0]}){or_weight} where it does, count=False (--count no) where each row "
            f"is one choice"
        )


def _not_counted(name: str) -> str:
    return f"column {name!r} is not used as a count; count={name!r} (--count {name}) would"
