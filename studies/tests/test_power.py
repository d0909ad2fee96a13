"""The Monte Carlo of size and power, in small, and the page made from it."""

from __future__ import annotations

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.menus import Menus
from rumflow.inference import rum_test
from rumflow.inference.profile import SHARE
from rumflow.inference.resample import CellSampler, generators
from studies.benchmarks import size_tables
from studies.experiments import least_favourable, uniform, validation
from studies.experiments.again import compare
from studies.experiments.coverage import KINDS, SHARES, coverage, coverage_by_share
from studies.experiments.coverage import Case as CoverageCase
from studies.experiments.files import read_csv
from studies.experiments.homogeneity import DRAWS, make_populations, rejections
from studies.experiments.oracles import VARIANTS, oracle_rates
from studies.experiments.power import PROCEDURES, apply_all, make_truth, render_power, run_power
from studies.experiments.size import PROCEDURES as PROCEDURES_OF_SIZE
from studies.experiments.size import (
    TRUE,
    Case,
    all_cases,
    case_of,
    cases_above,
    draw_samples,
    find_tau,
    make_design,
    reject_fully,
    run_size,
)
from studies.experiments.uniform import TESTS
from studies.experiments.validation import Design, rejection_rate, rejects

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
    place = np.argsort(lattice.cell_index)[sample.projector.positions]  # of the cells among all
    drawn[:, place[sample.column]] = again
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
    page = (tmp_path / "power.md").read_text(encoding="utf-8")
    assert "strength 0.5" in page
    assert "| 3 rankings |" in page
    stored = (tmp_path / "power.csv").read_text(encoding="utf-8")
    (tmp_path / "power.md").unlink()
    render_power(tmp_path)
    assert (tmp_path / "power.md").read_text(encoding="utf-8") == page
    again = run_power(
        tmp_path, data_sets=4, alternatives=2, n_boot=19, choices=20, nulls=("3 rankings",), strengths=(0.5,)
    )
    assert (tmp_path / "power.csv").read_text(encoding="utf-8") == stored
    assert again == rows


def test_screening_many_designs(tmp_path):
    path = tmp_path / "size.csv"
    cases = [Case(3, 20, "half", "all", "2"), Case(3, 6, "subjects", "all", "3"), Case(3, 20, "equal", "half", "noise")]
    run_size(path, cases, ["default", "recentred", "tau = 0"], 30)
    stored = path.read_text(encoding="utf-8")
    assert len(stored.splitlines()) == 1 + 3 + 2 + 3  # subjects are not run with tau = 0
    run_size(path, cases, ["default", "recentred", "tau = 0"], 30)
    assert path.read_text(encoding="utf-8") == stored
    run_size(path, cases[:1], ["inverse variance", "likelihood ratio"], 10)
    run_size(path, cases[:1], ["default"], 3, method="bootstrap")
    run_size(path, cases[:1], ["default"], 10, method="screen again")
    run_size(path, cases[:1], ["harmonic"], 3, method="bootstrap again")
    methods = [line.split(",")[6] for line in path.read_text(encoding="utf-8").splitlines()[-5:]]
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


