"""Notes on a sample: tiny and unequal menus, few subjects, missing replicates, items in one menu only."""

from itertools import combinations

import numpy as np

import rumflow as rf
from rumflow.data.design import why_untestable
from rumflow.inference import notes, rum_test
from rumflow.inference.convention import Convention
from rumflow.inference.resample import UnitSampler, make_sampler
from rumflow.inference.sample import build_sample
from tests.reference.samples import draw_data


def test_tiny_menus_among_large_ones():
    """Resampled as they are, menus with one choice make true models look false; drawn from the null they do not."""
    rejected = {"null": 0, "empirical": 0}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rho = rf.simulate.rankings_mixture(4, 24, seed=seed)
        large = draw_data(rho, 200, seed)
        counts = large.counts.copy()
        for j in rng.choice(len(counts), 5, replace=False):
            inside = np.flatnonzero(large.membership[j])
            p = rho[large.masks[j], inside]
            counts[j, inside] = rng.multinomial(1, p / p.sum())
        data = rf.ChoiceData(large.items, large.membership, counts, np.nansum(counts, axis=1))
        for kind in rejected:
            weights = None if kind == "empirical" else "auto"
            result = rum_test(data, 59, seed=seed, tau="auto", draws=kind, weights=weights)
            rejected[kind] += result.rejects()
    assert rejected["null"] <= 2
    assert rejected["empirical"] >= 6
    assert "5 of 11 menus have fewer than 5 choices" in result.summary()
    assert "Menus are unequal, with 1 to 200 choices" in result.summary()


def test_no_note_on_remainders_where_all_was_recorded():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 8, "b": 2}, ("a", "b", "c"): {"a": 9, "b": 6, "c": 7}})
    result = rum_test(data, n_boot=9, seed=0, weights="inverse-variance")
    assert result.sample.unweighted_rest.tolist() == []
    assert not any("did not record" in note for note in result.notes)


def test_the_smallest_menus_are_named():
    counts = {pair: {pair[0]: k, pair[1]: 0} for k, pair in zip((4, 9, 2, 3, 1), combinations("abcd", 2), strict=False)}
    result = rum_test(rf.ChoiceData.from_counts(counts), n_boot=9, seed=0)
    assert "4 of 5 menus have fewer than 5 choices: {b, d} (1), {a, d} (2), {b, c} (3), ..." in result.summary()


def notes_on(counts, tau=0.1, weights="counts", draws="auto", **names):
    data = rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in counts.items()})
    sample = build_sample(data, None if weights == "1 on every cell" else weights, Convention(draws=draws))
    found = notes.find_notes(sample, make_sampler(sample, [data], "menu", None), tau, False, weights)
    return tuple(note for note in found if not note.startswith("Nothing can be tested"))  # has tests of its own


def test_tiny_and_unequal_menus():
    ab, ac, bc, abc = ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")
    assert notes_on({ab: (3, 2), abc: (20, 20, 9)}) == ()
    assert notes_on({ab: (2, 2), abc: (2, 2, 5)}) == (
        "1 of 2 menus have fewer than 5 choices: {a, b} (4). They count by their size and say little, but "
        "a p-value that rests on them is rough.",
    )
    assert notes_on({ab: (2, 2), abc: (2, 2, 5)}, weights="1 on every cell") == (
        "1 of 2 menus have fewer than 5 choices: {a, b} (4).",
    )
    assert notes_on({ab: (1, 3), ac: (1, 1), bc: (3, 0), abc: (1, 0, 0)}) == (
        "Every menu has fewer than 5 choices: {a, b, c} (1), {a, c} (2), {b, c} (3), ....",
    )
    assert notes_on({ab: (2, 2), abc: (2, 2, 5)}, draws="empirical") == (
        "1 of 2 menus have fewer than 5 choices: {a, b} (4). Resampling what was observed gives such menus too little noise, and "
        "true models are rejected too often; draws='null' does not.",
    )
    # Means of 5 and 50: 27.5, harmonic 1 / 0.11, so u = 1 - 1 / (27.5 * 0.11) = 0.669.
    unequal = "Menus are unequal, with 5 to 50 choices (inequality 0.67): "
    drawn = "samples are drawn from the fit without its least certain types."
    assert notes_on({ab: (3, 2), abc: (20, 20, 10)}) == (f"{unequal}{drawn}",)
    less = f"{unequal}tau is 0.67 of what it is for equal menus, and {drawn}"
    data = rf.ChoiceData.from_counts({ab: {"a": 3, "b": 2}, abc: {"a": 20, "b": 20, "c": 10}})
    for tau in ("auto", "thinned", ["thinned", 0.1]):
        assert less in rf.rum_test(data, 9, tau, seed=0).notes
    for tau in (0.1, "mean", [0.1, "thinned"]):
        assert f"{unequal}{drawn}" in rf.rum_test(data, 9, tau, seed=0).notes
    assert "Menus are unequal, with 5 to 50 choices." in rf.rum_test(data, 9, seed=0, draws="empirical").notes
    assert notes_on({ab: (3, 2), abc: (20, 20, 10)}, weights="1 on every cell") == (
        "Menus are unequal, with 5 to 50 choices. Each counts the same here; weights='counts' gives more to the larger.",
    )


