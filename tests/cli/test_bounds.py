"""The command `bounds`: functionals, intervals, `--remove` and `--next`."""

import itertools
import json

import pytest

import rumflow as rf
from rumflow.cli.main import main
from tests.reference.commands import COUNTS, run


def test_intervals_by_subject(capsys, tmp_path):
    """Four equal choices by each subject say as much as one: intervals are wider than those of independent choices."""
    path = tmp_path / "subjects.csv"
    rows = [(menu, menu[(s + k) % 3 == 0], s) for s in range(24) for k, menu in enumerate(("ab", "bc"))]
    path.write_text(
        "menu,choice,subject\n" + "".join(f"{m},{x},{s}\n" for m, x, s in rows for _ in range(4)), encoding="utf-8"
    )
    widths = []
    for more in (["--no-cluster"], []):
        asked = ["--for", "a,b", "--item", "a", "--seed", "3", "--n-boot", "99", "--json", *more]
        code, out, _ = run(capsys, "bounds", path, *asked)
        answer = json.loads(out)
        assert (code, answer["seed"]) == (0, 3)
        widths.append(answer["bounds"][0]["to"] - answer["bounds"][0]["from"])
    assert 1.5 < widths[1] / widths[0] < 3.0  # about twice, and a little more for few subjects
    (tmp_path / "counts.csv").write_text("menu,item,count\nab,a,6\nab,b,4\n", encoding="utf-8")
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
        ),
        encoding="utf-8",
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


def test_intervals_show_their_progress(capsys, counts, monkeypatch):
    monkeypatch.setattr("rumflow.cli.bounds.show_progress", lambda arguments: True)
    monkeypatch.setattr("rumflow.output.progress.time.perf_counter", itertools.count().__next__)
    code, out, err = run(capsys, "bounds", counts, "--for", "a,b,c", "--item", "a", "--n-boot", "39")
    assert code == 0
    assert "values tested at most" in err
    assert err.endswith("\n")
    assert "confidence" in out


@pytest.mark.parametrize("number", ["99999999999", "10000000"])
def test_intervals_of_too_many_replicates_are_refused_at_once(capsys, tmp_path, number, monkeypatch):
    monkeypatch.setattr("rumflow.core.memory.available_memory", lambda: 1 << 28)
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS, encoding="utf-8")
    code, _, err = run(capsys, "bounds", path, "--for", "a,b,c", "--n-boot", number)
    assert code == 1
    assert "replicates" in err


def test_remove(capsys, sales):
    common = ["bounds", sales, "--confidence", "none", "-q"]
    code, text, _ = run(capsys, *common, "--remove", "tea", "--json")
    assert code == 0
    answer = json.loads(text)
    assert set(answer["menu"]) == {"none", "tea", "milk"}
    assert {row["item"] for row in answer["gains"]} == {"none", "milk"}
    assert (answer["seed"], answer["notes"]) == (None, [])
    code, text, _ = run(capsys, "bounds", sales, "--remove", "tea", "-q", "--json", "--n-boot", 39, "--seed", 4)
    assert json.loads(text)["seed"] == 4
    code, text, _ = run(capsys, *common, "--remove", "tea", "--for", "tea,beer,none")
    assert code == 0
    assert "never offered" in text
    code, _, err = run(capsys, *common, "--remove", "tea", "--item", "milk")
    assert (code, "--for alone" in err) == (1, True)


def test_next(capsys, sales, tmp_path):
    out = tmp_path / "next.csv"
    code, text, _ = run(capsys, "bounds", sales, "--next", "-q", "--out", out)
    assert code == 0
    assert "What to ask next" in text
    assert out.read_text(encoding="utf-8").startswith("menu,width,refutes")
    code, text, _ = run(capsys, "bounds", sales, "--next", "--functional", "1:tea,beer:tea", "-q", "--json")
    first = json.loads(text)["menus"][0]
    assert set(first["menu"]) == {"tea", "beer"}
    assert first["shrinks"] == pytest.approx(json.loads(text)["before"], abs=1e-6)
    code, _, err = run(capsys, "bounds", sales, "--next", "--for", "tea,milk")
    assert (code, "--functional alone" in err) == (1, True)
    for more in (["--confidence", "0.9"], ["--n-boot", "99"], ["--cluster"], ["--interval", "distance"]):
        code, _, err = run(capsys, "bounds", sales, "--next", *more)
        assert (code, "without intervals" in err) == (1, True)
    asked = {True: set(), False: set()}
    for more in ([], ["--outside-option", "none"]):
        _, text, _ = run(capsys, "bounds", sales, "--next", "-q", "--json", *more)
        asked[bool(more)] = {tuple(sorted(row["menu"])) for row in json.loads(text)["menus"]}
    assert ("beer", "tea") in asked[False]
    assert asked[True] == {menu for menu in asked[False] if "none" in menu}


