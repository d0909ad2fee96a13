"""Populations not rejected at a level: ranges, their level, programmes over them against enumeration, and repeated subjects."""

import numpy as np
import pytest
from scipy import stats

import rumflow as rf
from rumflow.inference import plausible
from rumflow.inference.confidence import BoundsOptions
from rumflow.inference.plausible import find_band, wilson


def test_wilson_against_a_grid():
    grid = np.linspace(0, 1, 100_001)
    for share, each, one, z in (
        (0.3, 0.01, 0.01, 2.5),
        (0.0, 0.02, 0.02, 3.0),
        (1.0, 0.2, 0.1, 2.0),
        (0.02, 0.05, 0.05, 4),
    ):
        inside = grid[np.abs(share - grid) <= z * np.sqrt(each * grid * (1 - grid) + one**2)]
        low, high = wilson(np.array([share]), np.array([each]), np.array([one]), z)
        assert (low[0], high[0]) == pytest.approx((inside[0], inside[-1]), abs=2e-5)


def band_of(data, revenue, confidence=0.9, **options):
    return find_band(
        data,
        data.membership,
        ~np.isnan(data.counts),
        revenue,
        BoundsOptions(confidence=confidence, n_boot=199, seed=0, **options),
    )


def test_the_sums_are_cells_and_what_earns_as_much_or_more():
    counts = {("o", "a", "b"): {"o": 5, "a": 3, "b": 2}, ("o", "a"): {"o": 6, "a": 4}}
    data = rf.ChoiceData.from_counts(counts, items=["o", "a", "b"])
    band = band_of(data, np.array([0.0, 2.0, 1.0]))
    pair, three = ((data.membership.sum(axis=1) == size).argmax() for size in (2, 3))
    found = {tuple(np.flatnonzero(row).tolist()) for row in band.sums.toarray()}
    single = {(3 * three + x,) for x in range(3)} | {(3 * pair + x,) for x in range(2)}
    assert found == single | {(3 * three + 1, 3 * three + 2)}  # a or b from three; all of a menu is no sum
    assert band.holds(np.nan_to_num(data.frequencies))
    assert (band.least >= 0).all()
    assert (band.most <= 1).all()


def test_the_level_is_kept():
    """The truth is in the set in about nine of ten samples of 50 choices a menu."""
    truth, revenue = rf.simulate.random_menus(5, 5, 3, 20, None, seed=3), np.array([90.0, 60.0, 40.0, 20.0, 0.0])
    values = np.nan_to_num(truth.frequencies)
    rng = np.random.default_rng(2)
    samples = [
        rf.ChoiceData(truth.items, truth.membership, np.where(truth.membership, counts, np.nan), np.full(5, 50.0))
        for counts in rng.multinomial(50, values / values.sum(axis=1, keepdims=True), (60, 5)).astype(float)
    ]
    inside = [band_of(sample, revenue).holds(values) for sample in samples]
    assert 0.8 <= np.mean(inside) <= 0.99
    narrow = [band_of(sample, revenue, 0.5).holds(values) for sample in samples]
    assert 0.3 <= np.mean(narrow) <= 0.7


def test_subjects_who_repeat_know_less():
    """Ten equal choices of each subject are one: the ranges are as wide as with the subjects alone."""
    rng = np.random.default_rng(1)
    chosen = rng.choice(["o", "a", "b"], 60, p=[0.5, 0.3, 0.2])
    rows = [{"menu": "o|a|b", "choice": item, "subject": s} for s, item in enumerate(chosen) for _ in range(10)]
    pd = pytest.importorskip("pandas")
    data = rf.ChoiceData.from_frame(pd.DataFrame(rows), menu="menu", choice="choice", subject="subject")
    revenue = np.array([{"o": 0.0, "a": 2.0, "b": 1.0}[item] for item in data.items])
    alone, together = band_of(data, revenue, cluster=False), band_of(data, revenue)
    assert together.most.tolist() == band_of(data, revenue, cluster=True).most.tolist()
    ratio = (together.most - together.least) / (alone.most - alone.least)
    assert (ratio > 2).all()
    assert ratio.mean() == pytest.approx(np.sqrt(10), rel=0.25)


