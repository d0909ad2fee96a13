"""Notes, tests and likelihood by hand."""

from dataclasses import replace
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest
from hand_examples import DECOY, PAIR, TWO

import rumflow as rf
from rumflow.data.choices import Rows
from rumflow.inference import confidence, likelihood, notes
from rumflow.inference.confidence import BoundsOptions, Inversion
from rumflow.inference.convention import Convention
from rumflow.inference.places import find_place
from rumflow.inference.plan import Plan
from rumflow.inference.replicate import distances, make_replicator, tightened_centre
from rumflow.inference.resample import UnitSampler, _columns, make_sampler
from rumflow.inference.result import make_result, pvalue
from rumflow.inference.sample import build_sample
from rumflow.inference.source import Source
from rumflow.inference.test import prepare_test

# Notes on samples -------------------------------------------------------------------------------------------------------------


def notes_on(counts, tau=0.1, weights="counts", draws="auto", **names):
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in counts.items()})
    sample = build_sample(data, None if weights == "1 on every cell" else weights, Convention(draws=draws))
    return notes.find_notes(sample, make_sampler(sample, [data], "menu", None), tau, False, weights)


def test_tiny_and_unequal_menus():
    ab, ac, bc, abc = ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")
    assert notes_on({ab: (3, 2), ac: (40, 9)}) == ()
    assert notes_on({ab: (2, 2), ac: (4, 5)}) == (
        "1 of 2 menus have fewer than 5 choices: {a, b} (4). They count by their size: they do no harm, but say little.",
    )
    assert notes_on({ab: (2, 2), ac: (4, 5)}, weights="1 on every cell") == (
        "1 of 2 menus have fewer than 5 choices: {a, b} (4).",
    )
    assert notes_on({ab: (1, 3), ac: (1, 1), bc: (3, 0), abc: (1, 0, 0)}) == (
        "Every menu has fewer than 5 choices: {a, b, c} (1), {a, c} (2), {b, c} (3), ....",
    )
    assert notes_on({ab: (2, 2), ac: (4, 5)}, draws="empirical") == (
        "1 of 2 menus have fewer than 5 choices: {a, b} (4). Resampling what was observed gives such menus too little noise, and "
        "true models are rejected too often; draws='null' does not.",
    )
    # Means of 5 and 50: 27.5, harmonic 1 / 0.11, so u = 1 - 1 / (27.5 * 0.11) = 0.669.
    unequal = "Menus are unequal, with 5 to 50 choices (inequality 0.67): "
    assert notes_on({ab: (3, 2), ac: (40, 10)}) == (f"{unequal}samples are drawn from a thinned fit.",)
    less = f"{unequal}tau is 0.67 of what it is for equal menus, and samples are drawn from a thinned fit."
    data = rf.ChoiceData.from_counts({ab: {"a": 3, "b": 2}, ac: {"a": 40, "c": 10}})
    for tau in ("auto", "thinned", ["thinned", 0.1]):
        assert rf.rum_test(data, 9, tau, seed=0).notes[0] == less
    for tau in (0.1, "mean", [0.1, "thinned"]):
        assert rf.rum_test(data, 9, tau, seed=0).notes[0] == f"{unequal}samples are drawn from a thinned fit."
    assert rf.rum_test(data, 9, seed=0, draws="empirical").notes[0] == "Menus are unequal, with 5 to 50 choices."
    assert notes_on({ab: (3, 2), ac: (40, 10)}, weights="1 on every cell") == (
        "Menus are unequal, with 5 to 50 choices. Each counts the same here; weights='counts' gives more to the larger.",
    )


def test_a_large_tau():
    ab, ac = ("a", "b"), ("a", "c")
    assert notes_on({ab: (30, 20), ac: (40, 10)}, tau=0.25) == ()
    assert notes_on({ab: (30, 20), ac: (40, 10)}, tau=0.3) == (
        "tau = 0.3 is large: with 50 choices a menu replicates come from a population moved 30 % of the way to one in which "
        "every ranking is equally likely.",
    )
    assert "with 50 to 60 choices a menu" in notes_on({ab: (30, 20), ac: (40, 20)}, tau=0.3)[0]


