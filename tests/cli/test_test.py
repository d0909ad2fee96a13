"""The command `test`: output, models, subjects, memory."""

import json

import numpy as np
import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.inference import rum_test
from rumflow.inference.replicate import Replicator
from rumflow.models.random_utility import RandomUtility
from tests.reference.commands import run


def test_test_with_a_model(capsys, shop):
    data = ChoiceData.from_csv(shop)
    for options, model in [(("--route", "graph"), None), (("--above", "a>b"), RandomUtility([("a", "b")]))]:
        code, out, _ = run(capsys, "test", shop, "--json", "--n-boot", 19, "--seed", 1, *options)
        assert code == 0
        expected = rum_test(data, 19, seed=1, model=model, route="graph")
        assert json.loads(out)["statistic"] == pytest.approx(expected.statistic)
        assert json.loads(out)["pvalue"] == expected.pvalue


def test_test(capsys, choices, tmp_path):
    code, out, _ = run(capsys, "test", choices, "--n-boot", 49, "--seed", 1)
    assert code == 0
    assert "p-value" in out
    code, out, _ = run(
        capsys,
        "test",
        choices,
        "--n-boot",
        49,
        "--seed",
        1,
        "--tau",
        "0",
        "--tau",
        "auto",
        "--json",
        "--replicates",
        tmp_path / "null.csv",
    )
    answer = json.loads(out)
    assert len(answer["pvalues"]) == 2
    assert all(p >= 1 / 50 for p in answer["pvalues"])
    assert len((tmp_path / "null.csv").read_text(encoding="utf-8").splitlines()) == 50
    assert run(capsys, "test", choices, "--n-boot", 49, "--seed", 1, "--out", tmp_path / "test.tex")[0] == 0
    lines = (tmp_path / "test.tex").read_text(encoding="utf-8").splitlines()
    assert lines[3] == r"tau & statistic & p-value & critical value & n boot \\"
    assert len(lines) == 5 + 3 + 2
    code, _, err = run(capsys, "test", choices, "--replicates", tmp_path / "null.txt")
    assert (code, "the name must end in .csv" in err) == (1, True)
    code, _, err = run(capsys, "test", choices, "--tau", "much")
    assert code == 1
    assert "--tau='much'" in err


def test_another_statistic(capsys, choices):
    code, out, _ = run(capsys, "test", choices, "--n-boot", 19, "--seed", 1, "--statistic", "fsst", "--json")
    assert code == 0
    expected = rum_test(ChoiceData.from_csv(choices), 19, seed=1, statistic="fsst")
    assert json.loads(out)["statistic"] == expected.statistic
    assert json.loads(out)["pvalue"] == expected.pvalue
    code, _, err = run(capsys, "test", choices, "--statistic", "fsst", "--tau", "0.1")
    assert code == 1
    assert "has none to choose" in err


