"""Excerpts in the layouts of twenty public files: the columns are called as there, the numbers are invented.

Each has the choices that it holds, the options with which it is read (None: it cannot be), and, where it is not read without any,
words of the question.
"""

from typing import NamedTuple

import numpy as np


class Layout(NamedTuple):
    name: str
    table: dict
    counts: dict | None  # by menu and item
    at_once: bool
    options: dict | None = None
    words: str = ""  # of the question where it is not read at once
    told: tuple = ()  # what must be said where it is read at once
    delimiter: str = ","


def _draw(items, size, seed, always=()):
    """Menus that hold some of the items, and a choice from each."""
    rng = np.random.default_rng(seed)
    menus = [tuple(x for x in items if x in always or rng.random() < 0.7) for _ in range(size)]
    menus = [menu if len(menu) > 1 else tuple(items) for menu in menus]
    return menus, [menu[rng.integers(len(menu))] for menu in menus], rng


def _counts(menus, picks):
    counts = {}
    for menu, pick in zip(menus, picks, strict=True):
        own = counts.setdefault(frozenset(menu), {})
        own[pick] = own.get(pick, 0) + 1
    return counts


def _long(menus, picks, observation, alternative, choice, flags=(1, 0)):
    rows = [
        (k, x, flags[0] if x == pick else flags[1])
        for k, (menu, pick) in enumerate(zip(menus, picks, strict=True))
        for x in menu
    ]
    return dict(zip((observation, alternative, choice), map(list, zip(*rows, strict=True)), strict=True))


def _each(table, key, values):
    """A value for each observation, in all of its rows."""
    return [values[k] for k in table[key]]


def mode_canada():
    menus, picks, rng = _draw(("train", "car", "bus", "air"), 40, 1)
    long = _long(menus, picks, "case", "alt", "choice")
    n = len(long["case"])
    table = {"": list(range(1, n + 1)), **long, "dist": _each(long, "case", rng.integers(80, 400, 40).tolist())}
    table |= {
        "cost": rng.random(n).round(2).tolist(),
        "ivt": rng.integers(50, 99, n).tolist(),
        "ovt": rng.integers(0, 60, n).tolist(),
    }
    table |= {"freq": rng.integers(0, 30, n).tolist(), "income": _each(long, "case", rng.integers(10, 70, 40).tolist())}
    table |= {
        "urban": _each(long, "case", rng.integers(0, 2, 40).tolist()),
        "noalt": [len(menus[k]) for k in long["case"]],
    }
    told = ("not used: ",)
    return Layout(
        "ModeCanada",
        table,
        _counts(menus, picks),
        True,
        dict(observation="case", alternative="alt", choice="choice"),
        "",
        told,
    )


