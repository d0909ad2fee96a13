"""A scikit-learn style estimator: availability in, choice probabilities of the nearest random utility model out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rumflow.core.arrays import Array, Mask
from rumflow.data.choices import ChoiceData
from rumflow.data.menus import tally, unique_menus
from rumflow.errors import InputError, ctrl_c_raises
from rumflow.projection.results import Projection
from rumflow.projection.single import project

try:
    from sklearn.base import BaseEstimator, ClassifierMixin  # type: ignore[import-untyped,import-not-found,unused-ignore]
    from sklearn.utils.multiclass import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        check_classification_targets,
    )
    from sklearn.utils.validation import (  # type: ignore[import-untyped,import-not-found,unused-ignore]
        check_is_fitted,
        validate_data,
    )

    HAVE_SKLEARN = True
except ImportError:  # the module can still be imported; making an estimator says what to install
    BaseEstimator, ClassifierMixin = type("BaseEstimator", (), {}), type("ClassifierMixin", (), {})
    HAVE_SKLEARN = False


class RUMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """Predict which of the available items is chosen, by the random utility model nearest to the observed shares.

    Each row of X is a menu: column x is positive where item x is on offer. `y` holds the items chosen: numbers of columns,
    or labels where `items` gives them in the order of the columns. An item that was never chosen counts as well.

    Parameters
    ----------
    items : sequence, optional
        Labels of the columns; None: 0, 1, ...
    weights : {None, "counts"}, default "counts"
        "counts": menus count by their number of observations.
    tol : float, default 1e-9
        Certified relative gap of the projection.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    projection_ : Projection
        The fit, with its certificate.
    data_ : ChoiceData
        The choices.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from rumflow.sklearn import RUMClassifier
    >>> menus, choices = [[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]], [0, 1, 0, 2]
    >>> RUMClassifier().fit(menus, choices).predict([[1, 1, 0]])
    array([0])
    """

    def __init__(self, items: Any = None, weights: str | None = "counts", tol: float = 1e-9) -> None:
        if not HAVE_SKLEARN:
            raise InputError('scikit-learn 1.6 or later is needed for this: pip install "rumflow[sklearn]"')
        self.items = items
        self.weights = weights
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # it uses availability, not features
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> RUMClassifier:
        """Fit to menus and choices.

        Parameters
        ----------
        X : array_like of shape (rows, items)
            Positive where the item is on offer.
        y : array_like of shape (rows,)
            The items chosen.
        sample_weight : array_like of shape (rows,), optional
            The weight of each row; None: 1.

        Returns
        -------
        RUMClassifier
            The estimator itself.
        """
        features, picks = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(picks)
        size, n = features.shape
        if n < 2:
            raise InputError(f"n_features={n}: at least 2 items (columns) are needed")
        offered = _menus(features)
        labels = np.arange(n) if self.items is None else np.asarray(self.items)
        if len(labels) != n:
            raise InputError(f"items: {len(labels)} labels for {n} columns of X")
        position = {label: x for x, label in enumerate(labels.tolist())}
        chosen = np.array([position.get(v, -1) for v in picks.tolist()])
        if (chosen < 0).any():
            bad = picks[chosen < 0][0]
            raise InputError(f"y: {bad!r} is not an item; the items are {', '.join(map(str, labels[:10]))}")
        outside = ~offered[np.arange(size), chosen]
        if outside.any():
            k = int(np.argmax(outside))
            raise InputError(
                f"row {k}: the choice {labels[chosen[k]]!r} is not on offer (its entry of X is not positive)"
            )
        weight = np.ones(size) if sample_weight is None else np.asarray(sample_weight, float)
        if weight.shape != (size,) or not np.isfinite(weight).all() or (weight < 0).any():
            raise InputError(f"sample_weight: one number, 0 or more, for each of the {size} rows is needed")
        if not weight.any():
            raise InputError("sample_weight: every weight is zero")
        inside, row = unique_menus(offered)
        counts = tally(inside, row, chosen, weight)
        totals = np.nansum(counts, axis=1)
        seen = totals > 0
        self.classes_ = labels
        self.data_: ChoiceData = ChoiceData(tuple(labels.tolist()), inside[seen], counts[seen], totals[seen])
        with ctrl_c_raises():
            self.projection_: Projection = project(self.data_, weights=self.weights, tol=self.tol)
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Predict choice probabilities.

        Parameters
        ----------
        X : array_like of shape (rows, items)
            Positive where the item is on offer.

        Returns
        -------
        ndarray of shape (rows, items)
            0 for what is not on offer. On menus never seen, one best fit among many.
        """
        check_is_fitted(self)
        offered = _menus(validate_data(self, X, dtype=np.float64, reset=False))
        menus, row = unique_menus(offered)
        place = {label: x for x, label in enumerate(self.projection_.items)}
        probabilities = np.zeros(menus.shape)
        for own, menu in zip(probabilities, menus, strict=True):
            found = self.projection_.probabilities([self.projection_.items[x] for x in np.flatnonzero(menu)])
            for label, p in found.items():
                own[place[label]] = p
        return probabilities[row]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the likeliest item of each menu.

        Parameters
        ----------
        X : array_like of shape (rows, items)
            Positive where the item is on offer.

        Returns
        -------
        ndarray of shape (rows,)
            Labels.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        labels: NDArray[Any] = self.classes_[best]
        return labels


def _menus(X: Array) -> Mask:
    """The menus as truth values: item x is on offer where X[:, x] > 0."""
    if (X < 0).any():
        raise InputError(
            "Negative values in data passed to RUMClassifier: X is 1 where an item is on offer and 0 elsewhere"
        )
    offered: Mask = X > 0
    empty = ~offered.any(axis=1)
    if empty.any():
        raise InputError(f"row {int(np.argmax(empty))} of X offers no item: every menu needs a positive entry")
    return offered
