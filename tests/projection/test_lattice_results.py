"""Labels and violations in the results of the lattice."""

import pytest

import rumflow as rf


def test_labels_reach_the_result():
    data = rf.ChoiceData.from_counts(
        {
            ("tea", "milk"): {"tea": 31, "milk": 9},
            ("tea", "milk", "gin"): {"tea": 5, "milk": 15, "gin": 20},
            ("gin", "milk"): {"gin": 10, "milk": 30},
        }
    )
    fit = rf.project(data)
    assert fit.items == ("tea", "milk", "gin")
    shares = fit.probabilities(["gin", "milk"])
    assert set(shares) == {"gin", "milk"}
    assert sum(shares.values()) == pytest.approx(1)
    assert fit.rankings.labelled(1)[0][0][0] in fit.items
    menu, item, observed, fitted = fit.misfits(1)[0]
    assert set(menu) <= set(fit.items)
    assert item in menu
    assert abs(observed - fitted) > 0.01
    with pytest.raises(rf.InputError, match=r"item 'rum' is unknown: the items are \{tea, milk, gin\}"):
        fit.probabilities(["rum"])
    weighted = rf.project(data, weights="counts")
    assert weighted.objective == pytest.approx(40 * fit.objective)
    with pytest.raises(rf.InputError, match="these data are incomplete"):
        fit.violations()


def test_violations_are_the_negative_polynomials():
    rho = rf.simulate.dirichlet(4, 2)
    values = rf.block_marschak(rho)
    found = rf.project(rho).violations()
    assert len(found) == (values < 0).sum()
    menu, item, worst = found[0]
    assert worst == values.min()
    assert values[rf.Lattice(4).mask(menu), item] == worst
