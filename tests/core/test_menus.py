"""Data as large as what was observed: menus as lists of items, compared with plain tables; thousands of items, little memory."""

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumflow as rf
from rumflow.core import memory
from rumflow.core.menus import Menus
from rumflow.data import choices, interop, simulate
from rumflow.data.choices import ChoiceData
from rumflow.data.counted import Rows
from rumflow.data.menus import tally, unique_menus
from rumflow.data.understood import Understood

N, M = 5_000, 20_000
MOST_BYTES = 100e6


@st.composite
def menus(draw):
    """Up to 100 items; many menus share their largest items, so that the first words do not tell them apart."""
    n = draw(st.integers(1, 100))
    parts = draw(st.lists(st.frozensets(st.integers(0, n - 1)), min_size=1, max_size=12))
    top = frozenset(range(n - draw(st.integers(0, n)), n))
    return n, [part | top if draw(st.booleans()) else part for part in parts]


def ragged(n, sets):
    menu = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    item = np.array([x for s in sets for x in s], np.int64)
    return Menus.from_cells(menu, item, len(sets), n)[0]


def as_table(n, sets):
    return np.array([[x in s for x in range(n)] for s in sets])


@given(menus())
def test_order_of_menus_against_masks_of_any_length(case):
    """Python's whole numbers have any length: they are the plain twin."""
    n, sets = case
    masks = [sum(1 << x for x in s) for s in sets]
    found = ragged(n, sets)
    keys = found.keys().tolist()
    assert [(a > b) - (a < b) for a in keys for b in keys] == [(a > b) - (a < b) for a in masks for b in masks]
    order = found.order()
    expected = sorted(range(len(sets)), key=lambda k: masks[k])
    assert (list(range(len(sets))) if order is None else order.tolist()) == expected
    different, number = found.unique()
    assert [sum(1 << x for x in menu) for menu in different.labels(range(n))] == sorted(set(masks))
    assert [sorted(set(masks))[k] for k in number] == masks
    if n <= 62:
        assert found.masks().tolist() == masks


@given(menus())
def test_menus_against_tables(case):
    n, sets = case
    table = as_table(n, sets)
    found = ragged(n, sets)
    again, entry = Menus.from_table(table)
    assert found.same(again)
    assert len(found) == len(sets)
    np.testing.assert_array_equal(entry, found.entry)
    np.testing.assert_array_equal(found.to_table(True, False), table)
    np.testing.assert_array_equal(found.sizes, table.sum(axis=1))
    different, number = found.unique()
    dense, dense_number = unique_menus(table)
    assert different.same(Menus.from_table(dense)[0])
    np.testing.assert_array_equal(number, dense_number)
    menu, item = np.divmod(np.arange(table.size), n)
    cell = found.cells_of(menu, item)
    np.testing.assert_array_equal(cell >= 0, table.ravel())
    np.testing.assert_array_equal(cell[cell >= 0], np.arange(len(found.item)))
    assert (found.cells_of(menu, np.full(len(menu), -1)) == -1).all()
    assert (found.cells_of(menu, item + n) == -1).all()
    back = np.arange(len(sets))[::-1]
    some, cells = found.take(back)
    np.testing.assert_array_equal(some.to_table(True, False), table[back])
    np.testing.assert_array_equal(some.item, found.item[cells])
    values = np.where(np.arange(len(found.item)) % 3 == 1, np.nan, np.arange(len(found.item)))
    np.testing.assert_array_equal(found.sums(values), np.nansum(found.to_table(values, np.nan), axis=1))
    np.testing.assert_array_equal(found.count(np.isnan(values)), (np.isnan(found.to_table(values, 0.0))).sum(axis=1))
    assert not found.same(ragged(n + 1, sets))


def test_cells_in_any_order_and_twice(rng):
    menu, item = rng.integers(6, size=60), rng.integers(9, size=60)
    found, cell = Menus.from_cells(menu, item, 7, 9)
    assert found.labels(range(9)) == [tuple(sorted(set(item[menu == k].tolist()))) for k in range(7)]
    np.testing.assert_array_equal(found.menu[cell], menu)
    np.testing.assert_array_equal(found.item[cell], item)


