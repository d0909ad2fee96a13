# ruff: noqa: E501  (the sentences are as long as they are)
"""What results say, word for word, of the data in `hand_examples`."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.bounds_result import Bounds
from rumflow.inference.groups import RumTests
from rumflow.inference.next_menu import NextMenus
from rumflow.inference.notes import ASSUMPTION
from rumflow.inference.words import nothing_or
from tests.reference.examples import DECOY, FITS, SHOP

TRIPLE = ("a", "b", "c")


def says(found, text):
    assert found.splitlines() == [line.rstrip() for line in text.strip("\n").splitlines()]


# Bounds -----------------------------------------------------------------------------------------------------------------------


def test_sharp_bounds():
    """c keeps its 18/70 of {a, b, c}, and gets at most what b had there as well."""
    found = rf.bounds(DECOY, ["a", "c"], confidence=None)
    says(
        found.summary(),
        """
Sharp bounds from {a, c}, over all members of the model as close to the data as the nearest (distance 1.852); sampling error is not in them:
  a            0.3857 to 0.7429
  c            0.2571 to 0.6143
""",
    )
    assert repr(found) == "Bounds(menu={a, c}, items={a, c}, [0.3857, 0.7429], [0.2571, 0.6143])"
    assert found["c"] == pytest.approx((18 / 70, 43 / 70), abs=1e-9)
    assert found.gap <= 1e-9
    assert (found.confidence, found.confidence_lower, found.seed) == (None, None, None)
    with pytest.raises(rf.InputError, match="there are bounds for 2 items; take one by its label"):
        _ = found.interval
    with pytest.raises(rf.InputError, match=r"item 'b': bounds were computed for \{a, c\}"):
        _ = found["b"]


def test_intervals_beside_bounds():
    found = rf.bounds(FITS, ["a", "c"], "a", n_boot=39, seed=1)
    low, high = found.confidence_lower[0], found.confidence_upper[0]
    assert low < 0.5
    assert high > 0.8
    says(
        found.summary(),
        f"""
95 % confidence intervals from {{a, c}}, by profile. Sharp: over all members of the model as close to the data as the nearest (distance 0), without sampling error.
  a            {low:.3f} to {high:.3f}   (sharp: 0.5000 to 0.8000)
""",
    )
    assert (found.items, found.menu, found.seed, found.confidence) == (("a",), ("a", "c"), 1, 0.95)
    assert found.interval == pytest.approx((0.5, 0.8), abs=1e-9)


def test_intervals_where_the_model_is_rejected():
    share = rf.functionals.share(("a", "c"), "a")
    found = rf.bounds(DECOY, functional=share, n_boot=39, seed=1)
    low, high = found.confidence_interval()
    says(
        found.summary(),
        f"""
95 % confidence intervals of the functional, by profile. Sharp: over all members of the model as close to the data as the nearest (distance 1.852), without sampling error.
  value        {low:.3f} to {high:.3f}   (sharp: 0.3857 to 0.7429)
The model itself is rejected (p = 0.025); this is the interval of its best fit.
""",
    )
    assert low < 0.3857
    assert high > 0.7429
    found = rf.bounds(DECOY, functional=share, n_boot=19, seed=1, interval="distance")
    says(
        found.summary(),
        """
95 % confidence intervals of the functional, by distance. Sharp: over all members of the model as close to the data as the nearest (distance 1.852), without sampling error.
  value        none   (sharp: 0.3857 to 0.7429)
No value, because the model itself is rejected (p = 0.05).
""",
    )
    assert np.isnan([found.confidence_lower[0], found.confidence_upper[0]]).all()


def test_bounds_where_data_do_not_matter():
    one = np.zeros(1)
    found = Bounds(("new",), ("x",), one, one + 1, 0.0, np.nan, notes=("look at this",))
    says(
        found.summary(),
        """
Sharp bounds from {new}, over all members of the model; sampling error is not in them:
  x            0.0000 to 1.0000
