"""Inequalities of conflicts: whole coefficients, words, Block-Marschak terms, standard errors."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.data.menus import membership_of
from rumflow.inference.conflicts import inequality
from rumflow.inference.conflicts.subsets import Subsets
from tests.reference import lattice as reference
from tests.reference.conflicts import CYCLE, DATA, choices_of
from tests.reference.examples import DECOY


@pytest.mark.parametrize("seed", range(8))
def test_inequalities_hold_for_every_ranking_and_not_for_the_data(seed):
    rng = np.random.default_rng(100 + seed)
    n = 5
    masks = np.sort(rng.choice([k for k in range(32) if k.bit_count() >= 2], 12, replace=False))
    data = rf.ChoiceData(
        tuple(range(n)),
        inside := membership_of(masks, n),
        np.where(inside, rf.simulate.dirichlet(n, seed)[masks], np.nan),
        np.ones(12),
    )
    for one in rf.explain(data, most=4).conflicts:
        menus = list(one.menus)
        c = np.array([one.inequality.coefficients.get((menu, x), 0.0) for menu in menus for x in menu])
        shares = np.concatenate([list(own.values()) for own in one.shares])
        assert (choices_of(menus, n) @ c).max() == pytest.approx(one.inequality.bound)
        assert c @ shares == pytest.approx(one.inequality.value)
        assert one.inequality.value > one.inequality.bound + 1e-6
        for menu in menus:  # the smallest coefficient of a menu is 0
            assert min(one.inequality.coefficients.get((menu, x), 0.0) for x in menu) == 0
        assert {menu for menu, _ in one.cells} == set(menus)


def test_the_slack_of_an_inequality_is_a_sum_of_block_marschak_terms(rng):
    table = rf.simulate.dirichlet(4, 3)
    data = rf.ChoiceData.from_matrix(table)
    own = Subsets(data, None, None).data
    c = rng.integers(0, 4, len(own.count)).astype(float)
    bound = inequality.highest(own.offered, c, own.items, None)
    weight, (lattice, terms) = inequality.multipliers(own, c), inequality.block_marschak_terms(own)
    assert (weight >= 0).all()
    assert weight @ terms == pytest.approx(bound - c @ own.shares)
    mask, item = lattice.cells.T
    assert terms == pytest.approx(rf.block_marschak(table)[mask, item])
    found = rf.explain(table)
    assert [value for _, _, value in found.block_marschak] == sorted(terms[terms < -1e-6])
    for one in found.conflicts:
        assert sum(k * v for _, _, k, v in one.block_marschak) <= -one.inequality.excess + 1e-9
        assert all(k > 0 > v for _, _, k, v in one.block_marschak)


def test_incomplete_data_have_no_block_marschak_terms():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert found.block_marschak is None
    assert found.conflicts[0].block_marschak is None


def test_words_of_an_inequality():
    found = rf.explain(rf.ChoiceData.from_counts(CYCLE), level=None)
    assert found.inequality.text == (
        "Of these 3 choices nobody with a ranking makes more than 2: a from {a, b}; c from {a, c}; b from {b, c}. Their shares "
        "can therefore add up to at most 2; they add up to 2.4."
    )
    assert len(found.conflicts[0].cells) == 3
    assert sum(value for _, value in found.inequality.terms) == pytest.approx(found.inequality.value)


def test_standard_errors_of_an_inequality():
    counts = {menu: {x: 10_000 * k for x, k in own.items()} for menu, own in CYCLE.items()}
    found = rf.explain(rf.ChoiceData.from_counts(counts), n_boot=39, halves=0, most=1)
    assert found.inequality.error == pytest.approx(np.sqrt(3 * 0.8 * 0.2 / 1e6), rel=1e-3)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.0, 5.0, 2.5], [0, 2, 1]),
        ([0.0, 0.3, 0.1], [0, 3, 1]),
        ([0.0, 12.0, 1.0], [0, 12, 1]),
        ([0.0, 13.0, 1.0], [0, 1, 0.077]),
        ([0.0, 1.0, 0.5019], [0, 2, 1]),
        ([0.0, 1.0, 0.5021], [0, 1, 0.502]),
        ([0.0, 2.0, 2.0], [0, 1, 1]),
    ],
)
def test_whole_coefficients(given, expected):
    assert inequality.tidy(np.array(given)).tolist() == expected


def test_what_counts_of_a_menu_in_words():
    inside = np.array([False, True, True, True])
    for c, text in [
        ([0, 1, 0, 0], "b from {b, c, d}"),
        ([0, 1, 1, 0], "anything but d from {b, c, d}"),
        ([0, 2, 0, 1], "d from {b, c, d} and 2 x (b from {b, c, d})"),
        ([0, 0, 0, 0], ""),
        ([0, 2, 2, 0], "2 x (anything but d from {b, c, d})"),
    ]:
        assert inequality.choice_in_words(DATA, inside, np.array(c, float)) == text
    four = np.ones(4, bool)
    assert inequality.choice_in_words(DATA, four, np.array([1.0, 0.0, 1.0, 0.0])) == "a or c from {a, b, c, d}"


def test_inequalities_in_words():
    terms = tuple((f"t{k}", 0.1) for k in range(10))
    assert inequality.inequality_in_words(terms, True, 3.0, 3.25, "with a ranking") == (
        "Of these 10 choices nobody with a ranking makes more than 3: t0; t1; t2; t3; t4; t5; t6; t7; and 2 more. Their shares "
        "can therefore add up to at most 3; they add up to 3.25."
    )
    assert "and" not in inequality.inequality_in_words(terms[:8], False, 1.5, 2.0, "here").split("Nobody")[0]
    assert inequality.inequality_in_words(terms[:2], False, 1.5, 2.0, "here") == (
        "Add up: t0; t1. Nobody here comes to more than 1.5, nor does any population of them; the data come to 2."
    )
    assert inequality.inequality_in_words(terms[:1], True, 0.0, 0.2, "here") == (
        "Nobody here takes t0, so that its share is at most 0; it is 0.2."
    )


def test_the_dearest_ranking(rng):
    menus = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0]], bool)
    c = rng.integers(0, 9, menus.shape) * menus
    expected = max(
        sum(c[j, next(x for x in order if menus[j, x])] for j in range(4)) for order in reference.all_rankings(4)
    )
    offered, _ = Menus.from_table(menus)
    own = c[menus].astype(float)
    assert inequality.highest(offered, own, tuple("abcd"), None) == expected
    axis = rf.SinglePeaked("abcd")
    peaked = [o for o in reference.all_rankings(4) if all(np.ptp(o[:k]) == k - 1 for k in range(1, 5))]
    expected = max(sum(c[j, next(x for x in order if menus[j, x])] for j in range(4)) for order in peaked)
    assert inequality.highest(offered, own, tuple("abcd"), axis) == expected


def test_block_marschak_terms_of_three_items():
    table = rf.simulate.dirichlet(3, 1)
    data = Subsets(rf.ChoiceData.from_matrix(table), None, None).data
    lattice, terms = inequality.block_marschak_terms(data)
    plain = reference.moebius(table)
    assert terms == pytest.approx([plain[mask, x] for mask, x in lattice.cells.tolist()], abs=1e-15)
    found = inequality.negative_terms(data, 1e-6)
    assert [value for *_, value in found] == pytest.approx(sorted(terms[terms < -1e-6]))
    for menu, item, value in found:
        assert plain[sum(1 << x for x in menu), item] == pytest.approx(value)


def test_part_of_a_menu_and_its_error():
    """Of {a, b, c} only a is kept: the rest of the choices have one coefficient."""
    kept = np.array([False, True, True, False, False])
    normal = np.array([0.0, 0.1, 0.1, 0.0, 0.0])
    found, c = inequality.make_inequality(DECOY, kept, normal, None, True)
    assert c.tolist() == [0, 1, 1, 0, 0]
    assert (found.bound, found.value) == pytest.approx((1.0, 1.2))
    assert found.coefficients == {(("a", "b"), "b"): 1.0, (("a", "b", "c"), "a"): 1.0}
    assert found.terms == (("b from {a, b}", pytest.approx(0.7)), ("a from {a, b, c}", pytest.approx(0.5)))
    means = (70 + 1 / 2) / 101, (50 + 1 / 3) / 101
    assert found.error == pytest.approx(np.sqrt(sum(m * (1 - m) / 100 for m in means)))
    below, c = inequality.make_inequality(DECOY, kept, -normal, None, False)
    assert c.tolist() == [1, 0, 0, 1, 1]
    assert below.error is None
    assert below.value == pytest.approx(0.3 + 0.5)


def test_terms_at_the_tolerance():
    """0.25 more take item 0 from all three than from {0, 1}: a term of -0.25."""
    table = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.25, 0.75, 0], [0, 0, 1], [1, 0, 0], [0, 0.5, 0.5], [0.5, 0.25, 0.25]]
    )
    data = Subsets(rf.ChoiceData.from_matrix(table), None, None).data
    assert ((0, 1), 0, -0.25) in inequality.negative_terms(data, 0.2)
    assert ((0, 1), 0, -0.25) not in inequality.negative_terms(data, 0.25)
    cells = zip(data.masks[data.offered.menu].tolist(), data.offered.item.tolist(), strict=True)
    c = np.array([float(cell in ((0b111, 0), (0b011, 1))) for cell in cells])
    (term,) = [term for term in inequality.slack_terms(data, c, 0.2) if term[:2] == ((0, 1), 0)]
    assert term[2:] == pytest.approx((1.0, -0.25))  # the slack is rho(011, 0) - rho(111, 0), this term itself
    assert all(term[:2] != ((0, 1), 0) for term in inequality.slack_terms(data, c, 0.25))
