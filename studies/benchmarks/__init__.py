"""What the README and the pages say about speed: `python -m studies.benchmarks` measures it, `make bench-pages` shows it."""
