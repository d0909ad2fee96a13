"""What an assortment says, word for word."""

import numpy as np

from tests.reference.results import assortment


def test_assortments_in_words():
    lines = assortment().summary().splitlines()
    assert lines[:4] == [
        "The fit is taken for the truth.",
        "Best in the worst case: {x} beside out, which earns 1 to 2.",
        "No other assortment promises more (certified to 0.2).",
        "A note.",
    ]
    assert assortment(gap=0.0).summary().splitlines()[2] == "No other assortment promises more (certified)."
    for reason, why in (
        ("max_seconds", "time was up"),
        ("interrupted", "the search was interrupted"),
        (
            "too large",
            "the graph of the recorded menus and a promising one, or the table of who prefers what, is too large",
        ),
    ):
        line = assortment(reason=reason).summary().splitlines()[2]
        assert line == f"The search is not complete, because {why}: another may promise up to 0.25 more."
    assert assortment(12).as_table().note.endswith("the fitted mixture.")
    assert assortment(14).as_table().note.endswith("mixture. 2 further past assortments earn less in the worst case.")
    assert len(assortment(14).as_table().rows) == 12
    some = assortment(2, confidence=0.9, more={"from": [0.5, np.nan], "to": [2.5, np.nan]}).as_table()
    assert some.note.startswith(
        'from, to: over all populations that are not rejected at 90 %; "-": not computed, for the assortment '
        "is not among the first. lower"
    )
    ends = {"from": [0.5, np.nan, np.nan], "to": [2.5, np.nan, np.nan], "allowed": [True, False, True]}
    assert "for the assortment is beyond the limits (max_size, must, never_together) or is not among the first. " in (
        assortment(3, confidence=0.9, more=ends).as_table().note
    )
    assert "not computed" not in assortment(1, confidence=0.9, more={"from": [0.5], "to": [2.5]}).as_table().note
    hint = "The fit is taken for the truth; confidence=0.95 (--confidence 0.95) allows for sampling error."
    assert assortment(notes=()).summary().splitlines()[0] == hint
    assert "taken for the truth" not in assortment(1, confidence=0.9, more={"from": [0.5], "to": [2.5]}).summary()
    assert [row[-2:] for row in some.rows] == [[0.5, 2.5], [None, None]]
    assert some.columns == ["assortment", "menu", "size", "lower", "upper", "fit", "from", "to"]
