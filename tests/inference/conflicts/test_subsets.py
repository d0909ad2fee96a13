"""Subsets of data: choices behind cells, halves of samples, p-values that stop early."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference.conflicts import subsets
from rumflow.inference.conflicts.subsets import Sampling, Subsets, half_samples
from rumflow.inference.resample import generators
from tests.reference.conflicts import CYCLE, DATA, MEMBER, ROWS
from tests.reference.examples import DECOY


def test_choices_behind_a_menu():
    """Repeated subjects and unequal weights say less than their number."""
    columns = {"menu": ["a,b"] * 6 + ["a,c"] * 2, "choice": list("abaabbac"), "subject": list("xxyyzzxy")}
    data = rf.ChoiceData.from_frame(columns)
    assert subsets.effective_choices(data, False).tolist() == [6, 2]
    assert subsets.effective_choices(data, True).tolist() == [3, 2]
    weighted = rf.ChoiceData.from_frame(columns | {"weight": [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.1, 0.2]}, weight="weight")
    assert subsets.effective_choices(weighted, False) == pytest.approx([6, 0.3**2 / 0.05])
    few = Subsets(weighted, None, Sampling(0.05, 39, 0, False), 1)
    assert few.n_independent == pytest.approx([6, 1.8])


def test_halves_have_whole_subjects_or_single_choices():
    """Six subjects choose three times each, every one from a menu of her own."""
    pairs = list(combinations("abcd", 2))
    table = [(s, ",".join(pairs[s]), pairs[s][k % 2]) for s in range(6) for k in range(3)]
    rows = [{"subject": s, "menu": menu, "choice": choice} for s, menu, choice in table]
    data = rf.ChoiceData.from_frame({name: [row[name] for row in rows] for name in rows[0]}, subject="subject")
    for half, rows in half_samples(data, True, 1, 5):
        assert half.totals.tolist() == [3.0, 3.0, 3.0]
        assert [data.menus[row] for row in rows] == half.menus
    sizes = {tuple(half.totals.tolist()) for half, _ in half_samples(data, False, 1, 5)}
    assert all(sum(own) == 9 for own in sizes)
    assert any(set(own) != {3.0} for own in sizes)


def test_pvalues_stop_early_and_say_the_same(monkeypatch):
    data = rf.ChoiceData.from_counts(CYCLE)
    whole = Subsets(data, None, Sampling(0.05, 199, 3, False), 1).whole
    assert whole.pvalue == rf.rum_test(data, n_boot=199, tau=["auto"], seed=3).pvalue
    null = np.arange(1.0, 200.0)
    for statistic, expected in ((195.5, 5 / 200), (180.5, 20 / 200), (179.5, 20 / 199), (150.5, 20 / 170), (0.0, 1.0)):
        whole = Subsets(data, None, Sampling(0.05, 199, 3, False), 1).whole
        whole.__dict__["measured"] = whole.measured._replace(statistic=np.array([statistic]), rounding=np.array([0.0]))

        def draw_some(whole=whole):
            whole._null = null[: len(whole._null) + 50]

        monkeypatch.setattr(whole, "_draw", draw_some)
        assert whole.pvalue == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reached", "verdict", "drawn"),
    [
        ([], 1 / 51, 50),
        ([3], 2 / 101, 100),
        ([3, 80, 120], 4 / 200, 199),
        (range(0, 190, 10), 11 / 101, 100),
        (range(0, 20, 2), 11 / 51, 50),
        (range(10, 199, 20), 11 / 200, 199),
        (range(10, 190, 20), 10 / 200, 199),  # nine reach it
    ],
)
def test_a_clear_answer_needs_few_replicates(monkeypatch, reached, verdict, drawn):
    """Which of 199 replicates reach the statistic; the p-value has all of them."""
    null = np.zeros(199)
    null[list(reached)] = 2.0
    whole = Subsets(rf.ChoiceData.from_counts(CYCLE), None, Sampling(0.05, 199, 3, False), 1).whole
    whole.__dict__["measured"] = whole.measured._replace(statistic=np.array([1.0]), rounding=np.array([0.0]))
    monkeypatch.setattr(whole, "_draw", lambda: setattr(whole, "_null", null[: len(whole._null) + 50]))
    assert whole.verdict == pytest.approx(verdict)
    assert len(whole._null) == drawn
    assert whole.is_conflict == (whole.pvalue <= 0.05)
    assert whole.pvalue == pytest.approx((1 + len(reached)) / 200)


def test_half_samples_are_half_of_the_choices():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 3, "b": 4}, ("b", "c"): {"b": 1}, ("a", "c"): {"a": 10, "c": 10}}
    )
    halves = [half for half, _ in half_samples(data, False, 0, 30)]
    assert all((half.totals == np.ceil(data.totals / 2)).all() for half in halves)
    assert all((np.nan_to_num(half.counts) <= np.nan_to_num(data.counts)).all() for half in halves)
    assert len({half.counts[0, 0] for half in halves}) > 1
    again = [half for half, _ in half_samples(data, False, 0, 30)]
    assert all(np.array_equal(a.counts, b.counts, equal_nan=True) for a, b in zip(halves, again, strict=True))


@pytest.mark.parametrize(
    ("level", "n_boot", "enough"), [(0.05, 199, 20), (0.05, 399, 40), (0.1, 199, 40), (0.05, 401, 42)]
)
def test_how_many_replicates_are_enough(level, n_boot, enough):
    assert Sampling(level, n_boot, 0, False).enough == enough


@pytest.mark.parametrize("level", [0.01, 0.05, 0.1, 0.2])
def test_what_is_settled_cannot_be_rejected_any_more(level):
    for n_boot in range(int(1 / level), 500):
        settled = Sampling(level, n_boot, 0, False).settled
        assert (1 + settled) / (1 + n_boot) > level  # if no other reaches it
        assert settled / (1 + n_boot) <= level + 1e-12


def test_replicates_that_end_early_are_on_their_side_of_the_statistic():
    """The same replicates, projected to the end, reach the statistic where those do that ended once it was certain."""
    data = rf.simulate.stock_outs(40, 12, missing=0.1, draws=30, seed=4)
    whole = Subsets(data, None, Sampling(0.05, 199, 3, False), 1).whole
    assert whole.sample.projector.geometry.route == "graph"
    exact = replace(whole._replicator, threshold=None)(range(40)).statistic[0]
    ended = 0
    for bound in np.quantile(exact, [0.1, 0.5, 0.9]) + 1e-3:
        early = replace(whole._replicator, threshold=bound)(range(40))
        np.testing.assert_array_equal(early.statistic[0] >= bound, exact >= bound)
        assert (early.statistic[0] >= exact - 1e-9).all()
        assert early.certified.all()
        ended += int((early.statistic[0] > exact + 1e-6).sum())
    assert ended > 40


def test_choices_behind_by_hand():
    assert subsets.effective_choices(DATA.replace(rows=None), False).tolist() == [3.0, 5.0]
    assert subsets.effective_choices(DATA, False).tolist() == [3.0, 5.0]  # whole weights are numbers of choices
    assert subsets.effective_choices(DATA, True) == pytest.approx(
        [9 / 5, 25 / 17]
    )  # subjects with 1 and 2; with 1 and 4
    half = DATA.replace(rows=ROWS._replace(weight=0.5 * ROWS.weight))
    assert subsets.effective_choices(half, False) == pytest.approx([9 / 5, 25 / 11])


def half_of(a, b):
    """Half of a pair's choices, whole numbers of both items."""
    ((half, _),) = subsets.half_samples(rf.ChoiceData.from_counts({("a", "b"): {"a": a, "b": b}}), False, 0, 1)
    return half.counts[0]


