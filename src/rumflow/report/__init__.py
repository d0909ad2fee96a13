"""One self-contained page about a data set: the command `rumflow report`.

Private: modules may change.
"""

from rumflow.report.page import make_report

__all__ = ["make_report"]
