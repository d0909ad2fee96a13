"""One of every kind of result, by name, for data with any labels."""

import rumflow as rf
from rumflow.data.summary import DataSummary


def results(labels=("a", "b", "c", "out"), n_boot=19):
    """What every public function returns, and what hangs on it."""
    a, b, c, out = labels
    counts = {(a, b, out): (50, 30, 20), (a, b, c, out): (60, 10, 10, 20), (a, c): (30, 70), (b, c): (70, 30)}
    data = rf.ChoiceData.from_counts({m: dict(zip(m, own, strict=True)) for m, own in counts.items()})
    budgets = rf.BudgetData.from_quantities([[1, 2], [2, 1]], [0, 0, 1, 1], [[1, 0], [0, 1], [1, 0], [0, 1]], degree=0)
    pairs = rf.ChoiceData.from_counts({(a, b): {a: 9, b: 1}, (b, c): {b: 9, c: 1}, (a, c): {a: 1, c: 9}})
    fit, likelihood = rf.project(data), rf.fit_likelihood(data)
    groups = {a: data, b: data}
    options = {"n_boot": n_boot, "seed": 1}
    together = rf.compare_groups(groups, **options)
    return {
        "data": DataSummary(data),
        "fit": fit,
        "graph": rf.project(data, route="graph"),
        "rankings": fit.rankings,
        "score": fit.score(data),
        "batch": rf.project_many([data, data]),
        "cost": rf.estimate_cost(data),
        "likelihood": likelihood,
        "likelihood ratio": likelihood.lr_test(n_boot=9, seed=1),
        "test": rf.rum_test(data, **options),
        "budget test": rf.rum_test(budgets, **options),
        "tests": rf.rum_test_many(groups, **options),
        "linear test": rf.rum_test(data, statistic="fsst", **options),
        "groups": together,
        "homogeneity": together.homogeneity,
        "models": rf.compare_models(data, {str(a): None, "peaked": rf.SinglePeaked(labels)}, n_boot=n_boot),
        "bounds": rf.bounds(data, [a, b], confidence=0.9, **options),
        "sharp": rf.bounds(data, [a, b, c], confidence=None),
        "functional": rf.bounds(data, functional=rf.functionals.share((a, c), a), confidence=None),
        "diversion": rf.diversion(data, a, confidence=0.9, **options),
        "next menu": rf.next_menu(data, seed=1),
        "assortment": rf.best_assortment(data, {a: 3, b: 4, c: 1}, out),
        "assortment at a level": rf.best_assortment(data, {a: 3, b: 4, c: 1}, out, confidence=0.9, n_boot=99),
        "explanation": rf.explain(data, n_boot=n_boot, halves=0, seed=1),
        "cycles": rf.explain(pairs, n_boot=n_boot, halves=0, seed=1, model=rf.TriangleInequalities()),
        "scores": rf.subject_scores(
            {"subject": [1, 1, 1], "menu": ["a|b", "b|c", "a|c"], "choice": ["a", "b", "c"]}, seed=1
        ),
        "transitivity": rf.transitivity(pairs, n_boot=n_boot, seed=1),
        "inequalities": rf.project(pairs, model=rf.TriangleInequalities()),
        "share": rf.rationalizable_share(data),
    }
