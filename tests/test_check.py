"""Every function, layer and command refuses the same bad values in the same words, before anything is solved.

Parameters are found by the signatures: each must have a kind below, or stand on the list of those without one, with the reason.
"""

import inspect
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import rumflow as rf
from rumflow import check
from rumflow.cli.arguments import number_or_text
from rumflow.cli.main import main
from rumflow.cli.parser import make_parser
from rumflow.inference.confidence import INTERVALS
from rumflow.inference.convention import CONVENTIONS, DRAWS, TAUS
from rumflow.inference.linear import STATISTICS
from rumflow.inference.resample import RESAMPLE
from rumflow.layers.checks import NONFINITE, require_options
from rumflow.report import make_report
from rumflow.solvers.dispatch import METHODS
from rumflow.solvers.routes import ROUTES

NAN, INF = float("nan"), float("inf")
NUMBERS = ("x", "", NAN, INF, -INF, -1, True, [], [1], np.ones(2), None)
ITEMS = ("a", "b", "c")
COUNTS = {("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}}
DATA = rf.ChoiceData.from_counts(COUNTS)
PAIRS = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("b", "c"): {"b": 20, "c": 30}})
VOTES = {"subject": [1, 1, 1], "menu": ["a|b", "b|c", "a|c"], "choice": ["a", "b", "c"]}
ARRAY = rf.simulate.dirichlet(3, seed=0)
SHARES = np.linspace(0.1, 0.9, 8)
HOUSEHOLDS = [[1.0, 2.0], [2.0, 1.0]], np.repeat([0, 1], 4), np.column_stack([SHARES, 1 - SHARES])
PLAIN_DEMAND = rf.BudgetData.from_shares(*HOUSEHOLDS)
SMOOTHED_DEMAND = rf.BudgetData.from_shares(*HOUSEHOLDS, expenditure=np.linspace(1, 2, 8), degree=1)


def whole(least, most=None):
    return lambda value, name: check.check_whole(value, name, least, most)


def number(low, high, ends="()"):
    return lambda value, name: check.check_number(value, name, low, high, ends)


def option(*accepted):
    return lambda value, name: check.check_option(value, name, accepted)


def without(value):
    return tuple(bad for bad in NUMBERS if bad is not value)