x: look at this.
""",
    )
    plain = Bounds((), (), one, one + 1, 0.0, 0.25)
    says(
        plain.summary(),
        """
Sharp bounds of the functional, over all members of the model as close to the data as the nearest (distance 0.25); sampling error is not in them:
  value        0.0000 to 1.0000
""",
    )


# Tests ------------------------------------------------------------------------------------------------------------------------


def critical(test, level):
    return [f"{test.critical_value(level, tau):.6g}" for tau in test.taus]


def test_a_rejection():
    found = rf.rum_test(DECOY, n_boot=19, seed=1)
    assert found.taus == pytest.approx([0.512 * 100**-0.2, 0.0, 1.024 * 100**-0.2])
    assert found.statistic == pytest.approx(24 / 7, rel=1e-9)
    first, second, third = critical(found, 0.05)
    says(
        found.summary(),
        f"""
Test of random utility: do these choices come from a population of utility maximisers?
  data         3 items, 2 menus of two or more, 200 choices (100 a menu)
  statistic    3.42857 = 1 x squared distance to the set of RUMs, weights: counts
  bootstrap    19 replicates, choices drawn from the fitted model by menu, seed 1
  tau = 0.2038    p-value 0.05   critical value at 0.05: {first}   <- the test
  tau = 0         p-value 0.05   critical value at 0.05: {second}
  tau = 0.4077    p-value 0.05   critical value at 0.05: {third}
Random utility is rejected at the 5 % level (tau = 0.2038).
This takes menus to be offered independently of tastes: where people with other tastes see other menus, rational people are rejected as well.
No replicate was as large: the p-value is the smallest that 19 replicates can give.
Furthest from the nearest RUM (menus weighted by their choices):
  a from {{a, b, c}}: observed 0.500, fitted 0.386
  b from {{a, b}}: observed 0.700, fitted 0.614
  a from {{a, b}}: observed 0.300, fitted 0.386
""",
    )
    assert repr(found) == "RumTest(statistic=3.42857, pvalue=0.05, tau=0.2038, n_boot=19)"
    says(
        found.summary(0.01).splitlines()[7],
        "Random utility is neither rejected nor not at the 1 % level (tau = 0.2038): 19 replicates were made, and at least 99 are "
        "needed.",
    )
    worst = found.misfits(1)
    assert [row[:3] for row in worst] == [(TRIPLE, "a", 0)]
    assert worst[0][3:] == pytest.approx((0.5, 27 / 70, 100 * (8 / 70) ** 2))
    assert len(found.misfits()) == 5


def test_no_rejection():
    found = rf.rum_test(FITS, n_boot=19, seed=1, tau=0.25)
    says(
        found.summary(0.1),
        f"""
Test of random utility: do these choices come from a population of utility maximisers?
  data         3 items, 2 menus of two or more, 200 choices (100 a menu)
  statistic    0 = 1 x squared distance to the set of RUMs, weights: counts
  bootstrap    19 replicates, choices drawn from the fitted model by menu, seed 1
  tau = 0.25      p-value 1   critical value at 0.1: {critical(found, 0.1)[0]}
Random utility is not rejected at the 10 % level (tau = 0.25).
The observed frequencies are those of a random utility model themselves.
""",
    )
    assert found.misfits() == []


def test_groups_on_the_cone():
    """Without c, {a, b} has a mean of 0.45 and {a, b, c} of 0.5 for a: together 0.475, and b drops out of the small menu."""
    found = rf.rum_test({"x": DECOY, "y": FITS}, n_boot=39, seed=1, convention="abkk")
    first, second, third = critical(found, 0.05)
    says(
        found.summary(),
        f"""
