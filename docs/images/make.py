"""Draws the picture of the README, the demonstration data and their fit: python docs/images/make.py"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from rumflow.cli import demo
from rumflow.output import plots

if __name__ == "__main__":
    fit = demo.make_demo(0).fit
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained", width_ratios=[1.15, 1])
    plots.plot_fit(fit, left)
    plots.plot_lattice(fit, right)
    figure.savefig(Path(__file__).parent / "demo.png", dpi=110)
