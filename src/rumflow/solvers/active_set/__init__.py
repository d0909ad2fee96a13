"""The exact solver: an active set of rankings with a Cholesky factor. Private."""
