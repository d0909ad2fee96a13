"""Every result becomes words, a frame, plain values, a page and a file, in one way."""

import csv
import html
import inspect
import json
import re

import numpy as np
import pytest

import rumflow as rf
from rumflow.output.result import Result, as_texts
from tests.reference.every_result import results

RESULTS = results()


def test_every_class_of_results_is_tried():
    """Classes of the package that derive from Result, but for those that are the base of others."""

    def below(one):
        return {one} | {lower for direct in one.__subclasses__() for lower in below(direct)}

    known = {kind for kind in below(Result) if not inspect.isabstract(kind)} - {Result}
    known = {kind for kind in known if kind.__module__.startswith("rumflow") and "torch" not in kind.__module__}
    assert known == {type(one) for one in RESULTS.values()}


def test_public_functions_return_results():
    """By their annotations: whatever is returned is a result, data, a model, or plain."""
    plain = {"BudgetData", "ChoiceData", "Certificate", "Convention", "Lattice", "Status", "Projection", "Rankings"}
    for name in rf.__all__:
        thing = getattr(rf, name)
        if inspect.isfunction(thing):
            returned = inspect.signature(thing).return_annotation
            kinds = {type(one).__name__ for one in RESULTS.values()} | plain | {"bool", "Array"}
            assert set(str(returned).split(" | ")) <= kinds, name


@pytest.mark.parametrize("name", RESULTS)
def test_frames(name):
    one = RESULTS[name]
    table = one.to_frame(backend="dict")
    lengths = {len(column) for column in table.values()}
    assert len(lengths) == 1
    assert not any(isinstance(value, tuple) for column in table.values() for value in column)
    for backend in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(backend)
        frame = one.to_frame(backend=backend)
        found = frame.column_names if backend == "pyarrow" else list(frame.columns)
        assert found == list(table)


@pytest.mark.parametrize("name", RESULTS)
def test_plain_values_are_json(name):
    one = RESULTS[name]
    found = one.to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    rows = found[one._listed]
    assert len(rows) == len(next(iter(one.table.values())))
    assert list(rows[0]) == list(one.table)
    for row, own in zip(rows, zip(*one.table.values(), strict=True), strict=True):
        for value, expected in zip(row.values(), own, strict=True):
            if isinstance(expected, float):
                assert value == expected or (value is None and not np.isfinite(expected))
            elif isinstance(expected, str | int) or expected is None:
                assert value == expected


@pytest.mark.parametrize("name", RESULTS)
def test_words_and_pages(name):
    one = RESULTS[name]
    assert len(one.summary()) > 20
    page = one._repr_html_()
    for part in one.parts():
        first = (part if isinstance(part, str) else part.title).splitlines()[0]
        assert html.escape(first) in page
    assert page.count("<table>") == page.count("</table>") == sum(not isinstance(part, str) for part in one.parts())
    assert "nan" not in re.findall(r"[a-z]+", one.summary())


@pytest.mark.parametrize("name", RESULTS)
def test_files_come_back(name, tmp_path):
    one = RESULTS[name]
    table = as_texts(one.table)
    one.write(tmp_path / "a.csv")
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == list(table)
    assert len(rows) == len(next(iter(table.values())))
    for row, own in zip(rows, zip(*table.values(), strict=True), strict=True):
        for text, value in zip(row, own, strict=True):
            assert text == ("" if value is None else str(value)) or text == f"'{value}"
    one.write(tmp_path / "a.json")
    for row, own in zip(
        json.loads((tmp_path / "a.json").read_text(encoding="utf-8")), zip(*table.values(), strict=True), strict=True
    ):
        assert list(row) == list(table)
        for value, expected in zip(row.values(), own, strict=True):
            assert value == expected or (value is None and not np.isfinite(expected))
    parquet = pytest.importorskip("pyarrow.parquet")
    one.write(tmp_path / "a.parquet")
    back = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    for column, expected in table.items():
        for value, own in zip(back[column], expected, strict=True):
            assert value == own or np.isnan(value) == np.isnan(own)


@pytest.mark.parametrize("name", RESULTS)
def test_tables_to_paste_have_every_row(name, tmp_path):
    one = RESULTS[name]
    count, width = len(next(iter(one.table.values()))), len(one.table)
    one.write(tmp_path / "a.tex")
    lines = (tmp_path / "a.tex").read_text(encoding="utf-8").splitlines()
    assert len(re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[1])[1]) == width
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == count
    assert all(line.endswith(r" \\") and len(re.findall(r"(?<!\\)&", line)) == width - 1 for line in body)
    one.write(tmp_path / "a.md")
    lines = (tmp_path / "a.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == count + 2
    assert all(len(re.findall(r"(?<!\\)\|", line)) == width + 1 for line in lines)
    one.write(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<tr>") == count + 1
    assert page.count("<td") == count * width


def test_other_endings_are_refused(tmp_path):
    for name in ("a.xls", "a", "a.txt", "a.csv.gz"):
        with pytest.raises(rf.InputError, match=r"must end in \.csv, .*\.tex, \.html, \.md or \.xlsx"):
            RESULTS["bounds"].write(tmp_path / name)
    assert not list(tmp_path.iterdir())


ODD = results(("$5_$9 <b>", "a\x1b[31m\nb", "c\rd\u202e", "out\ud800"))


@pytest.mark.parametrize("name", ODD)
def test_odd_labels_reach_no_terminal(name, tmp_path):
    """Nothing that a terminal acts on, in words or tables; frames and plain values have the labels themselves."""
    one = ODD[name]
    for text in (one.summary(), one._repr_html_(), repr(one)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text), text
        assert "\x1b[31m\nb" not in text
        assert "[31m\nb" not in text
    assert "<b>" not in one._repr_html_().replace("<p><b>", "")
    for ending in ("tex", "md", "html"):
        one.write(tmp_path / f"a.{ending}")
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", (tmp_path / f"a.{ending}").read_text(encoding="utf-8"))
    frame = one.to_frame(backend="dict")
    if "item" in frame and name != "functional":
        assert set(frame["item"]) <= {"$5_$9 <b>", "a\x1b[31m\nb", "c\rd\u202e", "out\ud800"}
