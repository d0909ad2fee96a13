"""Labels as they can be shown: nothing that moves the cursor, breaks a line or turns the writing."""

from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from rumflow.text import visible, visible_lines


def test_what_cannot_be_seen_is_written_out():
    assert (
        visible("a\x1b[31mb\r\n\x00\x9b\u202e\u2066\ud800\u2028") == r"a\x1b[31mb\r\n\x00\x9b\u202e\u2066\ud800\u2028"
    )
    assert visible_lines("a\nb\x07\r") == "a\nb\\x07\\r"


def test_what_can_be_seen_stays():
    for label in ("tea", "é", "e\u0301", "שלום", "👩‍👧", "a\\nb", "$5_$9 wine", "x<y>", ""):
        assert visible(label) == visible_lines(label) == label
    assert visible(("a", 1)) == "('a', 1)"


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_printed(text):
    shown = visible(text)
    shown.encode()
    assert not {category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert visible(shown) == shown
