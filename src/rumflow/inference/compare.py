"""Models side by side: how far the data are from each.

Where the types of one model are types of another, its distance is at least as large; what the difference says is for
`rumflow.rum_test` to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError
from rumflow.models.model import Model
from rumflow.output.frames import make_frame
from rumflow.output.tables import Table
from rumflow.projection.graph_results import GraphProjection
from rumflow.projection.results import Projection, Status
from rumflow.projection.single import project
from rumflow.solvers.active_set.solve import Progress


class ModelComparison(NamedTuple):
    """Projections of the same data onto several models."""

    fits: dict[str, Projection]  #: by name of the model

    @property
    def table(self) -> dict[str, list[Any]]:
        """Columns: model, distance, gap, types in the fit, nodes of the graph or lattice, seconds, status."""
        columns: dict[str, list[Any]] = {
            name: [] for name in ("model", "distance", "gap", "types", "nodes", "seconds", "status")
        }
        for name, fit in self.fits.items():
            nodes = fit.projector.n_nodes if isinstance(fit, GraphProjection) else 1 << fit.n
            row = (name, fit.distance, fit.gap, len(fit.types), nodes, fit.seconds, str(fit.status))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return columns

    def to_frame(self, backend: str = "pandas") -> Any:
        """The table as a data frame (backend "pandas", "polars", "pyarrow" or "dict")."""
        return make_frame(self.table, backend)

    def summary(self) -> str:
        """The comparison in words."""
        return self.as_table().text()

    def as_table(self) -> Table:
        """The comparison for the terminal."""
        shown = {name: column for name, column in self.table.items() if name not in ("gap", "seconds")}
        first = next(iter(self.fits.values()))
        worst = max(fit.gap / max(fit.objective, fit.certificate.floor, 1e-300) for fit in self.fits.values())
        unit = ", weighted" if first.weighted else ""
        rows = [list(row) for row in zip(*shown.values(), strict=True)]
        note = (
            "distance 0: the model explains every observed share. "
            f"Certified: no squared distance can be smaller by more than a part {worst:.0e} of it."
            if np.isfinite(worst)
            else ""
        )
        title = f"Distance of the data to {len(rows)} models ({first.n} items, {len(first.membership)} menus{unit})"
        return Table(title, list(shown), rows, note)

    def plot(self, ax: Any = None) -> Any:
        """Distances as bars."""
        from rumflow.output.plots import plot_models

        return plot_models(self, ax)


def compare_models(
    data: ChoiceData | ArrayLike,
    models: Mapping[str, Model | None],
    weights: str | ArrayLike | None = None,
    tol: float = 1e-9,
    max_seconds: float | None = None,
    progress: bool | Callable[[Progress], None] = False,
    threads: int | None = None,
) -> ModelComparison:
    """Project the data onto each of several models.

    models       by name: {"RUM": RandomUtility(), "one axis": SinglePeaked(axis)}.
    max_seconds  for each model; what is found by then stands in the table, with its gap and status.

    The other arguments are those of `rumflow.project`.
    """
    if not isinstance(models, Mapping) or not models:
        raise InputError("models: a mapping of names to models is needed, such as {'RUM': rumflow.RandomUtility()}")
    fits: dict[str, Projection] = {}
    for name, model in models.items():
        if model is not None and not hasattr(model, "geometry"):
            raise InputError(f"models: {name!r} is a {type(model).__name__}, not a model such as RandomUtility()")
        try:
            fit = project(data, weights, "auto", tol, max_seconds, False, progress, threads=threads, model=model)
        except InputError as fault:
            raise InputError(f"model {name!r}: {fault}") from None
        fits[str(name)] = fit
        if fit.status is Status.INTERRUPTED:
            break
    return ModelComparison(fits)
