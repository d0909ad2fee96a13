"""What leaves the package: files, data frames, printed tables, plots, progress bars."""
