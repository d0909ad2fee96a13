"""Binding Block-Marschak inequalities, against one worked by hand and the definition."""

import numpy as np
import pytest

import rumflow as rf
from tests.reference.examples import DECOY


def test_binding_inequalities_of_three_items():
    """a is taken more often from three than from two: the fit has no flow through ({a, b}, a), and would like less."""
    found = rf.rum_test(DECOY, 3, 0.1, seed=0, route="lattice")
    (menu, item, multiplier), *rest = found.binding()
    assert (menu, item) == (("a", "b"), "a")
    assert rest == [] or all(value <= multiplier for *_, value in rest)
    assert found.binding(1) == [(menu, item, multiplier)]
    # The statistic 24/7 (x / 0.2)^2 falls at this rate when x may be smaller.
    assert multiplier == pytest.approx(2 * 24 / 7 / 0.2, rel=1e-6)
    assert found.flow[0b011, 0] == pytest.approx(0.0, abs=1e-12)
    assert found.rho[0b111, 0] == pytest.approx(27 / 70)


def test_binding_inequalities_are_prices_of_detours():
    """Of complete data: what the cheapest way through an edge costs more than the cheapest way from its menu, where none goes."""
    n, table = 4, rf.simulate.dirichlet(4, 0)
    found = rf.rum_test(rf.ChoiceData.from_matrix(table), 3, 0.1, None, seed=0, sizes=50, route="lattice")
    inside = rf.Lattice(n).membership
    several = inside.sum(axis=1) > 1
    gradient = np.where(inside & several[:, None], 2 * found.sample.scale * (found.rho - table), 0.0)
    cost = np.zeros((1 << n, n))
    for menu in range(1 << n):
        for x in range(n):
            smaller = [e for e in range(1 << n) if e & menu == e and e >> x & 1]
            cost[menu, x] = sum(gradient[e, x] for e in smaller)
    below = np.zeros(1 << n)
    for menu in range(1, 1 << n):
        below[menu] = min(cost[menu, x] + below[menu - (1 << x)] for x in range(n) if menu >> x & 1)
    expected = {}
    for menu in range(1, 1 << n):
        for x in range(n):
            if menu >> x & 1 and found.flow[menu, x] <= 1e-12:
                price = cost[menu, x] + below[menu - (1 << x)] - below[menu]
                if price > 1e-6:
                    expected[tuple(y for y in range(n) if menu >> y & 1), x] = price
    binding = found.binding()
    assert {(menu, item): pytest.approx(value, rel=1e-4) for menu, item, value in binding} == expected
    assert len(binding) > 1
    values = [value for *_, value in binding]
    assert values == sorted(values, reverse=True)
