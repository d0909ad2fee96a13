"""Tests, comparisons and bounds under the triangle inequalities, against random utility where both say the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow import functionals
from rumflow.models.open_menus import Limit
from rumflow.solvers import routes

MODEL = rf.TriangleInequalities()


def sample(n, share, draws, seed=0, cycle=0.0):
    """Draws from a Bradley-Terry population, with shares of a cycle among the first three items."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=n)
    counts = {}
    for a in range(n):
        for b in range(a + 1, n):
            if rng.random() < share or b < 3:
                p = 1 / (1 + np.exp(worth[b] - worth[a]))
                if cycle and b < 3:
                    p = cycle if b == a + 1 else 1 - cycle
                wins = int(rng.binomial(draws, p))
                counts[a, b] = {a: wins, b: draws - wins}
    return rf.ChoiceData.from_counts(counts, items=range(n))


@pytest.mark.parametrize("groups", [1, 2])
def test_up_to_five_items_the_statistic_is_that_of_random_utility(groups):
    data = [sample(5, 0.7 if groups == 1 else 1.0, 8, seed) for seed in range(groups)]
    given_data = data[0] if groups == 1 else data
    own = rf.rum_test(given_data, n_boot=39, seed=2, model=MODEL, tau=(0.2, 0.0))
    plain = rf.rum_test(given_data, n_boot=39, seed=2, tau=(0.2, 0.0))
    assert own.statistic == pytest.approx(plain.statistic, rel=1e-7)
    # The inner point of random utility has one half on every pair, too, so that replicates are the same.
    assert own.null_distributions == pytest.approx(plain.null_distributions, rel=1e-5, abs=1e-7)
    assert "triangle inequalit" in own.summary()
    assert own.fitted == pytest.approx(plain.fitted, abs=1e-6, nan_ok=True)


def test_workers_checkpoints_and_threads_do_not_change_a_test(tmp_path):
    data = sample(20, 0.3, 6, 1)
    one = rf.rum_test(data, n_boot=12, seed=3, model=MODEL)
    assert np.array_equal(
        one.null_distributions, rf.rum_test(data, n_boot=12, seed=3, model=MODEL, threads=2).null_distributions
    )
    part = rf.rum_test(data, n_boot=12, seed=3, model=MODEL, n_jobs=2, checkpoint=tmp_path / "kept")
    assert np.array_equal(one.null_distributions, part.null_distributions)


def test_a_planted_cycle_is_found_among_many_items_and_noise_is_not():
    assert rf.rum_test(sample(40, 0.1, 40, 0, cycle=0.95), n_boot=39, seed=0, model=MODEL).pvalue <= 0.05
    assert rf.rum_test(sample(40, 0.1, 40, 0), n_boot=39, seed=0, model=MODEL).pvalue > 0.05


def test_subjects_are_drawn_whole():
    rng = np.random.default_rng(0)
    rows = [(int(rng.random() < 0.7), pair, subject) for subject in range(15) for pair in ((0, 1), (1, 2), (0, 2))]
    frame = {
        "menu": [f"{a}|{b}" for _, (a, b), _ in rows],
        "choice": [str(pair[won]) for won, pair, _ in rows],
        "subject": [subject for *_, subject in rows],
    }
    data = rf.ChoiceData.from_frame(frame)
    test = rf.rum_test(data, n_boot=19, seed=1, model=MODEL)
    assert test.resample == "subject"


def test_the_cone_and_larger_menus_are_refused():
    with pytest.raises(rf.InputError, match="no cone"):
        rf.rum_test(sample(4, 1, 5), n_boot=9, model=MODEL, convention="kitamura-stoye")
    larger = rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 1, "b": 1, "c": 1}})
    with pytest.raises(rf.InputError, match="about pairs"):
        rf.rum_test(larger, n_boot=9, model=MODEL)


def test_models_are_compared_without_types_or_likelihood():
    found = rf.compare_models(sample(5, 1, 6), {"RUM": None, "pairs": MODEL}, n_boot=9)
    assert found.table["types"][1] is None
    assert found.table["loglik"][1] is None
    assert found.table["distance"][0] == pytest.approx(found.table["distance"][1])
    assert "given by inequalities" in found.summary()


@given(st.integers(0, 10**6), st.integers(3, 5))
@settings(max_examples=20)
def test_bounds_of_other_pairs_are_those_of_random_utility(seed, n):
    data = sample(n, 0.5, 7, seed)
    a, b = np.random.default_rng(seed).permutation(n)[:2].tolist()
    own = rf.bounds(data, [a, b], confidence=None, model=MODEL)
    plain = rf.bounds(data, [a, b], confidence=None)
    assert own.lower == pytest.approx(plain.lower, abs=1e-6)
    assert own.upper == pytest.approx(plain.upper, abs=1e-6)


