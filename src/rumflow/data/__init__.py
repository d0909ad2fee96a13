"""Choices: what was offered, what was chosen; readers, writers, conversions, simulated families.

Private: modules may change. Public are `rumflow.ChoiceData`, `rumflow.BudgetData`, `rumflow.datasets` and `rumflow.simulate`, and
in `rumflow.data.interop` the conversions to and from other packages.
"""
