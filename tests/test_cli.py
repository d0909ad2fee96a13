"""The commands: output, JSON, files, exit codes, help."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from rumflow.cli import models
from rumflow.cli.main import main
from rumflow.cli.parser import COMMANDS
from rumflow.data import simulate
from rumflow.data.choices import ChoiceData
from rumflow.inference import rum_test
from rumflow.models.random_utility import RandomUtility
from rumflow.models.single_peaked import SinglePeaked
from rumflow.output.tables import Table, show
from rumflow.projection.single import project


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "choices.csv"
    assert (
        main(
            [
                "simulate",
                "noisy",
                "-n",
                "4",
                "--draws",
                "60",
                "--seed",
                "3",
                "--items",
                "tea,milk,juice,cola",
                "--out",
                str(path),
            ]
        )
        == 0
    )
    return path


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_demo(capsys):
    code, out, _ = run(capsys, "demo", "--seed", 2)
    assert code == 0
    for words in (
        "Distance to the nearest random utility model",
        "Block-Marschak inequalities that fail",
        "Certificate",
        "among many",
    ):
        assert words in out
    code, out, _ = run(capsys, "demo", "--json")
    answer = json.loads(out)
    assert answer["distance"] > 5 * answer["distance_without_effect"]
    worst = answer["violations"][0]
    assert worst["item"] == "coffee"
    assert "cocoa" not in worst["menu"]
    assert run(capsys, "demo", "--json")[1] == out


def test_project(capsys, choices, tmp_path):
    code, out, err = run(capsys, "project", choices)
    assert code == 0
    assert "4 items {tea, milk, juice, cola}" in err
    assert "largest differences" in out
    for ending in ("csv", "json", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        path = tmp_path / f"fit.{ending}"
        code, out, err = run(capsys, "project", choices, "--json", "--out", path)
        assert code == 0
        assert err == ""
        assert path.stat().st_size > 100
    answer = json.loads(out)
    assert answer["status"] == "optimal"
    rows = json.loads((tmp_path / "fit.json").read_text())
    assert len(rows) == 4 * 8 - 4
    squares = sum((r["observed"] - r["fitted"]) ** 2 for r in rows)
    assert np.sqrt(squares) == pytest.approx(answer["distance"], rel=1e-9)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Ten items, forty menus of four."""
    data = simulate.random_menus(10, 40, 4, seed=0)
    path = tmp_path_factory.mktemp("cli") / "shop.csv"
    ChoiceData(tuple("abcdefghij"), data.membership, data.counts, data.totals).to_csv(path)
    return path


def test_project_with_a_model(capsys, shop):
    data = ChoiceData.from_csv(shop)
    for options, model, words in [
        ((), None, "nearest random utility model"),
        (("--route", "lattice"), None, "nearest random utility model"),
        (("--above", "a>b", "--above", "c > d>e"), RandomUtility([("a", "b"), ("c", "d"), ("d", "e")]), "c above d"),
        (("--axis", ",".join("jihgfedcba")), SinglePeaked("jihgfedcba"), "single-peaked preferences"),
    ]:
        code, out, _ = run(capsys, "project", shop, "--json", *options)
        assert code == 0
        assert json.loads(out)["distance"] == pytest.approx(project(data, model=model).distance, rel=1e-8)
        code, out, err = run(capsys, "project", shop, *options)
        assert code == 0
        assert words in out
        assert "about" not in err  # short work is not announced


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--above", "a"), "--above 'a': give two items"),
        (("--above", "a>z"), "item 'z' is unknown"),
        (("--above", "a>b", "--above", "b>a"), "circle"),
        (("--axis", "a,b"), "item 'c' of the data is missing"),
        (("--axis", "a,b", "--above", "a>b"), "two models"),
        (("--above", "a>b", "--route", "lattice"), "leave route out"),
        (("--route", "short"), "invalid choice"),
    ],
)
def test_models_that_are_refused(capsys, shop, options, message):
    code, out, err = run(capsys, "project", shop, "-q", *options)
    assert (code, out) == (1, "")
    assert message in err


