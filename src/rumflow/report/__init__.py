"""One self-contained page about a data set: the command `rumflow report`.

`make_report` is public, the modules are not: they may change.
"""

from rumflow.report.page import make_report

__all__ = ["make_report"]
