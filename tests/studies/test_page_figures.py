"""Figures in the sentences of the pages are those of the stored results. (Tables are compared in test_bench_pages.py.)

A claim is a sentence with its figures computed from a CSV file; it must stand in its page word for word. Where one fails, the
results have changed: write the sentence that the test prints into the page.
"""
# ruff: noqa: E501, RUF001 - sentences stand here as they do in the pages

import re
from statistics import mean

import pytest
from benchmarks.guides import rows
from benchmarks.pages import number
from benchmarks.record import ROOT

METHODS = ("screen", "screen again", "bootstrap", "bootstrap again")  # the most reliable last
FALSE = ("noise", "irrational")


def cut(value, digits):
    """A number below 1 as economists write it: .003."""
    return f"{value:.{digits}f}".removeprefix("0")


def share(value, digits=0):
    return f"{100 * value:.{digits}f} %"


# budgets


def spans(kind="cone", rule="auto", n_boot=1000, **wanted):
    found = [r for r in rows("budgets") if (r["set"], r["tau_rule"], r["n_boot"]) == (kind, rule, n_boot)]
    return [r for r in found if all(r[name] == value for name, value in wanted.items())]


def published_spans():
    p = [r["published_pvalue"] for r in spans(years=7)]
    return f"stop at spans of seven or eight years: p from {cut(min(p), 2)} to {cut(max(p), 2)}."


def households():
    return f"three groups of goods, {spans(years=25)[0]['households']:,} households."


def quotation():
    row = spans(years=25)[0]
    digits, power = f"{row['types']:.1e}".split("e+")
    return (
        f"(J = {row['statistic']:.2f}, {row['patches']} > patches, {digits} × 10^{power} rational types, "
        f"p = {cut(row['pvalue'], 3)})."
    )


def spans_after_1993():
    late = [r["pvalue"] for n in (15, 20, 25) for r in spans(years=n) if r["last"] > 1993]
    early = [r["pvalue"] for r in spans(years=15) if r["last"] <= 1993]
    assert max(late) <= 0.05 < min(early)  # > begins the lines of a quotation
    return "Taken alone, every span of 15 years or more that reaches beyond 1993 rejects at the 5 % level, and no other span of 15 years does."


def chosen_spans():
    p = [spans(years=n, first=year)[0]["pvalue"] for n, year in ((15, 1985), (10, 1985), (10, 1986))]
    return f"their p-values with 1,000 were {cut(p[0], 3)}, {cut(p[1], 3)} and {cut(p[2], 3)})"


def severe_reading():
    tried = len([r for r in spans() if r["years"] in (7, 10, 15, 20, 25)])
    least = min(r["pvalue"] for r in [*spans(n_boot=9999), *spans(years=20), *spans(years=25)])
    times = tried * least
    assert times > 0.05
    return f"the smallest p-value is {cut(least, 4)} (1985-1999), and {tried} × {cut(least, 4)} = {cut(times, 3)}."


def on_the_simplex():
    row = spans("simplex", years=25)[0]
    counts = [
        (sum(r["pvalue"] <= 0.05 for r in own), len(own)) for n in (7, 10, 15, 20) if (own := spans("simplex", years=n))
    ]
    words = ", ".join(f"{a} of {b}" for a, b in counts[:-1]) + f" and {counts[-1][0]} of {counts[-1][1]}"
    return (
        f"the statistic is {row['statistic']:.2f} for all years (p = {cut(row['pvalue'], 3)}), and the picture is the same: of the "
        f"spans of 7, 10, 15 and 20 years {words} reject at 5 %."
    )


def not_tightened():
    row, tight = spans(rule=0.0, years=25)[0], spans(years=25)[0]
    return (
        f"all years have p = {cut(row['pvalue'], 3)}; there {row['not_certified']} of the 1,000 replicates "
        f"({tight['not_certified']} with tightening) were not certified"
    )


def rational_part():
    first, last = (r["share"] for r in rows("budgets_share"))
    return f"can describe is {cut(first, 3)} for 1975-1981 and {cut(last, 3)} for all 25 years"