#: By kind: what it accepts, and what is tried. A value that the kind accepts after all fails the test.
KINDS = {
    "tol": (check.check_tol, (*NUMBERS, 0, 1, 1e300)),
    "absolute tol": (check.check_absolute_tol, (*NUMBERS, 0)),
    "distance": (number(0, np.inf, "[)"), NUMBERS),
    "seconds": (check.check_seconds, (*without(None), 0)),
    "replicates": (check.check_replicates, (*NUMBERS, 0, 2.5, 10**11)),
    "replicates or 0": (lambda v, name: check.check_replicates(v, name, 0), (*NUMBERS, 2.5, 10**11)),
    "threads": (check.check_threads, (*without(None), 0, 2.5, 10**6)),
    "n_jobs": (check.check_n_jobs, ("x", "", NAN, INF, -INF, True, [], [1], None, 0, 2.5, 10**6)),
    "seed": (check.check_seed, (*without(None), 2.5)),
    "level": (check.check_level, (*NUMBERS, 0, 1, 7)),
    "confidence": (check.check_level, (*without(None), 0, 1, 7)),
    "level of a conflict": (lambda v, name: check.check_level(v, name, 0.5), (*without(None), 0, 0.5)),
    "tau": (number(0, 1, "[)"), tuple(bad for bad in NUMBERS if not isinstance(bad, str | list | np.ndarray))),
    "rule of tau": (option("auto", *TAUS), ("x", "")),
    "0 or more": (whole(0), (*NUMBERS, 2.5)),
    "1 or more": (whole(1), (*NUMBERS, 0, 2.5)),
    "draws": (whole(1), (*without(None), 0, 2.5)),
    "max_size": (whole(0), (*without(None), 2.5)),
    "items": (whole(1, 30), (*NUMBERS, 0, 2.5, 31)),
    "items or none": (whole(1, 30), (*without(None), 0, 2.5, 31)),
    "many items": (whole(1, 1_000_000), (*NUMBERS, 0, 2.5, 10**9)),
    "shop": (whole(2, 1_000_000), (*NUMBERS, 0, 1, 2.5, 10**9)),
    "degree": (whole(0, 10), ()),
    "few items": (whole(2, 16), ()),
    "bench": (whole(2, 22), ()),
    "port": (whole(0, 65535), ()),
    "megabytes": (whole(1, 100_000), ()),
    "choices": (whole(1, 10**15), ()),
    "share": (number(0, 1, "[]"), (*NUMBERS, 1.5)),
    "open share": (number(0, 1), (*NUMBERS, 0, 1)),
    "share from 0": (number(0, 1, "[)"), (*NUMBERS, 1)),
    "share up to 1": (number(0, 1, "(]"), (*without(None), 0, 1.5)),
    "positive": (number(0, np.inf), (*NUMBERS, 0)),
    "method": (option(*METHODS), ("x", "", 3, NAN, True, [])),
    "route": (option(None, *ROUTES), ("x", "", 3, NAN, True, [])),
    "resample": (option(*RESAMPLE), ("x", "", 3, NAN, True, [])),
    "statistic": (option(*STATISTICS), ("x", "", 3, NAN, True, [], None)),
    "interval": (option(*INTERVALS), ("x", "", 3, NAN, True, [], None)),
    "draw": (option("auto", *DRAWS), ("x", "", 3, NAN, True, [])),
    "convention": (option(*CONVENTIONS), ("x", "", 3, NAN, True, [])),
    "nonfinite": (option(*NONFINITE), ("x", "", 3, NAN, True, [], None)),
    "item": (lambda v, name: check.check_item(v, ITEMS, name), ("x", "", 3, NAN, True, [], ["a"])),
    "menu": (lambda v, name: check.check_menu(v, ITEMS, name), ("ab", 3, [], ["a", "a"], ["a", "x"], [["a"]], NAN, True)),
    "pair": (lambda v, name: check.check_menu(v, ITEMS, name, 2), ("ab", 3, [], ["a"], ["a", "a"], ["a", "x"], [["a"], "b"])),
    "group": (lambda v, name: check.check_menu(v, ITEMS, name, 0), ("ab", 3, ["a", "a"], ["a", "x"], [["a"]], NAN, True)),
    "labels": (check.as_menu, ("ab", 3, [], ["a", "a"], [["a"]], NAN, None, True)),
    "atol": (lambda v, name: require_options(0.0, 1e-9, atol=v), ("x", "", 0, -1, 1e-9, 2, NAN, True, [])),
    "axis": (check.check_different, (["a", "a"], [["a"]])),
}  # fmt: skip

#: Parameters whose name says their kind.
BY_NAME = {
    "tol": "tol", "max_seconds": "seconds", "n_boot": "replicates", "threads": "threads", "n_jobs": "n_jobs", "seed": "seed",
    "level": "level", "confidence": "confidence", "tau": ("tau", "rule of tau"), "most": "1 or more", "halves": "0 or more",
    "max_size": "max_size", "max_iterations": "0 or more", "n": "items", "n_rankings": "1 or more", "n_types": "1 or more",
    "draws": "draws", "route": "route", "method": "method", "resample": "resample", "convention": "convention",
    "menu": "menu", "item": "item", "outside_option": "item", "must": "group", "share": "share", "support": "share from 0",
    "smoothing": "distance", "n_random": "draws", "statistic": "statistic", "atol": "atol", "interval": "interval",
    "rng": "seed", "nonfinite": "nonfinite", "axis": "axis", "before": "labels", "after": "labels",
}  # fmt: skip

