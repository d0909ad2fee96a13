"""Projections onto the triangle inequalities as users see them: against rankings, weights, derivatives, limits, files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.core.pairs import arc_lengths, find_short_cycles
from rumflow.core.problem import Stop
from rumflow.solvers.derivatives import FaceTangent, jvp, vjp

MODEL = rf.TriangleInequalities()
CYCLE = {("a", "b"): {"a": 9, "b": 1}, ("b", "c"): {"b": 9, "c": 1}, ("a", "c"): {"a": 1, "c": 9}}


def sample(n, share, draws, seed=0):
    """Draws from a Bradley-Terry population on some pairs."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(size=n)
    counts = {}
    for a in range(n):
        for b in range(a + 1, n):
            if rng.random() < share:
                wins = int(rng.binomial(draws, 1 / (1 + np.exp(worth[b] - worth[a]))))
                counts[a, b] = {a: wins, b: draws - wins}
    return rf.ChoiceData.from_counts(counts, items=range(n))


@given(st.integers(0, 10**6), st.integers(3, 5), st.sampled_from([None, "counts", "inverse-variance"]))
@settings(max_examples=25)
def test_up_to_five_items_it_is_random_utility(seed, n, weights):
    data = sample(n, 0.8, 4, seed)
    if len(data.totals) == 0:
        return
    own, plain = rf.project(data, weights, model=MODEL), rf.project(data, weights)
    assert own.status is rf.Status.OPTIMAL
    if weights != "inverse-variance":  # whose weights are those of a fit
        assert own.distance == pytest.approx(plain.distance, abs=1e-8)
        assert own.fitted == pytest.approx(plain.fitted, abs=1e-6, nan_ok=True)
    assert own.lower_distance <= own.distance


def test_a_share_of_one_item_and_weights_that_differ_within_a_pair_count():
    """What was recorded of one item only is a share of the pair, and weights differ by item."""
    whole = rf.ChoiceData.from_counts(CYCLE)
    counts = whole.counts.copy()
    counts[[0, 1], [1, 0]] = np.nan
    partly = rf.ChoiceData(whole.items, whole.membership, counts, whole.totals)
    own, plain = rf.project(partly, model=MODEL), rf.project(partly, route="graph")
    assert own.distance == pytest.approx(plain.distance)
    assert own.fitted == pytest.approx(plain.fitted, abs=1e-7, nan_ok=True)
    data = rf.ChoiceData.from_counts(CYCLE)
    weights = np.nan_to_num(np.where(data.membership, [[1.0, 3.0, 0], [1, 0, 0], [0, 2, 5]], 0))
    own, plain = rf.project(data, weights, model=MODEL), rf.project(data, weights, route="graph")
    assert own.distance == pytest.approx(plain.distance)


def test_a_pair_without_weight_is_filled_in_between_its_bounds():
    data = sample(6, 1.0, 6, 1)
    weights = np.nan_to_num(np.array(data.membership, float))
    weights[3] = weights[7] = 0.0
    fit = rf.project(data, weights, model=MODEL)
    keep = [i for i in range(15) if i not in (3, 7)]
    rest = rf.ChoiceData(data.items, data.membership[keep], data.counts[keep], data.totals[keep])
    assert fit.distance == pytest.approx(rf.project(rest, model=MODEL).distance)
    x = fit.fits.rho[0][:, 0]
    assert find_short_cycles(fit.geometry.all_pairs, arc_lengths(x)).worst < 1e-9
    assert np.isfinite(fit.fitted[data.membership]).all()