def test_a_large_tau():
    ab, abc = ("a", "b"), ("a", "b", "c")
    assert notes_on({ab: (30, 20), abc: (20, 20, 10)}, tau=0.25) == ()
    assert notes_on({ab: (30, 20), abc: (20, 20, 10)}, tau=0.3) == (
        "tau = 0.3 is large: with 50 choices a menu replicates come from a population moved 30 % of the way to one in which "
        "every ranking is equally likely.",
    )
    assert "with 50 to 60 choices a menu" in notes_on({ab: (30, 20), abc: (20, 20, 20)}, tau=0.3)[0]
    data = rf.ChoiceData.from_counts({ab: {"a": 5, "b": 5}, abc: {"a": 2, "b": 5, "c": 3}})
    moved = "tau = 0.3 is large: with 10 choices a menu replicates come from a population moved 30 % of the way to"
    for model in (rf.SinglePeaked(["a", "b", "c"]), rf.RandomUtility(above=[("c", "a")])):
        # Not every ranking is one of the model.
        assert f"{moved} the middle of the model." in rum_test(data, 19, 0.3, seed=0, model=model).notes
    types = rum_test(data, 19, 0.3, seed=0, convention=Convention(centre="types"))
    assert f"{moved} one in which every distinct behaviour is equally likely." in types.notes


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
    assert notes.unfinished(0, True) == ["The run was interrupted: these are the replicates so far."]


def test_rest_without_a_weight_is_named():
    member = np.array([[True, True, True]])
    first = rf.ChoiceData(("a", "b", "c"), member, np.array([[5.0, 3.0, np.nan]]), np.array([10.0]))
    second = rf.ChoiceData(("a", "b", "c"), member, np.array([[5.0, np.nan, 3.0]]), np.array([10.0]))
    found = rf.rum_test({"x": first, "y": second}, 9, 0.1, "inverse-variance", seed=0)
    assert found.notes == (
        "Groups recorded different items of the same menu, so that what they did not record is not one cell: it has no weight in "
        "{a, b, c} of x, {a, b, c} of y.",
    )


