"""Speed over time, for asv: `asv run`, `asv publish`; settings in asv.conf.json."""
