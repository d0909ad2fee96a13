"""The Monte Carlo of size and power, in small, and the page made from it."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import least_favourable
from experiments.coverage import KINDS
from experiments.oracles import VARIANTS, oracle_rates
from experiments.power import PROCEDURES, apply_all, make_truth, render_power, run_power
from experiments.size import PROCEDURES as PROCEDURES_OF_SIZE
from experiments.size import TRUE, Case, cases_above, draw_samples, find_tau, make_design, reject_fully, run_size
from experiments.test_page import render
from experiments.uniform import TESTS

import rumflow as rf
from rumflow.inference import rum_test
from rumflow.inference.resample import CellSampler, generators

pytestmark = pytest.mark.slow


def test_truths_are_where_they_should_be():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        assert rf.block_marschak(make_truth("interior", 0.0, 4, rng))[rf.Lattice(4).membership].min() > 0
        facet = rf.block_marschak(make_truth("facet", 0.0, 4, rng))[rf.Lattice(4).membership]
        assert (np.abs(facet) < 1e-12).sum() == 1
        assert facet.min() > -1e-12
        vertex = rf.block_marschak(make_truth("vertex", 0.0, 4, rng))
        assert (vertex > 0.5).sum() == 4
        far = rf.project(make_truth("irrational", 0.5, 4, rng)).distance
        near = rf.project(make_truth("irrational", 0.1, 4, rng)).distance
        assert near < far


def test_first_procedure_is_that_of_rum_test():
    rng = np.random.default_rng(0)
    lattice = rf.Lattice(4)
    table = np.full(lattice.shape, np.nan)
    for mask in range(3, 16):
        items = [x for x in range(4) if mask >> x & 1]
        if len(items) > 1:
            table[mask, items] = rng.multinomial(40, rng.dirichlet(np.ones(len(items))))
    data = rf.ChoiceData.from_matrix(table)
    result = rum_test(data, n_boot=60, tau=[0.25, 0.0], seed=3, convention="recentred")
    p = np.where(np.isnan(data.to_array()), 1.0, data.to_array())[lattice.membership]
    # The same draws, from the replicates' own generators.
    sample = result.sample
    drawn = np.tile(p, (60, 1))
    again = CellSampler(sample, "menu", "empirical").draw(generators(3, (), range(60)), sample.frequency)
    drawn[:, sample.projector.numbers[sample.column]] = again
    assert apply_all(p[None], drawn[None], 4, 0.25)[:2, 0] == pytest.approx(result.pvalues)


def test_files(tmp_path):
    told = []
    rows = run_power(
        tmp_path,
        data_sets=4,
        alternatives=2,
        n_boot=19,
        choices=20,
        nulls=("3 rankings",),
        strengths=(0.5,),
        progress=told.append,
    )
    assert len(rows) == 2 * len(PROCEDURES)
    assert len(told) == 2
    page = (tmp_path / "power.md").read_text()
    assert "strength 0.5" in page
    assert "| 3 rankings |" in page
    stored = (tmp_path / "power.csv").read_text()
    (tmp_path / "power.md").unlink()
    render_power(tmp_path)
    assert (tmp_path / "power.md").read_text() == page
    again = run_power(
        tmp_path, data_sets=4, alternatives=2, n_boot=19, choices=20, nulls=("3 rankings",), strengths=(0.5,)
    )
    assert (tmp_path / "power.csv").read_text() == stored
    assert again == rows


def test_screening_many_designs(tmp_path):
    path = tmp_path / "size.csv"
    cases = [Case(3, 20, "half", "all", "2"), Case(3, 6, "subjects", "all", "3"), Case(3, 20, "equal", "half", "noise")]
    run_size(path, cases, ["default", "recentred", "tau = 0"], 30)
    stored = path.read_text()
    assert len(stored.splitlines()) == 1 + 3 + 2 + 3  # subjects are not run with tau = 0
    run_size(path, cases, ["default", "recentred", "tau = 0"], 30)
    assert path.read_text() == stored
    run_size(path, cases[:1], ["inverse variance", "likelihood ratio"], 10)
    run_size(path, cases[:1], ["default"], 3, method="bootstrap")
    run_size(path, cases[:1], ["default"], 10, method="screen again")
    run_size(path, cases[:1], ["harmonic"], 3, method="bootstrap again")
    methods = [line.split(",")[6] for line in path.read_text().splitlines()[-5:]]
    assert methods == ["screen", "screen", "bootstrap", "screen again", "bootstrap again"]
    assert set(cases_above(path, -0.01)) == set(cases[:2])
    assert cases_above(path, 1.01) == []
    for case in cases:
        assert 0 <= reject_fully(case, PROCEDURES_OF_SIZE["default"], 3, 19) <= 1
    rules = [
        find_tau(make_design(cases[0])[2], PROCEDURES_OF_SIZE[name])
        for name in ("default", "arithmetic", "mean", "harmonic")
    ]
    assert rules == sorted(rules)
    data, p, sets = draw_samples(cases[1], 4, 0)
    assert all((one.totals == data.totals).all() for one in sets)
    assert p.shape == (4, int(data.membership.sum()))


def test_the_page_of_the_studies_shows_the_most_reliable_rates(tmp_path):
    size = ["n,choices,sizes,menus,truth,procedure,method,data_sets,rejected"]
    for truth in TRUE:
        size += [f"3,20,equal,all,{truth},{name},screen,400,0.02" for name in ("default", "recentred")]
        size += [f"3,20,half,all,{truth},default,screen,400,0.03"]
    size += ["3,20,equal,all,3,default,screen again,4000,0.09", "3,20,equal,all,3,default,bootstrap,1000,0.064"]
    size += ["3,20,half,all,2,default,bootstrap,1000,0.06", "3,20,half,all,2,default,bootstrap again,4000,0.055"]
    for name, true, false in (("arithmetic", 0.07, 0.2), ("geometric", 0.065, 0.19), ("harmonic", 0.05, 0.17)):
        size += [f"3,20,half,all,2,{name},bootstrap,4000,{true}", f"3,20,half,all,noise,{name},screen,400,{false}"]
    size += ["3,20,half,all,noise,default,screen,400,0.18"]
    size += ["3,20,half,all,2,mean,bootstrap,4000,0.062", "3,20,half,all,noise,mean,screen,400,0.16"]
    size += ["3,20,equal,all,noise,default,screen,400,0.5", "3,20,equal,all,noise,recentred,screen,400,0.55"]
    (tmp_path / "size.csv").write_text("\n".join(size))
    head = "n,choices,truth,kind,draw,data_sets,covered,range,width,sharp_width"
    rows = [f"4,50,6,{kind},{draw},400,0.{90 + draw},1.0,0.25,0.0" for kind in KINDS for draw in range(2)]
    (tmp_path / "coverage.csv").write_text("\n".join([head, *rows]))
    uniform = ["n,choices,sizes,menus,truth,data_sets,linear,binding,worst,default"]
    uniform += ["3,20,equal,all,6,400,0.05,0.01,0.02,0.04", "3,20,equal,all,noise,400,0.25,0.1,0.15,0.2"]
    (tmp_path / "uniform.csv").write_text("\n".join(uniform))
    oracles = "n,choices,sizes,menus,truth,data_sets,mean,facets,noise,both,default\n3,20,half,all,2,4000,.08,.05,.081,.051,.07"
    (tmp_path / "oracles.csv").write_text(oracles)
    page = "".join(render(tmp_path))
    assert "The worst design has 6.4 % (3, 20, equal, all, 3)" in page
    assert "| 3 | 20 | equal | all | 3 | 2.0 | 9.0 | 6.4 |  |" in page
    assert "Designs above 7.5 %: 0. With a fifth or half of the menus tiny\nthe worst is 5.5 %." in page
    assert "The hardest 1 had a second bootstrap" in page
    assert "it has 0 more than two points too high and 2 more than" in page
    assert (
        "| the default: the last times 1 - u/2, and a thinned centre | 6.0 | 6.0 | 18.0 |" in page
    )  # by bootstrap, as the others
    assert "| the same, m the harmonic mean | 5.0 | 5.0 | 17.0 |" in page
    assert "| the mean of `a m^(-1/5)` over the menus | 6.2 | 6.2 | 16.0 |" in page
    assert "| 3 | 20 | half | all | 2 | 8.0 | 5.0 | 8.1 | 5.1 | 7.0 |" in page
    assert "on others it rejects 5.5 % in the first of these designs" in page
    assert "| 3 | 20 | equal | all | noise | 55.0 | 50.0 | 2.0 |" in page
    assert "| 4 | 50 | 6 | 90.5 (90.0) | 0.25 | 90.5 (90.0) | 0.25 |" in page
    assert "| linear programme | 5.0 | 25.0 | 1 of 1 |" in page
    assert "| worst null point | 2.0 | 15.0 | 0 of 1 |" in page
    assert "| default | 4.0 | 20.0 |  |" in page


def test_an_oracle_for_facets_and_noise():
    equal = oracle_rates(Case(3, 20, "equal", "all", "opposite"), 60, 19)
    assert equal["default"] == equal["mean"]  # nothing is thinned, and draws are the same
    assert set(equal) == set(VARIANTS)
    # One ranking: samples of the truth have no noise, so that no replicate is further from the model than the truth is.
    one = oracle_rates(Case(3, 20, "third", "all", "one"), 20, 19)
    assert all(rate == 0 for rate in one.values())


@pytest.mark.parametrize("name", list(TESTS))
def test_uniform_tests_reject_a_clear_violation_and_no_interior_model(name, monkeypatch):
    monkeypatch.setattr(least_favourable, "POINTS", 2)
    assert TESTS[name](Case(3, 200, "equal", "all", "irrational"), 20) > 0.5
    assert TESTS[name](Case(3, 50, "equal", "all", "interior"), 20) <= 0.1
