"""Seeds as numbers and as generators."""

import numpy as np
import pytest

import rumflow as rf
from rumflow.core.seeds import ZERO, either, entropy, generator
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


def test_either_name():
    own = np.random.default_rng(4)
    assert either(None, own) is either(own, None) is either(ZERO, own) is own
    assert either(5, None) == either(None, 5) == either(ZERO, 5) == 5
    assert either(ZERO, None) == 0
    assert either(None, None) is None
    assert repr(ZERO) == "0"
    assert type(entropy(ZERO)) is int
    assert entropy(None, np.random.default_rng(1)) == entropy(np.random.default_rng(1))
    assert generator(None, own) is own
    for both in ((0, 0), (5, own), (own, own)):
        with pytest.raises(InputError, match=r"and rng=.*: these are two names of the same, give one of them"):
            either(*both)
    with pytest.raises(InputError, match="rng=-1"):
        either(None, -1)


def test_the_same_draws_by_either_name():
    data = rf.ChoiceData.from_counts({("a", "b"): {"a": 30, "b": 70}, ("a", "b", "c"): {"a": 50, "b": 30, "c": 20}})
    by_seed, by_rng = rf.rum_test(data, 19, seed=3), rf.rum_test(data, 19, rng=3)
    assert by_rng.seed == 3
    assert (by_seed.null_distributions == by_rng.null_distributions).all()
    assert (rf.simulate.dirichlet(3, rng=7) == rf.simulate.dirichlet(3, 7)).all()
    fit = rf.project(data)
    assert (fit.sample(9, rng=np.random.default_rng(2)) == fit.sample(9, 2)).all()
    assert rf.explain(data, rng=5).seed == 5
    assert rf.explain(data).seed == 0
