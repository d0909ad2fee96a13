"""The nearest random utility model: inputs, results, one problem and many.

Private: modules may change. Public are `rumflow.project`, `project_many`, `is_rum`, `block_marschak`, `estimate_cost` and
`load`, and the classes of their results, all in `rumflow`.
"""
