"""The study of models from attributes: its populations are what they are called, and its p-values are those of `rum_test`."""

import numpy as np
import pytest

import rumflow as rf
from studies.experiments.attributes import (
    DESIGNS,
    FALSE,
    LEVEL,
    N_BOOT,
    TOL,
    TRUE,
    main,
    make_design,
    make_truth,
    rejects,
)
from studies.experiments.files import read_csv


def shares(design, truth, seed=0):
    rho = make_truth(design, truth, np.random.default_rng(seed))
    inside = np.array([[x in menu for x in design.items] for menu in design.menus])
    assert rho.sum(axis=1) == pytest.approx(1)
    assert (rho[~inside] == 0).all()
    counts = {m: {x: float(rho[j, design.items.index(x)]) for x in m} for j, m in enumerate(design.menus)}
    return rf.ChoiceData.from_counts(counts, items=design.items)


@pytest.mark.parametrize("name", DESIGNS)
def test_populations_are_inside_or_outside(name):
    design = make_design(name)
    assert len(set(design.menus)) == 12
    for truth in TRUE:
        assert rf.project(shares(design, truth), model=design.model).distance < 1e-6
    for truth in FALSE:
        assert rf.project(shares(design, truth), model=design.model).distance > 0.01
    assert rf.project(shares(design, "rankings")).distance < 1e-6
    for truth in ("decoy", "cycle"):
        assert max(rf.project(shares(design, truth, seed)).distance for seed in range(5)) > 0.05


def test_people_of_the_design_are_of_its_model():
    for name in DESIGNS:
        design = make_design(name)
        inside = np.array([[x in menu for x in design.items] for menu in design.menus])
        taken = np.where(inside, design.utilities, -np.inf).argmax(axis=2)
        mean = (taken[:, :, None] == np.arange(len(design.items))).mean(axis=0)
        counts = {m: {x: float(mean[j, design.items.index(x)]) for x in m} for j, m in enumerate(design.menus)}
        data = rf.ChoiceData.from_counts(counts, items=design.items)
        assert rf.project(data, model=design.model).distance < 1e-6


def test_it_rejects_what_the_test_rejects():
    design = make_design("risk")
    rho = make_truth(design, "noise", np.random.default_rng(3))
    found = []
    for seed in range(6):
        drawn = np.random.default_rng(seed).multinomial(8, rho)
        counts = {m: {x: int(drawn[j, design.items.index(x)]) for x in m} for j, m in enumerate(design.menus)}
        data = rf.ChoiceData.from_counts(counts, items=design.items)
        expected = rf.rum_test(data, N_BOOT, tol=TOL, seed=seed, model=design.model, threads=1).pvalue <= LEVEL
        found.append(rejects(data, design.model, seed))
        assert found[-1] == expected
    assert len(set(found)) == 2


def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    for name, value in (("DESIGNS", ("risk",)), ("TRUE", ("2",)), ("FALSE", ("cycle",)), ("CHOICES", (20,))):
        monkeypatch.setattr(f"studies.experiments.attributes.{name}", value)
    path = tmp_path / "found.csv"
    main(["--out", str(path), "--data-sets", "2"])
    main(["--out", str(path), "--data-sets", "2"])
    assert [(row["truth"], row["data_sets"]) for row in read_csv(path)] == [(2, 2), ("cycle", 1)]
    main(["--out", str(path), "--data-sets", "3", "--above", "-1"])
    assert [row["data_sets"] for row in read_csv(path)] == [2, 1, 3]
    assert capsys.readouterr().out.count("rejected") == 3
