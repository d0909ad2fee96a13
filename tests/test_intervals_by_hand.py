"""Projections with a functional given, intervals and conventions by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from hand_examples import PAIR, TWO

import rumflow as rf
from rumflow.data.choices import Rows
from rumflow.inference import confidence, restricted
from rumflow.inference.confidence import BoundsOptions, Inversion, has_counts
from rumflow.inference.convention import CONVENTIONS, Convention, find_convention, find_taus
from rumflow.inference.restricted import Restricted, find_roots, tilted_shares
from rumflow.inference.sample import build_sample

# Projections with a functional given ------------------------------------------------------------------------------------------


def test_a_pair_with_its_share_given():
    """(0.75, 0.25) against (t, 1 - t), tightened towards itself: 40 times twice the square, whatever tau."""
    sample = build_sample(PAIR, "counts", Convention())
    own = Restricted(sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    assert (own.least, own.most) == pytest.approx((0.0, 1.0), abs=1e-7)
    p = np.array([[0.75, 0.25], [0.2, 0.8]])
    for theta in (0.1, 0.5, 0.9):
        for tau in (0.0, 0.3):
            found = own.measure(p, theta, tau)
            assert found.statistic == pytest.approx(80 * (p[:, 0] - theta) ** 2, rel=1e-3)
            assert found.nearest == pytest.approx(np.tile([theta, 1 - theta], (2, 1)), abs=1e-3)
        assert own.inner(theta) == pytest.approx([theta, 1 - theta], abs=1e-9)


@pytest.mark.parametrize("cells", [[(0, 0)], [(0, 0), (1, 2)]])
@pytest.mark.parametrize("factor", [3.0, -2.0])
def test_a_functional_times_a_number_is_the_same_question(cells, factor):
    sample = build_sample(TWO, "counts", Convention())
    menus, c = np.array([[True, False, True], [True, True, True]]), np.zeros((2, 3))
    for j, x in cells:
        c[j, x] = 1.0
    one, other = Restricted(sample, menus, c), Restricted(sample, menus, factor * c)
    ends = sorted((factor * one.least, factor * one.most))
    assert (other.least, other.most) == pytest.approx(ends, abs=1e-6)
    theta = 0.6 * one.most + 0.4 * one.least
    p = np.array([sample.frequency, [0.1, 0.9, 0.3, 0.3, 0.4]])
    left, right = one.measure(p, theta, 0.2), other.measure(p, factor * theta, 0.2)
    assert left.statistic == pytest.approx(right.statistic, rel=2e-3, abs=2e-3)
    assert one.inner(theta) @ one._c == pytest.approx(theta, abs=1e-6)
    assert other.inner(factor * theta) @ other._c == pytest.approx(factor * theta, abs=1e-5)


def test_weights_too_far_apart_have_no_intervals(monkeypatch):
    sample = build_sample(TWO, "counts", Convention())  # 40 and 100 choices: a spread of 2.5
    menu, c = np.array([[True, False, True]]), np.array([[1.0, 0.0, 0.0]])
    monkeypatch.setattr(restricted, "MOST_SPREAD", 2.5e3 + 1e-6)
    assert Restricted(sample, menu, c)._cell < 0  # no room for a heavy cell
    monkeypatch.setattr(restricted, "MOST_SPREAD", 2.4e3)
    with pytest.raises(rf.InputError, match=r"differ by a factor of 2, and intervals need one below 2e\+00"):
        Restricted(sample, menu, c)
    monkeypatch.setattr(restricted, "MOST_SPREAD", 2.5 * 2e4)
    assert Restricted(sample, menu, c)._cell >= 0
    with pytest.raises(rf.InputError, match="one group at a time"):
        Restricted(build_sample([TWO, TWO], None, Convention()), menu, c)


def test_roots_are_found_in_few_rounds():
    """Straight lines with the slope that was guessed: left and right end, and then the root itself."""
    calls = []

    def lines(rows, at):
        calls.append(rows.tolist())
        return np.array([2.0, -3.0, 0.0])[rows] - 0.5 * at

    found = find_roots(lines, 3, 2.0, 1e-9)
    assert found == pytest.approx([4.0, -6.0, 0.0])
    assert calls == [[0, 1, 2], [0, 1], [0, 1]]

    def bent(rows, at):
        return 1.0 - at**3

    assert find_roots(bent, 1, 0.05, 1e-9) == pytest.approx([1.0], abs=1e-8)


def test_shares_with_a_given_mean():
    c = np.array([1.0, 2.0, 4.0])
    for mean in (1.2, 7 / 3, 3.9):
        shares = tilted_shares(c, mean)
        assert shares @ c == pytest.approx(mean, abs=1e-9)
        assert shares.sum() == pytest.approx(1.0)
        assert np.log(shares[1] / shares[0]) == pytest.approx(np.log(shares[2] / shares[1]) / 2, abs=1e-9)
    assert tilted_shares(c, 1.0).tolist() == [1.0, 0.0, 0.0]
    assert tilted_shares(c, 0.0).tolist() == [1.0, 0.0, 0.0]
    assert tilted_shares(c, 4.0).tolist() == [0.0, 0.0, 1.0]
    assert tilted_shares(np.array([2.0, 2.0]), 2.0) == pytest.approx([0.5, 0.5])


# Intervals --------------------------------------------------------------------------------------------------------------------


class Steps:
    """A test that keeps the values between two numbers, on the range from 0 to 1."""

    def __init__(self, low, high, model=0.5):
        self.low, self.high, self.level, self._model, self.asked = low, high, 0.1, model, []

    def pvalue_at(self, _, theta, whole=True):
        self.asked.append(theta)
        return 0.5 if self.low <= theta <= self.high else 0.02 + 0.05 * (theta >= 0.9)

    def model_pvalue(self):
        return self._model


WHOLE = SimpleNamespace(least=0.0, most=1.0)


def test_ends_of_an_interval():
    """From the sharp bounds 0.4 and 0.6: four steps outwards, then eight halvings of a step of 0.1."""
    found = Inversion.interval(Steps(0.25, 0.7), WHOLE, 0.4, 0.6)
    assert found.low == pytest.approx(0.25 - 0.1 / 2**8, abs=1e-9)
    assert found.high == pytest.approx(0.7 + 0.1 / 2**8, abs=1e-9)
    assert found.note == ""
    assert Inversion.interval(Steps(-1.0, 2.0), WHOLE, 0.4, 0.6) == (0.0, 1.0, "")
    assert Inversion.interval(Steps(0.5, 0.5), WHOLE, 0.4, 0.6).low == pytest.approx(0.5, abs=0.125 / 2**8)
    outside = Inversion.interval(Steps(0.25, 0.7), SimpleNamespace(least=0.3, most=0.65), 0.2, 0.9)
    assert outside[:2] == (0.3, 0.65)
    counted = Steps(0.25, 0.7)
    Inversion.interval(counted, WHOLE, 0.4, 0.6)
    assert len(counted.asked) == len(set(counted.asked))  # no value is tested twice
    assert counted.asked[:3] == [0.4, 0.5, 0.6]


def test_values_beyond_the_bounds_are_tried():
    steps = Steps(0.32, 0.34)
    found = Inversion.interval(steps, WHOLE, 0.4, 0.6)
    assert found.low == pytest.approx(0.32, abs=0.1 / 2**8)
    tried = sorted(steps.asked[:11])
    away = np.array([1, 2, 4, 8]) / 64
    assert tried == pytest.approx(sorted([0.4, 0.5, 0.6, *(0.4 - away), *(0.6 + away)]))
    near = Steps(5.0, 5.0)
    Inversion.interval(near, SimpleNamespace(least=0.39, most=0.61), 0.4, 0.6)
    assert min(near.asked) >= 0.39
    assert max(near.asked) <= 0.61


def test_where_no_value_is_kept():
    found = Inversion.interval(Steps(5.0, 5.0), WHOLE, 0.4, 0.6)
    assert np.isnan(found[:2]).all()
    assert found.note == (
        "no value is kept at this level although the model is not rejected (p = 0.5); closest to it is 0.4 (p = 0.02)"
    )
    high = Inversion.interval(Steps(5.0, 5.0), WHOLE, 0.4, 0.85)
    assert high.note.endswith("closest to it is 0.912 (p = 0.07)")
    rejected = Inversion.interval(Steps(5.0, 5.0, model=0.1), WHOLE, 0.4, 0.6)
    assert rejected.note == "no value, because the model itself is rejected (p = 0.1)"


def test_pvalues_of_a_pair_by_hand():
    """At theta the replicates come from (theta, 1 - theta): the share of those as far from theta as the data."""
    test = Inversion(PAIR, 0.9, BoundsOptions(n_boot=39, seed=5, threads=1))
    assert test.level == pytest.approx(0.1)
    assert test.level > 0.1
    assert test._tau == pytest.approx(2 * 0.525 * 40**-0.2)
    own = Restricted(test.sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    told = []
    test._advance = told.append
    for theta in (0.6, 0.72, 0.9):
        far = []
        for i in range(39):
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(5, spawn_key=(i,))))
            far.append(abs(rng.multinomial(40, [theta, 1 - theta, 0.0])[0] / 40 - theta) >= abs(0.75 - theta) - 1e-6)
        assert test.pvalue_at(own, theta) == pytest.approx((1 + sum(far)) / 40)
    assert told == [1, 1, 1]
    assert test.model_pvalue() == 1.0


def test_replicates_are_drawn_while_they_matter():
    """21 replicates at 90 %: after 20, none of them as far, the last one changes nothing."""
    test = Inversion(PAIR, 0.9, BoundsOptions(n_boot=21, seed=5, threads=1))
    own = Restricted(test.sample, np.array([[True, True]]), np.array([[1.0, 0.0]]))
    drawn, draw = [], test._sampler.draw
    test._sampler.draw = lambda generators, centre: (drawn.append(len(generators)), draw(generators, centre))[1]
    assert test.pvalue_at(own, 0.1, whole=False) == 1 / 22
    assert drawn == [20]
    drawn.clear()
    assert test.pvalue_at(own, 0.75, whole=False) == 21 / 22  # enough of them are as far
    assert drawn == [20]
    drawn.clear()
    assert test.pvalue_at(own, 0.75) == 1.0
    assert drawn == [21]
    more = Inversion(PAIR, 0.9, BoundsOptions(n_boot=99, seed=5, threads=1))
    more._sampler.draw = test._sampler.draw
    drawn.clear()
    assert more.pvalue_at(own, 0.1, whole=False) == 1 / 100
    assert drawn == [20, 40, 39]  # after 60 the other 39 could still turn it


def test_tau_of_intervals():
    sample = build_sample(PAIR, "counts", Convention())
    behind = np.array([40.0])
    assert confidence.interval_tau("auto", sample, behind) == pytest.approx(1.05 * 40**-0.2)
    assert confidence.interval_tau("mean", sample, behind) == pytest.approx(0.525 * 40**-0.2)
    assert confidence.interval_tau(0.3, sample, behind) == 0.3
    assert confidence.interval_tau("auto", build_sample(PAIR, "counts", Convention(tau=0.6)), behind) == 0.9


def test_data_with_counts():
    member = np.array([[True, True]])

    def data(counts, total):
        return rf.ChoiceData(("a", "b"), member, np.array([counts]), np.array([total]))

    assert has_counts(PAIR)
    assert has_counts(data([1.0, 0.0], 1.0))  # one choice
    assert not has_counts(data([0.5, 0.5], 1.0))  # probabilities
    assert has_counts(data([1.0, 1.0], 2.0))
    assert not has_counts(data([1.0, 1.5], 2.5))
    assert not has_counts(rf.ChoiceData.from_counts({("a",): {"a": 5}}))
    assert not has_counts(np.ones((4, 2)))
    rows = Rows(np.array([0], np.int32), np.array([0], np.int16), np.array([0.5]), None)
    assert has_counts(rf.ChoiceData(("a", "b"), member, np.array([[0.5, 0.0]]), np.array([0.5]), rows))


@pytest.mark.parametrize(
    ("level", "words"), [(0.0, "between 0 and 1"), (1.0, "between 0 and 1"), (0.9, "at least 9 replicates")]
)
def test_levels_of_intervals(level, words):
    with pytest.raises(rf.InputError, match=words):
        BoundsOptions(confidence=level, n_boot=8).level_for(PAIR)


# Conventions ------------------------------------------------------------------------------------------------------------------


def test_values_of_tau():
    behind, items = np.array([1.0, 32.0, 243.0]), np.array([2.0, 3.0, 4.0])
    mean = 0.4 * (3**-0.2 + 0.5 + 1 / 3) / 3
    thinned = mean * (1 - 0.9 / 2)
    assert find_taus("auto", behind, items, Convention(), 0.9) == pytest.approx((thinned, 0.0, 2 * thinned))
    assert find_taus("auto", behind, items, Convention()) == pytest.approx((mean, 0.0, 2 * mean))
    assert find_taus("mean", behind, items, Convention(tau=0.2)) == pytest.approx((mean,))
    assert find_taus("auto", behind, items, Convention(tau=0.2)) == (0.2, 0.0, 0.4)
    assert find_taus("auto", behind, items, Convention(tau=0.5)) == (0.5, 0.0)  # twice as much is no tau
    assert find_taus("auto", behind, items, Convention(set="cone", tau=0.5)) == (0.5, 0.0, 1.0)
    assert find_taus("auto", behind, items, Convention(tau=0)) == (0.0,)
    assert find_taus(0.5, behind, items, Convention()) == (0.5,)
    assert find_taus([0.5, "auto"], behind, items, Convention(), 0.9) == pytest.approx((0.5, thinned))
    smallest = np.sqrt(np.log(32) / 32)
    assert find_taus("smallest", np.array([32.0, 99.0]), items[:2], Convention()) == pytest.approx((smallest,))
    assert find_taus("smallest", np.array([2.0, 99.0]), items[:2], Convention()) == pytest.approx(
        (np.sqrt(np.log(3) / 3),)
    )
    assert find_taus("smallest", np.array([np.inf]), items[:1], Convention()) == (0.0,)
    two, six = np.array([2.0]), np.array([6.0])
    assert find_taus("mean", np.array([32.0]), two, Convention()) == pytest.approx((0.525 / 2,))
    assert find_taus("mean", np.array([32.0]), np.array([2.6]), Convention()) == pytest.approx((3.2 / 2.6**2 / 2,))
    assert find_taus("mean", np.array([32.0]), six, Convention()) == pytest.approx((0.4 / 2,))
    for wrong in (1.0, -0.1, np.nan, np.inf, None, True - 2):
        with pytest.raises(rf.InputError, match="a number from 0 to below 1 is needed"):
            find_taus(wrong, behind, items, Convention())
    assert find_taus(1.5, behind, items, Convention(set="cone")) == (1.5,)
    with pytest.raises(rf.InputError, match="a number, 0 or more, is needed"):
        find_taus(np.inf, behind, items, Convention(set="cone"))


def test_conventions_by_name():
    assert find_convention(None) == Convention() == find_convention("default")
    assert find_convention("recentred") == Convention(weights=None, draws="empirical", tau="smallest")
    abkk = find_convention("abkk")
    assert (abkk.set, abkk.cells, abkk.scale, abkk.centre) == ("cone", "drop-last", "group", "types")
    assert (abkk.weights, abkk.draws, abkk.tau) == (None, "empirical", "smallest")
    own = CONVENTIONS["kitamura-stoye"]
    assert (own.set, own.cells, own.scale, own.centre) == ("cone", "all", "total", "rankings")
    assert Convention().draws == "null"
    assert Convention(set="cone").draws == "empirical"
    assert find_convention("default", "empirical").draws == "empirical"
    assert Convention(scale=2.5).scale == 2.5
    for wrong in (0, -1.0, np.nan, np.inf):
        with pytest.raises(rf.InputError, match="a positive number is needed"):
            Convention(scale=wrong)
