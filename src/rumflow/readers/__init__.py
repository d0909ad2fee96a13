"""Readers of tables of choices: find the columns, understand the menus, count."""

from rumflow.readers.build import read
from rumflow.readers.columns import Options
from rumflow.readers.sources import FrameSource, ParquetSource, Source, TextSource, open_source

__all__ = ["FrameSource", "Options", "ParquetSource", "Source", "TextSource", "open_source", "read"]