#: Where the same name is another kind.
OTHER_KIND = {
    ("fit_likelihood", "tol"): "absolute tol",
    ("is_rum", "tol"): "distance",
    ("explain", "level"): "level of a conflict",
    ("compare_models", "n_boot"): "replicates or 0",
    ("make_report", "n_boot"): "replicates or 0",
    ("rum_test", "draws"): "draw",
    ("rum_test_many", "draws"): "draw",
    ("budgets.rum_test", "draws"): "draw",
    ("smoothed.rum_test", "draws"): "draw",
    ("diversion", "menu"): "pair",
    ("share", "menu"): "labels",
    ("revenue", "menu"): "labels",
    ("random_menus", "n"): "many items",
    ("stock_outs", "n"): "shop",
    ("stock_outs", "missing"): "open share",
    ("known_projection", "distance"): "distance",
    ("project_many", "n"): "items or none",
    ("ChoiceLikelihood", "mix"): "share from 0",
    ("ChoiceLikelihood", "floor"): "open share",
    ("ConflictMonitor", "threshold"): "positive",
    ("ConflictMonitor", "warmup"): "0 or more",
    ("ConflictMonitor", "momentum"): "share up to 1",
    ("WarmStarts", "max_bytes"): "1 or more",
    ("sample", "size"): "0 or more",
    ("lr_test", "n_boot"): "replicates",
}

#: Parameters that have no kind, and why.
NO_KIND = {
    "truth values, files, texts and functions": (
        "progress throw cone likelihood sync lattice all_menus return_distance return_flow warm_start cluster path checkpoint "
        "title command inputs words"
    ),
    "data, and what is as long as data": (
        "data targets rho groups models array observed candidates functional revenue values terms start sizes z index cells "
        "layer warm out_dtype items counts prices subject"
    ),
    "models, each with a check of its own": "model",
    "what is accepted depends on the function; bad tables are tried below": "weights menus",
    "groups of items: each is a group, tried as `must`": "never_together",
    "three items, which must differ": "a b c",
    "not a menu of the data: must be in the menu": "share.item change.item",
    "bounded by other parameters": "n_menus size dimension",
    "used where warm_start is on; the same check as WarmStarts": "warm_bytes",
    "one of the values that were tested": "critical_value.tau rejects.tau",
    "passed on": "options",
    "budgets bring their own": "budgets.rum_test.route smoothed.rum_test.route",
}
WITHOUT = {name for names in NO_KIND.values() for name in names.split()}


def fitted():
    return rf.project(DATA)


def layers():
    """Layers and what they are called with; a framework that is not installed has none."""
    found = []
    try:
        import torch

        import rumflow.torch as rt

        z = torch.zeros(12, dtype=torch.float64)
        found += [
            ("RUMLayer", rt.RUMLayer, {"n": 3}),
            ("AxiomLayer", rt.AxiomLayer, {"model": rf.RandomUtility(), "menus": [("a", "b"), ITEMS], "items": ITEMS}),
            ("ChoiceLikelihood", rt.ChoiceLikelihood, {"layer": rt.RUMLayer(3)}),
            ("ConflictMonitor", rt.ConflictMonitor, {}),
            ("WarmStarts", rt.WarmStarts, {}),
            ("MenuSoftmax", rt.MenuSoftmax, {"n": 3}),
            ("torch.project_cells", rt.project_cells, {"z": z, "cells": 3}),
        ]
    except ImportError:
        pass
    try:
        import rumflow.jax as rj

        found.append(("jax.project_cells", rj.project_cells, {"z": np.zeros(12), "cells": 3}))
    except ImportError:
        pass
    return found