def test_halves_of_counts():
    found = half_of(3, 4)
    assert found.sum() == 4
    assert (found <= [3, 4]).all()
    assert half_of(3, 3).sum() == 3
    half = half_of(6 * 10**8, 4 * 10**8)
    (rng,) = generators(0, (1,), range(1))
    assert half.tolist() == rng.binomial([6 * 10**8, 4 * 10**8], 0.5).tolist()
    ((half, rows),) = subsets.half_samples(DATA.replace(rows=None, totals=np.array([3.0, 7.0])), False, 0, 1)
    assert rows.tolist() == [0, 1]
    assert half.totals.tolist() == [2.0, 4.0]
    assert np.isnan(half.counts).tolist() == np.isnan(DATA.counts).tolist()
    for by_subject, units in ((False, 5), (True, 3)):
        for one, _ in subsets.half_samples(DATA, by_subject, 1, 6):
            kept = len(np.unique(one.rows.subject)) if by_subject else len(one.rows.menu)
            assert kept == (units + 1) // 2


def test_the_data_of_some_cells():
    kept = np.array([False, False, False, True, True])
    found = subsets.select(DATA, kept, True)
    assert found.items == ("b", "c", "d")
    assert found.menus == [("b", "c", "d")]
    np.testing.assert_array_equal(found.counts, [[np.nan, 1.0, 4.0]])
    assert found.totals.tolist() == [5.0]
    assert found.rows.menu.tolist() == [0, 0, 0]
    assert found.rows.choice.tolist() == [1, 2, 2]
    assert found.rows.weight.tolist() == [1.0, 1.0, 3.0]
    assert found.rows.subject.tolist() == [1, 2, 2]
    assert subsets.select(DATA, kept, False).items == DATA.items
    assert subsets.select(DATA, kept, False).rows.choice.tolist() == [2, 3, 3]