def test_few_subjects():
    def said(count, draws="null", per_menu=None):
        rows = {"menu": ["a,b"] * (2 * count), "choice": ["a", "b"] * count, "subject": list(range(count)) * 2}
        data = rf.ChoiceData.from_frame(rows)
        sample = build_sample(data, "counts", Convention(draws=draws))
        sampler = make_sampler(sample, [data], "menu", True)
        assert isinstance(sampler, UnitSampler)
        return notes.find_notes(sample, sampler, 0.1, True, "counts")[1:]  # one menu: the first note says so

    assert said(30) == ()
    assert said(29) == ("There are 29 subjects: with fewer than 30 the p-value is rough.",)
    assert said(12) == ("There are 12 subjects: with fewer than 30 the p-value is rough.",)
    assert said(11) == (
        "There are 11 subjects: with fewer than 30 the p-value is rough. 11 random signs make only 2,048 different replicates: "
        "true models are hardly ever rejected, and false ones may pass.",
    )
    assert said(11, "empirical") == ("There are 11 subjects: with fewer than 30 the p-value is rough.",)
    assert said(9)[0] == (
        "Every menu has fewer than 10 subjects: {a, b} (9). The noise of a menu is learnt from its subjects, so that of these "
        "menus is known only roughly."
    )


def test_replicates_that_are_missing():
    assert notes.unfinished(0, False) == []
    assert notes.unfinished(1, False) == [
        "1 replicate lacks a certified optimum; it is an upper bound, which raises the p-value."
    ]
    assert notes.unfinished(2, False) == [
        "2 replicates lack a certified optimum; they are upper bounds, which raises the p-value."
    ]
    assert notes.unfinished(0, True) == ["The run was interrupted: these are the replicates done by then."]


def test_rest_without_a_weight_is_named():
    member = np.array([[True, True, True]])
    first = rf.ChoiceData(("a", "b", "c"), member, np.array([[5.0, 3.0, np.nan]]), np.array([10.0]))
    second = rf.ChoiceData(("a", "b", "c"), member, np.array([[5.0, np.nan, 3.0]]), np.array([10.0]))
    found = rf.rum_test({"x": first, "y": second}, 9, 0.1, "inverse-variance", seed=0)
    assert found.notes == (
        "Groups recorded different items of the same menu, so that what they did not record is not one cell: it has no weight in "
        "{a, b, c} of x, {a, b, c} of y.",
    )


# Tests ------------------------------------------------------------------------------------------------------------------------


def test_how_a_test_is_described():
    assert [Source({}).describe(w) for w in (None, "counts", np.ones(3))] == ["1 on every cell", "counts", "given"]
    rows = {"menu": ["a,b"] * 8, "choice": list("aabbabab"), "subject": list("xxyyzzww")}
    plain = rf.ChoiceData.from_frame(rows)
    weighted = rf.ChoiceData.from_frame(rows | {"weight": [0.5, 1.5] * 4}, weight="weight")

    def kind(data, resample="menu", cluster=None):
        plan, source = Plan(tau=0.1, cluster=cluster, resample=resample), Source({0: data})
        return source.resampled(prepare_test(source, plan).replicator.sampler, plan)

    assert kind(plain) == "menu"
    assert kind(plain, "row") == "row"
    assert kind(plain, "cluster") == kind(plain, "menu", True) == kind(weighted, "menu", True) == "subject"
    assert kind(plain, "menu", False) == "menu"
    assert kind(weighted) == "weighted rows by menu"
    assert kind(weighted, "row") == "weighted rows"
    for wrong in (0.0, 1.0):
        with pytest.raises(rf.InputError, match="a number between 0 and 1 is needed"):
            Plan(tol=wrong)