def test_tables_show_the_most_reliable_rates():
    found = {}

    def add(sizes, truth, procedure, method, rate):
        case = Case(3, 20, sizes, "all", truth)
        found[case, procedure, method] = {**case._asdict(), "procedure": procedure, "method": method, "rejected": rate}

    for truth in TRUE:
        add("equal", truth, "default", "screen", 0.02)
        add("equal", truth, "recentred", "screen", 0.02)
        add("half", truth, "default", "screen", 0.03)
    add("equal", "3", "default", "screen again", 0.09)
    add("equal", "3", "default", "bootstrap", 0.064)
    add("half", "2", "default", "bootstrap", 0.06)
    add("half", "2", "default", "bootstrap again", 0.055)
    for name, true, false in (
        ("arithmetic", 0.07, 0.2),
        ("geometric", 0.065, 0.19),
        ("harmonic", 0.05, 0.17),
        ("mean", 0.062, 0.16),
    ):
        add("half", "2", name, "bootstrap", true)
        add("half", "noise", name, "screen", false)
    add("half", "noise", "default", "screen", 0.18)
    add("equal", "noise", "default", "screen", 0.5)
    add("equal", "noise", "recentred", "screen", 0.55)
    study = size_tables.Study(found.values())
    assert "| all | 14 | 3.0 | 6.4 | 3, 20, equal, all, 3 | 2 | 0 |" in size_tables.size(study)
    assert "| a fifth or half of the menus tiny | 7 | 3.4 | 5.5 |" in size_tables.size(study)
    assert "| 3 | 20 | equal | all | 3 | 2.0 | 9.0 | 6.4 |  |" in size_tables.size_doubtful(study)
    assert "| screen | 14 | 2 | 0 | 2 | 4.4 |" in size_tables.size_methods(study)
    rules = size_tables.size_rules(study)
    assert (
        "| the default: the last times 1 - u/2, and a thinned centre | 6.0 | 6.0 | 18.0 |" in rules
    )  # by bootstrap, as the others
    assert "| the same, m the harmonic mean | 5.0 | 5.0 | 17.0 |" in rules
    power = size_tables.size_power(study)
    assert "| all 1 designs |  |  |  |  | 55.0 | 50.0 | over three points less in 1 |" in power
    assert "| 3 | 20 | equal | all | noise | 55.0 | 50.0 | 2.0 |" in power


def test_tables_of_homogeneity():
    design = {"populations": "alike", "groups": 2, "choices": 20, "sizes": "equal"}
    rows = [
        design | {"truth": truth, "rejected": rate}
        for truth, rate in (("6", 0.02), ("opposite", 0.09), ("noise", 0.01))
    ]
    assert "| 2 | equal | 3 | 5.5 / 9.0 | 1.0 / 1.0 |" in size_tables.homogeneity(rows)
    again = rows[1] | {"rejected": 0.06}  # measured again: the last counts
    assert "| 2 | equal | 3 | 4.0 / 6.0 | 1.0 / 1.0 |" in size_tables.homogeneity([*rows, again])
    other = [row | {"populations": "different", "rejected": 0.5} for row in rows]
    assert "| noise | 50.0 |" in size_tables.homogeneity_power([*rows, *other])
    assert size_tables.homogeneity_power([*rows, *other]).startswith("| populations | 20 choices, equal |")


def test_a_small_study_of_homogeneity():
    row = rejections("alike", "6", 2, 20, "unequal", 3)
    assert (row["data_sets"], row["groups"], row["rejected"] <= 1) == (3, 2, True)
    row = rejections("different", "6", 2, 20, "equal", 3)  # fewer data sets than populations
    assert (row["data_sets"], row["rejected"] <= 1) == (3, True)


def test_designs_of_homogeneity_differ_by_the_sample_alone(monkeypatch):
    """Rates of one row of the table of power are of the same populations, whatever the choices and sizes."""
    seen = []
    monkeypatch.setattr("studies.experiments.homogeneity._draw", lambda rng, inside, shares, *rest: seen.append(shares))
    monkeypatch.setattr("studies.experiments.homogeneity._pvalues", lambda *given: [1.0])
    for choices in (20, 100):
        for sizes in ("equal", "unequal"):
            rejections("different", "6", 2, choices, sizes, 2 * DRAWS)
    assert len(seen) == 4 * DRAWS
    columns = [np.array(seen[k * DRAWS : (k + 1) * DRAWS]) for k in range(4)]
    assert all((own == columns[0]).all() for own in columns)
    assert len(np.unique(columns[0].round(6), axis=0)) == DRAWS
    alike = make_populations("alike", "6", 3, 1)
    assert alike.shape == (1, 3, 11, 4)
    assert (alike == alike[:, :1]).all()
    assert np.abs(alike.sum(axis=3) - 1).max() < 1e-12


