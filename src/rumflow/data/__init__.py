"""Choices: what was offered, what was chosen; readers, writers, conversions, simulated families."""
