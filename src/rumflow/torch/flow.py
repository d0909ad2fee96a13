"""`FlowRUM`: choice probabilities that are a random utility model by construction, whatever the scores."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rumflow.layers.flows import FlowLayer, FlowTables, Level
from rumflow.models.model import Model
from rumflow.torch.checks import require_floating
from rumflow.torch.menus import MenuCells, ReadsMenus
from rumflow.torch.tables import HasTables


class FlowRUM(FlowLayer, ReadsMenus, HasTables):
    """Scores to choice probabilities that are a random utility model by construction: no solver, no projection.

    The layer has no parameters to train. It consists of operations of PyTorch, so it runs in any precision, on any device,
    under `compile`, `export` and the transforms of `torch.func`, and has derivatives of every order.

    Parameters
    ----------
    n : int
        Number of items; the last axis runs over the cells of all their menus. `FlowRUM.of` is for fewer menus, and for other
        models.

    Attributes
    ----------
    cells : ndarray of shape (M, 2)
        Menu and item of each probability; the menu is its bit mask, with `of` its number in the list.
    arcs : ndarray of shape (A, 2)
        Node and item of each score: what is left to take (a bit mask), and what is taken. For all menus the arcs are the
        cells. With `of`, the node's number in the model's graph; the item is -1 where an arc takes several or none.

    Raises
    ------
    InputError
        If an argument is not accepted.

    Notes
    -----
    Read a ranking from its best item down: with the items E left, the next one is x with the probability of a softmax of
    scores, `p(E, x)`. What arrives at E is divided so, and the flow k gives the probabilities::

        k(E, x) = k(E) p(E, x),   k(E) = sum over y outside E of k(E + y, y),   k(all items) = 1
        rho(D, x) = sum over E >= D of k(E, x)

    Every positive flow k is that of the scores log k, so every random utility model is a limit. Scores that depend on the
    item alone, `layer(utilities)`, give Luce's rule, the logit, in every menu; `layer(utilities, residuals)` is a logit and
    what departs from it, and a penalty on the residuals shrinks towards it. On graphs the same holds for
    `RandomUtility()`. With other models equal scores at every node give each type a weight by its paths, not an equal one,
    and utilities do not give Luce's rule; where an arc takes several items it gets the mean of their utilities.

    Scores have to be finite. An item that is not offered is left out by reading the menu without it (`at`), not by a score of
    minus infinity: where nothing else is left to take, that gives NaN.

    Examples
    --------
    >>> import torch
    >>> rho = FlowRUM(2)(torch.tensor([0.0, 1.0]).double())
    >>> rho
    tensor([1.0000, 1.0000, 0.2689, 0.7311], dtype=torch.float64)
    >>> layer = FlowRUM.of(None, [("a", "b"), ("a", "b", "c")], items="abc")
    >>> layer(torch.zeros(3))
    tensor([0.5000, 0.5000, 0.3333, 0.3333, 0.3333])
    """

    def _set(self, model: Model, tables: FlowTables) -> None:
        super()._set(model, tables)
        self.menu_cells: MenuCells = MenuCells(tables.cells, tables.n, tables.has_all_menus)
        # Programs with arrays of no numbers cannot be saved and loaded again.
        self._hold({name: array for name, array in tables.arrays.items() if array.size})

    def forward(self, scores: Tensor, residuals: Tensor | None = None) -> Tensor:
        """Compute probabilities.

        Parameters
        ----------
        scores : Tensor of shape (..., A) or (..., n)
            A score for every arc, or a utility for every item.
        residuals : Tensor of shape (..., A), optional
            What is added to the utilities, arc by arc.

        Returns
        -------
        Tensor of shape (..., M)
        """
        z = self._scores(scores, residuals)
        flat = z.reshape(-1, z.shape[-1]).t().index_select(0, self._table("order", z))
        rho = self._probabilities(_push(flat, self._tables.levels, self._table("heads", z)))
        return rho.t().reshape(*z.shape[:-1], len(self.cells))

    def _scores(self, scores: Tensor, residuals: Tensor | None) -> Tensor:
        """The score of every arc."""
        require_floating("scores", scores)
        if residuals is not None:
            require_floating("residuals", residuals)
        if not self._tables.takes_utilities(tuple(scores.shape), None if residuals is None else tuple(residuals.shape)):
            return scores
        z = self._of_items(scores)
        return z if residuals is None else z + residuals

    def _of_items(self, utilities: Tensor) -> Tensor:
        """The utilities of items as scores of arcs."""
        taken = utilities[..., self._table("items", utilities)]
        if self._tables.takes_one_item:
            return taken
        zeros = utilities.new_zeros(*utilities.shape[:-1], len(self.arcs))
        return zeros.index_add(-1, self._table("item_arc", taken), taken * self._table("share", taken).to(taken.dtype))

    def _probabilities(self, flow: Tensor) -> Tensor:
        """rho = C k, one column per sample."""
        if self._tables.has_all_menus:
            rows = flow.index_select(0, self._table("rows", flow))
            return _zeta(rows, self.n).index_select(0, self._table("places", flow))
        taken = flow.index_select(0, self._table("entry_arc", flow))
        rho = flow.new_zeros(len(self.cells), flow.shape[1]).index_add(0, self._table("entry_cell", flow), taken)
        return rho.index_fill(0, self._table("single", flow), 1.0) if len(self._tables.arrays["single"]) else rho

    def extra_repr(self) -> str:
        """Return what `print(layer)` shows."""
        model = "" if self._tables.has_all_menus else f"{self.model!r}, "
        return f"{model}n={self.n}, arcs={len(self.arcs)}, cells={len(self.cells)}"


def _push(z: Tensor, levels: tuple[Level, ...], heads: Tensor) -> Tensor:
    """The flow of the arcs, one column per sample, from their scores; both in the order of the levels."""
    samples = z.shape[1]
    arriving = z.new_ones(1, samples)  # at the nodes from this level on, as far as any arc so far leads
    flows = []
    sizes = [level.arcs for level in levels]
    for level, scores, head in zip(levels, z.split(sizes), heads.split(sizes), strict=True):
        here, ahead = arriving.split([level.nodes, arriving.shape[0] - level.nodes])
        nodes = here.split([count for count, _ in level.groups])
        groups = scores.split([count * size for count, size in level.groups])
        parts = [
            (node[:, None] * group.view(count, size, samples).softmax(1)).view(count * size, samples)
            for (count, size), node, group in zip(level.groups, nodes, groups, strict=True)
        ]
        flow = parts[0] if len(parts) == 1 else torch.cat(parts)
        flows.append(flow)
        if level.reach:
            # What reaches the sink is added to a row of its own.
            more = level.reach + level.ends - ahead.shape[0]
            arriving = nn.functional.pad(ahead, (0, 0, 0, more)).index_add(0, head, flow)[: level.reach]
    return torch.cat(flows)


def _zeta(a: Tensor, n: int) -> Tensor:
    """Z on columns of n rows of 2^(n-1) numbers, two bits at a time: each pass copies everything once.

    Out of place, so that every transform of PyTorch can see through it; in place it would take about half the time, which is
    a small part of the whole.
    """
    samples, bit = a.shape[1], (n - 1) % 2
    if bit:
        lower, upper = a.view(n, 1 << (n - 2), 2, 1, samples).unbind(2)
        a = torch.stack((lower + upper, upper), 2)
    for done in range(bit, n - 1, 2):
        neither, first, second, both = a.view(n, 1 << (n - 3 - done), 4, 1 << done, samples).unbind(2)
        with_first = first + both
        a = torch.stack((neither + second + with_first, with_first, second + both, both), 2)
    return a.view(n << (n - 1), samples)
