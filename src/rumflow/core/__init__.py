"""Mathematics of lattices and graphs: no policy, no input or output."""
