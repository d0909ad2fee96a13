"""Readers of tables of choices: find the columns, understand the menus, count."""

from rumflow.data.readers.build import read
from rumflow.data.readers.roles import Options, make_options
from rumflow.data.readers.sources import FrameSource, ParquetSource, Source, TextSource, open_source

__all__ = ["FrameSource", "Options", "ParquetSource", "Source", "TextSource", "make_options", "open_source", "read"]
