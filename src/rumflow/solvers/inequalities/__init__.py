"""Projections onto the path inequalities of compared pairs, by cuts. Private."""