def peak(run):
    """What run() makes, the most memory that it takes, and what it holds."""
    tracemalloc.start()
    try:
        made = run()
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return made, most, held


def test_one_long_menu_among_pairs():
    """100,000 pairs and a menu of 20,000 items: padding pairs to that length would take gigabytes."""
    first = np.repeat(np.arange(400), 250)
    second = first + np.tile(np.arange(1, 251), 400)
    cells = np.column_stack([first, second]).ravel()
    rng = np.random.default_rng(0)
    mixed = rng.permutation(len(first))
    item = np.concatenate([np.arange(20_000), cells.reshape(-1, 2)[mixed].ravel()])
    start = np.concatenate([[0], 20_000 + 2 * np.arange(len(first) + 1)])
    found, most, _ = peak(lambda: Menus(start, item.astype(np.int32), 20_000).unique()[0])
    expected = np.lexsort((first, second))
    assert found.labels_of(0, range(20_000)) == (0, 1)
    assert found.sizes[-1] == 20_000
    np.testing.assert_array_equal(found.item[: 2 * len(first)].reshape(-1, 2)[:, 0], first[expected])
    assert most < 50e6


def random_data(seed, n=7, m=12, rows=True):
    """Some menus with counts, cells that were not recorded, and choices one by one."""
    rng = np.random.default_rng(seed)
    membership, _ = unique_menus(np.vstack([rng.random((m, n)) < 0.5, np.eye(n, dtype=bool)[:1]]))
    membership = membership[membership.any(axis=1)]
    k = len(membership)
    menu = rng.integers(k, size=80)
    choice = np.array([rng.choice(np.flatnonzero(membership[j])) for j in menu])
    weight = rng.integers(1, 4, size=80).astype(float)
    counts = tally(membership, menu, choice, weight)
    totals = np.nansum(counts, axis=1)
    subject, group = rng.integers(9, size=80), rng.integers(3, size=80)
    own = Rows(menu.astype(np.int32), choice.astype(np.int16), weight, subject.astype(np.int32), group.astype(np.int32),
               tuple(range(9)), ("x", "y", "z"))  # fmt: skip
    seen = totals > 0
    number = np.cumsum(seen) - 1
    own = own._replace(menu=number[own.menu].astype(np.int32))
    return ChoiceData(tuple("abcdefg"[:n]), membership[seen], counts[seen], totals[seen], own if rows else None)


@given(st.integers(0, 30))
def test_split_against_tables(seed):
    data = random_data(seed)
    for by in ("group", "subject", ("group", "subject")):
        parts = data.split(by)
        assert sum(part.n_observations for part in parts.values()) == data.n_observations
        for key, part in parts.items():
            names = dict(zip((by,) if isinstance(by, str) else by, (key,) if isinstance(by, str) else key, strict=True))
            use = np.ones(len(data.rows.menu), bool)
            if "group" in names:
                use &= data.rows.group == data.rows.groups.index(names["group"])
            if "subject" in names:
                use &= data.rows.subject == data.rows.subjects.index(names["subject"])
            counts = tally(data.membership, data.rows.menu[use], data.rows.choice[use], data.rows.weight[use])
            seen = np.nansum(counts, axis=1) > 0
            np.testing.assert_array_equal(part.membership, data.membership[seen])
            np.testing.assert_array_equal(part.counts, counts[seen])
            np.testing.assert_array_equal(part.totals, np.nansum(counts[seen], axis=1))
            np.testing.assert_array_equal(part.rows.choice, data.rows.choice[use])
            np.testing.assert_array_equal(np.flatnonzero(seen)[part.rows.menu], data.rows.menu[use])


