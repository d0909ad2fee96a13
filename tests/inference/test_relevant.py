"""The part of a sample that is tested: what leaves, what is said of it, and that the rest is in the order of labels."""

import json
from itertools import combinations

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import relevant
from rumflow.inference.convention import Convention
from rumflow.inference.relevant import LeftOut, groups_that_meet, left_out, nothing_to_test, relevant_part
from rumflow.inference.sample import build_sample
from tests.reference.commands import run

BASE = {
    ("a", "b"): {"a": 45, "b": 55},
    ("b", "c"): {"b": 40, "c": 60},
    ("a", "c"): {"a": 60, "c": 40},
    ("a", "b", "c"): {"a": 50, "b": 25, "c": 25},
}
PAIR = {("p", "q"): {"p": 3, "q": 4}}
DEAD = {(*menu, "x"): own | {"x": 0} for menu, own in BASE.items()}


def sample_of(counts, weights="counts", convention=None, **options):
    data = rf.ChoiceData.from_counts(counts, **options)
    return build_sample(data, weights, Convention() if convention is None else convention)


def assert_same(first, second):
    assert first.items == second.items
    for name in ("unit_group", "unit_menu", "sizes", "unit", "item", "frequency", "weights", "column", "centre"):
        assert getattr(first, name).tolist() == getattr(second, name).tolist(), name
    assert first.scale == second.scale
    assert first.menus.tolist() == second.menus.tolist()


@pytest.mark.parametrize("weights", ["counts", None])
def test_what_is_left_is_the_sample_without_it(weights):
    base = sample_of(BASE, weights)
    assert relevant_part(base) is base
    for counts in (BASE | PAIR, DEAD, PAIR | {("p", "a"): {"p": 1, "a": 9}} | DEAD | {("z",): {"z": 5}}):
        whole = sample_of(counts, weights)
        assert_same(relevant_part(whole), base)
        assert relevant_part(whole).unit_row.tolist() != []
    shuffled = sample_of(BASE, weights, items=["c", "a", "b"])
    assert shuffled.items == ("c", "a", "b")
    assert_same(relevant_part(shuffled), base)


def test_published_conventions_and_the_cone_keep_everything():
    for own in (Convention(as_published=True), Convention("cone"), rf.Convention("cone", "drop-last")):
        whole = sample_of(BASE | PAIR, None, own)
        assert relevant_part(whole) is whole
    kept = rf.rum_test(rf.ChoiceData.from_counts(BASE | PAIR), n_boot=9, seed=1, convention="recentred")
    assert not kept.left_out
    assert kept.whole is kept.sample


def test_weights_of_cells_decide_whether_an_item_leaves():
    data = rf.ChoiceData.from_counts(DEAD)
    even = np.ones((len(data.totals), 4))
    assert relevant_part(build_sample(data, even, Convention())).items == ("a", "b", "c")
    even[1] = 2.0
    assert relevant_part(build_sample(data, even, Convention())).items == ("a", "b", "c")
    even[:, data.items.index("x")] = 3.0
    assert relevant_part(build_sample(data, even, Convention())).items == ("a", "b", "c", "x")
    pearson = rf.rum_test(data, n_boot=9, seed=1, weights="inverse-variance")
    assert not pearson.left_out
    more = rf.rum_test(rf.ChoiceData.from_counts(BASE | PAIR), n_boot=9, seed=1, weights="inverse-variance")
    assert more.left_out.menus == (("p", "q"),)
    plain = rf.rum_test(rf.ChoiceData.from_counts(BASE), n_boot=9, seed=1, weights="inverse-variance")
    assert more.statistic == pytest.approx(plain.statistic, rel=1e-9)
    assert more.pvalues.tolist() == plain.pvalues.tolist()


def test_what_was_recorded_in_part():
    data = rf.ChoiceData.from_counts(DEAD | PAIR, items=["a", "b", "c", "x", "p", "q"])
    counts = data.counts.copy()
    place = data.menus.index(("a", "b", "c", "x"))
    counts[place, 2] = np.nan
    partly = rf.ChoiceData(data.items, data.membership, counts, data.totals)
    for weights in ("counts", "inverse-variance"):
        found = rf.rum_test(partly, n_boot=9, seed=1, weights=weights)
        assert found.left_out == LeftOut((("p", "q"),), ())  # x stays: not all of its menus were recorded
        alone = rf.rum_test(rf.ChoiceData(*_without_pair(partly)), n_boot=9, seed=1, weights=weights)
        assert found.statistic == pytest.approx(alone.statistic, rel=1e-9)
        assert found.pvalues.tolist() == alone.pvalues.tolist()
    hidden = data.counts.copy()
    hidden[data.menus.index(("p", "q")), -2:] = [3, np.nan]
    again = rf.ChoiceData(data.items, data.membership, hidden, data.totals)
    assert rf.rum_test(again, n_boot=9, seed=1).left_out == LeftOut((("p", "q"),), ("x",))