def test_choices_that_were_not_recorded_are_in_no_slot():
    """Of {a, b, c} the count of b is not known; the row that took it counts for its menu only."""
    member = np.array([[True, True, True]])
    rows = Rows(np.zeros(4, np.int32), np.array([0, 1, 2, 0], np.int16), np.array([0.5, 1.0, 1.0, 1.5]), np.arange(4))
    data = rf.ChoiceData(("a", "b", "c"), member, np.array([[2.0, np.nan, 1.0]]), np.array([4.0]), rows)
    sample = build_sample(data, "counts", Convention())
    assert _columns(sample, data, 0, rows)[0].tolist() == [0, -1, 1, 0]
    table = make_sampler(sample, [data], "menu", None)._table.toarray()
    assert table.tolist() == [[0.5, 0, 0.5], [0, 0, 1.0], [0, 1.0, 1.0], [1.5, 0, 1.5]]


def test_distances_and_centres_by_hand():
    """DECOY is 24/7 away; tightened towards (1/2, 1/2) and (1/3, 1/3, 1/3) by a tenth it is a little more."""
    sample = build_sample(DECOY, "counts", Convention())
    found = distances(sample, sample.frequency[None], 0.0, 1e-12)
    assert found.statistic == pytest.approx([24 / 7], rel=1e-9)
    assert found.gap[0] <= 1e-9
    assert found.certified.tolist() == [True]
    # Regularity of the tightened set: a from three is at most a from two, less 0.1 (1/2 - 1/3).
    excess = 0.2 + 0.1 / 6
    tightened = distances(sample, sample.frequency[None], 0.1, 1e-12).statistic[0]
    assert tightened == pytest.approx(24 / 7 * (excess / 0.2) ** 2, rel=1e-9)
    centre, _ = tightened_centre(sample, 0.1, 1e-12)
    assert centre[2] == pytest.approx(centre[0] - 0.1 / 6, abs=1e-9)
    assert (100 * (centre - sample.frequency) ** 2).sum() == pytest.approx(tightened, rel=1e-9)
    on_cone = build_sample(DECOY, "counts", Convention(set="cone"))
    assert distances(on_cone, on_cone.frequency[None], 0.0, 1e-12).statistic[0] <= 24 / 7
    assert on_cone.convention.draws == "empirical"


def test_replicates_and_results_by_hand():
    sample = build_sample(DECOY, "counts", Convention())
    sampler = make_sampler(sample, [DECOY], "menu", None)
    replicator = make_replicator(sample, sampler, [0.1, 0.0], 1e-9, 3, (2,))
    assert replicator.taus == (0.1, 0.0)
    found = replicator(range(2, 5))
    assert found.statistic.shape == (2, 3)
    assert found.certified.all()
    assert found.vanished.tolist() == [0, 0, 0]
    again = replicator([4])
    assert again.statistic[:, 0] == pytest.approx(found.statistic[:, 2], rel=1e-9)
    observed = distances(sample, sample.frequency[None], 0.0, 1e-12)
    statistic = float(observed.statistic[0])
    collected = SimpleNamespace(
        done=np.array([True, True, False, True]),
        statistic=np.array([[0.0, 2 * statistic, np.nan, statistic], [0.0, 0.0, np.nan, 0.0]]),
        certified=np.array([[True, False, False, True], [True, True, False, True]]),
        vanished=np.array([0, 3, 0, 0]),
        interrupted=True,
    )
    result = make_result(replicator, observed, collected, "menu", "counts", ("note",), 1.5)
    assert result.pvalues.tolist() == [3 / 4, 1 / 4]
    assert (result.n_boot, result.failed, result.vanished, result.interrupted, result.seed) == (3, 1, 1, True, 3)
    assert result.null_distribution.tolist() == [0.0, 2 * statistic, statistic]
    assert (result.tau, result.pvalue, result.notes, result.seconds) == (0.1, 0.75, ("note",), 1.5)
    assert result.rejects(0.25, 0.0)
    assert not result.rejects(0.24, 0.0)
    assert not result.rejects(0.25)
    assert result.critical_value(0.5) == statistic  # one of three may be as large
    assert result.critical_value(0.25) == 2 * statistic
    assert result.critical_value(0.2) == np.inf
    between = replace(result, pvalues=np.array([0.07, 0.04]))
    assert not between.rejects()
    assert between.rejects(tau=0.0)
    many = replace(result, null_distributions=np.arange(39.0)[None])
    assert many.critical_value() == many.critical_value(0.05) == 37.0
    assert many.critical_value(0.1) == 35.0
    for wrong in (0, 1):
        with pytest.raises(rf.InputError, match="between 0 and 1"):
            result.critical_value(wrong)
    with pytest.raises(rf.InputError, match=r"tau=0.2 was not tested; tested were 0.1, 0$"):
        result.critical_value(0.05, 0.2)