Test of random utility: do these choices come from a population of utility maximisers?
  data         3 items, 4 menus of two or more, 400 choices (100 a menu) in 2 groups, explained by one distribution
  statistic    9.5 = 200 x squared distance to the RUM cone (any total), weights: 1 on every cell, last item of each menu left out
  bootstrap    39 replicates, observed choices resampled by menu, seed 1
  tau = 0.2146    p-value 0.025   critical value at 0.05: {first}   <- the test
  tau = 0         p-value 0.025   critical value at 0.05: {second}
  tau = 0.4292    p-value 0.025   critical value at 0.05: {third}
Random utility is rejected at the 5 % level (tau = 0.2146).
This takes menus to be offered independently of tastes: where people with other tastes see other menus, rational people are rejected as well.
No replicate was as large: the p-value is the smallest that 39 replicates can give.
Furthest from the nearest RUM:
  a from {{a, b}} of x: observed 0.300, fitted 0.475
  a from {{a, b}} of y: observed 0.600, fitted 0.475
  a from {{a, b, c}} of x: observed 0.500, fitted 0.475
""",
    )
    (menu, item, group, observed, fitted, part), *_ = found.misfits(2)
    assert (menu, item, group) == (("a", "b"), "a", "x")
    assert (observed, fitted, part) == pytest.approx((0.3, 0.475, 200 * 0.175**2))


def test_a_verdict_that_depends_on_tau_and_replicates_that_failed():
    found = rf.rum_test(DECOY, n_boot=19, seed=1)
    changed = {**vars(found), "pvalues": np.array([0.05, 0.05, 0.15]), "failed": 2, "vanished": 3, "interrupted": True}
    changed["notes"] = ("Mind the gap.",)
    lines = type(found)(**changed).summary().splitlines()
    assert lines[7:12] == [
        "Random utility is rejected at the 5 % level (tau = 0.2038).",
        ASSUMPTION,
        "No replicate was as large: the p-value is the smallest that 19 replicates can give.",
        "The verdict depends on tau: the p-value is 0.05 at tau = 0 and 0.15 at tau = 0.408. A smaller tau rejects more, true "
        "models as well as false ones: report both.",
        "Mind the gap.",
    ]
    assert lines[-3:] == [
        "In 3 replicates some menu vanished; they were measured on the menus left.",
        "2 replicates lack a certified optimum; they are upper bounds, which raises the p-value.",
        "The run was interrupted: these are the replicates so far.",
    ]
    above = type(found)(**{**changed, "pvalues": np.array([0.1, 0.15, 0.15])}).summary()
    assert "depends on tau" not in above
    assert "No replicate was as large" not in above


def test_rounding_is_shown_as_nothing():
    assert nothing_or(1.1e-12) == 1.1e-12
    assert nothing_or(1e-12) == 0.0


def test_many_tests_and_groups():
    found = rf.rum_test_many({"x": DECOY, "yellow": FITS}, n_boot=19, seed=1)
    table = """
name    statistic   p-value      Holm        BH   p over tau
x           3.429    0.0500    0.1000    0.1000   0.0500 to 0.0500
yellow          0    1.0000    1.0000    1.0000   1.0000 to 1.0000
Of 2 tests at the 5 % level, 1 reject random utility singly, 0 after Holm, 0 after Benjamini-Hochberg.
This takes menus to be offered independently of tastes: where people with other tastes see other menus, rational people are rejected as well.
With so few replicates no test can reject after Holm's rule: the smallest adjusted p-value is 0.1.
"""
    says(found.summary(), table)
    assert len(found) == 2
    assert found["yellow"].statistic == 0.0
    assert found.statistics == pytest.approx([24 / 7, 0.0])
    assert found.pvalues.tolist() == [0.05, 1.0]
    assert repr(RumTests(found.names, found.tests, 1, 0.25)) == "RumTests(2 tests, seconds=0.25)"
    says(found.summary(0.1).splitlines()[-2], "Of 2 tests at the 10 % level, 1 reject random utility singly, 1 after Holm, "
         "1 after Benjamini-Hochberg.")  # fmt: skip
    with pytest.raises(rf.InputError, match=r"no test is named .z.; names are .x., .yellow.$"):
        _ = found["z"]
    one = rf.rum_test_many([DECOY], n_boot=19, seed=1, tau=0.0)
    says(
        one.summary(),
        """
