"""Arrays in a file: the way there and back, and files that are refused before they take memory."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import rumflow as rf
from rumflow.output.archive import read_archive, write_archive

ARRAYS = {
    "floats": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "truths": np.array([True, False]),
    "none": np.empty((0, 4)),
    "small": np.arange(3, dtype=np.uint8),
}


def npy(array=None, shape=None, descr="<f8"):
    """The bytes of an array, with whatever its head is to say."""
    file = io.BytesIO()
    if array is not None:
        np.save(file, array)
    else:
        np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def header(text='{"kind": "test"}'):
    return npy(np.frombuffer(text.encode(), np.uint8))


def write(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)


def test_there_and_back(tmp_path):
    path = tmp_path / "file"
    write_archive(path, {"kind": "test", "words": ["é", 1.5, None]}, ARRAYS)
    words, arrays = read_archive(path, "test")
    assert words == {"kind": "test", "words": ["é", 1.5, None]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert np.array_equal(arrays[name], array)
        assert arrays[name].flags.writeable
    with pytest.raises(rf.InputError, match="its header is another one"):
        read_archive(path, "other")


DEEP = '{"kind": "test", "a": ' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "it has no header"),
        ([("header.npy", header("[1]"))], "its header is another one"),
        ([("header.npy", header('{"kind": "test", "a": Infinity}'))], "its header holds Infinity"),
        ([("header.npy", header('{"kind": "test", "a": NaN}'))], "its header holds NaN"),
        ([("header.npy", header(DEEP))], "recursion"),
        ([("header.npy", header("{"))], "damaged"),
        ([("header.npy", npy(np.array([255], np.uint8)))], "damaged"),
        ([("header.npy", header()), ("a.npy", npy(shape=(1 << 38,)))], "is not as long as its shape"),
        ([("header.npy", header()), ("a.npy", npy(shape=(3, -1)))], "is not as long as its shape"),
        ([("header.npy", header()), ("a.npy", npy(np.zeros(3)) + b"more")], "is not as long as its shape"),
        ([("header.npy", header()), ("a.npy", npy(np.zeros(3))[:-1])], "is not as long as its shape"),
        (
            [("header.npy", header()), ("a.npy", npy(np.zeros(3, ">f8")))],
            "'>f8', not numbers in the usual order of bytes",
        ),
        ([("header.npy", header()), ("a.npy", npy(np.array(["a"])))], "'<U1', not numbers"),
        ([("header.npy", header()), ("a.npy", npy(shape=(1,), descr="|O"))], "'|O', not numbers"),
        ([("header.npy", header()), ("a.npy", b"no array")], "damaged"),
        ([("header.npy", header()), ("a.npy", b"")], "damaged"),
        ([("header.npy", header()), *((f"{k}.npy", npy(np.zeros(1))) for k in range(100))], "it holds 101 arrays"),
    ],
)
def test_refused(members, message, tmp_path):
    path = tmp_path / "file"
    write(path, members)
    with pytest.raises(rf.InputError, match=message):
        read_archive(path, "test")


def test_a_name_that_is_there_twice(tmp_path):
    path = tmp_path / "file"
    with pytest.warns(UserWarning, match="Duplicate name"):
        write(path, [("header.npy", header()), ("a.npy", npy(np.zeros(3))), ("a.npy", npy(np.ones(3)))])
    with pytest.raises(rf.InputError, match=r"'a\.npy' is in it twice"):
        read_archive(path, "test")


def test_nothing_is_unpacked(tmp_path):
    """Zeros pack well: 16 MB in a few kilobytes."""
    path = tmp_path / "file"
    write(path, [("header.npy", header()), ("a.npy", npy(np.zeros(1 << 21)))], zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 16
    tracemalloc.start()
    with pytest.raises(rf.InputError, match="its arrays are compressed"):
        read_archive(path, "test")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_sizes_in_the_list_of_contents(tmp_path):
    """A list of contents that promises more than the file holds."""
    path = tmp_path / "file"
    content = npy(shape=(1 << 28,))
    write(path, [("header.npy", header()), ("a.npy", content)])
    sound = path.read_bytes()
    size, false = struct.pack("<I", len(content)), struct.pack("<I", (1 << 31) + len(content))
    path.write_bytes(sound.replace(size, false))
    with pytest.raises(rf.InputError, match="said to be longer than the file"):
        read_archive(path, "test")


def test_what_is_cut_off(tmp_path):
    path = tmp_path / "file"
    write_archive(path, {"kind": "test"}, ARRAYS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(rf.InputError, match="damaged"):
            read_archive(path, "test")
    for place in range(0, len(whole), 13):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:  # a changed byte is found by its checksum, or was not part of what counts
            words, arrays = read_archive(path, "test")
        except rf.InputError:
            continue
        assert json.dumps(words) == '{"kind": "test"}'
        assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())