def seconds_of_budgets():
    seven = sum(r["cpu_seconds"] for r in spans(years=7))
    return (
        f"They take {seven:.0f} CPU seconds together (published: 1,274 s on 16 cores, 297 s of it to list the types). The test of "
        f"all 25 years takes {spans(years=25)[0]['cpu_seconds']:.0f} CPU seconds."
    )


def agreement_with_published():
    found = spans(years=7)
    off = max(abs(r["statistic"] - r["published_statistic"]) for r in found)
    tau = max(abs(r["tau"] / r["published_tau"] - 1) for r in found)
    p = max(abs(r["pvalue"] - r["published_pvalue"]) for r in found)
    assert all(r["types"] == r["published_types"] for r in found)
    assert off <= 1.05e-6
    assert tau <= 0.08
    assert p <= 0.04
    return "the same numbers of types, statistics to 1e-6, tau within 8 %, p-values within .04."


def random_budgets():
    (row,) = rows("budgets_random")
    cut_and_link = row["patches_seconds"] + row["graph_seconds"]
    return (
        f"Sixteen random budgets with four goods, {row['households']:,} households: {row['patches']:,} patches, {row['nodes']:,} nodes, "
        f"{row['arcs']:,} arcs and {row['types']:.0e} types; patches and graph take {cut_and_link:.1f} CPU seconds, the projection "
        f"{row['project_seconds']:.1f}"
    )


# decisions


def robust_agreement():
    found = rows("robust_level")
    assert all(str(r["agree"]) == "True" for r in [*found, *rows("robust_agree")])
    return f"In [{len(found)} random problems](results/robust_level.csv) of 3 to 6 items the answer is that of linear programmes"


def robust_coverage():
    found = rows("robust_cover")
    inside = [100 * r["inside"] for r in found]
    tried = sum(r["searched"] for r in found)
    kept = round(sum(r["kept"] * r["searched"] for r in found))
    return (
        f"the truth was among those not rejected in {min(inside):.0f} to {max(inside):.0f} of 100 samples "
        f"({found[0]['samples']} of each kind), and the assortment found kept its promise in {kept} of {tried}."
    )


def robust_seconds():
    found = [r for r in rows("robust_level_speed") if not r["reason"]]
    seconds = [r["cpu_seconds"] for r in found]
    return (
        f"the certified answer took [{min(seconds):.0f} to {max(seconds):.0f} seconds](results/robust_level_speed.csv) of one core "
        f"({len(found)} of {len(rows('robust_level_speed'))} markets within the limit)."
    )


def decisions(question):
    return [r for r in rows("hotel_5_decisions") if r["question"] == question]


def booked_most():
    return f"2 Double Beds Room 1 has {share(decisions('share before it is sold out')[0]['upper'])} of the bookings from the menu"


def asked_next():
    row = max(decisions("width of an unseen menu"), key=lambda r: r["upper"])
    assert row["what"].replace(" Non-Smoking", "") == "{Double Bed Room 1, King Room 1, 2 Double Beds Room 2, Suite 2}"
    return f"its ranges are {row['upper']:.2f} wide together, and {share(row['refutes'])} of arbitrary answers would refute the model."


def rooms_to_offer():
    (best,) = decisions("best in the worst case")
    (fit,) = decisions("best of the fit")
    assert best["what"] in [r["what"] for r in rows("hotel_5_decisions") if r["question"].startswith("past")]
    return (
        f"would earn {best['lower']:.2f} for each visitor, and no untried one promises as much (certified). The best of the fitted "
        f"mixture, {{2 Double Beds Room 2, Suite 2}}, would earn {fit['fit']:.2f} if that mixture were the population, and "
        f"{fit['lower']:.2f} if another were that fits equally well."
    )


# conflicts


def hotel_three():
    row = rows("explain_hotel")[2]
    errors = (row["value"] - row["bound"]) / row["error"]
    return f"the shares of two choices that exclude each other add up to {row['value']:.2f}, {errors:.1f} standard errors above 1."


def hotel_one():
    row = rows("explain_hotel")[0]
    words = {"2 and 3": "two and three", "3 and 2": "two and three"}
    return (
        f"Hotel 1: the conflict rests on two menus with {words[row['choices_of_first']]} bookings. The notes warn of it, and only "
        f"{row['halves_rejected']} of {row['halves']} half-samples are rejected at all."
    )