name  statistic   p-value      Holm        BH
0         3.429    0.0500    0.0500    0.0500
Of 1 tests at the 5 % level, 1 reject random utility singly, 1 after Holm, 1 after Benjamini-Hochberg.
This takes menus to be offered independently of tastes: where people with other tastes see other menus, rational people are rejected as well.
""",
    )
    compared = rf.compare_groups({"x": DECOY, "yellow": FITS}, n_boot=19, seed=1)
    says(
        compared.summary(),
        """
The groups differ: that all of them choose alike is rejected at the 5 % level.
  homogeneity of 2 groups: statistic 6, p-value 0.05 (19 replicates, drawn from the pooled shares)
Whether random utility holds within every group is not decided: Holm's rule needs at least 39 replicates for 2 groups, and 19 were made.
One distribution of rankings for all groups is rejected.
  all groups together: statistic 9.42857, p-value 0.05 at tau = 0.204, 0.05 at tau = 0, 0.05 at tau = 0.408
"""
        + table.lstrip("\n"),
    )
    assert repr(compared.homogeneity) == "HomogeneityTest(statistic=6, pvalue=0.05, n_boot=19)"


# Decisions --------------------------------------------------------------------------------------------------------------------

NOTE = (
    "lower, upper: of the gain, over all populations that fit the data best, without sampling error; ratio: of those who took "
    "it, how many turn to this item."
)


def test_who_gains():
    found = rf.diversion(FITS, "c", confidence=None)
    says(
        found.summary(),
        f"""
Who gains when c leaves {{a, b, c}}; its share there is 0.200
item   lower   upper  ratio lower  ratio upper
----  ------  ------  -----------  -----------
a     0.1000  0.1000       0.5000       0.5000
b     0.1000  0.1000       0.5000       0.5000
{NOTE}
""",
    )
    assert repr(found) == "Diversion(item='c', menu={a, b, c})"
    assert found.table["ratio_upper"] == pytest.approx([0.5, 0.5])
    assert found.observed
    assert found.share == pytest.approx((0.2, 0.2))
    with_level = rf.diversion(FITS, "c", n_boot=39, seed=1)
    columns = list(with_level.table)
    assert columns == ["item", "from", "to", "lower", "upper", "ratio_lower", "ratio_upper"]
    assert with_level.summary().splitlines()[-1] == f"from, to: 95 % confidence. {NOTE}"
    assert with_level.table["from"][0] <= 0.1 <= with_level.table["to"][0]


def test_who_gains_on_a_menu_that_was_never_offered():
    """From {a, c} 0.5 to 0.8 take a: all of them turn to c."""
    found = rf.diversion(FITS, "a", ("a", "c"), confidence=None)
    says(
        found.summary(),
        f"""
Who gains when a leaves {{a, c}} (never offered); its share there is 0.500 to 0.800
item   lower   upper  ratio lower  ratio upper
----  ------  ------  -----------  -----------
c     0.5000  0.8000       1.0000       1.0000
{NOTE}
""",
    )
    assert not found.observed


def test_what_to_ask_next():
    """Two items: an answer is refuted outside the bounds, which are 0.5 wide for {b, c} and 0.3 for {a, c}."""
    found = rf.next_menu(FITS)
    assert found.width == pytest.approx([1.0, 0.6])
    assert found.refutes == pytest.approx([0.5, 0.7], abs=0.03)
    says(
        found.summary(),
        f"""
