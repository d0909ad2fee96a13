"""Three kinds of rounds of the fuzzer (`studies.experiments.fuzz`): answers against enumeration, likelihoods, fits in files.

oracle   a small data set (weights 0 on groups of menus, counts up to 1e12, menus recorded in part), put to one function
sparse   counts of all sizes up to 1e12 side by side, up to 30 items: the likelihood converges, to the same by both routes
saved    a fit, saved and loaded; then its file is damaged, or made to claim what is not so: refused, or the same fit
"""

from __future__ import annotations

import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import rumflow as rf
from studies.experiments.oracle import DOORS, draw_case

Rng = np.random.Generator


class Wrong(Exception):
    """An answer that cannot be right."""


def fuzz_oracle(rng: Rng, folder: Path) -> str:
    """One question whose answer is known by enumeration."""
    name = list(DOORS)[int(rng.integers(len(DOORS)))]
    wrong = DOORS[name](draw_case(rng), rng)
    if wrong:
        raise Wrong(f"{name}: {wrong}")
    return name


def fuzz_sparse(rng: Rng, folder: Path) -> str:
    """The likelihood of a large menu beside small ones, of separate groups, or of menus at random."""
    kind = ("large menu", "groups", "menus")[int(rng.integers(3))]
    menus = _sparse_menus(rng, kind)
    counts = {menu: dict(zip(menu, _sparse_counts(rng, len(menu)), strict=True)) for menu in menus}
    data = rf.ChoiceData.from_counts(counts)
    fit = rf.fit_likelihood(data, throw=False)
    if not fit.converged:
        raise Wrong(f"gap {fit.gap:g} above {fit.tol:g}: {counts}")
    if data.n > 6:
        return kind
    for route in ("lattice", "graph"):
        other = rf.fit_likelihood(data, route=route)
        if abs(other.loglik - fit.loglik) > fit.gap + other.gap + fit.tol:
            raise Wrong(f"loglik {fit.loglik!r}, by route {route} {other.loglik!r}: {counts}")
    return f"{kind}, all routes"


def _sparse_menus(rng: Rng, kind: str) -> list[tuple[int, ...]]:
    if kind == "groups":
        size = int(rng.integers(3, 6))
        first = size * np.arange(int(rng.integers(2, 6)))
        return [tuple(range(a + i, a + j)) for a in first.tolist() for i, j in ((0, 2), (1, 3), (0, size))]
    n = int(rng.integers(11, 31)) if kind == "large menu" else int(rng.integers(3, 13))
    large = [tuple(range(n))] if kind == "large menu" else []
    near = 5 if large else n
    sizes = rng.integers(2, min(near, 6), int(rng.integers(1, 9)))
    drawn = {tuple(sorted(rng.permutation(near)[:size].tolist())) for size in sizes}
    return large + sorted(drawn)


def _sparse_counts(rng: Rng, size: int) -> list[int]:
    """A sample of any size from shares that are many powers of ten apart, or counts that are, some of them 0."""
    if rng.random() < 0.6:
        shares = 10 ** rng.uniform(-rng.choice([0.0, 2.0, 6.0, 11.0]), 0, size)
        drawn = rng.multinomial(10 ** int(rng.integers(13)), shares / shares.sum())
    else:
        drawn = np.floor(10 ** rng.uniform(0, rng.choice([1.0, 4.0, 12.0]), size)) * (rng.random(size) < 0.7)
        drawn[0] += not drawn.any()
    return [int(c) for c in drawn]


def fuzz_saved(rng: Rng, folder: Path) -> str:
    """Save, load, damage, load."""
    case = draw_case(rng)
    route = [None, "graph", "lattice"][int(rng.integers(3))]
    fit = rf.project(case.data, case.weights, route=route, throw=False)
    path = folder / "fit"
    fit.save(path)
    _compare(rf.load(path), fit)
    damage = [_flip, _cut, _replace_array, _replace_word][int(rng.integers(4))]
    path.write_bytes(damage(rng, path.read_bytes()))
    try:
        _compare(rf.load(path), fit)
    except rf.InputError:
        return f"refused after {damage.__name__.strip('_')}"
    return f"the same after {damage.__name__.strip('_')}"


def _compare(back: rf.Projection, fit: rf.Projection) -> None:
    """Without its list of menus a file is that of an array, whose menus are those that count."""
    same = back.fitted.shape == fit.fitted.shape
    if (
        abs(back.objective - fit.objective)
        > 1e-6 * fit.objective + fit.certificate.floor + 1e-12 * fit.certificate.size
        or back.inside != fit.inside
        or (same and np.nanmax(np.abs(back.fitted - fit.fitted)) > 1e-6)
    ):
        raise Wrong(f"{fit!r} came back as {back!r}")


def _flip(rng: Rng, content: bytes) -> bytes:
    broken = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        broken[int(rng.integers(len(broken)))] ^= int(rng.integers(1, 256))
    return bytes(broken)


def _cut(rng: Rng, content: bytes) -> bytes:
    return content[: int(rng.integers(len(content)))]


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _written(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _replace_array(rng: Rng, content: bytes) -> bytes:
    """Another type, shape or number in one array, all of them packed, or one of them gone."""
    members = _members(content)
    name = [one for one in members if one != "header.npy"][int(rng.integers(len(members) - 1))]
    array = np.load(BytesIO(members[name]))
    match int(rng.integers(6)):
        case 0:
            array = array.astype([">f8", "<f4", "<i2", "<c16", "?"][int(rng.integers(5))])
        case 1:
            array = np.repeat(array, 2, axis=0)
        case 2:
            array = array.astype(np.float64)
            array.reshape(-1)[: array.size // 2] = [np.nan, np.inf, -1.0, 1e300][int(rng.integers(4))]
        case 3:
            del members[name]
            return _written(members)
        case 4:
            return _written(members, zipfile.ZIP_DEFLATED)
        case 5:
            head = {"descr": "<f8", "fortran_order": False, "shape": (1 << int(rng.integers(20, 60)),)}
            file = BytesIO()
            np.lib.format.write_array_header_1_0(file, head)
            members[name] = file.getvalue()
            return _written(members)
    file = BytesIO()
    np.save(file, array)
    return _written(members | {name: file.getvalue()})


def _replace_word(rng: Rng, content: bytes) -> bytes:
    """Something else in the header."""
    members = _members(content)
    header = json.loads(np.load(BytesIO(members["header.npy"])).tobytes())
    key = list(header)[int(rng.integers(len(header)))]
    values: list[Any] = [
        None,
        -1,
        10**40,
        1e300,
        float("inf"),
        float("nan"),
        "",
        "ipm",
        [],
        [[]] * 5,
        {},
        {"name": "RandomUtility"},
    ]
    header[key] = values[int(rng.integers(len(values)))]
    file = BytesIO()
    np.save(file, np.frombuffer(json.dumps(header).encode(), np.uint8))
    return _written(members | {"header.npy": file.getvalue()})
