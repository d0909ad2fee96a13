"""Five models trained on choices with features, made small; and the page from the stored numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: the study of training is not tested")

from studies.experiments.training import DESIGNS, MODELS, Market, _models, render_training, run_training  # noqa: E402


def test_choices_come_from_the_menus() -> None:
    for design in DESIGNS:
        market = Market(design, 1, 300)
        assert bool(market.available.gather(1, market.choice[:, None]).all())
        assert set(market.available.sum(1).tolist()) == {6 if market.few else 8}
        assert len(torch.unique(market.available, dim=0)) == (8 if market.few else 300)
        assert 0.3 < market.truth.mean() < np.log(8)


def test_models_give_probabilities_of_the_menu() -> None:
    market = Market("few menus", 0, 20)
    for name, make in _models().items():
        logp = make(market).logp(market.person, market.available)
        assert logp.shape == (20, 50), name
        assert bool((logp[~market.available] == -torch.inf).all()), name
        assert logp.exp().sum(-1).tolist() == pytest.approx([1.0] * 20, abs=1e-5), name


def test_the_study(tmp_path: Path) -> None:
    rows = run_training(tmp_path, seeds=[0], train=128, held_out=50, epochs=2, layer_epochs=1)
    assert [(row["design"], row["model"]) for row in rows] == [
        (design, name) for design in DESIGNS for name in (MODELS[:3] if design == DESIGNS[0] else MODELS)
    ]
    assert all(0 < row["loss"] < 10 and row["lines"] < 20 for row in rows)
    page = (tmp_path / "training.md").read_text(encoding="utf-8")
    assert all(name in page for name in MODELS)
    (tmp_path / "training.md").unlink()
    render_training(tmp_path)
    assert (tmp_path / "training.md").read_text(encoding="utf-8") == page