@given(st.integers(0, 30), st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=4))
def test_without_against_tables(seed, names):
    data = random_data(seed)
    gone = np.array([item in names for item in data.items])
    totals = data.totals - np.nansum(data.counts[:, gone], axis=1)
    left = data.membership[:, ~gone].any(axis=1) & (totals > 0)
    if not left.any():
        with pytest.raises(rf.InputError, match="there is no choice left"):
            data.without(names)
        return
    kept, own = unique_menus(data.membership[left][:, ~gone])
    counts, sums = np.zeros(kept.shape), np.zeros(len(kept))
    np.add.at(counts, own, data.counts[left][:, ~gone])
    np.add.at(sums, own, totals[left])
    found = data.without(names)
    np.testing.assert_array_equal(found.membership, kept)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.totals, sums)
    recounted = tally(found.membership, found.rows.menu, found.rows.choice, found.rows.weight)
    np.testing.assert_array_equal(recounted, counts)


def test_without_an_item_that_was_not_recorded():
    member, counts = np.array([[True, True, True]]), np.array([[3.0, np.nan, np.nan]])
    data = ChoiceData(("a", "b", "c"), member, counts, np.array([10.0]))
    with pytest.raises(rf.InputError, match=r"without \{b\}: menu \{a, b, c\} does not say how often"):
        data.without(["b"])
    with pytest.raises(rf.InputError, match=r"item 'd' is unknown: the items are \{a, b, c\}"):
        data.without(["d"])
    np.testing.assert_array_equal(data.without(["a"]).counts, [[np.nan, np.nan]])


@given(st.integers(0, 20))
def test_tables_and_cells_are_the_same_data(seed):
    """In any order of the menus; what stands outside the menus does not matter."""
    data = random_data(seed)
    order = np.random.default_rng(seed).permutation(len(data.totals))
    place = np.argsort(order)
    rows = data.rows._replace(menu=place[data.rows.menu].astype(np.int32))
    counts = np.nan_to_num(data.counts)[order]
    table = ChoiceData(data.items, data.membership[order], counts, data.totals[order], rows)
    menus, cells = data.offered.take(order)
    flat = ChoiceData.from_cells(data.items, menus, data.count[cells], data.totals[order], rows)
    assert table.equals(data)
    assert flat.equals(data)
    menu, item, count = data.cells
    np.testing.assert_array_equal(np.column_stack([menu, item]), np.argwhere(data.membership))
    np.testing.assert_array_equal(count, data.counts[data.membership])
    np.testing.assert_array_equal(data.shares, data.frequencies[data.membership])
    np.testing.assert_array_equal(data.frequencies, data.counts / data.totals[:, None])


def test_cells_are_checked():
    data = random_data(0, rows=False)
    for wrong in ((data.items[1:], data.count, data.totals), (data.items, data.count[1:], data.totals),
                  (data.items, data.count, data.totals[1:]), (data.items, data.counts, data.totals)):  # fmt: skip
        with pytest.raises(rf.InputError, match="need as many labels, totals and counts"):
            ChoiceData.from_cells(wrong[0], data.offered, *wrong[1:])
    with pytest.raises(rf.InputError, match="its total is 1e\\+17"):
        ChoiceData.from_cells(data.items, data.offered, data.count, np.full(len(data.totals), 1e17))


def test_replace():
    data = random_data(1)
    names = tuple(f"item {x}" for x in data.items)
    other = data.replace(items=names, understood=Understood("renamed"))
    assert other.items == names
    assert str(other.understood) == "renamed"
    assert other.replace(items=data.items).equals(data)
    assert data.replace(counts=2 * data.count, totals=2 * data.totals).equals(
        data.replace(counts=2 * data.counts, totals=2 * data.totals)
    )
    assert data.replace(rows=None).rows is None
    assert data.rows is not None
    with pytest.raises(rf.InputError, match="replace: membership, menus: accepted are items, counts"):
        data.replace(menus=None, membership=None)
    with pytest.raises(rf.InputError, match="need as many labels"):
        data.replace(totals=data.totals[1:])