def test_tables_of_intervals_and_of_other_tests():
    study = size_tables.Study(
        [{**Case(3, 20, "equal", "all", "6")._asdict(), "procedure": "default", "method": "screen", "rejected": 0.03}]
    )
    design = {"n": 4, "choices": 50, "truth": "6", "width": 0.25, "interval": "profile"}
    rows = [design | {"kind": kind, "draw": draw, "covered": 0.9 + draw / 100} for kind in KINDS for draw in range(2)]
    again = [rows[0] | {"covered": 0.95}]  # measured again: the last counts
    assert "| 4 | 50 | 6 | 90.5 (90.0) | 0.25 | 90.5 (90.0) | 0.25 |" in size_tables.coverage(rows, "profile")
    assert "| 4 | 50 | 6 | 93.0 (91.0) | 0.25 | 90.5 (90.0) | 0.25 |" in size_tables.coverage(
        [*rows, *again], "profile"
    )
    true = {
        **Case(3, 20, "equal", "all", "6")._asdict(),
        "linear": 0.05,
        "binding": 0.01,
        "worst": 0.02,
        "default": 0.04,
    }
    false = true | {"truth": "noise", "linear": 0.25, "binding": 0.1, "worst": 0.15, "default": 0.2}
    table = size_tables.uniform(study, [true, false])
    assert "| linear programme | 5.0 | 3, 20, equal, all, 6 |  | 25.0 | 1 of 1 |" in table
    assert "| default | 4.0 | 3, 20, equal, all, 6 | 3.0 | 20.0 | 0 of 1 |" in table


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


def test_a_rejection_known_from_the_first_replicates_is_that_of_all(monkeypatch):
    design = Design("menus", 4, 20, "equal", "all", 2)
    sets = [(k, data) for truth in ("6", "irrational") for k, data in enumerate(design.draw(truth, 6))]
    found = [rejects(data, k) for k, data in sets]
    monkeypatch.setattr(validation, "STEPS", (99,))
    assert [rejects(data, k) for k, data in sets] == found
    assert found == [rf.rum_test(data, n_boot=99, seed=k).pvalue <= 0.05 for k, data in sets]
    assert 0 < sum(found) < len(found)


def test_the_linear_programme_again_where_a_screen_has_it_above(tmp_path):
    case = Case(3, 20, "half", "all", "6")
    (tmp_path / "u.csv").write_text(
        "n,choices,sizes,menus,truth,linear\n3,20,half,all,6,.09\n3,20,half,all,noise,.5\n3,20,equal,all,6,.03\n",
        encoding="utf-8",
    )
    for _ in range(2):  # the second time there is nothing left to do
        uniform.main(["--out", str(tmp_path / "u.csv"), "--above", ".06", "--data-sets", "3"])
    (row,) = read_csv(tmp_path / "u_again.csv")
    assert (case_of(row), row["screen"], row["data_sets"]) == (case, 0.09, 3)


@pytest.mark.parametrize("design", [*dict.fromkeys((d.sizes, d.menus) for d in validation.DESIGNS)], ids=str)
def test_designs_of_the_validation(design):
    own = next(d for d in validation.DESIGNS if (d.sizes, d.menus) == design)
    row = rejection_rate(own, "6", "default", 2)
    assert (row["data_sets"], 0 <= row["rejected"] <= 1) == (2, True)
    first = next(own.draw("6", 1))
    if own.kind == "menus" and own.groups == 1:
        assert first.totals.max() == own.choices
        assert (first.totals.min() == own.choices) == (own.sizes != "zipf")
        assert len(first.totals) == {"25": 25, "stock-outs": 15, "pairs": own.n * (own.n - 1) // 2}.get(
            own.menus, 2**own.n - own.n - 1
        )


def test_rows_of_other_studies_computed_again():
    groups = rejections("alike", "6", 2, 20, "unequal", 3)
    assert compare("homogeneity", groups)["apart"] == 0
    assert compare("homogeneity", groups | {"rejected": 2.0})["apart"] >= 1
    case = Case(3, 20, "equal", "all", "6")
    row = case._asdict() | {"data_sets": 5, "commit": "x"} | {name: test(case, 5) for name, test in TESTS.items()}
    found = compare("uniform", row)
    assert (found["row"], found["apart"]) == ("3 20 equal all 6 5", 0)