def test_tests_by_subject_are_adjusted(capsys, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["subject,menu,choice"]
    for k in range(300):
        menu = ["a,b", "b,c", "a,c", "a,b,c"][k % 4]
        lines.append(f's{k % 3},"{menu}",{menu.split(",")[rng.integers(len(menu.split(",")))]}')
    path = tmp_path / "subjects.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    code, out, _ = run(capsys, "test", path, "--by", "subject", "--n-boot", 19, "--seed", 0, "--json")
    assert code == 0
    results = json.loads(out)["results"]
    assert len(results) == 3
    assert all(r["adjusted_p"] >= r["p_value"] for r in results)
    code, out, _ = run(capsys, "test", path, "--cluster", "--n-boot", 19, "--seed", 0)
    assert code in (0, 1)  # three subjects may be too few, which is said


def test_memory_of_many_tests_is_asked_for_first(counts, monkeypatch):
    monkeypatch.setattr("rumflow.core.memory.available_memory", lambda: 2**30)
    data = rf.ChoiceData.from_csv(counts)
    with pytest.raises(rf.InputError, match=r"9 tests needs about .* take fewer replicates"):
        rf.rum_test_many([data] * 9, n_boot=10**7)


@pytest.mark.parametrize("command", ["test", "explain", "bounds", "assort", "report", "compare"])
def test_how_subjects_are_resampled_is_said(capsys, tmp_path, command):
    path = tmp_path / "subjects.csv"
    path.write_text(
        "menu,choice,subject\n" + "".join(f"a|b,{x},{s}\na|b|c,{x},{s}\n" for s in range(4) for x in "ab"),
        encoding="utf-8",
    )
    more = {"bounds": ["--for", "a,c"], "assort": ["--revenue", "b=1,c=2", "--outside", "a", "--confidence", 0.9]}
    more |= {"report": ["-o", tmp_path / "page.html"], "explain": ["--halves", 2]}
    words = [command, path, *more.get(command, []), "--n-boot", 19]
    hint = (
        "To take choices as independent, say --no-cluster."
        if command == "test"
        else "--no-cluster resamples choices one by one"
    )
    _, text, err = run(capsys, *words)
    assert hint in (text if command == "test" else err)
    assert "--no-cluster" not in "".join(run(capsys, *words, "--cluster")[1:])
    singly = "".join(run(capsys, *words, "--no-cluster")[1:])
    assert ("To keep the choices of a subject together, say --cluster." in singly) == (command == "test")
    if command == "test":  # of one subject there is nothing to resample whole
        assert "--no-cluster" not in run(capsys, *words, "--by", "subject")[2]


def test_groups_together_are_tested_for_differences(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    rows = [f"{g},a|b,{x}" for g, chosen in (("north", "aaaaaaab"), ("south", "abbbbbbb")) for x in chosen * 5]
    path.write_text("\n".join(["group,menu,choice", *rows, "north,a|b|c,c", "south,a|b|c,c"]) + "\n", encoding="utf-8")
    words = ["test", path, "--by", "group", "--together", "--n-boot", 19, "--seed", 1]
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert "The groups differ: that all of them choose alike is rejected at the 5 % level." in out
    answer = json.loads(run(capsys, *words, "--json")[1])
    groups = rf.ChoiceData.from_csv(path, group=True).split()
    expected = rf.compare_groups(groups, 19, seed=1)
    assert (answer["pvalue"], answer["groups"]) == (expected.together.pvalue, 2)
    assert answer["homogeneity"]["statistic"] == pytest.approx(expected.homogeneity.statistic)
    assert answer["homogeneity"]["pvalue"] == expected.homogeneity.pvalue == 0.05
    assert answer["homogeneity"]["testable"] is True
    path.write_text(
        "\n".join(["group,menu,choice", "north,a|b,a", "north,a|b,b", "south,c|d,c"]) + "\n", encoding="utf-8"
    )
    assert "Whether the groups differ cannot be tested: no menus of one group bear on" in run(capsys, *words)[1]
    assert json.loads(run(capsys, *words, "--json")[1])["homogeneity"]["testable"] is False


def test_one_bad_group_does_not_end_the_table(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    rows = "north,1,a|b,a north,2,a|b,b north,1,a|c,c south,3,a|b,a south,3,a|c,a west,4,a|b,b west,5,a|c,c"
    path.write_text("group,subject,menu,choice\n" + rows.replace(" ", "\n") + "\n", encoding="utf-8")
    code, out, _ = run(capsys, "test", path, "--by", "group", "--cluster", "--n-boot", 9, "--seed", 1)
    assert code == 0
    assert "Not tested: south (cluster: there is only one subject" in out
    code, out, _ = run(capsys, "test", path, "--by", "group", "--cluster", "--n-boot", 9, "--seed", 1, "--json")
    answer = json.loads(out)
    assert [r["name"] for r in answer["results"]] == ["north", "west"]
    assert list(answer["refused"]) == ["south"]
    path.write_text(
        "group,subject,menu,choice\n" + "".join(f"{g},1,a|b,{x}\n" for g in "pq" for x in "ab"), encoding="utf-8"
    )
    code, _, err = run(capsys, "test", path, "--by", "group", "--cluster", "--n-boot", 9)
    assert code == 1
    assert "there is only one subject" in err


def test_an_interrupt_prints_what_was_done(capsys, choices, monkeypatch):
    plain, calls = Replicator.__call__, []

    def call(self, indices):
        if len(calls) == 1:
            raise KeyboardInterrupt
        calls.append(indices)
        return plain(self, indices)

    monkeypatch.setattr(Replicator, "__call__", call)
    monkeypatch.setenv("RUMFLOW_THREADS", "1")
    code, out, said = run(capsys, "test", choices, "--n-boot", 250, "--seed", 1)
    assert code == 130
    assert "100 replicates" in out
    assert "The run was interrupted: these are the replicates so far." in out
    assert said.splitlines()[-1] == "rumflow: interrupted; the answer is what was done by then"
    code, out, said = run(capsys, "test", choices, "--n-boot", 250, "--seed", 1)
    assert (code, out) == (130, "")
    assert said.splitlines()[-1] == "rumflow: interrupted before the first replicate was done: there is no result yet"
