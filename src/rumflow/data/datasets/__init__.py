"""Data sets to try things on: published tables, simulated classics, and public files that are downloaded once.

`load` gives a data set by name, with a `description` that has its citation and licence. On the command line `datasets:NAME` takes
the place of a file.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace

from rumflow.data.budgets import BudgetData
from rumflow.data.choices import ChoiceData
from rumflow.data.datasets import fetched, published, simulated
from rumflow.data.description import Description
from rumflow.data.understood import Understood
from rumflow.errors import InputError

__all__ = ["Description", "fetch_abkk", "fetch_mg_2019", "fetch_sfshop", "fetch_sfwork", "list", "load"]

_SETS: dict[str, tuple[Callable[[], ChoiceData | BudgetData], Description]] = {
    **published.SETS,
    **simulated.SETS,
    **fetched.SETS,
}


def list() -> builtins.list[str]:
    """Return the names of the data sets.

    Returns
    -------
    list of str
        Published tables first, then simulated ones, then those that are downloaded.

    Examples
    --------
    >>> list()[:4]
    ['tversky_1969', 'tversky_1972', 'regenwetter_2011', 'economist']
    """
    return [*_SETS]


def load(name: str) -> ChoiceData | BudgetData:
    """Return a data set, downloaded once where it is a public file.

    Parameters
    ----------
    name : str
        One of `list()`.

    Returns
    -------
    ChoiceData or BudgetData
        Its `description` says what it is, with citation and licence.

    Raises
    ------
    InputError
        If the name is unknown, or a file cannot be fetched.

    Examples
    --------
    >>> data = load("tversky_1969")
    >>> data, data.description.licence[:7]
    (ChoiceData(5 items, 10 of 31 menus, 1600 observations), 'Figures')
    """
    if name not in _SETS:
        raise InputError(f"there is no data set {name!r}; there are {', '.join(_SETS)}")
    make, description = _SETS[name]
    data = make()
    if isinstance(data, BudgetData):
        return replace(data, description=description, understood=_understood(description))
    return _choices(data, name)


def fetch_abkk(frame: str | None = None) -> ChoiceData:
    """Return the choices of lotteries of Aguiar, Boccardi, Kashaev and Kim (2023).

    Parameters
    ----------
    frame : {"high", "medium", "low"}, optional
        The cost of attention; None: all three, as groups.

    Returns
    -------
    ChoiceData

    Examples
    --------
    >>> fetch_abkk("low")
    ChoiceData(6 items, 31 of 63 menus, 4099 observations)
    """
    return _choices(fetched.read_abkk(frame), "abkk")


def fetch_sfwork() -> ChoiceData:
    """Return the modes of transport to work in San Francisco (Koppelman and Bhat 2006).

    Examples
    --------
    >>> fetch_sfwork()
    ChoiceData(6 items, 12 of 63 menus, 5029 observations)
    """
    return _choices(fetched.read_modes("sfwork"), "sfwork")


def fetch_sfshop() -> ChoiceData:
    """Return the modes of transport to shops in San Francisco (Koppelman and Bhat 2006).

    Examples
    --------
    >>> fetch_sfshop()
    ChoiceData(8 items, 10 of 255 menus, 3157 observations)
    """
    return _choices(fetched.read_modes("sfshop"), "sfshop")


def fetch_mg_2019() -> ChoiceData:
    """Return the choices of McCausland and Gerringer (2019), which RanCh has as an R file: only from RUMFLOW_DATA.

    Examples
    --------
    >>> fetch_mg_2019()
    ChoiceData(4 items, 11 of 15 menus, 56320 observations)
    """
    return _choices(fetched.read_mg_2019(), "mg_2019")


def _choices(data: ChoiceData, name: str) -> ChoiceData:
    return data.replace(description=_SETS[name][1], understood=_understood(_SETS[name][1]))


def _understood(description: Description) -> Understood:
    """What commands print, in place of how a table was read."""
    return Understood(f"datasets:{description.name}", description.title, notes=(description.text, description.citation))
