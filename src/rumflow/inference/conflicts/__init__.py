"""Which menus are in conflict: sets of cells as problems of their own, the search for irreducible ones, and words for them."""
