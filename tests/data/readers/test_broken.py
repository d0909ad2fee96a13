"""A hundred broken files: each ends in a short error that names the file, the line and what to do; none in a traceback."""

import contextlib
import gzip

import numpy as np
import pytest

import rumflow as rf
from rumflow.cli.main import main
from rumflow.data.choices import ChoiceData

GOOD = 'menu,choice\n"tea,milk",tea\n"tea,juice",juice\n"milk,juice",milk\n"tea,milk,juice",tea\n'
LONG = "menu,item,count\nab,a,3\nab,b,4\nabc,a,1\nabc,b,2\nabc,c,5\n"
FLAGS = "choice,x,y,z\n1,1,1,0\n2,1,1,1\n3,0,1,1\n"


def put(text, line, new):
    """The text with one line replaced (from 1)."""
    lines = text.split("\n")
    lines[line - 1] = new
    return "\n".join(lines)


def broken():
    """(name, content, words that must be in the message)."""
    cases = [("empty", b"", "empty"), ("blank", b"\n \n\n", "empty"), ("header-only", b"menu,choice\n", "no rows")]
    for line, pick in [(2, "juice"), (3, "milk"), (4, "tea"), (5, "water"), (5, "coffee")]:
        bad = put(GOOD, line, GOOD.split("\n")[line - 1].rsplit(",", 1)[0] + "," + pick)
        cases.append((f"outside-menu-{line}-{pick}", bad, f"line {line}"))
    for line in (2, 3, 4, 5):
        cases.append((f"no-choice-{line}", put(GOOD, line, '"tea,milk",'), f"line {line}"))
        cases.append((f"empty-menu-{line}", put(GOOD, line, ",tea"), f"line {line}"))
        cases.append((f"extra-field-{line}", put(GOOD, line, '"tea,milk",tea,tea,tea'), f"line {line}"))
        cases.append((f"short-row-{line}", put(GOOD, line, "tea"), f"line {line}"))
        cases.append((f"unquoted-{line}", put(GOOD, line, "tea,milk,tea"), f"line {line}"))
        cases.append((f"item-twice-{line}", put(GOOD, line, '"tea,tea",tea'), f"line {line}"))
        cases.append((f"case-{line}", put(GOOD, line, '"Tea,milk",milk'), "blanks or case"))
        cases.append((f"blank-{line}", put(GOOD, line, '"te a,milk",milk'), "blanks or case"))
        cases.append((f"latin-1-{line}", put(GOOD, line, '"thé,milk",milk').encode("latin-1"), f"line {line}"))
        bad = put(FLAGS, min(line, 4), f"{min(line, 4) - 1},1,2,1")
        cases.append((f"flag-2-{line}", bad, "0 or 1"))
    for k, (line, word) in enumerate(
        [(2, "three"), (3, "-1"), (4, "inf"), (5, "1e999"), (6, "2;5"), (2, '"1,5"'), (3, "--")]
    ):
        bad = put(LONG, line, LONG.split("\n")[line - 1].rsplit(",", 1)[0] + "," + word)
        cases.append((f"count-{k}-{line}", bad, f"line {line}"))
    for line in (4, 5, 6):
        cases.append((f"twice-{line}", LONG + LONG.split("\n")[line - 1] + "\n", "line 7"))
    cases += [
        ("zero-counts", "menu,item,count\nab,a,0\nab,b,0\n", "every count is 0"),
        ("missing-count", "menu,item,count\nab,a,3\nab,b,\n", "'total'"),
        ("one-column", "menu\ntea\nmilk\n", "line 1"),
        ("wrong-delimiter", GOOD.replace(",", "~"), "line 1"),
        ("colon", "menu:choice\na+b:a\n", "line 1"),
        ("no-header", '"tea,milk",tea\n"tea,juice",juice\n', "line 1"),
        ("number-header", "1,2\n3,1\n3,2\n", "line 1"),
        ("header-twice", "menu,choice,choice\nab,a,a\n", "line 1"),
        ("unnamed", "menu,,choice\nab,1,a\n", "line 1"),
        ("two-menus", 'menu,assortment,choice\n"a,b","a,b",a\n', "could be column"),
        ("two-choices", 'menu,choice,chosen\n"a,b",a,b\n', "could be column"),
        ("count-and-weight", 'menu,choice,count,weight\n"a,b",a,1,2\n', "count="),
        ("no-menu", "subject,choice\n1,a\n2,b\n", "--menu"),
        ("no-roles", "alpha,beta,gamma\nx,y,z\nu,v,w\n", "--menu"),
        ("no-choice-column", 'menu,age,height\n"a,b",3,4\n"a,c",4,5\n', "--choice"),
        ("mask-labels", "mask,choice\n3,tea\n7,milk\n", "items="),
        ("mask-base", "mask,choice\n3,1\n7,1\n", "base=0"),
        ("mask-negative", "menu_mask,choice\n-3,0\n3,1\n", "line 2"),
        ("mask-zero", "menu_mask,choice\n0,0\n3,1\n", "line"),
        ("mask-text", "menu_mask,choice\n3,0\nabc,1\n", "line 3"),
        ("mask-huge", "menu_mask,choice\n1099511627776,0\n3,1\n", "line"),
        ("mask-mismatch", 'menu_mask,menu,choice\n3,"a,b",a\n7,"a,b",a\n', "line 3"),
        ("mask-moves", 'menu_mask,menu,choice\n3,"a,b",a\n6,"a,c",a\n', "line 3"),
        ("ids", "menu,choice\n101,a\n102,b\n", "menus="),
        ("flag-base", "choice,x,y,z\n1,1,1,1\n1,1,1,1\n", "base="),
        ("flag-outside", "choice,x,y,z\n3,1,1,0\n1,1,0,1\n2,0,1,1\n0,1,1,1\n", "line"),
        ("flag-all-zero", "choice,x,y,z\nx,1,1,0\ny,0,0,0\nz,1,0,1\n", "line 3"),
        ("flag-text", "choice,x,y,z\nx,1,1,0\ny,1,1,1\nx,1,maybe,1\n", "0 or 1"),
        ("winner-in-losers", 'winner,losers\na,"b,c"\nb,"b,c"\n', "line 3"),
        ("no-losers", "winner,losers\na,b\n,b\n", "line 3"),
        ("two-chosen", "id,alt,choice\n1,a,1\n1,b,1\n2,a,1\n2,b,0\n", "line 2"),
        ("none-chosen", "id,alt,choice\n1,a,1\n1,b,0\n2,a,0\n2,b,0\n", "line 4"),
        ("count-with-commas", 'menu,choice,count\n"a,b",a,"1,000"\n"a,b",b,"2,500"\n', "without marks between thousands"),
        ("count-with-spaces", 'menu,choice,count\n"a,b",a,1 000\n"a,b",b,2 500\n', "without marks between thousands"),
        ("count-with-marks", "menu,choice,count\n\"a,b\",a,1'000\n\"a,b\",b,2'500\n", "without marks between thousands"),
        ("count-with-both", "menu;choice;count\na,b;a;1.000,5\na,b;b;2.500,25\n", "without marks between thousands"),
        ("count-in-tabs", "menu\tchoice\tcount\na,b\ta\t1.000\na,b\tb\t2.500\n", "could be 1000 or 1"),
        ("huge-count", "menu,item,count\nab,a,1e308\nab,b,4\n", "2^53 = 9007199254740992"),
        ("huge-total", "menu,item,count,total\nab,a,3,9223372036854775808\nab,b,,9223372036854775808\n", "2^53"),
        ("huge-sum", "menu,item,count\nab,a,9e15\nab,b,9e15\n", "2^53"),
        ("long-number", "menu,choice\n\"" + "7" * 6000 + ",b\",c\n", "line 2"),
        ("long-number-in-list", "menu,choice\n\"[1," + "7" * 6000 + "]\",c\n", "line 2"),
        ("many-choices", "menu,choice\n" + "".join(f"m{k},c{k}\n" for k in range(500)), "line"),
        ("open-quote", 'menu,choice\n"tea,milk",tea\n"tea,milk,tea\n' + "x,y\n" * 40000, "line"),
        ("binary", bytes(range(256)) * 8, "line 1"),
        ("zip", b"PK\x03\x04" + b"\0" * 100, "Excel"),
        ("utf-16", GOOD.encode("utf-16"), "--encoding"),
        ("bad-gzip.csv.gz", b"\x1f\x8b\x08\x00garbage", "gzip"),
        ("cut-gzip.csv.gz", gzip.compress((GOOD * 2000).encode())[:60], "gzip"),
        ("bad.parquet", b"PAR1 this is not one PAR1", "Parquet"),
        ("text.parquet", GOOD.encode(), "Parquet"),
        ("nul", "menu,choice\na\0b,a\n", "zero bytes"),
        ("matrix-rows", "a,b,c\n1,0,0\n0,2,0\n3,4,0\n", "line 1"),
        ("json", '{"menu": ["a", "b"],\n "choice": "a"}\n', "line"),
        ("html", "<html>\n<body>no table</body>\n</html>\n", "line 1"),
        ("long-line", "menu,choice" + "x" * 200_000 + "\n", "line 1"),
        ("mixed-types", "menu,choice\n3,0\n\"0,1\",1\nabc,2\n", "line"),
    ]  # fmt: skip
    return cases


