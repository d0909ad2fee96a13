"""Results put together by hand."""

from rumflow.inference.assortment_result import BestAssortment
from rumflow.inference.conflicts import inequality
from rumflow.inference.conflicts.result import Conflict, Explanation


def assortment(count=3, **changes):
    table = {
        "assortment": [f"past {k}" for k in range(count)], "menu": [("out", "x")] * count, "size": [1] * count,
        "lower": [1.0] * count, "upper": [2.0] * count, "fit": [1.5] * count, "allowed": [True] * count,
    }  # fmt: skip
    table |= changes.pop("more", {})
    values = {
        "menu": ("out", "x"), "lower": 1.0, "upper": 2.0, "gap": 0.25, "outside_option": "out", "table": table,
        "confidence": None, "nodes": 4, "seconds": 1.0, "reason": "", "notes": ("A note.",),
    }  # fmt: skip
    return BestAssortment(**values | changes)


def conflict(menus=2, shares=3, error=0.1, terms=None, pvalue=0.01, irreducible=True):
    items = tuple(f"i{k}" for k in range(max(shares, 2)))
    own = inequality.Inequality({}, 1.0, 1.25, error, (), "This is too much.")
    names = tuple((*items, f"m{k}") for k in range(menus))
    table = tuple({item: (k + 1) / 100 for k, item in enumerate(items)} for _ in range(menus))
    return Conflict(names, (), table, own, None, 0.5, pvalue, irreducible, terms)


def explanation(*conflicts, **changes):
    rows = [menu for one in conflicts for menu in one.menus]
    count = len(rows)
    table = {
        "menu": rows,
        "choices": [10.0] * count,
        "share": [0.125] * count,
        "distance_without": [0.25] * count,
        "pvalue_without": [None] * count,
        "named": [None] * count,
        "conflicts": [[1, 2]] * count,
    }
    values = {
        "conflicts": conflicts, "complete": True, "leads": (), "influence": table, "block_marschak": None, "distance": 0.75,
        "pvalue": 0.01, "level": 0.05, "n_boot": 99, "halves": 0, "rejected": 0, "seed": 3, "items": ("x", "y"),
        "n_observations": 30.0, "interrupted": False, "seconds": 1.5,
    }  # fmt: skip
    return Explanation(**values | changes)
