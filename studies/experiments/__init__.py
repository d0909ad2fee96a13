"""The experiments of the paper, run again: each writes its raw numbers, a figure and a page that sets them beside the
printed ones. And studies that are not in the paper.

`run_*` computes and writes everything; `render_*` makes figure and page again from the stored CSV, without computing.
"""

from studies.experiments.assortments import run_assortments
from studies.experiments.barrier import render_exp1, render_exp2, run_exp1, run_exp2
from studies.experiments.budgets import render_budgets, run_budgets
from studies.experiments.choices import render_choices, run_choices
from studies.experiments.endogenous import render_endogenous, run_endogenous
from studies.experiments.explain import render_explain, run_explain
from studies.experiments.hotel import render_hotel, run_hotel
from studies.experiments.learning import render_exp3, run_exp3
from studies.experiments.power import render_power, run_power
from studies.experiments.training import render_training, run_training

__all__ = [
    "render_budgets",
    "render_choices",
    "render_endogenous",
    "render_exp1",
    "render_exp2",
    "render_exp3",
    "render_explain",
    "render_hotel",
    "render_power",
    "render_training",
    "run_assortments",
    "run_budgets",
    "run_choices",
    "run_endogenous",
    "run_exp1",
    "run_exp2",
    "run_exp3",
    "run_explain",
    "run_hotel",
    "run_power",
    "run_training",
]
