"""What linear utilities take, by random directions and by linear programmes."""

from itertools import pairwise

import numpy as np
from scipy.optimize import linprog


def directions_take(points, start, signs, draws=20_000, seed=0):
    """The set of types that random directions have; small cones may be missing."""
    b = np.random.default_rng(seed).normal(size=(draws, points.shape[1]))
    b = np.where(signs == 0, b, signs * np.abs(b))
    value = b @ points.T
    taken = [value[:, i:j].argmax(axis=1) for i, j in pairwise(start)]
    return set(map(tuple, np.stack(taken, axis=1).tolist()))


def sweep(points):
    """(rankings, n): all rankings by a direction of the plane, one between each two at which items tie."""
    first, second = np.triu_indices(len(points), 1)
    difference = points[first] - points[second]
    angle = np.arctan2(-difference[:, 0], difference[:, 1])
    turns = np.sort(np.concatenate([angle, angle + np.pi]) % (2 * np.pi))
    between = 0.5 * (turns + np.append(turns[1:], turns[0] + 2 * np.pi))
    return np.unique(np.argsort(-np.column_stack([np.cos(between), np.sin(between)]) @ points.T, axis=1), axis=0)


def is_taken(points, start, signs, row):
    """Has some direction with these signs each of the row's points as the only best one of its menu?"""
    normals = [np.diag(signs)[signs != 0]]
    for (i, j), place in zip(pairwise(start), row, strict=True):
        normals.append(points[i + place] - np.delete(points[i:j], place, axis=0))
    matrix = np.vstack(normals).astype(float)
    if len(matrix) == 0:
        return True
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    k = points.shape[1]
    cost = np.append(np.zeros(k), -1.0)
    found = linprog(
        cost, np.hstack([-matrix, np.ones((len(matrix), 1))]), np.zeros(len(matrix)), bounds=[(-1, 1)] * (k + 1)
    )
    return -found.fun > 1e-7