def planted():
    found = rows("explain")

    def named(kind, choices):
        values = [100 * r["named_exactly"] for r in found if r["planted"] == kind and r["choices"] == choices]
        return f"{min(values):.0f} to {max(values):.0f} %"

    for choices in (1000, 5000):
        assert {r["named_exactly"] for r in found if r["choices"] == choices and r["planted"] != "nothing"} == {1.0}
    nothing = [r for r in found if r["planted"] == "nothing"]
    wrong = round(sum(r["rejected"] * r["samples"] for r in nothing))
    return (
        f"With 200 choices a cycle is named in {named('cycle', 200)} of them, the decoy in {named('decoy', 200)}; with 50 choices, "
        f"in {named('cycle', 50)} and {named('decoy', 50)}: there most samples are not rejected. Where nothing is planted, something "
        f"was named in {wrong} of {sum(r['samples'] for r in nothing)} samples."
    )


# shops


def tiny_menus_of_a_hotel():
    row = rows("hotel")[0]
    assert 0.4 < row["menus_below_5"] / row["menus"] < 0.5
    return (
        f"Nearly half of the menus of hotel 1 ({row['menus_below_5']} of {row['menus']}) have fewer than five bookings;"
    )


def unit_weights():
    assert all(r["pvalue_unit_empirical"] <= 0.05 for r in rows("hotel"))
    return '(`weights=None, draws="empirical"`) all five would be rejected, rightly or not.'


def gains_of_mixtures():
    gain = [r["mixture_out"] - r["logit_out"] for r in rows("hotel")]
    assert gain[4] == 0
    return (
        f"hotels with more menus (by {gain[0]:.2f}, {gain[1]:.2f} and {gain[2]:.2f} a booking), is the logit where cross-validation "
        f"finds nothing to gain (hotel 5), and is worse by {-gain[3]:.2f} for hotel 4, with 55 bookings to predict."
    )


def unseen_menu():
    king, beds, suite = rows("hotel_1_bounds")
    assert round(100 * king["lower"]) == round(100 * king["upper"])

    def ends(row, low, high):
        return f"{100 * row[low]:.0f} to {100 * row[high]:.0f} %"

    return (
        f"the models that fit best agree on {share(king['lower'])} for King Room 4, {ends(beds, 'lower', 'upper')} for the double "
        f"beds and {ends(suite, 'lower', 'upper')} for the suite. The 95 % intervals, which allow for sampling noise, are "
        f"{ends(king, 'from', 'to')}, {ends(beds, 'from', 'to')} and {ends(suite, 'from', 'to')}:"
    )


# the test


def designs(procedure, sizes=None, truths=None):
    """Rejection rates by the most reliable method."""
    best = {}
    for r in rows("size"):
        key = (r["n"], r["choices"], r["sizes"], r["menus"], str(r["truth"]))
        if r["procedure"] != procedure or (sizes and r["sizes"] not in sizes):
            continue
        if (truths is None and key[-1] in FALSE) or (truths is not None and key[-1] not in truths):
            continue
        if key not in best or METHODS.index(r["method"]) >= METHODS.index(best[key]["method"]):
            best[key] = r
    return [r["rejected"] for r in best.values()]


def tiny_menus():
    old, new = designs("recentred", ("fifth", "half")), designs("default", ("fifth", "half"))
    assert max(old) == 1.0
    return (
        f"Over {len(old)} designs in which a fifth or half of the menus have 1 to 3 choices, true models are then rejected in "
        f"{share(mean(old))} of data sets on average, and in the worst of them always. Drawn from the fit: {share(mean(new), 1)} on "
        f"average, {share(max(new), 1)} in the worst."
    )


def tiny_menus_with_unit_weights():
    return f"With unit weights and draws from the fit the mean is {share(mean(designs('unit weights', ('fifth', 'half'))), 1)}.)"


def tiny_menus_in_short():
    old = designs("recentred", ("fifth", "half"))
    return (
        f"rejects true models in {share(mean(old))} of data sets on average where a fifth or half of the menus are tiny"
    )


def not_tightened_at_all():
    return (
        f"Without tightening, true models are rejected in up to {share(max(designs('tau = 0')), 1)} of data sets (a ranking and its "
        "reverse, or six rankings, with 200 choices a menu)."
    )