def test_some_of_the_single_choices():
    found, rows = subsets.recount(DATA, np.array([False, False, True, True, False]))
    assert (found.menus, rows.tolist()) == ([("b", "c", "d")], [1])
    assert found.counts[0, 1:].tolist() == [0.0, 1.0, 1.0]
    assert found.totals.tolist() == [2.0]
    assert found.rows.menu.tolist() == [0, 0]
    both, _ = subsets.recount(DATA, np.array([False, True, False, False, True]))
    np.testing.assert_array_equal(both.counts, [[0.0, 2.0, np.nan, np.nan], [np.nan, 0.0, 0.0, 3.0]])


def test_menus_without_a_choice_are_left_out():
    member = np.vstack([MEMBER, [[True, False, False, False], [True, True, True, False]]])
    counts = np.vstack([DATA.counts, [[7.0] + [np.nan] * 3, [np.nan] * 4]])
    order = [2, 0, 3, 1]  # ascending bit masks: {a}, {a, b}, {a, b, c}, {b, c, d}
    data = rf.ChoiceData(DATA.items, member[order], counts[order], np.array([7.0, 3.0, 4.0, 5.0]))
    own = Subsets(data, None, None)
    assert own.data.menus == [("a", "b"), ("b", "c", "d")]
    assert own.rows.tolist() == [1, 3]
    assert Subsets(DATA, None, None).data.rows is None
    assert Subsets(DATA, None, Sampling(0.05, 199, 0, True)).data.rows is not None
    with pytest.raises(rf.InputError, match="every menu has one item"):
        Subsets(rf.ChoiceData.from_counts({("a",): {"a": 1}}), None, None)


def test_a_subset_by_hand():
    """a gets 27/70 of both menus: see `test_words_in_full`."""
    asked = []
    own = Subsets(DECOY, None, None, 1, lambda: asked.append(1))
    assert own.exact
    assert own.whole.distance == pytest.approx(np.sqrt(24 / 700))
    assert own.whole.normal == pytest.approx(np.array([-6, 6, 8, -4, -4]) / 70)
    assert own.whole.contributions == pytest.approx(np.array([72, 96]) / 4900)
    assert own.whole.is_conflict
    assert len(asked) == 1
    alone = own.of_menus([1])
    assert not alone.is_conflict
    assert alone.statistic == alone.distance == 0.0
    assert alone.contributions == pytest.approx([0.0, 0.0], abs=1e-20)
    assert own.of_menus(np.array([1])) is alone
    assert len(asked) == 2
    sampled = Subsets(DECOY, None, Sampling(0.05, 39, 0, False), 1)
    assert not sampled.exact
    assert sampled.whole.statistic == pytest.approx(24 / 7)
    assert sampled.whole.pvalue == 1 / 40
    assert sampled.of_menus([0]).pvalue == 1.0
    assert sampled.n_independent.tolist() == [100.0, 100.0]


