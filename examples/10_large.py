"""How long will it take, and what if there are many products?"""

import rumflow as rf

shop = rf.simulate.stock_outs(60, 40, missing=0.1, seed=0)  # 60 products, 40 menus, each without a tenth of them
cost = rf.estimate_cost(shop)
print(cost)
print(f"distance {rf.project(shop).distance:.4f} on the route {cost.route!r}")

pairs = rf.simulate.random_menus(1_000, 5_000, 2, n_rankings=9, draws=10, seed=0)  # pairs among a thousand products
fit = rf.project(pairs, model=rf.TriangleInequalities())
print(f"{len(pairs.menus)} pairs: distance {fit.distance:.4f}, certified to {fit.gap:.1e}")
