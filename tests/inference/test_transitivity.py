"""Transitivity of pairs as users see it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.inference import holm
from rumflow.inference.weak_order import majority_pvalues

CYCLE = {("a", "b"): {"a": 45, "b": 5}, ("b", "c"): {"b": 45, "c": 5}, ("a", "c"): {"a": 10, "c": 40}}


def round_robin(seed, n, draws, spread=1.0):
    """Choices from all pairs of items with values, as Bradley and Terry have them."""
    rng = np.random.default_rng(seed)
    value = spread * rng.normal(size=n)
    a, b = np.triu_indices(n, 1)
    k = rng.binomial(draws, 1 / (1 + np.exp(value[b] - value[a])))
    return rf.ChoiceData.from_counts(
        {(int(u), int(v)): {int(u): int(x), int(v): draws - int(x)} for u, v, x in zip(a, b, k, strict=True)}
    )


def test_a_planted_cycle_is_named_and_everything_rejects():
    found = rf.transitivity(CYCLE, n_boot=99, seed=1)
    assert found.holds == {"triangle": 0.0, "weak": 0.0, "moderate": 0.0, "strong": 0.0}
    assert found.pvalue == found.weak_pvalue == 0.01
    assert found.distance == pytest.approx(rf.project(CYCLE, model=rf.TriangleInequalities()).distance)
    assert [one.items for one in found.significant()] == [("a", "b", "c")]
    assert found.triangles[0].shares == pytest.approx((0.9, 0.9, 0.8))
    assert found.triangles[0].pvalue == found.triangles[0].adjusted  # of one triple
    assert found.order == ("a", "b", "c")  # against the smallest majority
    text = found.summary()
    assert "1 significant at the 5 % level after Holm's correction: a > b > c > a (0.9, 0.9, 0.8)" in text
    assert found.pvalue == rf.rum_test(CYCLE, 99, "thinned", seed=1, model=rf.TriangleInequalities()).pvalue


@given(st.integers(0, 10**6), st.integers(3, 6), st.sampled_from([3, 30]))
@settings(max_examples=10)
def test_stronger_conditions_hold_in_fewer_triples_and_cost_more(seed, n, draws):
    found = rf.transitivity(round_robin(seed, n, draws, 0.5), n_boot=1, seed=0)
    assert found.holds["strong"] <= found.holds["moderate"] <= min(found.holds["weak"], found.holds["triangle"])
    assert found.weak_ratio == found.weak_ratio_lower
    assert found.weak_ratio <= found.strong_ratio + 1e-6
    assert (found.weak_ratio == 0) >= (found.n_triangles == 0)  # on all pairs every cycle has a triangle
    assert 0 < found.weak_pvalue <= 1


def test_the_correction_is_holms_over_all_triples():
    found = rf.transitivity(round_robin(2, 9, 5, 0.2), n_boot=1, seed=0, most=84)
    assert len(found.triangles) == found.n_triangles > 10
    every = [one.pvalue for one in found.triangles] + [1.0] * (found.n_triples - found.n_triangles)
    assert [one.adjusted for one in found.triangles] == pytest.approx(holm(every)[: found.n_triangles].tolist())
    one = found.triangles[0]
    assert one.pvalue == max(majority_pvalues(np.array(one.shares), np.array(one.sizes)))
    assert len(rf.transitivity(round_robin(2, 9, 5, 0.2), n_boot=1, seed=0, most=3).triangles) == 3
    assert "none significant" in found.summary()


def test_exact_shares_are_described_without_tests():
    shares = np.zeros((8, 3))
    shares[0b011, :2], shares[0b110, 1:], shares[0b101, [0, 2]] = (0.8, 0.2), (0.7, 0.3), (0.4, 0.6)
    found = rf.transitivity(rf.ChoiceData.from_matrix(shares, items="abc"))
    assert found.pvalue is found.weak_pvalue is found.weak_ratio is found.strong_ratio is None
    assert found.triangles[0].items == ("a", "b", "c")
    assert found.triangles[0].adjusted is None
    assert found.holds["weak"] == 0.0
    assert "1 majority triangle among 1 triple: a > b > c > a (0.8, 0.7, 0.6)." in found.summary()
    assert "choices" not in found.summary().splitlines()[0]


def test_names_do_not_matter():
    data = round_robin(5, 6, 9, 0.4)
    one = rf.transitivity(data, n_boot=1, seed=0)
    two = rf.transitivity(data.replace(items=tuple("fedcba")), n_boot=1, seed=0)
    assert one.holds == two.holds
    assert one.weak_ratio == two.weak_ratio
    assert [one.items[x] for x in range(6)] == list(range(6))
    assert tuple("fedcba"[x] for x in one.order) == two.order


def test_pairs_without_a_triple_subjects_and_fractions_are_said():
    found = rf.transitivity({("a", "b"): {"a": 3, "b": 1}, ("c", "d"): {"c": 1, "d": 1}}, n_boot=9, seed=0)
    assert found.n_triples == 0
    assert np.isnan(found.holds["weak"])
    assert "No three items were compared" in found.summary()
    rows = [
        (s, menu, max(menu) if s % 3 else min(menu)) for s in range(40) for menu in (("a", "b"), ("b", "c"), ("a", "c"))
    ]
    table = {"subject": [r[0] for r in rows], "menu": ["|".join(r[1]) for r in rows], "choice": [r[2] for r in rows]}
    assert "take all choices to be independent" in rf.transitivity(table, n_boot=9, seed=0).summary()
    table["weight"] = [1.5] * len(rows)
    weighted = rf.transitivity(rf.ChoiceData.from_frame(table, weight="weight"), n_boot=9, seed=0)
    assert weighted.weak_pvalue is None
    assert "fractional weights" in weighted.summary()


def test_ties_are_an_outcome_for_the_inequalities_and_half_a_win_elsewhere():
    counts = {
        (u, v, rf.TIE): own | {rf.TIE: 20} for (u, v), own in {menu: dict(own) for menu, own in CYCLE.items()}.items()
    }
    data = rf.ChoiceData.from_counts(counts)
    found = rf.transitivity(data, n_boot=19, seed=0)
    halves = rf.transitivity(data.resolve_ties("half"), n_boot=19, seed=0)
    assert found.items == ("a", "b", "c")
    assert found.triangles == halves.triangles
    assert (found.weak_ratio, found.holds) == (halves.weak_ratio, halves.holds)
    assert found.distance == pytest.approx(rf.project(data, model=rf.TriangleInequalities()).distance)
    assert found.distance != halves.distance
    assert "a tie counts half for each item" in found.summary()


def test_what_are_no_choices_from_pairs_is_refused():
    with pytest.raises(rf.InputError, match="choices from pairs are needed, not BudgetData"):
        rf.transitivity(rf.BudgetData.from_shares([[1.0, 2.0], [2.0, 1.0]], [0, 1], [[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(rf.InputError, match="leave out larger menus"):
        rf.transitivity({("a", "b", "c"): {"a": 1}})
