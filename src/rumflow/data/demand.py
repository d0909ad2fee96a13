"""Which patch of its budget each household takes, and how often each is taken at median expenditure.

For the households h of budget j with log expenditure t_h, the probability of patch i is the series estimate

    pi_i = value at the median of t of the regression of 1{h takes i} on 1, t, .., t^d

clipped to [0, 1] (not made to add up to 1). With d = 0 it is the share of the households. In z = (t - median) / (standard
deviation), which spans the same functions, the value at the median is the constant of the regression: with times m_h that
household h counts

    G = sum over h of m_h z_h z_h',    b_i = sum over h that take i of m_h z_h,    pi_i = (G^-1 e_0)' b_i

so a bootstrap replicate needs sums over households of products that are made once. The median stays that of the data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from rumflow.core.arrangement import TOLERANCE, Patches
from rumflow.core.arrays import Array, Ints
from rumflow.data.budget_inputs import by_number
from rumflow.data.labels import Item
from rumflow.errors import InputError

# Eigenvalues below this share of the largest are taken for 0.
_SINGULAR = 1e-10


class DemandEstimator:
    """Probabilities of patches from how often each household counts."""

    def __init__(
        self,
        budget: Ints,
        patch: Ints,
        of_patch: Ints,
        log_expenditure: Array | None,
        degree: int,
        labels: Sequence[Item] | None = None,
    ) -> None:
        m, n_budgets, size = len(budget), int(of_patch.max()) + 1, degree + 1
        self._of_patch, self._size = of_patch, size
        z = np.zeros(m)
        if degree and log_expenditure is not None:
            for j in range(n_budgets):
                own = log_expenditure[budget == j]
                different = len(np.unique(own))
                if different <= degree:
                    raise InputError(
                        f"budget {j if labels is None else labels[j]}: {different} different expenditures do not determine a "
                        f"polynomial of degree {degree}: take a smaller degree, or 0 for plain frequencies"
                    )
                z[budget == j] = (own - np.median(own)) / own.std()
        powers = z[:, None] ** np.arange(2 * degree + 1)
        # Columns: powers by budget, for G; then powers by patch, for b.
        first = n_budgets * (2 * degree + 1)
        columns = np.hstack(
            [
                budget[:, None] * (2 * degree + 1) + np.arange(2 * degree + 1),
                first + patch[:, None] * size + np.arange(size),
            ]
        )
        values = np.hstack([powers, powers[:, :size]])
        start = np.arange(m + 1) * columns.shape[1]
        self._table = sparse.csr_matrix(
            (values.reshape(-1), columns.reshape(-1), start), shape=(m, first + len(of_patch) * size)
        ).T.tocsr()
        self._first = first

    def __call__(self, times: Array) -> Array:
        """(b, I) probabilities for (b, m) times; NaN on the patches of budgets whose households all count 0 times."""
        sums = (self._table @ times.T).T
        degree, size = self._size - 1, self._size
        powers = sums[:, : self._first].reshape(len(times), -1, 2 * degree + 1)
        gram = powers[:, :, np.add.outer(np.arange(size), np.arange(size))]
        lost = powers[:, :, 0] <= 0
        gram[lost] = np.eye(size)
        unit = np.zeros((*gram.shape[:2], size, 1))
        unit[:, :, 0] = 1.0
        solved = solve_each(gram, unit)[..., 0]
        moments = sums[:, self._first :].reshape(len(times), -1, size)
        found = np.einsum("bid,bid->bi", moments, solved[:, self._of_patch])
        return np.where(lost[:, self._of_patch], np.nan, np.clip(found, 0.0, 1.0))


def solve_each(gram: Array, right: Array) -> Array:
    """Solutions of gram x = right, for stacks of (k, k) and (k, c).

    A replicate with too few different values of a regressor has the smallest solution. Each is judged by itself.
    """
    values = np.linalg.eigvalsh(gram)
    poor = values[..., 0] <= _SINGULAR * values[..., -1]
    solved = np.linalg.solve(np.where(poor[..., None, None], np.eye(gram.shape[-1]), gram), right)
    if poor.any():
        solved[poor] = np.linalg.pinv(gram[poor], rcond=_SINGULAR, hermitian=True) @ right[poor]
    return np.asarray(solved)


def locate(prices: Array, pieces: Patches, budget: Ints, shares: Array) -> Ints:
    """(m,): the patch of each household."""
    found = np.full(len(budget), -1)
    for j in range(len(prices)):
        mine = np.flatnonzero(budget == j)
        planes = (prices - prices[j]) / prices[j]
        size = np.abs(planes).max(axis=1, keepdims=True)
        values = shares[mine] @ (planes / np.where(size > 0, size, 1.0)).T
        side = np.where(values > TOLERANCE, 1, np.where(values < -TOLERANCE, -1, 0))
        own = np.flatnonzero(pieces.budget == j)
        number = {pieces.signs[i].tobytes(): int(i) for i in own}
        rows, which = np.unique(side, axis=0, return_inverse=True)
        patch = [number.get(row.tobytes(), -1) for row in rows]
        for r, row in enumerate(rows):
            if patch[r] < 0:
                # On a crossing: of the patches around it, the one above most budgets.
                near = own[((pieces.signs[own] == row) | (row == 0)).all(axis=1)]
                patch[r] = int(near[(pieces.signs[near] > 0).sum(axis=1).argmax()]) if len(near) else -1
        found[mine] = np.array(patch)[which.reshape(-1)]
    if (found < 0).any():
        h = int((found < 0).argmax())
        raise InputError(
            f"{by_number(h)} lies in no patch of its budget: budgets cross there closer than {TOLERANCE:g}"
        )
    return found