@pytest.mark.parametrize("seed", range(8))
def test_derivatives_are_those_of_differences(seed):
    """Also by shares that do not add up to 1, and where bounds bind."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(6) for b in range(a + 1, 6) if seed % 2 or rng.random() < 0.8]
    data = rf.ChoiceData.from_counts(
        {pair: dict(zip(pair, rng.dirichlet([0.3, 0.3]), strict=True)) for pair in pairs}, items=range(6)
    )
    weights = np.where(data.membership, rng.uniform(0.5, 2, data.membership.shape), 0.0)
    fit = rf.project(data, weights, model=MODEL)
    geometry, target = fit.geometry, fit.fits.targets[0]
    if seed >= 4:
        target = target * 1.3 - 0.15
    fits = geometry.solve(np.array([target]), Stop(1e-12))
    assert not fits.inside[0]
    move, other, step = rng.normal(size=target.shape), rng.normal(size=target.shape), 1e-6
    up, down = geometry.solve(np.array([target + step * move, target - step * move]), Stop(1e-12)).rho
    tangent = FaceTangent(geometry, fits.faces)
    found = jvp(tangent, geometry.weights, move[None].copy())[0]
    assert found == pytest.approx((up - down) / (2 * step), abs=1e-5)
    assert (other * found).sum() == pytest.approx((vjp(tangent, geometry.weights, other[None].copy())[0] * move).sum())
    if seed < 4:
        given = np.where(data.membership, 0.0, np.nan)
        given[data.membership] = move.reshape(-1)
        assert fit.jvp(given)[data.membership] == pytest.approx(found.reshape(-1))


def test_data_inside_are_their_own_projection():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 2, "b": 1}, ("b", "c"): {"b": 2, "c": 1}})
    fit = rf.project(data, model=MODEL)
    assert fit.inside
    assert fit.distance == 0
    move = np.where(data.membership, [[0.3, 0.1, 0], [0, -0.2, 0.4]], np.nan)
    assert fit.jvp(move)[data.membership] == pytest.approx([0.1, -0.1, -0.3, 0.3])


def test_a_stack_is_what_its_members_are_for_any_number_of_threads():
    data = [sample(12, 0.6, 5, 3), sample(12, 0.6, 5, 4), sample(12, 0.6, 9, 3)]
    one, two = rf.project_many(data, model=MODEL, threads=1), rf.project_many(data, model=MODEL, threads=2)
    for i, own in enumerate(data):
        alone = rf.project(own, model=MODEL, threads=2)
        assert np.array_equal(one[i].fitted, two[i].fitted, equal_nan=True)
        assert np.array_equal(one[i].fitted, alone.fitted, equal_nan=True)
    again = rf.project_many(data, model=MODEL, start=one)
    assert again.distance == pytest.approx(one.distance)
    assert again.iterations.max() == 1


def test_what_needs_types_says_what_to_ask_instead():
    fit = rf.project(rf.ChoiceData.from_counts(CYCLE), model=MODEL)
    for name in ("rankings", "types", "mixture", "rho", "flow", "observed", "decided"):
        with pytest.raises(rf.InputError, match="has no types"):
            getattr(fit, name)
    with pytest.raises(rf.InputError, match="has no types"):
        fit.sample(3)
    with pytest.raises(rf.InputError, match="has no types"):
        rf.fit_likelihood(rf.ChoiceData.from_counts(CYCLE), model=MODEL)
    with pytest.raises(rf.InputError, match=r"\{a, b, c\} was not observed.*rf\.bounds"):
        fit.probabilities(["a", "b", "c"])
    assert fit.probabilities(["c"]) == {"c": 1.0}
    assert fit.probabilities(["c", "a"]) == pytest.approx({"a": 1 / 3, "c": 2 / 3})
    assert fit.score(rf.ChoiceData.from_counts(CYCLE)).n_impossible == 0
    assert len(fit.to_frame(backend="dict")["fitted"]) == 6


def test_routes_and_models_must_go_together():
    data = rf.ChoiceData.from_counts(CYCLE)
    assert rf.project(data, model=MODEL, route="inequalities").method == "inequalities"
    assert rf.estimate_cost(data, MODEL).route == "inequalities"
    for route in ("lattice", "graph", "bounded"):
        with pytest.raises(rf.InputError, match="projected on inequalities"):
            rf.project(data, model=MODEL, route=route)
    with pytest.raises(rf.InputError, match="it is that of TriangleInequalities"):
        rf.project(data, route="inequalities")
    with pytest.raises(rf.InputError, match="offers 3 items"):
        rf.project(rf.ChoiceData.from_counts({("a", "b", "c"): {"a": 1, "b": 1, "c": 1}}), model=MODEL)
    with pytest.raises(rf.InputError, match="start: an earlier fit of the same pairs"):
        rf.project(data, model=MODEL, start=rf.project(data))


def test_a_limit_of_time_leaves_bounds_and_a_later_call_goes_on():
    data = sample(60, 0.6, 5, 2)
    none = rf.project(data, model=MODEL, max_seconds=1e-9, throw=False)
    assert none.status is rf.Status.MAX_SECONDS
    full = rf.project(data, model=MODEL)
    assert none.lower_distance <= full.distance <= none.distance
    assert rf.project(data, model=MODEL, start=none).distance == pytest.approx(full.distance)


def test_ctrl_c_leaves_bounds():
    data = sample(60, 0.6, 5, 2)
    reports = []

    def stop(progress):
        reports.append(progress)
        if len(reports) == 3:
            raise KeyboardInterrupt

    fit = rf.project(data, model=MODEL, progress=stop, throw=False)
    full = rf.project(data, model=MODEL)
    assert fit.status is rf.Status.INTERRUPTED
    assert 0 < fit.lower_distance < full.distance < fit.distance


def test_thousands_of_items_need_no_tables():
    rng = np.random.default_rng(0)
    n, m = 3000, 9000
    pairs = np.unique(np.sort(rng.integers(0, n, (m, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    menus = Menus(2 * np.arange(len(pairs) + 1), pairs.reshape(-1).astype(np.int32), n)
    wins = rng.binomial(3, 0.5, len(pairs))
    data = rf.ChoiceData.from_cells(
        tuple(range(n)), menus, np.stack([wins, 3 - wins], axis=1).reshape(-1).astype(float), np.full(len(pairs), 3.0)
    )
    fit = rf.project(data, model=MODEL)
    assert fit.status is rf.Status.OPTIMAL
    assert fit.distance > 0
    a, b = pairs[0].tolist()
    assert sum(fit.probabilities([a, b]).values()) == pytest.approx(1.0)


def tied_sample(n=5, draws=3, seed=0, order=None):
    """Pairs with ties as an outcome; `order` has the labels of the items, ties among them."""
    data = rf.simulate.tied_pairs(n, draws=draws, ties=0.6, seed=seed)
    rows = data.count.reshape(-1, 3).tolist()
    counts = {menu: dict(zip(menu, row, strict=True)) for menu, row in zip(data.menus, rows, strict=True)}
    return rf.ChoiceData.from_counts(counts, items=order or data.items)


@pytest.mark.parametrize("seed", range(3))
def test_with_ties_labels_may_be_in_any_order(seed):
    plain = rf.project(tied_sample(seed=seed), "counts", model=MODEL)
    assert plain.status is rf.Status.OPTIMAL
    assert plain.distance > 0.1
    other = rf.project(tied_sample(seed=seed, order=[3, rf.TIE, 0, 4, 2, 1]), "counts", model=MODEL)
    assert other.distance == pytest.approx(plain.distance)
    for menu in plain.observations.data.menus:
        want = plain.probabilities(menu)
        assert other.probabilities(menu[:2]) == pytest.approx(want, abs=1e-6)
        assert sum(want.values()) == pytest.approx(1.0)
    assert "triangle inequalities" in plain.summary()


def test_with_ties_derivatives_are_those_of_differences():
    rng = np.random.default_rng(0)
    data = tied_sample(5, seed=4)
    shares = rng.dirichlet(np.ones(3), 10).reshape(-1)
    data = data.replace(counts=shares * data.totals[data.offered.menu])
    fit = rf.project(data, model=MODEL)
    assert fit.distance > 0.1
    change = rng.normal(size=data.frequencies.shape)
    along = np.take(change, data.offered.entry)
    step = 1e-5

    def fitted(sign):
        moved = data.replace(counts=(shares + sign * step * along) * data.totals[data.offered.menu])
        return rf.project(moved, model=MODEL).fitted

    # Shares that do not add up to 1 are projected onto those that do.
    numeric = (fitted(1) - fitted(-1)) / (2 * step)
    assert fit.jvp(np.where(np.isnan(data.frequencies), 0, change)) == pytest.approx(numeric, abs=1e-4, nan_ok=True)


def test_with_ties_pairs_without_a_weight_and_files(tmp_path):
    data = tied_sample(5, seed=2)
    weights = np.where(np.isnan(data.frequencies), 0.0, 1.0)
    weights[3] = 0.0
    fit = rf.project(data, weights, model=MODEL)
    fit.save(tmp_path / "fit.npz")
    again = rf.load(tmp_path / "fit.npz")
    assert np.array_equal(again.fitted, fit.fitted, equal_nan=True)
    assert (again.distance, again.status) == (fit.distance, fit.status)
    full = rf.project(data.replace(counts=fit.fitted * data.totals[:, None]), model=MODEL)
    assert full.distance < 1e-9  # the pair without a weight is within what the others leave
    weights[0, np.flatnonzero(weights[0])[:2]] = 0.0
    with pytest.raises(rf.InputError, match="two are needed"):
        rf.project(data, weights, model=MODEL)


def test_with_ties_one_outcome_may_be_missing():
    data = tied_sample(4, seed=3)
    counts = data.count.copy()
    counts[2::3] = np.nan
    partly = rf.project(data.replace(counts=counts), model=MODEL)
    whole = rf.project(data, model=MODEL)
    assert partly.distance < whole.distance
    assert rf.project(data, "counts", model=MODEL).lower_distance > 0