def test_one_subject_a_menu_says_next_to_nothing():
    menus = {"o,a": "o" * 18 + "a" * 12, "o,a,b": "o" * 10 + "a" * 9 + "b" * 11, "o,b": "o" * 15 + "b" * 15}
    rows = [(menu, choice, who) for who, (menu, choices) in enumerate(menus.items()) for choice in choices]
    data = rf.ChoiceData.from_frame(dict(zip(("menu", "choice", "subject"), zip(*rows, strict=True), strict=True)))
    alone = rf.best_assortment(data, {"a": 2, "b": 3}, "o", confidence=0.95, cluster=True, n_boot=199)
    assert alone.upper - alone.lower > 2.5  # of 3
    assert rf.best_assortment(data, {"a": 2, "b": 3}, "o", confidence=0.95, n_boot=199).lower == alone.lower
    assert rf.best_assortment(data, {"a": 2, "b": 3}, "o", confidence=0.95, n_boot=199, cluster=False).lower > 0.9
    with pytest.raises(rf.InputError, match="cluster: subjects matter for a level only"):
        rf.best_assortment(data, {"a": 2, "b": 3}, "o", cluster=True)


@pytest.mark.parametrize("confidence", [0.8, 0.9])
def test_a_band_by_hand(confidence):
    """One menu of two items, 9 replicates: every number of the definition."""
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    band = find_band(
        data,
        data.membership,
        data.membership,
        np.array([2.0, 1.0]),
        BoundsOptions(confidence=confidence, n_boot=9, seed=4),
    )
    centre = np.array([0.75, 0.25])  # is in the tightened set
    furthest = []
    for i in range(9):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(4, spawn_key=(i,))))
        share = rng.multinomial(40, [*centre, 0.0])[0] / 40
        furthest.append(abs(share - centre[0]) / np.sqrt(centre[0] * centre[1] / 40 + 1 / 40**2))
    rank = {0.8: 8, 0.9: 9}[confidence]  # of ten, with the data
    z = max(sorted(furthest)[rank - 1], {0.8: 1.2815515655446004, 0.9: 1.6448536269514722}[confidence])
    grid = np.linspace(0, 1, 1_000_001)
    inside = grid[np.abs(0.75 - grid) <= z * np.sqrt(grid * (1 - grid) / 40 + 1 / 40**2)]
    assert band.sums.toarray().tolist() == [[1, 0], [0, 1]]
    assert band.least == pytest.approx([inside[0], 1 - inside[-1]], abs=3e-6)
    assert band.most == pytest.approx([inside[-1], 1 - inside[0]], abs=3e-6)
    assert band.holds(np.array([[inside[0] + 1e-5, 1 - inside[0] - 1e-5]]))
    assert not band.holds(np.array([[inside[0] - 1e-5, 1 - inside[0] + 1e-5]]))
    assert not band.holds(np.array([[inside[-1] + 1e-5, 1 - inside[-1] - 1e-5]]))


@pytest.mark.parametrize(
    ("choices", "share", "noisy"), [("baab", 0.5, True), ("babb", 0.375, True), ("aaba", 0.875, False)]
)
def test_a_band_of_weighted_rows_by_hand(choices, share, noisy):
    """Weights of 0.5 and 1.5: what is drawn is the noise of rows with random signs, and few rows know it badly."""
    weight = np.tile([0.5, 1.5], 10)
    rows = {"menu": ["a,b"] * 20, "choice": list(choices) * 5, "weight": weight.tolist()}
    data = rf.ChoiceData.from_frame(rows, weight="weight")
    assert data.frequencies[0, 0] == share
    band = find_band(
        data, data.membership, data.membership, np.zeros(2), BoundsOptions(confidence=0.9, n_boot=99, seed=4)
    )
    tau = 0.525 * 20**-0.2
    centre = min(share, tau * 0.5 + (1 - tau))  # the tightened set ends there
    taken = np.array([item == "a" for item in choices] * 5, float)
    drawn = []
    for i in range(99):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(4, spawn_key=(i,))))
        signs = 2.0 * rng.integers(2, size=20) - 1.0
        drawn.append(np.sqrt(20 / 19) * (signs * weight * (taken - centre)).sum() / 20)
    drawn, one = np.array(drawn), (weight**2).sum() / weight.sum() ** 2
    own = (drawn**2).mean() / (centre * (1 - centre))
    assert (own > one) == noisy
    each = max(own, one)
    few = stats.t.ppf(0.95, 1 / one - 1) / stats.norm.ppf(0.95)
    furthest = np.sort(np.abs(drawn) / np.sqrt(each * centre * (1 - centre) + one**2))
    z = few * max(furthest[89], stats.norm.ppf(0.95))
    low, high = wilson(np.array([share]), np.array([each]), np.array([one]), z)
    assert (band.least[0], band.most[0]) == pytest.approx((low[0], high[0]), rel=1e-9)


def test_memory_of_a_band_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(plausible, "require_memory", lambda needed, what, *_: asked.append((needed, what)))
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 10}})
    find_band(data, data.membership, data.membership, np.zeros(2), BoundsOptions(confidence=0.9, n_boot=19, seed=4))
    assert asked == [(32 * 19 * 2, "a level by 19 replicates")]
