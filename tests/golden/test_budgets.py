"""What a test of budgets says, word for word."""

import pytest

import rumflow as rf
from tests.reference.budget_samples import demand


def test_a_test_of_budgets_in_words():
    """Patches below the other budget: shares s and t with s + t <= 1 for the rational; 0.7 and 0.7 are 2 (0.2^2 + 0.2^2) away."""
    data = demand(7, 7)
    found = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye")
    assert found.n_types == 3
    lines = found.summary().splitlines()
    assert lines[:3] == [
        "Test of rational choice from budgets: does this demand come from a population of utility maximisers?",
        "  data         2 budgets, 4 patches, 20 households, plain frequencies",
        "  types        3 rational ones (not listed)",
    ]
    assert lines[3].endswith(
        "20 x squared distance to the cone of rational demand (any total), weights: 1 on every patch"
    )
    assert lines[4] == "  bootstrap    19 replicates, households resampled within their budgets and recentred, seed 1"
    assert (
        lines[5]
        == f"  tau = 0.1       p-value {found.pvalue:.4g}   critical value at 0.05: {found.critical_value(0.05):.6g}"
    )
    verdict = "is rejected" if found.pvalue <= 0.05 else "is not rejected"
    assert lines[6] == f"Rational choice {verdict} at the 5 % level (tau = 0.1)."
    assert "Furthest from rational demand:" in lines
    clustered = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=list(range(20)))
    assert (
        clustered.summary().splitlines()[4]
        == "  bootstrap    19 replicates, clusters resampled whole and recentred, seed 1"
    )
    by_household = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=False)
    assert by_household.summary() == found.summary()
    with pytest.raises(rf.InputError, match="one id for each of the 20 households is needed"):
        rf.rum_test(data, 19, 0.1, convention="kitamura-stoye", cluster=True)
    with pytest.raises(rf.InputError, match="there is only one cluster"):
        rf.rum_test(data, 19, 0.1, convention="kitamura-stoye", cluster=[0] * 20)
    halves = rf.rum_test(data, 19, 0.1, seed=1, convention="kitamura-stoye", cluster=[0, 1] * 10)
    assert halves.n_boot == 19  # two clusters are enough to draw
    fits = rf.rum_test(demand(4, 4), 19, 0.1, seed=1, convention="kitamura-stoye")
    assert fits.statistic == 0.0
    assert "The observed demand is that of a population of utility maximisers itself." in fits.summary()
    plain = rf.rum_test(data, 19, [0.1, 0.2], seed=1)
    assert plain.statistic == pytest.approx(10 * 4 * 0.2**2, rel=1e-6)
    assert plain.summary().splitlines()[5].endswith("<- the test")
    assert not plain.summary().splitlines()[6].endswith("<- the test")
    assert (
        plain.summary().splitlines()[4].endswith("19 replicates, choices drawn from the fitted model by menu, seed 1")
    )