def test_bounds_of_functionals_and_what_they_refuse():
    counts = {(0, 1): {0: 9, 1: 1}, (1, 2): {1: 8, 2: 2}, (2, 3): {2: 7, 3: 3}}
    data = rf.ChoiceData.from_counts(counts)
    found = rf.bounds(data, functional={((0, 2), 0): 2.0, ((0, 1), 0): 1.0}, confidence=None, model=MODEL)
    assert found.interval == pytest.approx((2 * 0.7 + 0.9, 2 + 0.9))
    fit = rf.project(data, model=MODEL)
    assert rf.bounds(fit, [0, 1])[0] == pytest.approx((0.9, 0.9))
    assert rf.bounds(fit, [0, 3])[0] == pytest.approx((0.4, 1.0))
    with pytest.raises(rf.InputError, match="one pair at a time"):
        rf.bounds(data, functional=functionals.change((0, 2), (0, 3), 0), confidence=None, model=MODEL)
    with pytest.raises(rf.InputError, match="ask for a pair"):
        rf.bounds(fit, [0, 1, 2])


def test_intervals_hold_the_bounds():
    data = rf.ChoiceData.from_counts({(0, 1): {0: 18, 1: 2}, (1, 2): {1: 16, 2: 4}})
    found = rf.bounds(data, [0, 2], 0, n_boot=39, seed=0, model=MODEL)
    low, high = found.confidence_interval()
    assert 0.3 < low <= found.interval[0] == pytest.approx(0.7)
    assert high == pytest.approx(1.0, abs=2e-3)


def test_where_random_utility_has_only_bounds_the_inequalities_are_tested_and_the_summary_says_so(monkeypatch):
    data = sample(26, 0.2, 6, 1)
    exact = rf.rum_test(sample(8, 0.6, 6, 1), n_boot=9, seed=0)
    assert "inequalities" not in exact.summary()
    monkeypatch.setattr(routes, "DEFAULT_LIMIT", Limit(nodes=100))
    test = rf.rum_test(data, n_boot=9, seed=0)
    plain = rf.rum_test(data, n_boot=9, seed=0, model=MODEL)
    assert np.array_equal(test.null_distributions, plain.null_distributions)
    assert any("decided from the pairs alone" in note for note in test.notes)
    assert not any("decided from the pairs alone" in note for note in plain.notes)
    assert rf.rum_test(data, n_boot=1, seed=0, route="bounded").bounded


def test_with_ties_the_test_rejects_what_is_no_weak_order_and_keeps_what_is():
    true = rf.simulate.tied_pairs(12, draws=10, seed=1)
    kept = rf.rum_test(true, n_boot=39, seed=0, model=MODEL)
    assert kept.pvalue > 0.05
    counts = {("a", "b"): (2, 1, 17), ("b", "c"): (1, 2, 17), ("a", "c"): (18, 0, 2)}
    data = rf.ChoiceData.from_counts({(*m, rf.TIE): dict(zip((*m, rf.TIE), c, strict=True)) for m, c in counts.items()})
    for model in (MODEL, rf.WeakOrders()):
        assert rf.rum_test(data, n_boot=39, seed=0, model=model).pvalue <= 0.05
    found = rf.compare_models(data, {"weak": rf.WeakOrders(), "paths": MODEL}, n_boot=9)
    assert found.table["distance"][0] == pytest.approx(found.table["distance"][1])
    bridge = rf.rum_test(true, n_boot=9, seed=0, model=MODEL).summary()
    assert "no other can contradict" not in bridge


def test_with_ties_bounds_of_another_pair_are_those_of_weak_orders():
    """Of three items the inequalities say all; a functional of both items and the tie is bounded at a corner."""
    counts = {("a", "b"): (6, 1, 3), ("b", "c"): (2, 1, 7)}
    data = rf.ChoiceData.from_counts({(*m, rf.TIE): dict(zip((*m, rf.TIE), c, strict=True)) for m, c in counts.items()})
    menu = ("a", "c", rf.TIE)
    for coefficients in (
        {"a": 1.0},
        {"c": 1.0},
        {rf.TIE: 1.0},
        {"a": 2.0, "c": -1.0, rf.TIE: 0.5},
        {"a": 1.0, "c": 1.5},
    ):
        asked = {(menu, item): value for item, value in coefficients.items()}
        own = rf.bounds(data, functional=asked, confidence=None, model=MODEL)
        exact = rf.bounds(data, functional=asked, confidence=None, model=rf.WeakOrders())
        assert own.interval == pytest.approx(exact.interval, abs=1e-6)
    both = rf.bounds(data, ("a", "c"), confidence=None, model=MODEL)
    assert (both.lower[0], both.upper[0]) == pytest.approx((0.5, 0.8))
