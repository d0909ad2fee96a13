"""A scikit-learn style estimator, `rumflow.sklearn.estimator.RUMClassifier`, which is public.

Needs the extra: `pip install "rumflow[sklearn]"`.
"""