def _without_pair(data):
    rows = [i for i, menu in enumerate(data.menus) if "p" not in menu]
    return data.items[:4], data.membership[rows][:, :4], data.counts[rows][:, :4], data.totals[rows]


def test_groups():
    first, second = rf.ChoiceData.from_counts(BASE | PAIR), rf.ChoiceData.from_counts(DEAD)
    found = rf.rum_test({"one": first, "two": second}, n_boot=19, seed=1)
    assert found.left_out == LeftOut((("p", "q"),), ())  # menus with x, of one group only, and without are different
    shared = rf.rum_test({"one": first, "two": rf.ChoiceData.from_counts(BASE | PAIR)}, n_boot=19, seed=1)
    assert not shared.left_out  # both groups must have the same shares of the pair
    dead = rf.rum_test([second, rf.ChoiceData.from_counts(DEAD | PAIR)], n_boot=19, seed=1)
    plain = rf.rum_test([rf.ChoiceData.from_counts(BASE)] * 2, n_boot=19, seed=1)
    assert dead.left_out == LeftOut((("p", "q"),), ("x",))
    assert (dead.statistic, dead.taus, dead.pvalues.tolist()) == (plain.statistic, plain.taus, plain.pvalues.tolist())


def test_a_result_has_fits_of_all_data():
    data = rf.ChoiceData.from_counts(DEAD | PAIR, items=["x", "q", "c", "p", "b", "a"])
    found, plain = rf.rum_test(data, n_boot=9, seed=1), rf.rum_test(rf.ChoiceData.from_counts(BASE), n_boot=9, seed=1)
    assert found.sample.items == ("a", "b", "c")
    assert found.membership.tolist() == data.membership.tolist()
    fit = rf.project(data, "counts")
    assert np.nanmax(np.abs(found.fitted - fit.fitted)) < 1e-7
    assert found.rho.shape == found.flow.shape == (64, 6)
    assert (found.flow >= 0).all()
    assert [(set(own[0]), *own[1:]) for own in found.misfits()] == [
        ({*own[0], "x"}, *own[1:]) for own in plain.misfits()
    ]
    assert "a from {x, c, b, a}: observed 0.500, fitted 0.471" in found.summary()  # as it was offered
    assert found.left_out == LeftOut((("q", "p"),), ("x",))
    assert found.binding() != []
    assert "  data         6 items, 5 menus of two or more, 407 choices (7 to 100 a menu)" in found.summary()
    line = "  left out     1 menu that no other can contradict ({q, p}) and 1 item that nobody chose (x)"
    assert line in found.summary()
    assert "left out" not in plain.summary()


def test_many_names_are_cut_off():
    many = LeftOut(tuple((f"p{i}", f"q{i}") for i in range(5)), ("x", "y", "z", "w"))
    items = tuple(x for menu in many.menus for x in menu)
    assert many.describe(items) == (
        "5 menus that no other can contradict ({p0, q0}, {p1, q1}, {p2, q2}, ...) and 4 items that nobody chose (x, y, z, ...)"
    )
    assert not LeftOut()


def test_nothing_would_stay():
    tree = sample_of({("a", "b"): {"a": 3, "b": 4}, ("b", "c"): {"b": 5, "c": 4}})
    assert relevant_part(tree) is tree
    assert nothing_to_test(tree)
    assert not nothing_to_test(sample_of(BASE))
    assert left_out(tree, tree) == LeftOut()
    found = rf.rum_test(
        rf.ChoiceData.from_counts({("a", "b"): {"a": 3, "b": 4}, ("b", "c"): {"b": 5, "c": 4}}), 19, seed=1
    )
    assert (found.statistic, found.pvalue) == (0.0, 1.0)


def test_groups_meet_where_their_menus_share_a_block():
    pair = {("c", "d"): {"c": 3, "d": 4}}  # shares the item c with the first, and no block
    groups = [rf.ChoiceData.from_counts(own) for own in (BASE, pair, {("a", "b"): {"a": 1, "b": 1}}, PAIR)]
    for convention, meet in ((Convention(), [1, 0, 1, 0]), (Convention("cone"), [1, 1, 1, 1])):
        assert groups_that_meet(build_sample(groups, None, convention)).tolist() == meet
    assert groups_that_meet(build_sample(groups[1:2] * 2, "counts", Convention())).all()  # one menu, offered to both