What to ask next: 2 of 2 unseen menus
menu     width  refutes
------  ------  -------
{{b, c}}  1.0000   {found.refutes[0]:.4f}
{{a, c}}  0.6000   {found.refutes[1]:.4f}
width: how open its answer is; refutes: chance that an arbitrary answer would refute the model.
""",
    )
    assert repr(found) == "NextMenus(2 menus, first {b, c})"
    assert (found.skipped, found.reason, found.shrinks, found.before) == (0, "", None, None)
    for_a = rf.next_menu(FITS, functional=rf.functionals.share(("a", "c"), "a"))
    assert for_a.menus == (("a", "c"), ("b", "c"))
    assert for_a.shrinks == pytest.approx([0.3, 0.0], abs=1e-9)
    assert list(for_a.table) == ["menu", "width", "refutes", "shrinks"]
    assert for_a.summary().splitlines()[-1] == (
        "width: how open its answer is; refutes: chance that an arbitrary answer would refute the model. "
        "shrinks: expected, of the functional's bounds, which are 0.3 wide now."
    )
    fewer = rf.next_menu(FITS, most=1)
    assert (fewer.skipped, fewer.reason) == (1, "1 further candidates were left out; a larger most takes more.")
    assert fewer.summary().splitlines()[0] == "What to ask next: 1 of 1 unseen menus"
    assert fewer.summary().endswith("refute the model. 1 further candidates were left out; a larger most takes more.")
    assert found.as_table(1).title == "What to ask next: 1 of 2 unseen menus"


def test_nothing_to_ask():
    every = rf.next_menu(rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 1}}))
    assert every.menus == ()
    assert repr(every) == "NextMenus(0 menus, first none)"
    assert every.summary().splitlines()[0] == "What to ask next: nothing"
    assert every.summary().splitlines()[-1] == "Every menu that could be asked was observed."
    nothing = np.empty(0)
    left = NextMenus((), nothing, nothing, None, None, 2, "for 2 of them the graph is too large.", ("a", "b"))
    assert left.summary().splitlines()[-1] == "For 2 of them the graph is too large."
    with pytest.raises(rf.InputError, match="there is no menu to ask next: every candidate was observed or left out"):
        _ = every.menu


def test_the_best_assortment():
    """{a, b} was offered and earns 3 * 0.3 + 4 * 0.2; {b} earns 0.8 to 2, for b gets from 0.2 to 0.5."""
    found = rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out")
    lines = found.summary().splitlines()
    assert lines[0] == (
        "The fit is taken for the truth; confidence=0.95 (--confidence 0.95) allows for sampling error."
    )
    assert lines[1] == "Best in the worst case: {a, b} beside out, which earns 1.7 to 1.7."
    assert lines[2].startswith("No other assortment promises more (certified")
    says(
        "\n".join(lines[4:]),
        """
