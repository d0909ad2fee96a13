"""Inference: tests, likelihood, bounds and shares, all by projections onto the random utility models.

Public are the names in `__all__`, which are the functions in `rumflow` and the classes of their results; modules other than
`functionals` may change.
"""

from rumflow.inference import functionals
from rumflow.inference.assortment import best_assortment
from rumflow.inference.assortment_result import BestAssortment
from rumflow.inference.bounds import bounds
from rumflow.inference.bounds_result import Bounds
from rumflow.inference.compare import ModelComparison, compare_models
from rumflow.inference.conflicts.result import Conflict, Explanation
from rumflow.inference.convention import Convention
from rumflow.inference.cycles import BindingCycle, CycleExplanation
from rumflow.inference.diversion import Diversion, diversion
from rumflow.inference.explain import explain
from rumflow.inference.groups import (
    GroupComparison,
    RumTests,
    benjamini_hochberg,
    compare_groups,
    holm,
    rum_test_many,
)
from rumflow.inference.homogeneity import HomogeneityTest, homogeneity_test
from rumflow.inference.likelihood import LikelihoodError, LikelihoodFit, LikelihoodRatioTest, fit_likelihood
from rumflow.inference.next_menu import NextMenus, next_menu
from rumflow.inference.result import RumTest
from rumflow.inference.share import RationalShare, rationalizable_share
from rumflow.inference.subjects import SubjectScores, subject_scores
from rumflow.inference.test import rum_test
from rumflow.inference.transitivity import transitivity
from rumflow.inference.transitivity_result import MajorityTriangle, Transitivity

__all__ = [
    "BestAssortment",
    "BindingCycle",
    "Bounds",
    "Conflict",
    "Convention",
    "CycleExplanation",
    "Diversion",
    "Explanation",
    "GroupComparison",
    "HomogeneityTest",
    "LikelihoodError",
    "LikelihoodFit",
    "LikelihoodRatioTest",
    "MajorityTriangle",
    "ModelComparison",
    "NextMenus",
    "RationalShare",
    "RumTest",
    "RumTests",
    "SubjectScores",
    "Transitivity",
    "benjamini_hochberg",
    "best_assortment",
    "bounds",
    "compare_groups",
    "compare_models",
    "diversion",
    "explain",
    "fit_likelihood",
    "functionals",
    "holm",
    "homogeneity_test",
    "next_menu",
    "rationalizable_share",
    "rum_test",
    "rum_test_many",
    "subject_scores",
    "transitivity",
]
