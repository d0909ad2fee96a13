"""What is written and read again is the same, exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumflow.data.choices import ChoiceData
from tests.reference.choice_tables import ITEMS, choices, same_counts

LABELS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8).filter(
        lambda s: s.strip() == s and s.lower() not in ("na", "nan")
    ),
    min_size=2,
    max_size=5,
    unique_by=lambda s: "".join(s.split()).casefold(),
)


@st.composite
def any_data(draw):
    items = tuple(draw(LABELS | st.just(list(range(4)))))
    n = len(items)
    masks = sorted(draw(st.sets(st.integers(1, 2**n - 1), min_size=1, max_size=6)))
    counts = np.full((len(masks), n), np.nan)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    whole = draw(st.booleans())
    for k, mask in enumerate(masks):
        inside = [x for x in range(n) if mask >> x & 1]
        counts[k, inside] = rng.integers(0, 50, len(inside)) if whole else rng.random(len(inside))
        counts[k, inside[0]] += 1
    return ChoiceData(items, ~np.isnan(counts), counts, np.nansum(counts, axis=1))


@given(any_data())
def test_round_trips_are_exact(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("trip")
    all_numbers = all(isinstance(x, str) and x.lstrip("-").isdigit() for x in data.items)
    options = {"items": data.items} if all_numbers else {}
    data.to_csv(folder / "a.csv")
    again = ChoiceData.from_csv(folder / "a.csv", **options)
    assert again.equals(data), again.understood
    assert ChoiceData.from_frame(data.to_frame(backend="dict")).equals(data)
    same_counts(ChoiceData.from_matrix(data.to_matrix(), data.items), data)


@given(any_data())
def test_round_trips_through_frames_are_exact(tmp_path_factory, data):
    pytest.importorskip("narwhals")
    for backend in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(backend)
        assert ChoiceData.from_frame(data.to_frame(backend=backend)).equals(data)
    path = tmp_path_factory.mktemp("trip") / "a.parquet"
    data.to_parquet(path)
    assert ChoiceData.from_parquet(path).equals(data)
    assert ChoiceData.from_csv(path).equals(data)


@pytest.mark.parametrize("kind", ["csv", "parquet", "dict"])
def test_rows_round_trip(tmp_path, kind):
    menus, picks = choices()
    table = {
        "menu": [",".join(m) for m in menus],
        "choice": picks,
        "weight": [1 + k % 2 / 2 for k in range(len(picks))],
        "subject": [f"s{k % 9}" for k in range(len(picks))],
        "domain": ["one" if k % 2 else "two" for k in range(len(picks))],
        "block": [f"b{k % 3}" for k in range(len(picks))],
    }
    data = ChoiceData.from_frame(table, items=ITEMS, weight="weight", group=["domain", "block"])
    assert len(data.split()) == 6
    assert len(data.split(("group", "subject"))) == 18
    if kind == "dict":
        again = ChoiceData.from_frame(data.to_frame("rows", "dict"))
    elif kind == "csv":
        data.to_csv(tmp_path / "a.csv", "rows")
        again = ChoiceData.from_csv(tmp_path / "a.csv")
    else:
        pytest.importorskip("pyarrow")
        data.to_parquet(tmp_path / "a.parquet", "rows")
        again = ChoiceData.from_parquet(tmp_path / "a.parquet")
    assert again.equals(data)


def test_partial_data_round_trip(tmp_path):
    matrix = np.full((8, 3), np.nan)
    matrix[3, :2], matrix[7, 0] = (0.25, 0.75), 0.5
    data = ChoiceData.from_matrix(matrix, ITEMS)
    data.to_csv(tmp_path / "a.csv")
    assert ChoiceData.from_csv(tmp_path / "a.csv").equals(data)