def logarithmic_rule():
    return f"smaller for large m, and rejects up to {share(max(designs('log rule')), 1)} of such data sets."


def truth_tightened():
    most = max(r["facets"] for r in rows("oracles"))
    return f"tightened *truth* reject at most {share(most, 1)}, so what is left (up to {share(max(designs('default')), 1)}) comes"


def why_thinned():
    design = (4, 200, "third", "half", "opposite", "mean", "bootstrap again")
    names = ("n", "choices", "sizes", "menus", "truth", "procedure", "method")
    (row,) = [r for r in rows("size") if tuple(r[name] for name in names) == design]
    oracle = rows("oracles")[0]
    return (
        f"a ranking and its reverse were rejected in {share(row['rejected'], 1)} of data sets (four items, half of the menus, 200 "
        f"choices from four of them, 6 and 7 from two). It is not the noise of the small menus: samples with the facets of the "
        f"truth and the noise of the centre reject {share(oracle['facets'], 1)}, those with the facets of the centre and the noise "
        f"of the truth {share(oracle['noise'], 1)}."
    )


def thinned_power():
    new, old = (designs(name, ("third", "half"), FALSE) for name in ("default", "mean"))
    assert len(new) == len(old)
    return f"({share(mean(new), 1)} instead of {share(mean(old), 1)} over {len(new)} designs with unequal menus)"


def printed_test(strength=0.3):
    rates = {
        r["procedure"]: r["rejected"] for r in rows("power") if (r["truth"], r["strength"]) == ("irrational", strength)
    }
    return share(rates["printed"], 1), share(rates["tightened"], 1)


def printed_test_on_the_page():
    return "false ones late: {} where the corrected test rejects {}.".format(*printed_test())


def printed_test_in_the_paper():
    printed, corrected = printed_test()
    return f"that the corrected procedure rejects in {corrected} of samples the printed one rejects {printed} ("


# the paper


def last_errors():
    found = {}
    for name in dict.fromkeys(r["method"] for r in rows("exp3")):
        own = [r for r in rows("exp3") if r["method"] == name]
        last = max(r["epoch"] for r in own)
        found[name] = mean(r["test_error"] for r in own if r["epoch"] == last)
    return found


def layer_on_the_page():
    e = last_errors()
    penalty, plain = e["penalty"] / e["layer"], e["plain, projected"] / e["layer"]
    return f"{penalty:.1f} times below it, and {plain:.1f} times below a plain network projected when it is tested."


def layer_in_the_paper():
    e = last_errors()
    penalty, plain = e["penalty"] / e["layer"], e["plain, projected"] / e["layer"]
    return f"test error is {penalty:.1f} times below that of a penalty, and {plain:.1f} times below that of a plain network"


def iterations(which, share_of_menus):
    return mean(r["iterations"] for r in rows("exp1") if (r["preconditioner"], r["share"]) == (which, share_of_menus))


def diagonal():
    kinds = sorted({r["preconditioner"] for r in rows("exp1")}, key=lambda kind: iterations(kind, 1.0))
    ours, papers = (iterations(kind, 1.0) for kind in kinds)
    return f"Iterations with complete data fall from {papers:.0f} to {ours:.0f} ("


def rank():
    kinds = sorted({r["preconditioner"] for r in rows("exp1")}, key=lambda kind: iterations(kind, 1.0))
    few = mean(r["rank"] for r in rows("exp1") if r["share"] == 0.01)
    return f"{iterations(kinds[1], 0.01):.0f} iterations with 1 % of the menus, rank {few:.0f} ("


# layers


def assortments(method, epoch):
    return mean(r["error"] for r in rows("assortments") if (r["method"], r["epoch"]) == (method, epoch))


def trained_assortments():
    names = ("plain", "plain, projected", "layer")
    last = max(r["epoch"] for r in rows("assortments") if r["epoch"] != "")
    end, early = ([assortments(name, epoch) for name in names] for epoch in (last, 20))
    assert 0.7 < end[2] / end[0] < 0.8  # a quarter off
    return (
        f"plain {end[0]:.4f}, the same network projected when it is tested {end[1]:.4f}, trained through the layer {end[2]:.4f}. The "
        f"axioms take a quarter off the error; here it does not matter whether they come in training or afterwards (after 20 epochs: "
        f"{early[0]:.4f}, {early[1]:.4f}, {early[2]:.4f})."
    )