def test_an_objective_that_is_rounding_is_shown_as_nothing(capsys, tmp_path):
    path = tmp_path / "fits.csv"
    path.write_text("menu,item,count\na|b,a,62\na|b,b,38\na|b|c,a,51\na|b|c,b,32\na|b|c,c,17\n", encoding="utf-8")
    _, text, _ = run(capsys, "project", path, "-q")
    assert "Certificate: objective 0, at most" in text
    households, prices = tmp_path / "households.csv", tmp_path / "prices.csv"
    households.write_text(
        "year,share1,share2\n1990,0.9,0.1\n1990,0.8,0.2\n1991,0.1,0.9\n1991,0.3,0.7\n", encoding="utf-8"
    )
    prices.write_text("year,price1,price2\n1990,1,2\n1991,2,1\n", encoding="utf-8")
    _, text, _ = run(capsys, "project", households, "--prices", prices, "-q")
    assert "Certificate: objective 0, at most" in text


def test_nothing_to_ask(capsys, tmp_path):
    path = tmp_path / "pair.csv"
    path.write_text("menu,choice\na|b,a\na|b,b\n", encoding="utf-8")
    code, text, _ = run(capsys, "bounds", path, "--next", "-q")
    assert code == 0
    assert "What to ask next: nothing" in text
    assert "Every menu that could be asked was observed." in text


def test_graphs_too_large_say_what_to_do(capsys, tmp_path):
    data = rf.simulate.random_menus(120, 300, 3, draws=1, seed=0)
    path = tmp_path / "small.csv"
    data.to_csv(path)
    code, _, err = run(capsys, "bounds", path, "--next", "-q")
    assert code == 1
    assert "leave out menus or items" in err


def test_pairs_that_were_not_compared_by_the_triangle_inequalities(capsys, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("menu,item,count\na|b,a,90\na|b,b,10\nb|c,b,80\nb|c,c,20\n", encoding="utf-8")
    assert main(["bounds", str(path), "--for", "a,c", "--triangle", "--confidence", "none", "-q"]) == 0
    text = capsys.readouterr().out
    assert "What the model of triangle inequalities predicts for {a, c}" in text
    assert "0.7" in text  # P(a over c) >= 1 - .1 - .2


def test_a_menu_that_is_no_column_points_to_for(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("menu,choice\na|b,a\na|b,b\n", encoding="utf-8")
    code, _, err = run(capsys, "bounds", path, "--menu", "a,b")
    assert code == 1
    assert "the menu to predict is named with --for, as in --for a,b" in err
    code, _, err = run(capsys, "bounds", path, "--menu", "x", "--for", "a,b")
    assert (code, "--for," in err) == (1, False)


def test_labels_with_commas_are_in_quotes(tmp_path, capsys):
    path = tmp_path / "beer.csv"
    path.write_text('menu,choice\n"Brown, Ale|stout",stout\n"Brown, Ale|stout|gin",gin\n', encoding="utf-8")
    options = ["--separator", "|", "--confidence", "none", "-q"]
    assert main(["bounds", str(path), "--for", '"Brown, Ale",gin', *options]) == 0
    assert "{Brown, Ale, gin}" in capsys.readouterr().out


def test_rounding_is_printed_as_zero():
    from rumflow.cli.answers import _without_rounding

    assert [_without_rounding(value) for value in (1.1e-16, -1.1e-16, 0.5, "tea", None)] == [0.0, 0.0, 0.5, "tea", None]
