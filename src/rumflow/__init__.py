"""rumflow: are these choices rational, how far from it are they, and what is the nearest rational model?"""

from typing import TYPE_CHECKING, Any

from rumflow.core.certificate import Certificate
from rumflow.core.lattice import Lattice
from rumflow.data import simulate
from rumflow.data.choices import ChoiceData
from rumflow.errors import InputError, NotConvergedError, RumflowError
from rumflow.projection.batch import ProjectionBatch, project_many
from rumflow.projection.results import Projection, Rankings, Status
from rumflow.projection.single import block_marschak, is_rum, project

if TYPE_CHECKING:
    from rumflow.inference import (
        bounds,
        compare_groups,
        fit_likelihood,
        rationalizable_share,
        rum_test,
        rum_test_many,
    )

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "ChoiceData",
    "InputError",
    "Lattice",
    "NotConvergedError",
    "Projection",
    "ProjectionBatch",
    "Rankings",
    "RumflowError",
    "Status",
    "__version__",
    "block_marschak",
    "bounds",
    "compare_groups",
    "fit_likelihood",
    "is_rum",
    "project",
    "project_many",
    "rationalizable_share",
    "rum_test",
    "rum_test_many",
    "simulate",
]


def __getattr__(name: str) -> Any:
    # Inference brings SciPy's optimisers along: loaded when first asked for.
    if name in __all__:
        from rumflow import inference

        return getattr(inference, name)
    raise AttributeError(f"module 'rumflow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
