"""Several groups and many tests: comparisons, names, adjusted p-values."""

from dataclasses import replace

import numpy as np
import pytest

import rumflow as rf
from rumflow.inference import compare_groups, rum_test_many
from rumflow.inference.groups import benjamini_hochberg, holm
from rumflow.inference.replicate import Replicator
from tests.reference.examples import DECOY, FITS
from tests.reference.samples import draw_data, incomplete, make_data


def test_compare_groups(noisy):
    opposite = draw_data(rf.simulate.rankings_mixture(4, 2, seed=77), 30, seed=5)
    result = compare_groups({"x": noisy, "y": opposite}, n_boot=99, seed=0)
    assert result.together.pvalue == 0.01
    assert result.each["x"].pvalue > 0.05
    assert result.homogeneity.pvalue == 0.01
    assert result.summary().startswith("The groups differ: ")


def test_several_groups_on_both_routes():
    groups = {"x": incomplete(6, 1), "y": incomplete(6, 2)}
    a, b = (compare_groups(groups, 19, seed=3, route=route) for route in ("lattice", "graph"))
    assert a.together.pvalue == b.together.pvalue
    assert (a.each.pvalues == b.each.pvalues).all()


def test_workers_of_joblib():
    pytest.importorskip("joblib")
    data = rf.simulate.random_menus(24, 8, 6, seed=2)
    a, b = (rum_test_many([data, data], 12, seed=0, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert (a.pvalues == b.pvalues).all()
    assert (a.tests[0].null_distribution == b.tests[0].null_distribution).all()


def test_many_tests():
    data = {name: make_data(seed) for seed, name in enumerate("pqrs")}
    result = rum_test_many(data, n_boot=60, seed=1)
    assert len(result) == 4
    assert result.pvalues == pytest.approx([result[name].pvalue for name in "pqrs"])
    fewer = rum_test_many({"p": data["p"], "q": data["q"]}, n_boot=60, seed=1)
    assert (fewer["q"].null_distribution == result["q"].null_distribution).all()
    assert (result["p"].null_distribution != result["q"].null_distribution).any()
    assert "Of 4 tests" in result.summary()
    assert "no test can reject" in result.summary()
    with pytest.raises(rf.InputError, match="no test is named"):
        result["z"]


def test_many_tests_name_the_bad_one():
    single = rf.ChoiceData.from_counts({("a",): {"a": 1}})
    with pytest.raises(rf.InputError, match="data set 'bad': no menu of two"):
        rum_test_many({"good": make_data(0), "bad": single})


def test_many_tests_with_workers_and_checkpoint(tmp_path):
    pytest.importorskip("joblib")
    data = [make_data(seed) for seed in range(3)]
    expected = rum_test_many(data, n_boot=40, seed=1)
    file = tmp_path / "many.npz"
    for _ in range(2):
        again = rum_test_many(data, n_boot=40, seed=1, n_jobs=2, checkpoint=file)
        assert (again.pvalues == expected.pvalues).all()


def test_adjusted_pvalues():
    p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]
    stepped = np.maximum.accumulate([v * (10 - i) for i, v in enumerate(p)])
    assert holm(p) == pytest.approx(np.minimum(stepped, 1))
    assert benjamini_hochberg(p) == pytest.approx(
        [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.105714286, 0.216, 0.216, 0.216]
    )
    shuffled = np.random.default_rng(0).permutation(10)
    assert holm(np.array(p)[shuffled]) == pytest.approx(holm(p)[shuffled])
    assert holm([]).shape == (0,)
    with pytest.raises(rf.InputError, match="from 0 to 1"):
        holm([0.5, 1.5])


def test_verdicts_on_groups():
    found = rf.compare_groups([DECOY, FITS], 19, 0.1, seed=1)
    assert (found.together.pvalue, found.each.holm.tolist(), found.homogeneity.pvalue) == (0.05, [0.1, 1.0], 0.05)
    said = {level: found.summary(level).splitlines() for level in (0.01, 0.05, 0.1)}
    few = "19 replicates were made, and at least 99 are needed"
    assert said[0.01][0] == f"Whether the groups differ is not decided: {few} at the 1 % level."
    assert said[0.05][0] == "The groups differ: that all of them choose alike is rejected at the 5 % level."
    needs = "Whether random utility holds within every group is not decided: Holm's rule needs at least"
    assert said[0.01][2] == f"{needs} 199 replicates for 2 groups, and 19 were made."
    assert said[0.05][2] == f"{needs} 39 replicates for 2 groups, and 19 were made."
    assert said[0.1][2] == "Random utility is rejected within at least one group."
    assert said[0.01][3] == f"One distribution of rankings for all groups is neither rejected nor not: {few}."
    assert said[0.05][3] == "One distribution of rankings for all groups is rejected."
    together = found.together
    assert said[0.05][4] == f"  all groups together: statistic {together.statistic:.6g}, p-value 0.05 at tau = 0.1"
    alike = rf.compare_groups([FITS, FITS], 39, 0.1, seed=1).summary().splitlines()
    assert alike[0] == "That all groups choose alike is not rejected at the 5 % level."
    assert alike[2] == "Random utility within the groups is not rejected."
    assert alike[3] == "One distribution of rankings for all groups is not rejected."


def test_verdicts_that_depend_on_tau():
    found = compare_groups({"x": DECOY, "y": FITS}, 99, seed=1)
    rising, mixed = np.array([0.06, 0.05, 0.2]), np.array([0.05, 0.06, 0.07])
    tests = tuple(replace(test, pvalues=own) for test, own in zip(found.each.tests, (rising, mixed), strict=True))
    each = replace(found.each, tests=tests)
    assert each.table["depends_on_tau"] == [True, True]
    lines = each.summary().splitlines()
    assert "x: the verdict depends on tau: the p-value is 0.05 at tau = 0 and 0.2 at tau = " in lines[-2]
    assert lines[-2].endswith("report both.")
    assert lines[-1].startswith(
        "y: the verdict depends on tau, and not in one direction: the p-value is 0.06 at tau = 0, 0.05 "
    )
    many = replace(each, names=tuple(range(5)), tests=tests[:1] * 5)
    assert many.summary().splitlines()[-1] == "The same holds for 2 more."
    together = replace(found, together=replace(found.together, pvalues=rising), each=each)
    assert (
        "All groups together: the verdict depends on tau: the p-value is 0.05 at tau = 0 and 0.2" in together.summary()
    )
    plain = replace(found, together=replace(found.together, pvalues=np.array([0.2, 0.1, 0.3])))
    assert "All groups together: the verdict" not in plain.summary()


def test_many_tests_with_too_few_replicates():
    each = rum_test_many([DECOY, FITS], 9, seed=1)
    last = "With so few replicates no test can reject: 9 replicates were made, and at least 19 are needed."
    assert each.summary().splitlines()[-1] == last
    assert "no test can reject after Holm's rule" in rum_test_many([DECOY, FITS], 19, seed=1).summary()


def test_many_tests_by_name():
    each = rf.rum_test_many([DECOY, FITS], 3, 0.1, seed=1)
    assert [test.seconds for test in each.tests] == [each.seconds / 2] * 2
    for count, more in ((8, "$"), (9, r", \.\.\.$")):
        many = replace(each, names=tuple(range(count)), tests=each.tests[:1] * count)
        with pytest.raises(rf.InputError, match=r"names are 0, 1, 2, 3, 4, 5, 6, 7" + more):
            _ = many["x"]
    with pytest.raises(rf.InputError, match="data set 'x': "):
        rf.rum_test_many({"x": rf.ChoiceData.from_counts({("a",): {"a": 1}})}, 3)


def test_adjusted_pvalues_by_hand():
    p = [0.04, 0.01, 0.03, 0.5]
    assert holm(p) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert benjamini_hochberg(p) == pytest.approx([4 * 0.04 / 3, 0.04, 4 * 0.04 / 3, 0.5])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([0.0, 1.0]).tolist() == [0.0, 1.0]
    for wrong in ([[0.1]], [-0.1], [1.1], [np.nan]):
        with pytest.raises(rf.InputError, match="numbers from 0 to 1"):
            holm(wrong)


def test_an_interrupt_ends_the_comparison(monkeypatch):
    plain = Replicator.__call__
    calls = []

    def call(self, indices):
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(indices)
        return plain(self, indices)

    monkeypatch.setattr(Replicator, "__call__", call)
    found = rf.compare_groups({"p": DECOY, "q": FITS}, 150, seed=0, threads=1)
    assert found.together.n_boot == 100
    assert len(found.each) == 0
    assert found.homogeneity is None
    assert found.summary().startswith("Whether the groups differ was not tested.")
    assert "Of 0 tests" in found.summary()


def test_a_comparison_goes_on_from_its_checkpoints(tmp_path):
    first = rf.compare_groups([DECOY, FITS], 30, seed=0, checkpoint=tmp_path / "run")
    again = rf.compare_groups([DECOY, FITS], 30, seed=0, checkpoint=tmp_path / "run")
    assert {path.name for path in tmp_path.iterdir()} == {"run", "run.each", "run.homogeneity"}
    assert again.together.pvalue == first.together.pvalue
    assert (again.each.pvalues == first.each.pvalues).all()
    assert again.homogeneity.pvalue == first.homogeneity.pvalue
