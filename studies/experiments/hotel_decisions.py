"""A hotel: who gains when a room is sold out, what to offer next, and the assortment to offer.

    RUMFLOW_DATA=folder python -m studies.experiments.hotel_decisions --out studies/results

The bookings are those of `hotel.py`. The first two questions need nothing but the bookings. The third needs those who
looked and did not book, and what a room earns; the file has neither. Its rows "no purchase" were assumed by those who prepared
it (four for every booking, whatever was on offer), and the rates below are invented. Its answer shows what the method says *if*
that were so, not what this hotel should do.
"""

from __future__ import annotations

import argparse
import csv
import os
from pathlib import Path

import rumflow as rf
from rumflow.data.labels import format_menu
from studies.experiments.files import Row, write_csv
from studies.experiments.hotel import OUTSIDE, read_hotel

#: Invented, by the kind of room.
RATES = {"King": 110.0, "Queen": 105.0, "2 Double": 120.0, "Special": 150.0, "Suite": 170.0, "Standard": 90.0}


def read_with_outside(path: Path) -> rf.ChoiceData:
    """The sample `in` with its assumed rows "no purchase"."""
    counts: dict[tuple[str, ...], dict[str, float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["sample"] == "in":
                menu = tuple(row["offered"].split("|"))
                cells = counts.setdefault(menu, dict.fromkeys(menu, 0.0))
                cells[row["chosen"]] += float(row["count"])
    return rf.ChoiceData.from_counts(counts)


def rate(room: str) -> float:
    """The invented rate of a room."""
    return next((value for kind, value in RATES.items() if room.startswith(kind)), 100.0)


def run_hotel_decisions(folder: Path, number: int, n_boot: int) -> tuple[str, list[Row]]:
    """The three answers in words, and the ranges as rows."""
    bookings, _ = read_hotel(folder / f"hotel_{number}.csv")
    room = str(max(bookings.items, key=lambda item: float(bookings.counts[:, bookings.items.index(item)].sum())))
    gains = rf.diversion(bookings, room, n_boot=n_boot, seed=1)
    asked = rf.next_menu(bookings)
    best = rf.best_assortment(
        read_with_outside(folder / f"hotel_{number}.csv"),
        {item: rate(str(item)) for item in bookings.items},
        OUTSIDE,
    )
    rows = [_row("share before it is sold out", room, *gains.share)]
    for name in ("gain", "ratio"):  # of all guests, and of those who took the room
        for k, item in enumerate(gains.table["item"]):
            if name == "gain":
                ends = [gains.table[column][k] for column in ("lower", "upper", "from", "to")]
            else:
                ends = [gains.table[column][k] for column in ("ratio_lower", "ratio_upper")]
            rows.append(_row(name, str(item), *ends))
    for k, menu in enumerate(best.table["menu"]):
        row = _row(best.table["assortment"][k], format_menu(menu), best.table["lower"][k], best.table["upper"][k])
        rows.append(row | {"fit": round(best.table["fit"][k], 4)})
    for menu, width, refutes in zip(asked.menus, asked.width, asked.refutes, strict=True):
        row = _row("width of an unseen menu", format_menu(menu), 0.0, float(width))
        rows.append(row | {"refutes": round(float(refutes), 4)})
    return "\n\n".join([gains.summary(), asked.summary(), best.summary()]), rows


def _row(question: str, what: str, *ends: float) -> Row:
    """A range, and an interval where there is one."""
    numbers: list[float | str] = [round(end, 4) for end in ends]
    named = zip(("lower", "upper", "from", "to"), [*numbers, "", ""], strict=False)
    return {"question": question, "what": what, **dict(named), "fit": "", "refutes": ""}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.experiments.hotel_decisions", description="Decisions for a hotel."
    )
    parser.add_argument(
        "--out", default="results", type=Path, metavar="FOLDER", help="where to write (default results)"
    )
    parser.add_argument("--hotel", default=5, type=int, help="1 to 5 (default 5)")
    parser.add_argument("--n-boot", default=199, type=int, help="bootstrap replicates (default 199)")
    given = parser.parse_args()
    data = os.environ.get("RUMFLOW_DATA")
    if not data or not (Path(data) / "hotel").is_dir():
        raise SystemExit(
            "the bookings are not part of rumflow; set RUMFLOW_DATA to a folder that holds hotel/hotel_1.csv"
        )
    text, rows = run_hotel_decisions(Path(data) / "hotel", given.hotel, given.n_boot)
    print(text)
    write_csv(given.out / f"hotel_{given.hotel}_decisions.csv", rows)


if __name__ == "__main__":
    main()
