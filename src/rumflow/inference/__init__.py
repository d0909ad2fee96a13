"""Inference: tests, likelihood, bounds and shares, all by projections onto the random utility models."""

from rumflow.inference.bounds import Bounds, bounds
from rumflow.inference.compare import ModelComparison, compare_models
from rumflow.inference.conflicts.result import Conflict, Explanation
from rumflow.inference.convention import Convention
from rumflow.inference.explain import explain
from rumflow.inference.groups import (
    GroupComparison,
    RumTests,
    benjamini_hochberg,
    compare_groups,
    holm,
    rum_test_many,
)
from rumflow.inference.likelihood import LikelihoodError, LikelihoodFit, LikelihoodRatioTest, fit_likelihood
from rumflow.inference.result import RumTest
from rumflow.inference.share import RationalShare, rationalizable_share
from rumflow.inference.test import rum_test

__all__ = [
    "Bounds",
    "Conflict",
    "Convention",
    "Explanation",
    "GroupComparison",
    "LikelihoodError",
    "LikelihoodFit",
    "LikelihoodRatioTest",
    "ModelComparison",
    "RationalShare",
    "RumTest",
    "RumTests",
    "benjamini_hochberg",
    "bounds",
    "compare_groups",
    "compare_models",
    "explain",
    "fit_likelihood",
    "holm",
    "rationalizable_share",
    "rum_test",
    "rum_test_many",
]
