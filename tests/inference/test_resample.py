"""Resampling by menu, row, and subject; menus that vanish; draws by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

import rumflow as rf
from rumflow.check import check_replicates
from rumflow.data.counted import Rows
from rumflow.inference import resample, rum_test
from rumflow.inference.convention import Convention, find_convention
from rumflow.inference.resample import (
    CellSampler,
    UnitSampler,
    generators,
    locate_rows,
    make_sampler,
    repeated_choices,
    resolve_cluster,
)
from rumflow.inference.sample import build_sample
from tests.reference.examples import SECOND

MASKS = np.array([0b011, 0b101, 0b110, 0b111])


def from_rows(menu, choice, subject=None, weight=None, names="abc"):
    """ChoiceData over three items from arrays of menus (index into MASKS) and choices."""
    menu, choice = np.asarray(menu), np.asarray(choice)
    weight = np.ones(len(menu)) if weight is None else np.asarray(weight, float)
    used = np.unique(menu)
    counts = np.where(MASKS[used, None] >> np.arange(3) & 1, 0.0, np.nan)
    index = np.searchsorted(used, menu)
    np.add.at(counts, (index, choice), weight)
    return rf.ChoiceData(
        tuple(names),
        ~np.isnan(counts),
        counts,
        np.nansum(counts, axis=1),
        Rows(index.astype(np.int32), choice.astype(np.int16), weight, subject),
    )


def random_rows(seed, rows=120):
    rng = np.random.default_rng(seed)
    menu = rng.integers(4, size=rows)
    choice = np.array([rng.choice([x for x in range(3) if MASKS[m] >> x & 1]) for m in menu])
    return menu, choice


EMPIRICAL = Convention(draws="empirical")


def draws(data, resample="menu", cluster=None, count=400, seed=1):
    sample = build_sample(data, None, EMPIRICAL)
    sampler = make_sampler(sample, [data], resample, cluster)
    return sample, sampler.draw(generators(seed, (), range(count)), sample.frequency)


def test_menu_draws_are_multinomial():
    data = from_rows(*random_rows(0))
    sample, p = draws(data, count=4000)
    sizes = sample.sizes[sample.unit]
    assert np.bincount(sample.unit, p[0]) == pytest.approx(1)
    assert (p * sizes) == pytest.approx(np.round(p * sizes), abs=1e-9)
    error = np.sqrt(sample.frequency * (1 - sample.frequency) / sizes)
    assert (np.abs(p.mean(axis=0) - sample.frequency) <= 4 * error / np.sqrt(4000) + 1e-12).all()
    assert p.std(axis=0) == pytest.approx(error, rel=0.08)


@pytest.mark.parametrize("absent", [0, 1, 2])
def test_rounding_leaves_no_draw_without_a_choice(absent):
    """Ten tenths add up to less than 1, and the largest number that is drawn is not below: the last item with a share gets it."""
    names = tuple("abcdefghijkl"[: 10 + absent])
    sample = build_sample(rf.ChoiceData.from_counts({names: dict.fromkeys(names[:10], 1)}), None, Convention())
    highest = SimpleNamespace(random=lambda count: np.full(count, np.nextafter(1.0, 0.0)))
    assert np.cumsum(sample.frequency)[-1] <= highest.random(1)[0]
    drawn = CellSampler(sample, "menu", "null").draw([highest], sample.frequency)[0]
    assert np.flatnonzero(drawn).tolist() == [9]
    assert drawn[9] == 1.0


def test_large_samples_are_drawn_by_binomials():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 40_000, "b": 60_000}})
    sample, p = draws(data, count=500)
    assert p[:, 0].std() == pytest.approx(np.sqrt(0.24 / 100_000), rel=0.15)
    assert p.sum(axis=1) == pytest.approx(1)
    del sample


def test_partly_recorded_menus_keep_the_rest():
    table = np.full((8, 3), np.nan)
    table[0b111, 0], table[0b111, 1] = 0.5, 0.2
    data = rf.ChoiceData.from_matrix(table)
    sample = build_sample(data, None, Convention(), 50)
    for kind in ("null", "empirical"):
        p = CellSampler(sample, "menu", kind).draw(generators(0, (), range(2000)), sample.frequency)
        assert p.mean(axis=0) == pytest.approx([0.5, 0.2], abs=0.01)
        assert p.sum(axis=1).max() <= 1 + 1e-12


@pytest.mark.parametrize("by", ["menu", "row"])
def test_null_draws_are_multinomial_around_the_centre(by):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("a", "b", "c"): {"a": 30, "b": 10, "c": 0}})
    sample = build_sample(data, None, Convention())
    centre = np.array([0.3, 0.7, 0.2, 0.3, 0.5])
    p = CellSampler(sample, by, "null").draw(generators(0, (), range(6000)), centre)
    assert np.nanmean(p, axis=0) == pytest.approx(centre, abs=0.02)
    if by == "menu":  # a menu with one choice varies as much as one choice does
        assert p.std(axis=0) == pytest.approx(np.sqrt(centre * (1 - centre) / sample.sizes[sample.unit]), rel=0.05)
        assert set(np.unique(p[:, 0])) == {0.0, 1.0}
    else:
        assert np.isnan(p[:, 0]).mean() == pytest.approx((40 / 41) ** 41, abs=0.03)


def test_null_draws_of_subjects_are_a_plain_wild_bootstrap():
    menu, choice = random_rows(7)
    who = np.random.default_rng(1).integers(15, size=len(menu))
    data = from_rows(menu, choice, subject=who)
    sample = build_sample(data, None, Convention())
    sampler = make_sampler(sample, [data], "menu", True)
    centre = np.random.default_rng(2).uniform(0.2, 0.4, len(sample.frequency))
    labels = np.unique(who.astype(str))
    for row, rng in zip(sampler.draw(generators(1, (), range(4)), centre), generators(1, (), range(4)), strict=True):
        sign = 2 * rng.integers(2, size=15) - 1
        expected = centre.copy()
        n_independent = [len(set(who[menu == m])) for m in range(4)]
        for m, x, s in zip(menu, choice, who.astype(str), strict=True):
            v = sign[list(labels).index(s)] * np.sqrt(n_independent[m] / (n_independent[m] - 1))
            for slot, (u, y) in enumerate(zip(sample.unit, sample.item, strict=True)):
                if u == m:
                    expected[slot] += v * ((y == x) - centre[slot]) / sample.sizes[u]
        assert row == pytest.approx(expected)
    many = sampler.draw(generators(1, (), range(3000)), centre)
    assert many.mean(axis=0) == pytest.approx(centre, abs=0.01)


def test_row_draws_vary_the_sizes():
    data = from_rows(*random_rows(1))
    sample, p = draws(data, "row", count=2000)
    assert np.nanmean(p, axis=0) == pytest.approx(sample.frequency, abs=0.02)
    sizes = sample.sizes[sample.unit]
    assert np.abs(p * sizes - np.round(p * sizes)).max() > 0.01  # not the observed sizes


def test_one_row_a_subject_is_resampling_by_row():
    menu, choice = random_rows(2)
    data = from_rows(menu, choice)
    _, by_row = draws(data, "row", count=3000)
    _, by_subject = draws(data, cluster=np.arange(len(menu)), count=3000)
    assert np.nanstd(by_subject, axis=0) == pytest.approx(np.nanstd(by_row, axis=0), rel=0.1)


def test_subjects_with_equal_choices_widen_the_spread():
    menu, choice = random_rows(3, 40)
    four = from_rows(np.tile(menu, 4), np.tile(choice, 4), subject=np.tile(np.arange(40), 4))
    _, rows = draws(four, "row", count=2000)
    _, subjects = draws(four, cluster=True, count=2000)
    assert np.nanmean(np.nanstd(subjects, axis=0) / np.nanstd(rows, axis=0)) == pytest.approx(2, rel=0.15)


def test_cluster_matches_a_plain_loop():
    menu, choice = random_rows(4)
    who = np.random.default_rng(0).integers(15, size=len(menu))
    data = from_rows(menu, choice, subject=who)
    sample, p = draws(data, cluster=True, count=5)
    labels = np.unique(who.astype(str))
    for row, rng in zip(p, generators(1, (), range(5)), strict=True):
        drawn = rng.integers(15, size=15)
        counts = np.zeros((4, 3))
        for s in drawn:
            for m, x in zip(menu[who.astype(str) == labels[s]], choice[who.astype(str) == labels[s]], strict=True):
                counts[m, x] += 1
        expected = counts / counts.sum(axis=1, keepdims=True)
        assert row == pytest.approx(expected[sample.unit, sample.item])


def test_survey_weights_stay_with_their_rows():
    menu, choice = random_rows(5)
    weight = np.random.default_rng(1).uniform(0.3, 3, len(menu))
    data = from_rows(menu, choice, weight=weight)
    sample = build_sample(data, None, EMPIRICAL)
    sampler = make_sampler(sample, [data], "menu", None)
    assert isinstance(sampler, UnitSampler)
    assert (sampler.n_independent == np.bincount(menu)).all()
    p = sampler.draw(generators(0, (), range(2000)), sample.frequency)
    assert p.mean(axis=0) == pytest.approx(sample.frequency, abs=0.02)
    assert 0 < rum_test(data, n_boot=19, seed=0).pvalue <= 1
    whole = from_rows(menu, choice, weight=np.full(len(menu), 2.0))
    assert isinstance(make_sampler(build_sample(whole, None, Convention()), [whole], "menu", None), CellSampler)


def test_weighted_rows_by_row_are_a_plain_loop():
    """Rows drawn with replacement, each draw with a sign: the sizes of menus vary, which they do not by menu."""
    menu, choice = random_rows(6)
    weight = np.random.default_rng(1).uniform(0.3, 3, len(menu))
    data = from_rows(menu, choice, weight=weight)
    sample = build_sample(data, None, Convention())
    sampler = make_sampler(sample, [data], "row", None)
    centre = np.random.default_rng(2).uniform(0.2, 0.4, len(sample.frequency))
    keys = (1, (), range(5))
    for row, rng in zip(sampler.draw(generators(*keys), centre), generators(*keys), strict=True):
        drawn = rng.integers(len(menu), size=len(menu))
        sign = 2 * rng.integers(2, size=len(menu)) - 1
        expected = centre.copy()
        for slot, (u, y) in enumerate(zip(sample.unit, sample.item, strict=True)):
            own = menu[drawn] == u
            push = sign * weight[drawn] * ((choice[drawn] == y) - centre[slot])
            rows = (menu == u).sum()
            expected[slot] += np.sqrt(rows / (rows - 1)) * push[own].sum() / weight[drawn][own].sum()
        assert row == pytest.approx(expected)
    by_row, by_menu = (
        rum_test(data, n_boot=1999, tau=0.2, seed=0, resample=resample).null_distribution
        for resample in ("row", "menu")
    )
    assert (by_row != by_menu).any()
    assert by_row.mean() == pytest.approx(by_menu.mean(), rel=0.15)


@pytest.mark.parametrize(
    ("draws", "resample", "words"),
    [
        ("null", "menu", "deviations of weighted rows from the fitted model with random signs"),
        ("null", "row", "weighted rows resampled, their deviations from the fitted model with random signs"),
        ("empirical", "menu", "weighted rows resampled within their menus"),
        ("empirical", "row", "weighted rows resampled, whatever their menus"),
    ],
)
def test_the_summary_says_how_weighted_rows_are_drawn(draws, resample, words):
    menu, choice = random_rows(5)
    data = from_rows(menu, choice, weight=np.random.default_rng(1).uniform(0.3, 3, len(menu)))
    assert f"replicates, {words}, seed" in rum_test(data, 9, seed=0, draws=draws, resample=resample).summary()


def test_vanished_menus_are_counted_and_left_out():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 1}, ("b", "c"): {"b": 20, "c": 20}, ("a", "b", "c"): {"a": 10, "b": 10, "c": 20}}
    )
    result = rum_test(data, n_boot=200, resample="row", seed=0)
    assert 40 < result.vanished < 110  # (1 - 1/81)^81 = 0.37 of the replicates
    assert result.failed == 0
    assert "vanished" in result.summary()
    assert rum_test(data, n_boot=200, seed=0).vanished == 0


def test_vanished_menus_do_not_depend_on_the_company():
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 1}, ("b", "c"): {"b": 2}, ("a", "b", "c"): {"a": 1, "b": 1, "c": 2}, ("a", "c"): {"c": 3}}
    )
    many = rum_test(data, n_boot=60, resample="row", seed=0)
    few = rum_test(data, n_boot=7, resample="row", seed=0)
    assert (many.null_distribution[:7] == few.null_distribution).all()


def test_groups_share_subjects_or_not():
    menu, choice = random_rows(6, 60)
    who = np.arange(60) % 12
    one, two = from_rows(menu, choice, subject=who), from_rows(menu[::-1], choice[::-1], subject=who)
    other = from_rows(menu[::-1], choice[::-1], subject=who + 100)
    together = build_sample([one, two], None, Convention())
    shared = make_sampler(together, [one, two], "menu", True)
    apart = make_sampler(build_sample([one, other], None, Convention()), [one, other], "menu", True)
    assert [len(m) for m in shared.strata] == [12]
    assert [len(m) for m in apart.strata] == [12, 12]
    assert 0 < rum_test([one, two], n_boot=19, cluster=True, seed=0).pvalue <= 1


@pytest.mark.parametrize(
    ("cluster", "message"),
    [(np.arange(3), "one id for each of the 120 rows"), (np.zeros(120), "only one subject"), (True, "which subject")],
)
def test_bad_clusters(cluster, message):
    with pytest.raises(rf.InputError, match=message):
        rum_test(from_rows(*random_rows(0)), cluster=cluster)


def test_counts_have_no_subjects():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 2}})
    with pytest.raises(rf.InputError, match="without one row per choice"):
        rum_test(data, cluster=np.arange(5))


def test_from_a_file_to_subjects_and_groups(tmp_path):
    rng = np.random.default_rng(0)
    menus = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]
    lines = ["menu,choice,person,frame"]
    for person in range(30):
        for _ in range(8):
            menu = menus[rng.integers(4)]
            lines.append(f'"{",".join(menu)}",{rng.choice(menu)},p{person},{"xy"[person % 2]}')
    file = tmp_path / "choices.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    data = rf.ChoiceData.from_csv(file, subject="person", group="frame")
    result = rum_test(data, n_boot=39, cluster=True, seed=0)
    assert result.resample == "subject"
    groups = data.split("group")
    assert list(groups) == ["x", "y"]
    together = rum_test(groups, n_boot=39, cluster=True, seed=0)
    assert together.sample.n_groups == 2
    assert together.n_boot == 39


@pytest.mark.parametrize(("subjects", "few", "repeat"), [(8, True, True), (20, True, False), (60, False, False)])
def test_few_subjects_are_said(subjects, few, repeat):
    menu, choice = random_rows(8, 240)
    data = from_rows(menu, choice, subject=np.arange(240) % subjects)
    notes = " ".join(rum_test(data, 19, seed=0, cluster=True).notes)
    assert (f"There are {subjects} subjects" in notes) == few
    assert ("only 256 different replicates" in notes) == repeat
    assert ("every menu has fewer than 10 subjects" in notes.lower()) == (subjects == 8)
    assert ("known only roughly" in notes) == (subjects == 8)
    old = " ".join(rum_test(data, 19, seed=0, cluster=True, draws="empirical").notes)
    assert "different replicates" not in old
    assert ("draws='null' does not" in old) == (subjects == 8)


def test_the_name_of_a_column_is_no_cluster():
    rows = {"menu": ["a,b"] * 4, "choice": ["a", "b", "a", "a"], "who": [1, 1, 2, 2]}
    data = rf.ChoiceData.from_frame(rows, subject="who")
    with pytest.raises(rf.InputError, match=r"cluster='who': one id for each of the 4 rows is needed, or True"):
        rf.rum_test(data, n_boot=9, cluster="who")


def test_choices_are_found_by_their_numbers():
    counts = np.full((2, 3), -1)
    cumulative = np.array([[0.2, 0.5, 2.0], [0.0, 2.0, 2.0]])
    resample._search_choices.py_func(np.array([0.0, 0.2, 0.49, 0.5, 0.0, 0.9]), cumulative, np.array([4, 2]), counts)
    assert counts.tolist() == [[1, 2, 1], [0, 2, 0]]
    observed = np.array([0, 2, 2, 1, 1])  # three choices from the first menu, two from the second
    resample._repeat_choices.py_func(
        np.array([0.0, 0.34, 0.99, 0.0, 0.5]), observed, np.array([0, 3, 5]), np.array([3, 2]), counts
    )
    assert counts.tolist() == [[1, 0, 2], [0, 2, 0]]
    resample._repeat_choices.py_func(np.array([0.32, 0.34]), observed, np.array([0, 3, 5]), np.array([2, 0]), counts)
    assert counts.tolist() == [[1, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("draws", ["null", "empirical"])
@pytest.mark.parametrize("singly", [1 << 16, 11])
def test_draws_use_their_numbers_one_by_one_or_all_at_once(draws, singly, monkeypatch):
    """Twelve choices from two menus; beyond the limit a multinomial per menu takes over."""
    monkeypatch.setattr(resample, "_SINGLY", singly)
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}, ("a", "b", "c"): {"a": 4, "b": 2, "c": 2}})
    sample = build_sample(data, None, Convention(draws=draws))
    centre = np.array([0.4, 0.6, 0.3, 0.3, 0.4])
    found = CellSampler(sample, "menu", draws).draw(generators(5, (7,), range(3)), centre)
    p = centre if draws == "null" else sample.frequency
    for i, row in enumerate(found):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(7, i))))
        if singly == 11:
            counts = rng.multinomial([4, 8], [[p[0], p[1], 0, 0], [p[2], p[3], p[4], 0]])
            expected = np.array([counts[0, 0], counts[0, 1], *counts[1, :3]]) / [4, 4, 8, 8, 8]
        else:
            numbers = rng.random(12)
            small = np.searchsorted(np.cumsum(p[:2]), numbers[:4], side="right")
            large = np.searchsorted(np.cumsum(p[2:]), numbers[4:], side="right")
            if draws == "empirical":
                small = np.repeat([0, 1], [1, 3])[(4 * numbers[:4]).astype(int)]
                large = np.repeat([0, 1, 2], [4, 2, 2])[(8 * numbers[4:]).astype(int)]
            expected = np.concatenate([np.bincount(small, minlength=2) / 4, np.bincount(large, minlength=3) / 8])
        assert row == pytest.approx(expected if draws == "null" else expected - sample.frequency + centre, abs=1e-12)


def test_the_sizes_of_menus_are_drawn_by_row():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}, ("a", "b", "c"): {"a": 4, "b": 2, "c": 2}})
    sample = build_sample([data, data], None, Convention())
    sampler = CellSampler(sample, "row", "null")
    found = sampler.draw_sizes(np.random.default_rng(3))
    rng = np.random.default_rng(3)
    expected = [rng.multinomial(12, [1 / 3, 2 / 3]) for _ in range(2)]
    assert found.tolist() == np.concatenate(expected).tolist()
    assert sampler.n_independent.tolist() == [4.0, 8.0, 4.0, 8.0]


def test_when_observed_choices_are_listed(monkeypatch):
    whole = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}})
    sample = build_sample(whole, None, Convention(draws="empirical"))
    assert CellSampler(sample, "menu", "empirical").observed.tolist() == [0, 1, 1, 1]
    assert CellSampler(sample, "menu", "null").observed is None
    monkeypatch.setattr(resample, "_SINGLY", 4)
    assert CellSampler(sample, "menu", "empirical").observed is not None
    monkeypatch.setattr(resample, "_SINGLY", 3)
    assert CellSampler(sample, "menu", "empirical").observed is None
    monkeypatch.undo()
    fractions = build_sample(whole, None, Convention(draws="empirical"), 10)  # 2.5 and 7.5 choices
    assert CellSampler(fractions, "menu", "empirical").observed is None
    # Items in the order of labels, a, b, c, so that {b, c} comes before {a, b, c}; the last place is what was not recorded.
    partly = build_sample(SECOND, None, Convention(draws="empirical"))
    assert (
        CellSampler(partly, "menu", "empirical").observed.tolist() == [0] * 15 + [1] * 5 + [0] * 2 + [1] * 4 + [2] * 4
    )


def test_sizes_that_cannot_be_drawn():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 1, "b": 3}})
    with pytest.raises(rf.InputError, match=r"menu \{a, b\}: the sample size 4.5 is not a whole number of choices"):
        CellSampler(build_sample(data, None, Convention(), 4.5), "menu", "null")
    with pytest.raises(rf.InputError, match="every menu has sample size 1 but its frequencies are fractions"):
        CellSampler(build_sample(data, None, Convention(), 1), "menu", "null")
    one = rf.ChoiceData.from_counts({("a", "b"): {"a": 1}})
    drawn = CellSampler(build_sample(one, None, Convention()), "menu", "null").draw(
        generators(0, (), range(3)), np.array([1.0, 0.0])
    )
    assert drawn.tolist() == [[1.0, 0.0]] * 3


@pytest.mark.parametrize("number", [0, -1, 10_000_001, True, 2.0, None])
def test_numbers_of_replicates(number):
    with pytest.raises(rf.InputError, match="from 1 to 10,000,000 is needed"):
        check_replicates(number)
    assert check_replicates(np.int64(10_000_000)) == 10_000_000


def test_rows_find_their_slots():
    """Menus {a} (no choice), {a, b} and {b, c}; the last choice of b from {b, c} counts three."""
    menu, choice = np.array([0, 1, 2, 2, 1], np.int32), np.array([0, 1, 2, 1, 0], np.int16)
    weight = np.array([1.0, 0.5, 1.5, 3.0, 2.0])
    member = np.array([[True, False, False], [True, True, False], [False, True, True]])
    counts = np.array([[1.0, np.nan, np.nan], [2.0, 0.5, np.nan], [np.nan, 3.0, 1.5]])
    data = rf.ChoiceData(("a", "b", "c"), member, counts, np.array([1.0, 2.5, 4.5]), Rows(menu, choice, weight, None))
    sample = build_sample(data, None, Convention())
    slot, unit, own, keep = resample.locate_rows(sample, [data], [data.rows])
    assert keep.tolist() == [False, True, True, True, True]
    assert unit.tolist() == [0, 1, 1, 0]
    assert slot.tolist() == [1, 3, 2, 0]
    assert own.tolist() == [0.5, 1.5, 3.0, 2.0]
    sampler = make_sampler(sample, [data], "menu", None)
    assert sampler.n_units == 4
    assert sampler.n_independent.tolist() == [2.0, 2.0]
    table = sampler.table.toarray()
    assert table[:, :4].tolist() == [[0, 0.5, 0, 0], [0, 0, 0, 1.5], [0, 0, 3.0, 0], [2.0, 0, 0, 0]]
    assert table[:, 4:].tolist() == [[0.5, 0], [0, 1.5], [0, 3.0], [2.0, 0]]


def test_choices_that_were_not_recorded_are_in_no_slot():
    """Of {a, b, c} the count of b is not known; the row that took it counts for its menu only."""
    member = np.array([[True, True, True]])
    rows = Rows(np.zeros(4, np.int32), np.array([0, 1, 2, 0], np.int16), np.array([0.5, 1.0, 1.0, 1.5]), np.arange(4))
    data = rf.ChoiceData(("a", "b", "c"), member, np.array([[2.0, np.nan, 1.0]]), np.array([4.0]), rows)
    sample = build_sample(data, "counts", Convention())
    assert locate_rows(sample, [data], [rows])[0].tolist() == [0, -1, 1, 0]
    table = make_sampler(sample, [data], "menu", None).table.toarray()
    assert table.tolist() == [[0.5, 0, 0.5], [0, 0, 1.0], [0, 1.0, 1.0], [1.5, 0, 1.5]]


def test_whole_subjects_where_they_chose_several_times():
    rng = np.random.default_rng(0)
    menu, subject = rng.integers(4, size=60), np.repeat(np.arange(20), 3)
    choice = [rng.choice(np.flatnonzero(MASKS[j] >> np.arange(3) & 1)) for j in menu]
    panel, once = from_rows(menu, choice, subject), from_rows(menu, choice, np.arange(60))
    assert repeated_choices([panel]) == (20, 60.0)
    assert repeated_choices([panel, panel]) == (20, 120.0)  # the same people
    assert repeated_choices([once]) is None
    assert repeated_choices([panel, from_rows(menu, choice)]) is None  # not known of all
    assert repeated_choices([from_rows(menu, choice, np.zeros(60, int))]) is None  # one subject
    assert (resolve_cluster("auto", [panel]), resolve_cluster("auto", [once])) == (True, None)
    for given in (True, False, None):
        assert resolve_cluster(given, [panel]) is given
    automatic, asked = rf.rum_test(panel, 19, seed=1), rf.rum_test(panel, 19, seed=1, cluster=True)
    assert automatic.resample == asked.resample == "subject"
    assert automatic.pvalues.tolist() == asked.pvalues.tolist()
    for options in ({"cluster": False}, {"cluster": None}, {"convention": "recentred"}, {"convention": "abkk"}):
        assert rf.rum_test(panel, 19, seed=1, **options).resample == "menu"
    assert rf.rum_test(panel, 19, seed=1, resample="row").resample == "row"
    assert rf.rum_test(panel, 19, seed=1, convention="recentred", cluster=True).resample == "subject"
    assert rf.rum_test(once, 19, seed=1).resample == "menu"
    with pytest.raises(
        rf.InputError, match=r"cluster='always': one id for each of the 60 rows is needed, .* or 'auto'"
    ):
        rf.rum_test(panel, 19, seed=1, cluster="always")
    many = rf.rum_test_many({"panel": panel, "once": once}, 19, seed=1)
    assert [test.resample for test in many.tests] == ["subject", "menu"]
    assert rf.compare_models(panel, {"RUM": None}, n_boot=19).tests["RUM"].resample == "subject"


def tied_pair(ties, weights=None):
    """Games of two with many ties, as counts, or as weighted rows."""
    result = [1] * 6 + [0] * 3 + [0.5] * 11
    table = {"one": ["a"] * 20, "two": ["b"] * 20, "result": result}
    roles = {"menu": ["one", "two"], "choice": "result", "subject": False, "group": False}
    if weights is not None:
        table["w"], roles["weight"] = weights, "w"
    return rf.ChoiceData.from_frame(table, ties=ties, **roles)


@pytest.mark.parametrize("draws", ["null", "empirical"])
def test_ties_that_count_half_are_drawn_as_an_outcome(draws):
    """The variance is that of n draws of 1, 0 and 1/2, which is less than that of wins and losses."""
    data = tied_pair("half")
    sample = build_sample(data, None, find_convention(None, draws))
    centre = np.array([0.55, 0.45])
    drawn = make_sampler(sample, [data], "menu", None).draw(generators(0, (1,), range(4000)), centre)
    if draws == "null":
        assert drawn * 40 == pytest.approx(np.round(drawn * 40))
    assert drawn.sum(axis=1) == pytest.approx(1.0)
    mean, tied = (0.55, 11 / 20) if draws == "null" else (6 / 20 + 11 / 40, 11 / 20)
    want = (mean - tied / 2 + tied / 4 - mean**2) / 20
    assert drawn[:, 0].mean() == pytest.approx(0.55, abs=0.005)
    assert drawn[:, 0].var() == pytest.approx(want, rel=0.1)
    assert want < 0.6 * mean * (1 - mean) / 20


def test_more_ties_than_the_weaker_item_allows_are_fewer():
    data = tied_pair("half")
    sample = build_sample(data, None, find_convention(None, "null"))
    drawn = make_sampler(sample, [data], "menu", None).draw(generators(0, (1,), range(2000)), np.array([0.9, 0.1]))
    assert drawn[:, 0].mean() == pytest.approx(0.9, abs=0.005)
    assert drawn.min() >= 0


def test_halves_of_a_weighted_tie_are_one_unit():
    weights = np.linspace(0.5, 1.5, 20)
    half, whole = tied_pair("half", weights), tied_pair("outcome", weights)
    sample = build_sample(half, None, find_convention(None, "null"))
    sampler = make_sampler(sample, [half], "menu", None)
    assert sampler.n_units == 20
    three = build_sample(whole, None, find_convention(None, "null"), model=rf.Types([["a"], ["b"], [rf.TIE]]))
    other = make_sampler(three, [whole], "menu", None)
    centre = np.array([0.5, 0.2, 0.3])
    one = sampler.draw(generators(0, (1,), range(5)), np.array([0.65, 0.35]))
    two = other.draw(generators(0, (1,), range(5)), centre)
    assert one == pytest.approx(two[:, :2] + two[:, 2:] / 2)
