"""Tables of households and of prices, with columns found by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rumflow.core.arrays import Array
from rumflow.data.budget_inputs import spend
from rumflow.data.labels import Item
from rumflow.data.readers.coders import Coder
from rumflow.data.readers.coding import to_numbers
from rumflow.data.readers.opening import open_source
from rumflow.data.readers.roles import plain
from rumflow.data.readers.sources import FrameSource, Source
from rumflow.data.readers.texts import numbers_if_whole
from rumflow.data.understood import Understood
from rumflow.errors import InputError

BUDGET = ("budget", "year", "period", "market", "month", "quarter")
EXPENDITURE = ("expenditure", "total_expenditure", "spending", "income", "total")
GOODS, PRICES = (
    r"(?:shares?|quantity|quantities|q)_?",
    r"(?:prices?|p)_?",
)  # what columns of goods and of prices begin with
OPTIONS = ("budget", "shares", "quantities", "expenditure", "instrument", "cluster", "price", "degree", "at_median")


class Demand(NamedTuple):
    """What the tables hold."""

    arguments: dict[str, Any]  # of `BudgetData.from_shares`
    understood: Understood


def read_demand(households: Source, price_table: Any, options: dict[str, Any]) -> Demand:
    """Read both tables; see `BudgetData.from_frame` for the options. Prices are in a frame or in a file."""
    for name in options:
        if name not in OPTIONS:
            raise InputError(f"{name}= is not an option for reading budgets; accepted are {', '.join(OPTIONS)}")
    is_file = isinstance(price_table, str | Path)
    prices = open_source(price_table, None, "utf-8") if is_file else FrameSource(price_table, "prices")
    key = _named(households, options.get("budget"), BUDGET, "budget")
    given = [name for name in ("shares", "quantities") if options.get(name) is not None]
    if len(given) == 2:
        raise InputError("shares= and quantities= (--shares, --quantities) are both given; one of them is accepted")
    shares = []
    if "quantities" not in given:
        shares = _several(households, options.get("shares"), r"shares?_?", "shares")
    quantities = []
    if not shares:
        quantities = _several(households, options.get("quantities"), r"(?:quantity|quantities|q)_?", "quantities")
    if not shares and not quantities:
        raise InputError(
            f"{households.name}: no columns of shares or quantities were found (share1, share2, ... or quantity_food, ...); "
            f"name them with shares= or quantities= (--shares, --quantities); the columns are {', '.join(households.columns)}"
        )
    goods = shares or quantities
    wanted = options.get("expenditure")
    spent = None
    if shares and wanted is not False:
        spent = _named(households, wanted, EXPENDITURE, "expenditure", needed=wanted is not None)
    cluster, instrument = options.get("cluster"), options.get("instrument")
    for role, column in (("cluster", cluster), ("instrument", instrument)):
        if column is not None:
            _named(households, column, (), role)
    numbers = [*goods, *(name for name in (spent, instrument) if name is not None)]
    labels, coder, table, positions = _read(households, key, numbers, cluster)
    where = lambda h: households.where(int(positions[h]))  # noqa: E731
    price_key = _named(prices, key if key in prices.columns else options.get("budget"), BUDGET, "budget")
    price_columns = _price_columns(prices, options.get("price"), price_key, goods)
    price_labels, _, price_rows, _ = _read(prices, price_key, price_columns, None)
    if len(set(price_labels)) < len(price_labels):
        twice = next(label for i, label in enumerate(price_labels) if label in price_labels[:i])
        raise InputError(f"{prices.name}: {price_key} {twice} appears twice; one row of prices per budget is needed")
    values = table[:, : len(goods)]
    expenditure = table[:, len(goods)] if spent else None
    degree, at_median = int(options.get("degree", 3)), bool(options.get("at_median", False))
    if quantities:
        place = {label: j for j, label in enumerate(price_labels)}
        own = np.array([place.get(label, -1) for label in labels])
        if (own < 0).any():
            h = int((own < 0).argmax())
            raise InputError(f"{where(h)}: {key} {labels[h]!r} has no prices in {prices.name}")
        values, expenditure = spend(values, price_rows[own], where)
        if wanted is False:
            expenditure = None
    names = [_suffix(name, GOODS) for name in goods]
    names = [f"good {name}" if name.isdigit() else name for name in names]
    roles = {
        "budget": key,
        "shares" if shares else "quantities": tuple(goods),
        "expenditure": spent,
        "instrument": instrument,
        "cluster": cluster,
    }
    roles |= {"prices": tuple(price_columns)}
    used = {key, *goods, spent, instrument, cluster}
    understood = Understood(
        households.name,
        f"households, with prices in {prices.name}",
        {role: column for role, column in roles.items() if column},
        unused=tuple(str(name) for name in households.columns if name not in used),
    )
    unordered = np.empty(len(labels), object)
    unordered[:] = labels
    kind = unordered.astype(np.int64) if all(isinstance(label, int) for label in set(labels)) else unordered.astype(str)
    if kind.dtype.kind == "U":
        price_labels = [str(label) for label in price_labels]
    arguments = {
        "prices": price_rows,
        "labels": price_labels,
        "budget": kind,
        "shares": values,
        "expenditure": expenditure,
        "instrument": None if instrument is None else table[:, -1],
    }
    arguments |= {"cluster": coder, "goods": names, "degree": degree, "at_median": at_median, "where": where}
    return Demand(arguments, understood)


def _read(
    source: Source, key: str, columns: Sequence[str], cluster: str | None
) -> tuple[list[Item], NDArray[Any] | None, Array, NDArray[np.int64]]:
    """Labels, codes of clusters, numbers, and where the rows stand."""
    names, groups = Coder(), Coder()
    codes: list[NDArray[np.int64]] = []
    clusters: list[NDArray[np.int64]] = []
    tables: list[Array] = []
    positions: list[NDArray[np.int64]] = []
    for chunk in source.chunks(list(dict.fromkeys([key, *columns, *([cluster] if cluster else [])]))):
        codes.append(names.encode(chunk.columns[key]))
        if cluster:
            clusters.append(groups.encode(chunk.columns[cluster]))
        numbers = [to_numbers(source, name, chunk.columns[name], chunk.positions, optional=False) for name in columns]
        tables.append(np.stack(numbers, axis=1))
        positions.append(chunk.positions)
    if not tables:
        raise InputError(f"{source.name} has no rows; at least one is needed")
    different = numbers_if_whole(names.values)
    missing = [value for value in different if value is None or value == ""]
    if missing:
        raise InputError(f"{source.name}: column {key!r} has no value in some rows; every row needs its budget")
    labels = [different[code] for code in np.concatenate(codes).tolist()]
    ids = np.concatenate(clusters) if cluster else None
    return labels, ids, np.concatenate(tables), np.concatenate(positions)


def _named(source: Source, given: Any, known: Sequence[str], role: str, needed: bool = True) -> Any:
    if given is not None:
        if given not in source.columns:
            option = {"cluster": " (--subject)", "price": ""}.get(role, f" (--{role})")
            raise InputError(
                f"{role}={given!r}{option}: {source.name} has no such column; it has {', '.join(source.columns)}"
            )
        return given
    names = {plain(name): name for name in reversed(source.columns)}
    found = next((names[name] for name in known if name in names), None)
    if found is None and needed:
        raise InputError(
            f"{source.name}: no column says which {role} a row belongs to; name it with {role}= (--{role}); "
            f"the columns are {', '.join(source.columns)}"
        )
    return found


def _several(source: Source, given: Any, pattern: str, role: str) -> list[str]:
    if given is not None:
        columns = [given] if isinstance(given, str) else list(given)
        for name in columns:
            _named(source, name, (), role)
        return columns
    return [name for name in source.columns if re.fullmatch(pattern + r".+", plain(name))]


def _suffix(name: str, pattern: str) -> str:
    return re.sub("^" + pattern, "", plain(name)) or name


def _price_columns(source: Source, given: Any, key: str, goods: Sequence[str]) -> list[str]:
    """The price columns in the order of the goods: by name where the names agree, as they stand where none do."""
    columns = _several(source, given, PRICES, "price") or [name for name in source.columns if name != key]
    if len(columns) != len(goods):
        raise InputError(
            f"{source.name}: {len(columns)} columns of prices ({', '.join(columns)}) for {len(goods)} goods "
            f"({', '.join(goods)}); name them with price=, or leave the other columns out"
        )
    if given is None:
        by_name = {_suffix(name, PRICES): name for name in columns}
        names = [_suffix(name, GOODS) for name in goods]
        if set(by_name) == set(names):
            return [by_name[name] for name in names]
        if set(by_name) & set(names):
            alone = [
                ", ".join(sorted(own - other))
                for own, other in ((set(by_name), set(names)), (set(names), set(by_name)))
            ]
            raise InputError(
                f"{source.name}: prices are for {alone[0]}, the goods of the households have {alone[1]}; give both the same "
                "names, or name the price columns in the order of the goods, price=[...]"
            )
    return columns
