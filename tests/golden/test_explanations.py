"""Lines, heads and notes of explanations, word for word."""

from dataclasses import replace

from rumflow.inference.notes import ASSUMPTION
from tests.reference.results import conflict, explanation


def test_lines_of_a_conflict():
    lines = conflict().lines(("x",))
    assert lines[0] == "  {i0, i1, i2, m0}: i2 3.0 %, i1 2.0 %, i0 1.0 %"
    assert lines[-1] == "  This is too much (2.5 standard errors beyond)."
    assert len(lines) == 3
    assert conflict(error=None).lines(())[-1] == conflict(error=0.0).lines(())[-1] == "  This is too much."
    assert conflict(shares=6).lines(())[0].endswith("i0 1.0 %")
    assert conflict(shares=7).lines(())[0].endswith("i1 2.0 %, 1 other")
    assert conflict(shares=8).lines(())[0].endswith("i2 3.0 %, 2 others")
    assert len(conflict(menus=8).lines(())) == 9
    assert conflict(menus=9).lines(())[8] == "  ... and 1 more menus"
    terms = tuple((("x", "y"), "x", float(k), -0.5 * k) for k in (1, 2, 3, 4))
    assert conflict(terms=terms).lines(("x", "y"))[3:] == [
        "  Block-Marschak term: x from {x, y}: -0.5 < 0",
        "  Block-Marschak term: 2 x x from {x, y}: -1 < 0",
        "  Block-Marschak term: 3 x x from {x, y}: -1.5 < 0",
    ]


def test_heads_of_conflicts():
    found = explanation(conflict(), conflict(menus=1), conflict(irreducible=False, pvalue=None))
    heads = [part.splitlines()[0] for part in found.paragraphs()[1:4]]
    assert heads == [
        "Conflict 1: 2 menus, p = 0.01 by itself; no conflict without any one of them",
        "Conflict 2: one menu, p = 0.01 by itself",
        "Conflict 3: 2 menus; not reduced to the end",
    ]
    assert found.paragraphs()[0].startswith("Which choices are in conflict? (2 items, 5 menus, 30 choices)\n")
    assert len(found.paragraphs()) == 5
    assert len(found.parts()) == 6
    assert len(replace(found, distance=0.0).parts()) == 5
    assert replace(found, level=None).verdict == (
        "No population of utility maximisers has the shares of each of these 3 sets of menus."
    )


def test_notes_on_conflicts():
    one = conflict()
    first, second = one.menus
    found = explanation(one, n_independent={first: 4.5, second: 5.0}, interrupted=True)
    assert found.notes == [
        "It is the only conflict: without any one of its menus the rest is not rejected at 5 %.",
        "Conflict 1 rests on menus with few choices: {i0, i1, i2, m0} (4.5).",
        ASSUMPTION,
        "P-values of sets that were searched for are not adjusted for the search.",
        "The run was interrupted: these are the results so far.",
    ]
    by_subject = replace(found, n_independent={first: 1.0, second: 2.0}, by_subject=True)
    assert (
        by_subject.notes[1]
        == "Conflict 1 rests on menus with few subjects: {i0, i1, i2, m0} (1), {i0, i1, i2, m1} (2)."
    )
    leads = explanation(leads=((("x", "y"), ("y", "x")),), pvalue=0.5)
    assert leads.notes == [
        "All menus together are not rejected, but these deviate by more than chance explains in this many comparisons: "
        "{x, y} and {y, x}."
    ]
    assert leads.conflict == ()
    assert leads.inequality is leads.pattern is None
    assert repr(leads) == "Explanation(0 conflicts, conflict=(), pattern=None, pvalue=0.5)"


def test_the_table_of_influence():
    found = explanation(conflict(menus=3))
    table = found.as_table()
    assert (
        table.title == "Influence of the menus on the distance, 0.75 with all of them, menus weighted by their choices"
    )
    assert table.columns == ["menu", "choices", "part of distance", "distance without", "in conflict"]
    assert table.rows[0] == ["{i0, i1, i2, m0}", 10, "12.5%", 0.25, "1, 2"]
    assert table.note == ""
    named = {**found.influence, "named": [0.5, None, 0.25], "choices": [10.5, 1.0, 2.0]}
    table = replace(found, influence=named, halves=8, rejected=5).as_table()
    assert [row[1] for row in table.rows] == [10.5, 1, 2]
    assert [row[4] for row in table.rows] == ["50%", None, "25%"]
    assert table.note == (
        "named: share of the 8 half-samples (half of the choices) whose conflict has this menu; 5 of them were rejected."
    )
    for count, note in ((10, ""), (11, "1 more menus in `influence` (in the file of --out).")):
        table = explanation(conflict(menus=count), level=None).as_table()
        assert (len(table.rows), table.note) == (10, note)
        assert table.title == "Influence of the menus on the distance, 0.75 with all of them"