def test_project_a_hundred_items(capsys, tmp_path, monkeypatch):
    data = simulate.stock_outs(100, 30, seed=0)
    path, out_file = tmp_path / "shop.csv", tmp_path / "fitted.csv"
    data.to_csv(path)
    monkeypatch.setattr(models, "LONG", 0.0)
    code, out, err = run(capsys, "project", path, "--out", out_file)
    assert code == 0
    assert re.search(r"rumflow: a graph of [\d,]+ nodes and [\d,]+ arcs, \d+ MB, about [\d.]+ s", err)
    assert "everything except " in out
    assert "the others" in out
    assert max(map(len, out.splitlines())) < 200
    lines = out_file.read_text().splitlines()
    assert lines[0] == "menu_id,menu,item,observed,fitted,count"
    assert len(lines) == 1 + data.membership.sum()
    code, out, err = run(capsys, "project", path, "--json")
    assert (code, err) == (0, "")
    fit = project(data)
    found = json.loads(out)
    assert found["distance"] == pytest.approx(fit.distance)
    assert len(found["rankings"]) == len(fit.rankings.weights)


def test_test_with_a_model(capsys, shop):
    data = ChoiceData.from_csv(shop)
    for options, model in [(("--route", "graph"), None), (("--above", "a>b"), RandomUtility([("a", "b")]))]:
        code, out, _ = run(capsys, "test", shop, "--json", "--n-boot", 19, "--seed", 1, *options)
        assert code == 0
        expected = rum_test(data, 19, seed=1, model=model, route="graph")
        assert json.loads(out)["statistic"] == pytest.approx(expected.statistic)
        assert json.loads(out)["pvalue"] == expected.pvalue


def test_compare(capsys, shop, tmp_path):
    table, picture = tmp_path / "table.json", tmp_path / "models.svg"
    axis = ",".join("abcdefghij")
    options = ["--above", "a>b,a>c", "--above", "a>b", "--axis", axis, "--out", table, "--picture", picture]
    code, out, _ = run(capsys, "compare", shop, *options)
    assert code == 0
    for name in ("all rankings", "a > b, a > c", "a > b ", "single-peaked: a, b, c"):
        assert name in out
    rows = json.loads(table.read_text())
    distances = [row["distance"] for row in rows]
    assert distances[0] < distances[2] < distances[1]  # fewer types, further away
    assert "<svg" in picture.read_text()
    code, out, _ = run(capsys, "compare", shop, "--axis", axis, "--json")
    data = ChoiceData.from_csv(shop)
    expected = [project(data).distance, project(data, model=SinglePeaked("abcdefghij")).distance]
    assert [row["distance"] for row in json.loads(out)["models"]] == pytest.approx(expected, rel=1e-8)
    code, out, _ = run(capsys, "compare", shop, "--axis", axis, "--n-boot", 19, "--seed", 2, "-q")
    assert code == 0
    assert "p-value" in out
    assert "0.0500" in out
    assert run(capsys, "compare", shop, "--picture", tmp_path / "models.txt")[0] == 1
    assert run(capsys, "compare", shop, "--max-seconds", 1e-9)[0] == 2


def test_project_each_group(capsys, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text(
        "domain,menu,item,count\n" + "".join(f"{g},ab,{x},{5 + k}\n" for k, g in enumerate("pqr") for x in "ab")
    )
    code, out, _ = run(capsys, "project", path, "--by", "group", "--json")
    assert code == 0
    assert [r["name"] for r in json.loads(out)["results"]] == ["p", "q", "r"]
    code, _, err = run(capsys, "project", path, "--by", "store")
    assert code == 1
    assert "--group store --by group" in err
    code, _, err = run(capsys, "project", path, "--by", "subject")
    assert code == 1
    assert "no subject" in err


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
        "--out",
        tmp_path / "null.csv",
    )
    answer = json.loads(out)
    assert len(answer["pvalues"]) == 2
    assert all(p >= 1 / 50 for p in answer["pvalues"])
    assert len((tmp_path / "null.csv").read_text().splitlines()) == 50
    code, _, err = run(capsys, "test", choices, "--tau", "much")
    assert code == 1
    assert "--tau='much'" in err


