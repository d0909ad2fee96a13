"""Linear programmes are counted while they run, and can be interrupted."""

import numpy as np

import rumflow as rf
from rumflow.solvers import linear_programs


def test_linear_programmes_are_counted(capsys):
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 6, "b": 4}, ("b", "c"): {"b": 6, "c": 4}})
    rf.bounds(data, ("a", "b", "c"), confidence=None, progress=True)
    assert "\rrumflow: 6 of 6 linear programmes, 0 s to go   \n" in capsys.readouterr().err  # both ends of three shares


def test_programmes_of_many_conditions_are_listened_to(monkeypatch):
    """Ctrl-C ends them, also where there are few variables; small ones have no thread of their own."""
    threads = []

    def listened(call):
        threads.append(call)
        return call()

    monkeypatch.setattr(linear_programs, "listen", listened)
    for times in (2, 1000):
        most = np.tile(np.eye(2), (times, 1)), np.ones(2 * times)
        assert linear_programs.solve_program(-np.ones(2), most=most).x.tolist() == [1.0, 1.0]
    assert len(threads) == 1
