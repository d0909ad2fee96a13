"""The exact solver for few items: whole problems in one kernel. Private."""