def test_tests_by_subject_are_adjusted(capsys, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["subject,menu,choice"]
    for k in range(300):
        menu = ["a,b", "b,c", "a,c", "a,b,c"][k % 4]
        lines.append(f's{k % 3},"{menu}",{menu.split(",")[rng.integers(len(menu.split(",")))]}')
    path = tmp_path / "subjects.csv"
    path.write_text("\n".join(lines))
    code, out, _ = run(capsys, "test", path, "--by", "subject", "--n-boot", 19, "--seed", 0, "--json")
    assert code == 0
    results = json.loads(out)["results"]
    assert len(results) == 3
    assert all(r["adjusted_p"] >= r["p_value"] for r in results)
    code, out, _ = run(capsys, "test", path, "--cluster", "--n-boot", 19, "--seed", 0)
    assert code in (0, 1)  # three subjects may be too few, which is said


def test_intervals_by_subject(capsys, tmp_path):
    """Four equal choices by each subject say as much as one: intervals are wider than those of independent choices."""
    path = tmp_path / "subjects.csv"
    rows = [(menu, menu[(s + k) % 3 == 0], s) for s in range(24) for k, menu in enumerate(("ab", "bc"))]
    path.write_text("menu,choice,subject\n" + "".join(f"{m},{x},{s}\n" for m, x, s in rows for _ in range(4)))
    widths = []
    for more in ([], ["--cluster"]):
        asked = ["--for", "a,b", "--item", "a", "--seed", "3", "--n-boot", "99", "--json", *more]
        code, out, _ = run(capsys, "bounds", path, *asked)
        answer = json.loads(out)
        assert (code, answer["seed"]) == (0, 3)
        widths.append(answer["bounds"][0]["to"] - answer["bounds"][0]["from"])
    assert 1.5 < widths[1] / widths[0] < 3.0  # about twice, and a little more for few subjects
    (tmp_path / "counts.csv").write_text("menu,item,count\nab,a,6\nab,b,4\n")
    code, _, err = run(capsys, "bounds", tmp_path / "counts.csv", "--for", "a,b", "--cluster")
    assert code == 1
    assert "cluster: the data " in err


def test_bounds(capsys, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(
        "menu,item,count\n"
        + "".join(
            f"{m},{x},{c}\n"
            for m, x, c in [
                ("ab", "a", 6),
                ("ab", "b", 4),
                ("bc", "b", 6),
                ("bc", "c", 4),
                ("ac", "a", 7),
                ("ac", "c", 3),
            ]
        )
    )
    code, out, _ = run(capsys, "bounds", path, "--for", "a,b,c", "--json")
    assert code == 0
    rows = {r["item"]: (r["lower"], r["upper"]) for r in json.loads(out)["bounds"]}
    assert rows["a"] == (
        pytest.approx(0.3, abs=1e-6),
        pytest.approx(0.6, abs=1e-6),
    )  # at least P(ab) + P(ac) - 1, at most P(ab)
    answer = json.loads(out)
    assert answer["confidence"] == 0.95
    assert all(r["from"] <= r["lower"] <= r["upper"] <= r["to"] for r in answer["bounds"])
    assert answer["seed"] == 0
    terms = ["--functional", "2:a,b,c:a", "--functional=-1:a,b:b"]
    code, out, _ = run(capsys, "bounds", path, *terms, "--confidence", "none", "--json")
    assert code == 0
    (row,) = json.loads(out)["bounds"]
    assert (row["lower"], row["upper"]) == (pytest.approx(0.2, abs=1e-6), pytest.approx(0.8, abs=1e-6))
    for arguments, message in [
        (["--for", "a,b,x"], "'x' is unknown"),
        (["--functional", "2:a,b"], "VALUE:MENU:ITEM is needed"),
        (["--for", "a,b", "--confidence", "much"], "between 0 and 1 is needed, or auto or none"),
        (["--for", "a,b", "--functional", "1:a,b:a"], "give a menu"),
    ]:
        code, out, err = run(capsys, "bounds", path, *arguments)
        assert code == 1
        assert message in err


def test_simulate_and_read_back(capsys, tmp_path):
    for form in ("rows", "long"):
        path = tmp_path / f"{form}.csv"
        assert (
            run(capsys, "simulate", "logit", "-n", 3, "--draws", 50, "--seed", 5, "--form", form, "--out", path)[0] == 0
        )
        data = ChoiceData.from_csv(path)
        assert data.n_observations == 4 * 50
        assert (data.rows is None) == (form == "long")
    code, _, err = run(capsys, "simulate", "noisy", "-n", 40, "--out", tmp_path / "x.csv")
    assert code == 1
    assert "-n=40: a whole number from 2 to 16 is needed" in err


def test_not_converged_is_exit_code_2(capsys, tmp_path):
    path = tmp_path / "big.csv"
    assert (
        main(
            ["simulate", "dirichlet", "-n", "9", "--draws", "200", "--seed", "0", "--form", "long", "--out", str(path)]
        )
        == 0
    )
    code, out, _ = run(capsys, "project", path, "--max-seconds", "0.00001")
    assert code == 2
    assert "max_seconds" in out


def test_real_files(capsys, data_folder):
    abkk = data_folder / "abkk_lotteries" / "menu_choice_high.csv"
    code, out, _ = run(
        capsys,
        "project",
        abkk,
        "--menu",
        "x1",
        "--choice",
        "x2",
        "--menus",
        "subsets:1,2,3,4,5",
        "--outside-option",
        0,
        "--json",
    )
    assert code == 0
    assert json.loads(out)["distance"] ** 2 == pytest.approx(0.0447840779, rel=1e-6)
    frames = [data_folder / "abkk_lotteries" / f"menu_choice_{frame}.csv" for frame in ("high", "medium", "low")]
    reading = ["--menu", "x1", "--choice", "x2", "--menus", "subsets:1,2,3,4,5", "--outside-option", 0]
    options = ["--convention", "abkk", "--n-boot", 9, "--seed", 0, "--json"]
    code, out, _ = run(capsys, "test", *frames, "--together", *reading, *options)
    assert code == 0
    assert json.loads(out)["statistic"] == pytest.approx(3231.592, abs=1e-3)
    code, out, _ = run(capsys, "test", *frames, *reading, *options)
    found = [r["statistic"] for r in json.loads(out)["results"]]
    np.testing.assert_allclose(found, [143.76, 200.82, 130.68], atol=0.005)
    for path in [*data_folder.glob("ranch/*.csv"), *data_folder.glob("sfwork_sfshop/*.csv")]:
        assert run(capsys, "project", path, "-q")[0] == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(capsys, command):
    assert main([command, "--help"]) == 0
    assert f"example: rumflow {command}" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nothing"],
        ["project"],
        ["project", "no-such-file.csv"],
        ["bounds", "x.csv"],
        ["completion", "tcsh"],
        ["bench", "--max-n", "99"],
    ],
)
def test_wrong_usage_is_exit_code_1(capsys, arguments):
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err


