"""Files of kernels: what a kill, another process or older sources leave behind."""

import os

import pytest

from rumflow.core.kernel_files import KernelIndex


def test_code_of_older_sources_is_never_taken_for_new_code(tmp_path, monkeypatch):
    """Nor is any, where a process is killed between the two files that it writes."""

    class Killed(BaseException):
        pass

    def die(*_):
        raise Killed

    KernelIndex(str(tmp_path), "kernel", "old sources").save("int64", "old code")
    for step in ("_save_data", "_save_index"):
        with monkeypatch.context() as patch:
            patch.setattr(KernelIndex, step, die)
            with pytest.raises(Killed):
                KernelIndex(str(tmp_path), "kernel", "new sources").save("int64", "new code")
        assert KernelIndex(str(tmp_path), "kernel", "new sources").load("int64") is None
        assert KernelIndex(str(tmp_path), "kernel", "old sources").load("int64") == "old code"
    KernelIndex(str(tmp_path), "kernel", "new sources").save("int64", "new code")
    assert KernelIndex(str(tmp_path), "kernel", "new sources").load("int64") == "new code"
    assert KernelIndex(str(tmp_path), "kernel", "old sources").load("int64") is None


@pytest.mark.parametrize("step", ["_save_data", "_load_index", "_save_index"])
def test_two_processes_that_save_at_once_do_not_mix_their_code(tmp_path, step):
    """One is interrupted by the other before each of its steps: a key may be lost, and has no other's code."""
    first, second = (KernelIndex(str(tmp_path), "kernel", "sources") for _ in range(2))
    go_on = getattr(first, step)

    def interrupted(*given):
        second.save("key of second", "code of second")
        return go_on(*given)

    setattr(first, step, interrupted)
    first.save("key of first", "code of first")
    later = KernelIndex(str(tmp_path), "kernel", "sources")
    assert later.load("key of first") == "code of first"
    assert later.load("key of second") in ("code of second", None)
    assert later.load("key of second") is not None or step == "_save_index"


def test_files_of_older_sources_are_removed(tmp_path):
    """Not at once: a process with the same sources may be about to name its file in the index."""

    def files():
        return sorted(file.name for file in tmp_path.glob("*.nbc"))

    KernelIndex(str(tmp_path), "kernel", "old sources").save("int64", "old code")
    KernelIndex(str(tmp_path), "kernel2", "old sources").save("int64", "another kernel")
    KernelIndex(str(tmp_path), "kernel", "new sources").save("int64", "new code")
    assert len(files()) == 3
    for file in tmp_path.glob("*.nbc"):
        os.utime(file, (0, 0))
    KernelIndex(str(tmp_path), "kernel", "newer sources").save("int64", "newer code")
    assert len(files()) == 2
    assert KernelIndex(str(tmp_path), "kernel", "newer sources").load("int64") == "newer code"
    assert KernelIndex(str(tmp_path), "kernel2", "old sources").load("int64") == "another kernel"
