"""Damaged texts within a wrong encoding."""

import pytest

import rumflow as rf


def test_damaged_files_within_a_wrong_encoding(tmp_path):
    import gzip

    path = tmp_path / "data.csv.gz"
    whole = bytearray(gzip.compress("menu,choice\n".encode("utf-16") + b"\xff" * 50))
    whole[-6] ^= 1  # the check sum
    path.write_bytes(bytes(whole))
    with pytest.raises(rf.InputError, match=r"data.csv.gz.*(damaged|not utf-8|gzip)"):
        rf.ChoiceData.from_csv(path)
