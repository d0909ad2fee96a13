"""What every public door gives on three hundred random problems is what it has always given."""

import pytest

from tests.golden.cases import cases, compare, load

# Replicates and searches take discrete steps; everything else may differ by what another processor rounds.
_ROUNDING = 1e-7

_CASES = dict(cases())


def test_there_are_three_hundred_cases():
    assert len(_CASES) == 300
    assert set(load()) == set(_CASES)


@pytest.mark.parametrize("name", _CASES)
def test_same_results(name):
    if name.startswith(("layer", "jax")):
        pytest.importorskip("torch" if name.startswith("layer") else "jax")
    assert compare(load()[name], _CASES[name]()) <= _ROUNDING