def test_small_tables_are_kept_and_large_ones_are_not(monkeypatch):
    data = random_data(2)
    for name in ("membership", "counts", "frequencies"):
        assert getattr(data, name) is getattr(data, name)
        with pytest.raises(ValueError, match="read-only"):
            getattr(data, name)[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        data.cells.count[0] = 1
    monkeypatch.setattr(choices, "MOST_KEPT", data.counts.size - 1)
    large = random_data(2)
    for name in ("membership", "counts", "frequencies"):
        first, second = getattr(large, name), getattr(large, name)
        assert first is not second
        np.testing.assert_array_equal(first, getattr(data, name))
        np.testing.assert_array_equal(first, second)


def test_a_table_that_does_not_fit_is_refused(monkeypatch, pairs):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**29)
    with pytest.raises(rf.InputError, match=r"a table of 20,000 menus and 5,000 items needs .*: use data\.cells"):
        _ = pairs.counts


@pytest.fixture(scope="module")
def given_counts():
    """20,000 pairs among 5,000 items, each of which is in some pair."""
    rng = np.random.default_rng(0)
    first = np.concatenate([np.arange(N), rng.integers(N, size=2 * M)])
    second = np.concatenate([(np.arange(N) + 1) % N, rng.integers(N, size=2 * M)])
    keys = dict.fromkeys((min(a, b), max(a, b)) for a, b in zip(first.tolist(), second.tolist(), strict=True) if a != b)
    counts = rng.integers(0, 3, size=(M, 2))
    counts[:, 0] += 1
    names = [f"p{x:04d}" for x in range(N)]
    return {
        (names[a], names[b]): {names[a]: c, names[b]: d}
        for (a, b), (c, d) in zip(list(keys)[:M], counts.tolist(), strict=True)
    }


@pytest.fixture(scope="module")
def pairs(given_counts):
    return ChoiceData.from_counts(given_counts, items=[f"p{x:04d}" for x in range(N)])


def test_pairs_from_counts(given_counts):
    begin = time.process_time()
    data = ChoiceData.from_counts(given_counts)
    seconds = time.process_time() - begin
    again, most, held = peak(lambda: ChoiceData.from_counts(given_counts))
    assert again.equals(data)
    assert (data.n, len(data.totals)) == (N, M)
    assert seconds < 20  # of this process, 0.2 s on two cores; one that is quadratic in the items takes minutes
    assert most < MOST_BYTES
    assert held < 5e6
    assert dict(zip(data.menus, data.totals.tolist(), strict=True)) == {
        tuple(sorted(menu, key=data.items.index)): float(sum(chosen.values())) for menu, chosen in given_counts.items()
    }


def files(given_counts, path):
    """The same choices in four layouts of a file."""
    rows = list(given_counts.items())
    single = [(winner, loser) for (a, b), chosen in rows
              for winner, loser in [(a, b)] * chosen[a] + [(b, a)] * chosen[b]]  # fmt: skip
    lines = {
        "winner,loser": [f"{a},{b}" for a, b in single],
        "menu,choice,count": [f'"{a},{b}",{x},{chosen[x]}' for (a, b), chosen in rows for x in (a, b)],
        "menu_id,item,count": [f"{k},{x},{chosen[x]}" for k, (menu, chosen) in enumerate(rows, 1) for x in menu],
        "observation,alternative,chosen": [f"{k},{x},{flag}" for k, pair in enumerate(single) for x, flag in
                                           zip(pair, (1, 0), strict=True)],
    }  # fmt: skip
    for header, content in lines.items():
        name = path / f"{header.replace(',', ' ')}.csv"
        name.write_text("\n".join([header, *content]) + "\n", encoding="utf-8")
        yield name, len(content)