def test_exact_shares_are_a_conflict_beyond_rounding():
    """By what is certified: the squared distance less its gap, against 1e-12."""
    for statistic, gap, expected in ((3e-12, 2.5e-12, False), (3e-12, 1e-12, True), (0.9e-12, 0.0, False)):
        subset = Subsets(DECOY, None, None, 1).of_menus([0])
        subset.__dict__["measured"] = subset.measured._replace(statistic=np.array([statistic]), gap=np.array([gap]))
        assert subset.is_conflict == expected


def test_subsets_asked_for_last_are_kept(monkeypatch):
    asked = []
    own = Subsets(DECOY, None, None, 1, lambda: asked.append(1))
    assert [own.of_menus(rows).sample.projector.size for rows in ([0], [1])] == [4, 12]
    monkeypatch.setattr(subsets, "MOST_KEPT", 16)
    own.of_menus([0])
    assert own.whole.sample.projector.size == 12  # what was asked for longest ago has to go: the second menu
    own.of_menus([0])
    assert len(asked) == 3
    own.of_menus([1])
    assert len(asked) == 4
    monkeypatch.setattr(subsets, "MOST_KEPT", 0)
    last = own.of(np.array([True, True, True, True, False]))
    assert own.of(np.array([True, True, True, True, False])) is last
    assert len(asked) == 5
    own.of_menus([1])
    assert len(asked) == 6


def test_pvalues_count_what_reaches_the_statistic():
    own = Subsets(DECOY, None, Sampling(0.05, 39, 0, False), 1)
    subset = own.whole
    null = np.zeros(39)
    null[:3] = subset.statistic * (1 - 1e-9), subset.statistic, 2 * subset.statistic
    assert replace(subset, _null=null).pvalue == 4 / 40
    early = np.full(30, 2 * subset.statistic)
    early[[0, 5, 7]] = 0.0
    assert replace(subset, _null=early).pvalue == 20 / 23  # the twentieth that reaches it is number 23


def test_half_of_a_hundred_choices():
    assert half_of(60, 41).sum() == 51


@pytest.mark.parametrize("form", ["counts", "rows", "weights", "subjects"])
def test_half_wins_draw_three_outcomes(form):
    counts = {("a", "b"): (20, 3, 27), ("b", "c"): (21, 2, 27), ("a", "c"): (2, 22, 26)}
    rows = [
        (*pair, win)
        for pair, own in counts.items()
        for win, k in zip((*pair, "tie"), own, strict=True)
        for _ in range(k)
    ]
    table = dict(zip(("first", "second", "winner"), map(list, zip(*rows, strict=True)), strict=True))
    roles = {"menu": ["first", "second"], "choice": "winner"}
    if form == "weights":
        table["weight"], roles["weight"] = [0.7] * len(rows), "weight"
    if form == "subjects":
        table["who"], roles["subject"] = [i % 50 for i in range(len(rows))], "who"
    data = rf.ChoiceData.from_frame(table, ties="half", **roles)
    if form == "counts":
        data = data.outcomes.replace(rows=None).resolve_ties("half")
    asked = Subsets(data, None, Sampling(0.05, 99, 0, form == "subjects"))
    own = asked.of_menus([0, 1, 2])._replicator
    drawn = own.sampler.draw(generators(0, (), range(1500)), own.sample.frequency)
    wins = [np.mean(np.repeat([1.0, 0.0, 0.5], counts[m])) for m in sorted(counts)]
    spread = [np.std(np.repeat([1.0, 0.0, 0.5], counts[m])) / 50**0.5 for m in sorted(counts)]
    np.testing.assert_allclose(own.sample.frequency[::2], wins)
    np.testing.assert_allclose(drawn.std(axis=0)[::2], spread, rtol=0.07)
    for half, menus in half_samples(asked.data, form == "subjects", 0, 3):
        assert menus.tolist() == [0, 1, 2]
        assert half.outcomes.items == data.outcomes.items
        assert half.totals.sum() == pytest.approx(data.totals.sum() / 2, rel=0.03)
