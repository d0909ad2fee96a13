"""Numbers beyond sense on the command line."""

import pytest

import rumflow as rf
from tests.reference.commands import run


def test_numbers_beyond_sense(capsys, counts, tmp_path):
    for arguments, words in [
        (["test", counts, "--n-boot", "99999999999"], "--n-boot=99999999999"),
        (["report", counts, "--n-boot", "99999999999", "-o", tmp_path / "x.html"], "--n-boot=99999999999"),
        (["test", counts, "--n-boot", "0"], "--n-boot"),
        (["test", counts, "--n-boot", "9" * 6000], "--n-boot"),
        (["simulate", "noisy", "--draws", "100000000", "-n", "12", "--out", tmp_path / "x.csv"], "fewer --draws"),
        (["simulate", "noisy", "--draws", "9" * 30, "--out", tmp_path / "x.csv"], "--draws"),
        (["simulate", "noisy", "--seed", "-5", "--out", tmp_path / "x.csv"], "--seed"),
        (["simulate", "noisy", "--share", "nan", "--out", tmp_path / "x.csv"], "--share"),
        (["bounds", counts, "--for", "a,b,c", "--confidence", "7"], "confidence"),
        (["project", counts, "--tol", "nan"], "tol"),
        (["project", counts, "--max-seconds", "-1"], "--max-seconds=-1"),
        (["project", counts, "--top", "-1"], "--top"),
        (["test", counts, "--jobs", "0"], "--jobs=0"),
    ]:
        code, printed, err = run(capsys, *arguments)
        assert code == 1, arguments
        assert words in err
        assert len(err.splitlines()) <= 4
        assert printed == ""
    assert not (tmp_path / "x.csv").exists()
    many = ["simulate", "noisy", "--draws", 10**12, "-n", 5, "--form", "long", "--seed", 1, "--out", tmp_path / "x.csv"]
    assert run(capsys, *many)[0] == 0
    assert rf.ChoiceData.from_csv(tmp_path / "x.csv").n_observations == 26 * 10**12


@pytest.mark.parametrize("n_boot", [True, 0, 2.5, "9", None, 10**11])
def test_numbers_of_replicates(counts, n_boot):
    with pytest.raises(rf.InputError, match="n_boot"):
        rf.rum_test(rf.ChoiceData.from_csv(counts), n_boot=n_boot)