def test_rows_of_budgets_computed_again(monkeypatch):
    rng = np.random.default_rng(1)
    prices, budget = np.array([[1.0, 2.0], [2.0, 1.0], [1.4, 1.4]]), np.repeat([1975, 1976, 1977], 20)
    data = rf.BudgetData.from_shares(prices, budget, rng.dirichlet([1, 1], 60), degree=0, labels=[1975, 1976, 1977])
    monkeypatch.setattr("studies.experiments.again.read_households", lambda: data)
    test = rf.rum_test(data.select([1975, 1976]), n_boot=19, seed=1, convention="kitamura-stoye", tau=["auto"])
    row = {
        "set": "cone",
        "years": 2,
        "tau_rule": "auto",
        "first": 1975,
        "last": 1976,
        "n_boot": 19,
        "seed": 1,
        "seconds": 3,
    }
    found = compare("budgets", row | {"statistic": test.statistic, "pvalue": test.pvalue})
    assert (found["row"], found["apart"]) == ("cone 2 auto 1975 19 1", 0)
    assert compare("budgets", row | {"statistic": test.statistic, "pvalue": test.pvalue - 0.05})["apart"] == 0.05


def test_where_something_can_leave_the_designs_of_size():
    """Nothing in 955 of 1,068 designs, whatever was chosen; in the others no menu leaves while every item is chosen."""
    free = 0
    for case in all_cases():
        menus, _ = Menus.from_table(make_design(case)[2].membership)
        cells, even = len(menus.item), np.ones(len(menus), bool)
        chosen, never = (
            rf.RandomUtility().relevant(menus, np.ones(len(menus), int), np.full(cells, taken), even)
            for taken in (True, False)
        )
        assert chosen.all()
        free += never.all()
        assert never.all() or (case.n <= 4 and case.menus == "half")
    assert (free, len(all_cases())) == (955, 1068)


def test_tables_of_the_validation():
    own = validation.Design("menus", 4, 30, "panel", "all")._asdict() | {"data_sets": 100, "standard_error": 0.01}
    rows = [
        own | {"truth": truth, "test": test, "rejected": rate}
        for truth, test, rate in (
            ("6", "default", 0.09),
            ("6", "cluster=False", 0.0),
            ("irrational", "default", 0.5),
            ("irrational", "cluster=False", 0.4),
        )
    ]
    groups = own | {"sizes": "half", "menus": "half", "groups": 3, "truth": "6", "test": "default", "rejected": 0.02}
    again = rows[0] | {"rejected": 0.04}  # measured again: the last counts
    table = size_tables.validation([*rows, groups, again])
    words = "all menus of 4 items, 30 subjects, a choice from every menu each"
    assert f"| {words} | 4.0 ± 1.0 | 50.0 ± 1.0 |" in table
    assert "| half of the menus of 4 items, 30 choices, half of the menus 1 to 3, 3 groups | 2.0 ± 1.0 |  |" in table
    assert "| mean / worst | 3.0 / 4.0 | 50.0 |" in table
    assert f"| {words} | irrational | 50.0 ± 1.0 | 40.0 ± 1.0 |" in size_tables.panels(rows)
    budgets = own | {
        "kind": "budgets",
        "menus": "6",
        "sizes": "equal",
        "truth": "6",
        "test": "default",
        "rejected": 0.02,
    }
    assert "| 6 budgets of 4 goods, 30 households each | 2.0 ± 1.0 |" in size_tables.validation([budgets])


def test_the_linear_programme_by_a_better_method():
    case = Case(3, 20, "equal", "all", "6")
    again = case._asdict() | {"screen": 0.09, "rejected": 0.04, "standard_error": 0.006}
    assert "| 3 | 20 | equal | all | 6 | 9.0 | 4.0 ± 0.6 |" in size_tables.uniform_again([again])
    rates = {"linear": 0.09, "binding": 0.01, "worst": 0.02, "default": 0.04}
    table = size_tables.uniform(
        size_tables.Study([]), [case._asdict() | rates, case._asdict() | rates | {"truth": "noise"}], [again]
    )
    assert "| linear programme | 9.0 | 3, 20, equal, all, 6 | 4.0 |" in table


def test_a_larger_share_of_the_level_covers_less():
    row = coverage_by_share(CoverageCase(4, 50, "3", "cell", 0), 100)
    rates = [row[f"share_{share:g}"] for share in SHARES]
    assert rates == sorted(rates, reverse=True)
    assert rates[SHARES.index(SHARE)] == coverage(CoverageCase(4, 50, "3", "cell", 0), 100, 0)["covered"]