def risky_transport():
    menus, picks, rng = _draw(("WaterTaxi", "Ferry", "Hovercraft", "Helicopter"), 60, 2)
    long = _long(menus, picks, "chid", "mode", "choice")
    n, person = len(long["chid"]), [k // 3 for k in range(60)]
    table = {
        "id": _each(long, "chid", person),
        "choice": long["choice"],
        "mode": long["mode"],
        "cost": rng.random(n).tolist(),
    }
    table |= {"risk": rng.random(n).tolist(), "weight": _each(long, "chid", (0.5 + rng.random(60)).tolist())}
    table |= {"seats": rng.integers(0, 2, n).tolist(), "noise": rng.integers(0, 2, n).tolist(), "chid": long["chid"]}
    table |= {
        "african": _each(long, "chid", [p % 2 for p in person]),
        "age": _each(long, "chid", [30 + p for p in person]),
    }
    told = ("column 'weight' is not used", "column 'id' looks like persons with several choices each")
    named = dict(observation="chid", alternative="mode", choice="choice", subject="id")
    return Layout("RiskyTransport", table, _counts(menus, picks), True, named, "", told)


def electricity():
    rng = np.random.default_rng(3)
    menus = [(1, 2, 3, 4)] * 48
    picks = rng.integers(1, 5, 48).tolist()
    long = _long(menus, picks, "chid", "alt", "choice")
    n = len(long["chid"])
    table = {"choice": long["choice"], "id": _each(long, "chid", [k // 12 for k in range(48)]), "alt": long["alt"]}
    table |= {"pf": rng.integers(0, 10, n).tolist(), "cl": rng.integers(0, 6, n).tolist()}
    table |= {name: rng.integers(0, 2, n).tolist() for name in ("loc", "wk", "tod", "seas")} | {"chid": long["chid"]}
    named = dict(observation="chid", alternative="alt", choice="choice", subject="id")
    return Layout("electricity", table, _counts(menus, picks), True, named, "", ("column 'id' looks like persons",))


def fishing():
    menus, picks, rng = _draw(("beach", "pier", "boat", "charter"), 30, 4)
    long = _long(menus, picks, "id", "alt", "choice")
    n = len(long["id"])
    table = long | {
        "income": _each(long, "id", rng.random(30).tolist()),
        "price": rng.random(n).tolist(),
        "catch": rng.random(n).tolist(),
    }
    return Layout(
        "fishing", table, _counts(menus, picks), True, dict(observation="id", alternative="alt", choice="choice")
    )


def swissmetro_long():
    menus, picks, rng = _draw(("TRAIN", "SM", "CAR"), 54, 5, always=("TRAIN", "SM"))
    full = _long([("TRAIN", "SM", "CAR")] * 54, picks, "custom_id", "alt", "CHOICE")
    table = {"GROUP": [2] * 162, "SURVEY": _each(full, "custom_id", rng.integers(0, 2, 54).tolist()), "SP": [1] * 162}
    table |= {
        "ID": _each(full, "custom_id", [k // 9 for k in range(54)]),
        "FIRST": _each(full, "custom_id", rng.integers(0, 2, 54).tolist()),
    }
    table |= {f"{x}_AV": [int(x in menus[k]) for k in full["custom_id"]] for x in ("TRAIN", "CAR", "SM")}
    table |= full | {"AV": [int(x in menus[k]) for k, x in zip(full["custom_id"], full["alt"], strict=True)]}
    table |= {"TT": rng.random(162).tolist(), "CO": rng.random(162).tolist()}
    named = dict(observation="custom_id", alternative="alt", choice="CHOICE", available="AV", subject="ID")
    return Layout(
        "Swissmetro, long",
        table,
        _counts(menus, picks),
        True,
        named,
        "",
        ("available = 'AV'", "column 'ID' looks like"),
    )


def swissmetro_dat():
    menus, picks, rng = _draw(("TRAIN", "SM", "CAR"), 54, 6, always=("TRAIN", "SM"))
    code = {"TRAIN": 1, "SM": 2, "CAR": 3}
    table = {
        "GROUP": [2 + k % 2 for k in range(54)],
        "SURVEY": [0] * 54,
        "SP": [1] * 54,
        "ID": [k // 9 for k in range(54)],
    }
    table |= {name: rng.integers(0, 2, 54).tolist() for name in ("FIRST", "LUGGAGE", "MALE", "GA")}
    table |= {f"{x}_AV": [int(x in menu) for menu in menus] for x in ("TRAIN", "CAR", "SM")}
    table |= {f"{x}_TT": rng.integers(30, 200, 54).tolist() for x in ("TRAIN", "SM", "CAR")}
    table["CHOICE"] = [code[pick] if k % 10 else 0 for k, pick in enumerate(picks)]
    kept = [k for k in range(54) if k % 10]
    counts = _counts([menus[k] for k in kept], [picks[k] for k in kept])
    named = dict(available=["TRAIN_AV", "SM_AV", "CAR_AV"], choice="CHOICE", missing=0, subject="ID")
    return Layout("Swissmetro, .dat", table, counts, False, named, "pass missing=0", delimiter="\t")


def car_choice():
    menus, picks, rng = _draw(("American", "Japanese", "European", "Korean"), 40, 7)
    long = _long(menus, picks, "session_id", "car", "purchase")
    n = len(long["car"])
    table = {
        "record_id": list(range(n)),
        "session_id": long["session_id"],
        "consumer_id": _each(long, "session_id", [k // 2 for k in range(40)]),
    }
    table |= {
        "car": long["car"],
        "purchase": long["purchase"],
        "gender": _each(long, "session_id", rng.integers(0, 2, 40).tolist()),
    }
    table |= {
        "income": rng.random(n).tolist(),
        "speed": rng.integers(1, 11, n).tolist(),
        "discount": rng.random(n).round(2).tolist(),
    }
    named = dict(observation="session_id", alternative="car", choice="purchase", subject="consumer_id")
    return Layout("car_choice", table, _counts(menus, picks), False, named, "alternative=")


def heating_and_cooling():
    menus, picks, rng = _draw(("ec", "ecc", "er", "gcc"), 30, 8)
    long = _long(menus, picks, "idx.id1", "idx.id2", "depvar", ("TRUE", "FALSE"))
    n = len(long["depvar"])
    table = {
        "": list(range(n)),
        "depvar": long["depvar"],
        "icca": rng.random(n).tolist(),
        "occa": rng.random(n).tolist(),
    }
    table |= {"income": rng.integers(20, 70, n).tolist(), "idx.id1": long["idx.id1"], "idx.id2": long["idx.id2"]}
    named = dict(observation="idx.id1", alternative="idx.id2", choice="depvar")
    return Layout("HC", table, _counts(menus, picks), False, named, "--menu")


def mtc_work():
    menus, picks, rng = _draw((1, 2, 3, 4, 5, 6), 40, 9)
    long = _long(menus, picks, "casenum", "altnum", "chose")
    n = len(long["chose"])
    table = long | {
        "ivtt": rng.random(n).tolist(),
        "tottime": rng.random(n).tolist(),
        "hhid": _each(long, "casenum", [k // 2 for k in range(40)]),
    }
    table |= {
        "perid": _each(long, "casenum", [k % 2 for k in range(40)]),
        "numalts": [len(menus[k]) for k in long["casenum"]],
    }
    named = dict(observation="casenum", alternative="altnum", choice="chose", subject="hhid")
    return Layout("MTCwork", table, _counts(menus, picks), True, named, "", ("column 'hhid' looks like persons",))


def tiny_idca():
    menus, picks, rng = _draw(("Car", "Bus", "Walk"), 12, 10)
    long = _long(menus, picks, "caseid", "altid", "Choice")
    n = len(long["caseid"])
    table = long | {
        "Income": _each(long, "caseid", list(range(12))),
        "Time": rng.random(n).tolist(),
        "Cost": rng.random(n).tolist(),
    }
    return Layout(
        "tiny_idca",
        table,
        _counts(menus, picks),
        True,
        dict(observation="caseid", alternative="altid", choice="Choice"),
    )


def apollo():
    items = ("car", "bus", "air", "rail")
    menus, picks, rng = _draw(items, 200, 11)
    table = {
        "ID": [k // 10 for k in range(200)],
        "RP": [int(k % 10 < 2) for k in range(200)],
        "SP": [int(k % 10 >= 2) for k in range(200)],
    }
    table |= {f"av_{x}": [int(x in menu) for menu in menus] for x in items}
    table |= {f"time_{x}": rng.integers(0, 300, 200).tolist() for x in items}
    table |= {"choice": [items.index(p) + 1 for p in picks], "female": rng.integers(0, 2, 200).tolist()}
    named = dict(available=[f"av_{x}" for x in items], choice="choice", subject="ID")
    told = ("codes: 1 = car, 2 = bus, 3 = air, 4 = rail", "column 'ID' looks like persons")
    return Layout("apollo modeChoice", table, _counts(menus, picks), True, named, "", told)


def travel_mode():
    menus, picks, rng = _draw(("air", "train", "bus", "car"), 30, 12)
    long = _long(menus, picks, "individual", "mode", "choice", ("yes", "no"))
    n = len(long["choice"])
    table = long | {
        "wait": rng.integers(0, 60, n).tolist(),
        "size": _each(long, "individual", rng.integers(1, 5, 30).tolist()),
    }
    return Layout(
        "TravelMode",
        table,
        _counts(menus, picks),
        True,
        dict(observation="individual", alternative="mode", choice="choice"),
    )


def tasks_of_persons():
    menus, picks, rng = _draw(("A", "B", "none"), 36, 13, always=("none",))
    long = _long(menus, picks, "row", "alt", "choice")
    table = {
        "ID": _each(long, "row", [k // 6 for k in range(36)]),
        "task": _each(long, "row", [k % 6 for k in range(36)]),
    }
    table |= {"alt": long["alt"], "choice": long["choice"], "price": rng.random(len(long["alt"])).tolist()}
    named = dict(observation=["ID", "task"], alternative="alt", choice="choice", subject="ID")
    return Layout("tasks of persons, long", table, _counts(menus, picks), False, named, "observation=['ID', 'task']")


def fishing_wide():
    rng = np.random.default_rng(14)
    table = {"mode": [("beach", "pier")[k % 2] for k in range(20)], "price.beach": rng.random(20).tolist()}
    table |= {"price.pier": rng.random(20).tolist(), "income": rng.random(20).tolist()}
    return Layout("Fishing, wide", table, None, False, None, "no menu column")


def optima():
    rng = np.random.default_rng(15)
    table = {"ID": list(range(20)), "Choice": rng.integers(-1, 3, 20).tolist(), "TimePT": rng.random(20).tolist()}
    table |= {
        "TimeCar": rng.random(20).tolist(),
        "Weight": rng.random(20).tolist(),
        "NbCar": rng.integers(0, 3, 20).tolist(),
    }
    return Layout("Optima", table, None, False, None, "no menu column")


def ranch():
    rows = [
        (d, s, m, m, x, 3 + k + s)
        for d in ("Dots", "Cash")
        for s in (1, 2)
        for m in ("ab", "abc")
        for k, x in enumerate(m)
    ]
    names = ("domain", "subject", "menu_mask", "menu", "alternative", "count")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    table["menu_mask"] = [3 if m == "ab" else 7 for m in table["menu"]]
    counts = {}
    for m, x, c in zip(table["menu"], table["alternative"], table["count"], strict=True):
        own = counts.setdefault(frozenset(m), {})
        own[x] = own.get(x, 0) + c
    named = dict(menu="menu", alternative="alternative", count="count", subject="subject", group="domain")
    return Layout("RanCh counts", table, counts, True, named, "", ("count = 'count'", "group = 'domain'"))


def citations():
    table = {"player1": list("aab"), "player2": list("bcc"), "win1": [3, 5, 7], "win2": [4, 4, 1]}
    counts = {frozenset("ab"): {"a": 3, "b": 4}, frozenset("ac"): {"a": 5, "c": 4}, frozenset("bc"): {"b": 7, "c": 1}}
    named = dict(menu=["player1", "player2"], choice=["win1", "win2"])
    return Layout("citations", table, counts, True, named, "", ("with the numbers of wins",))


def matches():
    table = {"winner": list("aba"), "loser": list("bac"), "Freq": [5, 3, 1]}
    counts = {frozenset("ab"): {"a": 5, "b": 3}, frozenset("ac"): {"a": 1}}
    return Layout("matches", table, counts, True, dict(count="Freq"), "", ("count = 'Freq'",))


def scanner():
    menus, picks, rng = _draw(("heinz", "hunts", "delmonte"), 60, 16)
    table = {"panelist": [k // 5 for k in range(60)], "assortment": [",".join(menu) for menu in menus], "bought": picks}
    table |= {"n": [len(menu) for menu in menus], "week": rng.integers(1, 52, 60).tolist()}
    named = dict(menu="assortment", choice="bought", subject="panelist")
    return Layout("scanner panel", table, _counts(menus, picks), False, named, "count=False")


def survey():
    menus, picks, rng = _draw(("tea", "milk", "juice"), 60, 17)
    table = {"respondent": [k // 4 for k in range(60)], "menu": ["|".join(menu) for menu in menus], "choice": picks}
    table |= {"weight": (0.5 + rng.random(60)).tolist(), "wave": [1 + k % 2 for k in range(60)]}
    told = ("subject = 'respondent'", "column 'weight' is not used", "column 'wave' is not used")
    return Layout(
        "survey", table, _counts(menus, picks), True, dict(menu="menu", choice="choice", subject="respondent"), "", told
    )


def labels_of_the_chosen():
    menus, picks, _ = _draw(("bus", "car", "bike"), 30, 18)
    long = _long(menus, picks, "obs", "alt", "flag")
    table = {"obs": long["obs"], "alt": long["alt"], "choice": _each(long, "obs", picks)}
    table["male"] = _each(long, "obs", [k % 2 for k in range(30)])
    named = dict(observation="obs", alternative="alt", choice="choice")
    return Layout("label of the chosen", table, _counts(menus, picks), True, named)


LAYOUTS = [
    make()
    for make in (
        mode_canada, risky_transport, electricity, fishing, swissmetro_long, swissmetro_dat, car_choice, heating_and_cooling,
        mtc_work, tiny_idca, apollo, travel_mode, tasks_of_persons, fishing_wide, optima, ranch, citations, matches, scanner,
        survey, labels_of_the_chosen,
    )
]  # fmt: skip
