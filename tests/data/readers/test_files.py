"""Compressed files, byte-order marks, Parquet and its damages."""

import gzip
import io
import threading

import pytest

import rumflow as rf
from rumflow.data.choices import ChoiceData
from rumflow.data.readers.files import let_go
from tests.reference.choice_tables import ITEMS, choices, expected, same_counts


def test_gzip_and_bom(tmp_path):
    menus, picks = choices()
    text = "\ufeffmenu,choice\n" + "".join(f'"{",".join(m)}",{p}\n' for m, p in zip(menus, picks, strict=True))
    with gzip.open(tmp_path / "a.csv.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    same_counts(ChoiceData.from_csv(tmp_path / "a.csv.gz", items=ITEMS), expected(menus, picks))


def test_parquet_with_records(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    records = [{"x": 1, "y": [2]}, {"x": 2, "y": [3]}]
    table = {"menu": ["a,b", "a,b"], "choice": ["a", "b"], "who": records}
    parquet.write_table(arrow.table(table), tmp_path / "a.parquet")
    assert ChoiceData.from_csv(tmp_path / "a.parquet").n_observations == 2
    for role in ("menu", "choice", "subject", "group", "weight"):
        with pytest.raises(rf.InputError, match=r"neither a label nor a menu|not a number"):
            ChoiceData.from_csv(tmp_path / "a.parquet", **{role: "who"})


def test_parquet_damage_in_a_page(tmp_path, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    parquet.write_table(arrow.table({"menu": ["a,b"] * 3, "choice": ["a", "b", "a"]}), path)

    class Broken:
        def __init__(self, *arguments, **options):
            real = parquet_file(*arguments, **options)
            self.schema_arrow, self.metadata = real.schema_arrow, real.metadata

        def iter_batches(self, **options):
            raise arrow.lib.ArrowInvalid("Output buffer size (14) must be 24 or larger.")

    parquet_file = parquet.ParquetFile
    monkeypatch.setattr(parquet, "ParquetFile", Broken)
    with pytest.raises(rf.InputError, match=r"data\.parquet, row 0: the file is damaged: Output buffer"):
        rf.ChoiceData.from_csv(path)


def test_a_stream_is_left_when_nobody_else_holds_it():
    """Arrow's threads, which read ahead, let go of it a little later: a few times in a thousand files, seen from here."""
    stream, held = io.BytesIO(), []
    with let_go(stream):
        held.append(stream)
        threading.Timer(0.2, held.clear).start()
    assert held == []
