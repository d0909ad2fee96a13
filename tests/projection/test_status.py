"""How a projection ended: what is certified counts, whatever the solver says."""

import pytest

import rumflow as rf
from rumflow.projection.status import status_of


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("done", rf.Status.STALLED),
        ("stalled", rf.Status.STALLED),
        ("bounded", rf.Status.BOUNDED),
        ("max_seconds", rf.Status.MAX_SECONDS),
        ("interrupted", rf.Status.INTERRUPTED),
    ],
)
def test_converged_means_certified(reason, status):
    certificate = rf.project(rf.simulate.dirichlet(4, 0)).certificate
    assert status_of(certificate, 1e-9, reason) is rf.Status.OPTIMAL
    far = certificate._replace(gap=0.5 * certificate.objective)
    assert status_of(far, 1e-9, reason) is status
    assert status_of(far, 0.6, reason) is rf.Status.OPTIMAL


def test_every_status_has_a_cause_and_a_remedy():
    for status in rf.Status:
        assert len(status.explanation) > 20
        assert status is rf.Status.OPTIMAL or ": " in status.explanation


def test_advice_is_for_the_options_of_a_function():
    limit = rf.Status.MAX_SECONDS
    assert limit.explain() == "the time limit max_seconds came first: allow more time"
    assert limit.explain("tol") == f"{limit.explain()}, or ask for a larger tol"
    assert limit.explanation == f"{limit.explain()}, ask for a larger tol, or pass the rankings so far as start"
    assert rf.Status.INTERRUPTED.explain() == "it was interrupted"
    assert rf.Status.BOUNDED.explain().endswith("leaves a gap above the tolerance: leave out menus or items")
