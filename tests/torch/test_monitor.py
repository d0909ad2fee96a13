"""The monitor flags what is far off."""

import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the layer is not tested")

import rumflow as rf  # noqa: E402
from rumflow.torch import ConflictMonitor  # noqa: E402


def test_the_monitor_flags_what_is_far_off() -> None:
    generator = torch.Generator().manual_seed(10)
    monitor = ConflictMonitor(threshold=5.0, warmup=100)
    squares = torch.rand(10, 50, generator=generator) + 1.0
    for row in squares:
        report = monitor(row)
        assert not report.outlier.any()
    distance = squares.reshape(-1).double().sqrt()
    assert abs(report.mean - float(distance.mean())) < 1e-7
    assert abs(report.std - float(distance.std(correction=0))) < 1e-7
    report = monitor(torch.tensor([1.5, 100.0, float("nan")]))
    assert report.outlier.tolist() == [False, True, True]
    assert int(monitor.flagged) == 2
    again = ConflictMonitor(threshold=5.0, warmup=100)
    again.load_state_dict(monitor.state_dict())
    assert int(again.count) == 501
    again.reset()
    assert int(again.count) == 0
    moving = ConflictMonitor(momentum=0.5)
    moving(torch.ones(4))
    assert moving(torch.full((4,), 4.0)).mean == 1.5
    assert "seen=8" in repr(moving)
    for options in ({"threshold": 0.0}, {"momentum": 2.0}):
        with pytest.raises(rf.InputError):
            ConflictMonitor(**options)


def test_a_lasting_shift_does_not_silence_the_monitor() -> None:
    generator = torch.Generator().manual_seed(11)
    monitor = ConflictMonitor(threshold=5.0, warmup=100)
    monitor(torch.rand(200, generator=generator) + 1.0)
    mean, std = float(monitor.mean), float(monitor.std)
    for _ in range(50):
        report = monitor(torch.rand(40, generator=generator) + 100.0)
        assert report.outlier.all()
    assert (report.mean, report.std) == (mean, std)
    assert int(monitor.flagged) == 2000
    assert float(monitor.largest) > 10
    monitor.eval()
    before = {name: value.clone() for name, value in monitor.state_dict().items()}
    assert monitor(torch.tensor([1.5, 400.0])).outlier.tolist() == [False, True]
    assert all(torch.equal(value, before[name]) for name, value in monitor.state_dict().items())


def test_the_monitor_keeps_its_precision_and_writes_json() -> None:
    monitor = ConflictMonitor(warmup=1).half()
    monitor(torch.full((3,), 1e-4, dtype=torch.float16))
    assert monitor.mean.dtype == torch.float64
    assert float(monitor.mean) == pytest.approx(1e-2, rel=1e-3)
    report = monitor(torch.tensor([1e-4, float("inf")]))
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["distance"][1] is None
    assert told["outlier"] == [False, True]
    assert set(told) == {"distance", "score", "outlier", "mean", "std"}


def test_a_report_in_any_form(tmp_path):
    report = ConflictMonitor(warmup=2)(torch.tensor([1.0, 4.0, 9.0], dtype=torch.float64))
    assert report.to_frame(backend="dict")["distance"] == [1.0, 2.0, 3.0]
    assert report.summary().startswith("0 of 3 samples are outliers")
    assert "<table>" in report._repr_html_()
    report.write(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()[0] == "distance,score,outlier"
    distance, *_ = report
    assert distance.tolist() == [1.0, 2.0, 3.0]
