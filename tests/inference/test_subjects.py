"""Scores of subjects as users see them."""

import numpy as np
import pytest

import rumflow as rf

MENUS = ("a|b", "b|c", "a|c")


def votes(*chosen):
    who = np.repeat(np.arange(len(chosen)), 3).tolist()
    return {"subject": who, "menu": list(MENUS) * len(chosen), "choice": list("".join(chosen))}


def test_scores_chance_and_forms():
    found = rf.subject_scores(votes("aba", "abc", "bba"), seed=3, n_random=2000)
    assert found.score.tolist() == pytest.approx([1, 2 / 3, 1])
    assert found.swaps.tolist() == [0, 1, 0]
    assert found.cycles.tolist() == [0, 1, 0]
    # Of eight ways to choose from three pairs two are cycles.
    assert found.chance == pytest.approx(np.full(3, 11 / 12), abs=0.02)
    assert found.to_frame("dict")["subject"] == [0, 1, 2]
    assert "1 subject is no more consistent than a random chooser" in found.summary()
    assert found.to_dict()["subjects"][1]["swaps"] == 1.0


def test_the_seed_decides_and_threads_do_not():
    data = votes(*(["aba", "abc"] * 300))
    one, two = (rf.subject_scores(data, seed=1, threads=threads) for threads in (1, 2))
    assert one.chance.tolist() == two.chance.tolist()
    assert one.chance.tolist() != rf.subject_scores(data, seed=2).chance.tolist()
    assert one.random == 100


def test_budgets_and_quantities_have_afriats_index():
    prices, quantities = [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]]
    found = rf.subject_scores(quantities, prices=prices, seed=0)
    assert found.score.tolist() == pytest.approx([0.8])
    assert found.swaps is None
    assert "Afriat's efficiency index" in found.summary()
    shares = np.array([[0.2, 0.8], [0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    budgets = rf.BudgetData.from_shares(prices, [0, 1, 0, 1], shares, cluster=["x", "x", "y", "y"])
    scores = rf.subject_scores(budgets, seed=0)
    assert scores.subjects == ("x", "y")
    each = [
        rf.subject_scores(shares[k] / np.array(prices), prices=prices, seed=0).score[0]
        for k in (slice(0, 2), slice(2, 4))
    ]
    assert scores.score.tolist() == pytest.approx(each)


def test_a_large_tangle_is_said():
    n = 25
    data = {
        "subject": [1] * n, "menu": [f"i{k}|i{(k + 1) % n}" for k in range(n)], "choice": [f"i{k}" for k in range(n)],
    }  # fmt: skip
    found = rf.subject_scores(data, seed=0, n_random=1)
    assert np.isnan(found.score[0])
    assert "more than 24 items tangled in cycles" in found.summary()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({("a", "b"): {"a": 1, "b": 2}},), "not known who chose"),
        (([[1.0, 2.0]], [[1.0]]), "as many are needed"),
        (([[1.0, 2.0]], [[1.0, -1.0]]), "must be positive"),
        (([[0.0, 0.0]], [[1.0, 1.0]]), "spends nothing"),
        (([[1.0, 2.0]], [[1.0, 1.0]], [1, 2]), "one is needed for each of the 1 purchases"),
        ((np.ones((2, 2)),), "choices, budgets, or quantities"),
        ((votes("aba"), None, [1]), "beside quantities and prices only"),
    ],
)
def test_what_is_refused(arguments, words):
    names = dict(zip(("prices", "subject"), arguments[1:], strict=False))
    with pytest.raises(rf.InputError, match=words):
        rf.subject_scores(arguments[0], **names)


def test_ties_are_left_out_and_said():
    votes = {"first": list("aba"), "second": list("bcc"), "winner": ["a", "b", "tie"], "who": ["x"] * 3}
    alone = {name: own[:2] for name, own in votes.items()}
    for ties in ("half", "outcome"):
        found = rf.subject_scores(rf.ChoiceData.from_frame(votes, ties=ties, subject="who"), seed=0)
        plain = rf.subject_scores(
            rf.ChoiceData.from_frame(alone, menu=["first", "second"], choice="winner", subject="who"), seed=0
        )
        assert found.table == plain.table
        assert found.notes == ("1 of 3 choices are ties, which no ranking makes: left out.",)
        assert "0 subjects are no more consistent" in found.summary()
        assert "1 subject had no occasion to be inconsistent" in found.summary()


def test_subjects_may_have_labels_of_several_kinds():
    found = rf.subject_scores(np.ones((3, 2)), prices=np.ones((3, 2)), subject=["b", None, 3], seed=0)
    assert set(found.subjects) == {"b", None, 3}
    assert found.observations.tolist() == [1, 1, 1]
