"""Experiments and benchmarks with their stored results: not part of the package, and nothing in it or its tests imports them."""