def test_pairs_from_files(given_counts, pairs, tmp_path):
    small = tmp_path / "small.csv"
    small.write_text("winner,loser\na,b\nb,a\n", encoding="utf-8")
    ChoiceData.from_csv(small)  # what is imported to read files is not what a file takes
    for name, rows in files(given_counts, tmp_path):
        data, most, held = peak(lambda name=name: ChoiceData.from_csv(name))
        assert data.replace(rows=None).equals(pairs), name
        # A bit less than 1,000 bytes a row while the texts are held, of the last chunk and of the different menus.
        assert most < max(MOST_BYTES, 1000 * rows)
        assert held < 5e6 + 20 * rows


@pytest.fixture
def no_tables(monkeypatch):
    """Nothing may make a table (menus, items)."""

    def refuse(*_):
        raise AssertionError("a table (menus, items) was made")

    monkeypatch.setattr(Menus, "to_table", refuse)
    monkeypatch.setattr(Menus, "from_table", refuse)


@pytest.mark.usefixtures("no_tables")
def test_nothing_on_the_way_makes_a_table(given_counts, tmp_path):
    data = ChoiceData.from_counts(given_counts)
    assert repr(data).startswith("ChoiceData(5000 items, 20000 menus")
    for form in ("long", "rows"):
        again = ChoiceData.from_pairs(data.to_pairs(), items=data.items) if form == "rows" else data
        assert again.replace(rows=None).equals(data)
        again.to_csv(tmp_path / "pairs.csv", form)
        assert ChoiceData.from_csv(tmp_path / "pairs.csv").equals(again)
        assert ChoiceData.from_frame(again.to_frame(form, "dict")).equals(again)
    assert interop.from_choix(*interop.to_choix(data), items=data.items).replace(rows=None).equals(data)
    subject = np.arange(len(again.rows.menu)) % 1000
    rows = again.rows._replace(subject=subject.astype(np.int32), subjects=tuple(range(1000)))
    parts = again.replace(rows=rows).split("subject")
    assert len(parts) == 1000
    assert sum(part.n_observations for part in parts.values()) == data.n_observations
    fewer = again.without(data.items[:10])
    assert fewer.n == N - 10
    assert fewer.n_observations < data.n_observations
    assert fewer.rows.weight.sum() == fewer.n_observations


def test_pairs_of_thousands_are_drawn_quickly():
    begin = time.process_time()
    data, most, _ = peak(lambda: simulate.random_menus(20_000, 50_000, 2, n_rankings=5, draws=10, seed=0))
    assert time.process_time() - begin < 60
    assert most < MOST_BYTES
    assert len(set(data.menus)) == 50_000
    assert (data.offered.sizes == 2).all()
    assert (data.totals == 10).all()
    assert (data.offered.sums(data.count) == 10).all()
    often = np.bincount(data.cells.item, minlength=20_000)  # 5 times each on average
    assert 4.7 < often.var() < 5.3  # of a Poisson number, up to six standard errors


@pytest.mark.parametrize(("n", "n_menus", "size"), [(5, 10, 2), (9, 40, 4), (70, 30, 63), (300, 40, 2)])
def test_draws_are_those_from_a_table(n, n_menus, size):
    """The plain twin draws from rows of n shares."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = np.zeros((0, n), bool)
        while len(found) < n_menus:
            more = np.zeros((n_menus, n), bool)
            np.put_along_axis(more, rng.random((n_menus, n)).argpartition(size - 1, axis=1)[:, :size], True, axis=1)
            found, _ = unique_menus(np.vstack([found, more]))
        member = found[np.sort(rng.choice(len(found), n_menus, replace=False))]
        shares = np.zeros(member.shape)
        for weight in rng.dirichlet(np.ones(6)):
            place = rng.permutation(n)
            shares[np.arange(n_menus), np.where(member, place, n).argmin(axis=1)] += weight
        counts = rng.multinomial(50, shares / shares.sum(axis=1, keepdims=True))
        data = simulate.random_menus(n, n_menus, size, n_rankings=6, draws=50, seed=seed)
        np.testing.assert_array_equal(data.membership, member)
        np.testing.assert_array_equal(data.counts, np.where(member, counts, np.nan))
