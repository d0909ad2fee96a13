"""Do groups choose alike: the statistic against all rankings, replicates from the pooled shares, verdicts in words."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import rumflow as rf
from rumflow.inference import homogeneity_test
from rumflow.inference.convention import Convention, find_taus
from rumflow.inference.homogeneity import (
    ExcessReplicator,
    common_population,
    excess,
    pooled_shares,
)
from rumflow.inference.replicate import Replicator, tightened_centre
from rumflow.inference.resample import CellSampler, generators
from rumflow.inference.sample import build_sample
from tests.reference.examples import DECOY, FIRST, FITS, SECOND
from tests.reference.samples import draw_data, incomplete, make_data


def cost_by_rankings(groups):
    """The least of sum over choices of squared deviations from one mixture of rankings, all rankings listed."""
    rankings = list(permutations(groups[0].items))
    rows, goal = [], []
    for data in groups:
        for menu, shares, total in zip(data.menus, data.frequencies, data.totals, strict=True):
            for x, item in enumerate(data.items):
                if np.isnan(shares[x]) or len(menu) < 2:
                    continue
                taken = [next(y for y in order if y in menu) == item for order in rankings]
                rows.append(np.sqrt(total) * np.array(taken, float))
                goal.append(np.sqrt(total) * shares[x])
    heavy = 1e4
    matrix, wanted = np.vstack([*rows, np.full(len(rankings), heavy)]), np.append(goal, heavy)
    return nnls(matrix, wanted, maxiter=100_000)[1] ** 2


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3), st.sampled_from([None, "lattice", "graph"]))
def test_the_statistic_against_all_rankings(seed, count, route):
    groups = [incomplete(4, seed + k, draws=20 + 30 * k, share=0.5, partly=0.3) for k in range(count)]
    found = homogeneity_test(groups, 1, seed=0, route=route)
    apart = sum(cost_by_rankings([data]) for data in groups)
    assert found.statistic == pytest.approx(cost_by_rankings(groups) - apart, abs=2e-4)
    assert homogeneity_test(groups[::-1], 1, seed=0).statistic == pytest.approx(found.statistic, abs=1e-6)


def test_groups_inside_the_model_differ_by_their_spread():
    one = rf.ChoiceData.from_counts({("a", "b"): {"a": 55, "b": 45}, ("a", "b", "c"): {"a": 40, "b": 30, "c": 30}})
    two = rf.ChoiceData.from_counts({("a", "b"): {"a": 12, "b": 8}, ("a", "b", "c"): {"a": 8, "b": 6, "c": 6}})
    # {a, b}: 100 x 20 / 120 x 2 x .05^2; {a, b, c} has the same shares in both
    assert homogeneity_test([one, two], 1, seed=0).statistic == pytest.approx(100 * 20 / 120 * 2 * 0.05**2)
    sample = build_sample([one, two], "counts", Convention())
    assert pooled_shares(sample, sample.frequency[None])[0, :2] == pytest.approx([67 / 120, 53 / 120])


def test_pooled_shares_where_groups_recorded_different_cells():
    sample = build_sample([FIRST, SECOND], "counts", Convention())
    slots = zip(
        sample.unit.tolist(), sample.item.tolist(), pooled_shares(sample, sample.frequency[None])[0], strict=True
    )
    shown = {(int(sample.unit_group[u]), sample.members(u), sample.items[x]): value for u, x, value in slots}
    assert shown[0, ("b", "c"), "b"] == shown[1, ("b", "c"), "b"] == pytest.approx(21 / 28)
    assert shown[0, ("a", "b"), "a"] == pytest.approx(0.25)
    assert shown[1, ("a", "b", "c"), "c"] == pytest.approx(0.4)


def test_groups_that_are_equal_are_alike_however_irrational():
    found = homogeneity_test({"p": DECOY, "q": DECOY, "r": DECOY}, 99, seed=1)
    assert (found.statistic, found.pvalue, found.names) == (0.0, 1.0, ("p", "q", "r"))
    assert found.summary().splitlines()[0] == "That all groups choose alike is not rejected at the 5 % level."


def test_groups_that_differ(noisy):
    opposite = draw_data(rf.simulate.rankings_mixture(4, 2, seed=77), 30, seed=5)
    found = homogeneity_test([noisy, opposite], 99, seed=0)
    assert found.pvalue == 0.01
    assert found.rejects()
    assert found.summary().startswith("The groups differ: that all of them choose alike is rejected at the 5 % level.")


def test_replicates_have_the_noise_of_groups_that_are_alike():
    """An irrational population: replicates of one data set against fresh data sets, by their means."""
    rho = np.where(np.arange(16)[:, None] >> np.arange(4) & 1, 1.0, 0.0)
    rho[[3, 7], 0], rho[[3, 7], 1], rho[7, 2] = [0.1, 0.9], [0.9, 0.05], 0.05
    rho /= np.maximum(rho.sum(axis=1, keepdims=True), 1e-300)
    first = homogeneity_test([draw_data(rho, 200, 1), draw_data(rho, 200, 2)], 400, seed=0)
    fresh = [
        homogeneity_test([draw_data(rho, 200, 2 * k), draw_data(rho, 200, 2 * k + 1)], 1, seed=0).statistic
        for k in range(2, 202)
    ]
    null = first.null_distribution
    error = np.hypot(np.std(fresh) / np.sqrt(len(fresh)), null.std() / np.sqrt(len(null)))
    assert abs(null.mean() - np.mean(fresh)) < 4 * error + 0.05 * np.mean(fresh)


MANY = rf.ChoiceData.from_counts(
    {("a", "b"): {"a": 30_000, "b": 70_000}, ("a", "b", "c"): {"a": 50_000, "b": 30_000, "c": 20_000}}
)


def prepared(groups):
    sample = build_sample(groups, "counts", Convention())
    return sample, CellSampler(sample, "menu", "null")


def test_deviations_are_stretched_by_the_choices_of_all_groups():
    small = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("a", "b", "c"): {"a": 1, "b": 0, "c": 0}})
    only = rf.ChoiceData.from_counts({("a", "c"): {"a": 1}})
    sample, sampler = prepared([FITS, small, only])
    centre = pooled_shares(sample, sample.frequency[None])
    replicator = ExcessReplicator(sample, sampler, (0.0,), centre, (None,), 1e-9, 0)
    plain, drawn = (
        draw(generators(0, (), range(5)))
        for draw in (lambda g: sampler.draw(g, centre[0]), lambda g: replicator.draw(g, 0))
    )
    behind = {("a", "b"): 110, ("a", "b", "c"): 101, ("a", "c"): 2}  # at least 2
    m = np.array([behind[sample.members(u)] for u in sample.unit])
    assert drawn == pytest.approx(centre + np.sqrt(m / (m - 1)) * (plain - centre))
    assert (plain != centre).any()


def test_what_groups_that_are_alike_are_drawn_from():
    """Rational shares: the tightened fit. Others: on the way from there to the pooled shares; all of it with many choices."""
    far = {}
    for name, data in (("fits", FITS), ("decoy", DECOY), ("many", MANY)):
        sample, sampler = prepared([data, data])
        own = np.bincount(sample.unit_menu, sample.sizes)
        tau = find_taus("auto", own, np.array([2.0, 3.0]), Convention())[0]
        eta, _ = tightened_centre(sample, tau, 1e-9)
        q = pooled_shares(sample, sample.frequency[None])[0]
        found, _ = common_population(sample, sampler, 1e-9, seed=3)
        share = (found - eta) @ (q - eta) / ((q - eta) @ (q - eta))
        assert found == pytest.approx(eta + share * (q - eta), abs=1e-7)
        far[name] = share
    assert far["fits"] == pytest.approx(0, abs=1e-9)
    assert 0.999 < far["many"] <= 1
    # J(q) = 2 x 24/7. Noise of the tightened fit: at most that of all five cells, 2 x (1 - sum of squares), and less than J.
    assert 0.5 < far["decoy"] < 0.99


def test_the_seed_decides_and_nothing_else(tmp_path):
    groups = [make_data(seed) for seed in range(2)]
    expected = homogeneity_test(groups, 60, seed=1)
    same = [
        homogeneity_test(groups, 60, seed=1, threads=1),
        homogeneity_test(groups, 60, seed=1, checkpoint=tmp_path / "run"),
        homogeneity_test(groups, 60, seed=1, checkpoint=tmp_path / "run"),
        rf.compare_groups(groups, 60, seed=1, tau=0.3).homogeneity,
    ]
    for other in same:
        assert (other.null_distribution == expected.null_distribution).all()
        assert other.pvalue == expected.pvalue
    assert (homogeneity_test(groups, 60, seed=2).null_distribution != expected.null_distribution).any()


def test_isolated_menus_do_not_matter():
    more = {("y", "z"): {"y": 3, "z": 1}}
    counts = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
    with_more = rf.ChoiceData.from_counts(counts | more)
    a, b = (homogeneity_test([data, FITS], 49, seed=3) for data in (DECOY, with_more))
    assert a.pvalue == b.pvalue
    assert (a.null_distribution == b.null_distribution).all()


def test_menus_may_vanish():
    tiny = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("a", "b", "c"): {"a": 3, "b": 2, "c": 1}})
    found = homogeneity_test([tiny, tiny], 60, seed=0, resample="row")
    assert found.vanished > 0
    assert found.pvalue == 1.0
    assert np.isfinite(found.null_distribution).all()


def test_subjects_and_other_conventions():
    rng = np.random.default_rng(0)
    rows = [(s, menu, rng.choice(list(menu))) for s in range(40) for menu in ("ab", "abc", "bc")]
    frames = [
        {name: [row[k] for row in part] for k, name in enumerate(("subject", "menu", "choice"))}
        for part in (rows[:60], rows[60:])
    ]
    halves = [rf.ChoiceData.from_frame(frame, subject="subject") for frame in frames]
    found = [homogeneity_test(halves, 99, seed=0, cluster=cluster) for cluster in ("auto", False)]
    assert (found[0].null_distribution != found[1].null_distribution).any()
    assert all(0.02 < test.pvalue < 1 for test in found)
    for name in ("recentred", "kitamura-stoye", "abkk"):
        assert homogeneity_test([DECOY, DECOY], 19, seed=0, convention=name).pvalue == 1.0
        assert homogeneity_test([DECOY, FITS], 19, seed=0, convention=name).pvalue == 0.05


def test_bounds_on_distances_make_it_conservative():
    groups = [incomplete(6, seed, share=0.3) for seed in range(2)]
    exact, bounded = (homogeneity_test(groups, 19, seed=2, route=route) for route in ("graph", "bounded"))
    assert bounded.pvalue >= exact.pvalue
    assert bounded.failed == 0


def test_no_verdict_from_too_few_replicates():
    few = homogeneity_test([DECOY, FITS], 18, seed=0)
    assert few.summary().splitlines()[0] == (
        "Whether the groups differ is not decided: 18 replicates were made, and at least 19 are needed at the 5 % level."
    )
    assert "The groups differ" in few.summary(0.1)


def test_groups_whose_menus_do_not_meet_cannot_be_compared():
    counts = {("d", "e"): {"d": 5, "e": 5}, ("d", "e", "f"): {"d": 3, "e": 4, "f": 3}}
    other = rf.ChoiceData.from_counts(counts)
    cannot = "Whether the groups differ cannot be tested: no menus of one group bear on those of another."
    x, y = ({pair: dict(zip(pair, own, strict=True))} for pair, own in ((("a", "b"), (9, 1)), (("b", "c"), (1, 9))))
    tree = [rf.ChoiceData.from_counts(own) for own in (x, y)]
    for groups in ([DECOY, other], tree, [*tree, other]):
        found = homogeneity_test(groups, 19, seed=0)
        assert (found.testable, found.apart) == (False, found.names)
        assert (found.statistic, found.pvalue, found.n_boot, bool(found.rejects())) == (0.0, 1.0, 0, False)
        assert found.summary() == cannot
        assert found.to_dict()["testable"] is False
        assert rf.compare_groups(groups, 19, seed=0).summary().startswith(f"{cannot}\n")
    both = {("a", "b"): {"a": 9, "b": 1}, ("b", "c"): {"b": 1, "c": 9}}
    assert cost_by_rankings([rf.ChoiceData.from_counts(both)]) < 1e-6  # one population explains both groups
    circle = rf.ChoiceData.from_counts({("a", "c"): {"a": 1, "c": 9}})
    assert homogeneity_test([*tree, circle], 19, seed=0).testable  # three pairs in a circle can contradict each other
    peaked = homogeneity_test(tree, 19, seed=0, model=rf.SinglePeaked(["a", "b", "c"]))
    assert peaked.testable  # there they can


def test_a_group_apart_is_named():
    other = rf.ChoiceData.from_counts({("d", "e"): {"d": 5, "e": 5}, ("d", "e", "f"): {"d": 3, "e": 4, "f": 3}})
    found = homogeneity_test({"x": DECOY, "y": FITS, "z": other}, 19, seed=0)
    assert (found.testable, found.apart) == (True, ("z",))
    assert found.summary().splitlines()[2] == "Nothing is said of z: none of its menus bear on those of another group."
    more = [rf.ChoiceData.from_counts({(f"p{k}", f"q{k}"): {f"p{k}": 3, f"q{k}": 4}}) for k in range(4)]
    several = homogeneity_test([DECOY, FITS, *more], 19, seed=0)
    assert several.apart == (2, 3, 4, 5)
    assert "Nothing is said of 2, 3, 4, ...: none of their menus bear on" in several.summary()
    assert homogeneity_test([DECOY, FITS], 19, seed=0).apart == ()


def test_one_group_cannot_be_compared():
    with pytest.raises(rf.InputError, match="there is only one; two or more"):
        homogeneity_test([DECOY], 19)
    assert rf.compare_groups([DECOY], 19, seed=0).homogeneity is None


def test_an_interrupt_keeps_the_replicates(monkeypatch):
    plain, calls = Replicator.__call__, []

    def call(self, indices):
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(indices)
        return plain(self, indices)

    monkeypatch.setattr(Replicator, "__call__", call)
    found = homogeneity_test([DECOY, FITS], 150, seed=0, threads=1)
    assert (found.n_boot, found.interrupted) == (100, True)
    assert found.summary().endswith("The run was interrupted: these are the replicates so far.")


def test_excess_is_never_negative():
    sample = build_sample([DECOY, DECOY], "counts", Convention())
    p = np.random.default_rng(0).dirichlet(np.ones(5), 20) @ np.eye(5)
    rows = np.hstack([p[:, :2] / p[:, :2].sum(axis=1, keepdims=True), p[:, 2:] / p[:, 2:].sum(axis=1, keepdims=True)])
    both = np.hstack([rows, np.roll(rows, 1, axis=0)])
    found = excess(sample, both, 1e-9)
    assert (found.statistic >= 0).all()
    assert found.certified.all()
    assert (excess(sample, np.hstack([rows, rows]), 1e-9).statistic <= found.rounding + 1e-8).all()
