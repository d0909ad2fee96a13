"""The command `simulate`, and reading its file back."""

from rumflow.data.choices import ChoiceData
from tests.reference.commands import run


def test_simulate_and_read_back(capsys, tmp_path):
    for form in ("rows", "long"):
        path = tmp_path / f"{form}.csv"
        assert (
            run(capsys, "simulate", "logit", "-n", 3, "--draws", 50, "--seed", 5, "--form", form, "--out", path)[0] == 0
        )
        data = ChoiceData.from_csv(path)
        assert data.n_observations == 4 * 50
        assert (data.rows is None) == (form == "long")
    code, _, err = run(capsys, "simulate", "noisy", "-n", 40, "--out", tmp_path / "x.csv")
    assert code == 1
    assert "-n=40: a whole number from 2 to 16 is needed" in err
