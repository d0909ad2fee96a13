"""Do groups differ, and are they rational one by one?"""

import rumflow as rf

groups = {
    name: rf.simulate.random_menus(5, 8, 3, n_rankings=3, draws=80, seed=k) for k, name in enumerate(("north", "south"))
}
print(rf.compare_groups(groups, n_boot=199, seed=0).summary())
print(rf.rum_test_many(groups, n_boot=199, seed=0).summary())
