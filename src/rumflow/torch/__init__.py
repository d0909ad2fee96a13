"""Models of choice as layers of a network (PyTorch). Needs the extra: `pip install "rumflow[torch]"`.

Everything in `__all__` is public; the modules of this package may change::

    from rumflow.torch import MenuSoftmax, RUMLayer

    # (..., features) to rational choice probabilities (..., N)
    head = nn.Sequential(mlp, MenuSoftmax(n), RUMLayer(n))
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError(
        'rumflow.torch needs PyTorch, which is not installed: pip install "rumflow[torch]" (or pip install torch)'
    ) from error

from rumflow.torch.cells import Cells
from rumflow.torch.flow import FlowRUM
from rumflow.torch.functional import project_cells
from rumflow.torch.head import MenuSoftmax
from rumflow.torch.layer import AxiomLayer, RUMLayer
from rumflow.torch.likelihood import ChoiceLikelihood
from rumflow.torch.mixture import MixtureRUM
from rumflow.torch.monitor import ConflictMonitor, ConflictReport
from rumflow.torch.warm import WarmStarts

__all__ = [
    "AxiomLayer",
    "Cells",
    "ChoiceLikelihood",
    "ConflictMonitor",
    "ConflictReport",
    "FlowRUM",
    "MenuSoftmax",
    "MixtureRUM",
    "RUMLayer",
    "WarmStarts",
    "project_cells",
]
