"""Output: files, data frames, printed tables, plots, progress bars.

Private: modules may change, except the functions of `rumflow.output.plots` that the reference lists. Most results have
`plot()` and `to_frame()`.
"""
