"""What a test is asked to be, and what computes it: options that travel together, checked before anything is solved."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from rumflow.check import check_n_jobs, check_option, check_replicates, check_threads, check_tol
from rumflow.inference.convention import CONVENTIONS, WEIGHTS, Convention, Tau, check_taus
from rumflow.inference.resample import RESAMPLE
from rumflow.inference.sample import Sizes
from rumflow.models.model import Model, require_model
from rumflow.solvers.routes import ROUTES


@dataclass(frozen=True, eq=False)
class Plan:
    """The options of `rum_test` that its result depends on, for one data set or for many."""

    n_boot: int = 999
    tau: Tau = "auto"
    weights: str | ArrayLike | None = "auto"  # "auto": the convention's
    cluster: Any = "auto"
    resample: str = "menu"
    convention: Convention = CONVENTIONS["default"]
    tol: float = 1e-9
    seed: int = 0
    model: Model | None = None
    route: str | None = None
    sizes: Sizes = None
    automatic: bool = False  # cluster was "auto" and is now True

    def __post_init__(self) -> None:
        check_replicates(self.n_boot)
        check_taus(self.tau, self.convention)
        if isinstance(self.weights, str):
            check_option(self.weights, "weights", ("auto", *WEIGHTS), "an array like data.frequencies")
        check_option(self.resample, "resample", RESAMPLE)
        check_tol(self.tol)
        require_model(self.model)
        check_option(self.route, "route", (None, *ROUTES))

    @property
    def chosen_weights(self) -> str | ArrayLike | None:
        """The weights, with "auto" replaced by what the convention says."""
        auto = isinstance(self.weights, str) and self.weights == "auto"
        return self.convention.weights if auto else self.weights

    @property
    def by_cluster(self) -> bool:
        """Are whole clusters resampled?"""
        return self.resample == "cluster" or not (self.cluster is None or self.cluster is False)


@dataclass(frozen=True)
class JobOptions:
    """What computes the replicates; nothing of it changes the result."""

    n_jobs: int = 1  # 1: threads of this process, else joblib workers
    threads: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        check_n_jobs(self.n_jobs)
        check_threads(self.threads)
