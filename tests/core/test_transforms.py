"""Zeta and Moebius transforms against their definition, their inverses and adjoints, for any number of threads."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core import transforms
from rumflow.core.transforms import moebius, moebius_adjoint, zeta, zeta_adjoint
from tests.reference import lattice as reference


def inside(n, rng):
    return np.where(rf.Lattice(n).membership, rng.normal(size=(1 << n, n)), 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_transforms_match_their_definition(n, rng):
    lattice = rf.Lattice(n)
    array = inside(n, rng)
    assert lattice.from_internal(zeta(lattice.to_internal(array))) == pytest.approx(reference.zeta(array), abs=1e-12)
    assert lattice.from_internal(moebius(lattice.to_internal(array))) == pytest.approx(
        reference.moebius(array), abs=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 13, 14, 15])
def test_inverses_and_adjoints(n, rng):
    a, b = rng.normal(size=(2, n, 1 << (n - 1)))
    scale = 2.0 ** (n / 2)
    assert moebius(zeta(a.copy())) == pytest.approx(a, abs=1e-13 * scale)
    assert moebius_adjoint(zeta_adjoint(a.copy())) == pytest.approx(a, abs=1e-13 * scale)
    for forward, adjoint in ((zeta, zeta_adjoint), (moebius, moebius_adjoint)):
        left, right = (forward(a.copy()) * b).sum(), (a * adjoint(b.copy())).sum()
        assert left == pytest.approx(right, rel=1e-9, abs=1e-9 * scale)


@pytest.mark.parametrize("transform", [zeta, moebius, zeta_adjoint, moebius_adjoint])
def test_threads_do_not_change_a_bit(transform, rng):
    a = rng.normal(size=(15, 1 << 14))
    assert (transform(a.copy(), 1) == transform(a.copy(), 3)).all()


def one_axis_at_a_time(row, bits, sign, adjoint):
    """Each bit as an axis of length 2."""
    cube = row.reshape((2,) * bits).copy()
    for axis in range(bits):
        lower, upper = np.split(cube, 2, axis)
        pair = [lower, upper + sign * lower] if adjoint else [lower + sign * upper, upper]
        cube = np.concatenate(pair, axis)
    return cube.reshape(-1)


@pytest.mark.parametrize("bits", [*range(14)])
def test_transforms_of_one_row_for_any_number_of_bits(bits, rng):
    row = rng.integers(-9, 10, 1 << bits).astype(float)
    for name, sign, adjoint in (("zeta", 1.0, False), ("moebius_adjoint", -1.0, True)):
        found = getattr(transforms, name)(row[None].copy(), 1)[0]
        np.testing.assert_array_equal(found, one_axis_at_a_time(row, bits, sign, adjoint))


@pytest.mark.parametrize("name", ["zeta", "moebius", "zeta_adjoint", "moebius_adjoint"])
def test_long_rows_go_to_threads_one_by_one(name, rng, monkeypatch):
    rows = rng.integers(-9, 10, (3, 8)).astype(float)
    sign, adjoint = -1.0 if "moebius" in name else 1.0, "adjoint" in name
    expected = [one_axis_at_a_time(row, 3, sign, adjoint) for row in rows]
    calls = []
    monkeypatch.setattr(transforms, "run_threads", lambda task, pieces, count: calls.append([*map(task, pieces)]))
    for limit, threaded in ((8, True), (9, False)):
        monkeypatch.setattr(transforms, "THREADED_ROW", limit)
        own = rows.copy()
        assert getattr(transforms, name)(own) is own
        np.testing.assert_array_equal(own, expected)
        assert bool(calls) == threaded
        calls.clear()
