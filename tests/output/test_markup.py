"""LaTeX, Markdown and HTML: numbers are aligned, and labels are labels whatever they hold."""

import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from rumflow.output.markup import columns_of, latex_text, to_html, to_latex, to_markdown

ODD = r"""$5_$9 wine, 50% & more #1 {x} \alpha ~ ^ < > | " ' ` -- [1] * _b_"""


def unescaped(text):
    """What LaTeX prints of a text, by a reader of its own."""
    words = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textless": "<", "textgreater": ">"}
    words["textbar"] = "|"
    text = re.sub(r"\\([a-z]+)\{\}", lambda found: f"\0{ord(words[found[1]])};", text)
    text = re.sub(r"\\([{}$&%#_])", lambda found: f"\0{ord(found[1])};", text)
    assert not set(text) & set("\\$&%#_~^<>|"), text
    return re.sub(r"\0(\d+);", lambda found: chr(int(found[1])), text.replace("{", "").replace("}", ""))


def test_an_odd_label_in_latex():
    assert unescaped(latex_text(ODD)) == ODD
    assert "---" not in latex_text("a---b")


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_any_label_in_latex(text):
    assert unescaped(latex_text(text)) == text.replace("\0", "")


def test_numbers_of_a_column_have_equal_decimals():
    column = columns_of({"x": [0.5, -12.25, None, float("nan"), 3]})[0]
    assert column.cells == ["0.500", "-12.250", "", "", "3.000"]
    assert column.numeric
    assert columns_of({"x": [1e-9, 0.0]})[0].cells == ["1.0e-09", "0.0e+00"]
    assert columns_of({"x": [12345.6]})[0].cells == ["12346"]
    assert columns_of({"x": [3, 400]})[0].cells == ["3", "400"]
    assert columns_of({"x": [True, None]})[0] == ("x", ["yes", ""], False)
    assert columns_of({"pvalue": []})[0] == ("p-value", [], False)


def test_numbers_in_latex():
    lines = to_latex({"x": [-0.5, float("inf")], "gap": [1e-9, 0.0], "n": [1, -2]}).splitlines()
    assert lines[1] == r"\begin{tabular}{rrr}"
    assert lines[5] == r"$-0.5000$ & $1.0 \times 10^{-9}$ & 1 \\"
    assert lines[6] == r"$\infty$ & 0 & $-2$ \\"


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.cells, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.replace("\n", "")


def test_labels_in_html_and_markdown():
    table = {ODD: [ODD, "</td><script>alert(1)</script>"], "n": [1, 2]}
    reader = Reader()
    reader.feed(to_html(table))
    assert reader.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert reader.cells == [ODD.replace("_", " "), "n", ODD, "1", "</td><script>alert(1)</script>", "2"]
    lines = to_markdown(table).splitlines()
    assert lines[1] == "| :--- | ----: |"
    assert re.sub(r"\\(.)", r"\1", lines[2]) == f"| {ODD} | 1 |"
    assert "a\\nb" in to_html({"x": ["a\nb"]})
