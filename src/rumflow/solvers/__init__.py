"""The solvers: an exact active set of rankings, and an interior point method.

Private: modules may change. Public is `rumflow.project`, which chooses among them.
"""
