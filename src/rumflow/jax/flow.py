"""`FlowRUM` for JAX: choice probabilities that are a random utility model by construction, whatever the scores."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from rumflow.errors import InputError
from rumflow.layers.flows import FlowLayer


class FlowRUM(FlowLayer):
    """Scores to choice probabilities that are a random utility model by construction: `rumflow.torch.FlowRUM` for JAX.

    Made once outside of traced functions and called inside them; it has no parameters.

    Parameters
    ----------
    n : int
        Number of items. Parameters, attributes and mathematics are those of `rumflow.torch.FlowRUM`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> [round(share, 3) for share in FlowRUM(2)(jnp.array([0.0, 1.0])).tolist()]
    [1.0, 1.0, 0.269, 0.731]
    """

    def __call__(self, scores: Any, residuals: Any = None) -> Array:
        """Compute probabilities.

        Parameters
        ----------
        scores : array of shape (..., A) or (..., n)
            A score for every arc, or a utility for every item.
        residuals : array of shape (..., A), optional
            What is added to the utilities, arc by arc.

        Returns
        -------
        array of shape (..., M)
        """
        z = self._scores(jnp.asarray(scores), None if residuals is None else jnp.asarray(residuals))
        flat = z.reshape(-1, z.shape[-1]).T[self._tables.arrays["order"]]
        return self._probabilities(self._push(flat)).T.reshape(*z.shape[:-1], len(self.cells))

    def _scores(self, scores: Array, residuals: Array | None) -> Array:
        """The score of every arc."""
        arcs, arrays = len(self.arcs), self._tables.arrays
        for name, given in (("scores", scores), ("residuals", residuals)):
            if given is not None and not jnp.issubdtype(given.dtype, jnp.floating):
                raise InputError(f"{name}: the dtype is {given.dtype}; floating point numbers are needed")
        if not self._tables.takes_utilities(scores.shape, None if residuals is None else residuals.shape):
            return scores
        z = scores[..., arrays["items"]]
        if not self._tables.takes_one_item:
            share = arrays["share"].astype(z.dtype)
            z = jnp.zeros((*z.shape[:-1], arcs), z.dtype).at[..., arrays["item_arc"]].add(z * share)
        return z if residuals is None else z + residuals

    def _push(self, z: Array) -> Array:
        """The flow of the arcs, one column per sample, from their scores; both in the order of the levels."""
        samples, heads = z.shape[1], self._tables.arrays["heads"]
        arriving = jnp.ones((1, samples), z.dtype)  # at the nodes from this level on, as far as any arc so far leads
        flows = []
        at = 0
        for level in self._tables.levels:
            first, node, parts = at, 0, []
            for count, size in level.groups:
                group = jax.nn.softmax(z[at : at + count * size].reshape(count, size, samples), axis=1)
                parts.append((arriving[node : node + count, None] * group).reshape(count * size, samples))
                at, node = at + count * size, node + count
            flow = jnp.concatenate(parts)
            flows.append(flow)
            # What reaches the sink is added to a row of its own.
            ahead = arriving[level.nodes :]
            more = level.reach + level.ends - len(ahead)
            arriving = jnp.pad(ahead, ((0, more), (0, 0))).at[heads[first:at]].add(flow)[: level.reach]
        return jnp.concatenate(flows)

    def _probabilities(self, flow: Array) -> Array:
        """rho = C k, one column per sample."""
        arrays = self._tables.arrays
        if self._tables.has_all_menus:
            return _zeta(flow[arrays["rows"]], self.n)[arrays["places"]]
        rho = jnp.zeros((len(self.cells), flow.shape[1]), flow.dtype)
        return rho.at[arrays["entry_cell"]].add(flow[arrays["entry_arc"]]).at[arrays["single"]].set(1.0)


def _zeta(a: Array, n: int) -> Array:
    """Z on columns of n rows of 2^(n-1) numbers, bit by bit."""
    shape = a.shape
    for bit in range(n - 1):
        halves = a.reshape(n, 1 << (n - 2 - bit), 2, 1 << bit, shape[1])
        a = halves.at[:, :, 0].add(halves[:, :, 1])
    return a.reshape(shape)
