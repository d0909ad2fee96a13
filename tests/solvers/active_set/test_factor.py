import numpy as np
import pytest

from rumflow.solvers.active_set import factor as f


def random_matrix(k, rng):
    a = rng.normal(size=(k, k + 3))
    return a @ a.T


def starts(k):
    return np.arange(k) * (np.arange(k) + 1) // 2


def packed(matrix):
    lower = np.linalg.cholesky(matrix)
    np.fill_diagonal(lower, 1 / np.diag(lower))
    return lower[np.tril_indices(len(matrix))].copy()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 13, 41])
def test_solves(k, rng):
    matrix = random_matrix(k, rng)
    lower = np.linalg.cholesky(matrix)
    b = rng.normal(size=(4, k))
    x = b[0].copy()
    f.solve_forward(packed(matrix), starts(k), 0, k, x)
    assert lower @ x == pytest.approx(b[0])
    x = b[0].copy()
    f.solve_backward(packed(matrix), starts(k), k, x)
    assert lower.T @ x == pytest.approx(b[0])
    many = b.copy()
    f.solve_forward_4(packed(matrix), starts(k), k, many)
    assert lower @ many.T == pytest.approx(b.T)


@pytest.mark.parametrize("k", [1, 2, 5, 6, 9, 14])
def test_deletion_equals_a_new_factor(k, rng):
    matrix = random_matrix(k, rng)
    b = rng.normal(size=k)
    for gone in range(k):
        keep = np.delete(np.arange(k), gone)
        rows = packed(matrix)
        carried = np.linalg.solve(np.linalg.cholesky(matrix), b)[None].copy()
        start = starts(k)
        f.delete_row(rows, start, k, gone, *np.empty((3, k)), carried)
        assert (start[gone : k - 1] == starts(k)[gone + 1 :]).all()  # rows stay where they are
        x = b[keep].copy()
        f.solve_forward(rows, start, 0, k - 1, x)
        assert x == pytest.approx(carried[0, : k - 1])
        f.pack_rows(rows, start, k - 1)
        assert (start[: k - 1] == starts(k - 1)).all()
        smaller = matrix[np.ix_(keep, keep)]
        assert rows[: k * (k - 1) // 2] == pytest.approx(packed(smaller) if k > 1 else [], abs=1e-10)
        assert np.linalg.cholesky(smaller) @ carried[0, : k - 1] == pytest.approx(b[keep])


def test_append_and_refuse(rng):
    matrix = random_matrix(6, rng)
    rows, start = np.empty(21), np.empty(7, np.int64)
    for k in range(6):
        row = matrix[k, :k].copy()
        f.solve_forward(rows, start, 0, k, row)
        assert f.append_row(rows, start, k, row, matrix[k, k], 1e-12)
    assert rows == pytest.approx(packed(matrix))
    assert (start[:6] == starts(6)).all()
    row = matrix[2].copy()  # a copy of row 2 depends on what is there
    f.solve_forward(rows, start, 0, 6, row)
    assert not f.append_row(np.append(rows, np.zeros(7)), start, 6, row, matrix[2, 2], 1e-9)


def test_thousands_of_changes_stay_accurate(rng):
    vectors = rng.normal(size=(400, 40))
    gram = vectors @ vectors.T + np.eye(400)
    inside: list[int] = []
    rows, start = np.empty(60 * 61 // 2), np.empty(60, np.int64)  # gaps have to be closed again and again
    for _ in range(5000):
        k = len(inside)
        if k == 60 or (k > 5 and rng.random() < 0.5):
            gone = int(rng.integers(k))
            f.delete_row(rows, start, k, gone, *np.empty((3, k)), np.empty((0, k)))
            inside.pop(gone)
        else:
            new = int(rng.choice(np.setdiff1d(np.arange(400), inside)))
            row = gram[new, inside].copy()
            f.solve_forward(rows, start, 0, k, row)
            assert f.append_row(rows, start, k, row, gram[new, new], 1e-12)
            inside.append(new)
    k = len(inside)
    f.pack_rows(rows, start, k)
    lower = np.zeros((k, k))
    lower[np.tril_indices(k)] = rows[: k * (k + 1) // 2]
    np.fill_diagonal(lower, 1 / np.diag(lower))
    assert lower @ lower.T == pytest.approx(gram[np.ix_(inside, inside)], abs=1e-10)