def test_nothing_to_test_where_no_menu_can_contradict_another():
    note = why_untestable(rf.ChoiceData.from_counts({("a", "b"): {"a": 1}, ("c", "d"): {"c": 1}}).offered)
    assert note.startswith("Nothing can be tested")

    def idle(counts):
        data = rf.ChoiceData.from_counts({menu: dict(zip(menu, own, strict=True)) for menu, own in counts.items()})
        return [own for own in rf.rum_test(data, 9, seed=1).notes if own.startswith("Nothing can be tested")]

    assert idle({("a", "b"): (20, 30), ("c", "d"): (25, 25)}) == [note]
    assert "only one menu" in idle({("a", "b"): (20, 30)})[0]
    assert idle({("a", "b"): (20, 30), ("b", "c"): (25, 25)}) == [note]  # tied by one item only
    assert idle({("a", "b"): (20, 30), ("b", "c"): (25, 25), ("a", "c"): (25, 25)}) == []
    assert idle({("a", "b", "c"): (20, 30, 0), ("b", "c"): (25, 25)}) == []
    # Without x everybody takes b from the second.
    assert "items that nobody chose" in idle({("a", "b", "x"): (20, 30, 0), ("b", "x"): (50, 0)})[0]
    apart = rf.ChoiceData.from_counts({("a", "b"): {"a": 20, "b": 30}, ("c", "d"): {"c": 25, "d": 25}})
    assert note in rf.rum_test(apart, n_boot=9, seed=1).summary()
    known = rf.rum_test(apart, n_boot=9, seed=1, model=rf.RandomUtility(above=[("a", "b")]))
    assert note not in known.notes  # some of these choices contradict the known preference
    groups = rf.rum_test({"here": apart, "there": apart}, n_boot=9, seed=1)
    assert note not in groups.notes  # one population for both
    pairs = [{("a", "b"): {"a": 20, "b": 30}}, {("c", "d"): {"c": 25, "d": 25}}]
    here, there = (rf.ChoiceData.from_counts(counts, items=["a", "b", "c", "d"]) for counts in pairs)
    assert note in rf.rum_test({"here": here, "there": there}, n_boot=9, seed=1).notes


def test_a_p_value_may_rest_on_tiny_menus():
    """The likeliest rational population makes these choices with probability .105, so a p-value below .05 is too small."""
    counts = {("a", "b"): {"a": 1, "b": 0}, ("b", "c"): {"b": 5000, "c": 0}, ("a", "c"): {"a": 0, "c": 3}}
    result = rf.rum_test(rf.ChoiceData.from_counts(counts), n_boot=99, seed=1)
    assert any("a p-value that rests on them is rough" in note for note in result.notes)
    assert not any("no harm" in note for note in result.notes)


def test_subjects_that_made_several_choices_are_named_both_ways():
    table = {"menu": ["a,b", "a,b,c", "b,c"] * 20, "choice": ["a", "b", "c"] * 20, "subject": np.repeat(range(30), 2)}
    data = rf.ChoiceData.from_frame(table)
    together = notes.note_on_subjects(30, 60, True)
    assert together == (
        "30 subjects made 60 choices, so whole subjects are resampled. To take choices as independent, say cluster=False "
        "(--no-cluster in the shell)."
    )
    singly = notes.note_on_subjects(30, 60, False)
    assert singly.startswith("30 subjects made 60 choices, and replicates take choices as independent: ")
    assert singly.endswith("To keep the choices of a subject together, say cluster=True (--cluster in the shell).")
    default = rf.rum_test(data, n_boot=9, seed=1)
    assert default.resample == "subject"
    assert default.notes[0] == together
    assert rf.rum_test(data, n_boot=9, seed=1, cluster=False).notes[0] == singly
    assert not any(
        "made 60" in one for one in rf.rum_test(data, n_boot=9, seed=1, cluster=True).notes
    )  # as was asked for
    alone = rf.ChoiceData.from_frame({**table, "subject": range(60)})
    assert not any("subjects" in one for one in rf.rum_test(alone, n_boot=9, seed=1).notes)
    single = rf.ChoiceData.from_frame({**table, "subject": ["she"] * 60})
    assert not any("subjects" in one for one in rf.rum_test(single, n_boot=9, seed=1).notes)  # nobody else to draw
    both = rf.rum_test({"first": data, "second": data}, n_boot=9, seed=1, cluster=None).notes
    assert any(one.startswith("30 subjects made 120 choices") for one in both)  # the same people in both groups
    forced = {"menu": ["a,b", "a"] * 30, "choice": ["a", "a"] * 30, "subject": np.repeat(range(30), 2)}
    assert not any("subjects" in one for one in rf.rum_test(rf.ChoiceData.from_frame(forced), n_boot=9, seed=1).notes)
