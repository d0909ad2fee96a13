"""Choice data with labels: reading, writing, simulating."""
