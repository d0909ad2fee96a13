"""Projections onto random utility where the graph of open menus is too large: candidates by search, and bounds. Private."""
