"""Which menus are in conflict: sets of cells as separate problems, the search for irreducible ones, and words for them.

Private: modules may change. Public are `rumflow.explain` and its results in `rumflow.inference`.
"""
