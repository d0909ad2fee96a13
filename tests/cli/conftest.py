import pytest

from rumflow.cli.main import main
from rumflow.data import simulate
from rumflow.data.choices import ChoiceData
from tests.reference.commands import COUNTS


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "choices.csv"
    assert (
        main(
            [
                "simulate",
                "noisy",
                "-n",
                "4",
                "--draws",
                "60",
                "--seed",
                "3",
                "--items",
                "tea,milk,juice,cola",
                "--out",
                str(path),
            ]
        )
        == 0
    )
    return path


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Ten items, forty menus of four."""
    data = simulate.random_menus(10, 40, 4, seed=0)
    path = tmp_path_factory.mktemp("cli") / "shop.csv"
    ChoiceData(tuple("abcdefghij"), data.membership, data.counts, data.totals).to_csv(path)
    return path


@pytest.fixture
def counts(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text(COUNTS, encoding="utf-8")
    return path
