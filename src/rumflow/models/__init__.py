"""Which types of choosers there are."""
