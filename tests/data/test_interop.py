"""Conversions to other libraries and back."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.data import interop
from rumflow.data.choices import ChoiceData
from tests.reference.shops import only_counts, same_shop


def same(a, b):
    assert a.items == b.items
    np.testing.assert_array_equal(a.masks, b.masks)
    np.testing.assert_array_equal(a.counts, b.counts)


def test_choix(subject_choices):
    same(interop.from_choix(*interop.to_choix(subject_choices), items=subject_choices.items), subject_choices)
    pairwise = interop.from_choix(2, [(0, 1), (1, 0), (0, 1)])
    assert pairwise.counts.tolist() == [[2, 1]]
    with pytest.raises(rf.InputError, match="item 5 is not from 0 to 2"):
        interop.from_choix(3, [(5, (1,))])


def test_choix_itself(subject_choices):
    choix = pytest.importorskip("choix")
    n, choices = interop.to_choix(subject_choices)
    assert choix.ilsr_top1(n, choices).shape == (3,)


def test_xlogit(subject_choices):
    arrays = interop.to_xlogit(subject_choices)
    arrays.pop("X"), arrays.pop("varnames")
    again = interop.from_xlogit(**arrays, items=subject_choices.items)
    same(again, subject_choices)
    assert again.rows.subjects == subject_choices.rows.subjects
    with pytest.raises(rf.InputError, match="not available"):
        interop.from_xlogit([1, 0], ["a", "b"], [0, 0], avail=[0, 1])


def test_xlogit_itself(subject_choices):
    xlogit = pytest.importorskip("xlogit")
    arrays = interop.to_xlogit(subject_choices)
    model = xlogit.MultinomialLogit()
    model.fit(
        X=arrays["X"], y=arrays["y"], varnames=arrays["varnames"], alts=arrays["alts"], ids=arrays["ids"], avail=arrays["avail"],
        weights=arrays["weights"], verbose=0,
    )  # fmt: skip
    assert np.isfinite(model.coeff_).all()


def test_torch_choice(subject_choices):
    arrays = interop.to_torch_choice(subject_choices)
    again = interop.from_torch_choice(**arrays, items=subject_choices.items)
    same(again, subject_choices)
    whole = interop.from_torch_choice([0, 1, 1], [0, 0, 0])
    assert whole.counts.tolist() == [[1, 2]]
    weighted = ChoiceData.from_counts({("a", "b"): {"a": 2, "b": 3}})
    assert len(interop.to_torch_choice(weighted)["item_index"]) == 5
    with pytest.raises(rf.InputError, match="not a whole number"):
        interop.to_torch_choice(ChoiceData.from_counts({("a", "b"): {"a": 0.5, "b": 3}}))


def test_conversions_of_a_hundred_items(stock):
    def equal(again):
        assert again.items == stock.items
        np.testing.assert_array_equal(again.membership, stock.membership)
        np.testing.assert_array_equal(again.counts, stock.counts)

    equal(interop.from_choix(*interop.to_choix(stock), items=stock.items))
    arrays = interop.to_xlogit(stock, constants=False)
    arrays.pop("X", None), arrays.pop("varnames", None)
    equal(interop.from_xlogit(**arrays, items=stock.items))
    equal(interop.from_torch_choice(**interop.to_torch_choice(stock), items=stock.items))


def test_other_libraries(large_shop):
    same_shop(ChoiceData.from_pairs(large_shop.to_pairs(), items=large_shop.items), large_shop)
    same_shop(interop.from_choix(*interop.to_choix(large_shop), items=large_shop.items), large_shop)
    same_shop(interop.from_torch_choice(**interop.to_torch_choice(large_shop), items=large_shop.items), large_shop)
    few = only_counts(large_shop)
    same_shop(interop.from_xlogit(**interop.to_xlogit(few, constants=False), items=large_shop.items), large_shop)


def test_wrong_choices_of_other_libraries():
    with pytest.raises(rf.InputError, match="choice 1: an item appears twice"):
        interop.from_choix(3, [(0, (1,)), (0, (1, 1))])
    with pytest.raises(rf.InputError, match="choice 0: an item appears twice"):
        interop.from_choix(3, [(0, (0, 1))])
    with pytest.raises(rf.InputError, match="at least one"):
        interop.from_choix(3, [])
    with pytest.raises(rf.InputError, match="not available in session 1"):
        interop.from_torch_choice([0, 1], [0, 1], [[1, 1], [1, 0]])
    with pytest.raises(rf.InputError, match=r"session_index\[1\] = 5"):
        interop.from_torch_choice([0, 1], [0, 5], [[1, 1], [1, 0]])
    with pytest.raises(rf.InputError, match="alternative 'b' twice"):
        interop.from_xlogit([1, 0, 0], ["a", "b", "b"], [0, 0, 0])
