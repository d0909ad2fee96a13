"""Counts, weights, totals, subjects and groups: what changes how much a row counts, and with what.

They are used where the caller names them, or where the table can mean nothing else: a menu, an item and a count; rows
(menu, choice) that are all different beside a count; groups that tell equal rows of counts apart; files that rumflow wrote. A
column that only has such a name is asked about where both readings are likely, and otherwise pointed out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from shlex import quote

from rumflow.data.readers.coding import MARKED
from rumflow.data.readers.content import is_number
from rumflow.data.readers.long import LongTables
from rumflow.data.readers.roles import NAMES, PERSONS, SHARES, Roles, plain
from rumflow.data.readers.texts import find_separator, parse_list, split_text
from rumflow.errors import InputError

#: Names that may also number the rows.
NUMBERS = ("n", "number", "num")

#: Attributes of items and persons: beside choices no counts, beside items asked about.
ATTRIBUTES = (
    "price", "prices", "cost", "costs", "year", "month", "day", "age", "income", "size", "time", "rank", "rating", "score",
    "position", "code",
)  # fmt: skip

#: Names that say something else.
ASIDE = {
    *PERSONS,
    *(n for role in ("weight", "total", "subject", "group", "observation", "number") for n in NAMES[role]),
}

#: Names of what people count, which may be meant beside a column that is called like a count.
LIKELY = (
    "buyers", "sold", "sales", "quantity", "qty", "units", "votes", "wins", "customers", "clicks", "purchases", "orders",
    "y", "k",
)  # fmt: skip

#: Beside choices, more columns of numbers than this are attributes.
MOST_ASKED = 3


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
            for name in [c for c in self._like_groups(roles) if len(self.sample.values(c)) > 1]:
                roles.doubts.append(
                    f"column {name!r} is not used; group={name!r} (--group {quote(name)}) keeps the groups apart"
                )

    def _like_groups(self, roles: Roles) -> list[str]:
        """Columns to point out: those called like groups, and such as "Age group", which are never used unless they are named."""
        ending = [c for c in self._rest(roles) if plain(c).endswith(("_group", "_groups"))]
        return [*self.called("group"), *ending]

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
        by_item = roles.choice is not None and roles.choice == found["alternative"] and roles.weight is None
        if not by_item:
            numbers = [c for c in names if plain(c) in NUMBERS and len(self.sample) > 3 and self.sample.row_numbers(c)]
            roles.doubts += [f"column {name!r} numbers the rows and is not used" for name in numbers]
            names = [name for name in names if name not in numbers]
        if not names:
            self._look_for_unknown(roles, by_item)
            if roles.listed and not roles.counted:
                raise self.missing("count")
            return
        if not by_item:
            names = [name for name in names if any(map(_may_count, self.sample.values(name)))]
        if roles.form == "alternatives" or not names:
            owner, joined = roles.observation, self.sample.joined
            fits = [
                c for c in names if joined([*owner, c]).max() == joined(owner).max()
            ]  # the same in the whole observation
            roles.doubts += [_not_counted(name) for name in fits]
            return
        rows = self._rows(roles)
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
        if sure:
            names += [c for c in self._rest(roles) if plain(c) in LIKELY and self.sample.whole(c)]
        if not sure or len(names) > 1:
            raise self._ask_count(names, weights)
        roles.weight, roles.counted = names[0], True

    def _look_for_unknown(self, roles: Roles, by_item: bool) -> None:
        """Counts under a name that is not known: read where they can be nothing else, asked about where they may be counts."""
        options = self.options
        if options.count is not None or isinstance(options.weight, str) or roles.weight is not None:
            return
        if roles.form not in ("choices", "availability") or self._own(roles):
            return
        sample, rows, rest = self.sample, self._rows(roles), self._rest(roles)
        names = [c for c in self._rest(roles, ASIDE) if sample.amounts(c) and not sample.row_numbers(c)]
        if not by_item:  # an attribute of who chose is 0 or 1, or a measure, and there may be many
            names = [c for c in names if not sample.flags(c) and plain(c) not in ATTRIBUTES]
            names = [c for c in names if sample.whole(c) or max(sample.amounts(c)) <= 1]
            if names and len(names) <= MOST_ASKED and sample.different(rows):
                raise self._ask_unknown(roles, names)
            return
        if not names:
            if isinstance(options.alternative, str):
                raise InputError(
                    f"{self.source.name}: alternative={roles.choice!r} (--alternative {roles.choice}) is the item of a row, not "
                    f"the one chosen; name the column that says how often it was with count= (--count), or, where each row is "
                    f"one choice, say choice={roles.choice!r} (--choice {roles.choice})"
                )
            return
        one = names[0]
        sure = rest == [one] and not sample.flags(one) and plain(one) not in ATTRIBUTES and not self.strict
        if sure and sample.whole(one) and sample.different(rows) and self._every_item(roles):
            roles.weight, roles.counted = one, True
        elif isinstance(options.alternative, str) or sample.different([*rows, *(c for c in rest if c not in names)]):
            raise self._ask_unknown(roles, names)

    def _rest(self, roles: Roles, aside: Collection[str] = ()) -> list[str]:
        """The columns without a use, but for those with these names."""
        used = {*roles.columns(), *self.explicit}
        return [c for c in self.source.columns if c not in used and plain(c) not in aside]

    @staticmethod
    def _rows(roles: Roles) -> list[str]:
        """The columns that say what a row is about, but for persons and groups."""
        columns = [*roles.menu_columns, *roles.choice_columns, *roles.available]
        return columns + [c for c in (roles.menu, roles.extra_column, roles.choice) if c]

    def _every_item(self, roles: Roles) -> bool:
        """Has every item of every menu its row?"""
        if roles.listed:
            return True
        if roles.menu is None or roles.choice is None:
            return False
        menus = [str(v) for v in self.sample.values(roles.menu)]
        separator = find_separator(menus, {str(v) for v in self.sample.values(roles.choice)})
        if separator is None:
            return False
        cells = sum(len(parse_list(m) or () if separator == "[]" else split_text(m, separator)) for m in menus)
        return cells == len(self.sample)

    def _ask_unknown(self, roles: Roles, names: Sequence[str]) -> InputError:
        item = roles.choice or "the item"
        which = " or ".join(map(repr, names[:4]))
        say = ", or ".join(f"count={name!r} (--count {name})" for name in names[:4])
        return InputError(
            f"{self.source.name}: is {which} how often {item!r} was chosen? Then say {say}; where each row is one choice, "
            "say count=False (--count no)"
        )

    def _ask_count(self, names: Sequence[str], weights: Sequence[str]) -> InputError:
        text = (
            f"{self.source.name}: {' and '.join(map(repr, names[:4]))} may hold how often something was chosen; say "
            f"count={names[0]!r} (--count {names[0]}) where it does, count=False (--count no) where each row is one choice"
        )
        if weights:
            name = weights[0]
            text += (
                f". {name!r} may hold how much each choice counts; say weight={name!r} (--weight {name}) where it does"
            )
        return InputError(text)


def _not_counted(name: str) -> str:
    return f"column {name!r} is not used as a count; count={name!r} (--count {name}) would"


def _may_count(value: object) -> bool:
    """A number, or one that cannot be read because of marks between its thousands, which is then said."""
    return is_number(value) or MARKED.fullmatch(str(value).strip()) is not None
