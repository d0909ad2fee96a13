"""rumflow: are these choices rational, how far are they from rational, and what is the nearest rational model?

Public are the names in `__all__` (with the modules `datasets`, `simulate` and `functionals`), the result classes that these
functions return, and the packages `rumflow.torch`, `rumflow.jax` and `rumflow.sklearn`. The reference lists all of them.
Everything else is private and may change in any version.
"""

from typing import TYPE_CHECKING, Any

from rumflow.core.interrupts import load_module as _load_module
from rumflow.errors import InputError, NotConvergedError, RumflowError
from rumflow.renamed import warn_renamed
from rumflow.version import __version__

if TYPE_CHECKING:
    from rumflow.core.certificate import Certificate
    from rumflow.core.lattice import Lattice
    from rumflow.data import datasets, simulate
    from rumflow.data.budgets import BudgetData
    from rumflow.data.choices import ChoiceData
    from rumflow.data.labels import TIE
    from rumflow.inference import (
        Convention,
        best_assortment,
        bounds,
        compare_groups,
        compare_models,
        diversion,
        explain,
        fit_likelihood,
        functionals,
        next_menu,
        rationalizable_share,
        rum_test,
        rum_test_many,
        subject_scores,
        transitivity,
    )
    from rumflow.models.choice_graph import ChoiceGraph
    from rumflow.models.linear_utility import LinearUtility
    from rumflow.models.model import Model
    from rumflow.models.random_utility import RandomUtility
    from rumflow.models.rules import Lexicographic, Satisficing
    from rumflow.models.single_peaked import SinglePeaked
    from rumflow.models.triangle_inequalities import TriangleInequalities
    from rumflow.models.types import Types
    from rumflow.models.utility_family import UtilityFamily
    from rumflow.models.weak_orders import WeakOrders
    from rumflow.projection.batch import project_many
    from rumflow.projection.batch_results import ProjectionBatch
    from rumflow.projection.cost import estimate_cost
    from rumflow.projection.fitted import Rankings
    from rumflow.projection.results import Projection
    from rumflow.projection.save import load
    from rumflow.projection.single import block_marschak, is_rum, project
    from rumflow.projection.status import Status

__all__ = [
    "TIE",
    "BudgetData",
    "Certificate",
    "ChoiceData",
    "ChoiceGraph",
    "Convention",
    "InputError",
    "Lattice",
    "Lexicographic",
    "LinearUtility",
    "Model",
    "NotConvergedError",
    "Projection",
    "ProjectionBatch",
    "RandomUtility",
    "Rankings",
    "RumflowError",
    "Satisficing",
    "SinglePeaked",
    "Status",
    "TriangleInequalities",
    "Types",
    "UtilityFamily",
    "WeakOrders",
    "__version__",
    "best_assortment",
    "block_marschak",
    "bounds",
    "compare_groups",
    "compare_models",
    "datasets",
    "diversion",
    "estimate_cost",
    "explain",
    "fit_likelihood",
    "functionals",
    "is_rum",
    "load",
    "next_menu",
    "project",
    "project_many",
    "rationalizable_share",
    "rum_test",
    "rum_test_many",
    "simulate",
    "subject_scores",
    "transitivity",
]

# Where the names live that bring NumPy, Numba and SciPy along: loaded when first asked for, so that `rumflow --help` is quick
# and Ctrl-C while they load is caught by the command.
_HOMES = {
    "core.certificate": "Certificate",
    "core.lattice": "Lattice",
    "data.budgets": "BudgetData",
    "data.choices": "ChoiceData",
    "data.labels": "TIE",
    "models.choice_graph": "ChoiceGraph",
    "models.linear_utility": "LinearUtility",
    "models.model": "Model",
    "models.random_utility": "RandomUtility",
    "models.rules": "Lexicographic Satisficing",
    "models.single_peaked": "SinglePeaked",
    "models.triangle_inequalities": "TriangleInequalities",
    "models.types": "Types",
    "models.utility_family": "UtilityFamily",
    "models.weak_orders": "WeakOrders",
    "projection.batch": "project_many",
    "projection.batch_results": "ProjectionBatch",
    "projection.cost": "estimate_cost",
    "projection.fitted": "Rankings",
    "projection.results": "Projection",
    "projection.save": "load",
    "projection.single": "block_marschak is_rum project",
    "projection.status": "Status",
    "inference": "functionals",
    "inference.assortment": "best_assortment",
    "inference.bounds": "bounds",
    "inference.compare": "compare_models",
    "inference.convention": "Convention",
    "inference.diversion": "diversion",
    "inference.explain": "explain",
    "inference.groups": "compare_groups rum_test_many",
    "inference.likelihood": "fit_likelihood",
    "inference.next_menu": "next_menu",
    "inference.share": "rationalizable_share",
    "inference.subjects": "subject_scores",
    "inference.test": "rum_test",
    "inference.transitivity": "transitivity",
}
_MODULES = {"datasets": "rumflow.data.datasets", "simulate": "rumflow.data.simulate"}
_HOME = {name: f"rumflow.{module}" for module, names in _HOMES.items() for name in names.split()}

# What earlier versions had here: the old name, and where it is now.
_RENAMED = {
    "GraphProjection": "rumflow.Projection",
    "LatticeProjection": "rumflow.Projection",
    "estimator": "rumflow.sklearn.estimator",
    "interop": "rumflow.data.interop",
    "plots": "rumflow.output.plots",
}


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        warn_renamed(f"rumflow.{name}", _RENAMED[name])
        home, _, now = _RENAMED[name].rpartition(".")
        return __getattr__(now) if home == "rumflow" else _load_module(_RENAMED[name])
    if name in _MODULES:
        value = _load_module(_MODULES[name])
    elif name in _HOME:
        value = getattr(_load_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'rumflow' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
