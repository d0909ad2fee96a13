"""The loop of the active set: memory used again, objectives that are rounding."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.problem import Problem
from rumflow.solvers.active_set.solve import Goal, Workspace, make_problem, solve_rankings


def problem(n, cone=False):
    data = rf.simulate.dirichlet(n, seed=0)
    return Problem(rf.Lattice(n).to_internal(data), cone=cone)


@pytest.mark.parametrize("n", [6, 9])
@pytest.mark.parametrize("spread", [0.0, 6.0])
def test_memory_from_an_earlier_solve_changes_nothing(n, spread):
    # A workspace that is larger, or full of what another problem left, leads through the same steps.
    rng = np.random.default_rng(n)
    inside = rf.Lattice(n).membership
    weights = rf.Lattice(n).to_internal(np.where(inside, 10.0 ** rng.uniform(-spread, spread, inside.shape), 0.0))
    one = problem(n)._replace(weights=weights)
    other = one._replace(target=rf.Lattice(n).to_internal(rf.simulate.dirichlet(n, seed=1)))
    used = Workspace(n, 1000)
    near = solve_rankings(make_problem(other), used, Goal(1e-9, 0.0))
    for start in (None, (near.paths, near.weights), (near.paths[:15], near.weights[:15])):
        ways = [solve_rankings(make_problem(one), w, Goal(1e-9, 1e-13), start=start) for w in (Workspace(n), used)]
        assert ways[0].rounds == ways[1].rounds
        assert np.array_equal(ways[0].paths, ways[1].paths)
        assert np.array_equal(ways[0].weights, ways[1].weights)


def test_an_objective_that_is_rounding_ends_it_soon():
    # Rational data with weights far apart come down to nothing in ever smaller steps; what is rounding already may take some.
    rng = np.random.default_rng(0)
    inside = rf.Lattice(8).membership
    weights = np.where(inside, 10.0 ** rng.uniform(-6, 6, inside.shape), 0.0)
    weights[rng.random(len(inside)) < 0.3] = 0.0
    given = Problem(rf.Lattice(8).to_internal(rf.simulate.mixed_logit(8, seed=rng)), rf.Lattice(8).to_internal(weights))
    ways = [solve_rankings(make_problem(given), Workspace(8), Goal(1e-9, 1e-30, enough)) for enough in (0.0, 1e-3)]
    assert ways[1].reason == "done"
    assert ways[1].rounds < ways[0].rounds
