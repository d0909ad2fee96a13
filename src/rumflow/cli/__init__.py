"""The command line: one file per command, with its arguments and what it does; no numerics.

The commands are public, the modules are private and may change: run `rumflow --help`.
"""