def time_of_assortments():
    seconds = {r["method"]: r["seconds"] for r in rows("assortments") if str(r["method"]).startswith("time")}
    cold, warm = seconds["time of 64, cold, forward"], seconds["time of 64, warm, forward"]
    back = seconds["time of 64, warm, backward"]
    return (
        f"A batch of 64 takes {cold:.1f} seconds of one core forward without a start, {warm:.1f} after a step of training, and "
        f"{back:.2f} backward."
    )


def learned(teacher, data, best):
    """Error of the layer as a share of that of the mixture of logits, by number of items."""
    column = "error" if data == "shares" else "excess"
    found = []
    for n in sorted({r["n"] for r in rows("choices")}):
        ends = []
        for method in ("softmax, layer", "mixture of logits"):
            own = [
                r
                for r in rows("choices")
                if (r["n"], r["teacher"], r["data"], r["method"]) == (n, teacher, data, method)
            ]
            means = {e: mean(r[column] for r in own if r["epoch"] == e) for e in {r["epoch"] for r in own}}
            ends.append(min(means.values()) if best else means[max(means)])
        found.append(ends[0] / ends[1])
    return found


def when_a_layer_pays():
    far, near = learned("projected", "shares", False), learned("logits", "shares", False)
    assert 0.17 < min(far) < 0.25
    assert 0.45 < max(far) < 0.55
    assert all(0.95 < ratio < 1.05 for ratio in near)
    early, late = learned("logits", "choices", True), learned("logits", "choices", False)
    assert min(early) > 1.09
    assert max(early) < 1.31
    assert max(late) < 1
    return "the layer has a fifth to a half of their error;"


def slower_at_eight():
    found = [r for r in rows("compare") if r["n"] == 8 and r["solver"] != "rumflow" and r["solved"]]
    fastest = [
        min(r["times_rumflow"] for r in found if r["family"] == family) for family in {r["family"] for r in found}
    ]
    assert min(fastest) > 50
    assert max(fastest) < 200
    return "take about a hundred times as long at eight items,"


def largest():
    row = max((r for r in rows("large") if r["family"] == "noisy"), key=lambda r: r["n"])
    return f"**Complete data end at {row['n']} items** ({number(row['cells'] / 1e6, 3)} million cells, {row['peak_gib']:.1f} GiB)."


CLAIMS = {
    "docs/budgets.md": (
        published_spans,
        households,
        quotation,
        spans_after_1993,
        chosen_spans,
        severe_reading,
        on_the_simplex,
        not_tightened,
        rational_part,
        agreement_with_published,
        seconds_of_budgets,
        random_budgets,
    ),
    "docs/guide-decide.md": (
        robust_agreement,
        robust_coverage,
        robust_seconds,
        booked_most,
        asked_next,
        rooms_to_offer,
    ),
    "docs/guide-explain.md": (hotel_one, hotel_three, planted),
    "docs/guide-shops.md": (tiny_menus_of_a_hotel, unit_weights, gains_of_mixtures, unseen_menu),
    "docs/method.md": (
        tiny_menus,
        tiny_menus_with_unit_weights,
        not_tightened_at_all,
        logarithmic_rule,
        truth_tightened,
        why_thinned,
        thinned_power,
    ),
    "docs/theory/paper.md": (tiny_menus_in_short, printed_test_on_the_page, layer_on_the_page, diagonal, rank),
    "docs/paper/paper.md": (printed_test_in_the_paper, layer_in_the_paper, slower_at_eight),
    "docs/results/README.md": (trained_assortments, time_of_assortments),
    "docs/quickstart-machine-learning.md": (when_a_layer_pays,),
    "docs/limits.md": (largest,),
}


@pytest.mark.parametrize(
    ("page", "claim"),
    [(page, claim) for page, claims in CLAIMS.items() for claim in claims],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_sentences_say_what_was_measured(page, claim):
    text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
    assert claim() in text