CASES = broken()


def test_there_are_a_hundred():
    assert len(CASES) >= 100
    assert len({name for name, _, _ in CASES}) == len(CASES)


@pytest.mark.parametrize(("name", "content", "words"), CASES, ids=[name for name, _, _ in CASES])
def test_broken_file(tmp_path, capsys, name, content, words):
    path = tmp_path / (name if "." in name else f"{name}.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(rf.InputError) as caught:
        ChoiceData.from_csv(path)
    message = str(caught.value)
    assert str(path) in message
    assert words in message
    assert len(message) < 600
    assert main(["project", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) <= 4
    assert "Traceback" not in printed.err


def test_random_bytes_never_end_in_a_traceback(tmp_path):
    """Good files with a few bytes changed, dropped or doubled are read or refused with an error of ours."""
    rng = np.random.default_rng(0)
    path = tmp_path / "a.csv"
    for good in (GOOD, LONG, FLAGS):
        for _ in range(150):
            content = bytearray(good.encode())
            for _ in range(rng.integers(1, 4)):
                k = int(rng.integers(len(content)))
                match rng.integers(3):
                    case 0:
                        content[k] = int(rng.integers(256))
                    case 1:
                        del content[k]
                    case _:
                        content.insert(k, int(rng.choice(list(b'",;\n\t01x'))))
            path.write_bytes(bytes(content))
            with contextlib.suppress(rf.InputError):
                ChoiceData.from_csv(path)