def functions():
    """(name, function, arguments that are accepted) of all that is public."""
    projection, likelihood = fitted(), rf.fit_likelihood(DATA)
    test = rf.rum_test(DATA, 19, seed=0)
    many = {"x": DATA, "y": DATA}
    f, s = rf.functionals, rf.simulate
    own = [
        (rf.best_assortment, {"data": DATA, "revenue": {"a": 1, "b": 2}, "outside_option": "c"}),
        (rf.bounds, {"data": DATA, "menu": ["a", "c"]}),
        (rf.compare_groups, {"groups": many}),
        (rf.compare_models, {"data": DATA, "models": {"RUM": None}}),
        (rf.diversion, {"data": DATA, "item": "a"}),
        (rf.estimate_cost, {"data": DATA}),
        (rf.explain, {"data": DATA}),
        (rf.fit_likelihood, {"data": DATA}),
        (rf.is_rum, {"rho": ARRAY}),
        (rf.next_menu, {"data": DATA}),
        (rf.project, {"data": DATA}),
        (rf.project_many, {"targets": [ARRAY]}),
        (rf.rationalizable_share, {"data": DATA}),
        (rf.rum_test, {"data": DATA}),
        (rf.rum_test_many, {"data": many}),
        (rf.subject_scores, {"data": VOTES}),
        (rf.transitivity, {"data": PAIRS}),
        (rf.transitivity(PAIRS, 19, seed=0).significant, {}),
        ("budgets.rum_test", rf.rum_test, {"data": PLAIN_DEMAND}),
        ("smoothed.rum_test", rf.rum_test, {"data": SMOOTHED_DEMAND}),
        (rf.block_marschak, {"rho": ARRAY}),
        (rf.Lattice, {"n": 3}),
        (rf.SinglePeaked, {"axis": ITEMS}),
        (make_report, {"data": DATA, "path": "x.html", "revenue": {"a": 1, "b": 2}, "outside_option": "c"}),
        (f.share, {"menu": ITEMS, "item": "a"}),
        (f.change, {"before": ("a", "b"), "after": ITEMS, "item": "a"}),
        (f.revenue, {"menu": ITEMS, "values": {"a": 1}}),
        (f.prefers, {"a": "a", "b": "b"}),
        (f.better_off, {"before": ("a", "b"), "after": ITEMS}),
        (f.combine, {"terms": []}),
        (s.dirichlet, {"n": 3}),
        (s.rankings_mixture, {"n": 3}),
        (s.noisy_rankings, {"n": 3}),
        (s.mixed_logit, {"n": 3}),
        (s.random_menus, {"n": 4, "n_menus": 2, "size": 2}),
        (s.stock_outs, {"n": 4, "n_menus": 2}),
        (s.known_projection, {"n": 3}),
        (s.observed_menus, {"n": 3, "share": 0.5}),
        (s.observed_cells, {"n": 3, "share": 0.5}),
        (s.hide, {"array": ARRAY, "observed": ARRAY > 0}),
        (projection.probabilities, {"menu": ITEMS}),
        (projection.members, {"menu": ITEMS}),
        (projection.sample, {"size": 1}),
        (likelihood.probabilities, {"menu": ITEMS}),
        (likelihood.lr_test, {}),
        (test.critical_value, {}),
        (test.rejects, {}),
        (test.summary, {}),
        (rf.rum_test_many({"x": DATA}, 19, seed=0).summary, {}),
    ]  # fmt: skip
    return [one if len(one) == 3 else (one[0].__name__, *one) for one in own] + layers()


FUNCTIONS = functions()


def kinds_of(function, name):
    found = OTHER_KIND.get((function, name), BY_NAME.get(name))
    return (found,) if isinstance(found, str) else found or ()


def cases():
    for function, call, arguments in FUNCTIONS:
        for name in inspect.signature(call).parameters:
            if (f"{function}.{name}" not in WITHOUT and name not in WITHOUT | {"self"}) or (
                function,
                name,
            ) in OTHER_KIND:
                yield function, call, arguments, name


CASES = list(cases())


@contextmanager
def nothing_solved():
    """Fail where a solver runs."""
    folders = [
        str(Path(rf.__file__).parent / "solvers" / name) for name in ("active_set", "small", "interior", "batch")
    ]
    seen = []

    def look(frame, event, _):
        where = frame.f_code.co_filename
        name = frame.f_code.co_name
        solving = event == "call" and any(where.startswith(one) for one in folders)
        if solving and name not in ("<module>", "pool_size"):  # which says how large a problem is
            seen.append(f"{where}: {name}")

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)
    assert not seen, seen[0]


def words(kind, value, name):
    """What the check itself says, up to what else this caller accepts."""
    with pytest.raises(rf.InputError) as fault:
        KINDS[kind][0](value, name)
    return first_part(str(fault.value))


def first_part(text):
    """Without what else is accepted."""
    text = text.replace(" of replicates", "").replace(" of threads", "")
    return text.split(" is needed")[0].split(": accepted")[0]