Revenue of assortments
assortment              menu    size   lower   upper     fit
----------------------  ------  ----  ------  ------  ------
best in the worst case  {a, b}     2  1.7000  1.7000  1.7000
best of the fit         {b}        1  0.8000  2.0000  2.0000
past 1                  {a, b}     2  1.7000  1.7000  1.7000
past 2                  {a}        1  1.2000  1.2000  1.2000
lower, upper: over all populations that fit the data best, without sampling error; fit: under one of them, the fitted mixture.
""",
    )
    assert repr(found).startswith("BestAssortment(menu=('out', 'a', 'b'), lower=1.7, upper=1.7, gap=")
    assert (found.confidence, found.outside_option) == (None, "out")
    assert found.table["size"] == [2, 1, 2, 1]
    assert found.gap <= 1e-12


def test_the_best_assortment_at_a_level():
    found = rf.best_assortment(SHOP, {"a": 3, "b": 4}, "out", confidence=0.9, n_boot=99)
    table = found.table
    assert table["assortment"] == ["best at 90 %", "best in the worst case", "best of the fit", "past 1", "past 2"]
    assert table["from"][0] == table["from"][1] == table["from"][3] == found.lower
    assert all(low <= high for low, high in zip(table["from"], table["to"], strict=True))
    assert all(low <= sharp + 1e-9 for low, sharp in zip(table["from"], table["lower"], strict=True))
    assert found.summary().splitlines()[0] == (
        f"Best at 90 %: {{a, b}} beside out, which earns {found.lower:.4g} to {found.upper:.4g} in every population that is not "
        "rejected. With this confidence all assortments earn what they promise, so the promise holds although the best was "
        "searched for."
    )
    assert found.summary().splitlines()[-1] == (
        "from, to: over all populations that are not rejected at 90 %. lower, upper: over all populations that fit the data best, "
        "without sampling error; fit: under one of them, the fitted mixture."
    )


# Conflicts --------------------------------------------------------------------------------------------------------------------

DECOY_LINES = """
  {a, b}: b 70.0 %, a 30.0 %
  {a, b, c}: a 50.0 %, b 30.0 %, c 20.0 %
  Pattern: attraction. a is taken by 30.0 % from {a, b}, but by 50.0 % when c is on offer as well, which is itself taken least of all (20.0 %): a decoy.
  Of these 2 choices nobody with a ranking makes more than 1: b from {a, b}; a from {a, b, c}. Their shares can therefore add up to at most 1; they add up to 1.2""".strip(
    "\n"
)


def test_a_conflict_of_exact_shares():
    """Of the squared distance, the large menu has (8, 4, 4) and the small one (6, 6) seventieths squared: 96 to 72."""
    found = rf.explain(DECOY, level=None)
    says(
        found.summary(),
        f"""
Which choices are in conflict? (3 items, 2 menus)
No population of utility maximisers has the shares of these menus.

Conflict 1: 2 menus; no conflict without any one of them
{DECOY_LINES}.

It is the only conflict: without any one of its menus the rest fits exactly.

Influence of the menus on the distance, 0.1852 with all of them
menu       part of distance  distance without  in conflict
---------  ----------------  ----------------  -----------
{{a, b, c}}             57.1%            0.0000  1
{{a, b}}                42.9%            0.0000  1
""",
    )
    assert repr(found) == ("Explanation(1 conflicts, conflict=(('a', 'b'), ('a', 'b', 'c')), pattern='attraction')")
    assert found.distance == pytest.approx(np.sqrt(24 / 700))
    assert (found.pvalue, found.level, found.n_boot, found.halves, found.seed) == (None, None, 0, 0, 0)
    assert found.inequality.excess == pytest.approx(0.2)
    assert found.conflicts[0].cells == ((("a", "b"), "b"), (TRIPLE, "a"))


def test_a_conflict_of_a_sample():
    found = rf.explain(DECOY, n_boot=99, halves=4, seed=0)
    shares = [0.7, 0.5]
    variance = sum(
        (100 * s + 1 / k) / 101 * (1 - (100 * s + 1 / k) / 101) / 100 for s, k in zip(shares, (2, 3), strict=True)
    )
    assert found.inequality.error == pytest.approx(np.sqrt(variance))
    named, rejected = f"{100 * found.influence['named'][0]:.0f}%", found.rejected
    assert (named, found.halves) == (f"{25 * rejected}%", 4)
    lines = found.summary().splitlines()
    says(
        "\n".join(lines[:8]),
        f"""
Which choices are in conflict? (3 items, 2 menus, 200 choices)
Random utility is rejected (p = 0.01, at most 99 replicates), and so it is for these menus alone.

Conflict 1: 2 menus, p = 0.01 by itself; no conflict without any one of them
{DECOY_LINES} (2.9 standard errors beyond).
""",
    )
    assert "It is the only conflict: without any one of its menus the rest is not rejected at 5 %." in lines
    assert "P-values of sets that were searched for are not adjusted for the search." in lines
    says(
        "\n".join(lines[-6:]),
        f"""
