"""A scikit-learn style estimator. Needs the extra: `pip install "rumflow[sklearn]"`."""
