"""Readers of tables of choices: recognise the columns, interpret the menus, count.

Private: modules may change. Tables are read by `rumflow.ChoiceData.from_csv`, `from_frame` and `from_parquet`.
"""

from rumflow.data.readers.build import read
from rumflow.data.readers.opening import open_source
from rumflow.data.readers.roles import Options, make_options
from rumflow.data.readers.sources import FrameSource, ParquetSource, Source, TextSource

__all__ = ["FrameSource", "Options", "ParquetSource", "Source", "TextSource", "make_options", "open_source", "read"]