def test_menus_that_are_asked_for_stay_with_their_blocks():
    data = rf.ChoiceData.from_counts(DEAD | PAIR | {("r", "s"): {"r": 3, "s": 4}})
    whole = build_sample(data, "counts", Convention())
    asked = np.array([[label in ("p", "q") for label in data.items]])
    assert relevant_part(whole, asked).items == ("a", "b", "c", "p", "q")
    asked = np.array([[label in ("a", "x") for label in data.items]])
    assert relevant_part(whole, asked).items == ("a", "b", "c", "x")
    asked = np.array([[label in ("p", "r") for label in data.items]])  # ties nothing that could be contradicted: a tree
    assert relevant_part(whole, asked).items == ("a", "b", "c", "p", "r")
    asked = np.array([[label in ("p", "q", "s") for label in data.items]])
    assert relevant_part(whole, asked).items == ("a", "b", "c", "p", "q", "s")


def test_intervals_do_not_depend_on_what_cannot_matter():
    plain = rf.bounds(rf.ChoiceData.from_counts(BASE), ("a", "b"), "a", n_boot=39, seed=1)
    counts = BASE | {("p", "q"): {"p": 4000, "q": 4000}, ("q", "c"): {"q": 1, "c": 0}}
    more = rf.bounds(
        rf.ChoiceData.from_counts(counts, items=["q", "c", "b", "p", "a"]), ("a", "b"), "a", n_boot=39, seed=1
    )
    assert more.confidence_lower == pytest.approx(plain.confidence_lower, abs=1e-9)
    assert more.confidence_upper == pytest.approx(plain.confidence_upper, abs=1e-9)
    own = rf.bounds(rf.ChoiceData.from_counts(counts), ("p", "q"), "p", n_boot=39, seed=1)
    assert 0.45 < own.confidence_lower[0] < 0.5 < own.confidence_upper[0] < 0.55  # by the choices from that menu


@pytest.mark.parametrize("kind", ["profile", "distance"])
def test_intervals_of_even_shares_do_not_depend_on_what_cannot_matter(kind):
    """Where half of the choices from a menu are of one item, the last bit of a sharp bound once decided how samples are drawn."""
    menus = [("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c"), ("a", "b", "d"), ("b", "d")]
    pairs = {(f"u{i}", f"v{i}"): {f"u{i}": 1, f"v{i}": 1} for i in range(20)}
    for seed in (1, 20):
        rng = np.random.default_rng(seed)
        base = {m: dict(zip(m, rng.multinomial(40, np.full(len(m), 1 / len(m))).tolist(), strict=True)) for m in menus}
        ends = [
            rf.bounds(data, ["a", "d"], "a", confidence=0.9, seed=1, interval=kind).confidence_interval("a")
            for data in (
                rf.ChoiceData.from_counts(base, items=list("abcd")),
                rf.ChoiceData.from_counts(base, items=list("dabc")),
                rf.ChoiceData.from_counts({m: base[m] for m in reversed(menus)}, items=list("cdba")),
                rf.ChoiceData.from_counts(base | pairs),
            )
        ]
        assert np.ptp(ends, axis=0).max() < 1e-9


def test_intervals_begin_from_rounded_bounds():
    """Sharp bounds of the same data in another order differ in their last digits; what is tested does not."""
    rng = np.random.default_rng(101)
    sets = [m for k in (2, 3, 4) for m in combinations("abcde", k)]
    menus = [sets[i] for i in rng.choice(len(sets), 9, replace=False)]
    counts = {
        m: dict(zip(m, rng.multinomial(50, rng.dirichlet(np.full(len(m), 3.0))).tolist(), strict=True)) for m in menus
    }
    asked = next(m for m in combinations("abcde", 2) if m not in counts)
    ends = [
        rf.bounds(
            rf.ChoiceData.from_counts(counts, items=list(order)), asked, asked[0], confidence=0.9, n_boot=99, seed=1
        ).confidence_lower
        for order in ("abcde", "dbeca", "edcba")
    ]
    assert np.ptp(ends) < 1e-9


def test_explanations_do_not_depend_on_what_cannot_matter():
    counts = {("a", "b"): {"a": 90, "b": 10}, ("a", "b", "c"): {"a": 20, "b": 60, "c": 20}}
    plain = rf.explain(rf.ChoiceData.from_counts(counts), halves=0)
    pairs = {(f"p{i}", f"q{i}"): {f"p{i}": 30, f"q{i}": 30} for i in range(10)}
    more = rf.explain(rf.ChoiceData.from_counts(counts | pairs), halves=0)
    assert (more.pvalue, more.conflict) == (plain.pvalue, plain.conflict)