def test_every_public_name_is_tried():
    tried = {name.split(".")[-1] for name, *_ in FUNCTIONS}
    results = {"BudgetData", "Certificate", "ChoiceData", "Projection", "ProjectionBatch", "Rankings", "Status"}
    errors = {"InputError", "NotConvergedError", "RumflowError"}
    # Read by a path; checked by tests of their own: models with tables of arcs and types, and conventions by field.
    others = {
        "load",
        "__version__",
        "TIE",
        "functionals",
        "datasets",
        "simulate",
        "ChoiceGraph",
        "Lexicographic",
        "LinearUtility",
        "Model",
        "RandomUtility",
        "Satisficing",
        "TriangleInequalities",
        "Types",
        "UtilityFamily",
        "WeakOrders",
        "Convention",
    }
    left = set(rf.__all__) - tried
    assert left == results | errors | others, (
        f"add {sorted(left ^ (results | errors | others))} to functions(), or to `others`"
    )


@pytest.mark.parametrize(
    ("function", "call", "arguments", "name"), CASES, ids=[f"{function}-{name}" for function, _, _, name in CASES]
)
def test_bad_values_of_a_parameter(function, call, arguments, name):
    kinds = kinds_of(function, name)
    assert kinds, f"{function}: what kind of argument is {name}?"
    for kind in kinds:
        for value in KINDS[kind][1]:
            with nothing_solved(), pytest.raises(rf.InputError) as fault:
                call(**arguments | {name: value})
            where = "" if kind == "item" and name == "item" else name
            assert first_part(str(fault.value)) == words(kind, value, where), value


DRAWING = [one for one in FUNCTIONS if "seed" in inspect.signature(one[1]).parameters]


@pytest.mark.parametrize(("function", "call", "arguments"), DRAWING, ids=[one[0] for one in DRAWING])
def test_a_seed_has_two_names(function, call, arguments):
    assert inspect.signature(call).parameters["rng"].kind is inspect.Parameter.KEYWORD_ONLY
    for seed, rng in ((0, 0), (3, np.random.default_rng(0))):
        with (
            nothing_solved(),
            pytest.raises(rf.InputError, match=rf"seed={seed} and rng=.*: these are two names of the same"),
        ):
            call(**arguments, seed=seed, rng=rng)


TABLES = [
    (np.full((8, 3), -1.0), "has weight -1; weights must be finite and 0 or more, at most 1e+150"),
    (np.full((8, 3), NAN), "has weight nan; weights must be finite and 0 or more, at most 1e+150"),
    (np.full((8, 3), INF), "has weight inf; weights must be finite and 0 or more, at most 1e+150"),
    (np.full((8, 3), 1e200), "has weight 1e+200; weights must be finite and 0 or more, at most 1e+150"),
    (np.zeros((8, 3)), "every weight is 0, so no cell is observed; at least one must be positive"),
    (np.geomspace(1e-20, 1e20, 24).reshape(8, 3), "they may differ by a factor of 1e+12"),
    ([["a"] * 3] * 8, "weights: an array of real numbers is needed"),
    (np.ones((8, 3)) * 1j, "weights: an array of real numbers is needed"),
    (np.ones((4, 3)), "(4, 3)"),
    ([], "(0,)"),
]
WEIGHTED = [one for one in FUNCTIONS if "weights" in inspect.signature(one[1]).parameters]


@pytest.mark.parametrize(("function", "call", "arguments"), WEIGHTED, ids=[one[0] for one in WEIGHTED])
def test_bad_weights(function, call, arguments):
    shape = {"AxiomLayer": (5,), "budgets.rum_test": (2, 4), "smoothed.rum_test": (2, 4)}.get(function)
    for weights, text in TABLES:
        given = weights
        if shape is not None and np.shape(weights) == (8, 3):  # as many, over its own cells
            given = np.asarray(weights).reshape(-1)[np.linspace(0, 23, np.prod(shape)).astype(int)].reshape(shape)
        with nothing_solved(), pytest.raises(rf.InputError) as fault:
            call(**arguments | {"weights": given})
        assert text in str(fault.value)


def test_words_that_are_no_weights():
    for function, call, arguments in WEIGHTED:
        with nothing_solved(), pytest.raises(rf.InputError) as fault:
            call(**arguments | {"weights": "x"})
        tables_only = function in ("project_many", "RUMLayer", "AxiomLayer")
        expected = "weights: an array of real numbers is needed" if tables_only else "weights='x': accepted are "
        assert expected in str(fault.value)


