"""Seeds as numbers and as generators."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.seeds import entropy, generator
from rumflow.errors import InputError


def test_seeds_of_simulations():
    """What a seed stands for is part of every stored result: it stays the same from version to version."""
    assert entropy(7) == entropy(np.int64(7)) == 7
    assert entropy(np.random.default_rng(7)) == np.random.default_rng(7).integers(1 << 62)
    words = np.random.SeedSequence(7).generate_state(4).tolist()
    assert entropy(np.random.SeedSequence(7)) == sum(word << 32 * k for k, word in enumerate(words))
    assert entropy(None) != entropy(None)
    for wrong in (True, -1, 1.5, "7"):
        with pytest.raises(rf.InputError, match="seed="):
            entropy(wrong)


def test_seeds_as_numbers():
    assert entropy(5) == 5
    assert entropy(0) == 0
    assert entropy(np.int32(7)) == 7
    assert entropy(np.random.default_rng(1)) == np.random.default_rng(1).integers(1 << 62)
    words = np.random.SeedSequence(3).generate_state(4)
    assert entropy(np.random.SeedSequence(3)) == sum(int(word) << 32 * i for i, word in enumerate(words))
    assert entropy(None) != entropy(None)
    for wrong in (-1, True, 2.5, "1"):
        with pytest.raises(InputError, match="seed="):
            entropy(wrong)


def test_generators_of_seeds():
    own = np.random.default_rng(4)
    assert generator(own) is own
    assert generator(4).random() == np.random.default_rng(4).random()
    sequence = np.random.SeedSequence(9)
    assert generator(sequence).random() == np.random.default_rng(np.random.SeedSequence(9)).random()
    assert generator(None).random() != generator(None).random()
    with pytest.raises(InputError, match="seed="):
        generator(-1)
