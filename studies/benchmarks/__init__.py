"""What the README and the pages say about speed, measured: `python -m benchmarks` runs it, `make bench-pages` shows it."""