@pytest.mark.parametrize("name", ["RUMLayer", "AxiomLayer"])
def test_bad_menus_of_layers(name):
    pytest.importorskip("torch")
    call, arguments = next((call, arguments) for own, call, arguments in FUNCTIONS if own == name)
    first, items = ("a", ITEMS) if name == "AxiomLayer" else (0, (0, 1, 2))
    for menu in ([], [first, first], [first, "x"], [[first]], NAN):
        with pytest.raises(rf.InputError) as fault, nothing_solved():
            call(**arguments | {"menus": [list(items), menu]})
        with pytest.raises(rf.InputError) as own:
            check.check_menu(menu, items, "menus[1]")
        assert str(fault.value) == str(own.value)


def test_the_estimator_refuses_the_same():
    estimator = pytest.importorskip("rumflow.sklearn.estimator")
    offered, chosen = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 0]]), np.array([0, 1, 1])
    for value in KINDS["tol"][1]:
        with pytest.raises(rf.InputError) as fault, nothing_solved():
            estimator.RUMClassifier(tol=value).fit(offered, chosen)
        assert first_part(str(fault.value)) == words("tol", value, "tol")


# Commands ---------------------------------------------------------------------------------------------------------------------

#: By option: its kind; and (command, option) where one command means something else.
OPTIONS = {
    "--tol": "tol", "--max-seconds": "seconds", "--n-boot": "replicates", "--jobs": "n_jobs", "--seed": "seed",
    "--level": "level of a conflict", "--confidence": "confidence", "--tau": ("tau", "rule of tau"), "--most": "1 or more",
    "--halves": "0 or more", "--top": "0 or more", "--max-size": "max_size", "--convention": "convention",
    "--statistic": "statistic", "--interval": "interval",
    "--share": "share up to 1", "--degree": "degree", "-n": "few items", "--max-n": "bench", "--port": "port",
    "--max-upload": "megabytes", ("simulate", "--draws"): "choices",
    "--for": "menu", "--item": "item", "--remove": "item", "--must": "menu", "--never-together": "menu",
    ("compare", "--n-boot"): "replicates or 0", ("report", "--n-boot"): "replicates or 0",
}  # fmt: skip

#: Options without a kind, and why.
NO_OPTION = {
    "how to read a file: tests/data/readers": (
        "--by --menu --choice --alternative --losers --group --count --weight --total --subject --observation --menu-id "
        "--status-quo --available --items --menus --only --outside-option --leave-out --separator --missing --base --delimiter "
        "--encoding --prices --budget --shares --quantities --expenditure --instrument"
    ),
    "words that the parser lists": "--model --weights test.--draws --route --form --family --ties --what --unranked",
    "files, titles and switches": (
        "--attributes --out --replicates --picture --title --json --quiet --help --clean --together --no-cluster --next "
        "--at-median --revenue --triangle --weak-orders --layers --no-browser"
    ),
    "chains of items, terms and prices; items in them are refused as by --for": "--signs --above --axis --functional --outside",
}  # fmt: skip
UNTRIED = {name for names in NO_OPTION.values() for name in names.split()}
NEEDED = {"assort": ["--revenue", "a=1,b=2", "--outside", "c"], "simulate": [], "report": ["--out", "x.html"]}
TEXTS = ("x", "", "nan", "inf", "-1", "True", "0", "1e300", "2.5")


def commands():
    for command, parser in make_parser()._subparsers._group_actions[0].choices.items():
        for action in parser._actions:
            for name in action.option_strings[-1:]:
                if name not in UNTRIED and f"{command}.{name}" not in UNTRIED:
                    yield command, name


COMMANDS = list(commands())


