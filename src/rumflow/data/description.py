"""Where a data set comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Description:
    """What a data set of `rumflow.datasets` is, and where it comes from; `str()` gives it as text.

    Attributes
    ----------
    name : str
        Its name in `rumflow.datasets.load`.
    title : str
        What it is, in a line.
    text : str
        What was offered to whom.
    citation : str
        The publication to cite.
    licence : str
        Under which terms it may be used.
    address : str
        Where its files are; empty for tables that come with the package.

    Examples
    --------
    >>> import rumflow as rf
    >>> rf.datasets.load("economist").description.title
    'Subscriptions with and without a decoy'
    """

    name: str
    title: str
    text: str
    citation: str
    licence: str
    address: str = ""

    def __str__(self) -> str:
        lines = [f"{self.title} ({self.name})", self.text, f"Cite: {self.citation}", f"Licence: {self.licence}"]
        return "\n".join([*lines, *([f"From: {self.address}"] if self.address else [])])
