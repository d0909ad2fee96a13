"""Is demand over years of prices rational?"""

import numpy as np

import rumflow as rf

rng = np.random.default_rng(0)
prices = np.array([[1.0, 1.0, 1.2], [1.1, 0.9, 1.0], [0.9, 1.2, 1.0]])  # three years, three goods
year = np.repeat(np.arange(3), 200)
taste = rng.dirichlet([3.0, 3.0, 3.0], len(year))  # Cobb-Douglas: every household spends fixed shares
data = rf.BudgetData.from_shares(prices, year, taste)
print(rf.rum_test(data, n_boot=199, seed=0).summary())
