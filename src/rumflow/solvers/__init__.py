"""The solvers: an exact active set of rankings, and an interior point method."""
