"""Mathematics of lattices and graphs: no policy, no input or output.

Private: modules may change. Public are `rumflow.Certificate` and `rumflow.Lattice`.
"""