Influence of the menus on the distance, 1.852 with all of them, menus weighted by their choices
menu       choices  part of distance  distance without  p without  named  in conflict
---------  -------  ----------------  ----------------  ---------  -----  -----------
{{a, b, c}}      100             57.1%            0.0000     1.0000  {named:>5}  1
{{a, b}}         100             42.9%            0.0000     1.0000  {named:>5}  1
named: share of the 4 half-samples (half of the choices) whose conflict has this menu; {rejected} of them were rejected.
""",
    )


def test_no_conflict():
    assert rf.explain(FITS, level=None).summary() == (
        "Which choices are in conflict? (3 items, 2 menus)\n"
        "There is no conflict: some population of utility maximisers has exactly these shares."
    )
    assert rf.explain(FITS, n_boot=19).summary() == (
        "Which choices are in conflict? (3 items, 2 menus, 200 choices)\n"
        "There is no conflict: the observed shares are those of a population of utility maximisers."
    )
    near = rf.ChoiceData.from_counts({("a", "b"): {"a": 49, "b": 51}, TRIPLE: {"a": 50, "b": 30, "c": 20}})
    found = rf.explain(near, n_boot=39)
    assert found.pvalue > 0.3
    assert found.summary().splitlines()[1] == (
        f"There is no conflict that sampling error could not explain (p = {found.pvalue:.3g}, at most 39 replicates, level 5 %)."
    )


# Models and likelihood --------------------------------------------------------------------------------------------------------


def test_models_side_by_side():
    """On the axis b, a, c nobody puts a last: b gets as much from {a, b, c} as from {a, b}, 3.7/7 at the nearest point."""
    found = rf.compare_models(DECOY, {"every": rf.RandomUtility(), "axis": rf.SinglePeaked(["b", "a", "c"])}, n_boot=19)
    assert found.fits["every"].distance == pytest.approx(np.sqrt(24 / 700))
    assert found.fits["axis"].distance == pytest.approx(np.sqrt(24 / 175))
    assert list(found.table) == ["model", "distance", "pvalue", "loglik", "gap", "types", "nodes", "seconds", "status"]
    assert found.table["nodes"] == [8, 7]
    assert found.table["pvalue"] == [0.05, 0.05]
    table = found.as_table()
    assert table.title == "Distance of the data to 2 models (3 items, 2 menus)"
    assert table.columns == ["model", "distance", "p-value", "log-likelihood", "types", "nodes", "status"]
    assert table.note.startswith(
        "A distance of 0 means that the model explains every observed share. Certified: no squared distance can be smaller by more than a part "
    )
    assert table.note.endswith(f" of it. {ASSUMPTION}")
    plain = rf.compare_models(DECOY, {"every": None}, "counts", likelihood=False)
    assert list(plain.table) == ["model", "distance", "gap", "types", "nodes", "seconds", "status"]
    assert plain.as_table().title == "Distance of the data to 1 model (3 items, 2 menus, weighted)"


def test_shares_and_likelihood():
    """At most 0.8 of the people are rational: 0.3 take a, 0.3 b, 0.2 c from the large menu."""
    share = rf.rationalizable_share(DECOY)
    assert repr(share) == "RationalShare(share=0.800000, upper=0.800000)"
    assert share.gap == pytest.approx(0.0, abs=1e-9)
    fit = rf.fit_likelihood(FITS)
    saturated = sum(k * np.log(k / 100) for k in (60, 40, 50, 30, 20))
    assert fit.loglik_saturated == pytest.approx(saturated, rel=1e-12)
    assert fit.loglik == pytest.approx(saturated, abs=1e-6)
    assert fit.lr_statistic == pytest.approx(0.0, abs=2e-6)
    assert repr(fit).startswith(f"LikelihoodFit(n=3, loglik={fit.loglik:.6f}, loglik_saturated={saturated:.6f}, gap=")
    test = rf.fit_likelihood(DECOY).lr_test(19, 1)
    assert repr(test) == f"LikelihoodRatioTest(statistic={test.statistic:.6g}, pvalue=0.05, n_boot=19)"
    assert (test.seed, test.failed) == (1, 0)
