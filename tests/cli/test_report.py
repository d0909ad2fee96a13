"""The command `report`, and an interrupt that leaves the old page."""

import re
import signal
import time
from types import SimpleNamespace

import pytest

from rumflow.cli.main import main
from tests.reference.commands import COUNTS, run, start
from tests.reference.systems import not_on_windows

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


@not_on_windows
@pytest.mark.slow
def test_an_interrupted_report_leaves_the_old_page(tmp_path, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    page.write_text("old", encoding="utf-8")
    data = tmp_path / "noisy.csv"
    assert main(["simulate", "noisy", "-n", "6", "--seed", "1", "--out", str(data)]) == 0
    # Compiled beforehand: what is tested is the interruption of the work.
    assert main(["report", str(data), "-o", str(tmp_path / "first.html"), "--n-boot", "10", "-q"]) == 0
    process = start("report", data, "-o", page, "--n-boot", "5000000")
    assert any("items" in line for line in process.stderr)  # read: the work begins, wherever it is a second later
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert page.read_text(encoding="utf-8") == "old"
    # Where some replicates are done the test has an answer, but the page would not be the one that was asked for.
    monkeypatch.setattr("rumflow.report.findings.rum_test", lambda *_, **__: SimpleNamespace(interrupted=True))
    assert main(["report", str(data), "-o", str(page), "-q"]) == 130
    assert page.read_text(encoding="utf-8") == "old"


def test_a_report_says_how_it_was_made(capsys, tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    data, page = tmp_path / "my data.csv", tmp_path / "page.html"
    data.write_text(COUNTS, encoding="utf-8")
    assert run(capsys, "report", data, "--menu", "menu", "-o", page, "--n-boot", 0)[0] == 0
    command = re.search(r"rumflow report .* --n-boot 0", page.read_text(encoding="utf-8")).group()
    assert f"{data}&#39; --menu menu -o" in command


def test_command(tmp_path, capsys):
    data = tmp_path / "data.csv"
    data.write_text('menu,choice\n"a,b",a\n"a,b",b\n"a,b,c",c\n"b,c",b\n', encoding="utf-8")
    assert main(["report", str(data), "-o", str(tmp_path / "out.html"), "--n-boot", "9", "--json"]) == 0
    assert '"pvalue"' in capsys.readouterr().out
    assert (tmp_path / "out.html").exists()