@pytest.mark.parametrize(("command", "name"), COMMANDS, ids=[" ".join(one) for one in COMMANDS])
def test_bad_values_of_an_option(command, name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    DATA.to_csv("data.csv")
    found = OPTIONS.get((command, name), OPTIONS.get(name))
    assert found, f"{command}: what kind of option is {name}?"
    begin = {"simulate": ["simulate", "noisy", "--out", "y.csv"], "demo": ["demo"], "bench": ["bench"], "app": ["app"]}
    start = begin.get(command, [command, "data.csv", *NEEDED.get(command, [])])
    if name == "--item":
        start += ["--for", "a,b"]
    tried = 0
    for kind in (found,) if isinstance(found, str) else found:
        for text in (",", "a,a", "a,x") if kind == "menu" else TEXTS:
            value = [part for part in text.split(",") if part] if kind == "menu" else number_or_text(text)
            if kind == "item":
                value = text
            try:
                KINDS[kind][0](value, name)
            except rf.InputError as fault:
                expected = str(fault)
            else:
                continue  # this one is accepted
            if (kind == "tau") == isinstance(value, str) and name == "--tau":
                continue  # a rule by name, or a number
            tried += 1
            with nothing_solved():
                assert main([*start, *([f"{name}={text}"] if name.startswith("--") else [name, text])]) == 1
            said = capsys.readouterr().err.splitlines()[-1]
            if kind == "item":
                expected = str_of_item(name, text)
            assert first_part(said) == f"rumflow: {first_part(expected)}"
    assert tried >= 2


def str_of_item(name, text):
    with pytest.raises(rf.InputError) as fault:
        check.check_item(text, ITEMS, name)
    return str(fault.value)


def test_words_of_the_parser_are_refused_in_one_line(tmp_path, capsys):
    DATA.to_csv(tmp_path / "data.csv")
    for name in ("--weights", "--draws", "--route"):
        assert main(["test", str(tmp_path / "data.csv"), name, "x"]) == 1
        assert f"{name}: invalid choice: 'x'" in capsys.readouterr().err


# The checks themselves --------------------------------------------------------------------------------------------------------


def test_what_is_accepted_is_returned():
    assert check.check_tol(np.float32(0.5)) == 0.5
    assert check.check_seconds(None) is None
    assert check.check_seconds(2) == 2.0
    assert check.check_threads(None) is None
    assert check.check_threads(np.int64(2)) == 2
    assert check.check_n_jobs(-1) == -1
    assert check.check_whole(0, "size") == 0
    assert check.check_menu(("c", "a"), ITEMS).tolist() == [2, 0]
    assert check.check_menu([2, np.int64(0)], range(3)).tolist() == [2, 0]
    assert check.check_item("b", {"a": 4, "b": 7}) == 7
    assert check.check_option("a", "x", ("a",)) == "a"
    for seed in (None, 0, np.random.default_rng(0), np.random.SeedSequence(0)):
        check.check_seed(seed)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check.check_tol("x"), "tol='x': a number between 0 and 1 is needed"),
        (lambda: check.check_seconds(0), "max_seconds=0: a positive number is needed, or None"),
        (lambda: check.check_menu(["a", "a"], ITEMS), "menu: item 'a' appears twice"),
        (lambda: check.check_menu(["x"], ITEMS), "menu: item 'x' is unknown: the items are {a, b, c}"),
        (lambda: check.check_menu([], ITEMS), "menu={}: at least one item is needed"),
        (lambda: check.check_menu("ab", ITEMS), "menu='ab': a list of items is needed, such as ['tea', 'milk']"),
        (lambda: check.check_menu([1.0], range(3)), "menu: item 1.0 is unknown: the items are {0, 1, 2}"),
        (lambda: check.check_item([], ITEMS), "item [] is unknown: the items are {a, b, c}"),
        (lambda: check.check_option("c", "x", ("a", None)), "x='c': accepted are 'a' and None"),
        (lambda: check.check_option("c", "x", ("a",)), "x='c': accepted is 'a'"),
        (lambda: check.check_whole(-1, "most"), "most=-1: a whole number, 0 or more, is needed"),
        (lambda: check.check_whole(9, "n", 1, 8), "n=9: a whole number from 1 to 8 is needed"),
        (lambda: check.check_replicates(0), "n_boot=0: a whole number of replicates from 1 to 10,000,000 is needed"),
        (lambda: check.check_number("x" * 99, "y", -INF, INF), f"y={'x' * 99!r:.57}...: a finite number is needed"),
    ],
)
def test_the_words(call, message):
    with pytest.raises(rf.InputError) as fault:
        call()
    assert str(fault.value) == message
