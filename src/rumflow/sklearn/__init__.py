"""A scikit-learn style estimator: `from rumflow.sklearn import RUMClassifier`.

Needs the extra: `pip install "rumflow[sklearn]"`.
"""

from rumflow.sklearn.estimator import RUMClassifier

__all__ = ["RUMClassifier"]
