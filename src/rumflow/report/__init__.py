"""One self-contained page about a data set."""

from rumflow.report.page import make_report

__all__ = ["make_report"]
