"""Commands run in this process or in one of their own."""

import subprocess
import sys

from rumflow.cli.main import main


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return code, printed.out, printed.err


COUNTS = "menu,item,count\n" + "".join(
    f"{m},{x},{c}\n"
    for m, x, c in [("ab", "a", 6), ("ab", "b", 4), ("bc", "b", 6), ("bc", "c", 4), ("ac", "a", 1), ("ac", "c", 9)]
)


def start(*arguments, **options):
    command = [sys.executable, "-m", "rumflow", *map(str, arguments)]
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    return subprocess.Popen(command, text=True, **{**pipes, **options})


def out(command, path, n_boot=9):
    more = {"bounds": ["--for", "a,b,c"], "test": ["--n-boot", n_boot], "report": ["--n-boot", n_boot]}
    return ["--out", path, *more.get(command, [])]


SALES = [
    ("none|tea|milk", "none", 30),
    ("none|tea|milk", "tea", 35),
    ("none|tea|milk", "milk", 35),
    ("none|milk|beer", "none", 35),
    ("none|milk|beer", "milk", 40),
    ("none|milk|beer", "beer", 25),
]
