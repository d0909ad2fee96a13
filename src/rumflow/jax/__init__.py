"""Models of choice inside JAX programs. Needs the extra: `pip install "rumflow[jax]"`.

Everything in `__all__` is public; the modules of this package may change::

    from rumflow.jax import project_cells

    # (..., N) numbers to rational choice probabilities, under jit, vmap, grad and jvp
    y = project_cells(z, n)
"""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise ImportError(
        'rumflow.jax needs JAX, which is not installed: pip install "rumflow[jax]" (or pip install jax)'
    ) from error

from rumflow.jax.flow import FlowRUM
from rumflow.jax.function import project_cells
from rumflow.layers.cells import Cells

__all__ = ["Cells", "FlowRUM", "project_cells"]
