"""`AxiomLayer` and `RUMLayer`: what goes in are numbers, what comes out are the choice probabilities of a model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from rumflow.check import check_number
from rumflow.errors import InputError
from rumflow.layers.cells import Menu
from rumflow.layers.checks import require_options
from rumflow.models.model import Model
from rumflow.solvers.geometry import DEFAULT_TOL
from rumflow.torch.cells import Cells
from rumflow.torch.functional import project_cells
from rumflow.torch.menus import MenuCells, ReadsMenus
from rumflow.torch.warm import WarmStarts


class AxiomLayer(ReadsMenus):
    """Project onto a model of choice: `RandomUtility`, `SinglePeaked`, `Types`, `ChoiceGraph` or one of your own.

    The layer has no parameters to train.

    Parameters
    ----------
    model : Model
        As for `rumflow.project`.
    menus : iterable of menus
        Collections of items. A table of `Types` has a column for every menu of two items or more.
    items : sequence or int, optional
        The labels of all items in their order, or how many there are; None: 0 to the largest number in the menus.
    weights : array_like or Tensor, optional
        One per cell, >= 0; a cell of weight 0 counts for nothing (but must be finite) and has gradient 0.
    warm_start : bool, default False
        Keep the active set of every sample for the next pass; see Notes.
    return_distance : bool, default False
        Return also sum w (y - z)^2 per sample, with gradient 2 w (z - y).
    tol : float, default 1e-12
        Certified: the objective is within tol of the optimum, relatively, or within rounding.
    atol : float, optional
        Accept an error of this size: ||y - y*||_W <= atol, certified, with y in the model (a cell's error is at most atol over
        the root of its weight; nothing is promised for cells of weight 0, nor for derivatives). None: `tol` alone decides. Of use
        for samples that are nearly rational already; see Notes.
    max_seconds : float, optional
        Time of a forward pass: samples that are not done by then are returned where they are, in the model, and a RuntimeWarning
        says how many there are and what is certified of their error. Their derivative is that on the face of the types found so
        far. What has begun may go on for the time of one sample (of at most 8 items; otherwise of a step), and each that has
        not begun gets a brief start.
    warm_bytes : int, default 256 MB
        Memory for warm starts, at most.
    threads : int, optional
        Number of threads; the result is the same for any number.
    support : float, default 0
        eps: return (1 - eps) y + eps r with r inside the model (for plain random utility every item of a menu alike), which is
        of the model as well and 0 nowhere: for probabilities that are reported or logged. Training on choices has
        `ChoiceLikelihood`, whose gradient does not vanish where y is 0.
    nonfinite : {"error", "nan"}, default "error"
        What happens to a sample with a number that is not finite (or above 1e150). "error": an InputError names it. "nan":
        it becomes a row of NaN with gradient 0, while the other samples are as they would be alone.
    out_dtype : torch.dtype, optional
        The precision of the result; None: that of z. Half precision rounds probabilities to 4e-3 (bfloat16) or 5e-4
        (float16), and only to this accuracy are they those of the model: torch.float32 keeps them to 6e-8.

    Raises
    ------
    InputError
        If an argument is not accepted.

    Notes
    -----
    The layer computes::

        y = argmin 1/2 sum over cells (D, x) of w(D, x) (rho(D, x) - z(D, x))^2   over all mixtures rho of the model's types

    The last axis of z and y runs over the cells of `menus`: menu after menu in the order given, in each the items ascending
    (`layer.cells` lists them). Leading axes are samples. Any floating dtype and device is accepted; the computation is in
    float64 on the CPU. Derivatives are exact, forward and backward, of any order; samples of 9 items or more that the interior
    point method solves, because they are nearly rational, have those of the point where it stopped (within 1e-7 of the exact
    ones at the default `tol`).

    With `warm_start`, samples are identified by `index`, their numbers (0 or more) given with the call. Without it, in
    training mode, a sample is recognised by its values among the last 4,096, so that the layer can be part of an
    nn.Sequential with shuffled batches. A start is used where the sample has moved little. The result does not depend on it
    beyond `tol`.

    The nearer a sample is to the model, the more types its projection mixes: a sample of 8 items that is rational up to
    1e-3 takes a hundred times as long as one with independent probabilities. With `atol`, 1e-4 for example, samples on the
    lattice of all menus whose active set outgrows its use (8 items or more) are handed over to a smoothed projection with
    smoothing so small that the error is certified, and their derivative is that of the smoothed problem, with smoothing held
    fixed in higher derivatives.

    Examples
    --------
    >>> import rumflow as rf
    >>> import torch
    >>> layer = AxiomLayer(rf.SinglePeaked(["a", "b", "c"]), menus=[("a", "b"), ("a", "b", "c")], items="abc")
    >>> z = torch.tensor([[0.2, 0.8, 0.5, 0.3, 0.2]], dtype=torch.float64)
    >>> layer(z).numpy().round(3)
    array([[0.329, 0.671, 0.329, 0.386, 0.286]])
    """

    def __init__(
        self,
        model: Model,
        menus: Iterable[Iterable[Hashable]],
        items: Sequence[Hashable] | int | None = None,
        weights: ArrayLike | Tensor | None = None,
        warm_start: bool = False,
        *,
        return_distance: bool = False,
        tol: float = DEFAULT_TOL,
        warm_bytes: int = 256 << 20,
        threads: int | None = None,
        nonfinite: str = "error",
        out_dtype: torch.dtype | None = None,
        support: float = 0.0,
        atol: float | None = None,
        max_seconds: float | None = None,
    ) -> None:
        super().__init__()
        require_options(0.0, tol, nonfinite, threads, atol, max_seconds)
        self.model = model
        self._set(Cells.of_model(model, menus, items, weights), warm_start, return_distance, tol, warm_bytes, threads)
        self._choose(nonfinite, out_dtype, support, atol, max_seconds)

    def _set(
        self,
        cells: Cells,
        warm_start: bool,
        return_distance: bool,
        tol: float,
        warm_bytes: int,
        threads: int | None,
    ) -> None:
        self.n: int = cells.n
        self._cells = cells
        self.menu_cells: MenuCells = MenuCells(cells.output_cells, cells.n, cells.writes_all)
        self.smoothing: float = 0.0
        self.tol: float = float(tol)
        self.threads: int | None = threads
        self.return_distance: bool = return_distance
        self.return_flow: bool = False
        self.warm: WarmStarts | None = WarmStarts(warm_bytes) if warm_start else None

    def _choose(
        self,
        nonfinite: str,
        out_dtype: torch.dtype | None,
        support: float,
        atol: float | None,
        max_seconds: float | None,
    ) -> None:
        self.support: float = check_number(support, "support", 0, 1, "[)")
        self._inner = torch.from_numpy(self._cells.inner_point()) if self.support else None
        if out_dtype is not None and not (isinstance(out_dtype, torch.dtype) and out_dtype.is_floating_point):
            raise InputError(f"out_dtype={out_dtype!r}: a floating point dtype of PyTorch is needed, or None")
        self.nonfinite: str = nonfinite
        self.atol: float | None = atol
        self.max_seconds: float | None = max_seconds
        self.out_dtype: torch.dtype | None = out_dtype

    @property
    def cells(self) -> NDArray[np.int64]:
        """(M, 2): menu and item of each input cell; the menu is its number, in a `RUMLayer` its bit mask."""
        return self._cells.cells

    @property
    def output_cells(self) -> NDArray[np.int64]:
        """(M', 2): menu and item of each output cell."""
        return self._cells.output_cells

    def forward(self, z: Tensor, index: Tensor | None = None) -> Tensor | tuple[Tensor, ...]:
        """Project samples.

        Parameters
        ----------
        z : Tensor of shape (..., M)
            Numbers on the input cells.
        index : Tensor of whole numbers, optional
            The number of each sample, for warm starts.

        Returns
        -------
        Tensor or tuple of Tensor
            (..., M') probabilities; then the distances and the flows, if asked for.
        """
        out = project_cells(
            z,
            self._cells,
            smoothing=self.smoothing,
            tol=self.tol,
            atol=self.atol,
            max_seconds=self.max_seconds,
            index=index,
            warm=self.warm if index is not None or self.training else None,
            threads=self.threads,
            nonfinite=self.nonfinite,
            out_dtype=self.out_dtype,
            return_distance=self.return_distance,
            return_flow=self.return_flow,
        )
        if self._inner is None:
            return out
        y, *rest = out if isinstance(out, tuple) else (out,)
        y = torch.lerp(y, self._inner.to(y.device, y.dtype), self.support)
        return (y, *rest) if rest else y

    def extra_repr(self) -> str:
        """Return what `print(layer)` shows."""
        text = f"{self.model!r}, items={self.n}, menus={self._cells.n_menus}, cells={len(self.cells)}"
        return text + self._options()

    def _options(self) -> str:
        text = ", weighted" if self._cells.weights.size else ""
        text += f", support={self.support:g}" if self.support else ""
        text += "" if self.max_seconds is None else f", max_seconds={self.max_seconds:g}"
        if self.smoothing:
            text += f", smoothing={self.smoothing:g}"
        return text + (", warm_start=True" if self.warm is not None else "")


class RUMLayer(AxiomLayer):
    """Project onto the random utility models over n items: `AxiomLayer(RandomUtility(), menus)`, with more on the lattice.

    Parameters
    ----------
    n : int
        Number of items.
    menus : iterable of menus, optional
        The menus that are read: bit masks or collections of items; None for all.
    weights : array_like or Tensor, optional
        As for `AxiomLayer`, also as an array (2^n, n).
    smoothing : float, default 0
        mu > 0: compute the minimum of 1/2 sum w (rho - z)^2 - mu sum log flow instead, which moves with every direction of
        z. The exact projection passes on gradients along its face only.
    warm_start : bool, default False
        As for `AxiomLayer`.
    all_menus : bool, default False
        Write all N cells. On cells that are not read (also those of weight 0) the values are those of one mixture of
        rankings among many, and can jump where the fit is close.
    return_distance : bool, default False
        As for `AxiomLayer`.
    return_flow : bool, default False
        Return also the Block-Marschak polynomials of y on all N cells, each >= 0.
    tol, atol, max_seconds, warm_bytes, threads, support, nonfinite, out_dtype
        As for `AxiomLayer`.

    Raises
    ------
    InputError
        If an argument is not accepted.

    Notes
    -----
    Without `menus` the last axis runs over `Lattice(n).cells` (menu mask ascending, then item ascending). Menu sums and
    signs are exact to about 1e-15 in float64. With menus the projection is done on the lattice of all menus or on the
    choice graph of those given, whichever costs less, so any number of items is possible. `smoothing`, `all_menus` and
    `return_flow` need the lattice, which ends at 24 items.

    Examples
    --------
    >>> import torch
    >>> layer = RUMLayer(3, menus=[(0, 1), (0, 1, 2)])
    >>> z = torch.tensor([[0.2, 0.8, 0.5, 0.3, 0.2]], dtype=torch.float64, requires_grad=True)
    >>> y = layer(z)
    >>> y.detach().numpy().round(3)
    array([[0.329, 0.671, 0.329, 0.386, 0.286]])
    >>> torch.autograd.grad(y[0, 0], z)[0].numpy().round(3)
    array([[ 0.286, -0.286,  0.286, -0.143, -0.143]])
    """

    def __init__(
        self,
        n: int,
        menus: Iterable[Menu] | None = None,
        weights: ArrayLike | Tensor | None = None,
        smoothing: float = 0.0,
        warm_start: bool = False,
        *,
        all_menus: bool = False,
        return_distance: bool = False,
        return_flow: bool = False,
        tol: float = DEFAULT_TOL,
        warm_bytes: int = 256 << 20,
        threads: int | None = None,
        nonfinite: str = "error",
        out_dtype: torch.dtype | None = None,
        support: float = 0.0,
        atol: float | None = None,
        max_seconds: float | None = None,
    ) -> None:
        nn.Module.__init__(self)
        require_options(smoothing, tol, nonfinite, threads, atol, max_seconds)
        cells = Cells(n, menus, weights, all_menus, lattice=smoothing > 0 or return_flow)
        self._set(cells, warm_start, return_distance, tol, warm_bytes, threads)
        self._choose(nonfinite, out_dtype, support, atol, max_seconds)
        self.smoothing: float = float(smoothing)
        self.return_flow: bool = return_flow

    def extra_repr(self) -> str:
        """Return what `print(layer)` shows."""
        return f"n={self.n}, cells={len(self.cells)}" + self._options()
