"""Ready families: certainty equivalents and present values against their definitions."""

import numpy as np
import pytest

from rumflow.errors import InputError
from rumflow.models.families import Family, default_grid

LOTTERY = [(0.3, 1.0), (0.7, 4.0)]


@pytest.mark.parametrize("r", [-3.0, 0.0, 0.5, 1.0, 1.0 + 1e-10, 2.0, 8.0])
def test_constant_relative_risk_aversion(r):
    value = Family("crra", {"x": LOTTERY})(r)["x"]

    def utility(x):
        return np.log(x) if abs(r - 1) < 1e-6 else x ** (1 - r) / (1 - r)

    assert utility(value) == pytest.approx(sum(p * utility(x) for p, x in LOTTERY), rel=1e-8)


@pytest.mark.parametrize("a", [-2.0, 0.0, 1e-10, 0.5, 3.0])
def test_constant_absolute_risk_aversion(a):
    value = Family("cara", {"x": LOTTERY})(a)["x"]

    def utility(x):
        return x if abs(a) < 1e-6 else (1 - np.exp(-a * x)) / a

    assert utility(value) == pytest.approx(sum(p * utility(x) for p, x in LOTTERY), rel=1e-8)


def test_extreme_risk_aversion_takes_the_worst_or_the_best():
    for name in ("crra", "cara"):
        family = Family(name, {"x": [(0.5, 1e-3), (0.5, 1e3)]})
        assert family(500.0)["x"] == pytest.approx(1e-3, rel=2e-3, abs=2e-3)
        assert family(-500.0)["x"] == pytest.approx(1e3, rel=2e-3)


def test_discounting():
    stream = {"x": [(0, 3.0), (2, 5.0)], "y": {1.5: 4.0}}
    assert Family("exponential", stream)(0.5) == {"x": 3 + 5 / 4, "y": 4 * 0.5**1.5}
    assert Family("quasi_hyperbolic", stream)(np.array([0.6, 0.5]))["x"] == pytest.approx(3 + 0.6 * 5 / 4)


def test_default_grids_are_accepted():
    for name in ("crra", "cara", "exponential", "quasi_hyperbolic"):
        family = Family(name, {"x": [(1, 2.0)]})
        family.check_grid(default_grid(family))


@pytest.mark.parametrize(
    ("name", "of", "words"),
    [
        ("crra", {}, "there is no item"),
        ("crra", {"x": []}, "item 'x': .*there is nothing"),
        ("crra", {"x": 3}, "probability, amount.*is needed, not 3"),
        ("crra", {"x": [(1, 2, 3)]}, r"\(1, 2, 3\) is not a pair"),
        ("crra", {"x": [(0.5, 2)]}, "add up to 0.5, not to 1"),
        ("crra", {"x": [(1, 0)]}, "amounts must be positive, not 0; cara takes any"),
        ("exponential", {"x": [(-1, 2)]}, "item 'x'=-1: a number, 0 or more"),
        ("cara", {"x": [(1, "z")]}, "item 'x'='z': a finite number"),
    ],
)
def test_wrong_items_are_named(name, of, words):
    with pytest.raises(InputError, match=words):
        Family(name, of)


def test_parameters_out_of_range():
    family = Family("exponential", {"x": [(1, 2.0)]})
    with pytest.raises(InputError, match="above 0 and at most 1"):
        family.check_grid(np.array([0.5, 1.5]))
    with pytest.raises(InputError, match="has one parameter, not shape"):
        family.check_grid(np.array([[0.5, 0.5]]))
    with pytest.raises(InputError, match="has rows of 2 parameters, not shape"):
        Family("quasi_hyperbolic", {"x": [(1, 2.0)]}).check_grid(np.array([0.5, 0.6]))
