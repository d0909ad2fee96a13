"""Results of the test: p-values, critical values, binding inequalities."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import RumTest, rum_test
from rumflow.inference.convention import Convention
from rumflow.inference.result import make_result, pvalue
from tests.reference.examples import DECOY


def test_pvalue_and_critical_value_agree(noisy):
    result = rum_test(noisy, n_boot=99, seed=0)
    for level in (0.01, 0.05, 0.2):
        above = replace(result, statistic=result.critical_value(level) * (1 + 1e-6) + 1e-12)
        assert (1 + (result.null_distribution >= above.statistic).sum()) / 100 <= level
    assert result.critical_value(0.001) == float("inf")
    with pytest.raises(rf.InputError, match="level=2"):
        result.critical_value(2)
    with pytest.raises(rf.InputError, match="was not tested"):
        result.critical_value(0.05, tau=0.77)


def test_critical_values_by_their_definition():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 1, "c": 2}})
    result = replace(
        rum_test(data, n_boot=19, seed=0), null_distributions=np.random.default_rng(0).permutation(19)[None]
    )
    assert result.critical_value(0.04) == np.inf
    for level in (0.05, 0.09, 0.1, 0.35, 0.95):
        value = result.critical_value(level)
        below, above = ((1 + (result.null_distribution >= value + step).sum()) / 20 for step in (-0.5, 0.5))
        assert above <= level + 1e-12 < below


def test_repr(noisy):
    result = rum_test(noisy, n_boot=9, seed=0)
    assert isinstance(result, RumTest)
    assert repr(result).startswith("RumTest(statistic=")


def test_where_there_are_only_bounds_the_least_is_compared():
    """The data are at least 4 away, and at most 5; the replicates at most so much. Below nothing is nothing."""
    replicator = SimpleNamespace(
        sample=SimpleNamespace(projector=SimpleNamespace(exact=False), convention=Convention()), taus=(0.1,), seed=0
    )
    collected = SimpleNamespace(
        done=np.ones(3, bool),
        statistic=np.array([[0.0, 4.5, 6.0]]),
        certified=np.ones((1, 3), bool),
        vanished=np.zeros(3),
        interrupted=False,
    )
    for statistic, gap, expected in ((5.0, 1.0, 3 / 4), (5.0, 0.0, 2 / 4), (5.0, 9.0, 4 / 4), (0.05, 0.0, 4 / 4)):
        observed = SimpleNamespace(
            statistic=np.array([statistic]), gap=np.array([gap]), rounding=np.array([0.1]), fits=None
        )
        found = make_result(replicator, observed, collected, "menu", "counts", (), 0.0)
        assert found.pvalue == expected
        assert found.gap == gap
        assert found.statistic == (0.0 if statistic < 0.1 else statistic)
    replicator.sample.projector.exact = True
    observed = SimpleNamespace(statistic=np.array([5.0]), gap=np.array([1.0]), rounding=np.array([0.1]), fits=None)
    assert make_result(replicator, observed, collected, "menu", "counts", (), 0.0).pvalue == 2 / 4


def test_pvalues_with_ties():
    null = np.array([1.0, 2.0, 3.0])
    assert pvalue(2.0, null) == 3 / 4
    assert pvalue(2.0 + 1e-9, null) == 3 / 4  # within a part 1e-8
    assert pvalue(2.0 + 1e-6, null) == 2 / 4
    assert pvalue(2.1, null, 0.2) == 3 / 4
    assert pvalue(4.0, null) == 1 / 4
    assert pvalue(4.0, np.empty(0)) == 1.0


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
