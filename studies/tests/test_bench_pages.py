"""Tables and figures of the pages are what `make bench-pages` makes of the stored results, and estimates keep their promise."""

import re
import shutil

import pytest
from PIL import Image

from studies.benchmarks import __main__ as entry
from studies.benchmarks import pages, scaling
from studies.benchmarks.record import RESULTS, ROOT, STAMP, rows, save
from studies.experiments.files import read_csv

MEASURED = ("compare", "scaling", "graphs", "bounded", "bootstrap", "first_use", "large")


def test_pages_are_drawn_from_the_results():
    places = []
    for page in pages.PAGES:
        text = page.read_text(encoding="utf-8")
        assert pages.fill(text) == text, f"{page}: `make bench-pages` draws it again"
        places += re.findall(r"<!-- bench: (\w+) -->", text)
        assert text.count("<!-- bench:") == text.count("<!-- end -->")
    assert set(places) == set(pages.PARTS)


@pytest.mark.parametrize("name", pages.STUDIES)
def test_pages_of_studies_are_drawn_from_the_results(name, tmp_path):
    shutil.copytree(RESULTS, tmp_path / "results", ignore=shutil.ignore_patterns("*.png", "*.md"))
    pages.STUDIES[name](tmp_path / "results")
    new, old = ((folder / f"{name}.md").read_text(encoding="utf-8") for folder in (tmp_path / "results", RESULTS))
    assert new == old, "`make bench-pages` draws it again"


def test_pages_with_replicates_that_lack_a_certificate_say_what_it_means():
    for name in ("budgets", "budgets_endogenous"):
        found = [row for row in read_csv(RESULTS / f"{name}.csv") if row["not_certified"] > 0]
        assert found
    words = "never too small, so these p-values are too large if anything: they err towards not rejecting."
    assert words in (RESULTS / "budgets_endogenous.md").read_text(encoding="utf-8")


def test_a_number_that_was_not_measured_does_not_stay():
    page = ROOT / "docs" / "speed.md"
    text = page.read_text(encoding="utf-8")
    wrong = text.replace("| 199 |", "| 999 |", 1)
    assert wrong != text
    assert pages.fill(wrong) == text


def test_the_figure_shows_the_stored_rows():
    assert Image.open(pages.FIGURE).text["Description"] == pages.digest()


@pytest.mark.parametrize("name", MEASURED)
def test_results_say_where_they_come_from(name):
    found = rows(name)
    assert found
    for row in found:
        assert all(str(row[column]) for column in STAMP)


def test_estimates_are_within_a_factor_of_two_for_samples():
    """Shares that are no sample are left out, as the docstring of `estimate_cost` says; of the others nine in ten hold."""
    found = [row for row in rows("scaling") if "random shares" not in row["family"] and row["axis"] != "threads"]
    assert len(found) > 50
    factors = [row["estimate"] / row["cpu_seconds"] for row in found]
    assert sum(0.5 <= factor <= 2 for factor in factors) >= 0.9 * len(found)
    assert all(0.2 <= factor <= 3 for factor in factors)


def test_stored_estimates_are_those_of_today():
    stored = {tuple(row[name] for name in scaling.KEY): row["estimate"] for row in rows("scaling")}
    for case in scaling.cases(quick=True):
        if case.axis in ("sample", "menus") and "bounded" not in case.family and case.value <= 100:
            assert case.make()[1] == pytest.approx(stored[case.axis, case.family, case.value], rel=1e-12), case
    # if this fails: python -m studies.benchmarks.scaling --estimates


def test_saving_replaces_rows_with_the_same_key(tmp_path):
    path = tmp_path / "some.csv"
    save(path, [{"a": 1, "b": 2.5}, {"a": 2, "b": 3.5}], ["a"])
    save(path, [{"a": 2, "b": 4.5}, {"a": 3, "b": 0.5}], ["a"])
    assert path.read_text(encoding="utf-8") == "a,b\n1,2.5\n2,4.5\n3,0.5\n"


def test_every_part_names_files_that_are_there():
    for what, commands, quick in entry.PARTS.values():
        for command in [*commands, *quick]:
            name = command.split()[1] if command.startswith("-m") else command.split()[0]
            path = ROOT / name if name.endswith(".py") else ROOT / f"{name.replace('.', '/')}.py"
            assert path.exists() or (path.with_suffix("") / "__main__.py").exists(), command
        for name in re.findall(r"\w+\.csv", what):
            assert (RESULTS / name).exists(), name
