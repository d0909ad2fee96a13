"""Stacks of projections and their derivatives."""