def test_bench(capsys):
    code, out, _ = run(capsys, "bench", "--max-n", 5, "--json")
    assert code == 0
    assert [r["n"] for r in json.loads(out)["results"]] == [3, 4, 5]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(capsys, shell):
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0
    assert "outside-option" in out
    if shell == "bash":
        script = out + '\nCOMP_WORDS=(rumflow te); COMP_CWORD=1; _rumflow; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["test"]


def test_version_and_plain_tables_without_rich(capsys):
    assert run(capsys, "--version")[1].startswith("rumflow ")
    table = Table("Title", ["name", "value"], [["a long name " * 20, 1.5], ["b", None]], "a note")
    lines = table.text(60).splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert lines[0] == "Title"
    assert re.search(r"name a +1\.5000$", lines[3])
    assert lines[4].startswith("  long name a long")
    assert "".join(lines).count("name") == 21  # of the heading and all of the cell
    endless = Table("Title", ["name", "value"], [["x" * 5000, 1.5]]).text(60).splitlines()
    assert len(endless) == 3 + 6
    assert endless[-1].endswith("...")


def test_tables_with_rich():
    pytest.importorskip("rich")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    show([Table("A [title]", ["name", "value"], [["[b]x", 1.5]], "a note"), "A paragraph [with] brackets."], out)
    for words in ("A [title]", "[b]x", "1.5000", "a note", "A paragraph [with] brackets."):
        assert words in out.getvalue()


def test_module_runs_in_a_process_of_its_own():
    done = subprocess.run([sys.executable, "-m", "rumflow", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("rumflow ")


def test_help_loads_nothing_heavy():
    script = (
        "import sys; from rumflow.cli.main import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "numpy" not in done.stderr
    assert "rumflow.cli.main" in done.stderr