def test_where_there_are_only_bounds_the_least_is_compared():
    """The data are at least 4 away, and at most 5; the replicates at most so much. Below nothing is nothing."""
    replicator = SimpleNamespace(
        sample=SimpleNamespace(projector=SimpleNamespace(bounded=True), convention=Convention()), taus=(0.1,), seed=0
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
    replicator.sample.projector.bounded = False
    observed = SimpleNamespace(statistic=np.array([5.0]), gap=np.array([1.0]), rounding=np.array([0.1]), fits=None)
    assert make_result(replicator, observed, collected, "menu", "counts", (), 0.0).pvalue == 2 / 4


def test_memory_of_intervals_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(confidence, "require_memory", lambda needed, what, *_: asked.append((needed, what)))
    Inversion(TWO, 0.9, BoundsOptions(n_boot=19, seed=5, threads=1))
    assert asked == [(48 * 19 * 5, "intervals with 19 replicates")]


def test_replicates_in_which_menus_vanish():
    """DECOY without its small menu fits; without both there is nothing to measure."""
    sample = build_sample(DECOY, "counts", Convention())
    drawn = np.tile(sample.frequency, (4, 1))
    drawn[1, :2] = np.nan
    drawn[2] = np.nan
    drawn[3, 2:] = np.nan
    sampler = SimpleNamespace(draw=lambda generators, centre: drawn[: len(generators)], behind=np.array([50.0, 50.0]))
    found = make_replicator(sample, sampler, [0.0], 1e-12, 0)(range(4))
    assert found.statistic[0] == pytest.approx([24 / 7, 0.0, 0.0, 0.0], abs=1e-6)
    assert found.vanished.tolist() == [0, 1, 2, 1]
    assert found.certified.tolist() == [[True] * 4]
    whole = make_replicator(sample, sampler, [0.0], 1e-12, 0)(range(1))
    assert whole.vanished.tolist() == [0]


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


# Likelihood -------------------------------------------------------------------------------------------------------------------

PARTLY = rf.ChoiceData(
    ("a", "b", "c"),
    np.array([[True, True, False], [True, True, True]]),
    np.array([[6.0, 4.0, np.nan], [3.0, np.nan, np.nan]]),
    np.array([10.0, 8.0]),
)


def test_what_was_not_recorded():
    assert likelihood._remainders(PARTLY).tolist() == [0.0, 5.0]
    complete = rf.ChoiceData(("a", "b"), np.array([[True, True]]), np.array([[6.0, 3.0]]), np.array([10.0]))
    assert likelihood._remainders(complete).tolist() == [0.0]
    tiny = rf.ChoiceData(PARTLY.items, PARTLY.membership, PARTLY.counts, np.array([10.0, 3.0 + 1e-9]))
    assert likelihood._remainders(tiny).tolist() == [0.0, 0.0]
    small = rf.ChoiceData(PARTLY.items, PARTLY.membership, PARTLY.counts, np.array([10.0, 3.0 + 1e-6]))
    assert likelihood._remainders(small)[1] == pytest.approx(1e-6)


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_likelihood_at_the_middle(route):
    """From {a, b} 24 and 16, from {a, b, c} 50, 30, 20: uniform chances at first."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 24, "b": 16}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    state = likelihood._State(data, find_place(data, None, route))
    assert state.value == pytest.approx(40 * np.log(1 / 2) + 100 * np.log(1 / 3))
    saturated = sum(k * np.log(p) for k, p in ((24, 0.6), (16, 0.4), (50, 0.5), (30, 0.3), (20, 0.2)))
    assert state.saturated == pytest.approx(saturated)
    assert state.total == 140.0
    # The dearest ranking: a first earns 2 * 24 + 3 * 50 of the prices count / rho.
    assert state.certify() == pytest.approx(2 * 24 + 3 * 50 - 140)
    assert state.loglik(np.zeros_like(state.rho)) == -np.inf
    assert state.rounds == 0
    state.move(state.sizes, state.observed, 1e-12)
    assert state.rounds == 1
    assert state.value == pytest.approx(saturated, abs=1e-6)  # the frequencies are those of a model
    assert state.certify() <= 1e-4


@pytest.mark.parametrize("route", ["lattice", "graph"])
def test_the_most_likely_model(route):
    """DECOY: a has the same share s of both menus. s log s ... : 80 choices of a, b and c keep their 30 to 20 of the rest."""
    fit = rf.fit_likelihood(DECOY, route=route)
    s = 80 / 200
    expected = 80 * np.log(s) + 120 * np.log(1 - s) + 30 * np.log(0.6) + 20 * np.log(0.4)
    assert fit.loglik == pytest.approx(expected, abs=1e-6)
    assert fit.fitted[0, :2] == pytest.approx([s, 1 - s], abs=1e-5)
    assert fit.fitted[1] == pytest.approx([s, 0.6 * (1 - s), 0.4 * (1 - s)], abs=1e-5)
    assert np.isnan(fit.fitted[0, 2])
    assert fit.converged
    assert fit.gap <= 1e-6
    assert fit.loglik_gap == pytest.approx(fit.loglik_saturated - expected, abs=1e-6)
    assert fit.lr_statistic == pytest.approx(2 * fit.loglik_gap)
    assert fit.probabilities(("a", "b", "c"))["b"] == pytest.approx(0.36, abs=1e-5)
    assert list(fit.probabilities(["c", "a"])) == ["a", "c"]
    assert fit.rho[0b011, 0] == pytest.approx(s, abs=1e-5)
    assert fit.flow[0b111, 1] == pytest.approx(0.36, abs=1e-5)
    weights = fit.rankings.weights
    assert (np.diff(weights) <= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    with pytest.raises(rf.InputError, match=r"item 'z' is unknown: the items are \{a, b, c\}"):
        fit.probabilities(("a", "z"))
    score = fit.score(DECOY)
    assert score.loglik == pytest.approx(expected, abs=1e-3)


def test_likelihood_ratios_of_samples_by_hand():
    """Samples of {a, b} alone always fit: every ratio is 0, and so is that of the data."""
    test = rf.fit_likelihood(PAIR).lr_test(5, 7)
    assert test.statistic == pytest.approx(0.0, abs=2e-6)
    assert test.null_distribution == pytest.approx(np.zeros(5), abs=1e-4)
    assert test.pvalue == 1.0
    assert (test.failed, test.seed) == (0, 7)
    fit = rf.fit_likelihood(DECOY)
    found = fit.lr_test(3, 2)
    again = fit.lr_test(2, 2, threads=2)
    assert found.null_distribution[:2] == pytest.approx(again.null_distribution, abs=1e-6)
    assert signature(fit.lr_test).parameters["n_boot"].default == 999
    for wrong in (0, 2.5):
        with pytest.raises(rf.InputError, match="a whole number of replicates from 1 to 10,000,000 is needed"):
            fit.lr_test(wrong)
    half = rf.ChoiceData(("a", "b"), np.array([[True, True]]), np.array([[1.5, 1.0]]), np.array([2.5]))
    with pytest.raises(rf.InputError, match="they must be whole numbers of choices"):
        rf.fit_likelihood(half).lr_test(2)


def test_pvalues_of_likelihood_ratios_count_what_is_as_large():
    near = rf.ChoiceData.from_counts({("a", "b"): {"a": 45, "b": 55}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    test = rf.fit_likelihood(near).lr_test(39, 3)
    null = test.null_distribution
    assert test.pvalue == (1 + (null >= test.statistic - 1e-5).sum()) / 40
    assert ((null > test.statistic - 1.0) & (null < test.statistic - 1e-3)).any()  # some are a little smaller


def test_a_likelihood_that_is_cut_short():
    with pytest.raises(
        likelihood.LikelihoodError, match=r"stayed above tol=1e-06 after 1 projections: ask for a larger tol, or"
    ):
        rf.fit_likelihood(DECOY, max_iterations=1)
    rough = rf.fit_likelihood(DECOY, max_iterations=1, throw=False)
    assert (rough.iterations, rough.converged) == (1, False)
    assert rough.gap > 1e-6
    best = rf.fit_likelihood(DECOY).loglik
    assert rough.loglik < best <= rough.loglik + rough.gap
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(rf.InputError, match="a positive number is needed"):
            rf.fit_likelihood(DECOY, wrong)


def test_nothing_to_test_where_no_item_is_in_two_menus():
    note = "No item is in two menus of two or more items: any choices from them are random utility, so there is nothing to test."
    assert notes_on({("a", "b"): (20, 30), ("c", "d"): (25, 25)}) == (note,)
    assert notes_on({("a", "b"): (20, 30)}) == (note,)
    assert notes_on({("a", "b"): (20, 30), ("b", "c"): (25, 25)}) == ()
    apart = rf.ChoiceData.from_counts({("a", "b"): {"a": 20, "b": 30}, ("c", "d"): {"c": 25, "d": 25}})
    assert note in rf.rum_test(apart, n_boot=9, seed=1).summary()
    peaked = rf.rum_test(apart, n_boot=9, seed=1, model=rf.RandomUtility(above=[("a", "b")]))
    assert note not in peaked.notes  # some of these choices contradict the known preference
    groups = rf.rum_test({"here": apart, "there": apart}, n_boot=9, seed=1)
    assert note not in groups.notes  # one population for both
    pairs = [{("a", "b"): {"a": 20, "b": 30}}, {("c", "d"): {"c": 25, "d": 25}}]
    here, there = (rf.ChoiceData.from_counts(counts, items=["a", "b", "c", "d"]) for counts in pairs)
    assert note in rf.rum_test({"here": here, "there": there}, n_boot=9, seed=1).notes


def test_subjects_that_are_not_kept_together_are_named():
    table = {"menu": ["a,b", "a,b,c", "b,c"] * 20, "choice": ["a", "b", "c"] * 20, "subject": np.repeat(range(30), 2)}
    data = rf.ChoiceData.from_frame(table)
    note = (
        "30 subjects made 60 choices, and replicates treat choices as independent; cluster=True (--cluster in the shell) keeps "
        "those of a subject together."
    )
    assert note in rf.rum_test(data, n_boot=9, seed=1).notes
    assert note not in rf.rum_test(data, n_boot=9, seed=1, cluster=True).notes
    alone = rf.ChoiceData.from_frame({**table, "subject": range(60)})
    assert not any("subjects" in one for one in rf.rum_test(alone, n_boot=9, seed=1).notes)
    single = rf.ChoiceData.from_frame({**table, "subject": ["she"] * 60})
    assert not any("subjects" in one for one in rf.rum_test(single, n_boot=9, seed=1).notes)  # nobody else to draw
    both = rf.rum_test({"first": data, "second": data}, n_boot=9, seed=1).notes
    assert any(one.startswith("30 subjects made 120 choices") for one in both)  # the same people in both groups
    forced = {"menu": ["a,b", "a"] * 30, "choice": ["a", "a"] * 30, "subject": np.repeat(range(30), 2)}
    assert not any("subjects" in one for one in rf.rum_test(rf.ChoiceData.from_frame(forced), n_boot=9, seed=1).notes)
