"""rumflow: are these choices rational, how far from it are they, and what is the nearest rational model?"""

from rumflow import simulate
from rumflow.certificate import Certificate
from rumflow.data import ChoiceData
from rumflow.errors import InputError, NotConvergedError, RumflowError
from rumflow.lattice import Lattice
from rumflow.many import ProjectionBatch, project_many
from rumflow.projection import Projection, Rankings, Status, block_marschak, is_rum, project

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
    "is_rum",
    "project",
    "project_many",
    "simulate",
]