def test_subjects_of_menus_that_left_are_not_drawn():
    rng = np.random.default_rng(1)
    menus = ["a,b", "b,c", "a,c", "a,b,c"]
    rows = [(s, menu, rng.choice(menu.split(","))) for s in range(40) for menu in menus]
    more = [*rows, *((s, "p,q", "p") for s in range(30, 60)), *((s, "r,s", "s") for s in range(3) for _ in range(5))]

    def tested(table):
        subject, menu, choice = zip(*table, strict=True)
        data = rf.ChoiceData.from_frame({"subject": subject, "menu": menu, "choice": choice})
        return rf.rum_test(data, n_boot=49, seed=1)

    plain, found = tested(rows), tested(more)
    assert plain.resample == found.resample == "subject"
    assert found.left_out.menus == (("p", "q"), ("r", "s"))
    assert (found.statistic, found.taus) == (plain.statistic, plain.taus)
    assert found.pvalues.tolist() == plain.pvalues.tolist()
    assert found.notes == plain.notes  # 40 subjects made 160 choices


def test_many_tests_checkpoints_and_json(tmp_path, capsys):
    plain, more = rf.ChoiceData.from_counts(BASE), rf.ChoiceData.from_counts(DEAD | PAIR)
    both = rf.rum_test_many({"plain": plain, "more": more}, n_boot=19, seed=1)
    assert both["plain"].statistic == both["more"].statistic
    path = tmp_path / "draws.npz"
    first = rf.rum_test(plain, n_boot=19, seed=1, checkpoint=path)
    assert rf.rum_test(more, n_boot=19, seed=1, checkpoint=path).pvalues.tolist() == first.pvalues.tolist()
    lines = [f"{'|'.join(menu)},{item},{count}\n" for menu, own in (DEAD | PAIR).items() for item, count in own.items()]
    (tmp_path / "counts.csv").write_text("menu,item,count\n" + "".join(lines), encoding="utf-8")
    code, text, _ = run(capsys, "test", tmp_path / "counts.csv", "--n-boot", 9, "--seed", 1, "--json")
    assert code == 0
    found = json.loads(text)
    assert found["left_out"] == {"menus": [["p", "q"]], "items": ["x"]}
    assert found["choices"] == 407


def test_thousands_of_items():
    rng = np.random.default_rng(0)
    pairs = {(f"p{i}", f"p{rng.integers(i)}"): {f"p{i}": 1} for i in range(1, 3000)}  # a tree
    whole = sample_of(BASE | {menu: dict.fromkeys(menu, 1) for menu in pairs})
    assert_same(relevant_part(whole), sample_of(BASE))


def test_summaries_are_made_of_what_left_only_when_asked_for(monkeypatch):
    calls = []
    monkeypatch.setattr("rumflow.inference.result.left_out", lambda *a: calls.append(a) or relevant.LeftOut())
    found = rf.rum_test(rf.ChoiceData.from_counts(BASE | PAIR), n_boot=9, seed=1)
    assert calls == []
    assert not found.left_out
    assert len(calls) == 1


@pytest.mark.parametrize("route", ["graph", "lattice", "bounded"])
def test_weights_on_nothing_but_what_cannot_be_contradicted(route):
    """A triangle without weights beside a pair with them: there is nothing to test, and bounds are wide."""
    data = rf.ChoiceData.from_counts(
        {("a", "b"): {"a": 3, "b": 4}, ("a", "b", "c"): {"a": 3, "b": 4, "c": 2}, ("x", "y"): {"x": 3, "y": 5}}
    )
    alone = np.array([menu == ("x", "y") for menu in data.menus])
    weights = np.where(data.membership, 1.0, 0.0)
    on_pair, on_rest = np.where(alone[:, None], weights, 0.0), np.where(alone[:, None], 0.0, weights)
    test = rf.rum_test(data, 19, weights=on_pair, seed=0, route=route)
    assert (test.statistic, test.pvalue) == (0.0, 1.0)
    assert "Nothing can be tested" in test.summary()
    if route != "bounded":
        found = rf.bounds(data, ("a", "c"), weights=on_pair, n_boot=39, seed=0, route=route)
        assert found["a"] == pytest.approx((0.0, 1.0), abs=1e-9)
    else:
        assert rf.project(data, on_pair, route=route).objective == 0.0
    rest = rf.rum_test(data, 19, weights=on_rest, seed=0, route=route)
    assert rest.left_out.menus == (("x", "y"),)
