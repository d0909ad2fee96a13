"""Models of choice: which types of choosers exist.

Private: modules may change. Public are `rumflow.Model`, `RandomUtility`, `SinglePeaked`, `LinearUtility`, `UtilityFamily`,
`Lexicographic`, `Satisficing`, `Types`, `ChoiceGraph`, `WeakOrders` and `TriangleInequalities`.
"""
