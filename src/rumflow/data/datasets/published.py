"""Small tables that stand in their papers, typed in as figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from rumflow.data.choices import ChoiceData
from rumflow.data.description import Description

FIGURES = "Figures from a publication, which are facts: free to use; cite the publication."

#: How often each of eight subjects took the first of a pair, of 20 times: ab ac ad ae bc bd be cd ce de.
_TVERSKY_1969 = """
15 14 9 3 17 13 8 16 12 17
8 13 10 5 14 8 7 15 11 15
15 14 12 5 16 13 8 19 16 20
10 9 4 1 13 7 2 14 8 17
15 13 7 12 16 11 6 13 13 14
20 18 13 4 16 15 11 18 13 15
9 13 12 12 12 8 13 10 15 14
12 14 15 17 13 15 17 12 16 8
"""

#: For eight subjects: x from {x, z} and y from {y, z}, of 20 times each; x and y from {x, y, z}, of 30 times.
_TVERSKY_1972 = {
    "Dots": "10 9 9 9, 12 7 6 8, 5 8 8 9, 14 6 15 10, 13 7 12 7, 8 9 7 12, 3 9 5 11, 3 9 2 16",
    "Gambles": "7 10 2 13, 12 14 8 15, 5 10 6 7, 12 14 10 7, 4 10 3 11, 13 12 12 8, 11 13 8 11, 11 14 7 10",
    "Applicants": "13 6 11 5, 11 15 6 14, 11 12 8 9, 8 8 11 6, 13 11 10 8, 11 8 4 10, 15 7 20 4, 11 8 13 5",
}

#: As for Tversky 1969, for eighteen subjects.
_REGENWETTER_2011 = {
    "Cash 1": """
11 4 2 2 10 8 2 14 5 7
17 17 20 16 14 16 16 19 17 12
1 0 0 0 1 0 0 0 0 0
18 13 4 0 17 9 2 16 3 3
1 2 1 0 2 0 0 0 0 1
11 5 1 0 14 2 0 10 2 6
2 2 3 1 3 2 1 2 1 2
3 0 0 0 1 0 0 0 0 0
7 7 8 8 13 6 5 7 9 3
1 0 0 1 3 0 1 3 2 3
1 0 0 0 3 0 0 2 0 0
10 8 5 3 16 9 1 13 4 11
10 11 5 3 8 5 3 5 11 11
19 20 20 20 20 20 20 20 20 19
5 5 2 2 6 7 2 9 4 9
0 0 6 6 3 1 0 1 0 0
13 10 8 8 18 8 11 14 15 13
8 4 5 2 8 7 4 8 10 10
""",
    "Cash 2": """
17 13 5 4 17 8 3 15 9 10
19 20 20 20 18 20 20 20 18 15
4 1 0 0 2 0 0 2 1 2
20 20 19 13 19 18 10 16 12 10
3 4 1 1 3 2 2 2 0 2
17 16 12 9 17 13 6 12 10 12
15 5 8 0 8 4 1 9 2 2
1 0 0 0 3 1 0 0 0 1
15 17 19 18 14 16 17 14 10 8
1 1 1 1 1 1 2 1 0 4
2 1 0 1 0 0 0 2 0 0
8 17 13 11 15 15 7 16 6 8
16 9 12 7 10 8 9 12 11 10
20 20 20 20 20 20 20 20 20 20
17 20 18 20 11 14 16 10 8 8
7 16 14 15 3 9 12 0 0 1
16 19 19 19 18 15 15 15 13 16
12 11 5 6 13 11 6 15 8 15
""",
}

_Row = dict[str, Any]


def _pairs(text: str, **group: str) -> Iterator[_Row]:
    """Rows from a line of ten figures for each subject."""
    for subject, line in enumerate(text.split("\n")[1:-1], 1):
        for pair, figure in zip(combinations("abcde", 2), map(int, line.split()), strict=True):
            for item, count in zip(pair, (figure, 20 - figure), strict=True):
                yield {**group, "subject": subject, "menu": pair, "item": item, "count": count}


def _read(rows: list[_Row], **options: Any) -> ChoiceData:
    table = {name: [row[name] for row in rows] for name in rows[0]}
    return ChoiceData.from_frame(table, menu="menu", alternative="item", count="count", **options)


def _tversky_1969() -> ChoiceData:
    return _read(list(_pairs(_TVERSKY_1969)), subject="subject")


def _tversky_1972() -> ChoiceData:
    rows: list[_Row] = []
    for domain, text in _TVERSKY_1972.items():
        for subject, figures in enumerate(text.split(","), 1):
            first, second, x, y = map(int, figures.split())
            menus = {"xz": (first, 20 - first), "yz": (second, 20 - second), "xyz": (x, y, 30 - x - y)}
            for menu, counts in menus.items():
                for item, count in zip(menu, counts, strict=True):
                    rows.append(
                        {"domain": domain, "subject": subject, "menu": tuple(menu), "item": item, "count": count}
                    )
    return _read(rows, subject="subject", group="domain")


def _regenwetter_2011() -> ChoiceData:
    rows = [row for domain, text in _REGENWETTER_2011.items() for row in _pairs(text, domain=domain)]
    return _read(rows, subject="subject", group="domain")


def _economist() -> ChoiceData:
    return ChoiceData.from_counts(
        {("web", "both"): {"web": 68, "both": 32}, ("web", "print", "both"): {"web": 16, "print": 0, "both": 84}}
    )


SETS: dict[str, tuple[Callable[[], ChoiceData], Description]] = {
    "tversky_1969": (
        _tversky_1969,
        Description(
            "tversky_1969",
            "Gambles in pairs, with cycles",
            "Eight subjects chose twenty times from each of the ten pairs of five gambles, which win $5.00, 4.75, 4.50, 4.25 "
            "and 4.00 (a to e) with chances 7/24, 8/24, 9/24, 10/24 and 11/24. They had been selected because they seemed to "
            "choose in cycles.",
            "Tversky, A. (1969). Intransitivity of preferences. Psychological Review 76, 31-48.",
            FIGURES,
        ),
    ),
    "tversky_1972": (
        _tversky_1972,
        Description(
            "tversky_1972",
            "Two similar items and a third, in three domains",
            "Eight subjects in each of three domains (dots, gambles, applicants) chose from {x, z}, {y, z} and {x, y, z}, where "
            "x and y are similar; each of the three domains is a group.",
            "Tversky, A. (1972). Elimination by aspects: a theory of choice. Psychological Review 79, 281-299.",
            FIGURES,
        ),
    ),
    "regenwetter_2011": (
        _regenwetter_2011,
        Description(
            "regenwetter_2011",
            "Gambles in pairs, eighteen subjects",
            "Eighteen subjects chose twenty times from each of the ten pairs of five gambles, in two sets of gambles for cash, "
            "which are groups. (The third set of the study, which was not for cash, is not here.)",
            "Regenwetter, M., Dana, J. and Davis-Stober, C. P. (2011). Transitivity of preferences. Psychological Review 118, "
            "42-56.",
            FIGURES,
        ),
    ),
    "economist": (
        _economist,
        Description(
            "economist",
            "Subscriptions with and without a decoy",
            "A hundred students chose among subscriptions of a weekly: web ($59) and print with web ($125); another hundred were "
            "offered print alone ($125) as well, which nobody took.",
            "Ariely, D. (2008). Predictably irrational. HarperCollins, chapter 1.",
            FIGURES,
        ),
    ),
}
