"""Tables of the guides, from the stored results; `pages.py` puts them in their places."""

from __future__ import annotations

import numpy as np

from rumflow.inference.groups import holm
from studies.benchmarks.record import rows
from studies.experiments.budgets import most_reliable
from studies.experiments.files import Row, markdown_table


def hotels() -> str:
    """Five hotels: size, distance and test."""
    header = ("hotel", "rooms", "menus", "bookings", "nodes of the graph", "distance", "p-value")
    return markdown_table(
        header,
        [
            (*(row[name] for name in ("hotel", "rooms", "menus", "bookings", "nodes")), *_distance_and_p(row))
            for row in rows("hotel")
        ],
    )


def _distance_and_p(row: Row) -> tuple[str, str]:
    return f"{row['distance']:.2f}", f"{row['pvalue']:.3f}"


def hotel_fits() -> str:
    """Five hotels: log-likelihoods of a booking, and of bookings that were held out."""
    header = ("hotel", "saturated", "RUM", "logit", "bookings to predict", "menus new among them", "logit")
    body = []
    for row in rows("hotel"):
        fitted = [f"{row[name]:.3f}" for name in ("saturated", "rum", "logit")]
        held_out = [row["held_out"], row["new_menus"], f"{row['logit_out']:.3f}"]
        body.append([row["hotel"], *fitted, *held_out, f"{row['share']:g}", f"{row['mixture_out']:.3f}"])
    return markdown_table((*header, "share of logit", "RUM with logit"), body)


def conflicts() -> str:
    """Five hotels: which menus contradict each other."""
    header = ("hotel", "menus", "p-value", "first conflict", "its p-value", "half-samples rejected", "most often named")
    body = []
    for row in rows("explain_hotel"):
        found = row["conflicts"] > 0
        many = len(str(row["choices_of_first"]).split(" and "))
        first = f"{row['pattern']}, {'two' if many == 2 else many} menus" if found else "none"
        own = f"{row['pvalue_of_first']:.3f}" if found else ""
        halves = f"{row['halves_rejected']} of {row['halves']}" if row["halves"] else ""
        named = f"{row['named']:.0%}" if found else ""
        body.append((row["hotel"], row["menus"], _short(row["pvalue"]), first, own, halves, named))
    return markdown_table(header, body)


def _short(value: float) -> str:
    return f"{value:.2f}" if value > 0.1 else f"{value:.3f}"


def sold_out() -> str:
    """A hotel: who gains when the room that is booked most is sold out, the one with most to gain first."""
    gains = {row["what"]: row for row in rows("hotel_5_decisions") if row["question"] == "gain"}
    ratios = {row["what"]: row for row in rows("hotel_5_decisions") if row["question"] == "ratio"}
    body = [
        (
            room.removesuffix(" Non-Smoking"),
            f"{row['lower']:g} to {row['upper']:.3f}",
            f"{row['from']:g} to {row['to']:.3f}",
            f"{100 * ratios[room]['upper']:.{0 if ratios[room]['upper'] > 0.01 else 1}f} %",
        )
        for room, row in sorted(gains.items(), key=lambda item: -item[1]["upper"])
    ]
    return markdown_table(("room", "gain, range", "gain, 95 % interval", "of those who took it, at most"), body)


def spans() -> str:
    """Demand over 25 years: how many spans of each length are rejected."""
    found = [row for row in most_reliable(rows("budgets")) if (row["set"], row["tau_rule"]) == ("cone", "auto")]
    body = []
    for length in sorted({row["years"] for row in found}):
        p = np.array([row["pvalue"] for row in found if row["years"] == length])
        adjusted = holm(p)
        rejected = int((p <= 0.05).sum()), int((adjusted <= 0.05).sum())
        body.append((length, len(p), rejected[0], f"{p.min():.2g}", f"{adjusted.min():.2g}", rejected[1]))
    header = ("years", "spans", "rejected at 5 %, each alone", "smallest p", "adjusted for the spans of this length")
    return markdown_table((*header, "rejected at 5 %, adjusted"), body)


def unseen_menu() -> str:
    """A hotel: what would be booked from a menu never offered, in per cent."""

    def ends(row: Row, low: str, high: str) -> str:
        return " to ".join(dict.fromkeys(f"{100 * row[name]:.0f}" for name in (low, high)))

    body = [(row["item"], ends(row, "lower", "upper"), ends(row, "from", "to")) for row in rows("hotel_1_bounds")]
    return markdown_table(("room", "per cent, over the best fits", "95 % interval"), body)


def robust_cover() -> str:
    """Best assortments with a level: how often the truth is not rejected, and how often the promise is kept."""
    body = []
    for row in rows("robust_cover"):
        kept = f"{row['kept'] * row['searched']:.0f} of {row['searched']}"
        design = [row[name] for name in ("products", "past", "rankings", "choices")]
        body.append((*design, f"{row['inside']:.0%} of {row['samples']}", kept))
    header = ("products", "past assortments", "rankings", "choices a menu", "truth not rejected", "promise kept")
    return markdown_table(header, body)


def planted() -> str:
    """How often planted conflicts are named, least to most over the numbers of items."""
    found = rows("explain")
    choices = sorted({row["choices"] for row in found})
    body = []
    for kind in dict.fromkeys(row["planted"] for row in found):
        column = "others_named" if kind == "nothing" else "named_exactly"
        rates = [[100 * r[column] for r in found if r["planted"] == kind and r["choices"] == m] for m in choices]
        body.append((kind, *(f"{min(one):.0f} to {max(one):.0f}" for one in rates)))
    return markdown_table(("planted", *(f"{m:,} choices a menu" for m in choices)), body)


ATTRIBUTES = {
    "conjoint": "price and quality, with signs",
    "features": "three attributes, any sign",
    "prices": "prices by menu, with signs",
    "risk": "relative risk aversion",
    "patience": "exponential discounting",
}
OUTSIDE = {
    "rankings": "six rankings",
    "logit": "logit, same mean utilities",
    "decoy": "a decoy",
    "cycle": "a cycle",
    "noise": "noise by menu",
}


def _attribute_rates() -> dict[tuple[str, str, int], tuple[float, float]]:
    """Per cent rejected by the tests of the model and of all rankings; of what was measured again, the last."""
    found = rows("attributes")
    return {(r["design"], str(r["truth"]), r["choices"]): (100 * r["rejected"], 100 * r["all_rankings"]) for r in found}


def attribute_size() -> str:
    """How often true models of attributes are rejected."""
    rates = _attribute_rates()
    columns = [(truth, choices) for truth in ("all", "3", "2") for choices in (20, 50)]
    head = [f"{'all' if t == 'all' else t} types, {c} choices" for t, c in columns]
    body = [(words, *(f"{rates[name, t, c][0]:.1f}" for t, c in columns)) for name, words in ATTRIBUTES.items()]
    return markdown_table(("model", *head), body)


def attribute_power() -> str:
    """How often populations outside are rejected: by the test of the model / by that of all rankings."""
    rates = _attribute_rates()
    body = []
    for name, words in ATTRIBUTES.items():
        both = [rates[name, truth, 50] for truth in OUTSIDE]
        body.append((words, *(f"{own:.0f} / {every:.0f}" for own, every in both)))
    return markdown_table(("model", *OUTSIDE.values()), body)


ALL = (
    attribute_size,
    attribute_power,
    planted,
    robust_cover,
    unseen_menu,
    hotels,
    hotel_fits,
    conflicts,
    sold_out,
    spans,
)
TABLES = {table.__name__: table for table in ALL}
