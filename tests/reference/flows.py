"""Random flows and weights, and their certificates."""

import numpy as np

from rumflow.core.certificate import Certifier
from rumflow.core.paths import flow_from_paths
from rumflow.core.problem import NO_WEIGHTS
from tests.reference import lattice as reference


def certify_flow(flow, target, weights, threads=None, cone=False):
    return Certifier(len(flow), NO_WEIGHTS if weights is None else weights, cone, threads)(flow, target)


def random_flow(n, k, rng):
    paths = np.array([reference.path_of(rng.permutation(n)) for _ in range(k)])
    return flow_from_paths(paths, rng.dirichlet(np.ones(k)))


def random_weights(kind, shape, rng):
    if kind == "unweighted":
        return None
    weights = rng.uniform(0.1, 4.0, shape)
    return weights if kind == "weighted" else np.where(rng.random(shape) < 0.3, 0.0, weights)
