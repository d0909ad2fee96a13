"""Conventions: what a test is made of beside the data, fixed together under one name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rumflow.check import check_number, check_option
from rumflow.core.arrays import Array
from rumflow.errors import InputError

Tau = str | float | Sequence[str | float]

WEIGHTS = (None, "counts", "inverse-variance")
DRAWS = ("null", "empirical")
TAUS = ("thinned", "mean", "smallest")


@dataclass(frozen=True)
class Convention:
    """What a test depends on apart from the data.

    Arguments that are given to `rum_test` together with a convention take precedence over it.

    Parameters
    ----------
    set : {"simplex", "cone"}, default "simplex"
        "simplex": distance to the RUMs. "cone": to their multiples by any number >= 0 (no sum-to-one).
    cells : {"all", "drop-last"}, default "all"
        "drop-last": the last item of each menu is left out of the distance.
    scale : {"total", "group", "smallest", "mean"}, float or None, default None
        What multiplies the squared distance. "total": all observations. "group": observations of a group (the mean, if
        there are several groups). "smallest", "mean": that menu sample size. Or a number. None: "total", but 1 where the
        weights contain the sample sizes already (weights="counts" or "inverse-variance"). P-values do not depend on it.
    centre : {"rankings", "types"}, default "rankings"
        The inner point r towards which the set is tightened. "rankings": all rankings equally likely. "types": all
        distinct behaviours equally likely. They differ where some item is in every menu (a default): rankings that differ
        only below it behave alike, and count once as types. Models other than random utility have one inner point.
    weights : {None, "counts", "inverse-variance"}, default "counts"
        None: 1 on every cell. See `rum_test`.
    draws : {"auto", "null", "empirical"}, default "auto"
        "null": replicate choices come from the tightened fit. "empirical": from the observed choices, recentred on it.
        "auto": "null", but "empirical" on the cone, whose points have no total of 1 to draw from.
    tau : {"thinned", "mean", "smallest"} or float, default "thinned"
        The rule for tau="auto"; see Notes.
    thin : float, default 0.6
        Where menus are unequal, draws are "null" and weights "counts": types are removed from the fit, before samples are
        drawn from it, as long as that moves it by no more than `thin` times u in units of sampling noise
        (`rumflow.inference.thin`), at whatever tau. Other weights may give most to menus that are known least, where such
        a move is a large one. 0: none are removed. Nor are they where more than 2,500 cells were recorded: it would take
        longer than the replicates.
    as_published : bool, default False
        Whether data are taken as they are. False: on the simplex, menus and items that have no influence on the distance
        leave before anything else is computed (`rumflow.models.relevance`), and cluster="auto" resamples by subject where
        subjects made several choices. True, as in the conventions that reproduce a published test: all menus and items
        stay, and subjects are resampled only where that is asked for. On the cone all stay: its total ties all menus.

    Raises
    ------
    InputError
        If a value is not accepted, or draws="null" is combined with set="cone".

    Notes
    -----
    Rules for tau, where m is the number of choices from a menu (of subjects, where they are resampled), at least 3:

    "mean": the mean of a m^(-1/5) over the menus, so that a few large menus do not decide for many small ones. Here
    a = 3.2 / s^2 between 0.4 and 0.525, s the mean number of items of a menu: small menus have few facets, and the test
    needs to be tightened more (`python -m studies.experiments.size`).

    "thinned": that times 1 - u/2, u the `inequality` of the menus, where fits are thinned (`thin`).

    "smallest": sqrt(log m / m), m the smallest.

    Examples
    --------
    >>> import rumflow as rf
    >>> data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    >>> published = rf.Convention(draws="empirical", weights=None, tau="smallest")
    >>> rf.rum_test(data, n_boot=9, seed=1, convention=published).n_boot
    9
    """

    set: str = "simplex"
    cells: str = "all"
    scale: str | float | None = None
    centre: str = "rankings"
    weights: str | None = "counts"
    draws: str = "auto"
    tau: str | float = "thinned"
    thin: float = 0.6
    as_published: bool = False

    def __post_init__(self) -> None:
        if self.draws == "auto":
            object.__setattr__(self, "draws", "null" if self.set == "simplex" else "empirical")
        accepted = {
            "set": ("simplex", "cone"),
            "cells": ("all", "drop-last"),
            "centre": ("rankings", "types"),
            "weights": WEIGHTS,
            "draws": DRAWS,
        }
        for name, values in accepted.items():
            check_option(getattr(self, name), f"convention: {name}", values)
        if not isinstance(self.as_published, bool):
            raise InputError(f"convention: as_published={self.as_published!r}: accepted are True and False")
        if isinstance(self.scale, str):
            check_option(self.scale, "convention: scale", ("total", "group", "smallest", "mean", None), "a number")
        elif self.scale is not None:
            check_number(self.scale, "convention: scale", 0, np.inf)
        check_number(self.thin, "convention: thin", 0, np.inf, "[)")
        if isinstance(self.tau, str):
            check_option(self.tau, "convention: tau", TAUS, "a number from 0 to below 1")
        else:
            _number(self.tau, "convention: tau", self.set)
        if self.set == "cone" and self.draws == "null":
            raise InputError(
                "draws='null': a point of the cone has no total of 1 to draw choices from; "
                "accepted with set='cone' is 'empirical'"
            )


#: Conventions by name. "recentred": unit weights and recentred draws of the observed choices, the default of version 0.1. "abkk":
#: Aguiar, Boccardi, Kashaev and Kim (2023). "kitamura-stoye": Kitamura and Stoye (2018).
CONVENTIONS = {
    "default": Convention(),
    "recentred": Convention(weights=None, draws="empirical", tau="smallest", as_published=True),
    "abkk": Convention("cone", "drop-last", "group", "types", None, "empirical", "smallest", as_published=True),
    "kitamura-stoye": Convention("cone", "all", "total", "rankings", None, "empirical", "smallest", as_published=True),
}


def find_convention(convention: str | Convention | None, draws: str = "auto") -> Convention:
    """A convention by name or as it is, with the draws asked for beside it ("auto": its own)."""
    if convention is None:
        convention = "default"
    if not isinstance(convention, Convention):
        check_option(convention, "convention", CONVENTIONS, "rf.Convention(...)")
        convention = CONVENTIONS[convention]
    if draws == "auto":
        return convention
    check_option(draws, "draws", ("auto", *DRAWS))
    return replace(convention, draws=draws)


def find_taus(
    tau: Tau, n_independent: Array, items: Array, convention: Convention, unequal: float = 0.0
) -> tuple[float, ...]:
    """The values of tau asked for, where `n_independent` is the number of independent draws behind each menu, `items` its size.

    unequal   u, how unequal the menus are, where fits are thinned; 0 where they are not.

    "auto" alone is the convention's own value, and beside it 0 and twice that value: how much hangs on it.
    """
    wanted = check_taus(tau, convention)
    found = [_one_tau(one, n_independent, items, convention, unequal) for one in wanted]
    if isinstance(tau, str) and tau == "auto" and found[0] > 0:
        found.append(0.0)
        if convention.set == "cone" or 2 * found[0] < 1:
            found.append(2 * found[0])
    return tuple(found)


def check_taus(tau: Tau, convention: Convention) -> list[str | float]:
    """The values of tau asked for: numbers, and rules by name."""
    several = isinstance(tau, Iterable) and not isinstance(tau, str)
    wanted: list[str | float] = list(tau) if several else [tau]  # type: ignore[arg-type, list-item]
    if not wanted:
        raise InputError("tau: the list is empty; give 'auto', a number, or several of them")
    for one in wanted:
        check_tau(one, convention)
    return wanted


def check_tau(tau: object, convention: Convention, name: str = "tau") -> None:
    """One value of tau, or a rule by name."""
    if isinstance(tau, str):
        check_option(tau, name, ("auto", *TAUS), "a number from 0 to below 1, or several")
    else:
        _number(tau, name, convention.set)


def reduces_tau(tau: Tau, convention: Convention) -> bool:
    """Is the first tau asked for one that falls with the inequality of the menus, where fits are thinned?"""
    first = tau if isinstance(tau, str) or np.ndim(tau) == 0 else next(iter(tau))  # type: ignore[arg-type]
    return (convention.tau if first == "auto" else first) == "thinned"


def inequality(n_independent: Array) -> float:
    """How unequal the menus are: u = 1 - H / A, A and H the arithmetic and the harmonic mean of the draws behind each.

    0 where all are alike, near 1 where some menus have hardly any of what the others have.
    """
    m = np.clip(n_independent, 1.0, 1e300)
    return 0.0 if (m == m[0]).all() else float(1.0 - 1.0 / (m.mean() * (1.0 / m).mean()))


def _one_tau(tau: str | float, n_independent: Array, items: Array, convention: Convention, unequal: float) -> float:
    if tau == "auto":
        tau = convention.tau
    if not isinstance(tau, str):
        return float(tau)
    n_independent = np.maximum(n_independent, 3.0)
    if tau != "smallest":
        mean = float(np.clip(3.2 / items.mean() ** 2, 0.4, 0.525) * (n_independent**-0.2).mean())
        return (1.0 - 0.5 * unequal) * mean if tau == "thinned" else mean
    m = float(n_independent.min())
    return 0.0 if np.isinf(m) else float(np.sqrt(np.log(m) / m))


def _number(tau: object, name: str, kind: str) -> float:
    return check_number(tau, name, 0, np.inf if kind == "cone" else 1, "[)")
